"""Words of scripts that put no spaces between them: Thai, Lao, Burmese, Khmer, by ICU's dictionaries.

The library (icu4py, the extra ``southeast``) is looked for when such a text first has to be cut inside a
clause; without it the cut falls between two letters, never inside one.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

__all__ = ["break_before", "has_dictionary", "is_unspaced"]

# Code points: Thai and Lao, Burmese, Khmer.
_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
_WINDOW = 96  # characters before a cut that ICU is shown: a few words, of which the last break is taken


def is_unspaced(letter: str) -> bool:
    """Whether a character is of a script without spaces between words.

    >>> is_unspaced("ก"), is_unspaced("a"), is_unspaced("字")
    (True, False, False)
    """
    code = ord(letter) if letter else 0
    return code >= 0x0E00 and any(low <= code <= high for low, high in _BLOCKS)


@cache
def has_dictionary() -> bool:
    """Whether the library is there."""
    return find_spec("icu4py") is not None


def break_before(text: str, low: int, high: int) -> int | None:
    """The last place between two words in ``(low, high]``, near ``high``; ``None`` without the library."""
    if not has_dictionary():
        return None
    start = max(low, high - _WINDOW)
    window = text[start : high + _WINDOW // 2].encode("utf-8", "replace").decode()  # a lone surrogate is one "?"
    at, found = start, None
    for word in _breaker()(window, "th"):  # the dictionaries go by script, not by the language named
        at += len(str(word))
        if at > high:
            break
        # The first "word" of a window may be the end of one that began before it.
        found = at if at > start + 1 else found
    return found if found is not None and low < found <= high else None


@cache
def _breaker() -> Any:
    from icu4py.breakers import WordBreaker

    return WordBreaker
