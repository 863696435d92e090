"""What fits a token budget, ready for a prompt: no passage twice, overlap merged, each with its source (SPEC R3).

Passages of one document that overlap or touch become one, by their bytes, and are cited as the document's.
A fact stands with the passage that states it: as a number where that is in the pack already, else quoted
under it. What does not fit whole is cut where a splitter would, and its citation says exactly what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from unabridged.memory.recall.data import Hit, Pack
from unabridged.memory.recall.pack_print import Line, blocks, printed
from unabridged.memory.recall.pack_spans import Passage, best_of, merged
from unabridged.memory.recall.words import words_in
from unabridged.text.tokens import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.recall.words import Words
    from unabridged.text.tokens import Measure

__all__ = ["packed"]

_LEAST = 24  # tokens under which a piece of a passage is not worth its heading
_HEADING = 24  # tokens that a heading is counted as before it is written
_BESIDE = 64  # tokens of the passage quoted under a fact, where all that is known is the text it stands in


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is in the pack so far."""

    passages: tuple[Passage, ...] = ()
    lines: tuple[Line, ...] = field(default=())

    def with_(self, *passages: Passage, lines: Sequence[Line] = ()) -> _Draft:
        return _Draft(merged([*self.passages, *passages]), (*self.lines, *lines))


def packed(hits: Sequence[Hit], words: Words, budget: int, *, tokenizer: Measure | None = None) -> Pack:
    """The hits within ``budget`` tokens, best first; what found no room is counted in ``left_out``.

    >>> packed([], words_in("anything"), 100).text
    ''
    """
    return _Packing(words, budget, tokenizer or Estimate()).of(hits)


class _Packing:
    def __init__(self, words: Words, budget: int, tokenizer: Measure) -> None:
        self.words, self.budget, self.tokenizer = words, budget, tokenizer
        self.draft = _Draft()
        self.adds_up = bool(getattr(tokenizer, "adds_up_by_line", False))
        self.count = lru_cache(tokenizer.count)  # the same passages are counted with each that is added

    def of(self, hits: Sequence[Hit]) -> Pack:
        left_out = sum(not self._add(hit, rank) for rank, hit in enumerate(hits))
        text, citations = printed(self.draft.passages, self.draft.lines)
        return Pack(text, citations, self._tokens(self.draft), left_out)

    def _add(self, hit: Hit, rank: int) -> bool:
        if hit.kind == "passage":
            return self._passage(Passage.of(hit.evidence[0], rank, shown=True))
        if hit.kind == "document":
            return self._whole(hit, rank)
        return self._line(hit, rank)

    def _whole(self, hit: Hit, rank: int) -> bool:
        """A whole artifact: all of it where there is room, else what says most of the query."""
        return self._passage(Passage.of(hit.evidence[0], rank, shown=True))

    def _passage(self, passage: Passage) -> bool:
        if self._fits(whole := self.draft.with_(passage)):
            self.draft = whole
            return True
        room = self.budget - self._tokens(self.draft) - _HEADING
        if room >= _LEAST:
            cut = self.draft.with_(best_of(passage, self.words, room))
            if self._fits(cut):
                self.draft = cut
                return True
        return False

    def _line(self, hit: Hit, rank: int) -> bool:
        """A fact, an entity or a summary, and the passage that it rests on."""
        source = hit.evidence[0]
        line = Line(hit, rank, Passage.of(source, rank).place)
        if hit.kind != "fact":
            return self._try(self.draft.with_(lines=[line]))
        ground = Passage.of(source, rank)
        if self.tokenizer.count(ground.quote) > _BESIDE and not any(p.holds(ground.place) for p in self.draft.passages):
            ground = best_of(ground, words_in(hit.text), _BESIDE)
        line = replace(line, place=ground.place)
        return self._try(self.draft.with_(ground, lines=[line]))

    def _try(self, draft: _Draft) -> bool:
        fits = self._fits(draft)
        if fits:
            self.draft = draft
        return fits

    def _fits(self, draft: _Draft) -> bool:
        if not self.adds_up:
            return self._tokens(draft) <= self.budget
        parts = blocks(draft.passages, draft.lines)
        return sum(map(len, parts)) <= self.budget or sum(map(self.count, parts)) <= self.budget  # a letter is a token

    def _tokens(self, draft: _Draft) -> int:
        if self.adds_up:
            return sum(map(self.count, blocks(draft.passages, draft.lines)))
        return self.count(printed(draft.passages, draft.lines)[0])
