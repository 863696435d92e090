"""An entity through time, and what stands around some entities: the graph, read as people ask for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError, NotFound
from unabridged.memory.extraction.prompts import UNKNOWN_TYPE
from unabridged.memory.graph import Entities
from unabridged.memory.known import as_known
from unabridged.memory.recall.data import Citation, plain
from unabridged.memory.recall.hits import cited
from unabridged.memory.recall.lanes import Asking, holdings
from unabridged.memory.recall.lanes_graph import page_rank, walk
from unabridged.memory.recall.scope import Scope
from unabridged.memory.recall.words import words_in
from unabridged.memory.records import Edge, Entity
from unabridged.memory.settle import fetch
from unabridged.memory.temporal import start
from unabridged.memory.where import among, both, either

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Mapping

    from unabridged.memory.commits import Source, View
    from unabridged.memory.records import Link

__all__ = ["Neighbourhood", "Period", "Timeline", "entity_of", "neighbourhood", "timeline"]

DEPTH = 5  # steps: beyond them nearly everything is near
LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Period:
    """One fact of an entity: when it held, when the memory knew, what grounds it and what ended it.

    ``since`` is ``None`` where nothing says when it began, ``until`` where it has not ended;
    ``learned`` and ``unlearned`` are when the memory heard of either. ``closed_by`` are the facts that
    contradicted it.
    """

    edge: Edge
    other: Entity
    since: dt.datetime | None
    until: dt.datetime | None
    learned: dt.datetime
    unlearned: dt.datetime | None
    evidence: tuple[Citation, ...] = ()
    closed_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """The facts of an entity, by when they began; those that have ended too."""

    entity: Entity
    periods: tuple[Period, ...] = ()

    def at(self, moment: dt.datetime) -> tuple[Period, ...]:
        """What held at a moment, as far as its beginning and end are known."""
        return tuple(
            each
            for each in self.periods
            if (each.since is None or each.since <= moment) and (each.until is None or moment < each.until)
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold."""
        found: dict[str, Any] = plain(self)
        return found


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entities and facts around some entities; ``near`` is each entity's share of the rank, nearest first."""

    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()
    near: Mapping[str, float] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold."""
        found: dict[str, Any] = plain(self)
        return found


def entity_of(source: Source, given: Entity | str, type_: str | None = None) -> Entity:
    """An entity by itself, its id, its name or an alias; a name that several have needs their type."""
    if isinstance(given, Entity):
        return given
    shelf = Entities(source)
    if found := shelf.many([given]):
        return found[0]
    named = [each for each in shelf.named(given) if type_ is None or each.type.casefold() == type_.casefold()]
    if not named:
        raise NotFound("no entity of that id or name is in the dataset")
    typed = [each for each in named if each.type != UNKNOWN_TYPE]
    if len(named) > 1 and len(typed) == 1:
        return typed[0]  # the others are known by their name alone: nothing says that they are something else
    if len(named) > 1:
        types = ", ".join(sorted({each.type for each in named}))
        raise InputError(f"entity: {len(named)} entities have this name; give its type ({types}) or its id")
    return named[0]


def timeline(source: Source, entity: Entity, *, known_at: dt.datetime | None = None) -> Timeline:
    """Every fact of an entity, ended or not; with those of its name alone, where no other is called so."""
    scope = Scope(known_at=known_at, include_history=True)
    ids = {entity.id, *_namesakes(source, entity)}

    def ask(view: View) -> Timeline:
        ends = either(among("source_id", sorted(ids)), among("target_id", sorted(ids)))
        edges = as_known(view, view.records("edges", both(ends, scope.edges(view))), known_at)
        others = fetch(view, "entities", {_other(edge, ids) for edge in edges})
        evidence = cited(view, edges, scope)
        closings = _closings(view, [edge.id for edge in edges], scope)
        periods = [_period(edge, others[_other(edge, ids)], evidence, closings) for edge in edges]
        return Timeline(entity, tuple(sorted(periods, key=lambda each: (start(each.edge), each.edge.id))))

    return source.ask(ask)


def _namesakes(source: Source, entity: Entity) -> set[str]:
    """What is known by this entity's name alone, if only one thing of that name has a type."""
    named = Entities(source).named(entity.name)
    typed = [each for each in named if each.type != UNKNOWN_TYPE]
    return (
        {each.id for each in named if each.type == UNKNOWN_TYPE}
        if [each.id for each in typed] == [entity.id]
        else set()
    )


def _other(edge: Edge, ids: Collection[str]) -> str:
    return edge.target_id if edge.source_id in ids else edge.source_id


def _closings(view: View, edges: Iterable[str], scope: Scope) -> dict[str, tuple[str, ...]]:
    links: list[Link] = view.records("links", both(scope.links("contradiction"), among("from_id", edges)))
    found: dict[str, list[str]] = {}
    for link in links:
        if link.via_id:
            found.setdefault(link.from_id, []).append(link.via_id)
    return {edge: tuple(sorted(set(ids))) for edge, ids in found.items()}


def _period(
    edge: Edge,
    other: Entity,
    evidence: Mapping[str, tuple[Citation, ...]],
    closings: Mapping[str, tuple[str, ...]],
) -> Period:
    grounds, closed = evidence.get(edge.id, ()), closings.get(edge.id, ())
    return Period(edge, other, edge.valid_at, edge.invalid_at, edge.created_at, edge.expired_at, grounds, closed)


def neighbourhood(
    source: Source, entities: Iterable[Entity], scope: Scope, *, depth: int = 1, limit: int = 200
) -> Neighbourhood:
    """What stands within ``depth`` facts of some entities, the nearest ``limit`` entities of it."""
    if type(depth) is not int or not 1 <= depth <= DEPTH:
        raise InputError(f"depth: found {depth!r}, expected 1 to {DEPTH}")
    if type(limit) is not int or not 1 <= limit <= LIMIT:
        raise InputError(f"limit: found {limit!r}, expected 1 to {LIMIT}")
    seeds = {each.id: 1.0 for each in entities}

    def ask(view: View) -> Neighbourhood:
        asking = Asking(view, words_in(""), scope, holdings(view), frozenset({"fact", "entity"}))
        facts = walk(asking, seeds, steps=depth)
        rank = page_rank(facts, seeds) if seeds else {}
        near = dict(sorted(rank.items(), key=lambda pair: (pair[0] not in seeds, -pair[1], pair[0]))[:limit])
        found = fetch(view, "entities", near)
        inside = [id_ for id_, one, other in facts if one in near and other in near]
        edges = sorted(fetch(view, "edges", inside).values(), key=lambda edge: (edge.created_at, edge.id))
        return Neighbourhood(tuple(found[id_] for id_ in near if id_ in found), tuple(edges), near)

    return source.ask(ask)
