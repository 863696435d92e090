"""What providers call things, in a dozen languages: the lexicon behind :mod:`~unabridged.providers.faults`.

The words themselves are data (``data/fault_words.txt``); this module reads them once and brings texts
into the form in which they are matched (:func:`normal`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

__all__ = ["WORD", "concept", "lexicon_lines", "normal", "spell_out", "terms"]

# Letters, and the vowel signs of Devanagari and Bengali, which are no letters to Unicode.
WORD = re.compile(r"(?:[^\W\d_]|[\u0900-\u0963\u0980-\u09e3\u200d])+")
_URL = re.compile(r"\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5}\b|\b(?:https?|wss?)://[^\s\"'<>)\]}]*")
_DECIMAL = re.compile(
    r"(?<![\d.,])(\d{1,3}),(\d{1,2})(?= ?(?:[kmg]i?[bo]|k|m|million\w*|mio|тыс|млн|мб|кб)\b)", re.IGNORECASE
)
_COUNTED_ERRORS = re.compile(r"\b\d{1,3} (?:validation )?errors?\b")
_GROUPED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f\u066c'’](?=\d{3}(?!\d))")
_SPACE = re.compile(r"\s+")
_CLASSES = re.compile(r"(?<![A-Za-z0-9/])[A-Z][a-z]+(?:[A-Z][a-z]+){1,11}(?![A-Za-z0-9])")
_BUILTIN = re.compile(
    r"\b(?:Value|Type|Key|Index|Attribute|Runtime|Assertion|Lookup|OS|IO)Error\b"
)  # of no meaning here
# A model's name: its "max", its "512" and its "tokens" say nothing of this request.
_NAME = re.compile(
    r"(?<![\w\-])(?=[\w.]{0,40}-)(?=[\w.\-]{0,60}\d)(?=[\w.\-]{0,60}[A-Za-z])(?!\d+-(?:tok|char|byte|word|item|text|kb|mb|dim))[\w.]+(?:-[\w.]+){1,12}"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HEADER = re.compile(r"\[([a-z]+[a-z :/]*)\]")
_LANGUAGE = re.compile(r"\[([a-z]{2})\]")
_SECTION = re.compile(r"<([a-z_ :/]+)>")


# Signs above and below letters: combining accents, Hebrew points, Arabic vowels and the stretching dash.
_SIGNS = ((0x300, 0x370), (0x591, 0x5C8), (0x610, 0x61B), (0x640, 0x641), (0x64B, 0x660), (0x670, 0x671))
_ARABIC = (("آأإٱ", "ا"), ("ىیئ", "ي"), ("ک", "ك"), ("ةۀ", "ه"), ("ؤ", "و"), ("٬", ","), ("٫", "."), ("\u200c", " "))
_DIGITS = [code for code in range(0x660, 0x10000) if unicodedata.category(chr(code)) == "Nd"]


def _folding() -> dict[int, str]:
    """One kind of quote, dash and digit; Latin and Greek letters without accents, Arabic without vowel signs.

    Hangul, kana and Cyrillic й stay whole.
    """
    fold = {ord(mark): "'" for mark in '`´‘’‚‛“”„‟«»「」『』"'} | {ord(mark): "-" for mark in "‐‑‒–—−"}
    fold |= {0x451: "е", 0x141: "l", 0x142: "l", 0xF8: "o", 0x111: "d", 0x131: "i", 0xE6: "ae"}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000)):
        base = unicodedata.normalize("NFKD", chr(code))[0]
        if base != chr(code) and base.isalpha():
            fold[code] = base
    fold |= {code: "" for low, high in _SIGNS for code in range(low, high)}
    fold |= {ord(letter): base for letters, base in _ARABIC for letter in letters}
    return fold | {code: str(unicodedata.decimal(chr(code))) for code in _DIGITS}


_FOLD = _folding()


def normal(text: str) -> str:
    """The form in which the lexicon reads: one case, one width, one kind of quote, no URLs.

    >>> normal("Dépassé：  ８１９２ “tokens”, see https://a.b/c")
    "depasse: 8192 'tokens', see "
    """
    text = _CLASSES.sub(_apart, _GROUPED.sub(",", _BUILTIN.sub("error", _NAME.sub("it", _URL.sub("", text)))))
    text = unicodedata.normalize("NFKC", _COUNTED_ERRORS.sub("errors", text)).casefold().translate(_FOLD)
    text = _DECIMAL.sub(r"\1.\2", text)
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


@cache
def lexicon_lines() -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """The lexicon of thirty languages, line by line: language, concept, entries."""
    lines: list[tuple[str, str, tuple[str, ...]]] = []
    language = ""
    for line in (files("unabridged") / "data" / "fault_lexicon.txt").read_text(encoding="utf-8").splitlines():
        if header := _LANGUAGE.fullmatch(line):
            language = header[1]
        elif line and not line.startswith("#"):
            tag, _, entries = line.partition(": ")
            lines.append((language, tag, tuple(entries.split())))
    return tuple(lines)
