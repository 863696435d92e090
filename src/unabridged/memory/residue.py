"""What a deleted text leaves behind in what others support too: a description, an alias, a fact's words (case 41).

Nothing says whose words a description is made of, so its words tell: what stands in the deleted texts and in
none of those that still speak of it goes with them. What cannot be looked through in time goes as well. A
description or an alias is dropped; a fact is told anew in the words of a source that stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from unabridged.memory.schema import vector_column
from unabridged.memory.settle import changed_rows, fetch
from unabridged.memory.values import edge_key
from unabridged.memory.where import among, batched, both, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.commits import Draft, View
    from unabridged.memory.records import Edge, Entity, Link, LinkType

__all__ = ["Left", "redact", "reword"]

UNSAID = "is related to"  # a relation of which no source that stays has words
_SOURCES = 200  # texts looked through for one entity or fact: 200 chunks are a megabyte
_FACT = 500  # characters of a passage that a fact is told in: a sentence or two
_LONGEST = 80  # characters between two names that are a relation
# Words of three letters or more, and figures; of scripts without spaces each character.
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{_CJK}]|[^\W{_CJK}]{{3,}}|[^\W\d{_CJK}]*\d[^\W{_CJK}]*")


@dataclass
class Left:
    """What there is when the artifacts ``gone`` are: the view without them, and what the same commit adds."""

    view: View
    gone: set[str]
    entities: Mapping[str, Entity]
    texts: Mapping[str, str]
    fresh: Sequence[Link]

    @cached_property
    def said(self) -> frozenset[str]:
        """The words of what goes."""
        return frozenset[str]().union(*_words_of(self.view, self.gone).values())

    def links(self, type_: LinkType, ids: Iterable[str]) -> dict[str, list[Link]]:
        """The links to artifacts that stay, for each id, as many as are looked through."""
        found: dict[str, list[Link]] = {key: [] for key in ids}
        for link in self.fresh:
            if link.type == type_ and link.from_id in found:
                found[link.from_id].append(link)
        for part in batched(found):
            for link in self.view.records("links", both(equals("type", type_), among("from_id", part))):
                if link.to_id not in self.gone and len(found[link.from_id]) < _SOURCES:
                    found[link.from_id].append(link)
        return found

    def lost(self, links: Mapping[str, Sequence[Link]]) -> dict[str, frozenset[str]]:
        """For each id, the words of what goes that none of its links' artifacts has."""
        named = {link.to_id for each in links.values() for link in each}
        words = _words_of(self.view, named)
        words |= {artifact: _words(text) for artifact, text in self.texts.items()}
        return {
            key: self.said.difference(*(words[link.to_id] for link in each if link.to_id in words))
            for key, each in links.items()
        }


def redact(draft: Draft, entities: Iterable[str], left: Left) -> None:
    """Draft what changes of entities that stay."""
    stored = fetch(left.view, "entities", entities)
    now = {key: left.entities.get(key, entity) for key, entity in stored.items()}
    kept = {key: each for key, each in now.items() if each.description or each.aliases}
    if not kept:
        return
    lost = left.lost(left.links("entity_artifact", kept))
    after = [_without(entity, lost[key]) for key, entity in kept.items()]
    changed = [entity for entity in after if entity != kept[entity.id]]
    draft.merge("entities", changed_rows("entities", changed, ["aliases", "names", "description"]))


def _without(entity: Entity, lost: frozenset[str]) -> Entity:
    """The entity without what is made of words that nobody says any more; its name is its identity, and stays."""
    lost = lost - _words(entity.name)
    aliases = tuple(alias for alias in entity.aliases if not _words(alias) & lost)
    description = entity.description if entity.description and not _words(entity.description) & lost else None
    return replace(entity, aliases=aliases, description=description)


# -- facts --------------------------------------------------------------------------------------------


def reword(draft: Draft, edges: Mapping[str, Edge], left: Left) -> list[str]:
    """Draft the facts that stay in words that somebody still says; the ids of those that changed.

    The passage of a source that stays, else the two names and their relation. Their vectors were made of the
    words that go, and go too. ``edges`` are as the rest of the commit leaves them.
    """
    if not edges or not left.said:
        return []
    links = left.links("edge_artifact", edges)
    lost = left.lost(links)
    names = {key: entity.name for key, entity in _ends(left, edges.values()).items()}
    spoken = {
        key: edge
        for key, edge in edges.items()
        if links[key] and _words(f"{edge.relation} {edge.fact}") & _unnamed(lost[key], edge, names)
    }
    passages = _passages(left, [link for key in spoken for link in links[key]])
    ways = {}
    for key, edge in spoken.items():
        told = [said for link in links[key] if 0 < len(said := passages.get((link.to_id, link.start), "")) <= _FACT]
        ways[key] = _ways(edge, told, names, _unnamed(lost[key], edge, names))
    changed = _distinct(left.view, ways)
    draft.merge("edges", _rows(draft, changed))
    return [edge.id for edge in changed]


def _ends(left: Left, edges: Iterable[Edge]) -> dict[str, Entity]:
    return {**fetch(left.view, "entities", {end for e in edges for end in (e.source_id, e.target_id)}), **left.entities}


def _unnamed(lost: frozenset[str], edge: Edge, names: Mapping[str, str]) -> frozenset[str]:
    return lost.difference(*(_words(names[end]) for end in (edge.source_id, edge.target_id) if end in names))


def _ways(edge: Edge, passages: Sequence[str], names: Mapping[str, str], lost: frozenset[str]) -> list[Edge]:
    """The fact as it may be told, the best way first; the last one is nobody else's."""
    source, target = (names.get(end, end) for end in (edge.source_id, edge.target_id))
    relation = edge.relation
    if _words(relation) & lost:
        relation = next(filter(None, (_between(each, source, target) for each in passages)), UNSAID)
    plain = f"{source} {relation} {target}"
    told = [
        replace(edge, relation=relation, fact=fact, embedder=None)
        for fact in (*passages, plain, f"{plain} ({edge.id})")
    ]
    return [replace(e, key=edge_key(e.source_id, e.relation, e.target_id, e.fact)) for e in told]


def _distinct(view: View, ways: Mapping[str, Sequence[Edge]]) -> list[Edge]:
    """Of each fact the first way that no other fact is told in: a statement is stored once."""
    known = fetch(view, "edges", {way.key for each in ways.values() for way in each}, "key")
    taken = {edge.key for edge in known.values()}
    found = []
    for each in ways.values():
        found.append(next(way for way in each if way.key not in taken))
        taken.add(found[-1].key)
    return found


def _between(passage: str, source: str, target: str) -> str | None:
    """The words between two names, where a passage has both in this order and little between them."""
    pattern = rf"{re.escape(source)}\s+(.{{1,{_LONGEST}}}?)\s+{re.escape(target)}"
    found = re.search(pattern, passage, re.IGNORECASE)
    return found.group(1) if found else None


def _passages(left: Left, links: Sequence[Link]) -> dict[tuple[str, int | None], str]:
    """What each link's artifact says where it does, by artifact and start."""
    wanted = {link.to_id for link in links if link.end is not None}
    texts = {key: text for key, text in left.texts.items() if key in wanted}
    for part in batched(wanted - set(texts)):
        rows = left.view.rows("artifacts", among("id", part), ["id", "text"]).to_pydict()
        texts |= dict(zip(rows["id"], rows["text"], strict=True))
    raw = {key: text.encode("utf-8") for key, text in texts.items()}
    return {
        (link.to_id, link.start): raw[link.to_id][link.start : link.end].decode("utf-8")
        for link in links
        if link.to_id in raw and link.end is not None
    }


def _rows(draft: Draft, edges: Sequence[Edge]) -> pa.Table:
    rows = changed_rows("edges", edges, ["relation", "fact", "key", "embedder"])
    width = draft.settings.get("width")
    if not edges or not width:
        return rows
    return rows.append_column("vector", vector_column([None] * len(edges), width, draft.settings["vector_type"]))


# -- words --------------------------------------------------------------------------------------------


def _words_of(view: View, artifacts: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for part in batched(artifacts):
        rows = view.rows("artifacts", among("id", part), ["id", "text"]).to_pydict()
        found |= {id_: _words(text) for id_, text in zip(rows["id"], rows["text"], strict=True)}
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text.casefold()))
