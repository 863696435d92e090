"""Candidates, ranked: every lane's order of them, fused and weighed by how relevant they are (pure)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.memory.recall.data import LaneRank
from unabridged.memory.recall.fuse import RANK_CONSTANT, fuse
from unabridged.memory.recall.settings import WEIGHTS, Settings

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence


__all__ = ["NEAR", "Candidate", "ranked", "reread"]

FOUND = ("text", "names", "graph", "chunks", "document")  # lanes whose own score ranks what they found
NEAR = 0.3  # what standing next to a thing that the query names adds to a score, at the most
_TIE = 1e-6  # of texts that say the same share of the words, BM25's better one is better
_WHOLE = 0.6  # a whole document stands behind its passages that say as much, unless it is what was asked for
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row that some lane found.

    ``found`` has each lane's own score of it; ``near`` is the cosine of its vector and the query's, ``said``
    the share of the query's words that it says, ``score`` the calibrated relevance, ``fused`` the ranks of all
    lanes together: 1 for what all of them put first.
    """

    index: str
    record: Any
    vector: Any = field(default=None, repr=False)
    found: Mapping[str, float] = field(default_factory=dict)
    near: float | None = None
    said: float = 0.0
    score: float = 0.0
    fused: float = 0.0
    lanes: tuple[LaneRank, ...] = ()
    reread: float | None = None
    verbatim: bool = False
    doubted: bool = False

    @property
    def worth(self) -> float:
        """What hits are ordered by: a cross-encoder's word where there is one, else ranks by relevance."""
        if self.reread is not None:
            return self.reread
        whole = self.index == "document" and self.score < 1.0
        return self.fused * self.score * (_WHOLE if whole else 1.0)


def ranked(candidates: Sequence[Candidate], settings: Settings, *, at: dt.datetime) -> list[Candidate]:
    """The candidates of all indexes in one order: ranks are taken within an index, so kinds meet as equals."""
    done: list[Candidate] = []
    for index in dict.fromkeys(each.index for each in candidates):
        done += _of_one_index([each for each in candidates if each.index == index], settings, at)
    return sorted(done, key=lambda each: (-each.worth, -each.fused, each.record.id))


def reread(head: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """The head of an order, as a cross-encoder orders it; its rank stands beside the lanes'."""
    order = sorted(range(len(head)), key=lambda at: (-scores[at], at))
    return [
        replace(head[at], reread=scores[at], lanes=(*head[at].lanes, LaneRank("rerank", rank, scores[at], 0.0)))
        for rank, at in enumerate(order, 1)
    ]


def _of_one_index(candidates: Sequence[Candidate], settings: Settings, at: dt.datetime) -> list[Candidate]:
    rankings = {name: order for name, order in _rankings(candidates, settings, at).items() if order}
    lanes = fuse(rankings, WEIGHTS)
    best = sum(WEIGHTS[name] for name in rankings) / (1 + RANK_CONSTANT) or 1.0
    return [
        replace(each, lanes=given, fused=sum(lane.share for lane in given) / best)
        for place, each in enumerate(candidates)
        for given in [lanes.get(place, ())]
    ]


def _rankings(
    candidates: Sequence[Candidate], settings: Settings, at: dt.datetime
) -> dict[str, list[tuple[int, float]]]:
    """Each lane's order of the candidates, by their place in the list."""
    given = {name: [each.found.get(name) for each in candidates] for name in FOUND}
    if "vector" in settings.lanes:
        given["vector"] = [each.near for each in candidates]  # exact, and of those that the lane did not bring too
    if "text" in settings.lanes:
        given["words"] = [each.said + _TIE * each.found.get("text", 0.0) if each.said else None for each in candidates]
    if settings.recency is not None:
        given["recency"] = [_fresh(each.record, at, settings.recency) for each in candidates]
    if settings.session is not None:
        given["session"] = [1.0 if each.record.session_id == settings.session else None for each in candidates]
    return {name: _order(scores) for name, scores in given.items()}


def _order(scores: Sequence[float | None]) -> list[tuple[int, float]]:
    known = [(place, score) for place, score in enumerate(scores) if score is not None]
    return sorted(known, key=lambda pair: (-pair[1], pair[0]))


def _fresh(record: Any, at: dt.datetime, half_life: float) -> float | None:
    """What is left of a record's weight at its age: a half after each half-life (in days)."""
    return math.exp2(-max(0.0, (at - record.began).total_seconds() / _DAY) / half_life)
