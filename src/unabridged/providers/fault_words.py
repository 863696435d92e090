"""What providers call things, in a dozen languages: the lexicon behind :mod:`~unabridged.providers.faults`.

The words themselves are data (``data/fault_words.txt``); this module reads them once and brings texts
into the form in which they are matched (:func:`normal`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

__all__ = ["concept", "normal", "spell_out", "terms"]

_URL = re.compile(r"\b(?:https?|wss?)://[^\s\"'<>)\]}]*")
_GROUPED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f\u066c'’](?=\d{3}(?!\d))")
_SPACE = re.compile(r"\s+")
_CLASSES = re.compile(r"\b[A-Z][A-Za-z]{4,60}(?:Exception|Error|Exceeded|Fault)\b")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HEADER = re.compile(r"\[([a-z]+[a-z :/]*)\]")
_SECTION = re.compile(r"<([a-z_ :/]+)>")


def _folding() -> dict[int, str]:
    """One kind of quote and dash; Latin letters without accents. Hangul, kana and Cyrillic й stay whole."""
    fold = {ord(mark): "'" for mark in '`´‘’‚‛“”„‟«»「」『』"'} | {ord(mark): "-" for mark in "‐‑‒–—−"}
    fold |= {0x451: "е", 0x141: "l", 0x142: "l", 0xF8: "o", 0x111: "d", 0x131: "i", 0xE6: "ae"}
    for code in range(0xC0, 0x250):
        base = unicodedata.normalize("NFKD", chr(code))[0]
        if base.isascii() and ord(base) != code:
            fold[code] = base
    return fold


_FOLD = _folding()


def normal(text: str) -> str:
    """The form in which the lexicon reads: one case, one width, one kind of quote, no URLs.

    >>> normal("Dépassé：  ８１９２ “tokens”, see https://a.b/c")
    "depasse: 8192 'tokens', see "
    """
    text = _CLASSES.sub(_apart, _GROUPED.sub(",", _URL.sub("", text)))
    text = unicodedata.normalize("NFKC", text).casefold().translate(_FOLD)
    return _SPACE.sub(" ", text)


def _apart(found: re.Match[str]) -> str:
    """``ServiceQuotaExceededException`` is words too."""
    return _CAMEL.sub(" ", found[0])


def spell_out(code: str) -> str:
    """A code as words: ``TooManyRequests`` and ``too_many_requests`` are one thing.

    >>> spell_out("RateLimitExceeded"), spell_out("TOO_MANY_TOKENS")
    ('rate limit exceeded', 'too many tokens')
    """
    return normal(_CAMEL.sub(" ", code).replace("_", " ").replace("-", " ").replace(".", " "))


@cache
def concept(name: str) -> re.Pattern[str]:
    """The pattern of a concept of the lexicon.

    >>> bool(concept("timeout").search(normal("Délai d'attente dépassé")))
    True
    """
    return re.compile(terms(name))


@cache
def terms(name: str) -> str:
    """The alternatives of a concept, as one regular expression without a group around it."""
    return _SECTION.sub(lambda found: terms(found[1]), _sections()[name])


@cache
def _sections() -> dict[str, str]:
    text = (files("unabridged") / "data" / "fault_words.txt").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if header := _HEADER.fullmatch(line):
            lines = sections.setdefault(header[1], [])
        elif line and not line.startswith("#"):
            lines.append(line.replace(" | ", "|"))
    return {name: "|".join(parts) for name, parts in sections.items()}
