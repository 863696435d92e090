"""A query's words: what carries meaning, how they are written in full text, how much of them a text says (pure)."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate, islice
from math import fsum
from typing import TYPE_CHECKING

from unabridged.memory.recall.spelling import (
    INDIC,
    UNSPACED,
    apart,
    bare_figures,
    bare_marks,
    bare_spaces,
    forms,
    han_forms,
    joined,
    plain,
    simplified,
)
from unabridged.memory.recall.window import together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "MANY",
    "WINDOW",
    "Words",
    "coverage",
    "folded",
    "function_words",
    "han_forms",
    "mentions",
    "places",
    "plain",
    "said_whole",
    "simplified",
    "stem",
    "words_in",
]

WINDOW = 1000  # characters in which a query's words count as said together: a long paragraph
MANY = 100  # words of a query from which a text is read word by word: to look for each by itself takes as long then
WORD_LIMIT = 64  # words of a query that are asked of full text; a longer one is a text, and its rarest words tell
_ROUNDED = 1e-9  # sums of weights that differ by less are equal
MOST_PARTED = 8  # figures of a query that are asked of full text with their thousands apart: half a millisecond each

_LETTER = rf"(?:[^\W_{UNSPACED}]|[{INDIC}])"
_TERM = re.compile(rf"[{UNSPACED}]+|{_LETTER}+(?:['’][^\W\d_{UNSPACED}]+)?")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-\u2010\u2011'’][^\W_]++)+")
_QUOTED = re.compile(r'"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』')
_JOINING = re.compile(r"[\u0590-\u06ff\uac00-\ud7af]")
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_WORD = re.compile(rf"(?<![^\W_{UNSPACED}])(?<![{INDIC}]){_LETTER}+")
_BEGUN = re.compile(rf"(?<![^\W_{UNSPACED}])(?<![{INDIC}]){_LETTER}*")
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
        """What full text is asked: each word once, in every way of writing it as one word."""
        asked = [*self.terms[:WORD_LIMIT], *self.compounds, *(piece for each in self.humps.values() for piece in each)]
        return " ".join(dict.fromkeys(form for term in asked for form in forms(term) if " " not in form))

    @property
    def parted(self) -> tuple[str, ...]:
        """What full text is asked as it stands: figures set apart, whose pieces by themselves say nothing."""
        every = (form for term in self.terms[:WORD_LIMIT] for form in forms(term) if " " in form)
        return tuple(islice(dict.fromkeys(every), MOST_PARTED))

    @property
    def compounds(self) -> Mapping[str, tuple[str, ...]]:
        """What the query writes apart by hyphens, as one word, and its pieces: wi-fi."""
        found = {joined(match[0]): match[0] for match in islice(_COMPOUND.finditer(self.text), WORD_LIMIT)}
        return {one.lower(): tuple(_TERM.findall(written.lower())) for one, written in found.items()}

    @property
    def humps(self) -> Mapping[str, tuple[str, ...]]:
        """What the query writes as one word by capitals, and its pieces: getUserName."""
        words = (match[0] for match in islice(_TERM.finditer(self.text), WORD_LIMIT))
        return {word.lower(): tuple(pieces.lower().split()) for word in words if (pieces := apart(word)) != word}


def words_in(query: str) -> Words:
    """Read a query.

    >>> words_in('Who works at "Acme Corp"?').terms
    ('works', 'acme', 'corp')
    >>> words_in("Is it for IT?").terms
    ('it',)
    """
    read = bare_spaces(bare_figures(bare_marks(query)))
    written = [match[0] for match in _TERM.finditer(read)]
    found = [word.lower() for word in written]
    phrases = tuple(next(filter(None, groups)).strip() for groups in _QUOTED.findall(read))
    meant = {word.lower() for phrase in phrases for word in _TERM.findall(phrase)}
    if not query.isupper():
        meant |= {word.lower() for word in written if len(word) > 1 and word.isupper()}
    terms = tuple(dict.fromkeys(word for word in found if word in meant or _carries(word)))
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
    sought = _sought(words)
    if not sought.parts:
        return 0.0
    body = plain(text)
    if words.phrases:
        sought = sought.without(_unsaid(words, body))
    wide = max(WINDOW, 2 * len(words.text))
    if len(body) <= wide:
        said = sought.said(body)
        if sought.hidden(body, said):
            said |= sought.said(plain(joined(apart(text))))
        return sought.share(said)
    found = sought.in_(body)
    if sought.hidden(body, {part for _, part in found}):
        found = sorted([*found, *sought.in_(plain(joined(apart(text))))])
    return max((sought.share(window) for window in sought.windows(found, wide)), default=0.0)


def mentions(words: Words, parts: Sequence[str]) -> dict[int, int] | None:
    """How many of a query's words each of some sentences may say, those that may say any by number.

    ``None`` where each is better looked at. No sentence says more: what stands joined or apart in one counts, too.

    >>> mentions(words_in("Who runs the café?"), ["Cafés are run.", "They close."])
    {0: 2}
    >>> mentions(words_in("The wifi works."), ["A password.", "The wi-fi."])
    {1: 1}
    """
    names = _sought(words).names
    body = _bare(plain("\0".join(parts)))
    starts = [0, *accumulate(len(part) + 1 for part in body.split("\0"))]
    if len(starts) != len(parts) + 1 or len(names) > MANY:
        return None
    found: dict[int, int] = {}
    for name in map(_bare, names):
        at = body.find(name)
        while at >= 0:
            part = bisect_right(starts, at) - 1
            found[part] = found.get(part, 0) + 1
            at = body.find(name, starts[part + 1])
    return found


def places(words: Words, text: str) -> list[tuple[int, str]]:
    """Where a text says a query's words, by character and in order, each with the stem that is said.

    >>> places(words_in("Who runs the café?"), "It cost 5… A cafe is run.")
    [(13, 'caf'), (21, 'run')]
    """
    lines = text.split("\n")
    bodies = [plain(line) for line in lines]
    found = _sought(words).in_("\n".join(bodies))
    if all(len(line) == len(body) for line, body in zip(lines, bodies, strict=True)):
        return found
    starts, folded_starts = ([*accumulate((len(e) + 1 for e in each), initial=0)] for each in (lines, bodies))
    each = [(bisect_right(folded_starts, at) - 1, at, name) for at, name in found]
    return [(starts[n] + _origin(lines[n], bodies[n], at - folded_starts[n]), name) for n, at, name in each]


def _origin(line: str, body: str, at: int) -> int:
    """Which character of a line a place of the folded line stands for: some are folded into several (… ß ﬁ) or none."""
    if len(body) == len(line):
        return at
    origin: list[int] = []
    for number, letter in enumerate(line):
        piece = plain(letter)
        origin += [number] * len(piece) if body.startswith(piece, len(origin)) else []
    return min(origin[at] if at < len(origin) else len(line), max(0, len(line) - 1))


def _unsaid(words: Words, body: str) -> list[str]:
    """The words of phrases in quotation marks that a folded text does not have as they stand there."""
    said = f" {' '.join(_TERM.findall(body))} "
    wanted = [folded(phrase) for phrase in words.phrases]
    return [word for phrase in wanted if f" {phrase} " not in said and phrase not in body for word in phrase.split()]


def said_whole(words: Words, text: str) -> bool:
    """Whether a text holds the whole query, word for word."""
    return bool(words.whole) and f" {words.whole} " in f" {folded(text)} "


@dataclass(frozen=True, slots=True)
class _Sought:
    """The parts of a query that are looked for, with their weights (each word the same in all).

    ``rules``: what being said says other parts as well: "wifi" both of "wi-fi", "user" and "name" all of "userName".
    """

    parts: Mapping[str, float]
    rules: tuple[tuple[frozenset[str], tuple[str, ...]], ...]
    names: frozenset[str]
    loose: frozenset[str]  # names that may stand inside other words
    pairs: frozenset[str]  # names of scripts that set no spaces

    def in_(self, body: str) -> list[tuple[int, str]]:
        """What a folded text says, and where."""
        if len(self.names) > MANY:
            return self._read(body)
        return sorted((at, name) for name in self.names for at in self._of(name, body))

    def said(self, body: str) -> set[str]:
        """What a folded text says."""
        if len(self.names) > MANY:
            return {name for _, name in self._read(body)}
        return {name for name in self.names if name in body and any(True for _ in self._of(name, body))}

    def _read(self, body: str) -> list[tuple[int, str]]:
        """The same, word by word: of many names each would go through the text by itself."""
        met = ((word.start(), self._named(word[0])) for word in _WORD.finditer(body))
        found = [(at, name) for at, name in met if name in self.names and name not in self.pairs]
        wide = {len(name) for name in self.pairs}
        ends = ((at, body[at : at + long]) for long in wide for at in range(len(body) - long + 1))
        return sorted([*found, *((at, name) for at, name in ends if name in self.pairs and name in self.names)])

    def windows(self, found: Sequence[tuple[int, str]], wide: int) -> Iterator[set[str]]:
        """What is said together, of places in order: where most is.

        What rules say beside is not added up, so of a few words that have any each fresh one makes a window.
        """
        each = bool(self.rules) and len(self.names) <= MANY
        most, best = -1.0, (0, 0)
        for first, last, seen, said in together(found, wide, self.parts):
            if each and seen[found[last][1]] == 1:
                yield set(seen)
            elif said > most + _ROUNDED:
                most, best = said, (first, last + 1)
        if found and not each:
            yield {name for _, name in found[slice(*best)]}

    def _of(self, name: str, body: str) -> Iterator[int]:
        """Where a folded text says a name.

        Each is looked for by itself: one pattern of all of them is tried at every letter, and takes three times as
        long. Of a script that sets no spaces a name stands anywhere, of others a word begins with it.
        """
        anywhere = name in self.pairs
        at = body.find(name)
        while at >= 0:
            if anywhere or ((not at or body[at - 1] not in _ALPHABET) and self._begins(name, body, at)):
                yield at
            at = body.find(name, at + 1)

    def _begins(self, name: str, body: str, at: int) -> bool:
        """Whether a word begins there that goes by the name, and not in the middle of one."""
        word = _BEGUN.match(body, at)
        return word is not None and self._named(word[0]) == name

    def _named(self, word: str) -> str:
        """A word by its stem; in scripts that join endings to words, by what it begins with."""
        name = stem(word)
        if name not in self.names and _JOINING.match(word):
            longest = min(len(word) - 1, max(map(len, self.names)))
            return next((word[:end] for end in range(longest, 1, -1) if word[:end] in self.names), name)
        return name

    def hidden(self, body: str, said: set[str]) -> bool:
        """Whether what is not said may stand inside another word, or apart in it."""
        left = self.loose & self.names - said
        if len(left) > MANY:
            return True
        bare = _bare(body) if left else ""
        return any(name in bare for name in left)

    def without(self, words: Iterable[str]) -> _Sought:
        """The same, but that some words count as unsaid wherever they stand."""
        unsaid = {piece for word in words for piece in _pieces(word)}
        return replace(self, names=self.names - unsaid, rules=()) if unsaid else self

    def share(self, said: set[str]) -> float:
        """How much of the parts is said, whatever order a set has in this process: so equal shares are equal."""
        known = said.union(*(gives for needs, gives in self.rules if needs <= said)) if self.rules else said
        return fsum(self.parts[part] for part in known if part in self.parts) / fsum(self.parts.values())


@lru_cache(maxsize=256)
def _sought(words: Words) -> _Sought:
    parts: dict[str, float] = {}
    rules: list[tuple[frozenset[str], tuple[str, ...]]] = []
    for term in (word for each in words.terms for word in folded(each).split()):
        pieces = list(_pieces(term))
        weight = max(1.0, len(term) / 4) / len(pieces) if len(pieces) > 1 else 1.0
        parts |= {piece: max(weight, parts.get(piece, 0.0)) for piece in pieces}
    for term in words.terms:
        own = stem(plain(term))
        rules += [(_stems(plain(form).split()), (own,)) for form in forms(term) if own in parts]
    rules += [(_stems([one]), tuple(_stems(pieces))) for one, pieces in words.compounds.items()]
    rules += [(_stems(pieces), tuple(_stems([one]))) for one, pieces in words.humps.items()]
    kept = tuple((needs, gives) for needs, gives in rules if not needs <= parts.keys() or len(needs) > 1)
    names = frozenset(parts).union(*(needs for needs, _ in kept))
    loose = frozenset(name for name in names if len(name) > 1 and not _is_unspaced(name))
    return _Sought(parts, kept, names, loose, frozenset(filter(_is_unspaced, names)))


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(plain(word)) for word in words)


def _bare(body: str) -> str:
    """A folded text without what may stand in a word."""
    body = body.replace("-", "").replace("'", "").replace("’", "").replace(".", "")
    return body if body.isascii() else body.replace("\u2010", "")


def _is_unspaced(term: str) -> bool:
    return re.match(rf"[{UNSPACED}]", term) is not None


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
