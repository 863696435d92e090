"""What a deleted text leaves behind in entities that others mention too: a description, an alias (case 41).

Nothing says whose words a description is made of, so its words tell: what stands in the deleted texts and in
none of those that still mention the entity goes with them. What cannot be looked through in time goes as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unabridged.memory.settle import changed_rows, fetch
from unabridged.memory.where import among, batched, both, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.commits import Draft, View
    from unabridged.memory.records import Entity, Link

__all__ = ["Left", "redact"]

_SOURCES = 200  # texts looked through for one entity: 200 chunks are a megabyte
# Words of three letters or more; of scripts without spaces each character.
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3,}")


@dataclass(frozen=True, slots=True)
class Left:
    """What there is when the artifacts ``gone`` are: the view without them, and what the same commit adds."""

    view: View
    gone: set[str]
    entities: Mapping[str, Entity]
    texts: Mapping[str, str]
    links: Sequence[Link]


def redact(draft: Draft, entities: Iterable[str], left: Left) -> None:
    """Draft what changes of entities that stay."""
    stored = fetch(left.view, "entities", entities)
    now = {key: left.entities.get(key, entity) for key, entity in stored.items()}
    kept = {key: each for key, each in now.items() if each.description or each.aliases}
    if not kept:
        return
    said = frozenset[str]().union(*_words_of(left.view, left.gone).values())
    sources = _sources(left, kept)
    words = _words_of(left.view, dict.fromkeys(each for ids in sources.values() for each in ids))
    words |= {artifact: _words(text) for artifact, text in left.texts.items()}
    after = [
        _without(entity, said.difference(*(words[each] for each in sources[key] if each in words)))
        for key, entity in kept.items()
    ]
    changed = [entity for entity in after if entity != kept[entity.id]]
    draft.merge("entities", changed_rows("entities", changed, ["aliases", "names", "description"]))


def _without(entity: Entity, lost: frozenset[str]) -> Entity:
    """The entity without what is made of words that nobody says any more; its name is its identity, and stays."""
    lost = lost - _words(entity.name)
    aliases = tuple(alias for alias in entity.aliases if not _words(alias) & lost)
    description = entity.description if entity.description and not _words(entity.description) & lost else None
    return replace(entity, aliases=aliases, description=description)


def _sources(left: Left, entities: Mapping[str, Entity]) -> dict[str, list[str]]:
    """The artifacts that still mention each entity, as many as are looked through."""
    found: dict[str, list[str]] = {key: [] for key in entities}
    for link in left.links:
        if link.type == "entity_artifact" and link.from_id in found:
            found[link.from_id].append(link.to_id)
    for part in batched(entities):
        where = both(equals("type", "entity_artifact"), among("from_id", part))
        rows = left.view.rows("links", where, ["from_id", "to_id"]).to_pydict()
        for entity, artifact in zip(rows["from_id"], rows["to_id"], strict=True):
            if artifact not in left.gone and len(found[entity]) < _SOURCES:
                found[entity].append(artifact)
    return found


def _words_of(view: View, artifacts: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for part in batched(artifacts):
        rows = view.rows("artifacts", among("id", part), ["id", "text"]).to_pydict()
        found |= {id_: _words(text) for id_, text in zip(rows["id"], rows["text"], strict=True)}
    return found


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text.casefold()))
