"""What a provider takes, as known now: declared, then tightened by what it refuses, and how it counts.

Thread-safe; one object serves all calls of an embedder. A guess (a refusal without numbers) is
kept apart until a smaller cut has been accepted, so that one odd text cannot shrink all others.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from unabridged.embedding.scales import Scales
from unabridged.providers.limits import SMALLEST_TOKENS
from unabridged.text.measure import utf8_length
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.embedding.batching import Sized
    from unabridged.embedding.scales import CountStore
    from unabridged.types import Fault

__all__ = ["LearnedStore", "LimitsInForce", "next_guess"]

# Limits that models really have, a factor of four apart: a refusal without numbers goes one rung down,
# which ends within twice the requests of an exact plan (case 3).
_RUNGS = (32_768, 8192, 2048, 512, 128, 32)
_MUCH = 0.5  # a stated limit below half of what has gone through is not the limit


class LearnedStore(Protocol):
    """Where learned limits outlive the process."""

    def load(self) -> Limit:
        """What has been learned of this host and model."""
        ...

    def learn(self, limit: Limit, fault: Fault) -> None:
        """Keep a tightened limit, and the fault that it came from."""
        ...


def next_guess(tokens: float) -> int | None:
    """The next plausible limit under a size that was refused; ``None`` below the smallest.

    >>> next_guess(5500), next_guess(2048), next_guess(20)
    (2048, 512, None)
    """
    return next((rung for rung in _RUNGS if rung < tokens), None)


class LimitsInForce:
    """The limit that holds now, and how many of the provider's tokens one of ours stands for."""

    def __init__(self, declared: Limit, store: LearnedStore | None = None, counts: CountStore | None = None) -> None:
        self.declared = declared
        self.scales = Scales(counts)
        self._store = store
        self._limit = declared.tighten(store.load()) if store is not None else declared
        self._accepted = 0.0
        self._lock = threading.Lock()

    @property
    def limit(self) -> Limit:
        """Declared and learned, the smaller of each two."""
        return self._limit

    def accepted(self, pieces: Sequence[Sized], billed: int | None) -> None:
        """A request went through: its texts, and all of its tokens as billed."""
        largest = max(pieces, key=lambda piece: piece.tokens)
        with self._lock:
            self._accepted = max(self._accepted, largest.tokens * self.scales.of(largest.text))
            if billed is not None:
                self.scales.billed(pieces, billed)

    def refused_input(self, fault: Fault, piece: Sized | None) -> bool:
        """Learn from a text that was over the limit, if it is known which; whether the limit is now known."""
        limit, unit = fault.limit, fault.unit or "tokens"
        with self._lock:
            if piece is not None and fault.actual and unit == "tokens":
                self.scales.stated([piece], fault.actual)
            if limit is None and fault.excess and piece is not None and unit == "tokens":
                limit = int(piece.tokens * self.scales.of(piece.text)) - fault.excess
            if limit is None or limit < SMALLEST_TOKENS:
                return False
            if unit == "tokens":
                scale = 1.0 if piece is None else self.scales.of(piece.text)
                if limit < self._accepted / scale * _MUCH:
                    return False  # much more has gone through: this number is not the limit
                return self._tighten(Limit(input_tokens=limit), fault)
            if unit in ("chars", "bytes"):
                return self._tighten(Limit(**{f"input_{unit}": limit}), fault)
        return False

    def refused_request(self, fault: Fault, pieces: Sequence[Sized]) -> None:
        """Learn from a request over the limit: strictly less next time."""
        with self._lock:
            if fault.kind == "batch_count" or fault.unit == "inputs":
                self._tighten(Limit(request_inputs=_below(fault.limit, len(pieces))), fault)
            elif fault.unit in ("bytes", "chars"):
                size = sum(utf8_length(piece.text) for piece in pieces)
                self._tighten(Limit(request_bytes=_below(fault.limit, size)), fault)
            else:
                if fault.actual:
                    self.scales.stated(pieces, fault.actual)
                expected = int(self.scales.expected(pieces))
                self._tighten(Limit(request_tokens=_below(fault.limit, expected)), fault)

    def confirm_guess(self, guess: int, fault: Fault) -> None:
        """A cut to a guessed limit went through after a larger one was refused: remember it."""
        with self._lock:
            if guess > self._accepted:
                self._tighten(Limit(input_tokens=guess), fault)

    def count_more(self, piece: Sized, ratio: float) -> None:
        """Our count of a refused text is too low: one of ours stands for at least ``ratio``."""
        with self._lock:
            self.scales.at_least(piece, ratio)

    def _tighten(self, other: Limit, fault: Fault) -> bool:
        tighter = self._limit.tighten(other)
        if tighter != self._limit:
            self._limit = tighter
            if self._store is not None:
                self._store.learn(other, replace(fault, indices=()))
        return True


def _below(stated: int | None, actual: int) -> int:
    """The stated cap if it is one for a request of this size, else half of the request."""
    return stated if stated is not None and 0 < stated < actual else max(1, actual // 2)
