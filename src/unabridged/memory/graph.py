"""Reading the graph: entities, edges as they hold, sessions, links, and provenance both ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError, NotFound
from unabridged.memory.artifacts import vectors_of
from unabridged.memory.gather import identity, sliced
from unabridged.memory.known import as_known, known_where
from unabridged.memory.paging import Page, metadata_where, optional, page, page_of_links
from unabridged.memory.records import LINK_TYPES, Artifact, Edge, Entity, Link, LinkType, Session
from unabridged.memory.settle import fetch
from unabridged.memory.temporal import holds_where
from unabridged.memory.values import entity_id, moment, normalise
from unabridged.memory.where import among, batched, both, either, equals, has

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.commits import Source, View

__all__ = ["Contribution", "Edges", "Entities", "Evidence", "Links", "Sessions", "contribution", "evidence"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One source of a fact or an entity: the artifact, and the passage where it is known."""

    artifact: Artifact
    document: Artifact
    link: Link
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What an artifact contributes to the graph."""

    entities: tuple[Entity, ...]
    edges: tuple[Edge, ...]


class Entities:
    """The things that artifacts mention."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get(self, entity: str) -> Entity:
        """One entity by id; :class:`~unabridged.errors.NotFound` if it is not there."""
        found = self.many([entity])
        if not found:
            raise NotFound("no entity of that id is in the dataset")
        return found[0]

    def many(self, ids: Sequence[str]) -> list[Entity]:
        """Those of the ids that are there, in the order asked."""
        found = self._source.ask(lambda view: fetch(view, "entities", ids))
        return [found[each] for each in ids if each in found]

    def find(self, name: str, type: str) -> Entity | None:  # noqa: A002
        """The entity of that name and type, whatever its case, width and white space (SPEC A7)."""
        return next(iter(self.many([entity_id(name, type)])), None)

    def named(self, name: str) -> list[Entity]:
        """The entities that have this name, or this alias, of any type."""
        where = has("names", normalise(name))
        found: list[Entity] = self._source.ask(lambda view: view.records("entities", where))
        return sorted(found, key=lambda entity: (entity.created_at, entity.id))

    def count(self) -> int:
        """How many entities there are."""
        return self._source.ask(lambda view: view["entities"].count())

    def vectors(self, ids: Sequence[str]) -> dict[str, Any]:
        """The stored vectors of some entities, float32, by id."""
        return vectors_of(self._source, "entities", ids)

    def list(
        self,
        *,
        type: str | None = None,  # noqa: A002
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Entity]:
        """A page of entities, in the order in which they were first mentioned."""

        def ask(view: View) -> Page[Entity]:
            of = both(*optional(type=type), metadata_where(metadata), _in_session(view, "entity_session", session_id))
            return page(view, "entities", of, limit=limit, cursor=cursor, newest_first=newest_first)

        return self._source.ask(ask)


class Edges:
    """The facts. By default those that have not ended; see ``as_of``, ``known_at``, ``include_history``."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get(self, edge: str) -> Edge:
        """One edge by id, whether it holds or not; :class:`~unabridged.errors.NotFound` if it is not there."""
        found = self.many([edge])
        if not found:
            raise NotFound("no edge of that id is in the dataset")
        return found[0]

    def many(self, ids: Sequence[str]) -> list[Edge]:
        """Those of the ids that are there, in the order asked."""
        found = self._source.ask(lambda view: fetch(view, "edges", ids))
        return [found[each] for each in ids if each in found]

    def count(self, *, include_history: bool = True) -> int:
        """How many edges there are, or hold now."""
        return self._source.ask(lambda view: view["edges"].count(holds_where(include_history=include_history)))

    def contradictions(self, edge: Edge | str) -> list[Link]:
        """What closed an edge: the artifact, the contradicting edge, and from when on."""
        where = both(equals("type", "contradiction"), equals("from_id", identity(edge)))
        return self._source.ask(lambda view: view.records("links", where))

    def vectors(self, ids: Sequence[str]) -> dict[str, Any]:
        """The stored vectors of some edges, float32, by id."""
        return vectors_of(self._source, "edges", ids)

    def list(
        self,
        *,
        entity: Entity | str | None = None,
        source: Entity | str | None = None,
        target: Entity | str | None = None,
        relation: str | None = None,
        artifact: Artifact | str | None = None,
        session_id: str | None = None,
        as_of: Any = None,
        known_at: Any = None,
        include_history: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Edge]:
        """A page of edges: those at an entity, of a relation, stated by an artifact or in a session.

        ``as_of`` asks what was true at a moment, ``known_at`` what the memory knew at one: facts that it had
        heard of, each with the end that it knew of then.
        """
        known = moment(known_at, "known_at")
        time = {"as_of": moment(as_of, "as_of"), "known_at": known}

        def ask(view: View) -> Page[Edge]:
            where = both(
                known_where(view, include_history=include_history, **time),
                _at(entity),
                *optional(source_id=_id(source), target_id=_id(target), relation=relation),
                _stated_by(view, artifact),
                _in_session(view, "edge_session", session_id),
            )
            found = page(view, "edges", where, limit=limit, cursor=cursor, newest_first=newest_first)
            return replace(found, items=tuple(as_known(view, found.items, known)))

        return self._source.ask(ask)


def _id(record: Any) -> str | None:
    return None if record is None else identity(record)


def _at(entity: Any) -> str | None:
    key = _id(entity)
    return None if key is None else either(equals("source_id", key), equals("target_id", key))


def _stated_by(view: View, artifact: Any) -> str | None:
    key = _id(artifact)
    if key is None:
        return None
    linked = view.rows("links", both(equals("type", "edge_artifact"), equals("to_id", key)), ["from_id"])
    return among("id", linked["from_id"].to_pylist())


def _in_session(view: View, type_: LinkType, session_id: str | None) -> str | None:
    if session_id is None:
        return None
    linked = view.rows("links", both(equals("type", type_), equals("to_id", session_id)), ["from_id"])
    return among("id", dict.fromkeys(linked["from_id"].to_pylist()))


class Links:
    """Every line of provenance."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def list(
        self,
        *,
        type: LinkType | None = None,  # noqa: A002
        from_id: str | None = None,
        to_id: str | None = None,
    ) -> list[Link]:
        """The links of a type, from something, to something."""
        where = _links_where(type, from_id, to_id)
        found: list[Link] = self._source.ask(lambda view: view.records("links", where))
        return sorted(found, key=lambda link: (link.created_at, link.from_id, link.to_id))

    def page(
        self,
        *,
        type: LinkType | None = None,  # noqa: A002
        from_id: str | None = None,
        to_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Link]:
        """The same, a page at a time, oldest first."""
        where = _links_where(type, from_id, to_id)
        return self._source.ask(lambda view: page_of_links(view, where, limit=limit, cursor=cursor))


def _links_where(type_: LinkType | None, from_id: str | None, to_id: str | None) -> str | None:
    if type_ is not None and type_ not in LINK_TYPES:
        raise InputError(f"type: not one of {', '.join(LINK_TYPES)}")
    return both(*optional(type=type_, from_id=from_id, to_id=to_id))


class Sessions:
    """The runs of users and agents that artifacts came from (SPEC A11)."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get(self, session_id: str) -> Session:
        """One session; :class:`~unabridged.errors.NotFound` if nothing named it."""
        found = self._source.ask(lambda view: view.records("sessions", equals("id", session_id)))
        if not found:
            raise NotFound("no session of that id is in the dataset")
        session: Session = found[0]
        return session

    def list(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Session]:
        """A page of sessions, in the order in which they began."""
        where = metadata_where(metadata)
        return self._source.ask(
            lambda view: page(view, "sessions", where, limit=limit, cursor=cursor, newest_first=newest_first)
        )


def evidence(source: Source, subject: Entity | Edge | str) -> tuple[Evidence, ...]:
    """The artifacts that ground an entity or an edge, oldest first, each with its document and passage."""
    where = both(among("type", ["entity_artifact", "edge_artifact"]), equals("from_id", identity(subject)))

    def ask(view: View) -> tuple[Evidence, ...]:
        links: list[Link] = view.records("links", where)
        artifacts = fetch(view, "artifacts", [link.to_id for link in links])
        roots = fetch(view, "artifacts", {a.document_id for a in artifacts.values() if a.document_id})
        found = [_evidence(link, artifacts[link.to_id], roots) for link in links]
        return tuple(sorted(found, key=lambda each: (each.artifact.created_at, each.artifact.id)))

    return source.ask(ask)


def _evidence(link: Link, artifact: Artifact, roots: Mapping[str, Artifact]) -> Evidence:
    quote = None
    if link.start is not None and link.end is not None:
        quote = sliced(artifact.text, link.start, link.end)
    document = artifact if artifact.document_id is None else roots[artifact.document_id]
    return Evidence(artifact, document, link, quote)


def contribution(source: Source, artifact: Artifact | str, *, whole: bool = True) -> Contribution:
    """What an artifact contributes; ``whole`` counts what hangs from it, as a document's chunks."""
    from unabridged.memory.deletion import descendants

    def ask(view: View) -> Contribution:
        ids = descendants(view, [identity(artifact)]) if whole else [identity(artifact)]
        said: dict[str, list[str]] = {"entity_artifact": [], "edge_artifact": []}
        for part in batched(ids):
            rows = view.rows("links", both(among("type", said), among("to_id", part)), ["type", "from_id"]).to_pydict()
            for type_, subject in zip(rows["type"], rows["from_id"], strict=True):
                said[type_].append(subject)
        entities = fetch(view, "entities", said["entity_artifact"]).values()
        edges = fetch(view, "edges", said["edge_artifact"]).values()
        return Contribution(_by_age(entities), _by_age(edges))

    return source.ask(ask)


def _by_age(records: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(records, key=lambda record: (record.created_at, record.id)))
