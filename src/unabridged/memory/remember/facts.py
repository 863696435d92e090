"""The facts around a request: those that are stored, those that its earlier units state, and what each new one is.

Every comparison is asked for as soon as it can be put, many at the same time: against what was stored when
the request began and what the units before state, whatever becomes of that. At the commit of a unit,
under the writer's lock, a look at the head says whether that is still all; if another writer was faster,
the unit is compared again (SPEC A12).
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.advice import counted
from unabridged.errors import StoreError
from unabridged.memory.records import Edge, Entity
from unabridged.memory.remember.resolution import (
    NEW,
    SCHEMA,
    Claim,
    Untrusted,
    Verdict,
    candidates,
    compare,
    restatement,
)
from unabridged.memory.schema import columns_of, from_table
from unabridged.memory.settle import fetch
from unabridged.memory.values import edge_key
from unabridged.memory.vectors import vectors_in
from unabridged.memory.where import among, batched, either

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from unabridged.memory.commits import View
    from unabridged.memory.remember.draft import Draft
    from unabridged.memory.remember.plan import Unit
    from unabridged.memory.remember.run import Run
    from unabridged.memory.settle import Settled

__all__ = ["Facts", "Moved", "Stating"]

NEWEST = 200  # facts of one entity that are read: far more than are compared, and no hub's hundred thousand


class Moved(StoreError):
    """Another writer stored facts that a unit was not compared with."""


@dataclass(slots=True)
class Stating:
    """One unit's facts on their way: claims, which of them are one, and what each is found to be.

    ``said[i]`` is the place in ``claims`` of the draft's edge ``i``.
    """

    unit: Unit
    draft: Draft
    claims: tuple[Claim, ...]
    ids: tuple[str, ...]
    said: tuple[int, ...]
    verdicts: list[Verdict | None] = field(default_factory=list)
    knew: int = 0


class Facts:
    """What is known around a request."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.at: dict[str, dict[str, Edge]] = {}  # entity -> the facts at it
        self.entities: dict[str, Entity] = {}
        self.vectors: dict[str, Any] = {}
        self.became: dict[str, str] = {}  # a claim's id -> the stored edge that it is
        self.order: dict[str, int] = {}  # a claim's id -> the unit that states it
        self.seen: set[str] = set()
        self.seq = -1
        self.around: set[str] = set()  # every entity that the request speaks of
        self._late: dict[Any, int] = {}  # a subject, a pair -> the last read that found somebody else's fact of it
        self._reads = 0

    # -- what is stored -----------------------------------------------------------------------------

    def load(self, drafts: Iterable[Draft]) -> None:
        """Read what is stored of the entities that a request speaks of: three queries, however long the text."""
        drafts = list(drafts)
        ids = {entity.id for draft in drafts for entity in draft.entities}
        self.around |= ids
        self.run.memory.store.ask(lambda view: self._load(view, ids))

    def _load(self, view: View, ids: set[str]) -> None:
        self.seq = view.head.seq
        self.entities = fetch(view, "entities", ids) if ids else {}
        known = set(self.entities)
        if known:
            self.learn(view, known)

    def learn(self, view: View, entities: set[str]) -> None:
        """Read the facts at some entities: those between two of them, and of each the newest."""
        ends = ["id", "source_id", "target_id", "created_at"]
        rows: dict[str, Any] = {}
        for part in batched(sorted(entities)):
            where = either(among("source_id", part), among("target_id", part))
            rows |= {row["id"]: row for row in view.rows("edges", where, ends).to_pylist()}
        self.seen |= rows.keys()
        chosen, at = [], Counter[str]()
        for row in sorted(rows.values(), key=lambda row: row["created_at"], reverse=True):
            known = entities & {row["source_id"], row["target_id"]}
            if len(known) == 2 or any(at[each] < NEWEST for each in known):
                at.update(known)
                chosen.append(row["id"])
        for part in batched(chosen):
            self._read(view, among("id", part))

    def _read(self, view: View, where: str) -> list[Edge]:
        with_vectors = "vector" in view["edges"].schema.names
        rows = view.rows("edges", where, [*columns_of("edges"), *(["vector"] if with_vectors else [])])
        edges: list[Edge] = from_table("edges", rows)
        for edge in edges:
            self.add(edge)
        if with_vectors:
            self.vectors.update(vectors_in(rows))
        return edges

    def add(self, edge: Edge) -> None:
        """One more fact that is known."""
        self.seen.add(edge.id)
        for entity in (edge.source_id, edge.target_id):
            self.at.setdefault(entity, {})[edge.id] = edge

    # -- what is stated -----------------------------------------------------------------------------

    def state(self, unit: Unit, draft: Draft) -> Stating:
        """A unit's claims, those settled that restate a known fact; later units may restate them in turn."""
        plan = self.run.plan
        claims: dict[str, Claim] = {}
        said: list[int] = []
        for edge in draft.edges:
            source, target = draft.entities[edge.source].id, draft.entities[edge.target].id
            valid_at = edge.valid_at or _told(plan.request.artifact["valid_at"], edge.invalid_at)
            claim = Claim(
                source_id=source,
                relation=edge.relation,
                target_id=target,
                fact=edge.fact,
                key=edge_key(source, edge.relation, target, edge.fact),
                began=valid_at or plan.created_at,
                valid_at=valid_at,
                ends=edge.invalid_at,
            )
            same = next(
                (k for k, known in claims.items() if k == claim.key or known.wording == claim.wording), claim.key
            )
            claims.setdefault(same, claim)
            said.append(list(claims).index(same))
        ids = tuple(f"{unit.id}:{n}" for n in range(len(claims)))
        made = Stating(unit, draft, tuple(claims.values()), ids, tuple(said))
        for claim in made.claims:
            known = restatement(claim, self._around(claim, unit))
            made.verdicts.append(None if known is None else Verdict("duplicate", (known.id,)))
        for id_, claim, verdict in zip(made.ids, made.claims, made.verdicts, strict=True):
            if verdict is None:
                self.order[id_] = unit.at
                self.add(self._pending(id_, claim, unit))
            else:
                self.became[id_] = verdict.known[0]
        return made

    def _pending(self, id_: str, claim: Claim, unit: Unit) -> Edge:
        return Edge(
            id=id_,
            source_id=claim.source_id,
            relation=claim.relation,
            target_id=claim.target_id,
            fact=claim.fact,
            key=claim.key,
            artifact_id=unit.id,
            created_at=self.run.plan.created_at,
            valid_at=claim.valid_at,
            invalid_at=claim.ends,
            stated_invalid_at=claim.ends,
        )

    def _around(self, claim: Claim, unit: Unit) -> list[Edge]:
        """The facts at a claim's entities: stored ones, and those of the units before its own."""
        found = {**self.at.get(claim.source_id, {}), **self.at.get(claim.target_id, {})}
        return [edge for id_, edge in found.items() if self.order.get(id_, -1) < unit.at]

    # -- what each is -------------------------------------------------------------------------------

    def resolve(self, made: Stating) -> None:
        """Settle what is open of a unit: new where nothing could be meant, else as a model says."""
        since = time.monotonic()
        made.knew = self._reads
        open_ = [at for at, verdict in enumerate(made.verdicts) if verdict is None]
        claims = [replace(made.claims[at], vector=self.vectors.get(made.ids[at])) for at in open_]
        offered = [candidates(claim, self._around(claim, made.unit), self.vectors) for claim in claims]
        found = len({edge.id for edges in offered for edge in edges})
        self.run.step("candidates", made.unit.label, unit=made.unit.at, since=since, candidates=found)
        comparison = compare(claims, offered) if self.run.asker is not None else None
        verdicts = dict.fromkeys(open_, NEW)
        if comparison is not None:
            asked = [at for at, edges in zip(open_, offered, strict=True) if any(e in comparison.known for e in edges)]
            verdicts.update(zip(asked, self._ask(made, comparison), strict=True))
        for at, verdict in verdicts.items():
            made.verdicts[at] = verdict

    def _ask(self, made: Stating, comparison: Any) -> list[Verdict]:
        run, since = self.run, time.monotonic()
        answer = run.ask("resolve_edges", comparison.messages, SCHEMA, of=made.unit.id)
        try:
            verdicts: list[Verdict] = comparison.read(answer.value)
        except Untrusted as error:
            run.note(f"facts{made.unit.label} were kept as new: {error}")
            verdicts = [NEW] * len(comparison.claims)
        kinds = [verdict.kind for verdict in verdicts]
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        run.step("resolve", made.unit.label, unit=made.unit.at, since=since, **counts)
        return verdicts

    # -- at the commit ------------------------------------------------------------------------------

    def stored(self, id_: str) -> str:
        """The stored edge that a known fact is by now."""
        while id_ in self.became:
            id_ = self.became[id_]
        return id_

    def find(self, id_: str) -> Edge:
        """A known fact, under the id that it is stored by."""
        stored = self.stored(id_)
        known = next(edges[key] for key in (stored, id_) for edges in self.at.values() if key in edges)
        return known if known.id == stored else replace(known, id=stored)

    def committed(self, done: Settled) -> None:
        """A commit of this request: if nobody else's lay between, everything there is is known."""
        if self.seq == done.seq - 1:
            self.seq = done.seq

    def guard(self, view: View, made: Stating) -> None:
        """Raise :class:`Moved` if another writer stored facts at a unit's entities since they were read."""
        caught_up = view.head.seq == self.seq
        if not caught_up:
            self._catch_up(view)
        open_ = [c for c, v in zip(made.claims, made.verdicts, strict=True) if v is None or v.kind != "duplicate"]
        if any(self._late.get(mark, 0) > made.knew for claim in open_ for mark in _marks(claim)):
            raise Moved("facts of the same entities were stored meanwhile")
        referred = {self.stored(known) for verdict in made.verdicts if verdict for known in verdict.known}
        if not caught_up and (gone := referred - set(fetch(view, "edges", referred))):
            self.forget(gone)
            raise Moved(
                counted(
                    len(gone),
                    "fact that a unit restates was deleted meanwhile",
                    "facts that a unit restates were deleted meanwhile",
                )
            )

    def _catch_up(self, view: View) -> None:
        """Read the facts that others stored at the request's entities since; most often there are none."""
        self._reads += 1
        for part in batched(sorted(self.around)):
            where = either(among("source_id", part), among("target_id", part))
            ids = view.rows("edges", where, ["id"])["id"].to_pylist()
            fresh = [each for each in ids if each not in self.seen]
            for edge in self._read(view, among("id", fresh)) if fresh else ():
                self._late.update(dict.fromkeys(_marks(edge), self._reads))
        self.seq = view.head.seq

    def forget(self, ids: set[str]) -> None:
        """Facts that are gone are known no more."""
        for edges in self.at.values():
            for id_ in ids & edges.keys():
                del edges[id_]

    def again(self, made: Stating) -> None:
        """Open what was settled, to be settled against what is known now."""
        for at, claim in enumerate(made.claims):
            known = restatement(claim, self._around(claim, made.unit))
            made.verdicts[at] = None if known is None else Verdict("duplicate", (known.id,))

    def closes(self, verdict: Verdict) -> bool:
        """Whether a verdict closes facts: only where the request lets it (SPEC A3)."""
        return verdict.kind == "contradicted" and self.run.plan.request.supersedes


def _marks(statement: Edge | Claim) -> tuple[Any, ...]:
    """What makes a fact a candidate for another: its subject, and its pair of entities."""
    return statement.source_id, frozenset((statement.source_id, statement.target_id))


def _told(when: dt.datetime | None, end: dt.datetime | None) -> dt.datetime | None:
    """When a fact began that does not say: when it was told, unless it had ended by then."""
    return None if when is None or (end is not None and end < when) else when
