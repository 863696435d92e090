"""What a gathered transaction means against the head: which entities are known, which edges restated.

Runs under the writer's lock and drafts the rows, so two writers that say the same thing at once end
with one entity and one edge. The same input against the same head drafts the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.advice import counted
from unabridged.errors import InputError, NotFound
from unabridged.memory.gather import INHERITED, Contradiction, Gathered, Statement
from unabridged.memory.records import Artifact, Edge, Entity, Link, LinkType
from unabridged.memory.schema import arrow_schema, to_table
from unabridged.memory.temporal import Closing, contradicted, ended, restated
from unabridged.memory.where import among, batched, both, either, equals

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.commits import Draft, View

__all__ = ["Settled", "changed_rows", "fetch", "settle"]


@dataclass
class Settled:
    """How a transaction came out: gathered id -> stored record, and what it closed and removed."""

    seq: int = 0
    artifacts: list[Artifact] = field(default_factory=list)
    entities: dict[str, Entity] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    new_entities: set[str] = field(default_factory=set)
    new_edges: set[str] = field(default_factory=set)
    closed: dict[str, Edge] = field(default_factory=dict)
    deleted: Any = None


def fetch(view: View, table: str, ids: Iterable[str], column: str = "id") -> dict[str, Any]:
    """The records whose ``column`` is one of ``ids``, by their own id."""
    found: dict[str, Any] = {}
    for part in batched(dict.fromkeys(ids)):
        for record in view.records(table, among(column, part)):
            found[record.id] = record
    return found


def _ids(view: View, ids: Iterable[str]) -> list[str]:
    found: list[str] = view.rows("artifacts", among("id", ids), ["id"])["id"].to_pylist()
    return found


def changed_rows(table: str, records: Sequence[Any], columns: Sequence[str]) -> pa.Table:
    """Some columns of some records, for a merge by id."""
    rows = to_table(table, records)
    return rows.select(["id", *columns]) if records else arrow_schema(table).empty_table()


def settle(draft: Draft, gathered: Gathered) -> Settled:
    """Draft everything that was gathered."""
    return _Settling(draft, gathered).run()


class _Settling:
    def __init__(self, draft: Draft, gathered: Gathered) -> None:
        self.draft = draft
        self.view = draft.view
        self.gathered = gathered
        self.done = Settled(seq=draft.view.head.seq + 1)
        self.same: dict[str, str] = {}  # a gathered edge -> the stored one that it restates
        self.links: list[Link] = []
        self.known_edges: dict[str, Edge] = {}

    def run(self) -> Settled:
        gathered = self.gathered
        self.stored = self._referenced_artifacts()
        self._entities()
        self._edges()
        self._provenance()
        self._sessions()
        self._contradictions()
        self._updates()
        new_edges = [edge for edge in self.done.edges.values() if edge.id in self.done.new_edges]
        self._append("artifacts", list(gathered.artifacts.values()))
        self._append("entities", [e for e in self.done.entities.values() if e.id in self.done.new_entities])
        self._append("edges", list({edge.id: edge for edge in new_edges}.values()))
        self._append("images", list(gathered.images.values()))
        self.draft.append("links", self.links)
        self.done.artifacts = list(gathered.artifacts.values())
        return self.done

    def _append(self, table: str, records: list[Any]) -> None:
        vectors = self.gathered.vectors
        self.draft.append(table, records, [vectors.get(record.id) for record in records])

    def _artifact(self, artifact: str) -> Artifact | None:
        return self.gathered.artifacts.get(artifact) or self.stored.get(artifact)

    def _referenced_artifacts(self) -> dict[str, Artifact]:
        gathered = self.gathered
        said = [*gathered.mentions.values(), *gathered.statements.values()]
        wanted = {s.artifact for s in said} | {c.artifact for c in gathered.contradictions} | set(gathered.updates)
        wanted -= set(gathered.artifacts)
        found = fetch(self.view, "artifacts", wanted)
        held = {a.parent_id for a in gathered.artifacts.values() if a.parent_id}
        held |= {image.artifact_id for image in gathered.images.values() if image.artifact_id}
        held -= {*gathered.artifacts, *found}  # only has to be there: a document may be a megabyte
        there = {each for part in batched(held) for each in _ids(self.view, part)}
        gone = set(gathered.deletions)
        if missing := (wanted - set(found)) | (held - there) | ((wanted | held) & gone):
            raise _not_there(missing, "artifact", "artifacts")
        return found

    # -- the graph --------------------------------------------------------------------------------

    def _entities(self) -> None:
        gathered = self.gathered
        ends = {end for edge in gathered.edges.values() for end in (edge.source_id, edge.target_id)}
        wanted = set(gathered.entities) | {s.subject for s in gathered.mentions.values()} | ends
        known = fetch(self.view, "entities", wanted)
        if missing := wanted - set(known) - set(gathered.entities):
            raise _not_there(missing, "entity", "entities")
        changed = []
        for key, entity in gathered.entities.items():
            merged = _merged(known[key], entity) if key in known else entity
            self.done.entities[key] = merged
            if key not in known:
                self.done.new_entities.add(key)
            elif merged != known[key]:
                changed.append(merged)
        columns = ["aliases", "names", "description", "metadata", "tags"]
        self.draft.merge("entities", changed_rows("entities", changed, columns))

    def _edges(self) -> None:
        gathered = self.gathered
        by_key = self._by_key([edge.key for edge in gathered.edges.values()])
        named = {s.subject for s in gathered.statements.values()} | {c.edge for c in gathered.contradictions}
        named |= {c.by for c in gathered.contradictions if c.by}
        self.known_edges |= fetch(self.view, "edges", named - set(gathered.edges))
        if missing := named - set(gathered.edges) - set(self.known_edges):
            raise _not_there(missing, "edge", "edges")
        for edge in gathered.edges.values():
            stated = edge.valid_at or self._stated_at(edge)
            stored = restated(by_key.get(edge.key, ()), stated, edge.stated_invalid_at)
            if stored is None:
                by_key.setdefault(edge.key, []).append(edge)
                self.done.new_edges.add(edge.id)
            self.done.edges[edge.id] = stored or edge
            self.same[edge.id] = (stored or edge).id

    def _by_key(self, keys: list[str]) -> dict[str, list[Edge]]:
        found: dict[str, list[Edge]] = {}
        for edge in fetch(self.view, "edges", keys, "key").values():
            found.setdefault(edge.key, []).append(edge)
            self.known_edges[edge.id] = edge
        return found

    def _stated_at(self, edge: Edge) -> Any:
        artifact = self._artifact(edge.artifact_id or "")
        return (artifact.valid_at if artifact else None) or edge.created_at

    # -- links ------------------------------------------------------------------------------------

    def _provenance(self) -> None:
        gathered = self.gathered
        self._say("entity_artifact", gathered.mentions.values())
        self._say("edge_artifact", gathered.statements.values())
        self._link_all("entity_image", gathered.shown)

    def _say(self, type_: LinkType, statements: Iterable[Statement]) -> None:
        merged: dict[tuple[str, str], Statement] = {}
        for each in statements:
            pair = (self.same.get(each.subject, each.subject), each.artifact)
            if pair not in merged or merged[pair].start is None:
                merged[pair] = each
        old = self._linked(type_, [pair for pair in merged if pair[1] in self.stored])
        for (subject, artifact), each in merged.items():
            if (subject, artifact) not in old:
                self._link(type_, subject, artifact, start=each.start, end=each.end)

    def _link_all(self, type_: LinkType, pairs: Iterable[tuple[str, str]]) -> None:
        pairs = list(pairs)
        old = self._linked(type_, pairs)
        for pair in dict.fromkeys(pairs):
            if pair not in old:
                self._link(type_, *pair)

    def _link(self, type_: LinkType, from_id: str, to_id: str, **more: Any) -> None:
        link = Link(type=type_, from_id=from_id, to_id=to_id, created_at=self.gathered.created_at, **more)
        self.links.append(link)

    def _linked(self, type_: LinkType, pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
        """The pairs that are linked already."""
        found: set[tuple[str, str]] = set()
        targets = dict.fromkeys(to for _, to in pairs)
        for part in batched(dict.fromkeys(subject for subject, _ in pairs)):
            where = both(equals("type", type_), among("from_id", part), among("to_id", targets))
            rows = self.view.rows("links", where, ["from_id", "to_id"]).to_pydict()
            found |= set(zip(rows["from_id"], rows["to_id"], strict=True))
        return found

    def _sessions(self) -> None:
        """Every entity and edge that a session's text yields, known ones too (SPEC A11)."""
        gathered = self.gathered
        known = {s.id for part in batched(gathered.sessions) for s in self.view.records("sessions", among("id", part))}
        self.draft.append("sessions", [s for s in gathered.sessions.values() if s.id not in known])
        changed = [s for s in gathered.sessions.values() if s.id in known and s.metadata]
        self.draft.merge("sessions", changed_rows("sessions", changed, ["metadata", "tags"]))
        kinds: tuple[tuple[LinkType, Iterable[Statement], set[str]], ...] = (
            ("entity_session", gathered.mentions.values(), self.done.new_entities),
            ("edge_session", gathered.statements.values(), self.done.new_edges),
        )
        for type_, statements, new in kinds:
            pairs = [pair for each in statements if (pair := self._in_session(each))]
            old = self._linked(type_, [p for p in pairs if p[0] not in new and p[1] in known])
            for pair in dict.fromkeys(pairs):
                if pair not in old:
                    self._link(type_, *pair)

    def _in_session(self, statement: Statement) -> tuple[str, str] | None:
        artifact = self._artifact(statement.artifact)
        if artifact is None or artifact.session_id is None:
            return None
        return self.same.get(statement.subject, statement.subject), artifact.session_id

    # -- time -------------------------------------------------------------------------------------

    def _contradictions(self) -> None:
        closings = [(c, closing) for c in self.gathered.contradictions if (closing := self._closing(c))]
        if not closings:
            return
        closed = {closing.closed.id: closing.closed for _, closing in closings}
        links = self._contradictions_of(closed)
        for contradiction, closing in closings:
            link = self._contradiction(contradiction, closing)
            if not any(old.via_id == link.via_id and old.to_id == link.to_id for old in links[closing.closed.id]):
                links[closing.closed.id].append(link)
                self.links.append(link)
        after = [ended(edge, links[edge.id]) for edge in closed.values()]
        stored = [edge for edge in after if edge.id not in self.done.new_edges]
        self.draft.merge("edges", changed_rows("edges", stored, ["invalid_at", "expired_at"]))
        for edge in after:
            self.done.closed[edge.id] = edge
            for gathered, known in self.done.edges.items():
                if known.id == edge.id:
                    self.done.edges[gathered] = edge

    def _contradictions_of(self, edges: Mapping[str, Edge]) -> dict[str, list[Link]]:
        links: dict[str, list[Link]] = {edge: [] for edge in edges}
        for part in batched(edges):
            where = both(equals("type", "contradiction"), among("from_id", part))
            for link in self.view.records("links", where):
                links[link.from_id].append(link)
        return links

    def _edge(self, edge: str) -> Edge:
        return self.done.edges.get(edge) or self.known_edges[edge]

    def _closing(self, contradiction: Contradiction) -> Closing | None:
        old = self._edge(contradiction.edge)
        if contradiction.by is not None:
            new = self._edge(contradiction.by)
            if new.id == old.id:
                raise InputError("contradict: an edge that restates another one cannot contradict it")
            told = self.done.new_edges
            return contradicted(old, new, later=new.id in told and old.id not in told)
        at = contradiction.at or self.gathered.created_at
        if old.valid_at is not None and at < old.valid_at:
            raise InputError("close: at lies before valid_at; a fact cannot end before it begins")
        if old.invalid_at is not None and old.invalid_at <= at:
            return None
        return Closing(old, replace(old, artifact_id=contradiction.artifact), at)

    def _contradiction(self, said: Contradiction, closing: Closing) -> Link:
        by = None if said.by is None else closing.by
        artifact = (by.artifact_id if by else None) or said.artifact
        return Link(
            type="contradiction",
            from_id=closing.closed.id,
            to_id=artifact,
            via_id=by.id if by else None,
            at=closing.at,
            created_at=self.gathered.created_at,
        )

    # -- changes ----------------------------------------------------------------------------------

    def _updates(self) -> None:
        """Changed metadata of a document reaches the children that inherited it."""
        columns: dict[tuple[str, ...], list[Artifact]] = {}
        for artifact, changes in self.gathered.updates.items():
            known = self.gathered.artifacts.get(artifact) or self.stored[artifact]
            if artifact in self.gathered.artifacts:
                self.gathered.artifacts[artifact] = replace(known, **changes)
                continue
            names = tuple(sorted(changes))
            columns.setdefault(names, []).append(replace(known, **changes))
            inherited = {name: changes[name] for name in names if name in INHERITED}
            below = either(equals("document_id", artifact), equals("parent_id", artifact))
            for child in self.view.records("artifacts", below) if inherited else ():
                same = {n: v for n, v in inherited.items() if getattr(child, n) == getattr(known, n)}
                columns.setdefault(tuple(sorted(same)), []).append(replace(child, **same))
        for names, records in columns.items():
            extra = ["tags"] if "metadata" in names else []
            if names:
                self.draft.merge("artifacts", changed_rows("artifacts", records, [*names, *extra]))


def _merged(known: Entity, new: Entity) -> Entity:
    """A known entity keeps what it has, and learns aliases and what it lacked."""
    aliases = tuple(dict.fromkeys((*known.aliases, *new.aliases)))
    return replace(
        known,
        aliases=aliases,
        description=known.description or new.description,
        metadata={**new.metadata, **known.metadata},
    )


def _not_there(missing: Collection[str], one: str, many: str) -> NotFound:
    """The error for records that a transaction refers to."""
    refers = "that this transaction refers to"
    return NotFound(
        counted(len(missing), f"{one} {refers} is not in the dataset", f"{many} {refers} are not in the dataset")
    )
