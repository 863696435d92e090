"""The models that a segmenter may call: as plain functions, counted, and stopped at the user's limits.

A chat function takes a list of ``{"role", "content"}`` messages and gives a string, a mapping or an object with
``text`` (and, where known, ``tokens_in``, ``tokens_out``, ``cost_usd``). An embedder is a function from texts to
vectors, or an object with ``embed(texts)``. This floor knows no provider: both are handed in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, UnabridgedError
from unabridged.text.lexical import lexical_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unabridged.text.measure import Measure

__all__ = ["Embed", "LimitReached", "Models", "as_chat", "as_embed"]

Chat = Callable[[list[dict[str, str]], Mapping[str, Any] | None, int | None], Any]
_PROMPT_NAMES = ("prompt", "text", "question", "query", "message")


class LimitReached(UnabridgedError):
    """``max_calls`` or ``max_cost_usd`` allows no further call."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Texts to vectors, and where they come from: ``lexical`` or ``api``."""

    vectors: Callable[[list[str]], NDArray[np.float32]]
    source: str


def as_embed(embedder: object) -> Embed | None:
    """An embedder from ``"lexical"``, a function, or anything with ``embed(texts)``; ``None`` stays ``None``."""
    if embedder is None:
        return None
    if embedder == "lexical":
        return Embed(lexical_vectors, "lexical")
    call = getattr(embedder, "embed", embedder)
    if isinstance(embedder, str) or not callable(call):
        found = repr(embedder) if isinstance(embedder, str) else f"a {type(embedder).__name__}"
        raise ConfigError(
            "embedder", f'found {found}, expected "lexical", a function of texts, or an object with embed()'
        )
    return Embed(call, "api")


def as_chat(llm: Any) -> Chat | None:
    """A chat function in one form, whatever the parameters of the one handed in.

    Its first parameter gets the messages, or one string if it is annotated ``str`` or named ``prompt`` or
    ``text``; ``schema`` and ``max_tokens`` are passed on if it takes them.
    """
    if llm is None:
        return None
    call = llm if callable(llm) else getattr(llm, "send", None) or getattr(llm, "chat", None)
    if not callable(call):
        raise ConfigError("llm", f"found a {type(llm).__name__}, expected a function of messages")
    try:
        takes = inspect.signature(call).parameters
    except (TypeError, ValueError):
        takes = inspect.signature(lambda messages: messages).parameters
    any_name = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
    first = next(iter(takes.values()), None)
    as_prompt = first is not None and (first.annotation in (str, "str") or first.name in _PROMPT_NAMES)
    params = list(takes.values())[1:2]
    positional = (
        bool(params) and params[0].default is params[0].empty and params[0].kind is params[0].POSITIONAL_OR_KEYWORD
    )

    def chat(messages: list[dict[str, str]], schema: Mapping[str, Any] | None, max_tokens: int | None) -> Any:
        options = {"schema": schema, "max_tokens": max_tokens}
        if positional and params[0].name not in options:  # a second parameter that must be given: the options
            return call(messages, {name: value for name, value in options.items() if value is not None})
        named = {name: value for name, value in options.items() if any_name or name in takes}
        subject = "\n\n".join(message["content"] for message in messages) if as_prompt else messages
        return call(subject, **named)

    return chat


@dataclass
class Models:
    """Calls to models: counted in ``trace``, refused over ``max_calls`` or ``max_cost_usd``.

    A blank limit is no limit here; callers with a configured one pass it.
    """

    chat: Chat | None = None
    tokenizer: Measure | None = None
    max_calls: int | None = None
    max_cost_usd: float | None = None
    trace: list[dict[str, Any]] = field(default_factory=list)

    def check(self) -> None:
        """Raise :class:`LimitReached` if no further call is allowed."""
        if self.max_calls is not None and len(self.trace) >= self.max_calls:
            raise LimitReached(f"max_calls = {self.max_calls} is reached")
        spent = sum(call["cost_usd"] or 0.0 for call in self.trace)
        if self.max_cost_usd is not None and spent >= self.max_cost_usd:
            raise LimitReached(f"max_cost_usd = {self.max_cost_usd} is reached")

    def ask(
        self,
        stage: str,
        messages: list[dict[str, str]],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """One chat call; its answer's text. The call is in the trace even if it fails."""
        assert self.chat is not None  # noqa: S101 - segmenters look first
        self.check()
        row = self._row(stage, self._count(message["content"] for message in messages))
        try:
            answer = self.chat(messages, schema, max_tokens)
        except UnabridgedError as error:
            _account(row, error.calls)
            raise
        text = _text_of(answer)
        row["tokens_out"] = self._count([text])
        for name in ("tokens_in", "tokens_out", "cost_usd", "model"):
            value = answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)
            if value is not None and not callable(value):
                row[name] = value
        row["ok"] = True
        return text

    def embed(self, stage: str, embed: Embed, texts: list[str]) -> NDArray[np.float32]:
        """One embedding pass over a batch of texts."""
        import numpy as np

        if embed.source == "lexical":  # no call: it runs here
            return np.asarray(embed.vectors(texts), np.float32)
        self.check()
        row = self._row(stage, self._count(texts))
        vectors = np.asarray(embed.vectors(texts), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ConfigError("embedder", f"{len(texts)} texts gave vectors of shape {vectors.shape} or not finite")
        row["ok"] = True
        return vectors

    def _row(self, stage: str, tokens_in: int) -> dict[str, Any]:
        row: dict[str, Any] = {
            "stage": stage, "calls": 1, "tokens_in": tokens_in, "tokens_out": 0, "cost_usd": None,
            "model": None, "ok": False,
        }  # fmt: skip
        self.trace.append(row)
        return row

    def _count(self, texts: Any) -> int:
        return sum(map(self.tokenizer.count, texts)) if self.tokenizer else 0


def _account(row: dict[str, Any], calls: Sequence[Any]) -> None:
    """What calls cost that came to nothing: they count against the limits too."""
    for name, key in (("tokens_in", "tokens_in"), ("tokens_out", "tokens_out"), ("cost", "cost_usd")):
        known = [value for call in calls if (value := getattr(call, name, None)) is not None]
        if known:
            row[key] = sum(known)


def _text_of(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        value = next((answer[key] for key in ("text", "content", "answer", "output") if key in answer), None)
    else:
        value = next((found for key in ("text", "content") if (found := getattr(answer, key, None)) is not None), None)
    if value is None or callable(value):
        import json

        value = json.dumps(answer, ensure_ascii=False) if isinstance(answer, (Mapping, Sequence)) else ""
    return str(value)
