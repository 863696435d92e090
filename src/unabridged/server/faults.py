"""Errors of the library -> problems: what the caller can change, what it must wait for, what is ours.

What a model's server said stays here: it may quote the text, or name a host.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING

from unabridged.advice import worded
from unabridged.errors import (
    BudgetExhausted,
    CapUnenforceable,
    ConfigError,
    Conflict,
    EmbeddingFailed,
    EmptyText,
    InputError,
    JobError,
    MissingExtra,
    ModelMismatch,
    NotFound,
    Overflow,
    ProviderError,
    ProviderTimeout,
    StoreError,
    Taken,
    UnabridgedError,
    UnknownScript,
    UnreadableFile,
)
from unabridged.server.advice import WORDS
from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from unabridged.types import Fault

__all__ = ["as_problem", "no_text", "problem_of"]

_log = logging.getLogger("unabridged.server")

# Fault kind -> status, code, what the caller reads.
_FAULTS = {
    "rate_limit": (429, "rate_limit_exceeded", "the model's server takes no more for now"),
    "rate_limit_impossible": (413, "request_too_large", "one request is more than the model's server takes a minute"),
    "quota": (429, "insufficient_quota", "the quota at the model's server is used up"),
    "overloaded": (503, "overloaded", "the model's server is overloaded"),
    "auth": (502, "upstream_auth", "the model's server refuses the key that this server has for it"),
    "model_not_found": (404, "model_not_found", "the model's server does not know this model"),
    "invalid_dimensions": (400, "invalid_dimensions", "the model cannot give vectors of this width"),
    "empty_input": (400, "empty_input", "a text is empty"),
    "input_overflow": (400, "context_length_exceeded", "a text is over the model's limit, and cutting is off"),
    "request_overflow": (400, "context_length_exceeded", "the request is over the limit of the model's server"),
    "bad_request": (502, "upstream_refused", "the model's server refused the request"),
    "timeout": (504, "upstream_timeout", "the model's server did not answer in time"),
    "bad_reply": (502, "upstream_bad_reply", "the model's server answered with what cannot be used"),
}
_UNREACHED = (502, "upstream_error", "the model's server failed, or cannot be reached")
_PARAMS = {"invalid_dimensions": "dimensions", "model_not_found": "model", "empty_input": "input"}
_SAME = {"wrong_shape": "bad_reply", "bad_values": "bad_reply", "batch_count": "request_overflow"}


def problem_of(error: UnabridgedError) -> Problem:
    """As :func:`as_problem`; what is not the caller's to change goes into the log, in our own words."""
    found = as_problem(error)
    if found.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.warning("%s: %s", type(error).__name__, error)
    return found


def as_problem(error: UnabridgedError) -> Problem:
    """The answer to an error of ours.

    >>> as_problem(EmptyText([2])).status, as_problem(NotFound("artifact x is not there")).code
    (400, 'not_found')
    """
    if isinstance(error, EmbeddingFailed):
        cause = error.__cause__
        return as_problem(cause) if isinstance(cause, UnabridgedError) else _of(error)
    if isinstance(error, ProviderError):
        return _of_fault(_waited_out(error) or error.fault, error)
    if isinstance(error, EmptyText):
        return Problem(400, f"text {error.indices[0]} is empty or blank", code="empty_input", param="input")
    return _of(error)


def no_text() -> Problem:
    """The answer to half of a surrogate pair, wherever it meets UTF-8: only what a caller sent can hold one."""
    detail = "half of a surrogate pair was sent; it is not text"
    return Problem(400, detail, code="invalid_text")


def _waited_out(error: ProviderError) -> Fault | None:
    """The refusal that used up the time, of an error that says no more than that none is left."""
    cause = error.__cause__
    if isinstance(error, ProviderTimeout) and isinstance(cause, ProviderError):
        return replace(cause.fault, retry_after=error.fault.retry_after)
    return None


def _of_fault(fault: Fault, error: ProviderError) -> Problem:
    kind = _SAME.get(fault.kind, fault.kind)
    status, code, detail = _FAULTS.get(kind, _UNREACHED)
    if isinstance(error, Overflow) and fault.limit is not None and fault.unit is not None:
        detail += f": the limit is {fault.limit} {fault.unit}"
    if kind == "invalid_dimensions" and fault.limit is not None:
        detail += f": it gives {fault.limit}"
    if kind == "empty_input" and fault.indices:
        detail = f"text {fault.indices[0]} is empty or blank"
    headers = {"x-should-retry": "false"} if kind == "quota" else {}  # OpenAI's SDKs heed it
    if status in {429, 503} and kind != "quota":
        headers["retry-after"] = str(max(1, ceil(fault.retry_after or 1)))
    return Problem(status, detail, code=code, param=_PARAMS.get(kind), headers=headers)


def _of(error: UnabridgedError) -> Problem:
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            shown = worded(error, WORDS) if status < 500 else _OURS[status]
            if isinstance(error, UnreadableFile):  # its name may be a path of the server's
                shown = f"a file cannot be read: {error.reason}"
            return Problem(status, shown, code=code)
    return Problem(500, _OURS[500])


# In this order: the first that fits.
_KINDS: tuple[tuple[type[UnabridgedError], int, str], ...] = (
    (UnknownScript, 400, "unknown_script"),
    (CapUnenforceable, 400, "cap_unenforceable"),
    (UnreadableFile, 422, "unreadable_file"),
    (InputError, 400, "invalid_input"),
    (NotFound, 404, "not_found"),
    (Conflict, 409, "conflict"),
    (BudgetExhausted, 502, "budget_exhausted"),
    (ModelMismatch, 409, "model_mismatch"),
    (Taken, 409, "taken"),
    (StoreError, 503, "store_unavailable"),
    (JobError, 409, "job_failed"),
    (MissingExtra, 501, "not_installed"),
    (ConfigError, 400, "invalid_setting"),
)
_OURS = {
    500: "a fault of the server's own; its log has the request id",
    501: "a part that this needs is not installed on the server; its log says which",
    502: "a text could not be embedded: too many attempts were refused",
    503: "the memory cannot do this now; try again",
}
