"""How many of the provider's tokens one of ours stands for, a script at a time.

A tokenizer may be exact on English and half of the truth on Chinese, so what a bill or a refusal says about
a text is held for texts of its script alone.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from unabridged.providers.calibration import Ratio, ratio_of, script_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unabridged.embedding.batching import Sized

__all__ = ["CountStore", "Scales"]

_RANGE = (1.0, 8.0)  # below 1 nothing is over that was not; above 8 it is a count of something else
_SAMPLES = 64  # a script; enough for a steady percentile
# Small requests say more about special tokens than about the text.
_WORTH_LEARNING = 256
_WORTH_KEEPING = 1.01


class CountStore(Protocol):
    """Where samples outlive the process."""

    def load(self) -> Mapping[str, Ratio]:
        """What is known of this host and model, by script."""
        ...

    def learn(self, script: str, counted: int, actual: int, inputs: int) -> None:
        """Keep a sample."""
        ...


class Scales:
    """Provider tokens per token counted here: 1 until a refusal or a bill says otherwise.

    ``version`` grows with each change, so that what was counted before is looked at again. Not locked:
    its owner is.
    """

    def __init__(self, store: CountStore | None = None) -> None:
        self.version = 0
        self._store = store
        self._known = {} if store is None else {name: _within(ratio.high) for name, ratio in store.load().items()}
        self._stated: dict[str, float] = {}
        self._samples: dict[str, deque[tuple[int, int, int]]] = {}

    def of(self, text: str) -> float:
        """For one text."""
        return self._known.get(script_of(text), 1.0) if self._known else 1.0

    def expected(self, pieces: Sequence[Sized]) -> float:
        """How many tokens the provider is likely to count in these, at the most."""
        if not self._known:
            return float(sum(p.tokens for p in pieces))
        return sum(p.tokens * self.of(p.text) for p in pieces)

    def billed(self, pieces: Sequence[Sized], tokens: int) -> None:
        """A request went through, and this is what was counted there."""
        counted = sum(p.tokens for p in pieces)
        if counted < _WORTH_LEARNING:
            return
        scripts = {script_of(p.text) for p in pieces}
        if len(scripts) > 1:
            # Which script it was cannot be told: it teaches only those of which nothing is known.
            scripts = {name for name in scripts if name not in self._samples} if tokens > counted else set()
        for script in scripts:
            samples = self._samples.setdefault(script, deque(maxlen=_SAMPLES))
            samples.append((counted, tokens, len(pieces)))
            high = max(ratio_of(samples).high, self._stated.get(script, 1.0))
            self._set(script, high, counted, tokens, len(pieces))

    def stated(self, pieces: Sequence[Sized], actual: int) -> None:
        """A refusal says how many tokens these have: their scale is at least that."""
        counted = sum(p.tokens for p in pieces)
        for script in {script_of(p.text) for p in pieces} if counted else ():
            self._at_least(script, actual / counted, counted, actual, len(pieces))

    def at_least(self, piece: Sized, ratio: float) -> None:
        """Our count of a refused text is too low: one of ours stands for at least ``ratio``."""
        self._at_least(script_of(piece.text), ratio, piece.tokens, int(piece.tokens * ratio), 1)

    def _at_least(self, script: str, ratio: float, counted: int, actual: int, inputs: int) -> None:
        floor = max(self._stated.get(script, 1.0), _within(ratio))
        self._stated[script] = floor
        self._set(script, max(floor, self._known.get(script, 1.0)), counted, actual, inputs)

    def _set(self, script: str, scale: float, counted: int, actual: int, inputs: int) -> None:
        new, old = _within(scale), self._known.get(script, 1.0)
        if new == old:
            return
        self._known[script] = new
        self.version += 1
        if self._store is not None and not 1 / _WORTH_KEEPING < new / old < _WORTH_KEEPING:
            self._store.learn(script, counted, actual, inputs)


def _within(ratio: float) -> float:
    low, high = _RANGE
    return min(max(ratio, low), high)
