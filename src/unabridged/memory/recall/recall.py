"""The read path: lanes asked side by side, fused, held against a threshold, grounded and packed (SPEC R1-R4)."""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from unabridged.errors import InputError, StoreError, UnabridgedError
from unabridged.memory.recall.data import Citation, Degraded, Hit, Recalled
from unabridged.memory.recall.fuse import diverse
from unabridged.memory.recall.hits import Brief, chunked, cited, rows_of, text_of, whole_of
from unabridged.memory.recall.lanes import DOCUMENTS, INDEXES_OF, Asking, Found, Ranking, holdings
from unabridged.memory.recall.lanes_graph import graph_lane
from unabridged.memory.recall.lanes_names import names_lane
from unabridged.memory.recall.lanes_text import text_lane
from unabridged.memory.recall.lanes_vector import vector_lane
from unabridged.memory.recall.pack import packed
from unabridged.memory.recall.polarity import OPPOSED, opposed
from unabridged.memory.recall.query import Meant, calibration_of, meant
from unabridged.memory.recall.rank import NEAR, Candidate, ranked, reread
from unabridged.memory.recall.score import Calibration, cosines, relevance
from unabridged.memory.recall.words import coverage, words_in
from unabridged.memory.trouble import Gone
from unabridged.providers.rerank import as_reranker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unabridged.memory.commits import View
    from unabridged.memory.recall.scope import Scope
    from unabridged.memory.recall.settings import Settings
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["Recall", "recall"]

T = TypeVar("T")
By = dict[str, "Mapping[str, Ranking]"]  # lane -> index -> what it found there

DEPTH = 32  # rows that each index of a lane brings, at least
INTO = 3  # documents that a second pass goes into
LONG = 20_000  # characters of a document whose chunks tell what it says of the query; a shorter one is read
HEAD = 4  # times the limit: how far down a reranker and diversity look

_pool = ThreadPoolExecutor(4, thread_name_prefix="unabridged-lane")


def recall(
    view: View, query: str, scope: Scope, settings: Settings, *, embedder: EmbedderLike | None = None
) -> Recalled:
    """Answer one query from one view."""
    if not isinstance(query, str):
        raise InputError(f"query: found {type(query).__name__}, expected a string")
    return Recall(view, query, scope, settings, embedder).run()


class Recall:
    """One query on its way."""

    def __init__(self, view: View, query: str, scope: Scope, settings: Settings, embedder: EmbedderLike | None) -> None:
        self.view, self.query, self.scope, self.settings = view, query, scope, settings
        self.embedder = embedder
        self.words = words_in(query)
        self.degraded: list[Degraded] = []
        self.timings: dict[str, float] = {}
        self.meant = Meant()
        self.named = False

    def run(self) -> Recalled:
        """All of it."""
        return self._timed("total", self._run)

    def _run(self) -> Recalled:
        if not self.words.terms:
            return self._recalled((), 0)
        asking = self._asking()
        found = self._asked(asking)
        order = self._timed("rows", lambda: self._order(asking, found))
        if self.settings.passes > 1 and (documents := _documents(order)):
            order = self._timed("second pass", lambda: self._again(asking, found, documents))
        order = [each for each in order if each.index in self.settings.kinds]
        kept = [each for each in order if each.score >= self.settings.threshold]
        chosen = self._timed("whole", lambda: self._whole(self._chosen(kept)))
        evidence = self._timed("evidence", lambda: cited(self.view, [each.record for each in chosen], self.scope))
        hits = [_hit(each, evidence[each.record.id]) for each in chosen if evidence[each.record.id]]
        return self._recalled(tuple(hits), len(order) - len(kept))

    def _recalled(self, hits: tuple[Hit, ...], below: int) -> Recalled:
        pack = self._timed("pack", lambda: packed(hits, self.words, self.settings.budget_tokens))
        threshold = self.settings.threshold
        return Recalled(self.query, hits, pack, tuple(self.degraded), threshold, below, self.timings)

    def _timed(self, name: str, work: Callable[[], T]) -> T:
        began = time.perf_counter()
        done = work()
        self.timings[name] = (time.perf_counter() - began) * 1e3
        return done

    # -- asking ---------------------------------------------------------------------------------------

    def _asking(self) -> Asking:
        if "vector" in self.settings.lanes:
            self.meant = self._timed("embed", self._meant)
        if self.meant.degraded:
            self.degraded.append(self.meant.degraded)
        return Asking(
            view=self.view,
            words=self.words,
            scope=self.scope,
            holdings=holdings(self.view),
            indexes=frozenset(self.settings.kinds) | ({"passage"} if "document" in self.settings.kinds else set()),
            vector=self.meant.vector,
            depth=max(DEPTH, 2 * self.settings.limit),
        )

    def _meant(self) -> Meant:
        return meant(self.query, self.view, self.embedder, given=self.settings.vector)

    def _asked(self, asking: Asking) -> By:
        """What each lane found; the graph's last, from where the others landed."""
        walking = "graph" in self.settings.lanes and bool(asking.holdings.edges)
        wide = replace(asking, indexes=asking.indexes | {"entity", "fact"}) if walking else asking
        lanes = {"vector": vector_lane, "text": text_lane, "names": names_lane}
        begun = {n: _pool.submit(self._lane, n, lanes[n], wide) for n in self.settings.lanes if n in lanes}
        found: By = {name: future.result() for name, future in begun.items()}
        if walking:
            seeds = self._seeds(found)
            found["graph"] = self._lane("graph", lambda each: graph_lane(each, seeds), asking)
        return found

    def _lane(
        self, name: str, lane: Callable[[Asking], Mapping[str, Ranking]], asking: Asking
    ) -> Mapping[str, Ranking]:
        try:
            return self._timed(name, lambda: lane(asking))
        except Gone:  # the whole question is asked again, of the newest state
            raise
        except StoreError as error:
            self.degraded.append(Degraded(name, str(error)))
            return {}

    def _seeds(self, found: By) -> dict[str, float]:
        """Where the walk starts: at what the query names, else at the entities and facts that it is nearest to."""
        if named := {each.id: 1.0 + each.score for each in found.get("names", {}).get("entity", ())}:
            self.named = True
            return named
        seeds: dict[str, float] = defaultdict(float)
        for lane in ("vector", "text"):
            for rank, each in enumerate(found.get(lane, {}).get("entity", ())[:5], 1):
                seeds[each.id] += 1 / rank
            for rank, ends in enumerate(self._ends(found.get(lane, {}).get("fact", ())[:5]), 1):
                for end in ends:
                    seeds[end] += 0.5 / rank
        return seeds

    def _ends(self, facts: Sequence[Found]) -> list[tuple[str, str]]:
        rows = rows_of(self.view, "edges", {each.id: each.row for each in facts}, None)
        return [(rows[f.id][0].source_id, rows[f.id][0].target_id) for f in facts if f.id in rows]

    # -- choosing -------------------------------------------------------------------------------------

    def _order(self, asking: Asking, found: By, inside: Mapping[str, float] | None = None) -> list[Candidate]:
        """All candidates, best first; whole documents last of the indexes, for their chunks tell of them."""
        every = [each for by in found.values() for ranking in by.values() for each in ranking]
        whole = chunked(self.view, {each.id for each in every if each.role == "document"})
        done: list[Candidate] = []
        for index in sorted(asking.indexes, key=lambda each: each == "document"):
            scores, places = _scores(found, index, whole)
            if index == "document":
                for id_, near in _documents(done).items():
                    scores.setdefault(id_, {})["chunks"] = near
                    places.setdefault(id_, None)
            rows = rows_of(self.view, INDEXES_OF[index][0], places, asking.where(index))
            said = _said(done) if index == "document" else {}
            candidates = [
                Candidate(index, *rows[id_], found=scores[id_], said=said.get(id_, 0.0))
                for id_ in scores
                if id_ in rows
            ]
            if inside and index == "passage":
                candidates = [_within(each, inside) for each in candidates]
            done += ranked(self._scored(candidates), self.settings, at=self.scope.at)
        return sorted(done, key=lambda each: (-each.worth, -each.fused, each.record.id))

    def _again(self, asking: Asking, found: By, documents: Mapping[str, float]) -> list[Candidate]:
        """The second pass: into the documents that the first one found, for the rest of what they say (SPEC R7)."""
        best = dict(list(documents.items())[:INTO])
        scope = replace(self.scope, documents=tuple(best))
        within = replace(asking, scope=scope, indexes=frozenset({"passage"}))
        for name, lane in (("vector", vector_lane), ("text", text_lane)):
            if name in self.settings.lanes:
                more = self._lane(name, lane, within).get("passage", ())
                known = {each.id for each in found.get(name, {}).get("passage", ())}
                first = found.get(name, {})
                joined = [*first.get("passage", ()), *(each for each in more if each.id not in known)]
                found[name] = {**first, "passage": sorted(joined, key=lambda each: -each.score)}
        return self._order(asking, found, best)

    def _scored(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        near = cosines(self.meant.vector, [each.vector for each in candidates])
        most = max((each.found.get("graph", 0.0) for each in candidates), default=0.0)
        return [self._score(each, cosine, most) for each, cosine in zip(candidates, near, strict=True)]

    def _score(self, each: Candidate, near: float | None, most: float) -> Candidate:
        text = text_of(each.record)
        told = each.said > 0 and len(text) > LONG
        said = each.said if told else coverage(self.words, text)
        calibration = Calibration() if near is None else self._calibration(INDEXES_OF[each.index][0])
        score = relevance(self.words, text, said, near, calibration)
        if said and score >= self.settings.threshold and opposed(self.words, text):
            return replace(each, near=near, said=said, score=min(score, OPPOSED))
        if "names" in each.found:
            score = max(score, 0.5 + 0.5 * each.found["names"])
        if self.named and "graph" in each.found:
            score = min(1.0, score + NEAR * each.found["graph"] / most)
        score = min(1.0, score + NEAR * each.found.get("document", 0.0))
        return replace(each, near=near, said=said, score=score)

    def _calibration(self, table: str) -> Calibration:
        return calibration_of(self.view, table, self.meant.strangers) if self.meant.strangers else Calibration()

    def _chosen(self, kept: list[Candidate]) -> list[Candidate]:
        limit = self.settings.limit
        head = kept[: HEAD * limit]
        if self.settings.rerank is not None and head:
            head = self._timed("rerank", lambda: self._reread(head))
        order = diverse([e.worth for e in head], [e.vector for e in head], self.settings.diversity, limit)
        return [head[at] for at in order]

    def _reread(self, head: list[Candidate]) -> list[Candidate]:
        """The head in a cross-encoder's order; as it was, and said so, where that fails."""
        reranker = as_reranker(self.settings.rerank)
        try:
            scores = reranker.rerank(self.query, [text_of(each.record) for each in head])
        except (UnabridgedError, OSError) as error:
            self.degraded.append(Degraded("rerank", f"the cross-encoder failed: {type(error).__name__}"))
            return head
        return reread(head, scores)

    def _whole(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """With the whole records of artifacts, of which only what ranks them was read."""
        artifacts = whole_of(self.view, [each.record for each in chosen if isinstance(each.record, Brief)])
        return [replace(each, record=artifacts.get(each.record.id, each.record)) for each in chosen]


def _scores(found: By, index: str, whole: set[str]) -> tuple[dict[str, dict[str, float]], dict[str, int | None]]:
    """For each row of an index, the scores of the lanes that found it; and where the store keeps it."""
    scores: dict[str, dict[str, float]] = {}
    places: dict[str, int | None] = {}
    for lane, by in found.items():
        fitting = [each for each in by.get(index, ()) if _belongs(each, index, whole)]
        for each in fitting[: DOCUMENTS if index == "document" else None]:
            scores.setdefault(each.id, {})[lane] = each.score
            places[each.id] = places.get(each.id) if each.row is None else each.row
    return scores, places


def _documents(order: Sequence[Candidate]) -> dict[str, float]:
    """Documents by the best of their passages: maximum similarity beside the pooled vector (SPEC L16)."""
    best: dict[str, float] = {}
    for each in order:
        document = getattr(each.record, "document_id", None)
        if each.index == "passage" and document is not None:
            best.setdefault(document, each.worth)
    return dict(sorted(best.items(), key=lambda pair: -pair[1])[:DOCUMENTS])


def _said(order: Sequence[Candidate]) -> dict[str, float]:
    """How much of the query's words each document says in one of its chunks."""
    best: dict[str, float] = {}
    for each in order:
        document = getattr(each.record, "document_id", None)
        if each.index == "passage" and document is not None:
            best[document] = max(each.said, best.get(document, 0.0))
    return best


def _within(each: Candidate, documents: Mapping[str, float]) -> Candidate:
    share = documents.get(each.record.document_id or "")
    return each if share is None else replace(each, found={**each.found, "document": share})


def _belongs(found: Found, index: str, whole: set[str]) -> bool:
    return found.role != "document" or (found.id in whole) == (index == "document")


def _hit(each: Candidate, evidence: tuple[Citation, ...]) -> Hit:
    kind: Any = each.index
    lanes = each.lanes
    return Hit(kind, each.record.id, text_of(each.record), each.score, each.fused, evidence, lanes, each.record)
