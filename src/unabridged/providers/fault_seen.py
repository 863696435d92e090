"""A refusal as the ladder of kinds sees it: its words, its codes, and what they are about (pure)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from unabridged.providers.fault_lexicon import Mark, mark
from unabridged.providers.fault_measure import Measured, numbers_in, with_fields
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
}
# Two concepts beside each other.
_PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "auth": (("key", "bad"), ("key", "missing")),
    "model missing": (("model", "missing"),),
}
_BESIDE = 60
_NEAR = 14
_NOUNS = frozenset(("text", "item", "tok", "char", "byte", "word"))
_CLAUSE = re.compile(r"[,;:.()!?。，；：！？、（）]")
_A_WORD = 16  # letters of what is a name rather than a sentence
_MUCH = frozenset(("exceed", "toobig", "toomany", "fit"))
_TOO_MUCH = frozenset(("exceed", "toobig", "toomany", "fit", "max"))
_SUBJECTS = frozenset(("text", "tok", "char", "byte", "body", "batch"))
_WEAK_SUBJECTS = frozenset(("item", "request"))
_SIZE_WORDS = frozenset(("size", "count", "toobig", "toomany", "tok", "max", "context"))
_LIMITED = frozenset(("text", "item", "batch", "request", "body", "context", "tok"))
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
        if shaped := self._by_shape():
            return shaped
        if self.other_matter:
            return 0.0
        by_words = self._by_words()
        return by_words if by_words >= 0.85 else max(by_words, self._by_places(), self._by_fields(), self._by_limits())

    @property
    def other_matter(self) -> bool:
        """Whether it is about something whose sizes are no sizes of texts, or about what is too short."""
        return bool(concept("never").search(self.text)) or any(found.tag == "tooshort" for found in self.marks)

    def _by_shape(self) -> float:
        if self.writes("length shapes"):
            guess = "index out of range in self" in self.text or "out of data bounds" in self.text
            return 0.6 if guess else 0.9
        return 0.95 if concept("codes").search(self.codes) else 0.0

    def _by_words(self) -> float:
        return max((self._in_sentence(start, end) for start, end in _sentences(self.text)), default=0.0)

    def _by_fields(self) -> float:
        """Two named numbers of the reply, of which the larger should be no larger."""
        measured = with_fields(Measured(), self.reading.numbers)
        marks = (*self.marks, *self.code_marks)
        sized = measured.unit or any(found.tag in _SIZE_WORDS for found in marks)
        return 0.8 if sized and measured.limit and (measured.actual or 0) > measured.limit else 0.0

    def _by_limits(self) -> float:
        """No word of "too much", but a size that is a limit: "this model takes 512 tokens"."""
        tags = {found.tag for found in self.marks}
        if tags & {"other", "output"} or not tags & _LIMITED or self.status is None:
            return 0.0
        sizes = ("tokens", "chars", "bytes", "inputs")
        numbers = numbers_in(self.about_text, status=self.status)
        return 0.8 if any(n.unit in sizes and n.as_limit >= 2.5 for n in numbers) else 0.0

    @cached_property
    def told_too_much(self) -> frozenset[str]:
        """The concepts of the sentences that say that something is too much."""
        spans = [(start, end) for start, end in _sentences(self.text) if self._in_sentence(start, end) >= 0.6]
        return frozenset(found.tag for found in self.marks if any(a <= found.start < b for a, b in spans))

    @cached_property
    def place_tags(self) -> frozenset[str]:
        """What the places are that it names: a text, if there is no more than its number."""
        names = " ".join(str(part) for path in self.reading.places for part in path)
        tags = {found.tag for found in mark(spell_out(names))}
        alone = any(len(path) == 1 and type(path[0]) is int for path in self.reading.places)
        return frozenset({*tags, "text"} if alone and "other" not in tags else tags)

    def _by_places(self) -> float:
        """A code that says "too long" of a place that holds texts."""
        codes = {found.tag for found in self.code_marks}
        about = codes | self.place_tags
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
        if self.status is None and not tags & _MUCH and not self.reading.structured and len(sentence) < _A_WORD:
            return 0.0  # "max tokens", and nothing else
        context = "context" in tags or concept("context").search(text)
        head = context or "text" in tags or concept("head").search(text)
        if not head and (elsewhere or ("other" in tags and "tok" not in tags)):
            return 0.0  # "title too long (max 200 characters)": the unit alone is no text
        if context or tags & _SUBJECTS or concept("subject").search(text):
            return 0.9
        if "text" in self.place_tags and "other" not in self.place_tags:
            return 0.8
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
    if name == "one input":
        return any(_follows(marks, "each", noun) for noun in ("text", "item"))
    return any(_beside(marks, one, other) for one, other in _PAIRS.get(name, ()))


def _beside(marks: list[Mark], one: str, other: str) -> bool:
    ones, others = ([found for found in marks if found.tag == tag] for tag in (one, other))
    return any(abs(a.start - b.start) <= _BESIDE for a in ones for b in others)


def _follows(marks: list[Mark], one: str, other: str) -> bool:
    """Whether one stands before another: "each of your texts", 单条文本."""
    ones, others = ([found for found in marks if found.tag == tag] for tag in (one, other))
    return any(0 <= b.start - a.end <= _NEAR for a in ones for b in others)


def _counted(marks: list[Mark], text: str) -> bool:
    """Too many texts, or the number of texts: not of their tokens."""
    for many in marks:
        if many.tag in ("toomany", "count"):
            cut = _CLAUSE.search(text, many.end)
            end = min(many.end + 20, cut.start() if cut else len(text))
            # 文書が多すぎ, "metin sayısı": a noun beside it, before it
            start = many.start - (3 if text[many.start] > "\u3000" else 1 if many.tag == "count" else 0)
            nouns = [found for found in marks if found.tag in _NOUNS and start <= found.end and found.start < end]
            if nouns and nouns[0].tag in ("text", "item") and not _goes_on(nouns):
                return True
    return False


def _goes_on(nouns: list[Mark]) -> bool:
    """Whether a noun belongs to a size: "input tokens"."""
    return any(0 <= found.start - nouns[0].end <= 2 and found.tag not in ("text", "item") for found in nouns[1:])
