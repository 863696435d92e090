"""A refusal as the ladder of kinds sees it: its words, its codes, and what they are about (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from unabridged.providers.fault_lexicon import Mark, mark
from unabridged.providers.fault_words import concept, spell_out, terms

if TYPE_CHECKING:
    from unabridged.providers.fault_text import Reading

__all__ = ["NEVER_OVERFLOW", "SENTENCE", "Seen"]

SENTENCE = re.compile(r"(?<=[.!?;])\s|[。！？；\n]|\s\|\s")
# Parameters of a request that hold no text to embed: too long a one of these is no overflow.
_OTHER_FIELDS = frozenset(terms("fields without text").split("|"))
# Whatever the words: who may ask, how often, whether anyone is there. (404 and 405: what was asked for.)
NEVER_OVERFLOW = frozenset((401, 402, 403, 404, 405, 408, 429, 502, 503, 504, 529))
# What the lexicon's concepts say of a whole reply; idioms (fault_words.txt) say the rest.
_TAGS: dict[str, tuple[str, ...]] = {
    "timeout": ("timeout",),
    "rate": ("rate", "per"),
    "quota hard": ("money", "day"),
    "quota": ("money", "day", "quota"),
    "overloaded": ("busy",),
    "auth": ("auth",),
    "dimensions": ("dim",),
    "empty": ("empty",),
    "bad shape": ("type",),
    "upstream": ("upstream",),
    "context": ("context",),
    "whole request": ("total",),
    "one input": ("each",),
}
# Two concepts beside each other.
_PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "auth": (("key", "bad"), ("key", "missing")),
    "model missing": (("model", "missing"),),
}
_BESIDE = 60
_CLAUSE = re.compile(r"[,;:.()!?。，；：！？、（）]")
_TOO_MUCH = frozenset(("exceed", "toobig", "toomany", "fit", "max"))
_SUBJECTS = frozenset(("text", "tok", "char", "byte", "body", "batch"))
_WEAK_SUBJECTS = frozenset(("item", "request"))
_SIZED = frozenset(("size", "count", "big", "many", "tok", "char", "byte"))


@dataclass(slots=False)
class Seen:
    """A reply as the ladder sees it: normal text, spelled-out codes, the status in force."""

    reading: Reading
    text: str
    codes: str
    status: int | None
    fields: frozenset[str]
    sent_ok: bool

    def means(self, *concepts: str) -> bool:
        """Whether its words or its codes say any of these concepts."""
        return any(
            self.says(concept(name)) or _told(name, self.marks, self.text) or _told(name, self.code_marks, self.codes)
            for name in concepts
        )

    @cached_property
    def marks(self) -> list[Mark]:
        """The concepts of its words."""
        return mark(self.text)

    @cached_property
    def code_marks(self) -> list[Mark]:
        """The concepts of its codes."""
        return mark(self.codes)

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether its words or its codes match."""
        return bool(pattern.search(self.text) or pattern.search(self.codes))

    def writes(self, name: str) -> bool:
        """Whether its words, without its codes, say a concept."""
        return bool(concept(name).search(self.text)) or _told(name, self.marks, self.text)

    @cached_property
    def about_text(self) -> str:
        """The text without what is long, large or many but no text: retries, dimensions, headers."""
        return concept("not text").sub(" ", self.text)

    @property
    def elsewhere(self) -> bool:
        """Whether it complains only of parameters that hold no text."""
        return bool(self.fields) and self.fields <= _OTHER_FIELDS

    @cached_property
    def overflow(self) -> float:
        """How surely something of the input is over something: 0 … 1."""
        if self.elsewhere or self.status in NEVER_OVERFLOW:
            return 0.0
        return max(self._by_shape(), self._by_words(), self._by_places())

    def _by_shape(self) -> float:
        if self.writes("length shapes"):
            guess = "index out of range in self" in self.text or "out of data bounds" in self.text
            return 0.6 if guess else 0.9
        return 0.95 if concept("codes").search(self.codes) else 0.0

    def _by_words(self) -> float:
        return max((self._in_sentence(start, end) for start, end in _sentences(self.text)), default=0.0)

    @cached_property
    def told_too_much(self) -> frozenset[str]:
        """The concepts of the sentences that say that something is too much."""
        spans = [(start, end) for start, end in _sentences(self.text) if self._in_sentence(start, end) >= 0.6]
        return frozenset(found.tag for found in self.marks if any(a <= found.start < b for a, b in spans))

    def _by_places(self) -> float:
        """A code that says "too long" of a place that holds texts."""
        codes = {found.tag for found in self.code_marks}
        names = " ".join(str(part) for path in self.reading.places for part in path)
        about = codes | {found.tag for found in mark(spell_out(names))}
        too_much = codes & {"toobig", "toomany", "exceed", "fit"} and not codes & {"other", "output", "day", "money"}
        return 0.85 if too_much and about & _SUBJECTS and "other" not in about else 0.0

    def _in_sentence(self, start: int, end: int) -> float:
        """Something of the input, and beside it that something is too much."""
        sentence = self.text[start:end]
        elsewhere = [(found.start() + start, found.end() + start) for found in concept("not text").finditer(sentence)]
        text = concept("not text").sub(" ", sentence)
        inside = [found for found in self.marks if start <= found.start < end]
        tags = {found.tag for found in inside if not any(a <= found.start < b for a, b in elsewhere)}
        if not (concept("too much").search(text) or tags & _TOO_MUCH):
            return 0.0
        context = "context" in tags or concept("context").search(text)
        if (elsewhere or "other" in tags) and not (context or "text" in tags or concept("head").search(text)):
            return 0.0  # "title too long (max 200 characters)": the unit alone is no text
        if context or tags & _SUBJECTS or concept("subject").search(text):
            return 0.9
        weak = tags & _WEAK_SUBJECTS or concept("subject if sized").search(text)
        return 0.75 if weak and (tags & _SIZED or concept("sized").search(text)) else 0.0


def _sentences(text: str) -> list[tuple[int, int]]:
    ends = [0, *(cut for found in SENTENCE.finditer(text) for cut in found.span()), len(text)]
    return list(zip(ends[::2], ends[1::2], strict=True))[:80]


def _told(name: str, marks: list[Mark], text: str) -> bool:
    tags = _TAGS.get(name, ())
    if any(found.tag in tags for found in marks):
        return True
    if name == "counted":
        return _counted(marks, text)
    return any(_beside(marks, one, other) for one, other in _PAIRS.get(name, ()))


def _beside(marks: list[Mark], one: str, other: str) -> bool:
    ones, others = ([found for found in marks if found.tag == tag] for tag in (one, other))
    return any(abs(a.start - b.start) <= _BESIDE for a in ones for b in others)


def _counted(marks: list[Mark], text: str) -> bool:
    """Too many texts, or the number of texts: not of their tokens."""
    for many in marks:
        if many.tag in ("toomany", "count"):
            cut = _CLAUSE.search(text, many.end)
            end = min(many.end + 20, cut.start() if cut else len(text))
            near = {found.tag for found in marks if many.start <= found.start < end}
            if near & {"text", "item"} and not near & {"tok", "char", "byte", "word"}:
                return True
    return False
