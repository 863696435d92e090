"""Deleting artifacts: what hangs from them goes too, what others support stays (SPEC A4, A9, A10).

One commit. A fact keeps its times and loses the deleted artifact as its creator; a fact or an entity
that nobody supports any more goes with its last source (or stays, under ``unsupported="keep"``); a
fact that a deleted artifact had closed is open again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unabridged.advice import counted
from unabridged.errors import InputError, NotFound
from unabridged.memory.residue import Left, redact, reword
from unabridged.memory.settle import changed_rows, fetch
from unabridged.memory.temporal import ended
from unabridged.memory.where import among, batched, both, either, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.commits import Draft, View
    from unabridged.memory.records import Edge, Entity, Link

__all__ = ["POLICIES", "Deletion", "checked_policy", "descendants", "remove", "withdraw"]

POLICIES = ("delete", "keep")
_OF_ARTIFACTS = ("entity_artifact", "edge_artifact", "contradiction")


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion removed, which facts it opened again, and which it told in a remaining source's words; by id."""

    artifacts: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    reopened: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    series: tuple[str, ...] = ()


def checked_policy(value: str) -> str:
    """``delete`` or ``keep``: what happens to facts that lose their last source."""
    if value not in POLICIES:
        raise InputError(f"unsupported: found {value!r}, expected one of {', '.join(POLICIES)}")
    return value


def descendants(view: View, roots: Iterable[str]) -> list[str]:
    """The roots and all that hangs from them, parents first."""
    found = dict.fromkeys(roots)
    level = list(found)
    while level:
        below: list[str] = []
        for part in batched(level):
            below += view.rows("artifacts", among("parent_id", part), ["id"])["id"].to_pylist()
        level = [each for each in below if each not in found]
        found.update(dict.fromkeys(level))
    return list(found)


def remove(
    draft: Draft,
    roots: Sequence[str],
    *,
    unsupported: str,
    fresh: Sequence[Link] = (),
    closed: Mapping[str, Edge] | None = None,
    entities: Mapping[str, Entity] | None = None,
    texts: Mapping[str, str] | None = None,
) -> Deletion:
    """Draft the deletion of artifacts.

    Of the same commit are ``fresh`` links, ``closed`` edges, ``entities`` as they are now, and ``texts`` of new
    artifacts by id.
    """
    roots = list(dict.fromkeys(roots))
    found = fetch_ids(draft.view, roots)
    if missing := len(roots) - len(found):
        is_ = "is" if missing == 1 else "are"
        raise NotFound(f"{missing} of {counted(len(roots), 'artifact')} to delete {is_} not in the dataset")
    doomed = descendants(draft.view, roots)
    removal = _Removal(draft, doomed, checked_policy(unsupported), fresh, closed or {})
    done = removal.run()
    left = Left(draft.view, set(doomed), entities or {}, texts or {}, fresh)
    redact(draft, removal.mentioned - set(done.entities), left)
    return replace(done, reworded=tuple(reword(draft, removal.stated(done.edges), left)))


def withdraw(draft: Draft, *, entities: Iterable[str] = (), edges: Iterable[str] = ()) -> Deletion:
    """Draft the removal of entities, with the facts at them, and of facts; the texts that state them stay.

    What a withdrawn fact had ended is open again.
    """
    view, asked_entities, asked_edges = draft.view, list(dict.fromkeys(entities)), list(dict.fromkeys(edges))
    known = fetch(view, "entities", asked_entities), fetch(view, "edges", asked_edges)
    if missing := len(asked_entities) + len(asked_edges) - len(known[0]) - len(known[1]):
        raise NotFound(f"{missing} of the entities and facts to withdraw are not in the dataset")
    doomed = dict(known[1])
    for part in batched(asked_entities):
        at = view.records("edges", either(among("source_id", part), among("target_id", part)))
        doomed |= {edge.id: edge for edge in at}
    return _Removal(draft, [], "delete", (), {}).withdraw(doomed, set(asked_entities))


def fetch_ids(view: View, ids: Iterable[str]) -> list[str]:
    """Those of the ids that artifacts have."""
    parts = (view.rows("artifacts", among("id", part), ["id"])["id"].to_pylist() for part in batched(ids))
    return [each for part in parts for each in part]


class _Removal:
    def __init__(
        self, draft: Draft, doomed: list[str], policy: str, fresh: Sequence[Link], closed: Mapping[str, Edge]
    ) -> None:
        self.draft = draft
        self.view = draft.view
        self.doomed = doomed
        self.gone = set(doomed)
        self.policy = policy
        self.fresh = fresh
        self.closed = closed
        self.supporters: dict[str, str] = {}
        self.mentioned: set[str] = set()
        self.edges: dict[str, Edge] = {}

    def run(self) -> Deletion:
        said = self._links("to_id", self.doomed, _OF_ARTIFACTS)
        self.edges = edges = self._edges(said)
        lost_edges = self._unsupported_edges(edges)
        lost_entities = self._unsupported_entities(said, [edges[e] for e in lost_edges])
        reopened = self._reopen(edges, said, lost_edges)
        self._forget(edges, lost_edges, reopened)
        self.mentioned = {link.from_id for link in said if link.type == "entity_artifact"}
        self._delete_links(lost_edges, lost_entities)
        for table, ids in (("artifacts", self.doomed), ("edges", lost_edges), ("entities", lost_entities)):
            self._delete(table, "id", ids)
        if self.policy == "keep":
            self.draft.set(kept_unsupported=True)  # verify() then expects facts without a source
        images = self._images()
        self._unanchor()
        return Deletion(
            tuple(self.doomed),
            tuple(sorted(lost_entities)),
            tuple(sorted(lost_edges)),
            tuple(images),
            tuple(edge.id for edge in reopened if edge.id not in lost_edges),
        )

    def stated(self, lost: Iterable[str]) -> dict[str, Edge]:
        """The facts that lose a source and keep another."""
        return {key: edge for key, edge in self.edges.items() if key in self.supporters and key not in lost}

    def withdraw(self, edges: dict[str, Edge], entities: set[str]) -> Deletion:
        """Remove facts and entities themselves, whoever states them."""
        lost = set(edges)
        reopened = self._reopen(edges, [], lost)
        self._forget(edges, lost, reopened)
        self._delete_links(lost, entities)
        self._delete("edges", "id", sorted(lost))
        self._delete("entities", "id", sorted(entities))
        return Deletion(
            entities=tuple(sorted(entities)), edges=tuple(sorted(lost)), reopened=tuple(edge.id for edge in reopened)
        )

    def _links(self, column: str, ids: Iterable[str], types: Sequence[str]) -> list[Link]:
        found: list[Link] = []
        for part in batched(dict.fromkeys(ids)):
            found += self.view.records("links", both(among("type", types), among(column, part)))
        return found

    def _delete(self, table: str, column: str, ids: Iterable[str], *more: str) -> None:
        for part in batched(ids):
            self.draft.delete(table, both(among(column, part), *more) or "false")

    # -- what loses its last source -----------------------------------------------------------------

    def _edges(self, said: Sequence[Link]) -> dict[str, Edge]:
        stated = [link.from_id for link in said if link.type == "edge_artifact"]
        return self._fetched(stated) | self._fetched(self.doomed, "artifact_id")

    def _fetched(self, ids: Iterable[str], column: str = "id") -> dict[str, Edge]:
        """Stored edges, as the rest of this commit leaves them."""
        found = fetch(self.view, "edges", ids, column)
        return {id_: self.closed.get(id_, edge) for id_, edge in found.items()}

    def _supported(self, type_: str, ids: Iterable[str]) -> dict[str, str]:
        """Of the ids, those that an artifact outside the deletion states, and one such artifact."""
        links = [*self._links("from_id", ids, [type_]), *(each for each in self.fresh if each.type == type_)]
        return {each.from_id: each.to_id for each in links if each.to_id not in self.gone}

    def _unsupported_edges(self, edges: dict[str, Edge]) -> set[str]:
        self.supporters = self._supported("edge_artifact", edges)
        return set() if self.policy == "keep" else set(edges) - set(self.supporters)

    def _unsupported_entities(self, said: Sequence[Link], lost: Sequence[Edge]) -> set[str]:
        if self.policy == "keep":
            return set()
        ends = [end for edge in lost for end in (edge.source_id, edge.target_id)]
        asked = {*ends, *(link.from_id for link in said if link.type == "entity_artifact")}
        alone = asked - set(self._supported("entity_artifact", asked))
        gone = {edge.id for edge in lost}
        for part in batched(alone):  # an end of a fact that stays is needed, whoever mentions it
            where = either(among("source_id", part), among("target_id", part))
            for edge in self.view.records("edges", where):
                alone -= set() if edge.id in gone else {edge.source_id, edge.target_id}
        return alone

    # -- what is open again ---------------------------------------------------------------------------

    def _reopen(self, edges: dict[str, Edge], said: Sequence[Link], lost: set[str]) -> list[Edge]:
        """Take away contradictions that nobody states any more; repoint those that somebody else does."""
        via = self._links("via_id", lost, ["contradiction"])
        lifted = {(c.from_id, c.to_id, c.via_id): c for c in (*said, *via) if c.type == "contradiction"}
        again = [replace(c, to_id=self.supporters[c.via_id]) for c in lifted.values() if c.via_id in self.supporters]
        self.draft.append("links", [c for c in again if c.from_id not in lost])
        affected = {c.from_id for c in lifted.values()} - lost
        edges |= self._fetched(affected - set(edges))
        left: dict[str, list[Link]] = {edge: [] for edge in affected}
        for c in (*self._links("from_id", affected, ["contradiction"]), *again, *self.fresh):
            stays = (c.from_id, c.to_id, c.via_id) not in lifted or c in again
            if c.type == "contradiction" and c.from_id in left and stays:
                left[c.from_id].append(c)
        return [after for e in affected if (after := ended(edges[e], left[e])) != edges[e]]

    def _forget(self, edges: dict[str, Edge], lost: set[str], reopened: Sequence[Edge]) -> None:
        """Write what changes of the edges that stay: their creator, their end."""
        after = {edge.id: edge for edge in reopened}
        for edge in edges.values():
            if edge.artifact_id in self.gone:
                after[edge.id] = replace(after.get(edge.id, edge), artifact_id=None)
        kept = [edge for edge in after.values() if edge.id not in lost]
        self.draft.merge("edges", changed_rows("edges", kept, ["artifact_id", "invalid_at", "expired_at"]))

    # -- rows -----------------------------------------------------------------------------------------

    def _delete_links(self, edges: set[str], entities: set[str]) -> None:
        self._delete("links", "to_id", self.doomed, among("type", _OF_ARTIFACTS))
        self._delete("links", "from_id", sorted(edges | entities))
        self._delete("links", "via_id", sorted(edges))

    def _images(self) -> list[str]:
        ids: list[str] = []
        for part in batched(self.doomed):
            ids += self.view.rows("images", among("artifact_id", part), ["id"])["id"].to_pylist()
        self._delete("images", "id", ids)
        self._delete("links", "to_id", ids, equals("type", "entity_image"))
        return ids

    def _unanchor(self) -> None:
        anchored = fetch(self.view, "series", self.doomed, "artifact_id")
        rows = [replace(series, artifact_id=None) for series in anchored.values()]
        self.draft.merge("series", changed_rows("series", rows, ["artifact_id"]))
