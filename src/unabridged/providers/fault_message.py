"""A classified refusal as an error: the right class, and one line in the provider's own words (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unabridged.errors import (
    AuthFailed,
    BadReply,
    ModelNotFound,
    Overflow,
    ProviderError,
    ProviderTimeout,
    RateLimited,
)
from unabridged.providers.fault_text import read_reply

if TYPE_CHECKING:
    from unabridged.types import Fault, FaultKind

__all__ = ["error_for", "masked"]

_LONGEST = 300
_CLASSES: dict[FaultKind, type[ProviderError]] = {
    "input_overflow": Overflow,
    "request_overflow": Overflow,
    "batch_count": Overflow,
    "rate_limit": RateLimited,
    "rate_limit_impossible": RateLimited,
    "quota": RateLimited,
    "overloaded": RateLimited,
    "auth": AuthFailed,
    "model_not_found": ModelNotFound,
    "bad_reply": BadReply,
    "bad_values": BadReply,
    "timeout": ProviderTimeout,
}
_NAMES: dict[FaultKind, str] = {
    "input_overflow": "a text is over the limit",
    "request_overflow": "the request is over the limit",
    "batch_count": "too many texts in one request",
    "rate_limit": "rate limit",
    "rate_limit_impossible": "the request alone is over the rate limit",
    "quota": "quota exhausted",
    "overloaded": "overloaded",
    "auth": "the key is refused",
    "model_not_found": "no such model",
    "invalid_dimensions": "these dimensions are refused",
    "output_budget": "too many output tokens asked for",
    "empty_input": "an empty text is refused",
    "wrong_shape": "the request's shape is refused",
    "bad_values": "the vectors hold values that are no numbers",
    "bad_reply": "an answer that cannot be used",
    "upstream_error": "the provider failed",
    "bad_request": "refused",
    "timeout": "timed out",
    "unknown": "failed",
}
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|pa|hf|gsk|nvapi|xai|jina|fw|pplx|ak|or|co|key|tok|bearer|api|AKIA|ASIA|AIza|ya29|eyJ)[-_.]?[A-Za-z0-9_\-*.]{12,}"
    r"|(?<=[Bb]earer )\S+|(?<=[?&]key=)[^&\s]+|\b[A-Za-z0-9_\-]{40,}\b"
)


def masked(text: str) -> str:
    """The text without anything that may be a key.

    >>> masked("Incorrect API key provided: sk-abcdEFGH1234567890.")
    'Incorrect API key provided: ***'
    """
    return _KEYS.sub("***", text)


def error_for(fault: Fault, body: object, *, provider: str) -> ProviderError:
    """The error that a refusal is raised as: its class by kind, its message from the reply.

    The message is one line of at most about 300 characters; what the reply quotes of the request is
    left out and keys are masked. ``body`` is kept on the error for the caller alone.

    >>> from unabridged.providers.faults import classify
    >>> body = {"error": {"message": "Prompt too long", "code": "1261"}}
    >>> error_for(classify(400, body), body, provider="zhipu")
    Overflow('zhipu: a text is over the limit (400): Prompt too long')
    """
    said = _own_words(body)
    status = f" ({fault.status})" if fault.status else ""
    head = f"{provider}: {_NAMES[fault.kind]}{_figures(fault)}{status}"
    message = f"{head}: {said}" if said else head
    return _CLASSES.get(fault.kind, ProviderError)(message, fault, body=body)


def _figures(fault: Fault) -> str:
    where = (
        f" at {', '.join(map(str, fault.indices[:5]))}{' …' if len(fault.indices) > 5 else ''}" if fault.indices else ""
    )
    if fault.limit is None:
        return where
    return (
        f"{where}: {fault.actual} of {fault.limit} {fault.unit}"
        if fault.actual
        else f"{where}: {fault.limit} {fault.unit}"
    )


def _own_words(body: object) -> str:
    """The provider's sentences, without those that only wrap others, on one line."""
    statements = read_reply(body).statements
    said = " ".join(_printable(masked(text)) for text in statements[:6])
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST].rstrip()}…"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()
