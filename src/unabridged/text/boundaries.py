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


# Closing quotes and brackets that belong to the sentence before them.
_CLOSERS = "\"'”’»›)\\]}」』）】〕〉》"
# Stops that end a sentence without a space after them.
_WIDE = "。！？｡．؟۔।॥։።။។"
# The class first, so that the search is quick; then what cannot be an end, at the price of one look:
# a stop or a line feed right before a small letter. Stops in a row are passed over in one match, by
# the empty group if no white space follows them, so that dots without end are no trouble.
_STOP = re.compile(
    f"[.!?…\n{_WIDE}](?!(?<=[.!?…\n])[a-z])(?:"
    f"(?<=[.!?…])[.!?…]*+(?:[{_CLOSERS}]*+\\s++|(?<=[.!?…][.!?…])())"
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
# The last two characters of each: most words are not among them, and need no second look.
_TAILS = frozenset(form[-2:] for form in _NEVER | _SELDOM)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """The ends of the sentences of ``text[start:end]``, but for the last.

    Lines end a sentence too, unless the next one goes on in lower case.

    >>> list(sentences("Dr. No paid $3.14. He left. "))
    [19, 28]
    """
    stop = len(text) if end is None else end
    for found in _STOP.finditer(text, start, stop):
        if _is_end(text, found):
            yield found.end()


# Stops that may stand inside a sentence.
_UNSURE = frozenset(".!?…")
# No abbreviation that is known is longer, with its inner stops.
_LONGEST_SHORT = 8


def _is_end(text: str, found: re.Match[str]) -> bool:
    """Does what was found end a sentence, or is it an abbreviation, a quotation, a pause?"""
    stop, end = found.span()
    if text[stop] not in _UNSURE:
        return True
    if found.lastindex:
        return False
    stops, following = text[stop:end].rstrip(), text[end : end + 1]
    if following.islower() and stops != "." and stops[-1] not in "!?":
        return False
    in_a_row = stops[1:2] in _UNSURE or text[stop - 1 : stop] in _UNSURE
    return stops[0] != "." or in_a_row or not _is_short_form(text, stop, following)


def _is_short_form(text: str, stop: int, following: str) -> bool:
    """Is the full stop at ``stop`` that of an abbreviation or an initial?"""
    tail = text[max(0, stop - 2) : stop].lower()
    if len(tail) == 2 and tail.isalpha() and tail not in _TAILS:
        return False
    before = text[max(0, stop - _LONGEST_SHORT - 2) : stop].rsplit(None, 1)
    word = before[-1] if before else ""
    if not word or len(word) > _LONGEST_SHORT or text[stop - 1].isspace():
        return False
    word = word.lstrip("([{\"'“‘«")
    low = word.lower()
    if low in _NEVER:
        return True
    if low in _SELDOM:
        return not following.isupper()
    if len(word) == 1 or "." in word:
        return bool(_INITIALS.fullmatch(word)) and (word.isupper() or len(word) > 1)
    return False


class Sentences:
    """Ends of sentences, looked for only where asked; a stretch that has none is looked at once."""

    __slots__ = ("_barren", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._barren = (0, 0)

    def last(self, low: int, high: int) -> int | None:
        """The largest in ``(low, high]``: windows backwards, each twice the one before."""
        start, stop = self._barren
        top = start if start < high <= stop else high
        width = 192
        while top > low:
            bottom = max(low, top - width)
            if (found := self._last(bottom, top)) is not None:
                return found
            top, width = bottom, width * 2
        self._remember(low, high)
        return None

    def _last(self, low: int, high: int) -> int | None:
        text = self.text
        found = [*_STOP.finditer(text, max(0, low - _BEHIND), min(len(text), high + _BEHIND))]
        for one in reversed(found):
            if low < one.end() <= high and _is_end(text, one):
                return one.end()
        return None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        text = self.text
        start, stop = self._barren
        bottom = stop if start <= low < stop else low
        limit = min(len(text), high + _BEHIND)
        found = _STOP.search(text, max(0, bottom - _BEHIND), limit) if bottom < high else None
        while found:
            after = found.end()
            if after > high:
                break
            if after > bottom and _is_end(text, found):
                return after
            found = _STOP.search(text, after, limit)
        self._remember(low, high)
        return None

    def _remember(self, low: int, high: int) -> None:
        """No sentence ends in ``(low, high]``."""
        start, stop = self._barren
        if low <= stop and start <= high:
            low, high = min(low, start), max(high, stop)
        self._barren = (low, high)


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
