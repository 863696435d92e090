"""Whether a text says the opposite of what a query states (case 44; pure).

A vector hardly tells "the door is open" from "the door is not open". So where a statement's words are all but
all said by one sentence, its negations and opposites are counted in both: an odd difference is a contradiction.
A question is no statement, whatever answers it: to "Is the door open?", "It is closed" is an answer.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from unabridged.memory.recall.words import coverage, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.memory.recall.words import Words

__all__ = ["OPPOSED", "opposed"]

OPPOSED = 0.25  # the score of what says the opposite: half of a stranger's
_SAID = 0.6  # share of a statement's words, opposites counted as said, from which a sentence is about the same
_LONGEST = 20_000  # characters in which a contradiction is looked for
_SENTENCE = re.compile(r"[^.!?。！？\n]+")
_WORD = re.compile(r"[^\W\d_]+(?:n['’]t)?")
_NOT = re.compile(
    r"\b(?:not|no|never|nobody|none|neither|nor|cannot|without|nicht|kein\w*|nie|niemals|pas|jamais|aucun\w*|nunca|"
    r"jamás|ningun[oa]?|non|mai)\b|n['’]t\b|不|没|沒|未|無|ない|ません"
)


@cache
def _opposites() -> Mapping[str, frozenset[str]]:
    lines = (files("unabridged") / "data" / "opposites.txt").read_text("utf-8").splitlines()
    found: dict[str, set[str]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            one, other = line.split()
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


def opposed(words: Words, text: str) -> bool:
    """Whether the sentence of a text that is nearest to a statement contradicts it.

    >>> from unabridged.memory.recall.words import words_in
    >>> opposed(words_in("The door is open."), "The door is closed. The light is on.")
    True
    >>> opposed(words_in("Alice works at Acme."), "Alice does not work at Acme.")
    True
    >>> opposed(words_in("Alice works at Acme."), "Alice works at Acme."), opposed(words_in("Is it open?"), "Closed.")
    (False, False)
    """
    if words.asks or len(words.terms) < 2 or len(text) > _LONGEST:
        return False
    said = plain(words.text)
    sentences = _SENTENCE.findall(text)
    best = max(sentences, key=lambda sentence: coverage(words, _turned(said, sentence)), default="")
    if coverage(words, _turned(said, best)) < _SAID:
        return False
    heard = plain(best)
    turns = len(_NOT.findall(said)) + len(_NOT.findall(heard)) + len(_turns(said, heard))
    return turns % 2 == 1


def _turns(said: str, heard: str) -> list[str]:
    """The pairs that no negation tells: "always" and "never" differ by the "never", which is counted as one."""
    denied = {*_NOT.findall(said), *_NOT.findall(heard)}
    return [word for word in _pairs(said, heard) if not denied & {word, *_opposites()[word]}]


def _turned(said: str, sentence: str) -> str:
    """A sentence with the statement's own words beside their opposites, so that those count as said."""
    return f"{sentence} {' '.join(_pairs(said, plain(sentence)))}"


def _pairs(said: str, heard: str) -> list[str]:
    """The words of a statement whose opposite the other says, and not the word itself."""
    ours, theirs = set(_WORD.findall(said)), set(_WORD.findall(heard))
    return [word for word in sorted(ours - theirs) if _opposites().get(word, frozenset()) & (theirs - ours)]
