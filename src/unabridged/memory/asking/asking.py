"""Asking a chat model: the policy around one request.

Retries, rates and keys as for embeddings; one attempt at a repair of an answer that cannot be read; answers
kept so that a retry is free; and an account of every call. Threads and tasks share one flow of steps.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from unabridged.embedding.flights import Flights
from unabridged.embedding.lanes import Lanes
from unabridged.errors import ChatError, ConfigError, ProviderError, UnabridgedError
from unabridged.memory.asking.cache import AnswerCache, answer_key
from unabridged.memory.asking.chat import ChatLike, Question, Speaker
from unabridged.memory.asking.data import STAGES, Answer, Asking, Call
from unabridged.memory.asking.judge import Unusable, repair, value_of
from unabridged.memory.asking.steps import Do, Pause, Sending, Steps, adrive, drive, time_left
from unabridged.providers.chat import REASONING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from unabridged.providers.chat_replies import ChatReply

__all__ = ["STAGES", "Answer", "Asker", "Call", "ChatLike", "asker_of"]

# Tokens of an answer; reasoning is on top. A chunk of 1,024 tokens seldom yields more than 3,000 of JSON.
BUDGETS: Mapping[str, int] = {"extract_graph": 4096, "summarize_chunk": 512, "resolve_edges": 1024}
_BUDGET = 2048
_OPTIONS = Asking.__optional_keys__
_POLL = 0.02  # seconds: how soon an answer that another caller asked for is noticed
_UNRULY = 2  # unreadable answers under one form, before another is preferred


class Asker:
    """Asks a chat, from threads and tasks, so that an answer comes back that can be used, or a typed error.

    ``chat`` is a :class:`~unabridged.providers.chat.Chat`, a function of messages, or several: keys of one
    host take turns, other hosts are fallbacks. ``models``, ``reasoning`` and ``max_tokens`` are by stage
    (:data:`STAGES`); a call's own options win. ``concurrency`` is the most requests in flight. ``cache`` keeps
    answers: a folder, an :class:`AnswerCache`, ``True`` for the user's own, or ``False``; those of a plain
    function are not kept, as nothing tells whether it is the same tomorrow. ``timeout`` is in seconds, for a
    whole call.

    The object itself is a chat function: ``split(text, "proposition", llm=asker)``.

    >>> asker = Asker(lambda messages: "Yes.")
    >>> asker.ask([{"role": "user", "content": "Is it?"}], stage="answer_query").value
    'Yes.'
    """

    def __init__(
        self,
        chat: Any,
        *,
        models: Mapping[str, str] | None = None,
        reasoning: Mapping[str, str] | None = None,
        max_tokens: Mapping[str, int] | None = None,
        concurrency: int = 8,
        cache: bool | str | Path | AnswerCache = True,
        timeout: float | None = None,
    ) -> None:
        chats = chat if isinstance(chat, list | tuple) else [chat]
        self._speakers = tuple(Speaker(one) for one in chats)
        if not self._speakers:
            raise ConfigError("chat", "found none, expected at least one")
        self._lanes = Lanes(self._speakers, concurrency, one_model=False)
        self._models = _by_stage("models", models)
        self._reasoning = {
            stage: _level(level, f"reasoning.{stage}") for stage, level in _by_stage("reasoning", reasoning).items()
        }
        self._budgets = {**BUDGETS, **_by_stage("max_tokens", max_tokens)}
        self._timeout = timeout
        self.cache = _cache_of(cache) if self._speakers[0].known else None
        self._flights = Flights()
        self._unruly: Counter[tuple[str, str]] = Counter()

    @property
    def model(self) -> str:
        """The model that is asked where nothing else is said."""
        return self._speakers[0].model

    @property
    def host(self) -> str:
        """Where requests go first, without a key."""
        return self._speakers[0].host

    @property
    def concurrency(self) -> int:
        """The most requests in flight at once."""
        return self._lanes.concurrency

    def model_of(self, stage: str) -> str:
        """The model that a stage asks."""
        return self._models.get(stage, self.model)

    def reasoning_of(self, stage: str) -> str:
        """The level of reasoning that a stage asks for."""
        return self._reasoning.get(stage, "none")

    def budget_of(self, stage: str) -> int:
        """The most tokens that a stage's answer may have, reasoning apart."""
        return self._budgets.get(stage, _BUDGET)

    def prices(self, stage: str = "") -> tuple[float, float] | None:
        """US dollars a million tokens, in and out, of a stage's model; ``None`` where they are not known."""
        return self._speakers[0].prices(self.model_of(stage))

    def ask(self, messages: Sequence[Mapping[str, str]], *, stage: str, **how: Unpack[Asking]) -> Answer:
        """Ask once, from a thread: JSON as ``schema`` wants it, or text where there is none.

        ``how`` are the options of :class:`~unabridged.memory.asking.data.Asking`; what is not given is as the stage
        has it.

        Raises :class:`~unabridged.errors.ChatError` for an answer that cannot be used, and the provider's
        error for a refusal; both carry ``calls``.
        """
        return drive(self._asking(messages, stage, how), how.get("cancel"))

    async def aask(self, messages: Sequence[Mapping[str, str]], *, stage: str, **how: Unpack[Asking]) -> Answer:
        """As :meth:`ask`, from a task."""
        return await adrive(self._asking(messages, stage, how), how.get("cancel"))

    def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        *,
        stage: str = "segment",
    ) -> Answer:
        """As a chat function."""
        return self.ask(messages, stage=stage, schema=schema, max_tokens=max_tokens)

    def forget(self, texts: Sequence[str]) -> int:
        """Remove every kept answer about these texts; how many there were."""
        return 0 if self.cache is None else self.cache.forget(texts)

    def close(self) -> None:
        """Give back connections and files."""
        for speaker in self._speakers:
            close = getattr(speaker.chat, "close", None)
            if callable(close):
                close()
        if self.cache is not None:
            self.cache.close()

    async def aclose(self) -> None:
        """The same from a task."""
        for speaker in self._speakers:
            close = getattr(speaker.chat, "aclose", None)
            if callable(close):
                await close()
        self.close()

    # -- the flow ----------------------------------------------------------------------------------

    def _question(self, messages: Sequence[Mapping[str, str]], stage: str, how: Asking) -> Question:
        model, reasoning, budget = how.get("model"), how.get("reasoning"), how.get("max_tokens")
        return Question(
            tuple(messages),
            how.get("schema"),
            self.budget_of(stage) if budget is None else budget,
            stage,
            model or self._models.get(stage),
            self.reasoning_of(stage) if reasoning is None else _level(reasoning, "reasoning"),
            aliases=how.get("aliases"),
        )

    def _until(self, timeout: float | None) -> float | None:
        seconds = self._timeout if timeout is None else timeout
        return None if seconds is None else time.monotonic() + seconds

    def _asking(self, messages: Sequence[Mapping[str, str]], stage: str, how: Asking) -> Steps[Answer]:
        if unknown := sorted(how.keys() - _OPTIONS):
            raise TypeError(f"ask() got an unexpected keyword argument {unknown[0]!r}")
        question, until = self._question(messages, stage, how), self._until(how.get("timeout"))
        key, about = how.get("key"), how.get("about", "")
        if self.cache is None or not how.get("keep", True):
            value, calls = yield from self._fresh(question, until)
            return Answer(value, calls)
        at = self._key(question, key, about)
        while not (claimed := self._flights.claim([at]))[0]:
            # Looked at now and then: a task that blocks a thread here could keep the answer's own from running.
            while not claimed[1][at].done():
                yield Pause(min(_POLL, time_left(until)))
            found = yield from self._kept(at, question)
            if found is not None:
                return found
        try:
            found = yield from self._kept(at, question)
            if found is not None:
                return found
            value, calls = yield from self._fresh(question, until)
            kept = {at: {"value": value, "model": calls[-1].model}}
            yield Do(partial(self.cache.put, kept))
            return Answer(value, calls)
        finally:
            self._flights.land(at, None)

    def _kept(self, at: bytes, question: Question) -> Steps[Answer | None]:
        assert self.cache is not None  # noqa: S101 - asked for only with one
        found = (yield Do(partial(self.cache.get, [at]))).get(at)
        if not isinstance(found, dict) or "value" not in found:
            return None
        call = Call(
            question.stage,
            str(found.get("model")),
            question.reasoning,
            0,
            0,
            0.0,
            cached=True,
            host=self.host,
            requests=0,
        )
        return Answer(found["value"], (call,))

    def _key(self, question: Question, key: str | None, about: str) -> bytes:
        import json

        asked = (
            json.dumps([list(map(dict, question.messages)), question.schema], sort_keys=True) if key is None else key
        )
        whose = (self.host, question.model or self.model, question.reasoning)
        return answer_key(about, "1", question.stage, *whose, "messages" if key is None else "key", asked)

    def _fresh(self, question: Question, until: float | None) -> Steps[tuple[Any, tuple[Call, ...]]]:
        """Ask, and once more if the answer cannot be used."""
        calls: list[Call] = []
        try:
            reply = yield from self._sent(question, until, calls)
            try:
                return value_of(reply, question), tuple(calls)
            except Unusable as unusable:
                calls[-1] = replace(calls[-1], status=unusable.reason)
                if not unusable.repairable:
                    raise
                again = repair(question, reply, unusable)
            reply = yield from self._sent(again, until, calls)
            try:
                value = value_of(reply, question)
            except Unusable as unusable:
                calls[-1] = replace(calls[-1], status=unusable.reason)
                raise
            self._learn(question, again)
            return value, tuple(calls)
        except Unusable as unusable:
            raise ChatError(unusable.sentence(question.stage), reason=unusable.reason, calls=calls) from None
        except UnabridgedError as error:
            error.calls = (*calls, *error.calls)
            raise

    def _sent(self, question: Question, until: float | None, calls: list[Call]) -> Steps[ChatReply]:
        sending = Sending(self._lanes, question, until)
        try:
            reply = yield from sending.steps()
        except ProviderError as error:
            calls.append(_call(question, sending, None, error.fault.kind))
            raise
        calls.append(_call(question, sending, reply, "ok"))
        return reply

    def _learn(self, question: Question, again: Question) -> None:
        """A server that takes a schema and does not keep to it, again and again, is asked in words from now on."""
        if again.form is None:
            return
        name = (question.model or self.model, again.form)
        self._unruly[name] += 1
        if self._unruly[name] >= _UNRULY:
            for speaker in self._speakers:
                speaker.prefer(again.form, question.model)


def asker_of(chat: Any) -> Asker | None:
    """An asker from a chat, a function or several of them; an asker, and ``None``, stay what they are."""
    return chat if chat is None or isinstance(chat, Asker) else Asker(chat)


def _call(question: Question, sending: Sending, reply: ChatReply | None, status: str) -> Call:
    speaker = sending.speaker
    asked = question.model or speaker.model
    return Call(
        question.stage,
        (reply.model if reply is not None else None) or asked,
        question.reasoning,
        None if reply is None else reply.tokens_in,
        None if reply is None else reply.tokens_out,
        None if reply is None else reply.cost_usd,
        sending.seconds,
        status,
        host=speaker.host,
        requests=sending.requests,
    )


def _by_stage(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings by stage; a stage that is not known is named."""
    for stage in given or {}:
        if stage not in STAGES:
            raise ConfigError(f"{name}.{stage}", f"unknown stage, known are {', '.join(STAGES)}")
    return dict(given or {})


def _level(level: str, path: str) -> str:
    if level not in REASONING:
        raise ConfigError(path, f"found {level!r}, expected one of {', '.join(REASONING)}")
    return level


def _cache_of(given: bool | str | Path | AnswerCache) -> AnswerCache | None:  # noqa: FBT001 - as Embedder takes it
    if isinstance(given, AnswerCache):
        return given
    return None if given is False else AnswerCache(None if given is True else given)
