"""The names that a long text has spoken of so far: what a pronoun in a later chunk may stand for (pure)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["names_before"]

MOST = 24  # names that an extraction is told of: 24 cost it some 100 tokens

_CAPITAL = r"[^\W\d_a-zà-ÿ][\w'’-]*"
_NAME = re.compile(rf"\b{_CAPITAL}(?:\s+(?:(?:of|de|van|von|the)\s+)?{_CAPITAL})*")
_OPENER = re.compile(
    "A|After|All|An|And|As|At|Before|But|By|For|From|He|Her|His|However|I|If|In|It|Its|My|No|On|One|Our|She|Since|So"
    "|That|The|Their|Then|There|These|They|This|Those|To|Today|Under|We|What|When|While|With|Yesterday|You"
)


def _names(text: str) -> Iterator[str]:
    """Runs of capitalised words, without those that only open a sentence."""
    for found in _NAME.finditer(text):
        words = found[0].split()
        before = text[max(0, found.start() - 4) : found.start()].rstrip()
        opens = not before or before[-1] in ".!?…:"
        while words and _OPENER.fullmatch(words[0]):
            words, opens = words[1:], False
        if words and not (opens and len(words) == 1):
            yield " ".join(words)


def names_before(chunks: Sequence[str]) -> list[tuple[str, ...]]:
    """For each chunk the names of the chunks before it, latest first: what a pronoun may stand for.

    Found by their capitals inside sentences, so what one extraction is told does not wait for another:
    chunks are extracted at the same time, with the same result as one after the other (SPEC A14).
    """
    found: list[tuple[str, ...]] = []
    seen: dict[str, None] = {}
    for chunk in chunks:
        found.append(tuple(reversed(seen))[:MOST])
        for name in _names(chunk):
            seen.pop(name, None)
            seen[name] = None
    return found
