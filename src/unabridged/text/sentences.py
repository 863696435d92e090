r"""Where sentences end, in any language: stops, what may follow them, and the words that are short forms.

One regular expression finds what may be an end; what is in doubt is decided by the few dozen characters
around it, so that a sentence's end can be looked for anywhere in a text without reading it from its start.
Held against the golden rules of the free splitters by ``python -m benchmarks sentences``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Sentences", "sentences"]

# Closing quotes and brackets that belong to the sentence before them; “ closes in German.
_CLOSERS = "\"'”’“»›)\\]}」』）】〕〉》"
# Stops that end a sentence without a space after them.
_WIDE = "。！？｡．؟۔।॥։።။။፧"
_BULLETS = "•⁃◦▪‣●"
# The class first, so that the search is quick; then what cannot be an end, at the price of one look:
# a stop or a line feed right before a small letter. Stops in a row are passed over in one match, by
# the empty group if no white space follows them, so that dots without end are no trouble.
_PATTERN = (
    f"[.!?…\n{_WIDE}{_BULLETS})։;:](?!(?<=[.!?…\n])[a-z])(?:"
    f"(?<=[.!?…])[.!?…]*+(?:[{_CLOSERS}]*+(?:[ \u00a0]»)?\\s++|(?<=[.!?…][.!?…])())"
    f"|(?<=[{_WIDE}])(?![{_WIDE}.!?…])(?!(?<=．)[0-9０-９])[{_CLOSERS}]*+\\s*+"
    "|(?<=\n)(?![^\\S\n]*[a-z])\\s*+"
    # An item of a list within a line: "a) one b) two", "• one • two".
    f"|(?<=[ (][0-9a-z]\\))\\s++(?=\\S)|(?<=[ ][0-9][0-9]\\))\\s++(?=\\S)|(?<=[ ][{_BULLETS}])(?=\\s*\\w)"
    # The Armenian full stop, often typed as a colon, and the Greek question mark, typed as a semicolon.
    "|(?<=[\u0561-\u0587]:)\\s++|(?<=[\u03ac-\u03ce];)\\s++)"
)
_STOP = re.compile(_PATTERN)
# Thai and Lao have no stops: a space ends a clause, but for the one after a word that is to be said twice.
_UNSTOPPED = "\u0e01-\u0e45\u0e47-\u0e5b\u0e81-\u0ec5\u0ec8-\u0edf"
_CLAUSE = re.compile(f"{_PATTERN}|(?<=[{_UNSTOPPED}])[ \u00a0]++(?=[{_UNSTOPPED}])")
_HAS_CLAUSES = re.compile(f"[{_UNSTOPPED}][ \u00a0]")
# How far behind a position a sentence's end may have begun: the stop, closers, spaces, a list's number.
_BEHIND = 24
# How far before what tells of it an end may lie: an item's number and its sign, "12) ".
_BEFORE = 5
_OPENERS = "([{\"'“‘«„" + _BULLETS
_UNSURE = frozenset(".!?…")
_NO_START = frozenset("/№,-")
_QUOTES = frozenset('"”»')
_DASHES = frozenset("—–-")
# No short form that is known is longer, with its inner stops.
_LONGEST_SHORT = 8
_ITEM = re.compile(r"[0-9]{1,3}|[a-z]")
_QUOTED = 80  # a quotation longer than this is cut at its sentences
_FAR = 300  # how far apart the items of a list within a line may stand
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ROMAN = re.compile(r"[IVXLC]{2,7}")
_DOTS = re.compile(r"(?:\.[ \u00a0]?){2,8}[\"”’)]*\s*")
_DOTS_BEHIND = re.compile(r"(?:\.[ \u00a0]){0,6}\.\Z")
_NEXT_WORD = re.compile(r"[\"'“„«(¿¡]*([^\W\d_][\w'’]*)")


@cache
def _lexicon() -> dict[str, frozenset[str]]:
    """The sections of the word list."""
    made: dict[str, list[str]] = {}
    words: list[str] = []
    for line in files("unabridged").joinpath("data/sentence_words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            words = made.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return {name: frozenset(found) for name, found in made.items()}


@cache
def _tails() -> frozenset[str]:
    """The last four letters of each short form that has as many: a word that ends otherwise needs no second look."""
    words = _lexicon()
    roles = ("never", "before capital", "before number", "months")
    return frozenset(word[-4:] for role in roles for word in words[role] if len(word) > 3)


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """The ends of the sentences of ``text[start:end]``, but for the last.

    Lines end a sentence too, unless the next one goes on in lower case.

    >>> list(sentences("Dr. No paid $3.14. He left. "))
    [19, 28]
    """
    stop = len(text) if end is None else end
    before = start
    for found in _pattern(text, start, stop).finditer(text, start, stop):
        at = _end_of(text, found)
        if at is not None and at > before:
            yield at
            before = at


def _pattern(text: str, start: int, stop: int) -> re.Pattern[str]:
    """The one for a stretch of the text: only where Thai or Lao stands do spaces have to be looked at."""
    return _STOP if text.isascii() or not _HAS_CLAUSES.search(text, start, stop) else _CLAUSE


def _end_of(text: str, found: re.Match[str]) -> int | None:
    """Where the sentence ends that the match may be an end of, or ``None``: a short form, a quotation, a pause."""
    stop, end = found.span()
    sign = text[stop]
    if sign == "\n" or (sign == "." and _is_plain(text, stop, end)):
        return end
    if sign in _UNSURE:
        return None if found.lastindex else _after_stop(text, stop, end)
    if sign == ")":
        return _before_item(text, stop, end)
    if sign in _BULLETS:
        return stop
    if sign in _WIDE and text.rfind("《", max(0, stop - 60), stop) > text.rfind("》", max(0, stop - 60), stop):
        return None  # within a title
    return end


def _is_plain(text: str, stop: int, end: int) -> bool:
    """Whether it is as most are: a word that is no short form, a full stop, a space, a capital; or a blank line."""
    if end - stop > 2 and text.count("\n", stop, end) > 1:
        return True  # a blank line ends everything
    tail = text[stop - 4 : stop]
    return (
        "A" <= text[end : end + 1] <= "Z"
        and tail.isalpha()
        and tail.islower()
        and tail.isascii()
        and tail not in _tails()
        and text[stop + 1].isspace()
        and text.rfind("„", max(0, stop - _QUOTED), stop) < 0
    )


def _after_stop(text: str, stop: int, end: int) -> int | None:
    stops, following = text[stop:end].rstrip(), text[end : end + 1]
    if following == ",":
        return None
    if following in _DASHES and "\n" not in text[stop:end] and text[end + 1 : end + 2] in " \u00a0":
        return None  # a dialogue goes on: "Who? – she asked."
    if following in _QUOTES and text[end + 1 : end + 2] in "., \n":
        return None  # a quotation's end, set apart by a space
    near = max(0, stop - _QUOTED)
    low = text.rfind("„", near, stop)
    if low >= 0 and low > max(text.rfind("“", near, end), text.rfind("”", near, end)):
        return None  # within a quotation
    in_a_row = stops[1:2] in _UNSURE or text[stop - 1 : stop] in _UNSURE
    if stops[0] != "." or in_a_row:
        # After a quotation, a pause, an exclamation, a small letter goes on with the sentence.
        inside = text[stop - 1 : stop] in "[." and "]" in stops and following == "("
        return None if following.islower() or following == "/" or inside else end
    if len(stops) > 1 and following.islower():
        return None  # a quotation within: "It is." she said
    if following in _NO_START and (following != "-" or text[end + 1 : end + 2].isdigit()):
        return None
    if text.startswith("...", end) or text.startswith("…", end):
        return end  # the next one opens with a pause
    if following == "." or text[stop - 2 : stop] in (". ", ".\u00a0"):
        return _spaced_dots(text, stop, end)
    return _after_full_stop(text, stop, end, following)


def _spaced_dots(text: str, stop: int, end: int) -> int | None:
    """An ellipsis typed as ". . .": before it a full stop may stand, a fourth dot is one itself."""
    found = _DOTS.match(text, end) if text[end : end + 1] == "." else None
    if found:
        attached = not text[stop - 1 : stop].isspace()
        return end if attached and text[found.end() : found.end() + 1].isupper() else None
    behind = _DOTS_BEHIND.search(text[max(0, stop - 12) : stop + 1])
    run = behind[0].count(".") if behind else 1
    spaced = not text[stop - 2 * run + 1 : stop - 2 * run + 2].strip()
    return end if run > 3 and spaced and text[end : end + 1].isupper() else None


def _after_full_stop(text: str, stop: int, end: int, following: str) -> int | None:
    word = _word_before(text, stop)
    if _ITEM.fullmatch(word):
        return _of_marker(text, stop, end, word, following)
    return None if _is_short_form(text, stop, end, word, following) else end


def _word_before(text: str, stop: int) -> str:
    before = text[max(0, stop - _LONGEST_SHORT - 2) : stop].rsplit(None, 1)
    if not before or text[stop - 1].isspace():
        return ""
    return before[-1].lstrip(_OPENERS)


def _of_marker(text: str, stop: int, end: int, word: str, following: str) -> int | None:
    """A number or a letter before the stop: of a list's item, of a date, a section, an initial."""
    start = stop - len(word)
    if _opens(text, start):
        return None  # "1. The first item": the number belongs to what follows
    earlier = _item_before(text, start, word, ".")
    if earlier and following.isupper():
        return start
    if word.isalpha():
        return None if not following.isupper() or _is_initial(text, stop, end, word) else end
    if following.islower() or _next_word(text, end) in _lexicon()["months"]:
        return None  # "5. gade", "12. Juni"
    return end


def _before_item(text: str, stop: int, end: int) -> int | None:
    """``1) one 2) two``: the second item ends the first; ``1) one`` alone ends nothing."""
    start = max(text.rfind(" ", max(0, stop - 5), stop), text.rfind("(", max(0, stop - 5), stop)) + 1
    word = text[start:stop].rstrip(".")
    if not _ITEM.fullmatch(word) or text[start - 1] == "(":
        return None
    return start if text[end : end + 1].isupper() and _item_before(text, start, word, text[start + len(word)]) else None


def _opens(text: str, start: int) -> bool:
    """Whether a sentence, a line or an item starts here."""
    head = text[max(0, start - 12) : start]
    plain = head.rstrip(" \t\u00a0")
    if not plain:
        return start <= 12 or "\n" in head
    if plain[-1] == ".":
        above = _word_before(text, start - len(head) + len(plain) - 1).casefold()
        return len(plain) < len(head) and not any(above in _lexicon()[role] for role in ("never", "before number"))
    return plain[-1] in "\n\r" + _BULLETS or (plain[-1] in "!?" and len(plain) < len(head))


def _item_before(text: str, start: int, word: str, sign: str) -> bool:
    """Whether the item before this one stands in the same line, not far."""
    if word.isdigit():
        earlier = str(int(word) - 1)
    elif word > "a":
        earlier = chr(ord(word) - 1)
    else:
        return False
    at = text.rfind(f"{earlier}{sign}", max(0, start - _FAR), start)
    if at < 0 or "\n" in text[at:start]:
        return False
    return at == 0 or text[at - 1].isspace() or text[at - 1] in _BULLETS


def _is_short_form(text: str, stop: int, end: int, word: str, following: str) -> bool:
    """Is the full stop at ``stop`` that of an abbreviation or an initial?"""
    if "\u0561" <= text[stop - 1 : stop] <= "\u0587":
        return following.islower()  # an Armenian pause, which looks like a full stop
    if not word or len(word) > _LONGEST_SHORT:
        return False
    low = word.casefold()
    if _ROMAN.fullmatch(word):  # of a king, a regiment, a chapter
        return following.isupper() and not _starts(text, end)
    if word[0] == word[-1] and len(word) == 2 and word.isupper():
        return True  # a plural, as in EE. UU.
    if len(word) > 3 and low[-4:].isalpha() and low[-4:] not in _tails():
        return False
    words = _lexicon()
    if "'" in low or "’" in low or "-" in low:  # l'Avv., 90-91 гг.
        low = re.split("['’]", low)[-1]
    if low in words["never"] or (low in words["before number"] and (following.isdigit() or following in "№(")):
        return True
    if low in words["before capital"] or low in words["months"]:
        return not following.isupper() or (low in words["before capital"] and not _starts(text, end))
    return (len(word) == 1 or "." in word) and _is_initial(text, stop, end, word)


def _is_initial(text: str, stop: int, end: int, word: str) -> bool:
    """``J. Smith``, ``z. B. Wasser``, ``U.S. Army``; not ``you and I. Did you``."""
    if not _INITIALS.fullmatch(word):
        return False
    if word == "I" or (word[-1:].isupper() and len(word) > 1):
        above = text[max(0, stop - len(word) - 12) : stop - len(word)].split()
        if not above or above[-1][:1].islower() or len(word) > 1:
            return not _starts(text, end)
    return True


def _next_word(text: str, end: int) -> str:
    found = _NEXT_WORD.match(text, end, end + 24)
    return found[1].casefold() if found else ""


def _starts(text: str, end: int) -> bool:
    """Whether the next word opens a sentence far oftener than a name."""
    return _next_word(text, end) in _lexicon()["starters"]


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
        start, stop = max(0, low - _BEHIND), min(len(text), high + _BEHIND)
        found = [*_pattern(text, start, stop).finditer(text, start, stop)]
        for one in reversed(found):
            if one.start() < high + _BEFORE and low < one.end() and (at := _end_of(text, one)) and low < at <= high:
                return at
        return None

    def first(self, low: int, high: int) -> int | None:
        """The smallest in ``(low, high]``."""
        text = self.text
        start, stop = self._barren
        bottom = stop if start <= low < stop else low
        limit = min(len(text), high + _BEHIND)
        begin = max(0, bottom - _BEHIND)
        pattern = _pattern(text, begin, limit)
        found = pattern.search(text, begin, limit) if bottom < high else None
        while found and found.start() < high + _BEFORE:
            at = _end_of(text, found) if found.end() > bottom else None
            if at is not None and bottom < at <= high:
                return at
            found = pattern.search(text, max(found.end(), found.start() + 1), limit)
        self._remember(low, high)
        return None

    def _remember(self, low: int, high: int) -> None:
        """No sentence ends in ``(low, high]``."""
        start, stop = self._barren
        if low <= stop and start <= high:
            low, high = min(low, start), max(high, stop)
        self._barren = (low, high)
