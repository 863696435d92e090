"""A document cut anew: which chunks stay, which are new, and what hung from the old ones hangs from now.

A chunk of the same bytes keeps its row, its vector, its graph and its summary. Whatever said a fact in an
old chunk says it in the new one that holds the same bytes of the document, so no fact loses its source, and
none that was closed opens again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from unabridged.embedding.pooling import pool
from unabridged.memory.filling import lay
from unabridged.memory.gather import Gathered
from unabridged.memory.settle import changed_rows, fetch
from unabridged.memory.vectors import claim
from unabridged.memory.where import among, batched, both, equals
from unabridged.text.documents.model import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from unabridged.memory.commits import Draft, View
    from unabridged.memory.records import Artifact, Link
    from unabridged.types import Chunk

__all__ = ["Recut", "Splitter", "draft_recuts", "plan_recut"]

_SAID = ("entity_artifact", "edge_artifact", "contradiction")
# What a splitter says of a chunk, which a kept one takes over.
_CUT = ("splitter", "chunk_index", "tokens", "overlap_tokens", "page", "section", "block_id")


class Splitter(Protocol):
    """How documents are cut now: a name (part of every chunk's row, SPEC K6) and the cut itself."""

    @property
    def name(self) -> str:
        """The fingerprint of the splitter and its settings."""
        ...

    def chunks(self, document: Document) -> tuple[Chunk, ...]:
        """The chunks of a text; none for one that fits."""
        ...


class _Unit(NamedTuple):
    """What facts hang from, and which bytes of the document it holds."""

    id: str
    start: int
    end: int

    def shares(self, start: int, end: int) -> int:
        return min(self.end, end) - max(self.start, start)


@dataclass(frozen=True, slots=True)
class Recut:
    """One document's change. ``texts`` are what is to be embedded for it, by id."""

    document: Artifact
    old: tuple[Artifact, ...] = ()
    kept: tuple[Artifact, ...] = ()
    new: tuple[Artifact, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def gone(self) -> list[str]:
        """The chunks that are no more."""
        stay = {each.id for each in self.kept}
        return [each.id for each in self.old if each.id not in stay]

    def units(self, chunks: Iterable[Artifact]) -> list[_Unit]:
        """The chunks as units, or the document itself where there are none."""
        found = [_Unit(c.id, c.start_offset or 0, c.end_offset or 0) for c in chunks]
        return found or [_Unit(self.document.id, 0, len(self.document.text.encode()))]


def plan_recut(document: Artifact, old: Sequence[Artifact], splitter: Splitter, *, limit: int) -> Recut | None:
    """What a splitter makes of a document that has the chunks ``old``; ``None`` if that is what it is."""
    made = splitter.chunks(Document(document.text))
    title = _title(old)
    before = {(c.start_offset, c.end_offset): c for c in old}
    gathered, kept, new = Gathered(limit), [], []
    pending = bool(old) and any(chunk.processed_at is None for chunk in old)
    for chunk in made:
        processed = None if pending else (old[0] if old else document).processed_at
        record = gathered.chunk(document, chunk, splitter=splitter.name, processed_at=processed)
        if title and record.lexical is None:
            record = replace(record, lexical=title + record.text)
        same = before.get((chunk.start_byte, chunk.end_byte))
        if same is not None and same.search_text == record.search_text:
            kept.append(replace(same, **{name: getattr(record, name) for name in _CUT}))
        else:
            new.append(record)
    if tuple(kept) == tuple(sorted(old, key=lambda c: c.chunk_index or 0)) and not new:
        return None
    texts = {record.id: record.search_text for record in new}
    if old and not made:
        texts[document.id] = document.search_text  # it fits now: its vector is its own
    return Recut(document, tuple(old), tuple(kept), tuple(new), texts)


def _title(old: Sequence[Artifact]) -> str:
    """What stands before the text of every chunk for search, such as the document's title (SPEC K3)."""
    heads = {c.lexical.removesuffix(c.text) if c.lexical and c.lexical.endswith(c.text) else "" for c in old}
    return heads.pop() if len(heads) == 1 and len(old) > 1 else ""


def draft_recuts(draft: Draft, recuts: Sequence[Recut], vectors: Mapping[str, Any], fingerprint: str | None) -> int:
    """Draft the change of some documents; those that changed since they were planned are left for the next turn."""
    plans = _unchanged(draft.view, recuts)
    if vectors and plans and fingerprint is not None:
        claim(draft, len(next(iter(vectors.values()))), fingerprint)
    for plan in plans:
        named = [replace(one, embedder=fingerprint if one.id in vectors else None) for one in plan.new]
        draft.append("artifacts", named, [vectors.get(one.id) for one in plan.new])
        draft.merge("artifacts", changed_rows("artifacts", plan.kept, _CUT))
    targets = {old.id: where for plan in plans for where in [_Targets(plan)] for old in _lost(plan)}
    _relink(draft, targets)
    gone = [name for plan in plans for name in plan.gone]
    _reparent(draft, {name: targets[name] for name in gone})
    for part in batched(gone):
        draft.delete("artifacts", among("id", part))
    if fingerprint is not None:
        _document_vectors(draft, plans, vectors, fingerprint)
    return len(plans)


def _unchanged(view: View, recuts: Sequence[Recut]) -> list[Recut]:
    found: dict[str, set[str]] = {}
    documents: set[str] = set()
    for part in batched(plan.document.id for plan in recuts):
        documents |= set(view.rows("artifacts", among("id", part), ["id"])["id"].to_pylist())
        rows = view.rows("artifacts", both(equals("role", "chunk"), among("parent_id", part)), ["id", "parent_id"])
        for name, parent in zip(rows["id"].to_pylist(), rows["parent_id"].to_pylist(), strict=True):
            found.setdefault(parent, set()).add(name)
    return [
        plan
        for plan in recuts
        if plan.document.id in documents and found.get(plan.document.id, set()) == {one.id for one in plan.old}
    ]


def _lost(plan: Recut) -> list[_Unit]:
    """The units from which nothing may hang any more."""
    after = {unit.id for unit in plan.units([*plan.kept, *plan.new])}
    return [unit for unit in plan.units(plan.old) if unit.id not in after]


class _Targets:
    """Where what hung from the old units of a document hangs now."""

    def __init__(self, plan: Recut) -> None:
        self._before = {unit.id: unit for unit in plan.units(plan.old)}
        self._after = sorted(plan.units([*plan.kept, *plan.new]), key=lambda unit: unit.start)

    def largest(self, old: str) -> str:
        """The new unit that shares most with an old one."""
        unit = self._before[old]
        return max(self._after, key=lambda new: new.shares(unit.start, unit.end)).id

    def move(self, link: Link) -> Link:
        """A link to the new unit that holds its bytes: all of them, or most (then without a place)."""
        unit = self._before[link.to_id]
        if link.start is None or link.end is None:
            return replace(link, to_id=self.largest(link.to_id))
        begin, stop = unit.start + link.start, unit.start + link.end
        for new in self._after:
            if new.start <= begin and stop <= new.end:
                return replace(link, to_id=new.id, start=begin - new.start, end=stop - new.start)
        most = max(self._after, key=lambda new: new.shares(begin, stop))
        return replace(link, to_id=most.id, start=None, end=None)


def _relink(draft: Draft, targets: Mapping[str, _Targets]) -> None:
    """Who stated something in a chunk that goes states it in the one that has its bytes."""
    moved: dict[str, str] = {}  # edge -> the unit that states it now
    for part in batched(targets):
        links = draft.view.records("links", both(among("type", _SAID), among("to_id", part)))
        after = [targets[link.to_id].move(link) for link in links]
        stated = [link for link in after if link.type == "edge_artifact"]
        moved |= {link.from_id: link.to_id for link in stated}
        known = _known(draft.view, {link.to_id for link in after})
        said = _once([*after, *_mentions(draft.view, stated)])
        draft.append("links", [link for key, link in said.items() if key not in known])
        draft.delete("links", both(among("type", _SAID), among("to_id", part)) or "false")
        edges = draft.view.records("edges", among("artifact_id", part))
        created = [
            replace(edge, artifact_id=moved.get(edge.id) or targets[edge.artifact_id].largest(edge.artifact_id))
            for edge in edges
        ]
        draft.merge("edges", changed_rows("edges", created, ["artifact_id"]))


def _mentions(view: View, stated: Sequence[Link]) -> Iterator[Link]:
    """Who states a fact mentions both its ends, wherever else they are mentioned (promise 11)."""
    edges = fetch(view, "edges", [link.from_id for link in stated])
    for link in stated:
        edge = edges[link.from_id]
        for end in dict.fromkeys((edge.source_id, edge.target_id)):
            yield replace(link, type="entity_artifact", from_id=end, start=None, end=None)


def _key(link: Link) -> tuple[str, str, str, str | None]:
    return link.type, link.from_id, link.to_id, link.via_id


def _once(links: Iterable[Link]) -> dict[tuple[str, str, str, str | None], Link]:
    """One link for each statement, the one with a place if there is one: two overlapping chunks became one."""
    found: dict[tuple[str, str, str, str | None], Link] = {}
    for link in links:
        if _key(link) not in found or found[_key(link)].start is None:
            found[_key(link)] = link
    return found


def _known(view: View, units: Iterable[str]) -> set[tuple[str, str, str, str | None]]:
    """What kept chunks state already."""
    found: set[tuple[str, str, str, str | None]] = set()
    for part in batched(units):
        found |= {_key(link) for link in view.records("links", both(among("type", _SAID), among("to_id", part)))}
    return found


def _reparent(draft: Draft, targets: Mapping[str, _Targets]) -> None:
    """A summary of a chunk that is gone goes with it; what else was made from it hangs from its successor."""
    for part in batched(targets):
        children = [c for c in draft.view.records("artifacts", among("parent_id", part)) if not c.is_chunk]
        gone = [c.id for c in children if c.role == "summary"]
        stay = [
            replace(c, parent_id=targets[c.parent_id].largest(c.parent_id)) for c in children if c.role != "summary"
        ]
        draft.merge("artifacts", changed_rows("artifacts", stay, ["parent_id"]))
        if gone:
            draft.delete("artifacts", among("id", gone))
        for table in ("images", "series"):
            anchored = draft.view.records(table, among("artifact_id", part))
            rows = [replace(one, artifact_id=targets[one.artifact_id].largest(one.artifact_id)) for one in anchored]
            draft.merge(table, changed_rows(table, rows, ["artifact_id"]))


def _document_vectors(draft: Draft, plans: Sequence[Recut], vectors: Mapping[str, Any], fingerprint: str) -> None:
    """A document's one vector is that of its chunks, by the tokens that each alone brings (SPEC L4, A15)."""
    if draft.settings.get("width") is None:
        return
    made: dict[str, Any] = {}
    for plan in plans:
        if plan.document.embedder is None:
            continue
        if plan.document.id in vectors:
            made[plan.document.id] = vectors[plan.document.id]
            continue
        # Stored vectors of another model, whose columns go with this very commit, are none of theirs.
        found = vectors if draft.dropped else {**_stored(draft.view, [one.id for one in plan.kept]), **vectors}
        chunks = [*plan.kept, *plan.new]
        if chunks and all(one.id in found for one in chunks):
            weights = [max((one.tokens or 0) - (one.overlap_tokens or 0), 1) for one in chunks]
            made[plan.document.id] = pool(np.stack([found[one.id] for one in chunks]), weights)
    if made:
        lay(draft, "artifacts", made, fingerprint)


def _stored(view: View, ids: Sequence[str]) -> dict[str, Any]:
    from unabridged.memory.vectors import vectors_in

    if not ids or view.settings.get("width") is None:
        return {}
    return vectors_in(view.rows("artifacts", among("id", ids), ["id", "vector"]))
