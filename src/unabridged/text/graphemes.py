"""Where a text may be cut by force: between graphemes, and not inside a number or a URL."""

from __future__ import annotations

import re

import regex

__all__ = ["forced_cut", "forced_start", "grapheme_cut"]

# Between two of these there is a boundary whatever stands around them: nothing up to U+02FF
# combines (CR LF apart), nor do kana and Han characters (the three pictographs apart).
_PLAIN = re.compile("[\x00-\x0c\x0e-\u02ff\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]")
_CLUSTER = regex.compile(r"\X")
# How far an anchor is looked for before the whole chunk is looked at.
_NEAR = 64


def grapheme_cut(text: str, at: int, floor: int) -> int:
    """The last grapheme boundary in ``(floor, at]``, or ``floor`` if there is none.

    ``floor`` must be a boundary itself. Graphemes are those of Unicode's annex 29.

    >>> grapheme_cut("ae\\u0301", 2, 0)
    1
    """
    if at >= len(text) or (_PLAIN.match(text, at) and _PLAIN.match(text, at - 1)):
        return at
    start = _anchor(text, at, floor)
    last = start
    for cluster in _CLUSTER.finditer(text, start):
        if cluster.end() > at:
            return last
        last = cluster.end()
        if last == at:
            return at
    return last


def _anchor(text: str, at: int, floor: int) -> int:
    """A boundary before ``at`` from which clusters can be counted."""
    low = max(floor, at - _NEAR)
    for place in range(at - 1, low, -1):
        if _PLAIN.match(text, place) and _PLAIN.match(text, place - 1):
            return place
    return floor


_FIGURES = "0123456789.,_:"
_LINK = re.compile(r"[a-z][a-z0-9+.-]{1,15}://[!-~]*|www\.[!-~]*")
_LONGEST_LINK = 2048


def forced_cut(text: str, at: int, floor: int) -> int:
    """A place in ``(floor, at]`` to cut where no space is: moved off graphemes, numbers and URLs.

    What alone is longer than ``at - floor`` is cut all the same; a grapheme too, between code points.

    >>> forced_cut("pi=3.14159", 7, 0)
    3
    """
    cut = at
    if cut < len(text):
        cut = _before_atom(text, at, floor)
    cut = grapheme_cut(text, cut, floor)
    return cut if cut > floor else at


def forced_start(text: str, at: int, ceiling: int) -> int:
    """The first place in ``[at, ceiling)`` that is inside no grapheme, number or URL; else ``ceiling``."""
    place = at
    while 0 < place < ceiling:
        if grapheme_cut(text, place, max(0, place - _NEAR)) == place and _before_atom(text, place, 0) == place:
            return place
        place += 1
    return min(place, ceiling)


def _before_atom(text: str, at: int, floor: int) -> int:
    """Where the number or URL that contains ``at`` starts, if that is after ``floor``."""
    low = max(floor, at - _LONGEST_LINK)
    if (sign := text.rfind("://", low, at + 2)) >= 0 or (sign := text.rfind("www.", low, at + 3)) >= 0:
        for link in _LINK.finditer(text, max(low, sign - 16), at + _LONGEST_LINK):
            if link.start() < at < link.end() and link.start() > floor:
                return link.start()
    if text[at - 1] in _FIGURES and text[at] in _FIGURES and (text[at].isdigit() or text[at - 1].isdigit()):
        start = low + len(text[low:at].rstrip(_FIGURES))
        if start > floor:
            return start
    return at
