"""The second half of a request: store its units in order, each whole, in one commit (SPEC A12, promise 10).

The embeddings of all units are asked for at once, one request a unit; their comparisons follow as vectors
come back; the commits go one after the other. So latencies overlap, and what is stored is the same as if
each unit had waited for the one before.
"""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.advice import cause, said
from unabridged.embedding.pooling import pool
from unabridged.errors import Cancelled, RememberFailed, UnabridgedError
from unabridged.memory.remember.facts import Facts, Moved, Stating
from unabridged.memory.values import now
from unabridged.memory.vectors import embed_texts

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence

    from unabridged.memory.records import Artifact, Edge, Entity
    from unabridged.memory.remember.draft import Draft, Found, Stated
    from unabridged.memory.remember.plan import Unit
    from unabridged.memory.remember.run import Run
    from unabridged.memory.settle import Settled
    from unabridged.memory.writing import Transaction

__all__ = ["Outcome", "Storing"]

ATTEMPTS = 4  # times that a unit is compared again because another writer was faster; then it is stored


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a unit; ``entities`` and ``edges`` are the stored records that it mentions and states."""

    unit: Unit
    artifact: Artifact
    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()
    closed: tuple[Edge, ...] = ()
    embedded: Mapping[str, int] = field(default_factory=dict)


class Storing:
    """Stores the units of a request that are not stored yet.

    ``artifacts`` are the records that units hang from, by id: the document, and the units stored before.
    """

    def __init__(self, run: Run, drafts: Mapping[int, Draft], artifacts: dict[str, Artifact]) -> None:
        self.run = run
        self.memory = run.memory
        self.drafts = drafts
        self.artifacts = artifacts
        self.facts = Facts(run)
        self.vectors: dict[str, Any] = {}
        self._asked: set[str] = set()
        self._embeds: list[Future[float] | None] = []
        self._compares: list[Future[None]] = []

    def store(self, units: Sequence[Unit]) -> Iterator[Outcome]:
        """Store units in order; an outcome a unit, as each is stored."""
        if not units:
            return
        self.facts.load(self.drafts[unit.at] for unit in units)
        made = [self.facts.state(unit, self.drafts[unit.at]) for unit in units]
        with self._pools() as (embedding, comparing):
            self._embeds = [self._submit_embedding(embedding, each) for each in made]
            for at, each in enumerate(made):
                self.run.check()
                with self._named(each.unit):
                    self._ahead(made, at, comparing)
                    self._compares[at].result()
                    outcome = self._stored(each)
                self.run.tell("store", at + 1, len(units), each.unit.at if self.run.plan.chunked else None)
                yield outcome

    @contextlib.contextmanager
    def _pools(self) -> Iterator[tuple[ThreadPoolExecutor, ThreadPoolExecutor]]:
        sizes = (getattr(self.memory.embedder, "concurrency", 8), getattr(self.run.asker, "concurrency", 1))
        pools = [ThreadPoolExecutor(max(1, size), thread_name_prefix="unabridged-store") for size in sizes]
        try:
            yield pools[0], pools[1]
        finally:
            for each in pools:
                each.shutdown(wait=True, cancel_futures=True)

    @contextlib.contextmanager
    def _named(self, unit: Unit) -> Iterator[None]:
        """An error names the unit that it happened at, once something of the request is stored."""
        chunks = len(self.run.plan.chunks)
        try:
            yield
        except Cancelled:
            raise
        except Exception as error:
            self.run.check()
            if unit.role == "document" or unit.artifact is not None:
                raise  # nothing of the request is stored, or all of its text was before
            stored = sum(1 for each in self.run.plan.units if each.id in self.artifacts)
            why = said(error) if isinstance(error, UnabridgedError) else cause(error)
            where = f"chunk {unit.at + 1} of {chunks}" if unit.role == "chunk" else f"a {unit.role}"
            told = f"remember: failed at {where} ({why}); "
            kept = f"the document and {stored} of its chunks are" if chunks else "its text is"
            told += f"{kept} stored; the same request with its key goes on there"
            raise RememberFailed(
                told,
                artifact_id=self.run.plan.id,
                chunk=unit.at,
                chunks=chunks,
                stored=stored,
                advice=getattr(error, "advice", None),
            ) from error

    # -- ahead of the commits -----------------------------------------------------------------------

    def _submit_embedding(self, pool_: ThreadPoolExecutor, made: Stating) -> Future[float] | None:
        if self.memory.embedder is None:
            return None
        return pool_.submit(self._embed, self._wanted(made))

    def _wanted(self, made: Stating) -> dict[str, str]:
        """What a unit has to embed, by id: what is not stored, and no unit before it embeds."""
        unit, draft = made.unit, made.draft
        texts: dict[str, str] = {}
        if unit.artifact is None:
            texts[unit.id] = unit.text if unit.chunk is None else unit.chunk.text
        if draft.summary is not None and unit.summary_id is not None:
            texts[unit.summary_id] = draft.summary.text
        texts |= {entity.id: entity.name for entity in draft.entities if entity.id not in self.facts.entities}
        open_ = zip(made.ids, made.claims, made.verdicts, strict=True)
        texts |= {id_: claim.fact for id_, claim, verdict in open_ if verdict is None}
        self.vectors.update({id_: self.run.kept[text] for id_, text in texts.items() if text in self.run.kept})
        fresh = {id_: text for id_, text in texts.items() if id_ not in self._asked and id_ not in self.vectors}
        self._asked.update(fresh)
        return fresh

    def _embed(self, texts: Mapping[str, str]) -> float:
        """One call of the embedder; the seconds it took."""
        since = time.monotonic()
        if texts:
            vectors = embed_texts(self.memory.embedder, list(texts.values()))  # type: ignore[arg-type]
            self.vectors.update(zip(texts, vectors, strict=True))
        return time.monotonic() - since

    def _ahead(self, made: Sequence[Stating], at: int, pool_: ThreadPoolExecutor) -> None:
        """Put the comparisons up to a unit, and those after it whose vectors are there already."""
        while len(self._compares) < len(made):
            next_ = len(self._compares)
            embedding = self._embeds[next_]
            if embedding is not None:
                if next_ > at and not (embedding.done() and embedding.exception() is None):
                    return
                seconds = embedding.result()
                unit = made[next_].unit
                self.run.step("embed", unit.label, unit=unit.at, since=time.monotonic() - seconds)
            self.facts.vectors.update({id_: self.vectors[id_] for id_ in made[next_].ids if id_ in self.vectors})
            self._compares.append(pool_.submit(self.facts.resolve, made[next_]))

    # -- the commit ---------------------------------------------------------------------------------

    def _stored(self, made: Stating) -> Outcome:
        for left in range(ATTEMPTS - 1, -1, -1):
            try:
                return self._commit(made, guarded=left > 0)
            except Moved:
                self.facts.again(made)
                if self.memory.embedder is not None:
                    self._embed(self._wanted(made))
                self.facts.vectors.update({id_: self.vectors[id_] for id_ in made.ids if id_ in self.vectors})
                self.facts.resolve(made)
        raise AssertionError

    def _commit(self, made: Stating, *, guarded: bool) -> Outcome:
        since = time.monotonic()
        tx = self.memory.write()
        artifact = self._artifact(tx, made.unit, made.draft)
        for found in made.draft.entities:
            self._entity(tx, artifact, found)
        edges = [self._edge(tx, artifact, made, at) for at in range(len(made.claims))]
        self._document_vector(tx, made.unit)
        done = tx.commit(embed=False, guard=(lambda view: self.facts.guard(view, made)) if guarded else None)
        outcome = self._outcome(tx, made, artifact, edges, done)
        self.run.step("store_artifact", made.unit.label, unit=made.unit.at, since=since, **outcome.embedded)
        return outcome

    def _artifact(self, tx: Transaction, unit: Unit, draft: Draft) -> Artifact:
        request = self.run.plan.request
        given: dict[str, Any] = {"id": unit.id, "vector": self.vectors.get(unit.id)}
        given["processed_at"] = None if self.run.asker is None else now()  # without a model a graph may come later
        if unit.artifact is not None:
            artifact = unit.artifact
            tx.update(artifact, processed_at=given["processed_at"])
        elif unit.role == "document":
            tx.gathered.created_at = self.run.plan.created_at
            artifact = tx.artifact(unit.text, kind=request.kind, **given, **request.artifact)
        elif unit.chunk is not None:
            parent = self.artifacts[self.run.plan.id]
            artifact = tx.chunk(parent, unit.chunk, splitter=request.cutter.name, **given)
        elif unit.role == "web_search":
            artifact = tx.web_search(
                self.artifacts[unit.parent_id], unit.text, query=unit.query or "", provenance=unit.provenance, **given
            )
        else:
            parent = self.artifacts[unit.parent_id]
            artifact = tx.observation(parent, unit.text, query=unit.query or "", series_id=unit.series or "", **given)
        if draft.summary is not None and unit.summary_id is not None:
            inference = None if self.run.account.lost else draft.summary.inference_id
            vector = self.vectors.get(unit.summary_id)
            tx.summary(artifact, draft.summary.text, id=unit.summary_id, inference_id=inference, vector=vector)
        return artifact

    def _entity(self, tx: Transaction, artifact: Artifact, found: Found) -> None:
        tx.entity(
            found.name,
            found.type,
            artifact=artifact,
            aliases=found.aliases,
            description=found.description,
            quote=_place(found),
            vector=self.vectors.get(found.id),
        )

    def _edge(self, tx: Transaction, artifact: Artifact, made: Stating, at: int) -> Edge:
        """State a claim as what it was found to be; the edge as gathered, or the known one that it restates."""
        claim, verdict = made.claims[at], made.verdicts[at]
        stated = made.draft.edges[made.said.index(at)]
        assert verdict is not None  # noqa: S101 - settled by now
        if verdict.kind == "duplicate":
            known = self.facts.find(verdict.known[0])
            tx.restate(known, artifact, quote=_place(stated))
            if self._ends(known, claim.ends):
                tx.close(known, artifact, at=claim.ends)
            return known
        edge = tx.edge(
            claim.source_id,
            claim.relation,
            claim.target_id,
            artifact=artifact,
            fact=claim.fact,
            valid_at=claim.valid_at,
            invalid_at=claim.ends,
            quote=_place(stated),
            vector=self.vectors.get(made.ids[at]),
        )
        for known_id in verdict.known if self.facts.closes(verdict) else ():
            tx.contradict(self.facts.stored(known_id), edge)
        return edge

    def _ends(self, known: Edge, at: dt.datetime | None) -> bool:
        """Whether a text that states a known fact again says of an open one when it ended."""
        if at is None or known.invalid_at is not None or not self.run.plan.request.supersedes:
            return False
        return known.valid_at is None or known.valid_at <= at

    def _document_vector(self, tx: Transaction, unit: Unit) -> None:
        """With its last chunk a document gets the vector of all of them, by the tokens that each alone brings."""
        plan = self.run.plan
        if self.memory.embedder is None or unit.chunk is None or unit.at != len(plan.chunks) - 1:
            return
        wanted = {each.id: (each.summary_id if plan.request.average == "summaries" else None) for each in plan.units}
        ids = [id_ for pair in wanted.items() for id_ in pair if id_ and id_ not in self.vectors]
        kept = {**self.memory.artifacts.vectors(ids), **self.vectors}
        found = (kept.get(summary or "", kept.get(id_)) for id_, summary in wanted.items())
        rows = [row for row in found if row is not None]
        if len(rows) == len(plan.chunks):
            weights = [max(chunk.tokens - chunk.overlap_tokens, 1) for chunk in plan.chunks]
            tx.give_vector(plan.id, pool(np.stack(rows), weights))

    def _outcome(
        self, tx: Transaction, made: Stating, artifact: Artifact, edges: Sequence[Edge], done: Settled
    ) -> Outcome:
        stored = [done.edges.get(edge.id) or edge for edge in edges]
        for id_, edge in zip(made.ids, stored, strict=True):
            if id_ != edge.id:
                self.facts.became[id_] = edge.id
            self.facts.seen.add(edge.id)
        self.facts.committed(done)
        record = next((each for each in done.artifacts if each.id == artifact.id), artifact)
        self.artifacts[record.id] = record
        vectors = tx.gathered.vectors
        embedded = {
            "embedded_entities": sum(id_ in vectors for id_ in done.new_entities),
            "embedded_edges": sum(id_ in vectors for id_ in done.new_edges),
            "embedded_chunks": int(made.unit.chunk is not None and artifact.id in vectors),
            "embedded_summaries": int(made.unit.summary_id in vectors),
        }
        return Outcome(
            made.unit, record, tuple(done.entities.values()), tuple(stored), tuple(done.closed.values()), embedded
        )


def _place(found: Found | Stated) -> tuple[int, int] | None:
    return None if found.start is None or found.end is None else (found.start, found.end)
