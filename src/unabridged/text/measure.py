"""What a text costs: the protocols, and the two plainest ways to count."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Offsets = NDArray[np.int64]

__all__ = ["Characters", "Costs", "Measure", "Starts", "Utf8Bytes", "utf8_length"]


class Costs(Protocol):
    """Prefix sums over one text: what stands before an offset, in tokens (or whatever is counted).

    ``at`` and ``many`` are additive, so that cutting needs no second look at the text. What a slice
    costs when it stands alone may differ by a little (a token that straddled the cut, an estimate
    rounded up): ``between`` says that exactly.
    """

    @property
    def total(self) -> int:
        """What the whole text costs: the same as ``count(text)``."""
        ...

    @property
    def fixed(self) -> int:
        """What every text costs besides its characters (a model's special tokens): mostly 0."""
        ...

    def at(self, offset: int) -> int:
        """What the characters before ``offset`` cost."""
        ...

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        """The same for many offsets at once, ascending or not."""
        ...

    def select(self, budget: int) -> int:
        """The largest offset with ``at(offset) <= budget`` (0 if the budget is negative)."""
        ...

    def between(self, start: int, end: int) -> int:
        """What ``text[start:end]`` costs on its own, ``fixed`` included: the same as ``count`` of it."""
        ...

    def is_sure(self, start: int, end: int) -> bool:
        """Is ``between`` known to be ``at(end) - at(start) + fixed``, so that no recount is needed?"""
        ...


@runtime_checkable
class Measure(Protocol):
    """A way to count, with prefix sums. Every tokenizer of ours is one."""

    @property
    def name(self) -> str:
        """What it counts by: ``estimate``, ``cl100k_base`` and so on. Part of a splitter's fingerprint."""
        ...

    def count(self, text: str) -> int:
        """How many tokens ``text`` costs, as an input of its own."""
        ...

    def measure(self, text: str) -> Costs:
        """Prefix sums over ``text``, at a cost linear in its length."""
        ...


@dataclass(frozen=True, slots=True)
class Characters:
    """Counts characters (code points).

    >>> Characters().count("é中😀")
    3
    """

    name: str = "characters"

    def count(self, text: str) -> int:
        """The length."""
        return len(text)

    def measure(self, text: str) -> Costs:
        """Every character costs 1."""
        return _Even(len(text))


@dataclass(frozen=True, slots=True)
class Utf8Bytes:
    """Counts the bytes of the UTF-8 form. A lone surrogate counts as 3, like the U+FFFD sent in its place.

    >>> Utf8Bytes().count("é中😀")
    9
    """

    name: str = "bytes"

    def count(self, text: str) -> int:
        """The length of the UTF-8 form."""
        return utf8_length(text)

    def measure(self, text: str) -> Costs:
        """Bytes before each character."""
        return _Even(len(text)) if text.isascii() else _Bytes.of(text)


def utf8_length(text: str) -> int:
    """The bytes of the UTF-8 form; 3 for a lone surrogate.

    >>> utf8_length("a\\ud800")
    4
    """
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class _Even:
    """Every character costs the same: 1."""

    total: int
    fixed: int = 0

    def at(self, offset: int) -> int:
        return offset

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        return np.asarray(offsets, np.int64)

    def select(self, budget: int) -> int:
        return max(0, min(budget, self.total))

    def between(self, start: int, end: int) -> int:
        return end - start

    def is_sure(self, start: int, end: int) -> bool:
        return True


# Characters between two remembered byte counts: 4 bytes of memory a character would be too many.
_STRIDE = 256


@dataclass(frozen=True, slots=True, eq=False)
class _Bytes:
    """Byte counts, remembered at every 256th character."""

    text: str
    marks: list[int]
    total: int
    fixed: int = 0

    @classmethod
    def of(cls, text: str) -> _Bytes:
        marks = [0]
        for start in range(0, len(text), _STRIDE):
            marks.append(marks[-1] + utf8_length(text[start : start + _STRIDE]))
        return cls(text, marks, marks[-1])

    def at(self, offset: int) -> int:
        mark = offset // _STRIDE
        return self.marks[mark] + utf8_length(self.text[mark * _STRIDE : offset])

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        return np.fromiter((self.at(int(offset)) for offset in offsets), np.int64, len(offsets))

    def select(self, budget: int) -> int:
        if budget >= self.total:
            return len(self.text)
        mark = max(0, bisect_left(self.marks, budget + 1) - 1)
        start = mark * _STRIDE
        rest = budget - self.marks[mark]
        low, high = 0, min(_STRIDE, len(self.text) - start)
        while low < high:
            middle = (low + high + 1) // 2
            if utf8_length(self.text[start : start + middle]) <= rest:
                low = middle
            else:
                high = middle - 1
        return start + low

    def between(self, start: int, end: int) -> int:
        return self.at(end) - self.at(start)

    def is_sure(self, start: int, end: int) -> bool:
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Starts:
    """Prefix sums from the ascending offsets at which something starts: a line, a token."""

    starts: Offsets
    size: int

    @property
    def total(self) -> int:
        """How many start."""
        return len(self.starts)

    fixed = 0

    def at(self, offset: int) -> int:
        """How many start before ``offset``."""
        return int(self.starts.searchsorted(offset))

    def many(self, offsets: Sequence[int] | Offsets) -> Offsets:
        """The same for many."""
        return self.starts.searchsorted(offsets)

    def select(self, budget: int) -> int:
        """Where one more would start."""
        if budget < 0:
            return 0
        return int(self.starts[budget]) if budget < len(self.starts) else self.size

    def between(self, start: int, end: int) -> int:
        """How many start inside."""
        return self.at(end) - self.at(start)

    def is_sure(self, start: int, end: int) -> bool:
        """Nothing that starts inside depends on what stands before."""
        return True
