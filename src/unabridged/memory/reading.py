"""Everything that can be read of a memory, from its newest head or from one that stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.artifacts import Artifacts
from unabridged.memory.graph import Contribution, Edges, Entities, Evidence, Links, Sessions, contribution, evidence

if TYPE_CHECKING:
    from unabridged.memory.commits import Source
    from unabridged.memory.records import Artifact, Edge, Entity

__all__ = ["Reader"]


class Reader:
    """The readable side: artifacts, entities, edges, links, sessions, and provenance both ways."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.artifacts = Artifacts(source)
        self.entities = Entities(source)
        self.edges = Edges(source)
        self.links = Links(source)
        self.sessions = Sessions(source)

    def slice(self, artifact: Artifact | str, start: int, end: int) -> str:
        """The bytes ``start:end`` of an artifact's UTF-8 text, exactly; an error if they cut a character."""
        return self.artifacts.slice(artifact, start, end)

    def evidence(self, subject: Entity | Edge | str) -> tuple[Evidence, ...]:
        """The artifacts that ground an entity or a fact, each with its document and the passage, if known."""
        return evidence(self.source, subject)

    def contribution(self, artifact: Artifact | str, *, whole: bool = True) -> Contribution:
        """The entities and facts that an artifact contributes; ``whole`` counts its chunks too."""
        return contribution(self.source, artifact, whole=whole)
