"""The reference memory server's graph on ours: its entities, relations and observations, each with a source.

An observation is an artifact that mentions its entity, an entity and a relation are stated by an artifact of
their own, so that what was written through these names can be recalled, traced, forgotten and exported like
everything else. Read through them, what other texts say of an entity shows as passages.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ToolError

from unabridged.memory.where import among, batched, both, either, equals, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory import Memory
    from unabridged.memory.commits import View
    from unabridged.memory.records import Artifact, Edge, Entity, Link

__all__ = ["Node", "ReferenceGraph", "Relation"]

MARK = "mcp"  # the metadata key of artifacts that were written through these names
MAX_NODES = 1000  # of one answer
_SHOWN = 200  # characters of a name in an error, for whoever sent it
_PASSAGE = 500  # characters of another text that are shown as an observation


@dataclass(frozen=True, slots=True)
class Node:
    """An entity as the reference server has it."""

    name: str
    type: str
    observations: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation, by the names of its ends."""

    source: str
    target: str
    type: str


class ReferenceGraph:
    """A memory, through the reference server's eyes. Entities are known by their names."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    # -- writing --------------------------------------------------------------------------------------

    def create_entities(self, nodes: Sequence[Node]) -> list[Node]:
        """Those that were new, in one commit."""
        fresh = {node.name: node for node in reversed(nodes) if not self._memory.entities.named(node.name)}
        made = [*fresh.values()][::-1]
        with self._memory.write() as tx:
            for node in made:
                base = tx.artifact(f"{node.name} ({node.type})", kind="memory", metadata={MARK: "entity"})
                tx.entity(node.name, node.type, artifact=base)
                for text in dict.fromkeys(node.observations):
                    said = tx.artifact(text, kind="memory", metadata={MARK: "observation"})
                    tx.entity(node.name, node.type, artifact=said)
        return made

    def create_relations(self, relations: Sequence[Relation]) -> list[Relation]:
        """Those that were new, in one commit; both ends must be there."""
        ends = {name: self._one(name) for each in relations for name in (each.source, each.target)}
        made = [each for each in dict.fromkeys(relations) if not self._edges(ends[each.source], each, ends)]
        with self._memory.write() as tx:
            for each in made:
                fact = f"{each.source} {each.type} {each.target}"
                base = tx.artifact(fact, kind="memory", metadata={MARK: "relation"})
                tx.edge(ends[each.source], each.type, ends[each.target], artifact=base, fact=fact)
        return made

    def add_observations(self, given: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The observations that were new, by the name of their entity, which must be there."""
        found = {name: self._one(name) for name in given}
        known = self._observations(found.values())
        added: dict[str, list[str]] = {}
        with self._memory.write() as tx:
            for name, texts in given.items():
                added[name] = [text for text in dict.fromkeys(texts) if text not in known[found[name].id]]
                for text in added[name]:
                    said = tx.artifact(text, kind="memory", metadata={MARK: "observation"})
                    tx.mention(found[name], said)
        return added

    # -- removing -------------------------------------------------------------------------------------

    def delete_entities(self, names: Iterable[str]) -> int:
        """Entities with their observations and relations; how many there were. What other texts say stays text."""
        ids = [each.id for name in dict.fromkeys(names) for each in self._memory.entities.named(name)]
        edges = [edge for id_ in ids for edge in self._at(id_)]
        own = self._own([*ids, *(edge.id for edge in edges)])
        if ids:
            self._memory.withdraw(entities=ids)
            self._delete(own)
        return len(ids)

    def delete_observations(self, given: Mapping[str, Sequence[str]]) -> int:
        """Observations by their texts; how many there were."""
        doomed: list[str] = []
        for name, texts in given.items():
            for entity in self._memory.entities.named(name):
                said = self._said([entity.id])
                doomed += [a.id for a, _ in said[entity.id] if _mark(a) == "observation" and a.text in texts]
        self._delete(doomed)
        return len(doomed)

    def delete_relations(self, relations: Sequence[Relation]) -> int:
        """Relations, whoever states them; how many there were."""
        ends = {name: self._memory.entities.named(name) for r in relations for name in (r.source, r.target)}
        edges = [
            edge
            for each in relations
            for source in ends[each.source]
            for edge in self._memory.edges.list(source=source, relation=each.type, include_history=True, limit=1000)
            if edge.target_id in {entity.id for entity in ends[each.target]}
        ]
        own = self._own([edge.id for edge in edges])
        if edges:
            self._memory.withdraw(edges=edges)
            self._delete(own)
        return len(edges)

    # -- reading --------------------------------------------------------------------------------------

    def read(self) -> tuple[list[Node], list[Relation], bool]:
        """The whole graph, oldest first; whether there is more of it than fits an answer."""
        page = self._memory.entities.list(limit=MAX_NODES)
        return (*self._shown(page.items), page.cursor is not None)

    def open(self, names: Sequence[str]) -> tuple[list[Node], list[Relation]]:
        """The entities of these names, and the relations at them."""
        found = {each.id: each for name in names for each in self._memory.entities.named(name)}
        return self._shown([*found.values()][:MAX_NODES])

    def search(self, query: str) -> tuple[list[Node], list[Relation]]:
        """The entities whose name, type or observation holds the query, else any of its words; all for none."""
        words = query.split()
        if not words:
            return self._shown(self._memory.entities.list(limit=MAX_NODES).items)
        telling = [word for word in words if len(word) > 2 or not word.isascii()]  # no "or", no "to"
        found = self._holding([query.strip()]) or (self._holding(telling) if telling else [])
        return self._shown(found[:MAX_NODES])

    # -- parts ----------------------------------------------------------------------------------------

    def _one(self, name: str) -> Entity:
        found = self._memory.entities.named(name)
        if not found:
            raise ToolError(f"Entity with name {name[:_SHOWN]} not found: create_entities makes it")
        return found[0]

    def _at(self, entity: str) -> list[Edge]:
        found: list[Edge] = []
        cursor = None
        while True:
            page = self._memory.edges.list(entity=entity, include_history=True, limit=1000, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found

    def _edges(self, source: Entity, relation: Relation, ends: Mapping[str, Entity]) -> list[Edge]:
        target = ends[relation.target]
        return [*self._memory.edges.list(source=source, target=target, relation=relation.type, limit=1)]

    def _own(self, subjects: Sequence[str]) -> list[str]:
        """The artifacts that were written for these entities and facts, and state nothing else."""
        said = self._said(subjects)
        return [*dict.fromkeys(a.id for parts in said.values() for a, _ in parts if _mark(a))]

    def _delete(self, artifacts: Sequence[str]) -> None:
        if artifacts:
            self._memory.delete(artifacts)

    def _said(self, subjects: Sequence[str]) -> Mapping[str, list[tuple[Artifact, Link]]]:
        """For each subject, the artifacts that state or mention it, oldest first."""

        def ask(view: View) -> Mapping[str, list[tuple[Artifact, Link]]]:
            links: list[Link] = []
            for part in batched(subjects):
                types = among("type", ["entity_artifact", "edge_artifact"])
                links += view.records("links", both(types, among("from_id", part)))
            by_id: dict[str, Artifact] = {}
            for part in batched(dict.fromkeys(link.to_id for link in links)):
                by_id |= {record.id: record for record in view.records("artifacts", among("id", part))}
            found: dict[str, list[tuple[Artifact, Link]]] = defaultdict(list)
            for link in sorted(links, key=lambda each: (by_id[each.to_id].created_at, each.to_id)):
                found[link.from_id].append((by_id[link.to_id], link))
            return found

        return self._memory.source.ask(ask)

    def _observations(self, entities: Iterable[Entity]) -> Mapping[str, list[str]]:
        said = self._said([entity.id for entity in entities])
        return defaultdict(list, {id_: _texts(parts) for id_, parts in said.items()})

    def _shown(self, entities: Sequence[Entity]) -> tuple[list[Node], list[Relation]]:
        said = self._said([each.id for each in entities])
        # Those of one commit share their time: the texts that state them were written in order.
        listed = sorted(entities, key=lambda e: (e.created_at, *(a.id for a, _ in said.get(e.id, [])[:1])))
        nodes = [Node(each.name, each.type, tuple(_texts(said.get(each.id, ())))) for each in listed]
        return nodes, self._relations([each.id for each in listed])

    def _relations(self, ids: Sequence[str]) -> list[Relation]:
        from unabridged.memory.temporal import holds_where

        def ask(view: View) -> list[Edge]:
            found: dict[str, Edge] = {}
            for part in batched(ids):
                ends = either(among("source_id", part), among("target_id", part))
                found |= {edge.id: edge for edge in view.records("edges", both(holds_where(), ends))}
            return sorted(found.values(), key=lambda edge: (edge.created_at, edge.id))

        edges = self._memory.source.ask(ask)
        asked = dict.fromkeys(end for edge in edges for end in (edge.source_id, edge.target_id))
        names = {each.id: each.name for each in self._memory.entities.many([*asked])}
        return [Relation(names[edge.source_id], names[edge.target_id], edge.relation) for edge in edges]

    def _holding(self, words: Sequence[str]) -> list[Entity]:
        """Entities whose name, type or observations hold one of the words, whatever its case."""
        wanted = [word.lower() for word in words]

        def ask(view: View) -> dict[str, Entity]:
            named = either(*(_holds(column, word) for word in wanted for column in ("name", "type")))
            found = {each.id: each for each in view.records("entities", named, limit=MAX_NODES)}
            texts = either(*(_holds("text", word) for word in wanted))
            said = view.rows("artifacts", both(equals("kind", "memory"), texts), ["id"], limit=MAX_NODES)
            links = view.rows(
                "links", both(equals("type", "entity_artifact"), among("to_id", said["id"].to_pylist())), ["from_id"]
            )
            more = dict.fromkeys(links["from_id"].to_pylist())
            for part in batched(more):
                found |= {each.id: each for each in view.records("entities", among("id", part))}
            return found

        found = self._memory.source.ask(ask)
        return sorted(found.values(), key=lambda each: (each.created_at, each.id))


def _holds(column: str, word: str) -> str:
    return f"contains(lower(`{column}`), {literal(word)})"


def _mark(artifact: Artifact) -> Any:
    return artifact.metadata.get(MARK)


def _texts(parts: Iterable[tuple[Artifact, Link]]) -> list[str]:
    """The observations among what mentions an entity; of other texts the passage, or where to find it."""
    found: dict[str, None] = {}
    for artifact, link in parts:
        mark = _mark(artifact)
        if mark == "observation":
            found[artifact.text] = None
        elif not mark:
            found[_passage(artifact, link)] = None
    return [*found]


def _passage(artifact: Artifact, link: Link) -> str:
    if len(artifact.text) <= _PASSAGE:
        return artifact.text
    place = f"artifact {artifact.id}"
    return f"mentioned in {place}" if link.start is None else f"mentioned in {place}, bytes {link.start}:{link.end}"
