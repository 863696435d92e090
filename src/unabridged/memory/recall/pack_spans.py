"""Passages as byte spans of artifacts: merged where they overlap, cut where they are too long (pure)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unabridged.memory.recall.densest import around, densest
from unabridged.memory.recall.words import coverage
from unabridged.text.segmenters import split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.memory.recall.data import Citation
    from unabridged.memory.recall.words import Words

__all__ = ["Passage", "Place", "best_of", "merged"]

Place = tuple[str, int, int]  # an artifact, and bytes of its text
_SHORTEST = 32  # tokens: the smallest chunk that a splitter makes
_AROUND = 4  # characters on either side of where a long text says most, for each token there is room for: a piece


@dataclass(frozen=True, slots=True)
class Passage:
    """The bytes of an artifact (the document, where it is a piece of one), first needed by the hit at ``rank``.

    ``shown``: it is a hit itself, not only what a fact rests on.
    """

    citation: Citation
    place: Place
    quote: str
    rank: int
    shown: bool = False

    @classmethod
    def of(cls, citation: Citation, rank: int, *, shown: bool = False) -> Passage:
        """The passage that a citation names, by the bytes of the document where that is known."""
        if citation.document_start is not None and citation.document_end is not None:
            place = (citation.document_id, citation.document_start, citation.document_end)
        else:
            place = (citation.artifact_id, citation.start or 0, citation.end or 0)
        return cls(citation, place, citation.quote or "", rank, shown)

    def holds(self, place: Place) -> bool:
        """Whether other bytes lie within it."""
        return self.place[0] == place[0] and self.place[1] <= place[1] and place[2] <= self.place[2]

    def cut(self, start: int, end: int) -> Passage:
        """Its bytes ``start:end``, counted from its own beginning."""
        quote = self.quote.encode("utf-8")[start:end].decode("utf-8")
        artifact, first, _ = self.place
        return replace(self, place=(artifact, first + start, first + end), quote=quote)

    def cited(self) -> Citation:
        """The citation of exactly these bytes."""
        artifact, start, end = self.place
        whole = artifact == self.citation.document_id
        cited = replace(self.citation, artifact_id=artifact, start=start, end=end, quote=self.quote)
        return replace(cited, document_start=start, document_end=end) if whole else cited


def merged(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Passages of one artifact that overlap or touch, as one; by the best rank of any."""
    of: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        of[passage.place[0]].append(passage)
    done: list[Passage] = []
    for each in of.values():
        each.sort(key=lambda passage: passage.place[1:])
        run = [each[0]]
        for passage in each[1:]:
            if passage.place[1] <= run[-1].place[2]:
                run[-1] = _joined(run[-1], passage)
            else:
                run.append(passage)
        done += run
    return tuple(sorted(done, key=lambda passage: (passage.rank, passage.place)))


def _joined(one: Passage, other: Passage) -> Passage:
    artifact, start, end = one.place
    first = one if one.rank <= other.rank else other
    more = other.quote.encode("utf-8")[end - other.place[1] :].decode("utf-8") if other.place[2] > end else ""
    facts = tuple(dict.fromkeys((*one.citation.facts, *other.citation.facts)))
    citation = replace(first.citation, facts=facts)
    place = (artifact, start, max(end, other.place[2]))
    return Passage(citation, place, one.quote + more, min(one.rank, other.rank), one.shown or other.shown)


def best_of(passage: Passage, words: Words, room: int) -> Passage:
    """The piece of a passage, of at most ``room`` tokens, that says most of the query; the first of those."""
    start, end = around(words, passage.quote, _AROUND * room)
    before = len(passage.quote[:start].encode("utf-8"))
    pieces = split(passage.quote[start:end], "sentence", max_tokens=max(_SHORTEST, room), overlap_tokens=0)
    best = max(pieces, key=lambda piece: (coverage(words, densest(words, piece.source_text)), -piece.index))
    return passage.cut(before + best.start_byte, before + best.end_byte)
