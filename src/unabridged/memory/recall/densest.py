"""The place of a long text that says most of a query's words: what a text of a hundred pages is ranked by (pure).

Words are counted within a window of a text (:func:`~unabridged.memory.recall.words.coverage`). To hold a pattern of
all words against every word of a long one takes a millisecond for 20,000 characters; to look for each of the words
by itself, and to hold the pattern against the one window where most of them stand, a tenth of that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from unabridged.memory.recall.window import together
from unabridged.memory.recall.words import MANY, WINDOW, plain, stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.memory.recall.words import Words

__all__ = ["around", "densest"]

LONG = 4 * WINDOW  # characters from which it pays
_MANY = 400  # places of one word that are looked at
_LONGEST = 64  # characters of the longest word, which may begin at the window's end


def densest(words: Words, text: str) -> str:
    """A text, or of a long one the window in which most of a query's words begin.

    >>> from unabridged.memory.recall.words import words_in
    >>> long = f"{'Nothing of it. ' * 1000}The boiler is serviced in May. {'Nothing of it. ' * 1000}"
    >>> "serviced in May" in long, "serviced in may" in densest(words_in("Who serviced the boiler?"), long)
    (True, True)
    >>> len(densest(words_in("Who serviced the boiler?"), long)) < 1100
    True
    """
    wide = max(WINDOW, 2 * len(words.text))
    if len(text) <= max(LONG, wide) or len(_parts(words)) > MANY:  # which are read word by word, and once
        return text
    body = plain(text)
    begun = _begun(words, body)
    if begun is None:
        return text
    return body[max(0, begun - len(words.text)) : begun + wide + _LONGEST]  # what stands before the first word, too


def around(words: Words, text: str, wide: int) -> tuple[int, int]:
    """Where a text says most of a query's words, with ``wide`` characters before and after, in whole lines.

    >>> from unabridged.memory.recall.words import words_in
    >>> rest = f"Nothing of it.{chr(10)}" * 1000
    >>> long = f"{rest}The boiler is serviced in May.{chr(10)}{rest}"
    >>> start, end = around(words_in("Who serviced the boiler?"), long, 100)
    >>> "serviced in May" in long[start:end], end - start < 1500
    (True, True)
    """
    body = plain(text) if len(text) > LONG + 2 * wide else text
    begun = _begun(words, body) if len(body) == len(text) and body is not text else None
    if begun is None:
        return 0, len(text)
    start, end = max(0, begun - wide), begun + max(WINDOW, 2 * len(words.text)) + wide
    return text.rfind("\n", 0, start) + 1, end if (line := text.find("\n", end)) < 0 else line


def _begun(words: Words, body: str) -> int | None:
    """Where the window begins in which a folded text says most; ``None`` where it says nothing."""
    wide = max(WINDOW, 2 * len(words.text))
    places = sorted((at, part) for part in _parts(words) for at in _places(body, part))
    if not places:
        return None
    begun, most = places[0][0], 0.0
    for first, _, _, said in together(places, wide):
        if said > most:
            most, begun = said, places[first][0]
    return begun


def _places(body: str, part: str) -> Iterator[int]:
    at = body.find(part)
    for _ in range(_MANY):
        if at < 0:
            return
        yield at
        at = body.find(part, at + len(part))


@lru_cache(maxsize=256)
def _parts(words: Words) -> tuple[str, ...]:
    """How the words begin; of a script without spaces, its pairs."""
    found: dict[str, None] = {}
    for term in (plain(each) for each in words.terms):
        pairs = [term[at : at + 2] for at in range(len(term) - 1)] if not term.isascii() and len(term) > 1 else []
        found |= dict.fromkeys([*pairs, stem(term)])
    return tuple(found)
