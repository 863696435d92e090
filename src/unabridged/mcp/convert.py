"""Records of the memory -> answers of the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.mcp.answers import Fact, Named, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from unabridged.memory.graph import Evidence
    from unabridged.memory.reading import Reader
    from unabridged.memory.recall.data import Citation
    from unabridged.memory.records import Edge, Entity

__all__ = ["EXCERPT", "SOURCES", "cited", "excerpt", "facts", "source", "told"]

SOURCES = 3  # of a hit or of a fact; some have hundreds
EXCERPT = 300  # characters: two or three sentences, by which an agent knows whether it wants the whole


def excerpt(text: str) -> str:
    """The beginning of a text, marked as such where it goes on.

    >>> excerpt("short"), len(excerpt("long " * 100)), excerpt("long " * 100)[-1]
    ('short', 301, '…')
    """
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


def told(entity: Entity) -> Named:
    """An entity."""
    return Named(id=entity.id, name=entity.name, type=entity.type, description=entity.description)


def _names_of(memory: Reader, edges: Iterable[Edge], known: Iterable[Entity] = ()) -> dict[str, str]:
    """The names of the entities at both ends of some edges, by id."""
    names = {entity.id: entity.name for entity in known}
    asked = dict.fromkeys(end for edge in edges for end in (edge.source_id, edge.target_id) if end not in names)
    return names | {entity.id: entity.name for entity in memory.entities.many(list(asked))}


def facts(memory: Reader, edges: Iterable[Edge], known: Iterable[Entity] = ()) -> list[Fact]:
    """Facts, with the names of what they are about."""
    listed = list(edges)
    names = _names_of(memory, listed, known)
    return [_fact(edge, names) for edge in listed]


def _fact(edge: Edge, names: Mapping[str, str]) -> Fact:
    return Fact(
        id=edge.id,
        source=names.get(edge.source_id, edge.source_id),
        relation=edge.relation,
        target=names.get(edge.target_id, edge.target_id),
        fact=edge.fact,
        valid_at=edge.valid_at,
        invalid_at=edge.invalid_at,
    )


def source(evidence: Evidence) -> Source:
    """A place that grounds something."""
    given: dict[str, Any] = {"artifact_id": evidence.artifact.id, "document_id": evidence.document.id}
    given |= {"start": evidence.link.start, "end": evidence.link.end, "quote": evidence.quote}
    given |= {name: getattr(evidence.artifact, name) for name in ("source", "session_id", "valid_at", "created_at")}
    return Source(**given)


def cited(citation: Citation) -> Source:
    """The same, of a recall, with the beginning of what it quotes."""
    given = {name: getattr(citation, name) for name in Source.model_fields}
    return Source(**{**given, "quote": excerpt(citation.quote) if citation.quote else None})
