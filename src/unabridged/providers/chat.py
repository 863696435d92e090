"""One chat request, with a JSON schema where one is asked for: the form that OpenAI and its many kin speak.

What a segmenter or an extraction needs of a model. It has no policy: no retry, no repair of an answer
(:mod:`unabridged.memory.asking.asking` has). It only leaves out what a server turns out not to know.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, ProviderError
from unabridged.providers.chat_forms import (
    Form,
    Habits,
    Wanted,
    adapted,
    habits_of,
    refuses_reasoning,
    request_body,
)
from unabridged.providers.chat_replies import ChatReply, Prices, read_reply
from unabridged.providers.http import Call, HttpHost

if TYPE_CHECKING:
    import ssl
    from collections.abc import Generator, Mapping, Sequence

    from unabridged.providers.http import Answer

__all__ = ["REASONING", "Chat", "ChatReply"]

REASONING = ("none", "low", "medium", "high")
_TIMEOUT = 300.0  # seconds: a model that thinks, on a machine without a graphics card, takes minutes
_ADAPTATIONS = 5  # no schema, no tools, the other name of the budget, no temperature, no system message


class Chat:
    """A chat model behind an OpenAI-compatible host; the object itself is a chat function for ``split(llm=…)``.

    ``prices`` are US dollars a million tokens, in and out, or a mapping from model (``*``: any other) to such
    a pair; with them each reply tells its cost where the provider does not. ``body``, ``headers`` and
    ``query`` add to every request; ``temperature`` is 0, ``None`` leaves it to the server. ``timeout`` bounds
    a request in seconds. A base URL without a path means its ``/v1``.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        timeout: float | None = None,
        prices: Prices | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        temperature: float | None = 0.0,
        proxy: str = "environment",
        verify: bool | str | ssl.SSLContext = True,
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise ConfigError("model", "found nothing, expected the name of a chat model")
        self.model = model
        self.prices = prices
        self._body = dict(body or {})
        self._temperature = temperature
        self._habits: dict[str, Habits] = {}
        key = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self.http = HttpHost(
            base_url,
            provider="chat",
            headers={**key, **(headers or {})},
            query=query,
            secrets=(api_key, *(headers or {}).values()),
            timeout=_TIMEOUT if timeout is None else timeout,
            proxy=proxy,
            verify=verify,
        )
        self._route = "chat/completions" if self.http.address.path else "v1/chat/completions"

    @property
    def host(self) -> str:
        """Where requests go, without a key."""
        return self.http.host

    def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        *,
        reasoning: str = "none",
        model: str | None = None,
        form: Form | None = None,
        timeout: float | None = None,
    ) -> ChatReply:
        """Send one request from a thread.

        ``reasoning`` is ``none`` (nothing is asked for), ``low``, ``medium`` or ``high``; its tokens do not
        count against ``max_tokens``. ``form`` is how a JSON answer is asked for: ``schema``, ``tools`` or
        ``plain`` (in words); by default the strictest that the server takes. ``timeout`` is the seconds left.

        Raises :class:`~unabridged.errors.ProviderError` for a refusal, a reply without an answer, or a host
        that cannot be reached.
        """
        steps = self._steps(messages, schema, max_tokens, reasoning, model, form, timeout)
        return _driven(steps, self.http)

    async def acall(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        *,
        reasoning: str = "none",
        model: str | None = None,
        form: Form | None = None,
        timeout: float | None = None,
    ) -> ChatReply:
        """The same from a task."""
        steps = self._steps(messages, schema, max_tokens, reasoning, model, form, timeout)
        return await _adriven(steps, self.http)

    def prefer(self, form: Form, model: str | None = None) -> None:
        """Ask for JSON in this form from now on: a server may take a schema and not keep to it."""
        name = model or self.model
        self._habits[name] = replace(self._habits.get(name) or habits_of(name), form=form)

    def close(self) -> None:
        """Give back the connections."""
        self.http.close()

    async def aclose(self) -> None:
        """The same from a task."""
        await self.http.aclose()

    def __repr__(self) -> str:
        return f"Chat({self.model!r}, host={self.host!r})"

    def _steps(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None,
        max_tokens: int | None,
        reasoning: str,
        model: str | None,
        form: Form | None,
        timeout: float | None,
    ) -> Generator[Call, Answer | ProviderError, ChatReply]:
        """The calls of one request, one after another: what a server does not know is left out of the next."""
        if reasoning not in REASONING:
            raise ConfigError("reasoning", f"found {reasoning!r}, expected one of {', '.join(REASONING)}")
        name = model or self.model
        wanted = Wanted(name, messages, schema, max_tokens, reasoning, self._temperature)
        habits = known = self._habits.get(name) or habits_of(name)
        if form is not None:
            habits = replace(habits, form=form)
        until = None if timeout is None else time.monotonic() + timeout
        for left in reversed(range(_ADAPTATIONS + 1)):
            left_time = None if until is None else until - time.monotonic()
            answer = yield Call(self._route, {**request_body(wanted, habits), **self._body}, timeout=left_time)
            if not isinstance(answer, ProviderError):
                reply = self._read(answer, name, habits.form if schema is not None else "plain")
                self._learn(name, known, habits, asked=form)
                return reply
            other = adapted(answer, wanted, habits) if left else None
            if other is None:
                raise self._named(answer, wanted)
            habits = other
        raise AssertionError

    def _learn(self, name: str, known: Habits, habits: Habits, *, asked: Form | None) -> None:
        """Only what was answered is remembered; a form that the caller chose is the caller's."""
        kept = habits
        if asked is not None:
            kept = replace(habits, form=known.form)
        if kept != known:
            self._habits[name] = kept

    def _read(self, answer: Answer, model: str, form: Form) -> ChatReply:
        reply = read_reply(answer.data, model=model, form=form, prices=self.prices)
        if reply is None:
            self.http.refuse(answer, "the reply has no choices[0].message.content")
        return reply

    def _named(self, error: ProviderError, wanted: Wanted) -> ProviderError:
        if not refuses_reasoning(error, wanted):
            return error
        problem = f"chat: the model takes no reasoning level {wanted.reasoning!r}; ask for 'none', or another model"
        return ProviderError(problem, error.fault, body=error.body)


def _driven(steps: Generator[Call, Answer | ProviderError, ChatReply], http: HttpHost) -> ChatReply:
    answer: Any = None
    try:
        while True:
            call = steps.send(answer)
            try:
                answer = http.call(call)
            except ProviderError as error:
                answer = error
    except StopIteration as end:
        return end.value


async def _adriven(steps: Generator[Call, Answer | ProviderError, ChatReply], http: HttpHost) -> ChatReply:
    answer: Any = None
    try:
        while True:
            call = steps.send(answer)
            try:
                answer = await http.acall(call)
            except ProviderError as error:
                answer = error
    except StopIteration as end:
        return end.value
