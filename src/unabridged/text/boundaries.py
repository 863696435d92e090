"""Where a text may be cut: after paragraphs, sentences, lines, words.

A boundary is an offset just after a unit and its separator, so that units tile the text. Blank
lines are found in the whole text at once, as maps of bits; everything finer only around a cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from unabridged.text.scan import Scan, bits_at, later, spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from unabridged.text.scan import Bits

    Offsets = NDArray[np.int64]

__all__ = ["Level", "Lines", "Marks", "Sentences", "Words", "lines", "paragraphs", "sentences"]


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
    breaks = _second_feeds(scan)
    if not breaks.any():
        return np.array([scan.size], np.int64)
    run_ends = _ends_of(scan.spaces)
    found = bits_at(spread(breaks, scan.spaces, 1) & run_ends) + 1
    if found[-1] != scan.size:
        found = np.append(found, scan.size)
    return found


def _second_feeds(scan: Scan) -> Bits:
    """The line feeds before which, in the same white space, stands another."""
    after = later(scan.feeds, 1) & scan.spaces
    return spread(after, scan.spaces, 1) & scan.feeds


def _ends_of(runs: Bits) -> Bits:
    """The last character of each run."""
    following = runs >> np.uint64(1)
    following[:-1] |= runs[1:] << np.uint64(63)
    return runs & ~following


def lines(text: str) -> Offsets:
    r"""The offsets at which lines start, 0 included; a line feed at the very end starts none.

    >>> lines("a\nb\n").tolist()
    [0, 2]
    """
    found = bits_at(Scan.of(text).feeds) + 1
    starts = np.concatenate((np.zeros(1, np.int64), found))
    return starts[starts < len(text)]


# Closing quotes and brackets that belong to the sentence before them.
_CLOSERS = "\"'”’»›)\\]}」』）】〕〉》"
# Stops that end a sentence without a space after them.
_WIDE = "。！？｡．؟۔।॥։።။។"
_STOP = re.compile(
    f"[.!?…\n{_WIDE}](?:"
    f"(?<=[.!?…])[{_CLOSERS}]*+\\s++"
    f"|(?<=[{_WIDE}])(?![{_WIDE}.!?…0-9])[{_CLOSERS}]*+\\s*+"
    "|(?<=\n)(?![^\\S\n]*[a-z])\\s*+)"
)
# How far behind a position a sentence's end may have begun: the stop, closers, spaces.
_BEHIND = 16

# Never the end of a sentence: a name or a number follows.
_NEVER = frozenset(
    "mr mrs ms dr prof rev fr gen col capt lt sgt maj cmdr adm gov sen rep pres hon messrs mme mlle mt st ste "
    "no nos nr vol vols fig figs eq eqs sec sect ch chap pp p cf vs viz eg ie e.g i.e approx ca ed eds trans "
    "jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b d.h vgl sr sra dra hr frau evtl ggf".split()
)
# The end of a sentence only if a capital follows.
_SELDOM = frozenset(
    "etc al inc ltd corp co jr bros dept univ assn est usw a.m p.m u.s u.k u.n e.u ph.d b.a m.a d.c rd ave blvd".split()
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """The ends of the sentences of ``text[start:end]``, but for the last.

    Lines end a sentence too, unless the next one goes on in lower case.

    >>> list(sentences("Dr. No paid $3.14. He left. "))
    [19, 28]
    """
    stop = len(text) if end is None else end
    for found in _STOP.finditer(text, start, stop):
        if text[found.start()] != "." or _is_end(text, found.start(), found.end()):
            yield found.end()


def _is_end(text: str, stop: int, end: int) -> bool:
    """Does the full stop at ``stop`` end a sentence, or an abbreviation?"""
    if text[stop + 1] not in " \n\t\r" and text[end : end + 1].islower():
        return False
    before = text[max(0, stop - 16) : stop].split()
    if not before or text[stop - 1].isspace():
        return True
    word = before[-1].lstrip("([{\"'“‘«").lower()
    if word in _NEVER:
        return False
    if word in _SELDOM:
        return text[end : end + 1].isupper()
    if len(word) < 8 and _INITIALS.fullmatch(word):
        return len(word) == 1 and not text[stop - 1].isupper()
    return True


@dataclass(frozen=True, slots=True)
class Sentences:
    """Ends of sentences, looked for only where asked."""

    text: str

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``: windows backwards, each twice the one before."""
        width, top = 256, high
        while top > low:
            bottom = max(low, top - width)
            found = None
            for found_end in self._within(bottom, top):
                found = found_end
            if found is not None:
                return found
            top, width = bottom, width * 2
        return None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        return next(self._within(low, high), None)

    def _within(self, low: int, high: int) -> Iterator[int]:
        for end in sentences(self.text, max(0, low - _BEHIND), min(len(self.text), high + _BEHIND)):
            if end > high:
                return
            if end > low:
                yield end


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
    """The starts of words: after white space."""

    text: str

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``; the end of a run of spaces may be ``high`` itself."""
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
