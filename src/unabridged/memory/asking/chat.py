"""Any chat as one thing to send to: a :class:`~unabridged.providers.chat.Chat`, or a function of one's own."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from unabridged.errors import ConfigError, ProviderError
from unabridged.providers.chat_replies import ChatReply, read_reply
from unabridged.text.segmenters.models import as_chat
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ChatLike", "Question", "Speaker"]


class ChatLike(Protocol):
    """What answers messages: a ``Chat``, or any function that takes them and gives text, JSON or a completion.

    ``schema``, ``max_tokens``, ``model``, ``reasoning``, ``form``, ``timeout`` and ``stage`` are passed on
    where it takes them.
    """

    def __call__(self, messages: list[dict[str, str]], /) -> Any:
        """The answer."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a chat, as the policy has it."""

    messages: tuple[Mapping[str, str], ...] = field(repr=False)
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    max_tokens: int | None = None
    stage: str = ""
    model: str | None = None
    reasoning: str = "none"
    form: str | None = None
    timeout: float | None = None
    aliases: Mapping[str, tuple[str, ...]] | None = field(default=None, repr=False)

    @property
    def extras(self) -> dict[str, Any]:
        """The options beyond messages, schema and budget that are set."""
        given = {
            "stage": self.stage,
            "model": self.model,
            "reasoning": None if self.reasoning == "none" else self.reasoning,
            "form": self.form,
            "timeout": self.timeout,
        }
        return {name: value for name, value in given.items() if value is not None}


class Speaker:
    """One chat with its host and model; ``known`` tells whether these name it beyond this process."""

    def __init__(self, chat: Any) -> None:
        call = chat if callable(chat) else getattr(chat, "send", None) or getattr(chat, "chat", None)
        if isinstance(chat, str) or not callable(call):
            raise ConfigError("chat", f"found a {type(chat).__name__}, expected a Chat or a function of messages")
        self.chat = chat
        host, model = getattr(chat, "host", None), getattr(chat, "model", None)
        self.known = isinstance(host, str) and isinstance(model, str)
        self.host = host if isinstance(host, str) else "process"
        self.model = model if isinstance(model, str) else getattr(chat, "__name__", type(chat).__name__)
        self._call: Callable[..., Any] = call
        self._acall: Callable[..., Any] | None = getattr(chat, "acall", None)
        self._takes = _options_of(call)

    def send(self, question: Question) -> ChatReply:
        """Ask from a thread."""
        if self._acall is None and inspect.iscoroutinefunction(self._call):
            raise ConfigError("chat", "found a coroutine function, which only the async calls can await")
        return self._reply(question, self._bound(self._call, question))

    async def asend(self, question: Question) -> ChatReply:
        """Ask from a task; a plain function runs in a thread."""
        if self._acall is not None or inspect.iscoroutinefunction(self._call):
            return self._reply(question, await self._bound(self._acall or self._call, question))
        return await asyncio.to_thread(self.send, question)

    def prefer(self, form: str, model: str | None) -> None:
        """Tell the chat in which form JSON is to be asked for, if it knows such a thing."""
        tell = getattr(self.chat, "prefer", None)
        if tell is not None:
            tell(form, model)

    def prices(self, model: str | None = None) -> tuple[float, float] | None:
        """US dollars a million tokens, in and out, where they are known."""
        known = getattr(self.chat, "prices", None)
        if isinstance(known, Mapping):
            return known.get(model or self.model, known.get("*"))
        return known

    def _bound(self, call: Callable[..., Any], question: Question) -> Any:
        extras = {name: value for name, value in question.extras.items() if name in self._takes}
        chat = as_chat(partial(call, **extras) if extras else call)
        assert chat is not None  # noqa: S101 - it is None for None only
        return chat([dict(message) for message in question.messages], question.schema, question.max_tokens)

    def _reply(self, question: Question, answer: Any) -> ChatReply:
        if isinstance(answer, ChatReply):
            return answer
        if isinstance(answer, str):
            return ChatReply(answer)
        dumped = getattr(answer, "model_dump", None)  # an SDK's completion
        data = dumped() if callable(dumped) else answer
        if isinstance(data, Mapping) and isinstance(data.get("choices"), Sequence):
            read = read_reply(data, model=self.model, form="plain", prices=getattr(self.chat, "prices", None))
            if read is not None:
                return read
        return _loose(data)


def _options_of(call: Callable[..., Any]) -> frozenset[str]:
    try:
        takes = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return frozenset()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values()):
        return frozenset({"stage", "model", "reasoning", "form", "timeout"})
    return frozenset(takes)


def _loose(answer: Any) -> ChatReply:
    """A mapping with a text in it, an object with one, or the JSON answer itself."""
    get = answer.get if isinstance(answer, Mapping) else lambda name, default=None: getattr(answer, name, default)
    text = next((value for name in ("text", "content") if isinstance(value := get(name), str)), None)
    if text is None:
        if not isinstance(answer, Mapping | list):
            raise ProviderError(
                f"chat: answered with a {type(answer).__name__}, expected text or JSON", Fault("bad_reply")
            )
        return ChatReply(json.dumps(answer, ensure_ascii=False))
    numbers = {name: get(name) for name in ("tokens_in", "tokens_out", "cost_usd", "model")}
    return ChatReply(text, **{name: value for name, value in numbers.items() if not callable(value)})  # type: ignore[arg-type]
