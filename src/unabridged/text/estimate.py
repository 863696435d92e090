"""The default estimator (SPEC C3): tokens from the shapes of characters, no vocabulary needed.

A run of ASCII letters costs a token for every four begun, a run of digits one for every three, any
other character 1, white space 0. So a token *starts* at the 1st, 5th, 9th … letter of a run, at the
1st, 4th … digit, and at each other character: a map of bits, whose ranks are the prefix sums.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unabridged.text.scan import Scan, later, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unabridged.text.measure import Costs
    from unabridged.text.scan import Bits

    Offsets = NDArray[np.int64]

__all__ = ["Estimate", "EstimatedCosts"]

_LETTERS = 4
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimates tokens by the shapes of characters; for English prose 10–20 % high, on purpose.

    ``cjk`` is what a Chinese, Japanese or Korean character costs. 1 is the rule of SPEC C3; some
    vocabularies need more (see :data:`CJK_COSTS`).

    >>> Estimate().count("Hello, world 2024")
    7
    >>> Estimate(cjk=1.5).count("中文")
    3
    """

    cjk: float = 1.0

    @property
    def name(self) -> str:
        """``estimate``, with the cost of a CJK character where it is not 1."""
        return "estimate" if self.cjk == 1 else f"estimate(cjk={self.cjk:g})"

    def count(self, text: str) -> int:
        """The estimated tokens of ``text``."""
        return self.measure(text).total

    def measure(self, text: str) -> Costs:
        """Prefix sums over ``text``."""
        scan = Scan.of(text, wide=self.cjk != 1)
        plain = EstimatedCosts(text, scan, Ranks.of(_token_starts(scan)))
        if scan.wide is None:
            return plain
        return _Weighted(plain, Ranks.of(scan.wide), self.cjk - 1)


def _token_starts(scan: Scan) -> Bits:
    """A bit wherever a token begins."""
    alone = ~(scan.letters | scan.digits | scan.spaces)
    alone[-1] &= np.uint64((1 << (scan.size & 63)) - 1)
    for runs, step in ((scan.letters, _LETTERS), (scan.digits, _DIGITS)):
        alone |= spread(runs & ~later(runs, 1), runs, step)
    return alone


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """How many bits are set before a position, and where the n-th one is.

    ``words`` has a spare word at the end, ``before[w]`` counts the bits of the words before ``w``.
    """

    words: Bits
    before: Offsets
    quick_words: memoryview
    quick_before: memoryview

    @classmethod
    def of(cls, words: Bits) -> Ranks:
        before = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.bitwise_count(words), dtype=np.int64, out=before[1:])
        return cls(words, before, memoryview(words), memoryview(before))

    def at(self, offset: int) -> int:
        word = offset >> 6
        low = self.quick_words[word] & ((1 << (offset & 63)) - 1)
        return self.quick_before[word] + low.bit_count()

    def many(self, offsets: Offsets) -> Offsets:
        word = offsets >> 6
        low = (np.uint64(1) << (offsets & 63).astype(np.uint64)) - np.uint64(1)
        return self.before[word] + np.bitwise_count(self.words[word] & low)

    def select(self, rank: int) -> int:
        """The position of the bit that has ``rank`` bits before it; past the end if there is none."""
        word = bisect_right(self.quick_before, rank) - 1
        if word >= len(self.words):
            return len(self.words) << 6
        bits = self.quick_words[word]
        rank -= self.quick_before[word]
        position = word << 6
        for width in (32, 16, 8, 4, 2, 1):
            low = bits & ((1 << width) - 1)
            if (inside := low.bit_count()) <= rank:
                rank -= inside
                bits >>= width
                position += width
            else:
                bits = low
        return position


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedCosts:
    """The estimator's prefix sums. ``scan`` is kept, for boundaries are found in it too."""

    text: str
    scan: Scan
    ranks: Ranks
    fixed: int = 0

    @property
    def total(self) -> int:
        """The estimate for the whole text."""
        return self.ranks.quick_before[-1]

    def at(self, offset: int) -> int:
        """Tokens that start before ``offset``."""
        return self.ranks.at(offset)

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        """The same for many offsets."""
        return self.ranks.many(np.asarray(offsets, np.int64))

    def select(self, budget: int) -> int:
        """Where the token after ``budget`` tokens starts."""
        return min(self.ranks.select(budget), self.scan.size) if budget >= 0 else 0

    def between(self, start: int, end: int) -> int:
        """The estimate for a slice: a run of letters or digits that it cuts into begins anew."""
        cost = self.ranks.at(end) - self.ranks.at(start)
        return cost + self._begun_anew(start, end)

    def _begun_anew(self, start: int, end: int) -> int:
        """What the first run of the slice costs more than in the whole text, where it was cut."""
        if start == 0 or start >= end or self.ranks.quick_words[start >> 6] >> (start & 63) & 1:
            return 0
        first = self.text[start]
        if first.isspace() or not first.isascii():
            return 0
        stop = self._run_end(start, end)
        step = _LETTERS if first.isalpha() else _DIGITS
        return -(-(stop - start) // step) - (self.ranks.at(stop) - self.ranks.at(start))

    def _run_end(self, start: int, end: int) -> int:
        """Where the run of letters or digits at ``start`` ends."""
        runs = self.scan.letters if self.text[start].isalpha() else self.scan.digits
        width = 64
        while start < end:
            piece = self.text[start : min(end, start + width)]
            rest = piece.lstrip(_ALPHABET if runs is self.scan.letters else _FIGURES)
            start += len(piece) - len(rest)
            if rest:
                return start
            width *= 2
        return end


_FIGURES = "0123456789"
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, eq=False)
class _Weighted:
    """The estimate, with an extra cost for each CJK character."""

    plain: EstimatedCosts
    wide: Ranks
    extra: float
    fixed: int = 0

    @property
    def scan(self) -> Scan:
        return self.plain.scan

    @property
    def total(self) -> int:
        return self.plain.total + math.ceil(self.extra * self.wide.quick_before[-1])

    def at(self, offset: int) -> int:
        return self.plain.at(offset) + math.ceil(self.extra * self.wide.at(offset))

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        places = np.asarray(offsets, np.int64)
        more = np.ceil(self.extra * self.wide.many(places)).astype(np.int64)
        return self.plain.many(places) + more

    def select(self, budget: int) -> int:
        offsets = range(self.scan.size + 1)
        return max(0, bisect_right(offsets, budget, key=self.at) - 1)

    def between(self, start: int, end: int) -> int:
        more = math.ceil(self.extra * (self.wide.at(end) - self.wide.at(start)))
        return self.plain.between(start, end) + more
