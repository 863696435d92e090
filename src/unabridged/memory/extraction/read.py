"""A model's graph of a text, made whole: names become indices, quotes become bytes, dates become moments (pure)."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.memory.extraction.grounding import Ground
from unabridged.memory.extraction.prompts import UNKNOWN_TYPE, name_and_type
from unabridged.memory.values import NAME_LIMIT, moment, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["UNKNOWN_TYPE", "FoundEdge", "FoundEntity", "date_of", "graph_of"]

# Spellings of one word: which one a model takes differs from call to call, and the type is half of an identity.
_TYPES = {
    "organisation": "organization",
    "organisations": "organization",
    "organizations": "organization",
    "org": "organization",
    "people": "person",
    "persons": "person",
    "human": "person",
    "places": "place",
    "products": "product",
    "events": "event",
    "concepts": "concept",
}
_TYPED = re.compile(r"(.+?)\s*\(([^()]+)\)\s*")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """A thing that a text mentions, and the bytes ``start:end`` where it does, if that is known."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    description: str | None = field(default=None, repr=False)
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class FoundEdge:
    """A fact between two entities of the same extraction (their indices), and the bytes that state it."""

    source: int
    relation: str
    target: int
    fact: str = field(repr=False)
    valid_at: dt.datetime | None = None
    invalid_at: dt.datetime | None = None
    start: int | None = None
    end: int | None = None


Graph = tuple[tuple[FoundEntity, ...], tuple[FoundEdge, ...], tuple[str, ...]]


def graph_of(value: Mapping[str, Any], text: str, known: Iterable[Any] = ()) -> Graph:
    """Entities (once for each name and type), facts (once each), and notes on what was left out.

    >>> entities, edges, _ = graph_of({"entities": [{"name": "Alice", "type": "person"}],
    ...     "edges": [{"source": "Alice", "relation": "works at", "target": "Acme", "quote": "works at Acme"}]},
    ...     "Alice works at Acme.")
    >>> [(each.name, each.type, each.start, each.end) for each in entities]
    [('Alice', 'person', 0, 5), ('Acme', 'unknown', 15, 19)]
    >>> edges[0].fact, edges[0].start, edges[0].end
    ('Alice works at Acme', 6, 19)
    """
    reading = _Reading(Ground(text), dict(map(name_and_type, known)))
    for row in value.get("entities") or ():
        reading.entity(row)
    for row in value.get("edges") or ():
        reading.edge(row)
    return tuple(reading.entities), tuple(reading.edges.values()), reading.notes()


class _Reading:
    """The graph of one text as it grows."""

    def __init__(self, ground: Ground, known: Mapping[str, str]) -> None:
        self.entities: list[FoundEntity] = []
        self.edges: dict[tuple[int, str, int, str], FoundEdge] = {}
        self._ground = ground
        self._known = {normalise(name): (name, kind) for name, kind in known.items()}
        self._at: dict[tuple[str, str], int] = {}
        self._named: dict[str, int] = {}
        self._nameless = self._loops = self._loose = 0

    def entity(self, row: Mapping[str, Any]) -> None:
        name, said = _line(row.get("name")), _line(row.get("type")).lower()
        kind = _TYPES.get(said, said) or UNKNOWN_TYPE
        if not _is_name(name):
            self._nameless += 1
            return
        aliases = tuple(
            dict.fromkeys(alias for alias in map(_line, row.get("aliases") or ()) if _is_name(alias) and alias != name)
        )
        span = self._ground.mention(name, aliases, row.get("quote"))
        self._add(FoundEntity(name, kind, aliases, _line(row.get("description")) or None, *span))

    def edge(self, row: Mapping[str, Any]) -> None:
        source, target = self._endpoint(row.get("source")), self._endpoint(row.get("target"))
        relation = _line(row.get("relation"))
        if source is None or target is None or not _is_name(relation):
            self._nameless += 1
            return
        if source == target:
            self._loops += 1
            return
        fact = _line(row.get("fact")) or f"{self.entities[source].name} {relation} {self.entities[target].name}"
        span = self._ground.statement(row.get("quote"), self._names(source), self._names(target))
        self._loose += span == (None, None)
        times = date_of(row.get("valid_at")), date_of(row.get("invalid_at"))
        if None not in times and times[0] > times[1]:  # type: ignore[operator]
            times = times[0], None
        key = (source, normalise(relation), target, normalise(fact))
        self.edges.setdefault(key, FoundEdge(source, relation, target, fact, *times, *span))

    def notes(self) -> tuple[str, ...]:
        said = (
            (self._nameless, "without a usable name or relation, left out"),
            (self._loops, "from a thing to itself, left out"),
            (self._loose, "with no quote that the text has, kept without a place"),
        )
        return tuple(f"extraction: {count} of the answer's items {what}" for count, what in said if count)

    def _add(self, entity: FoundEntity) -> int:
        key = (normalise(entity.name), normalise(entity.type))
        at = self._at.setdefault(key, len(self.entities))
        if at == len(self.entities):
            self.entities.append(entity)
        else:
            before = self.entities[at]
            aliases = tuple(dict.fromkeys((*before.aliases, *entity.aliases)))
            self.entities[at] = replace(before, aliases=aliases, description=before.description or entity.description)
        for name in (entity.name, *entity.aliases):
            self._named.setdefault(normalise(name), at)
        return at

    def _endpoint(self, said: Any) -> int | None:
        """The entity that a fact names: by name, by name and type, by number, else one that only it names."""
        name = _line(said)
        if not _is_name(name):
            return None
        typed = _TYPED.fullmatch(name)
        if (
            typed
            and (at := self._at.get((normalise(typed[1]), _TYPES.get(said := normalise(typed[2]), said)))) is not None
        ):
            return at
        at = self._named.get(normalise(name))
        if at is None and name.isdecimal() and int(name) < len(self.entities):
            at = int(name)
        return self._new(name) if at is None else at

    def _new(self, name: str) -> int:
        full, kind = self._known.get(normalise(name), (name, UNKNOWN_TYPE))
        return self._add(FoundEntity(full, kind, (), None, *self._ground.mention(name, (), None)))

    def _names(self, at: int) -> tuple[str, ...]:
        return (self.entities[at].name, *self.entities[at].aliases)


def date_of(said: Any) -> dt.datetime | None:
    """A moment from what a model wrote: a year and a month may stand alone; ``None`` for what is none.

    >>> date_of("2021").isoformat(), date_of("2021-02-30"), date_of("soon")
    ('2021-01-01T00:00:00+00:00', datetime.datetime(2021, 2, 28, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    text = _line(said)
    if not text:
        return None
    part = _DATE.fullmatch(text)
    if part:
        year, month = int(part[1]), min(max(int(part[2] or 1), 1), 12)
        if not dt.MINYEAR <= year <= dt.MAXYEAR:
            return None
        day = min(max(int(part[3] or 1), 1), calendar.monthrange(year, month)[1])
        return dt.datetime(year, month, day, tzinfo=dt.UTC)
    try:
        return moment(dt.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _line(said: Any) -> str:
    """A value as one line of text that can be stored."""
    if not isinstance(said, str):
        return ""
    return " ".join(said.encode("utf-8", "replace").decode().split())


def _is_name(name: str) -> bool:
    return bool(name) and len(name.encode()) <= NAME_LIMIT
