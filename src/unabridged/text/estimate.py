"""The default estimator (SPEC C3): tokens from the shapes of characters, no vocabulary needed.

A run of ASCII letters costs a token for every four begun, a run of digits one for every three, any
other character 1, white space 0. So a token *starts* at the 1st, 5th, 9th … letter of a run, at the
1st, 4th … digit, and at each other character: a map of bits, whose ranks are the prefix sums.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from unabridged.errors import ConfigError
from unabridged.text.scan import Scan, later, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unabridged.text.measure import Costs
    from unabridged.text.scan import Bits

    Offsets = NDArray[np.int64]

__all__ = ["CJK_COSTS", "Estimate", "EstimatedCosts"]

CJK_COSTS = MappingProxyType({"cl100k": 1.65, "o200k": 1.15, "llama3": 1.1, "qwen3": 1.3})
"""What a CJK character costs at most in 99 of 100 pieces of Chinese and Japanese manuals, by vocabulary.

Measured by ``python -m benchmarks estimating``; the mean is 0.7 to 1.15.
"""

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

    def __post_init__(self) -> None:
        if not 0 < self.cjk < math.inf:
            raise ConfigError("tokenizer.cjk", f"found {self.cjk}, expected a number above 0")

    @property
    def name(self) -> str:
        """``estimate``, with the cost of a CJK character where it is not 1."""
        return "estimate" if self.cjk == 1 else f"estimate(cjk={self.cjk:g})"

    @property
    def adds_up_by_line(self) -> bool:
        """Whether the tokens of lines add up to those of a text: a newline costs nothing, and ends every run."""
        return self.cjk == 1  # else each count is rounded up

    def count(self, text: str) -> int:
        """The estimated tokens of ``text``."""
        return self.measure(text).total

    def measure(self, text: str) -> Costs:
        """Prefix sums over ``text``."""
        plain = EstimatedCosts.over(text, wide=self.cjk != 1)
        if plain.scan.wide is None:
            return plain
        return _Weighted(plain, Ranks.of(plain.scan.wide), self.cjk - 1)


def _token_starts(scan: Scan, runs: Bits) -> Bits:
    """A bit wherever a token begins."""
    starts = ~(runs | scan.spaces)
    starts[-1] &= np.uint64((1 << (scan.size & 63)) - 1)
    for run, step in ((scan.letters, _LETTERS), (scan.digits, _DIGITS)):
        starts |= spread(run & ~later(run, 1), run, step)
    return starts


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """How many bits are set before a position, and where the n-th one is.

    ``before[w]`` counts the bits of the words before ``w``. The views give out plain integers,
    which is what single look-ups want.
    """

    words: Bits
    before: Offsets
    word: memoryview
    base: memoryview

    @classmethod
    def of(cls, words: Bits) -> Ranks:
        before = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.bitwise_count(words), dtype=np.int64, out=before[1:])
        return cls(words, before, memoryview(words), memoryview(before))  # type: ignore[arg-type]

    def at(self, offset: int) -> int:
        word = offset >> 6
        return self.base[word] + (self.word[word] & ((1 << (offset & 63)) - 1)).bit_count()

    def many(self, offsets: Offsets) -> Offsets:
        word = offsets >> 6
        low = (np.uint64(1) << (offsets & 63).astype(np.uint64)) - np.uint64(1)
        return self.before[word] + np.bitwise_count(self.words[word] & low)

    def select(self, rank: int) -> int:
        """The position of the bit that has ``rank`` bits before it; there must be one."""
        base = self.base
        word = bisect_right(base, rank) - 1
        bits, rank, position = self.word[word], rank - base[word], word << 6
        for width in (32, 16):
            if (inside := (bits & ((1 << width) - 1)).bit_count()) <= rank:
                rank -= inside
                bits >>= width
                position += width
        for _ in range(rank):
            bits &= bits - 1
        return position + (bits & -bits).bit_length() - 1


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedCosts(Ranks):
    """The estimator's prefix sums. ``scan`` is kept, for boundaries are found in it too."""

    text: str
    scan: Scan
    runs: memoryview
    fixed: int = 0

    @classmethod
    def over(cls, text: str, *, wide: bool = False) -> EstimatedCosts:
        """Scan the text, and rank its token starts."""
        scan = Scan.of(text, wide=wide)
        runs = scan.letters | scan.digits
        ranks = Ranks.of(_token_starts(scan, runs))
        return cls(ranks.words, ranks.before, ranks.word, ranks.base, text, scan, memoryview(runs))  # type: ignore[arg-type]

    @property
    def total(self) -> int:
        """The estimate for the whole text."""
        return self.base[-1]

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        """The same for many offsets."""
        return Ranks.many(self, np.asarray(offsets, np.int64))

    def select(self, rank: int) -> int:
        """Where the token after ``rank`` tokens starts, or the text's end."""
        if rank < 0:
            return 0
        return Ranks.select(self, rank) if rank < self.base[-1] else self.scan.size

    def between(self, start: int, end: int) -> int:
        """The estimate for a slice: a run of letters or digits that it cuts into begins anew."""
        return self.at(end) - self.at(start) + self._begun_anew(start, end)

    def is_sure(self, start: int, end: int) -> bool:
        """Unless the slice opens inside a run of letters or digits."""
        word = start >> 6
        return start == 0 or not (self.runs[word] & ~self.word[word]) >> (start & 63) & 1

    def _begun_anew(self, start: int, end: int) -> int:
        """What the first run of the slice costs more than in the whole text, where it was cut."""
        if start >= end or self.is_sure(start, end):
            return 0
        stop = self._run_end(start, end)
        step = _LETTERS if self.text[start].isalpha() else _DIGITS
        return -(-(stop - start) // step) - (self.at(stop) - self.at(start))

    def _run_end(self, start: int, end: int) -> int:
        """Where the run of letters or digits at ``start`` ends."""
        words = (self.scan.letters if self.text[start].isalpha() else self.scan.digits).data
        word = start >> 6
        others = ~words[word] >> (start & 63) << (start & 63) & _ALL
        while not others:
            word += 1
            if word << 6 >= end:
                return end
            others = ~words[word] & _ALL
        return min(end, (word << 6) + (others & -others).bit_length() - 1)


_ALL = (1 << 64) - 1


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
        return self.plain.total + math.ceil(self.extra * self.wide.base[-1])

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

    def is_sure(self, start: int, end: int) -> bool:
        return False
