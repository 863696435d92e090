"""Where a text may be cut by force: between graphemes, and not inside a number or a URL."""

from __future__ import annotations

import re

import regex

__all__ = ["forced_cut", "forced_start", "grapheme_cut"]

# Between two of these there is a boundary whatever stands around them: nothing up to U+02FF
# combines (CR LF apart), nor do kana and Han characters (the pictographs among them apart).
_PLAIN = re.compile("[\x00-\x0c\x0e-\u02ff\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]{2}")
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
# What never opens a grapheme, or may belong to what stands before it: marks and format characters
# (joiners, selectors, tags), skin tones, the vowels and finals of Hangul, halves of flags.
_LOOSE = r"\p{M}\p{Cf}\p{RI}\p{EMod}\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb\uac00-\ud7a3\r\n"
# The last place before which there is a boundary for certain: nothing loose on either side, or
# whole syllables of Hangul.
_ANCHOR = regex.compile(rf"(?r)(?<=[^{_LOOSE}])[^{_LOOSE}]|(?<=[\uac00-\ud7a3])[\uac00-\ud7a3]", regex.VERSION1)
_CLUSTER = regex.compile(r"\X")
# Marks in a row that no writing needs (the stream-safe format of Unicode allows 30).
_LONG_GRAPHEME = 64
_MARKS = regex.compile(r"\p{M}+")
_NO_MARK = regex.compile(r"(?r)\P{M}")
_FLAG_RUN = re.compile(f"[{_FLAGS}]*")


def grapheme_cut(text: str, at: int, floor: int) -> int:
    """The last grapheme boundary in ``(floor, at]``, or ``floor`` if there is none.

    ``floor`` must be a boundary itself. Graphemes are those of Unicode's annex 29.

    >>> grapheme_cut("ae\\u0301", 2, 0)
    1
    """
    if at >= len(text) or at <= floor or _PLAIN.match(text, at - 1):
        return at
    if text[at] in _FLAGS and text[at - 1] in _FLAGS:
        return grapheme_cut(text, at - 1, floor) if _halves(text, at, floor) % 2 else at
    if _MARKS.match(text, at, at + 1) and not _NO_MARK.search(text, floor, at):
        return floor
    # The search runs backwards; the look-behind must not look past the floor.
    found = _ANCHOR.search(text, floor, at + 1)
    last = found.start() if found and found.start() > floor else floor
    for cluster in _CLUSTER.finditer(text, last, at + 1):
        if cluster.end() > at:
            break
        last = cluster.end()
    return last


def _halves(text: str, at: int, floor: int) -> int:
    """How many halves of flags stand in a row right before ``at``."""
    if _FLAG_RUN.fullmatch(text, floor, at):
        return at - floor
    run = text[floor:at]
    return len(run) - len(run.rstrip(_FLAGS))


# A number is digits with points, commas, colons, underscores inside.
_FIGURES = "0123456789.,_:"
_FIGURE_RUN = re.compile(f"[{_FIGURES}]*")
# In characters; more figures than that are data, and are cut like anything else.
_LONGEST_NUMBER = 256
_LINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,15}://[!-~]*|www\.[!-~]*")
# What no browser takes; a longer link is cut like anything else.
_LONGEST_LINK = 2048
_LONGEST_SCHEME = 16


def forced_cut(text: str, at: int, floor: int) -> int:
    """A place in ``(floor, at]`` to cut where no space is: moved off graphemes, numbers and URLs.

    What alone is longer than ``at - floor`` is cut all the same; a grapheme too, between code points.

    >>> forced_cut("pi=3.14159", 7, 0)
    3
    """
    cut = at
    if at < len(text) and (atom := _atom(text, at, floor)) is not None and atom[0] > floor:
        cut = atom[0]
    cut = grapheme_cut(text, cut, floor)
    return cut if cut > floor else at


def forced_start(text: str, at: int, floor: int, ceiling: int) -> int:
    """The first place in ``[at, ceiling)`` that is inside no grapheme, number or URL; else ``ceiling``.

    ``floor`` is a grapheme boundary before ``at``.

    >>> forced_start("pi=3.14159 x", 5, 0, 12)
    10
    """
    place = at
    if (atom := _atom(text, place, floor)) is not None:
        place = atom[1]
    if place < ceiling and (before := grapheme_cut(text, place, floor)) < place:
        if text[place] in _FLAGS:  # the second half of one; by itself, for the row is counted already
            flag = _CLUSTER.match(text[place - 1 : place + _LONG_GRAPHEME])
            return min(ceiling, place - 1 + len(flag.group())) if flag else ceiling
        if place - before > _LONG_GRAPHEME and (marks := _MARKS.match(text, place, ceiling)):
            return marks.end()
        cluster = _CLUSTER.match(text, before, ceiling)
        place = cluster.end() if cluster else ceiling
    return min(place, ceiling)


def _atom(text: str, at: int, floor: int) -> tuple[int, int] | None:
    """The number or URL that has ``at`` inside, if there is one; it starts at ``floor`` at the earliest."""
    low = max(floor, at - _LONGEST_LINK)
    # One character is found much faster than three, and no link is without a colon or a point.
    if text.rfind(":", low, at + _LONGEST_SCHEME) >= 0 or text.rfind(".", low, at + 4) >= 0:
        link = _link(text, at, low)
        if link is not None:
            return link
    before, after = text[at - 1], text[at]
    if before in _FIGURES and after in _FIGURES and (before.isdigit() or after.isdigit()):
        return _number(text, at, floor)
    return None


def _link(text: str, at: int, low: int) -> tuple[int, int] | None:
    """The URL around ``at``."""
    for sign in (
        text.rfind("://", low, at + 2),
        text.rfind("www.", low, at + 3),
        text.find("://", at, at + _LONGEST_SCHEME + 3),
    ):
        if sign >= 0:
            for link in _LINK.finditer(text, max(low, sign - _LONGEST_SCHEME), at + _LONGEST_LINK):
                if link.start() < at < link.end():
                    return link.span()
    return None


def _number(text: str, at: int, floor: int) -> tuple[int, int] | None:
    """The figures around ``at``, if they are few enough to be a number."""
    low = max(floor, at - _LONGEST_NUMBER)
    if at - low == _LONGEST_NUMBER and _FIGURE_RUN.fullmatch(text, low, at):
        return None
    start = low + len(text[low:at].rstrip(_FIGURES))
    run = _FIGURE_RUN.match(text, at, at + _LONGEST_NUMBER)
    return start, run.end() if run else at
