"""The read path: lanes asked side by side, fused, held against a threshold, grounded and packed (SPEC R1-R4)."""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError, StoreError
from unabridged.memory.lanes import INDEXES_OF, Asking, Found, Ranking, holdings
from unabridged.memory.lanes_graph import graph_lane
from unabridged.memory.lanes_names import names_lane
from unabridged.memory.lanes_text import text_lane
from unabridged.memory.lanes_vector import vector_lane
from unabridged.memory.pack import DEFAULT_BUDGET, packed
from unabridged.memory.recall_data import HIT_KINDS, LANES, Degraded, Hit, LaneRank, Recalled
from unabridged.memory.recall_fuse import diverse, fuse
from unabridged.memory.recall_hits import Row, chunked, cited, rows_of, text_of
from unabridged.memory.recall_query import Meant, calibration_of, meant
from unabridged.memory.recall_scope import Scope
from unabridged.memory.recall_score import THRESHOLD, Calibration, cosine, relevance
from unabridged.memory.recall_words import Words, words_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.commits import View
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["Recall", "Settings", "recall"]

WEIGHTS: Mapping[str, float] = {"vector": 1.0, "text": 1.0, "names": 1.0, "graph": 0.5, "recency": 0.5, "session": 0.5}
DEPTH = 50  # rows that each index of a lane brings, at least
DOCUMENTS = 10  # whole artifacts that are looked at: each may be a mebibyte

_pool = ThreadPoolExecutor(4, thread_name_prefix="unabridged-lane")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to recall, checked; see :meth:`unabridged.memory.Memory.recall`."""

    limit: int = 10
    budget_tokens: int | None = None
    kinds: tuple[str, ...] = HIT_KINDS
    lanes: tuple[str, ...] = LANES
    diversity: float = 0.0
    threshold: float = THRESHOLD
    passes: int = 1
    rerank: Any = None
    explain: bool = False
    weights: Mapping[str, float] = field(default_factory=lambda: WEIGHTS)
    recency: float | None = None
    session: str | None = None
    vector: Any = None

    @classmethod
    def of(cls, *, kinds: Any = None, lanes: Any = None, threshold: float | None = None, **given: Any) -> Settings:
        """Settings from what a caller gave: one name or several, ``None`` for the default."""
        chosen = {name: (each,) if isinstance(each, str) else tuple(each) for name, each in (("kinds", kinds), ("lanes", lanes)) if each is not None}
        return cls(**given, **chosen, **({} if threshold is None else {"threshold": threshold}))

    def __post_init__(self) -> None:
        """Refuse what makes no sense, naming it."""
        if type(self.limit) is not int or not 1 <= self.limit <= 1000:
            raise InputError(f"limit: found {self.limit!r}, expected 1 to 1000")
        if self.budget_tokens is not None and (type(self.budget_tokens) is not int or self.budget_tokens < 1):
            raise InputError(f"budget_tokens: found {self.budget_tokens!r}, expected a whole number above 0")
        for name in ("diversity", "threshold"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name}: found {value!r}, expected 0 to 1")
        _known("kinds", self.kinds, HIT_KINDS)
        _known("lanes", self.lanes, LANES)


def _known(name: str, given: Iterable[str], known: Sequence[str]) -> None:
    wrong = [each for each in given if each not in known]
    if wrong or not given:
        raise InputError(f"{name}: found {wrong[0] if wrong else 'none'!r}, expected some of {', '.join(known)}")


def recall(view: View, query: str, scope: Scope, settings: Settings, *, embedder: EmbedderLike | None = None) -> Recalled:
    """Answer one query from one view."""
    if not isinstance(query, str):
        raise InputError(f"query: found {type(query).__name__}, expected a string")
    return Recall(view, query, scope, settings, embedder).run()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One row that some lane found: where it may stand, and why."""

    index: str
    record: Any
    vector: Any
    lanes: tuple[LaneRank, ...]
    score: float = 0.0

    @property
    def fused(self) -> float:
        return sum(lane.share for lane in self.lanes)


class Recall:
    """One query on its way."""

    def __init__(self, view: View, query: str, scope: Scope, settings: Settings, embedder: EmbedderLike | None) -> None:
        self.view, self.query, self.scope, self.settings = view, query, scope, settings
        self.embedder = embedder
        self.words: Words = words_in(query)
        self.degraded: list[Degraded] = []
        self.timings: dict[str, float] = {}
        self.meant = Meant()

    def run(self) -> Recalled:
        """All of it."""
        began = time.perf_counter()
        asking = self._asking()
        rankings = self._ranked(asking)
        candidates = self._scored(self._candidates(asking, rankings))
        kept = [each for each in candidates if each.score >= self.settings.threshold]
        chosen = self._chosen(kept)
        evidence = self._timed("evidence", lambda: cited(self.view, [each.record for each in chosen], self.scope))
        hits = tuple(_hit(each, evidence[each.record.id]) for each in chosen if evidence[each.record.id])
        pack = self._timed("pack", lambda: packed(self.view, hits, self.settings.budget_tokens or DEFAULT_BUDGET))
        self.timings["total"] = (time.perf_counter() - began) * 1e3
        below = len(candidates) - len(kept)
        return Recalled(self.query, hits, pack, tuple(self.degraded), self.settings.threshold, below, self.timings)

    def _timed(self, name: str, work: Any) -> Any:
        began = time.perf_counter()
        done = work()
        self.timings[name] = (time.perf_counter() - began) * 1e3
        return done

    # -- asking ---------------------------------------------------------------------------------------

    def _asking(self) -> Asking:
        if "vector" in self.settings.lanes and self.words.terms:
            self.meant = self._timed("embed", self._meant)
            if self.meant.degraded:
                self.degraded.append(self.meant.degraded)
        return Asking(
            view=self.view,
            words=self.words,
            scope=self.scope,
            holdings=holdings(self.view),
            indexes=frozenset(self.settings.kinds),
            vector=self.meant.vector,
            depth=max(DEPTH, 2 * self.settings.limit),
        )

    def _meant(self) -> Meant:
        if self.settings.vector is not None:
            return Meant(self.settings.vector)
        return meant(self.query, self.view, self.embedder)

    def _ranked(self, asking: Asking) -> dict[str, Mapping[str, Ranking]]:
        """Each lane's rankings by index; the graph's last, from where the others landed."""
        wide = asking
        if "graph" in self.settings.lanes:
            wide = replace(asking, indexes=asking.indexes | {"entity", "fact"})
        lanes = {"vector": vector_lane, "text": text_lane, "names": names_lane}
        started = {
            name: _pool.submit(self._lane, name, lanes[name], wide) for name in self.settings.lanes if name in lanes
        }
        found = {name: future.result() for name, future in started.items()}
        if "graph" in self.settings.lanes:
            seeds = self._seeds(found)
            found["graph"] = self._lane("graph", lambda each: graph_lane(each, seeds), asking)
        return found

    def _lane(self, name: str, lane: Any, asking: Asking) -> Mapping[str, Ranking]:
        try:
            result: Mapping[str, Ranking] = self._timed(name, lambda: lane(asking))
        except StoreError as error:
            self.degraded.append(Degraded(name, str(error)))
            return {}
        return result

    def _seeds(self, found: Mapping[str, Mapping[str, Ranking]]) -> dict[str, float]:
        """Where the walk starts: what the query names, else the entities and the ends of the facts it is near to."""
        named = {each.id: 1.0 + each.score for each in found.get("names", {}).get("entity", ())}
        if named:
            return named
        seeds: dict[str, float] = defaultdict(float)
        for lane in ("vector", "text"):
            for rank, each in enumerate(found.get(lane, {}).get("entity", ())[:5], 1):
                seeds[each.id] += 1 / rank
            for rank, (one, other) in enumerate(self._ends(found.get(lane, {}).get("fact", ())[:5]), 1):
                seeds[one] += 0.5 / rank
                seeds[other] += 0.5 / rank
        return seeds

    def _ends(self, facts: Sequence[Found]) -> list[tuple[str, str]]:
        rows = rows_of(self.view, "edges", [each.id for each in facts], None)
        records = [rows[each.id][0] for each in facts if each.id in rows]
        return [(edge.source_id, edge.target_id) for edge in records]

    # -- choosing -------------------------------------------------------------------------------------

    def _candidates(self, asking: Asking, rankings: Mapping[str, Mapping[str, Ranking]]) -> list[_Candidate]:
        whole = chunked(self.view, {each.id for lane in rankings.values() for ranking in lane.values() for each in ranking if each.role == "document"})
        found = []
        for index in self.settings.kinds:
            lists = {lane: [(f.id, f.score) for f in by.get(index, ()) if _belongs(f, index, whole)] for lane, by in rankings.items()}
            if index == "document":
                lists = {lane: each[:DOCUMENTS] for lane, each in lists.items()}
            fused = fuse(lists, self.settings.weights)
            rows = self._rows(asking, index, list(fused))
            found += [_Candidate(index, *rows[id_], lanes) for id_, lanes in fused.items() if id_ in rows]
        return found

    def _rows(self, asking: Asking, index: str, ids: list[str]) -> dict[str, Row]:
        return rows_of(self.view, INDEXES_OF[index][0], ids, asking.where(index))

    def _scored(self, candidates: list[_Candidate]) -> list[_Candidate]:
        return [replace(each, score=self._relevance(each)) for each in candidates]

    def _relevance(self, each: _Candidate) -> float:
        near, calibration = None, Calibration()
        if self.meant.vector is not None and each.vector is not None:
            near = cosine(self.meant.vector, each.vector)
            calibration = self._calibration(INDEXES_OF[each.index][0])
        return relevance(self.words, text_of(each.record), near, calibration)

    def _calibration(self, table: str) -> Calibration:
        if not self.meant.strangers:
            return Calibration()
        return calibration_of(self.view, table, self.meant.strangers)

    def _chosen(self, kept: list[_Candidate]) -> list[_Candidate]:
        ordered = sorted(kept, key=lambda each: (-each.fused, -each.score, each.record.id))
        limit = self.settings.limit
        if self.settings.diversity and len(ordered) > 1:
            head = ordered[: 4 * limit]
            order = diverse([e.fused for e in head], [e.vector for e in head], self.settings.diversity, limit)
            return [head[at] for at in order]
        return ordered[:limit]


def _belongs(found: Found, index: str, whole: set[str]) -> bool:
    if found.role != "document":
        return True
    return (found.id in whole) == (index == "document")


def _hit(each: _Candidate, evidence: Any) -> Hit:
    return Hit(each.index, each.record.id, text_of(each.record), each.score, each.fused, evidence, each.lanes, each.record)  # type: ignore[arg-type]
