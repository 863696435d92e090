"""Where a text may be cut: after paragraphs, lines, words (sentences have a module of their own).

A boundary is an offset just after a unit and its separator, so that units tile the text. Blank
lines are found in the whole text at once, as maps of bits; everything finer only around a cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unabridged.text.scan import Scan, bits_at, later, spread
from unabridged.text.wordbreaks import break_before, is_unspaced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unabridged.text.scan import Bits

    Offsets = NDArray[np.int64]

__all__ = ["Level", "Lines", "Marks", "Words", "lines", "paragraphs"]


class Level(Protocol):
    """One kind of boundary in one text."""

    def last(self, low: int, high: int) -> int | None:
        """The largest boundary in ``(low, high]``."""
        ...

    def first(self, low: int, high: int) -> int | None:
        """The smallest boundary in ``(low, high]``."""
        ...


def paragraphs(text: str, scan: Scan | None = None) -> Offsets:
    r"""The ends of paragraphs: after white space with two line feeds or more; the last is the text's end.

    >>> paragraphs("one\n\ntwo\r\n \r\nthree").tolist()
    [5, 13, 18]
    """
    scan = scan or Scan.of(text)
    if _is_dense(scan.feeds):
        found = _ends_by_bits(scan)
    else:
        found = _next_clear(scan.spaces, _blank_line_feeds(text, scan))
        found = np.concatenate((found[:1], found[1:][found[1:] != found[:-1]]))
    return found if len(found) and found[-1] == scan.size else np.append(found, scan.size)


def _is_dense(feeds: Bits) -> bool:
    """More than a line feed in every 8 characters: too many to look at one by one."""
    return int(np.bitwise_count(feeds).sum()) > 8 * len(feeds)


def _ends_by_bits(scan: Scan) -> Offsets:
    """The same, by shifts alone: the ends of the white space in which a line feed follows another."""
    second = spread(later(scan.feeds, 1) & scan.spaces, scan.spaces, 1) & scan.feeds
    following = scan.spaces >> np.uint64(1)
    following[:-1] |= scan.spaces[1:] << np.uint64(63)
    return bits_at(spread(second, scan.spaces, 1) & ~following) + 1


# Up to so many lines with white space at their ends are looked at one by one.
_FEW = 64


def _blank_line_feeds(text: str, scan: Scan) -> Offsets:
    """The line feeds that end a blank line, ascending."""
    spaced = bits_at(scan.feeds & later(scan.spaces & ~scan.feeds, 1))
    if len(spaced) > _FEW:
        feeds = bits_at(scan.feeds)
        return feeds[1:][_blank_between(text, scan, feeds)]
    empty = bits_at(scan.feeds & later(scan.feeds, 1))
    blank = [at for at in spaced.tolist() if _is_blank_line(text, at)]
    return np.sort(np.concatenate((empty, np.array(blank, np.int64)))) if blank else empty


def _is_blank_line(text: str, feed: int) -> bool:
    before = text.rfind("\n", 0, feed)
    return before >= 0 and text[before:feed].isspace()


def _blank_between(text: str, scan: Scan, feeds: Offsets) -> NDArray[np.bool_]:
    """For each line feed but the last: is there nothing but white space until the next one?"""
    gaps = feeds[1:] - feeds[:-1]
    blank = gaps == 1
    maybe = np.flatnonzero(~blank)
    maybe = maybe[_is_set(scan.spaces, feeds[maybe] + 1)]
    maybe = maybe[_is_set(scan.spaces, feeds[maybe + 1] - 1)]
    blank[maybe[gaps[maybe] <= 3]] = True
    for at in maybe[gaps[maybe] > 3].tolist():
        blank[at] = text[feeds[at] : feeds[at + 1]].isspace()
    return blank


def _is_set(bits: Bits, places: Offsets) -> NDArray[np.bool_]:
    return (bits[places >> 6] >> (places & 63).astype(np.uint64) & np.uint64(1)).astype(np.bool_)


def _next_clear(bits: Bits, places: Offsets) -> Offsets:
    """For each place, the first character from it on whose bit is not set."""
    word = places >> 6
    clear = ~bits[word] & ~((np.uint64(1) << (places & 63).astype(np.uint64)) - np.uint64(1))
    pending = np.flatnonzero(clear == 0)
    while len(pending):
        word[pending] += 1
        clear[pending] = ~bits[word[pending]]
        pending = pending[clear[pending] == 0]
    lowest = clear & (~clear + np.uint64(1))
    return (word << 6) + np.bitwise_count(lowest - np.uint64(1)).astype(np.int64)


def lines(text: str) -> Offsets:
    r"""The offsets at which lines start, 0 included; a line feed at the very end starts none.

    >>> lines("a\nb\n").tolist()
    [0, 2]
    """
    found = bits_at(Scan.of(text).feeds) + 1
    starts = np.concatenate((np.zeros(1, np.int64), found))
    return starts[starts < len(text)]


@dataclass(frozen=True, slots=True)
class Lines:
    """The ends of lines."""

    text: str

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``."""
        found = self.text.rfind("\n", low, high) + 1
        return found if found > low else None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        found = self.text.find("\n", low, high) + 1
        return found if found > low else None


_SPACE_THEN_WORD = re.compile(r"\s(?=\S)")


@dataclass(frozen=True, slots=True)
class Words:
    """The starts of words: after white space, or by a dictionary where a script has none."""

    text: str

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``; the end of a run of spaces may be ``high`` itself."""
        if self.text[high : high + 1] >= "\u0e00" and is_unspaced(self.text[high]) and is_unspaced(self.text[high - 1]):
            found = break_before(self.text, low, high)
            if found is not None:
                return found
        piece = self.text[low:high]
        if piece[-1:].isspace():
            return high
        parts = piece.rsplit(None, 1)
        cut = high - len(parts[-1]) if parts else low
        return cut if cut > low else None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        found = _SPACE_THEN_WORD.search(self.text, low, min(len(self.text), high + 1))
        return found.end() if found and found.end() <= high else None


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Boundaries given beforehand, ascending."""

    ends: Offsets

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``."""
        place = int(self.ends.searchsorted(high, "right")) - 1
        return int(self.ends[place]) if place >= 0 and self.ends[place] > low else None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        place = int(self.ends.searchsorted(low, "right"))
        return int(self.ends[place]) if place < len(self.ends) and self.ends[place] <= high else None
