"""Asking a chat model: the policy around one request.

Retries, rates and keys as for embeddings; one attempt at a repair of an answer that cannot be read; answers
kept so that a retry is free; and an account of every call. Threads and tasks share one flow of steps.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.embedding.flights import Flights
from unabridged.embedding.lanes import Lanes
from unabridged.errors import ChatError, ConfigError, ProviderError, UnabridgedError
from unabridged.memory.asking_cache import AnswerCache, answer_key
from unabridged.memory.asking_chat import ChatLike, Question, Speaker
from unabridged.memory.asking_steps import Do, Steps, Sending, adrive, drive
from unabridged.providers.chat import REASONING
from unabridged.providers.chat_json import Misfit, read_answer, without_thought
from unabridged.providers.chat_replies import ChatReply

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["STAGES", "Answer", "Asker", "Call", "ChatLike", "asker_of"]

# What a model is asked for, by the name that settings and inferences use (SPEC A18).
STAGES: Mapping[str, str] = {
    "extract_graph": "entities and facts of a text",
    "summarize_chunk": "a summary of a text",
    "resolve_edges": "whether facts are new, the same, or contradicted",
    "link_chunks": "facts that need two distant chunks",
    "answer_query": "an answer from what was recalled",
    "rerank": "the order of what was recalled",
    "segment": "what a segmenter asks",
}
# Tokens of an answer; reasoning is on top. A chunk of 1,024 tokens seldom yields more than 3,000 of JSON.
BUDGETS: Mapping[str, int] = {"extract_graph": 4096, "summarize_chunk": 512, "resolve_edges": 1024}
_BUDGET = 2048
_MORE = 4  # times the budget, for an answer that was cut off
_QUOTED = 4000  # characters of an unreadable answer that are shown to the model again
_UNRULY = 2  # unreadable answers under one form, before another is preferred


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as it is accounted for (SPEC A18): becomes one record of an inference.

    ``model`` is the name that the API reports. ``status`` is ``ok``, ``unreadable``, ``truncated``, ``empty``,
    ``refused``, ``withheld``, or the kind of the fault that ended it. ``cached``: nothing was sent, nothing
    was paid. ``seconds`` are from the first attempt to the answer, ``requests`` how many were sent.
    """

    stage: str
    model: str
    reasoning: str = "none"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    status: str = "ok"
    cached: bool = False
    host: str = ""
    requests: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer: JSON as the schema wants it, or text; and the calls that it took."""

    value: Any = field(repr=False)
    calls: tuple[Call, ...] = ()

    @property
    def text(self) -> str:
        """The answer as text."""
        import json

        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)

    # What a segmenter's account of its calls reads.
    @property
    def tokens_in(self) -> int:
        """Tokens read, over all calls."""
        return sum(call.tokens_in or 0 for call in self.calls)

    @property
    def tokens_out(self) -> int:
        """Tokens written, over all calls."""
        return sum(call.tokens_out or 0 for call in self.calls)

    @property
    def cost_usd(self) -> float | None:
        """US dollars, over all calls; ``None`` where no price is known."""
        known = [call.cost for call in self.calls if call.cost is not None]
        return sum(known) if known else None

    @property
    def model(self) -> str | None:
        """The model that answered, as its API reports it."""
        return self.calls[-1].model if self.calls else None


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
        self._reasoning = {stage: _level(level, f"reasoning.{stage}") for stage, level in _by_stage("reasoning", reasoning).items()}
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

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        stage: str,
        schema: Mapping[str, Any] | None = None,
        key: str | None = None,
        about: str = "",
        model: str | None = None,
        reasoning: str | None = None,
        max_tokens: int | None = None,
        aliases: Mapping[str, tuple[str, ...]] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Answer:
        """Ask once, from a thread: JSON as ``schema`` wants it, or text where there is none.

        ``key`` names the question for the cache, in place of its messages; ``about`` is the text that it is
        about, with which its answers are forgotten (:meth:`forget`). ``aliases`` are other names that models give
        to a key of the schema. ``cancel`` ends the waiting.

        Raises :class:`~unabridged.errors.ChatError` for an answer that cannot be used, and the provider's
        error for a refusal; both carry ``calls``.
        """
        question = replace(self._question(messages, stage, schema, model, reasoning, max_tokens), aliases=aliases)
        return drive(self._asking(question, key, about, self._until(timeout)), cancel)

    async def aask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        stage: str,
        schema: Mapping[str, Any] | None = None,
        key: str | None = None,
        about: str = "",
        model: str | None = None,
        reasoning: str | None = None,
        max_tokens: int | None = None,
        aliases: Mapping[str, tuple[str, ...]] | None = None,
        timeout: float | None = None,
        cancel: threading.Event | None = None,
    ) -> Answer:
        """As :meth:`ask`, from a task."""
        question = replace(self._question(messages, stage, schema, model, reasoning, max_tokens), aliases=aliases)
        return await adrive(self._asking(question, key, about, self._until(timeout)), cancel)

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

    def _question(
        self,
        messages: Sequence[Mapping[str, str]],
        stage: str,
        schema: Mapping[str, Any] | None,
        model: str | None,
        reasoning: str | None,
        max_tokens: int | None,
    ) -> Question:
        level = self.reasoning_of(stage) if reasoning is None else _level(reasoning, "reasoning")
        budget = self.budget_of(stage) if max_tokens is None else max_tokens
        return Question(tuple(messages), schema, budget, stage, model or self._models.get(stage), level)

    def _until(self, timeout: float | None) -> float | None:
        seconds = self._timeout if timeout is None else timeout
        return None if seconds is None else time.monotonic() + seconds

    def _asking(self, question: Question, key: str | None, about: str, until: float | None) -> Steps[Answer]:
        if self.cache is None:
            value, calls = yield from self._fresh(question, until)
            return Answer(value, calls)
        at = self._key(question, key, about)
        while True:
            mine, theirs = self._flights.claim([at])
            if mine:
                break
            yield Do(lambda: theirs[at].result(None if until is None else max(until - time.monotonic(), 0.0)))
            found = yield from self._kept(at, question)
            if found is not None:
                return found
        try:
            found = yield from self._kept(at, question)
            if found is None:
                value, calls = yield from self._fresh(question, until)
                cache, kept = self.cache, {"value": value, "model": calls[-1].model}
                yield Do(lambda: cache.put({at: kept}))
                found = Answer(value, calls)
            return found
        finally:
            self._flights.land(at, None)

    def _kept(self, at: bytes, question: Question) -> Steps[Answer | None]:
        cache = self.cache
        assert cache is not None  # noqa: S101 - asked for only with one
        found = (yield Do(lambda: cache.get([at]))).get(at)
        if not isinstance(found, dict) or "value" not in found:
            return None
        call = Call(question.stage, str(found.get("model")), question.reasoning, 0, 0, 0.0, cached=True, host=self.host, requests=0)
        return Answer(found["value"], (call,))

    def _key(self, question: Question, key: str | None, about: str) -> bytes:
        import json

        asked = json.dumps([list(map(dict, question.messages)), question.schema], sort_keys=True) if key is None else key
        whose = (self.host, question.model or self.model, question.reasoning)
        return answer_key(about, "1", question.stage, *whose, "messages" if key is None else "key", asked)

    def _fresh(self, question: Question, until: float | None) -> Steps[tuple[Any, tuple[Call, ...]]]:
        """Ask, and once more if the answer cannot be used."""
        calls: list[Call] = []
        try:
            reply = yield from self._sent(question, until, calls)
            try:
                return _value(reply, question), tuple(calls)
            except _Unusable as unusable:
                calls[-1] = replace(calls[-1], status=unusable.reason)
                if not unusable.repairable:
                    raise
                again = self._repair(question, reply, unusable)
            reply = yield from self._sent(again, until, calls)
            try:
                value = _value(reply, question)
            except _Unusable as unusable:
                calls[-1] = replace(calls[-1], status=unusable.reason)
                raise
            self._learn(question, again)
            return value, tuple(calls)
        except _Unusable as unusable:
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

    def _repair(self, question: Question, reply: ChatReply, unusable: _Unusable) -> Question:
        """The question put so that the answer may come out right."""
        if unusable.reason == "truncated":
            budget = question.max_tokens * _MORE if question.max_tokens else None
            note = "Your answer was cut off. Answer again, complete, and as briefly as you can."
            return replace(question, messages=(*question.messages, {"role": "user", "content": note}), max_tokens=budget)
        if question.schema is None or not reply.text.strip():
            note = "You gave no answer. Answer now."
            return replace(question, messages=_joined(question.messages, note), form=_next_form(question, reply))
        said = {"role": "assistant", "content": reply.text[:_QUOTED]}
        note = {
            "role": "user",
            "content": f"That cannot be used: {unusable.problem}. Answer again, with one JSON object in the form that was asked for, and nothing else.",
        }
        return replace(question, messages=(*question.messages, said, note), form=_next_form(question, reply))

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


class _Unusable(Exception):
    def __init__(self, reason: str, problem: str) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem

    @property
    def repairable(self) -> bool:
        return self.reason in {"unreadable", "truncated", "empty"}

    def sentence(self, stage: str) -> str:
        return f"{stage}: the model's answer cannot be used ({self.reason}): {self.problem}"


def _value(reply: ChatReply, question: Question) -> Any:
    """What a reply says: text, or JSON that fits."""
    if reply.withheld:
        raise _Unusable("withheld", "its provider's filter held it back")
    said = without_thought(reply.text)
    if reply.refusal is not None and not said:
        raise _Unusable("refused", "the model would not answer")
    if not reply.finished:
        raise _Unusable("truncated", "it was cut off at its length")
    if question.schema is None:
        if not said:
            raise _Unusable("empty", "there is no answer")
        return said
    try:
        return read_answer(said or reply.thought, question.schema, question.aliases)
    except Misfit as misfit:
        reason = "truncated" if misfit.cut else "unreadable" if said else "empty"
        raise _Unusable(reason, str(misfit)) from None


def _next_form(question: Question, reply: ChatReply) -> str | None:
    return None if question.schema is None or reply.form == "plain" else "plain"


def _joined(messages: tuple[Mapping[str, str], ...], note: str) -> tuple[Mapping[str, str], ...]:
    """The note after what the user said: two turns of one role in a row are not taken everywhere."""
    last = messages[-1]
    return (*messages[:-1], {**last, "content": f"{last['content']}\n\n{note}"})


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
