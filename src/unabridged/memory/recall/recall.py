"""The read path: lanes asked side by side, fused, held against a threshold, grounded and packed (SPEC R1-R4)."""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from unabridged.advice import cause, said
from unabridged.errors import ConfigError, MissingExtra, StoreError, UnabridgedError
from unabridged.memory.recall.choose import place, unopposed
from unabridged.memory.recall.data import Citation, Degraded, Hit, Recalled
from unabridged.memory.recall.densest import densest
from unabridged.memory.recall.fuse import diverse
from unabridged.memory.recall.hits import Begun, Grounds, cited, grounds_of, text_of
from unabridged.memory.recall.lanes import INDEXES_OF, Asking, Found, Ranking, holdings
from unabridged.memory.recall.lanes_graph import graph_lane
from unabridged.memory.recall.lanes_names import names_lane
from unabridged.memory.recall.lanes_text import text_lane
from unabridged.memory.recall.lanes_vector import vector_lane
from unabridged.memory.recall.pack import packed
from unabridged.memory.recall.query import Meant, asked, calibration_of, meant
from unabridged.memory.recall.rank import NEAR, Candidate, ranked, reread
from unabridged.memory.recall.rows import Brief, Rows, chunked
from unabridged.memory.recall.score import Calibration, blended, cosines, relevance
from unabridged.memory.recall.wholes import by_passages, said_in, told
from unabridged.memory.recall.words import coverage, words_in
from unabridged.memory.trouble import Gone
from unabridged.providers.rerank import as_reranker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from unabridged.memory.commits import View
    from unabridged.memory.recall.scope import Scope
    from unabridged.memory.recall.settings import Settings
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["Recall", "recall"]

T = TypeVar("T")
By = dict[str, "Mapping[str, Ranking]"]  # lane -> index -> what it found there

DEPTH = 32  # rows that each index of a lane brings, at least
FEW = 16  # the same of facts and entities, which are short and much alike
MIXED = (24, 10)  # both where many kinds are asked for, which share the hits: a rank beyond comes to none of them
WIDE = 4  # times as many passages where they only tell of documents: each has several
INTO = 3  # documents that a second pass goes into
SHORT = 200  # characters of a query of which one chunk can say all: a longer one is looked for in whole documents
SAME = 0.3  # share of a statement's words, two that turn it apart, from which a text may be about the same
HEAD = 4  # times the limit: how far down a reranker and diversity look

_pool = ThreadPoolExecutor(4, thread_name_prefix="unabridged-lane")


def recall(
    view: View, query: str, scope: Scope, settings: Settings, *, embedder: EmbedderLike | None = None
) -> Recalled:
    """Answer one query from one view."""
    return Recall(view, asked(query), scope, settings, embedder).run()


class Recall:
    """One query on its way."""

    def __init__(self, view: View, query: str, scope: Scope, settings: Settings, embedder: EmbedderLike | None) -> None:
        self.view, self.query, self.scope, self.settings = view, query, scope, settings
        self.embedder = embedder
        self.words = words_in(query)
        self.degraded: list[Degraded] = []
        self.timings: dict[str, float] = {}
        self.meant = Meant()
        self.least = SAME * max(0.0, 1 - 2 / max(1, len(self.words.terms)))
        self.named = False
        self.below = 0

    def run(self) -> Recalled:
        """All of it."""
        return self._timed("total", self._run)

    def _run(self) -> Recalled:
        if not self.words.terms:
            return self._recalled(())
        asking = self._asking()
        found = self._asked(asking)
        order = self._timed("rows", lambda: self._order(asking, found))
        if self.settings.passes > 1 and (documents := by_passages(order)):
            order = self._timed("second pass", lambda: self._again(asking, found, documents))
        order = [each for each in order if each.index in self.settings.kinds]
        kept = [each for each in order if each.score >= self.settings.threshold]
        self.below = len(order) - len(kept)
        likely = [] if self._widely else kept[: self.settings.limit]
        begun = self._begun(likely)  # read while it is looked at whether they say the opposite
        chosen = self._timed("chosen", lambda: self._chosen(kept, begun))
        if {each.record.id for each in chosen} != {each.record.id for each in likely}:
            begun = self._begun(chosen)
        chosen = self._timed("whole", lambda: begun.whole(chosen))
        records = [each.record for each in chosen]
        evidence = self._timed("evidence", lambda: cited(self.view, records, self.scope, begun.grounds.result()))
        hits = [_hit(each, evidence[each.record.id]) for each in chosen if evidence[each.record.id]]
        return self._recalled(tuple(hits))

    def _begun(self, candidates: Sequence[Candidate]) -> Begun:
        """What hits need beside what ranked them, being read: their whole records, and what grounds them."""
        tables: dict[str, list[Brief]] = defaultdict(list)
        for each in candidates:
            tables[each.record.table].append(each.record)
        grounds = _pool.submit(self._grounds, [each.record for each in candidates])
        return Begun(grounds, {table: _pool.submit(self.rows.whole, briefs) for table, briefs in tables.items()})

    def _grounds(self, chosen: Sequence[Brief]) -> Grounds:
        graph = [each.id for each in chosen if each.table != "artifacts"]
        artifacts = [each.id for each in chosen if each.table == "artifacts"]
        places = self.rows.places("artifacts")
        return grounds_of(self.view, self.scope, graph=graph, artifacts=artifacts, places=places)

    def _recalled(self, hits: tuple[Hit, ...]) -> Recalled:
        pack = self._timed("pack", lambda: packed(hits, self.words, self.settings.budget_tokens))
        return Recalled(self.query, hits, pack, tuple(self.degraded), self.settings.threshold, self.below, self.timings)

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
        depth, few = self._depths()
        holdings(self.view).asked()
        self.rows = Rows(self.view, self.settings, vectors=self.meant.vector is not None or self.settings.diversity > 0)
        return Asking(
            view=self.view,
            words=self.words,
            scope=self.scope,
            holdings=holdings(self.view),
            indexes=frozenset(self.settings.kinds) | ({"passage"} if "document" in self.settings.kinds else set()),
            vector=self.meant.vector,
            depth=depth,
            few=few,
        )

    def _depths(self) -> tuple[int, int]:
        """How many rows each index of a lane brings: of artifacts, and of facts and entities."""
        limit, kinds = self.settings.limit, set(self.settings.kinds)
        if len(kinds) > 2:
            return max(MIXED[0], 2 * limit), max(MIXED[1], limit)
        return max(DEPTH, 2 * limit) * (WIDE if kinds == {"document"} else 1), max(FEW, 2 * limit)

    def _meant(self) -> Meant:
        return meant(self.query, self.view, self.embedder, given=self.settings.vector)

    def _asked(self, asking: Asking) -> By:
        """What each lane found; the graph's last, from where the others landed."""
        walking = "graph" in self.settings.lanes and bool(asking.holdings.edges)
        begun = self._searching(asking)
        found: By = {}
        if "names" in self.settings.lanes:
            wide = replace(asking, indexes=asking.indexes | {"entity"}) if walking else asking
            found["names"] = self._lane("names", names_lane, wide)
        seeds = {each.id or "": 1.0 + each.score for each in found.get("names", {}).get("entity", ())}
        self.named = walking and bool(seeds)
        if self.named:  # the walk need not wait for the others
            found["graph"] = self._lane("graph", lambda each: graph_lane(each, seeds), asking)
        elif walking:  # it starts from what is nearest, be it asked for or not
            begun += self._searching(replace(asking, indexes=frozenset({"entity", "fact"}) - asking.indexes))
        for name, future in begun:
            found[name] = {**found.get(name, {}), **future.result()}
        if walking and not self.named:
            found["graph"] = self._lane("graph", lambda each: graph_lane(each, self._seeds(found)), asking)
        return found

    def _searching(self, asking: Asking) -> list[tuple[str, Future[Mapping[str, Ranking]]]]:
        lanes = {"vector": vector_lane, "text": text_lane} if asking.indexes else {}
        return [(n, _pool.submit(self._lane, n, lanes[n], asking)) for n in self.settings.lanes if n in lanes]

    def _lane(
        self, name: str, lane: Callable[[Asking], Mapping[str, Ranking]], asking: Asking
    ) -> Mapping[str, Ranking]:
        try:
            return self._timed(name, lambda: lane(asking))
        except Gone:  # the whole question is asked again, of the newest state
            raise
        except StoreError as error:
            self.degraded.append(Degraded(name, said(error), error.advice))
            return {}

    def _seeds(self, found: By) -> dict[str, float]:
        """Where the walk starts if the query names nothing: at the entities and facts that it is nearest to."""
        seeds: dict[str, float] = defaultdict(float)
        for lane in ("vector", "text"):
            for rank, id_ in enumerate(self._ids("entities", found.get(lane, {}).get("entity", ())[:5]), 1):
                seeds[id_] += 1 / rank
            for rank, ends in enumerate(self._ends(found.get(lane, {}).get("fact", ())[:5]), 1):
                for end in ends:
                    seeds[end] += 0.5 / rank
        return seeds

    def _ids(self, table: str, found: Sequence[Found]) -> list[str]:
        known = self.rows.at(table, _placed(found))
        return [known[each.row].id for each in found if each.row in known]

    def _ends(self, facts: Sequence[Found]) -> list[tuple[str, str]]:
        if not facts:
            return []
        rows = self.view["edges"].at(_placed(facts), ["source_id", "target_id"]).to_pydict()
        return list(zip(rows["source_id"], rows["target_id"], strict=True))

    # -- choosing -------------------------------------------------------------------------------------

    def _order(self, asking: Asking, found: By, inside: Mapping[str, float] | None = None) -> list[Candidate]:
        """All candidates, best first; whole documents last of the indexes, for their chunks tell of them."""
        whole = self._read(asking, found)

        def of(index: str) -> list[Candidate]:
            candidates = self._candidates(index, self._scores(asking, found, index, whole))
            if inside and index == "passage":
                candidates = [_within(each, inside) for each in candidates]
            return ranked(self._scored(candidates), self.settings, at=self.scope.at)

        done = of("passage") if "passage" in asking.indexes else []
        work = None
        if "document" in asking.indexes:  # read while the others are ranked
            work = _pool.submit(self._documents, asking, found, whole, list(done))
        for index in sorted(asking.indexes - {"passage", "document"}):
            done += of(index)
        if work is not None:
            done += ranked(self._scored(work.result()), self.settings, at=self.scope.at)
        return sorted(done, key=place)

    def _read(self, asking: Asking, found: By) -> set[str]:
        """Meet what the lanes found, each table's rows at once; and tell which documents are whole artifacts."""
        rankings = [by[index] for by in found.values() for index in asking.indexes & by.keys()]
        every = [each for ranking in rankings for each in ranking]
        split = bool(asking.holdings.roles["chunk"])
        documents = [each for each in every if split and each.role == "document"]
        work = [_pool.submit(self._meet, asking, table, found, every) for table in ("edges", "entities")]
        whole = _pool.submit(self._wholes, documents)
        others = {each.key for each in documents}
        self._meet(asking, "artifacts", found, [each for each in every if each.key not in others])
        for each in work:
            each.result()
        return whole.result()

    def _meet(self, asking: Asking, table: str, found: By, every: Sequence[Found]) -> None:
        placed = _placed(each for each in every if each.table == table)
        ids: dict[str, list[str]] = {}
        for index in sorted(asking.indexes):
            if INDEXES_OF[index][0] == table:
                ids[index] = [each.id for by in found.values() for each in by.get(index, ()) if each.id is not None]
                placed += self.rows.known(table, ids[index], asking.where(index)) if ids[index] else []
        self.rows.at(table, placed)
        for index, each in ids.items():
            self.rows.of(table, each, asking.where(index) if each else None)

    def _wholes(self, documents: Sequence[Found]) -> set[str]:
        if not documents:
            return set()
        known = self.rows.at("artifacts", _placed(documents), texts=False)
        briefs = {each.key: known[each.row] for each in documents if each.row in known}
        whole = chunked(self.view, {each.id for each in briefs.values()})
        self.rows.read([each for each in briefs.values() if each.id not in whole])
        return whole

    def _scores(self, asking: Asking, found: By, index: str, whole: set[str]) -> dict[str, dict[str, float]]:
        """For each row of an index, by id, the scores of the lanes that found it."""
        scores: dict[str, dict[str, float]] = {}
        for lane, by in found.items():
            met = [(self.rows.find(each.table, each.key), each) for each in by.get(index, ())]
            known = [(brief, each) for brief, each in met if brief is not None]
            fitting = [(brief, each) for brief, each in known if each.fits(index, whole=brief.id in whole)]
            for brief, each in fitting[: asking.documents if index == "document" else None]:
                scores.setdefault(brief.id, {})[lane] = each.score
        return scores

    def _candidates(self, index: str, scores: Mapping[str, Mapping[str, float]]) -> list[Candidate]:
        table = INDEXES_OF[index][0]
        met = ((self.rows.find(table, id_), lanes) for id_, lanes in scores.items())
        briefs = [(brief, lanes) for brief, lanes in met if brief is not None]
        unread = self.rows.read([b for b, _ in briefs if b.text is None]) if index != "document" else {}
        return [Candidate(index, unread.get(b.id, b), b.vector, lanes) for b, lanes in briefs]

    def _documents(self, asking: Asking, found: By, whole: set[str], passages: Sequence[Candidate]) -> list[Candidate]:
        """Whole artifacts: found by themselves, or by their chunks, which tell what they say of the query."""
        scores = self._scores(asking, found, "document", whole)
        for id_, near in by_passages(passages, asking.documents).items():
            scores.setdefault(id_, {})["chunks"] = near
        if places := self.rows.known("artifacts", scores, asking.within):
            self.rows.at("artifacts", places, texts=False)
        self.rows.of("artifacts", scores, asking.where("document"), texts=False)
        said = said_in(passages)
        candidates = [told(each, said) for each in self._candidates("document", scores)]
        brief = len(self.query) <= SHORT
        silent = self.rows.read([each.record for each in candidates if not (brief and each.said)])
        return [replace(each, record=silent.get(each.record.id, each.record)) for each in candidates]

    def _again(self, asking: Asking, found: By, documents: Mapping[str, float]) -> list[Candidate]:
        """The second pass: into the documents that the first one found, for the rest of what they say (SPEC R7)."""
        best = dict(list(documents.items())[:INTO])
        scope = replace(self.scope, documents=tuple(best))
        within = replace(asking, scope=scope, indexes=frozenset({"passage"}))
        for name, lane in (("vector", vector_lane), ("text", text_lane)):
            if name in self.settings.lanes:
                more = self._lane(name, lane, within).get("passage", ())
                known = {each.key for each in found.get(name, {}).get("passage", ())}
                first = found.get(name, {})
                joined = [*first.get("passage", ()), *(each for each in more if each.key not in known)]
                found[name] = {**first, "passage": sorted(joined, key=lambda each: -each.score)}
        return self._order(asking, found, best)

    def _scored(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        own = cosines(self.meant.vector, [each.vector for each in candidates])
        near = [blended(cosine, each.near) for cosine, each in zip(own, candidates, strict=True)]
        most = max((each.found.get("graph", 0.0) for each in candidates), default=0.0)
        return [self._score(each, cosine, most) for each, cosine in zip(candidates, near, strict=True)]

    def _score(self, each: Candidate, near: float | None, most: float) -> Candidate:
        text = None if each.record.text is None else densest(self.words, each.record.text)
        said = each.said if text is None else coverage(self.words, text)
        calibration = Calibration() if near is None else self._calibration(INDEXES_OF[each.index][0])
        score = 1.0 if each.verbatim else relevance(self.words, text or "", said, near, calibration)
        verbatim = score >= 1.0
        doubted = said > self.least and score >= self.settings.threshold
        if "names" in each.found:
            score = max(score, 0.5 + 0.5 * each.found["names"])
        if self.named and "graph" in each.found:
            score = min(1.0, score + NEAR * each.found["graph"] / most)
        score = min(1.0, score + NEAR * each.found.get("document", 0.0))
        return replace(each, near=near, said=said, score=score, verbatim=verbatim, doubted=doubted)

    def _calibration(self, table: str) -> Calibration:
        return calibration_of(self.view, table, self.meant.strangers) if self.meant.strangers else Calibration()

    @property
    def _widely(self) -> bool:
        """Whether hits are chosen among more than are asked for."""
        return self.settings.rerank is not None or self.settings.diversity > 0

    def _chosen(self, order: Sequence[Candidate], begun: Begun) -> list[Candidate]:
        limit, threshold = self.settings.limit, self.settings.threshold
        text = partial(self._text, begun=begun)
        head, below = unopposed(order, HEAD * limit if self._widely else limit, self.words, threshold, text)
        self.below += below
        if self.settings.rerank is not None and head:
            texts = [text(each) for each in head]
            head = self._timed("rerank", lambda: self._reread(head, texts))
        best = diverse([e.worth for e in head], [e.vector for e in head], self.settings.diversity, limit)
        return [head[at] for at in best]

    def _text(self, each: Candidate, begun: Begun) -> str:
        text = each.record.text
        if text is None and (whole := begun.record(each)) is not None:
            text = whole.text
        if text is None:
            text = self.rows.read([each.record])[each.record.id].text
        return text or ""

    def _reread(self, head: list[Candidate], texts: list[str]) -> list[Candidate]:
        """The head in a cross-encoder's order; as it was, and said so, where that fails."""
        reranker = as_reranker(self.settings.rerank)
        try:
            scores = reranker.rerank(self.query, texts)
        except (ConfigError, MissingExtra) as error:  # nobody was asked yet: a key or a package is missing
            self.degraded.append(Degraded("rerank", said(error), error.advice))
            return head
        except (UnabridgedError, OSError) as error:
            self.degraded.append(Degraded("rerank", f"the cross-encoder failed: {cause(error)}"))
            return head
        return reread(head, scores)


def _placed(found: Iterable[Found]) -> list[int]:
    return [each.row for each in found if each.row is not None]


def _within(each: Candidate, documents: Mapping[str, float]) -> Candidate:
    share = documents.get(each.record.document_id or "")
    return each if share is None else replace(each, found={**each.found, "document": share})


def _hit(each: Candidate, evidence: tuple[Citation, ...]) -> Hit:
    kind: Any = each.index
    lanes = each.lanes
    return Hit(kind, each.record.id, text_of(each.record), each.score, each.fused, evidence, lanes, each.record)
