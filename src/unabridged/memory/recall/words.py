"""A query's words: what carries meaning, how they are written in full text, how much of them a text says (pure).

Full text folds case and accents itself. Traditional and simplified Chinese are folded here, on the query's
side: it is asked in both, so that what is stored is never rewritten.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "WINDOW",
    "Words",
    "coverage",
    "folded",
    "function_words",
    "han_forms",
    "plain",
    "said_whole",
    "simplified",
    "stem",
    "words_in",
]

FORMS = 4  # ways to write one query in traditional characters: 乾 and 幹 are both 干
WINDOW = 1000  # characters in which a query's words count as said together: a long paragraph
WORD_LIMIT = 64  # words of a query that are asked of full text; a longer one is a text, and its rarest words tell

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED = rf"{_HAN}\u3040-\u30ff\u0e00-\u0e7f\u1780-\u17ff\u1000-\u109f\u0e80-\u0eff"
_TERM = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W\d_{_UNSPACED}]+)?")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»|「([^」]+)」')
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff]+")  # of alphabets; kana keep their marks
_NEVER = "()(?!)"
_SUFFIX = re.compile(r"(?<=[^\W\d_]{3})(?:'s|’s|ies|ing|ed|es|(?<!s)s|e|y)$")


@dataclass(frozen=True, slots=True)
class Words:
    """A query, read: the words that carry it, the phrases in quotation marks, whether it asks something."""

    text: str
    terms: tuple[str, ...]
    phrases: tuple[str, ...]
    asks: bool
    whole: str

    @property
    def matched(self) -> str:
        """What full text is asked: each word once, in every way of writing it."""
        return " ".join(dict.fromkeys(form for term in self.terms[:WORD_LIMIT] for form in han_forms(term)))


def words_in(query: str) -> Words:
    """Read a query.

    >>> words_in('Who works at "Acme Corp"?').terms
    ('works', 'acme', 'corp')
    >>> words_in("Is it for IT?").terms
    ('it',)
    """
    written = [match[0] for match in _TERM.finditer(query)]
    found = [word.casefold() for word in written]
    names = set() if query.isupper() else {word.casefold() for word in written if len(word) > 1 and word.isupper()}
    terms = tuple(dict.fromkeys(word for word in found if word in names or _carries(word)))
    phrases = tuple(next(filter(None, groups)).strip() for groups in _QUOTED.findall(query))
    asks = query.rstrip().endswith(("?", "？", "؟")) or bool(found and found[0] in _OPENERS)
    return Words(query, terms or tuple(dict.fromkeys(found)), tuple(filter(None, phrases)), asks, folded(query))


_OPENERS = {"who", "whom", "whose", "which", "what", "when", "where", "why", "how", "is", "are", "was", "were", "do"}
_OPENERS |= {"does", "did", "can", "could", "will", "has", "have"}


@cache
def function_words() -> frozenset[str]:
    """Words that say how a sentence is built: they are asked only where nothing else is."""
    lines = (files("unabridged") / "data" / "function_words.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _carries(word: str) -> bool:
    return word not in function_words()


@cache
def _variants() -> tuple[Mapping[int, str], Mapping[str, str]]:
    """Traditional to simplified, and a simplified character with all its traditional forms."""
    lines = (files("unabridged") / "data" / "han_variants.txt").read_text("utf-8").split()
    return {ord(form): line[0] for line in lines for form in line[1:]}, {line[0]: line[1:] for line in lines}


def simplified(text: str) -> str:
    """Text with traditional Chinese characters as simplified ones; as long as before.

    >>> simplified("自然語言 abc")
    '自然语言 abc'
    """
    return text if text.isascii() else text.translate(_variants()[0])


@lru_cache(maxsize=4096)
def han_forms(term: str) -> tuple[str, ...]:
    """A word as it is, in simplified characters, and in traditional ones (at most four of those).

    >>> han_forms("自然语言")
    ('自然语言', '自然語言')
    """
    plain = simplified(term)
    forms = _variants()[1] if not term.isascii() else {}
    ways = product(*((forms.get(letter) or letter) for letter in plain)) if forms else ()
    return tuple(dict.fromkeys([term, plain, *("".join(way) for way in islice(ways, FORMS))]))


def plain(text: str) -> str:
    """Text with case, accents, width and Chinese variants folded."""
    text = text.casefold()
    if text.isascii():
        return text
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return simplified(unicodedata.normalize("NFC", bare))


def folded(text: str) -> str:
    """Text as words are compared: folded, and its words apart by one space.

    >>> folded("Café-Crème,  自然語言!")
    'cafe creme 自然语言'
    """
    return " ".join(_TERM.findall(plain(text)))


def coverage(words: Words, text: str) -> float:
    """How much of the query's words a text says within one window of it, 0 to 1; unspaced scripts by pairs.

    A window, so that a long text neither gains by saying the words far apart nor loses by saying much else.

    >>> coverage(words_in("Who runs the café?"), "She was running a cafe.")
    1.0
    """
    parts, pattern = _sought(words)
    if pattern is None:
        return 0.0
    body = plain(text)
    places = [(match.start(), _part(match, parts)) for match in pattern.finditer(body)]
    found = [(at, part) for at, part in places if part is not None]
    wide = max(WINDOW, 2 * len(words.text))
    if len(body) <= wide:
        return _share({part for _, part in found}, parts)
    return max((_share(window, parts) for window in _windows(found, wide)), default=0.0)


def said_whole(words: Words, text: str) -> bool:
    """Whether a text holds the whole query, word for word."""
    return bool(words.whole) and f" {words.whole} " in f" {folded(text)} "


def _share(said: set[str], parts: Mapping[str, float]) -> float:
    return sum(parts[part] for part in said) / sum(parts.values())


def _windows(found: list[tuple[int, str]], wide: int) -> Iterator[set[str]]:
    first = 0
    for last, (at, _) in enumerate(found):
        while at - found[first][0] > wide:
            first += 1
        yield {part for _, part in found[first : last + 1]}


def _part(match: re.Match[str], parts: Mapping[str, float]) -> str | None:
    word = match[1] or stem(match[2])
    return word if word in parts else None


@lru_cache(maxsize=256)
def _sought(words: Words) -> tuple[Mapping[str, float], re.Pattern[str] | None]:
    """The parts that are looked for, with their weights (each word the same in all), and how to find them."""
    parts: dict[str, float] = {}
    for term in folded(" ".join(words.terms)).split():
        pieces = list(_pieces(term))
        weight = max(1.0, len(term) / 4) / len(pieces) if len(pieces) > 1 else 1.0
        parts |= {piece: max(weight, parts.get(piece, 0.0)) for piece in pieces}
    pairs = "|".join(re.escape(part) for part in parts if _is_unspaced(part))
    stems = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True) if not _is_unspaced(part))
    one = f"(?=({pairs}))" if pairs else _NEVER
    other = rf"(?<![^\W_])((?:{stems})[^\W_]*)" if stems else _NEVER
    return parts, re.compile(f"{one}|{other}") if parts else None


def _is_unspaced(term: str) -> bool:
    return re.match(rf"[{_UNSPACED}]", term) is not None


def _pieces(term: str) -> Iterator[str]:
    if _is_unspaced(term) and len(term) > 1:
        yield from (term[at : at + 2] for at in range(len(term) - 1))
    else:
        yield stem(term)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its commonest English ending, for comparing only.

    >>> stem("running"), stem("runs"), stem("companies"), stem("company")
    ('run', 'run', 'compan', 'compan')
    """
    if not word.isascii() or len(word) < 4:
        return word
    cut = _SUFFIX.sub("", word)
    return cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and len(cut) < len(word) and cut[-1] not in "ls" else cut
