"""Who waits for a batch, and for what: requests, and the lines that they become."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from unabridged.errors import ProviderError
from unabridged.text.measure import utf8_length
from unabridged.types import Reply, Request

if TYPE_CHECKING:
    from unabridged.types import Vector

__all__ = ["Ask", "Line"]

_AROUND_A_TEXT = 250  # bytes of JSON around a text, at the most; the exact size is taken when a file is made


class Ask:
    """One request that waits: its texts by their keys, and the answers that are there."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self.keys = keys
        self.texts: dict[bytes, str] = {}
        self.got: dict[bytes, tuple[Vector, int | None]] = {}
        self.warnings: tuple[str, ...] = ()
        self.settings = Request(())
        self.future: Future[Reply] = Future()

    def take(self, key: bytes, answer: tuple[Vector, int | None], warnings: tuple[str, ...] = ()) -> None:
        """One text's answer; the last one settles it."""
        self.got[key] = answer
        self.warnings += tuple(line for line in warnings if line not in self.warnings)
        self.settle()

    def settle(self) -> None:
        """Hand out the reply if every answer is there."""
        if self.future.done() or any(key not in self.got for key in self.keys):
            return
        counts = [tokens for _, tokens in (self.got[key] for key in dict.fromkeys(self.keys))]
        tokens = None if None in counts else sum(count for count in counts if count is not None)
        vectors = np.stack([self.got[key][0] for key in self.keys])
        with contextlib.suppress(InvalidStateError):  # whoever asked has gone
            self.future.set_result(Reply(vectors, tokens, warnings=self.warnings))

    def fail(self, error: Exception, line: tuple[bytes, ...] = ()) -> None:
        """Hand out a refusal; its indices count the texts of ``line``, and are made to count ours."""
        if isinstance(error, ProviderError) and error.fault.indices and line != self.keys:
            named = [line[at] for at in error.fault.indices if at < len(line)]
            indices = tuple(self.keys.index(key) for key in named if key in self.keys)
            error = type(error)(str(error), replace(error.fault, indices=indices), body=error.body)
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


@dataclass(frozen=True, slots=True)
class Line:
    """A request that is to go into a file. ``request.texts`` and ``keys`` belong together."""

    keys: tuple[bytes, ...] = field(repr=False)
    request: Request = field(repr=False)

    size: int = 0

    @classmethod
    def of(cls, keys: tuple[bytes, ...], request: Request) -> Line:
        """With its bytes in a file, at the most."""
        return cls(keys, request, sum(utf8_length(text) + _AROUND_A_TEXT for text in request.texts))
