"""Candidates become hits: their rows, their kind, what grounds them (SPEC R2)."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.memory.gather import sliced
from unabridged.memory.recall.data import Citation
from unabridged.memory.recall.lanes import holding, holdings
from unabridged.memory.recall.rows import Brief, named
from unabridged.memory.records import Artifact, Edge, Entity
from unabridged.memory.schema import from_table
from unabridged.memory.where import among, both

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from unabridged.memory.commits import View
    from unabridged.memory.recall.rank import Candidate
    from unabridged.memory.recall.scope import Scope

__all__ = ["Begun", "Grounds", "cited", "grounds_of", "text_of"]

FACTS = 16  # facts that a citation names of its artifact; a register of thousands is asked for by contribution()
SOURCES = 8  # citations of one fact or entity; the oldest, who said it first
_CITED = (
    *("id", "role", "kind", "text", "created_at", "session_id", "valid_at", "document_id", "chunk_index"),
    *("start_offset", "page", "section", "source", "expires_at", "metadata", "provenance"),
)

_pool = ThreadPoolExecutor(2, thread_name_prefix="unabridged-facts")  # its work waits for none

Link = tuple[str, Any, int | None, int | None]  # an artifact, since when, and the bytes of it that say so


def text_of(record: Artifact | Brief | Edge | Entity) -> str:
    """What a hit says."""
    if isinstance(record, Artifact | Brief):
        return record.text or ""
    if isinstance(record, Edge):
        return record.fact
    return named(record.name, record.type, record.aliases, record.description)


@dataclass(frozen=True, slots=True)
class Grounds:
    """What grounds some hits: who states each fact and entity, those artifacts, and the facts that artifacts state."""

    links: Mapping[str, Sequence[Link]] = field(default_factory=dict)
    sources: Mapping[str, Artifact] = field(default_factory=dict)
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Begun:
    """What hits need beside what ranked them, being read: what grounds them, and by table their whole records."""

    grounds: Future[Grounds]
    records: Mapping[str, Future[dict[str, Any]]]

    def record(self, each: Candidate) -> Any:
        """The whole record of a candidate, if it is being read."""
        reading = self.records.get(each.record.table)
        return None if reading is None else reading.result().get(each.record.id)

    def whole(self, chosen: Sequence[Candidate]) -> list[Candidate]:
        """Candidates with their whole records."""
        known = {table: future.result() for table, future in self.records.items()}
        return [replace(each, record=known[each.record.table][each.record.id]) for each in chosen]


def grounds_of(
    view: View, scope: Scope, *, graph: Sequence[str], artifacts: Sequence[str], places: Mapping[str, int]
) -> Grounds:
    """What grounds facts and entities, and artifacts, by their ids.

    ``places`` are of artifacts that are known to be in the scope.
    """
    links = _links(view, graph, scope)
    wanted = {link[0] for each in links.values() for link in each} - set(artifacts)
    facts = _pool.submit(_facts, view, [*artifacts, *sorted(wanted)], scope)  # of some that the scope hides, too
    return Grounds(links, _sources(view, wanted, scope, places), facts.result())


def cited(
    view: View, records: Sequence[Any], scope: Scope, grounds: Grounds | None = None
) -> dict[str, tuple[Citation, ...]]:
    """What grounds each record: passages by themselves, summaries by their chunk, the graph by its sources."""
    seen = {r.id: r for r in records if isinstance(r, Artifact)}
    if grounds is None:
        graph = [r.id for r in records if not isinstance(r, Artifact)]
        grounds = grounds_of(view, scope, graph=graph, artifacts=list(seen), places={})
    known, facts = {**grounds.sources, **seen}, grounds.facts
    if parents := {r.parent_id for r in seen.values() if r.role == "summary" and r.parent_id} - known.keys():
        more = _sources(view, parents, scope, {})
        known, facts = {**known, **more}, {**facts, **_facts(view, list(more), scope)}
    found: dict[str, tuple[Citation, ...]] = {}
    for record in records:
        if isinstance(record, Artifact):
            ground = known.get(record.parent_id or "", record) if record.role == "summary" else record
            found[record.id] = (_citation(ground, facts),)
        else:
            stated = [link for link in grounds.links.get(record.id, ()) if link[0] in known]
            found[record.id] = tuple(_citation(known[link[0]], facts, *link[2:]) for link in stated[:SOURCES])
    return found


def _links(view: View, ids: Sequence[str], scope: Scope) -> dict[str, list[Link]]:
    """Who states each fact or entity, the oldest first: the artifact, and the bytes of it."""
    found: dict[str, list[Link]] = defaultdict(list)
    if not ids:
        return found
    for id_, *link in _told(view, ids, scope):
        found[id_].append((link[0], link[1], link[2], link[3]))
    return {id_: sorted(each, key=lambda link: (link[1], link[0])) for id_, each in found.items()}


def _told(view: View, ids: Sequence[str], scope: Scope) -> Iterable[tuple[Any, ...]]:
    if scope.known is None and (kept := holdings(view).links) is not None:
        return kept.told(ids)
    where = both(among("from_id", ids), among("type", ["edge_artifact", "entity_artifact"]), scope.known)
    rows = view.rows("links", where, ["from_id", "to_id", "created_at", "start", "end"]).to_pydict()
    return zip(*rows.values(), strict=True)


def _sources(view: View, ids: Collection[str], scope: Scope, places: Mapping[str, int]) -> dict[str, Artifact]:
    """What a citation needs of some artifacts that the scope lets through, by id."""
    held = holdings(view)
    within = scope.artifacts(expiring=held.expiring)
    known = {id_: places.get(id_) for id_ in ids}
    if within is None:
        known |= held.places([id_ for id_, place in known.items() if place is None])
    placed = sorted(place for place in known.values() if place is not None)
    others = sorted(id_ for id_, place in known.items() if place is None)
    rows = [view["artifacts"].at(placed, _CITED)] if placed else []
    rows += [view.rows("artifacts", both(among("id", others), within), _CITED)] if others else []
    return {artifact.id: artifact for each in rows for artifact in from_table("artifacts", each)}


def _facts(view: View, artifacts: Sequence[str], scope: Scope) -> dict[str, tuple[str, ...]]:
    """The facts that each artifact states, and that hold."""
    if not artifacts or not holdings(view).edges:
        return {}
    said: dict[str, list[str]] = defaultdict(list)
    for fact, artifact in _stated(view, artifacts, scope):
        said[artifact].append(fact)
    if not said:
        return {}
    every = {fact for each in said.values() for fact in each[:FACTS]}
    held = holding(view, scope)
    if held is not None:
        every = set(view.rows("edges", both(among("id", sorted(every)), held), ["id"])["id"].to_pylist())
    return {artifact: tuple(sorted(set(each) & every)[:FACTS]) for artifact, each in said.items()}


def _stated(view: View, artifacts: Sequence[str], scope: Scope) -> Iterable[tuple[str, str]]:
    most = FACTS * len(artifacts)
    if scope.known is None and (kept := holdings(view).links) is not None:
        return kept.facts(artifacts, most)
    where = both(scope.links("edge_artifact"), among("to_id", artifacts))
    rows = view.rows("links", where, ["from_id", "to_id"], limit=most)
    return zip(rows["from_id"].to_pylist(), rows["to_id"].to_pylist(), strict=True)


def _citation(
    artifact: Artifact, facts: Mapping[str, tuple[str, ...]], start: int | None = None, end: int | None = None
) -> Citation:
    if start is None or end is None:
        start, end = 0, len(artifact.text.encode("utf-8"))
    at = artifact.start_offset if artifact.is_chunk else (0 if artifact.document_id is None else None)
    said = artifact.provenance
    return Citation(
        artifact_id=artifact.id,
        document_id=artifact.document_id or artifact.id,
        artifact_role=artifact.role,
        kind=artifact.kind,
        start=start,
        end=end,
        document_start=None if at is None else at + start,
        document_end=None if at is None else at + end,
        quote=sliced(artifact.text, start, end),
        source=artifact.source,
        session_id=artifact.session_id,
        speaker=_plain(said.get("speaker")),
        role=_plain(said.get("role")),
        valid_at=artifact.valid_at,
        created_at=artifact.created_at,
        expires_at=artifact.expires_at,
        page=artifact.page,
        section=artifact.section,
        facts=facts.get(artifact.id, ()),
        metadata=artifact.metadata,
    )


def _plain(value: Any) -> str | None:
    return None if value is None else str(value)
