"""A chat completion, whatever the server: text, tokens, cost, and how it ended (pure)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ChatReply", "Prices", "read_reply"]

# US dollars a million tokens, in and out: for every model, or by model ("*" stands for any other).
Prices = tuple[float, float] | Mapping[str, tuple[float, float]]

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_WITHHELD = frozenset({"content_filter", "safety", "refusal"})


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the model said, the tokens as the provider counts them, and the model's name as it reports it.

    ``finished`` is ``False`` where the answer was cut off at its length. ``thought`` is what a model wrote
    apart before it answered. ``refusal`` is set where it would not answer, ``withheld`` where the provider
    would not hand the answer on. ``form`` is how the answer was asked for: ``schema``, ``tools``, ``plain``.
    """

    text: str = field(repr=False)
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    cost_usd: float | None = None
    finished: bool = True
    thought: str = field(default="", repr=False)
    refusal: str | None = field(default=None, repr=False)
    withheld: bool = False
    form: str = "plain"


def read_reply(data: Any, *, model: str, form: str, prices: Prices | None = None) -> ChatReply | None:
    """The reply in a completion, or ``None`` where there is no message in it.

    >>> message = {"content": [{"type": "text", "text": "Hi"}]}
    >>> read_reply({"choices": [{"message": message}]}, model="m", form="plain").text
    'Hi'
    """
    choice = _choice(data)
    if choice is None:
        return None
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {"content": choice.get("text")}
    refusal = message.get("refusal")
    text = _arguments(message) or _text(message.get("content"))
    if text is None:
        return None
    ended = str(choice.get("finish_reason") or choice.get("done_reason") or data.get("done_reason") or "").lower()
    read, wrote, cost = _usage(data)
    named = data.get("model")
    named = named if isinstance(named, str) and named else None
    return ChatReply(
        text,
        read,
        wrote,
        named,
        _priced(cost, read, wrote, prices, model, named),
        ended not in _CUT,
        _text(message.get("reasoning_content") or message.get("reasoning") or message.get("thinking")) or "",
        refusal if isinstance(refusal, str) and refusal else None,
        ended in _WITHHELD,
        form,
    )


def _choice(data: Any) -> Mapping[str, Any] | None:
    if not isinstance(data, Mapping):
        return None
    choices = data.get("choices")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        return choices[0] if isinstance(choices[0], Mapping) else None
    return data if isinstance(data.get("message"), Mapping) else None  # Ollama's own route


def _arguments(message: Mapping[str, Any]) -> str | None:
    """What the model called the tool with: it is the answer."""
    calls = message.get("tool_calls")
    found = calls[0] if isinstance(calls, Sequence) and calls else {"function": message.get("function_call")}
    function = found.get("function") if isinstance(found, Mapping) else None
    given = function.get("arguments") if isinstance(function, Mapping) else None
    return _text(given) or None


def _text(content: Any) -> str | None:
    """The text of a message: a string, a list of parts, or JSON that was parsed already."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        own = content.get("text")
        return own if isinstance(own, str) else json.dumps(content, ensure_ascii=False)
    if isinstance(content, Sequence):
        return "".join(_part(part) for part in content)
    return None


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type") in {"thinking", "reasoning"}:
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _usage(data: Mapping[str, Any]) -> tuple[int | None, int | None, float | None]:
    usage = data.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    read = _first(usage.get("prompt_tokens"), usage.get("input_tokens"), data.get("prompt_eval_count"))
    wrote = _first(usage.get("completion_tokens"), usage.get("output_tokens"), data.get("eval_count"))
    cost = usage.get("cost")
    return read, wrote, float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None


def _first(*counts: Any) -> int | None:
    return next((count for count in counts if type(count) is int and count >= 0), None)


def _priced(
    cost: float | None,
    read: int | None,
    wrote: int | None,
    prices: Prices | None,
    *models: str | None,
) -> float | None:
    """What the provider says that it cost, else tokens by price; ``None`` where neither is known."""
    if cost is not None or prices is None or read is None or wrote is None:
        return cost
    if isinstance(prices, Mapping):
        found = next((prices[name] for name in (*models, "*") if name is not None and name in prices), None)
        return None if found is None else _priced(None, read, wrote, found)
    return (read * prices[0] + wrote * prices[1]) / 1e6
