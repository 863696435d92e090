"""What the words of a refusal are about, in thirty languages: concepts marked on a normal text (pure).

The words are data (``data/fault_lexicon.txt``, which tells its own syntax). Stems are looked up in
dictionaries, a few for each word, so that the cost does not grow with the lexicon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

from unabridged.providers.fault_words import WORD, lexicon_lines, normal

__all__ = ["Mark", "mark"]

# Scripts that write words together or grow particles on to them: Hebrew, Arabic, Thai, kana, Han, Hangul.
_GROWN_LETTERS = r"\u0590-\u06ff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_GROWN = re.compile(rf"[{_GROWN_LETTERS}]")
_GROWN_RUN = re.compile(rf"[{_GROWN_LETTERS}]+(?:[ _]?[a-z0-9]?[{_GROWN_LETTERS}]+)*")
_GAP = re.compile(r"[ _'\-/]{0,2}")
_SHORTEST_PART = 4  # a part of a compound: "länge" in "Eingabelänge"
_TOO = {"big": "toobig", "many": "toomany", "short": "tooshort"}
_MOST = 600  # marks of one reply: what a person writes has far fewer


class Mark(NamedTuple):
    """One concept where it stands in a text."""

    start: int
    end: int
    tag: str


# The words after the first, whether each is a stem; the concept; whether it hides what stands inside it.
_Phrase = tuple[tuple[tuple[str, bool], ...], str, bool]
_ISOLATING = frozenset(("vi", "id", "ms"))  # words of one syllable or one root: "câu" (sentence) in "yêu cầu" (request)


@dataclass(slots=True)
class _Lexicon:
    """Entries by their first word: whole, as the beginning of one, as a part of one, grown together."""

    whole: dict[str, list[_Phrase]] = field(default_factory=dict)
    stems: dict[str, list[_Phrase]] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    grown: dict[str, list[str]] = field(default_factory=dict)
    stem_lengths: tuple[int, ...] = ()
    part_lengths: tuple[int, ...] = ()
    grown_lengths: tuple[int, ...] = ()

    def add(self, tag: str, entry: str, *, language: str = "") -> None:
        """Take in one entry of the data."""
        if entry.startswith("*"):
            self.parts.setdefault(normal(entry.strip("*")), []).append(tag)
            return
        words = normal(entry.replace("_", " ")).split(" ")
        if _GROWN.search(entry):
            self.grown.setdefault(" ".join(words).replace("*", "").strip(), []).append(tag)
            return
        words = [word for word in words if word]
        first, rest = words[0], tuple((word.rstrip("*"), word.endswith("*")) for word in words[1:])
        table = self.stems if first.endswith("*") else self.whole
        table.setdefault(first.rstrip("*"), []).append((rest, tag, bool(rest) and language in _ISOLATING))

    def close(self) -> None:
        """Note the lengths that occur, longest first."""
        self.stem_lengths = tuple(sorted({len(stem) for stem in self.stems}, reverse=True))
        self.part_lengths = tuple(sorted({len(part) for part in self.parts}, reverse=True))
        self.grown_lengths = tuple(sorted({len(part) for part in self.grown}, reverse=True))


@cache
def _lexicon() -> _Lexicon:
    lexicon = _Lexicon()
    for language, tag, entries in lexicon_lines():
        if tag not in ("small", "numerals"):
            for entry in entries:
                lexicon.add(tag, entry, language=language)
    lexicon.close()
    return lexicon


def mark(text: str) -> list[Mark]:
    """Every concept of a normal text, by place.

    >>> [found.tag for found in mark(normal("Der Eingabetext ist zu lang"))]
    ['text', 'be', 'too', 'toobig', 'big']
    """
    words = [(found.start(), found.end(), found[0]) for found in WORD.finditer(text)]
    marks: list[Mark] = []
    hidden = 0
    for at, (start, end, word) in enumerate(words):
        phrases, parts = _begun_by(word)
        found, reach = _phrases(phrases, text, words, at)
        marks += [one for one in found if one.end > hidden]
        hidden = max(hidden, reach)
        marks += [Mark(start, end, tag) for tag in parts]
    for run in _GROWN_RUN.finditer(text):
        marks += _grown(_lexicon(), run[0], run.start())
    marks = sorted(set(marks))
    if len(marks) > _MOST:
        marks = [*marks[: _MOST // 2], *marks[-_MOST // 2 :]]
    made = _together(marks)
    return sorted({*marks, *made}) if made else marks


@lru_cache(maxsize=4096)
def _begun_by(word: str) -> tuple[tuple[_Phrase, ...], tuple[str, ...]]:
    """The phrases that a word may begin, and the concepts of its parts; replies have few different words."""
    lexicon = _lexicon()
    phrases = list(lexicon.whole.get(word, ()))
    for length in lexicon.stem_lengths:
        if length <= len(word):
            phrases += lexicon.stems.get(word[:length], ())
    return tuple(phrases), tuple(_parts(lexicon, word)) if len(word) > _SHORTEST_PART else ()


def _phrases(
    phrases: tuple[_Phrase, ...], text: str, words: list[tuple[int, int, str]], at: int
) -> tuple[list[Mark], int]:
    """The concepts that begin with a word, and up to where they hide others."""
    start = words[at][0]
    marks = []
    hides = 0
    for rest, tag, hiding in phrases:
        last = _follow(text, words, at, rest) if rest else at
        if last is not None:
            marks.append(Mark(start, words[last][1], tag))
            hides = max(hides, words[last][1] if hiding else 0)
    return [one for one in marks if one.end >= hides] if hides else marks, hides


def _follow(text: str, words: list[tuple[int, int, str]], at: int, rest: tuple[tuple[str, bool], ...]) -> int | None:
    """The place of a phrase's last word, if its words stand one after the other."""
    for wanted, stem in rest:
        if at + 1 >= len(words) or not _GAP.fullmatch(text, words[at][1], words[at + 1][0]):
            return None
        at += 1
        if not (words[at][2].startswith(wanted) if stem else words[at][2] == wanted):
            return None
    return at


def _parts(lexicon: _Lexicon, word: str) -> set[str]:
    tags: set[str] = set()
    for start in range(len(word) - _SHORTEST_PART + 2):
        for length in lexicon.part_lengths:
            if start + length <= len(word):
                tags.update(lexicon.parts.get(word[start : start + length], ()))
    return tags


def _grown(lexicon: _Lexicon, run: str, offset: int) -> list[Mark]:
    """The longest entry at each place, without those inside a longer one: 큰 (large) in 토큰 (token)."""
    marks = []
    reach = 0
    for start in range(len(run)):
        for length in lexicon.grown_lengths:
            end = start + length
            if reach < end <= len(run) and (tags := lexicon.grown.get(run[start:end])):
                marks += [Mark(offset + start, offset + end, tag) for tag in tags]
                reach = end
                break
    return marks


def _together(marks: list[Mark]) -> list[Mark]:
    """The word "too" beside "long" is one concept, beside "many" another, whichever stands first."""
    made = []
    for too in marks:
        if too.tag != "too":
            continue
        for other in marks:
            near = 0 < other.start - too.end <= 12 or 0 < too.start - other.end <= 2
            if near and other.tag in _TOO:
                made.append(
                    Mark(
                        min(too.start, other.start),
                        max(too.end, other.end),
                        _TOO[other.tag],
                    )
                )
    return made
