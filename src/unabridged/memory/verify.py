"""Every promise, checked on a live dataset: a report of named checks, and an exit code.

Reads one registered state, so it can run beside writers. Texts and vectors are read in batches; what
is held in memory is ids and links (about 200 bytes each).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.advice import counted
from unabridged.errors import StoreError
from unabridged.memory.beyond import beyond
from unabridged.memory.gather import checked_kind
from unabridged.memory.records import KINDS, LINK_TYPES, RESERVED, Edge, Link
from unabridged.memory.schema import SCHEMA_VERSION, TABLES, VECTOR_TABLES
from unabridged.memory.soundness import Check, check, opened, sound
from unabridged.memory.stats import Coverage, vector_coverage
from unabridged.memory.temporal import ended
from unabridged.memory.values import edge_key, entity_id
from unabridged.memory.where import equals, not_null

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.commits import View
    from unabridged.memory.memory import Memory

__all__ = ["Check", "Report", "verify"]


@dataclass(frozen=True, slots=True)
class Report:
    """What :meth:`Memory.verify` found; ``notes`` are worth knowing and break no promise."""

    dataset: str
    seq: int
    checks: tuple[Check, ...]
    vectors: Mapping[str, Coverage]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every promise holds."""
        return all(check.ok for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 if every promise holds, else 1."""
        return 0 if self.ok else 1

    def raise_if_broken(self) -> None:
        """Raise a :class:`~unabridged.errors.StoreError` that names what is broken."""
        if not self.ok:
            said = "; ".join(f"{c.name}: {c.broken} of {c.checked}" for c in self.checks if not c.ok)
            count = sum(not c.ok for c in self.checks)
            raise StoreError(f"{counted(count, 'promise is', 'promises are')} broken: {said}")


def verify(memory: Memory) -> Report:
    """Check every promise on the live dataset; of one that is damaged, what is damaged."""
    there = opened(memory.store.view())
    if not there.ok:
        return _damage(memory, memory.store.view(), [there])
    with memory.store.pinned() as view:
        whole = [there, *sound(memory.store, view)]
        if not all(each.ok for each in whole):
            return _damage(memory, view, whole)
        facts = _Facts(view)
        checks = [found for each in _CHECKS for found in each(facts)]
        files, notes = _files(memory, view)
        past = beyond(memory.store)
        return Report(
            dataset=memory.name,
            seq=view.head.seq,
            checks=(*whole, past.check, *checks, files, _points(view)),
            vectors=vector_coverage(view),
            notes=(*past.notes, *notes),
        )


def _damage(memory: Memory, view: View, checks: Sequence[Check]) -> Report:
    """What can be said of a dataset that cannot be read whole."""
    note = "cannot be read whole: bring its files back or restore a snapshot (indexes: purge); nothing else was checked"
    return Report(dataset=memory.name, seq=view.head.seq, checks=tuple(checks), vectors={}, notes=(note,))


@dataclass
class _Facts:
    """The narrow columns of every table, read once."""

    view: View
    columns: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def table(self, name: str, *columns: str) -> dict[str, list[Any]]:
        """Some columns of a table."""
        have = self.columns.setdefault(name, {})
        missing = [column for column in columns if column not in have]
        if missing:
            have.update(self.view.rows(name, None, missing).to_pydict())
        return have

    def ids(self, name: str) -> set[str]:
        """The ids of a table."""
        return set(self.table(name, "id")["id"])

    def links(self, type_: str) -> list[tuple[str, str]]:
        """The (from, to) pairs of a link type."""
        rows = self.table("links", "type", "from_id", "to_id")
        return [
            (f, t) for kind, f, t in zip(rows["type"], rows["from_id"], rows["to_id"], strict=True) if kind == type_
        ]


# -- identities -------------------------------------------------------------------------------------


def _identities(facts: _Facts) -> Iterator[Check]:
    yield check("schema", 1, [] if facts.view.settings.get("schema") == SCHEMA_VERSION else ["settings"])
    for table in TABLES:
        if table != "links":
            ids = facts.table(table, "id")["id"]
            yield check(f"{table}: ids are unique", len(ids), [i for i, n in Counter(ids).items() if n > 1])
    rows = facts.table("links", "type", "from_id", "to_id", "via_id")
    keys = list(zip(rows["type"], rows["from_id"], rows["to_id"], rows["via_id"], strict=True))
    yield check("links: are unique", len(keys), [k[1] for k, n in Counter(keys).items() if n > 1])
    yield check("links: types are known", len(keys), [k[1] for k in keys if k[0] not in LINK_TYPES])
    entities = facts.table("entities", "id", "name", "type")
    wrong = (
        [i for i, name, kind in zip(*entities.values(), strict=True) if i != entity_id(name, kind)] if entities else []
    )
    yield check("entities: one for each name and type", len(entities["id"]), wrong)


# -- artifacts --------------------------------------------------------------------------------------

_CHAIN = ("id", "role", "kind", "parent_id", "document_id", "session_id", "valid_at", "created_at", "chunk_index")


def _artifacts(facts: _Facts) -> Iterator[Check]:
    columns = facts.table("artifacts", *_CHAIN)
    rows = {row[0]: dict(zip(_CHAIN, row, strict=True)) for row in zip(*(columns[c] for c in _CHAIN), strict=True)}
    n = len(rows)
    yield check("artifacts: parents are there", n, [r["id"] for r in rows.values() if not _has_parent(r, rows)])
    yield check("artifacts: documents are roots", n, [r["id"] for r in rows.values() if not _has_root(r, rows)])
    yield check("artifacts: kinds fit roles", n, [r["id"] for r in rows.values() if not _kind_fits(r)])
    chunks = [r for r in rows.values() if r["role"] == "chunk"]
    same = ("kind", "session_id", "valid_at", "created_at")
    odd = [r["id"] for r in chunks if any(r[c] != rows.get(r["parent_id"], r)[c] for c in same)]
    yield check("chunks: kind, session and times are their document's", len(chunks), odd)
    spots = Counter((r["parent_id"], r["chunk_index"]) for r in chunks)
    yield check("chunks: positions are unique", len(chunks), [p for (p, _), k in spots.items() if k > 1])
    yield from _slices(facts, len(chunks))
    sessions = facts.ids("sessions")
    named = [r for r in rows.values() if r["session_id"] is not None]
    yield check(
        "artifacts: sessions are there", len(named), [r["id"] for r in named if r["session_id"] not in sessions]
    )


def _has_parent(row: Mapping[str, Any], rows: Mapping[str, Any]) -> bool:
    return row["parent_id"] in rows if row["role"] != "document" or row["parent_id"] else row["document_id"] is None


def _has_root(row: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> bool:
    """Climbing from a row ends at its document, without a circle."""
    at, seen = row, set()
    while at["parent_id"] is not None:
        if at["id"] in seen or at["parent_id"] not in rows:
            return False
        seen.add(at["id"])
        at = rows[at["parent_id"]]
    return bool(row["document_id"] == (None if at is row else at["id"]))


def _kind_fits(row: Mapping[str, Any]) -> bool:
    kind, role = row["kind"], row["role"]
    if kind in RESERVED:
        return RESERVED[kind] == role and row["chunk_index"] is None
    return role in {"document", "chunk"} and kind in KINDS and kind == checked_kind(kind)


def _slices(facts: _Facts, chunks: int) -> Iterator[Check]:
    """Each chunk is its parent's bytes at its offsets; parents are read a batch at a time."""
    wanted = ["id", "parent_id", "text", "start_offset", "end_offset"]
    broken: list[str] = []
    for parents in facts.view["artifacts"].batches(None, ["id", "text"], rows=512):
        texts = dict(zip(parents["id"].to_pylist(), parents["text"].to_pylist(), strict=True))
        below = set(facts.table("artifacts", "parent_id")["parent_id"]) & texts.keys()
        if below:
            broken += _torn(facts.view, {i: texts[i].encode("utf-8") for i in below}, wanted)
    yield check("chunks: are their parent's bytes", chunks, broken)


def _torn(view: View, parents: Mapping[str, bytes], wanted: list[str]) -> list[str]:
    from unabridged.memory.where import among, both

    rows = view.rows("artifacts", both(equals("role", "chunk"), among("parent_id", parents)), wanted)
    columns = [rows[name].to_pylist() for name in wanted]
    return [i for i, parent, text, a, b in zip(*columns, strict=True) if parents[parent][a:b] != text.encode("utf-8")]


# -- the graph --------------------------------------------------------------------------------------


def _provenance(facts: _Facts) -> Iterator[Check]:
    artifacts, entities, edges = (facts.ids(t) for t in ("artifacts", "entities", "edges"))
    ends: dict[str, tuple[set[str], set[str]]] = {
        "entity_artifact": (entities, artifacts),
        "edge_artifact": (edges, artifacts),
        "entity_session": (entities, facts.ids("sessions")),
        "edge_session": (edges, facts.ids("sessions")),
        "contradiction": (edges, artifacts),
        "entity_image": (entities, facts.ids("images")),
    }
    for type_, (sources, targets) in ends.items():
        pairs = facts.links(type_)
        yield check(
            f"links: {type_} has both its ends",
            len(pairs),
            [f for f, t in pairs if f not in sources or t not in targets],
        )
    kept = facts.view.settings.get("kept_unsupported", False)
    for table, type_, ids in (("entities", "entity_artifact", entities), ("edges", "edge_artifact", edges)):
        alone = ids - {f for f, _ in facts.links(type_)}
        yield check(f"{table}: have a source", len(ids), [] if kept else alone)
    yield from _edges(facts, artifacts, entities, edges)


_EDGE = ("id", "source_id", "relation", "target_id", "fact", "key", "artifact_id")


def _edges(facts: _Facts, artifacts: set[str], entities: set[str], edges: set[str]) -> Iterator[Check]:
    columns = facts.table("edges", *_EDGE)
    rows = list(zip(*(columns[c] for c in _EDGE), strict=True))
    n = len(rows)
    yield check("edges: both ends are there", n, [r[0] for r in rows if r[1] not in entities or r[3] not in entities])
    yield check("edges: keys are what they state", n, [r[0] for r in rows if r[5] != edge_key(*r[1:5])])
    stated = set(facts.links("edge_artifact"))
    creators = [(r[0], r[6]) for r in rows if r[6] is not None]
    odd = [e for e, a in creators if a not in artifacts or (e, a) not in stated]
    yield check("edges: their creator states them", len(creators), odd)
    spoken = {(f, t) for f, t in facts.links("entity_artifact")}
    ends = [(r[0], end, r[6]) for r in rows if r[6] is not None for end in (r[1], r[3])]
    yield check("edges: their creator mentions their ends", len(ends), [e for e, x, a in ends if (x, a) not in spoken])
    via = facts.table("links", "via_id")["via_id"]
    yield check("links: the contradicting edge is there", n, [v for v in via if v is not None and v not in edges])


def _time(facts: _Facts) -> Iterator[Check]:
    edges: list[Edge] = facts.view.records("edges")
    yield check("edges: end after they begin", len(edges), [e.id for e in edges if _backwards(e)])
    links: dict[str, list[Link]] = {}
    for link in facts.view.records("links", equals("type", "contradiction")):
        links.setdefault(link.from_id, []).append(link)
    odd = [e.id for e in edges if ended(e, links.get(e.id, ())) != e]
    yield check("edges: end when their source or a contradiction says", len(edges), odd)
    open_ = Counter(e.key for e in edges if e.invalid_at is None)
    yield check("edges: one open edge for each statement", len(edges), [k for k, n in open_.items() if n > 1])


def _backwards(edge: Edge) -> bool:
    return edge.valid_at is not None and edge.invalid_at is not None and edge.invalid_at < edge.valid_at


# -- passages, vectors, files -----------------------------------------------------------------------


def _passages(facts: _Facts) -> Iterator[Check]:
    """Every passage lies within its artifact's bytes."""
    rows = facts.view.rows("links", not_null("start"), ["from_id", "to_id", "start", "end"]).to_pydict()
    wanted = set(rows["to_id"])
    size: dict[str, int] = {}
    for batch in facts.view["artifacts"].batches(None, ["id", "text"]) if wanted else ():
        for id_, text in zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True):
            if id_ in wanted:
                size[id_] = len(text.encode("utf-8"))
    spans = zip(*rows.values(), strict=True)
    odd = [f for f, t, a, b in spans if not 0 <= a <= b <= size.get(t, -1)]
    yield check("links: passages lie within their artifact", len(rows["to_id"]), odd)


def _vectors(facts: _Facts) -> Iterator[Check]:
    """Every vector is of the dataset's model, finite and not zero; one is there exactly where it is said to be."""
    fingerprint = facts.view.settings.get("fingerprint")
    for table in VECTOR_TABLES:
        if "vector" not in facts.view[table].schema.names:
            continue
        checked, broken = 0, []
        for batch in facts.view[table].batches(None, ["id", "embedder", "vector"]):
            good = _good_vectors(batch)
            for id_, embedder, fine in zip(batch["id"].to_pylist(), batch["embedder"].to_pylist(), good, strict=True):
                checked += embedder is not None
                if embedder is not None and (embedder != fingerprint or not fine):
                    broken.append(id_)
        yield check(f"{table}: vectors are whole and of one model", checked, broken)


def _good_vectors(batch: pa.RecordBatch) -> list[bool]:
    column = batch["vector"]
    width = column.type.list_size
    flat = column.values.slice(column.offset * width, len(column) * width)
    values = flat.fill_null(0).to_numpy(zero_copy_only=False).reshape(len(column), width).astype(np.float32)
    fine = np.isfinite(values).all(axis=1) & values.any(axis=1)
    good: list[bool] = (fine & column.is_valid().to_numpy(zero_copy_only=False)).tolist()
    return good


def _files(memory: Memory, view: View) -> tuple[Check, list[str]]:
    named = set(view.rows("images", None, ["sha256"])["sha256"].to_pylist())
    kept = set(memory.images.files.names())
    broken = [key for key in named if key not in kept or _damaged(memory, key)]
    orphans = len(kept - named)
    unnamed = counted(orphans, "file that no image names", "files that no image names")
    notes = [f"{unnamed}: the next sweep removes what is left over"] if orphans else []
    return check("images: files are there and whole", len(named), broken), notes


def _damaged(memory: Memory, key: str) -> bool:
    import hashlib

    return hashlib.sha256(memory.images.files.read(key)).hexdigest() != key


def _points(view: View) -> Check:
    known = set(view.rows("series", None, ["id"])["id"].to_pylist())
    observed = view.rows("artifacts", not_null("series_id"), ["id", "series_id"]).to_pydict()
    odd = [i for i, s in zip(observed["id"], observed["series_id"], strict=True) if s not in known]
    return check("observations: their series is there", len(observed["id"]), odd)


_CHECKS: tuple[Callable[[_Facts], Iterator[Check]], ...] = (
    _identities,
    _artifacts,
    _provenance,
    _time,
    _passages,
    _vectors,
)
