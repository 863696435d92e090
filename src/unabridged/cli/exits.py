"""Exit codes: what a script can tell from them."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from unabridged.errors import (
    BudgetExhausted,
    Cancelled,
    ChatError,
    ConfigError,
    EmbeddingFailed,
    InputError,
    JobError,
    MissingExtra,
    ModelMismatch,
    NotFound,
    ProviderError,
    RememberFailed,
    Taken,
)

__all__ = [
    "FAULT",
    "INTERRUPTED",
    "PROVIDER",
    "SOME_FAILED",
    "TERMINATED",
    "USAGE",
    "Leave",
    "drain",
    "exit_code",
    "leave_now",
]

SOME_FAILED = 1
USAGE = 2
PROVIDER = 3
FAULT = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143  # 128 + SIGTERM


class Leave(BaseException):
    """A command ends, and has said why, or a signal says it: what is half done is undone on the way."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def exit_code(error: BaseException) -> int:
    """The code for an error that ended a command.

    >>> exit_code(ConfigError("embedding.model", "…")), exit_code(OSError())
    (2, 4)
    """
    if isinstance(error, ConfigError | InputError | JobError | MissingExtra | NotFound | Taken):
        return USAGE
    if isinstance(error, ProviderError | ModelMismatch | ChatError | RememberFailed):
        return PROVIDER
    if isinstance(error, EmbeddingFailed | BudgetExhausted):
        return SOME_FAILED
    if isinstance(error, Cancelled):
        return INTERRUPTED
    return FAULT


def drain(code: int) -> int:
    """Write out what is left for stdout; where that fails, let go of it, lest the interpreter end with 120."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code or FAULT
    return code


def leave_now(code: int) -> NoReturn:
    """End the process without waiting for answers that are under way: whoever pressed Ctrl-C does not."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)
