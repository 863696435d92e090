"""What a dataset holds and costs: rows, sizes, versions, fragments, indexes, vectors expected and present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.memory import snapshots
from unabridged.memory.catalog import local_path
from unabridged.memory.objects import local_files
from unabridged.memory.schema import OUTSIDE, TABLES
from unabridged.memory.where import both, equals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from unabridged.memory.artifacts import Counts
    from unabridged.memory.commits import View
    from unabridged.memory.memory import Memory

__all__ = ["Coverage", "Statistics", "TableStatistics", "statistics", "vector_coverage"]

_LOGICAL: Mapping[str, tuple[str, str | None]] = {  # SPEC A15: an own logical index for each
    "documents": ("artifacts", "document"),
    "chunks": ("artifacts", "chunk"),
    "summaries": ("artifacts", "summary"),
    "web_searches": ("artifacts", "web_search"),
    "observations": ("artifacts", "observation"),
    "entities": ("entities", None),
    "edges": ("edges", None),
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many vectors a logical index should hold, and how many it holds of the dataset's model."""

    expected: int
    present: int


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """One table: ``stale`` rows are deleted but still in its files, ``unindexed`` ones are scanned."""

    rows: int
    stale: int
    fragments: int
    versions: int
    bytes: int | None
    unindexed: int
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """A dataset at one head; sizes are in bytes, ``None`` where the store does not tell."""

    name: str
    seq: int
    schema: int
    width: int | None
    vector_type: str
    artifacts: Counts
    vectors: Mapping[str, Coverage]
    tables: Mapping[str, TableStatistics]
    snapshots: tuple[str, ...]
    readers: int
    files: int
    bytes: int | None


def vector_coverage(view: View) -> dict[str, Coverage]:
    """For each logical index, the vectors expected and present."""
    held = equals("embedder", view.settings["fingerprint"]) if view.settings.get("fingerprint") else "false"
    found = {}
    for name, (table, role) in _LOGICAL.items():
        of = None if role is None else equals("role", role)
        found[name] = Coverage(view[table].count(of), view[table].count(both(of, held)))
    return found


def statistics(memory: Memory) -> Statistics:
    """Measure a dataset; anew if what was looked at is cleaned up meanwhile."""
    return memory.store.ask(lambda view: _measured(memory, view))


def _measured(memory: Memory, view: View) -> Statistics:
    store = memory.store
    tables = {table: _table(memory, view, table) for table in (*TABLES, *OUTSIDE)}
    sizes = [each.bytes for each in tables.values() if each.bytes is not None]
    return Statistics(
        name=memory.name,
        seq=view.head.seq,
        schema=int(view.settings.get("schema", 0)),
        width=view.settings.get("width"),
        vector_type=view.settings.get("vector_type", "float32"),
        artifacts=memory.artifacts.counts(),
        vectors=vector_coverage(view),
        tables=tables,
        snapshots=tuple(each.name for each in snapshots.listed(store)),
        readers=len(store.place.readers.standing()),
        files=len(memory.images.files.names()),
        bytes=sum(sizes) + (_size(memory, "head") or 0) if sizes else None,
    )


def _table(memory: Memory, view: View, table: str) -> TableStatistics:
    place = memory.store.place
    handle = view[table] if table in TABLES else place.open(table, fenced=False)
    fine = place.lake.fine
    fragments = handle.fragments() if fine else []
    covered = handle.covered() if fine else {}
    scalar = [set().union(*segments) for name, segments in covered.items() if name in {"id_idx", "from_id_idx"}]
    indexed = scalar[0] if scalar else set()
    return TableStatistics(
        rows=handle.count(),
        stale=sum(f.deleted for f in fragments),
        fragments=len(fragments),
        versions=len(handle.versions()),
        bytes=_size(memory, table),
        unindexed=sum(f.rows - f.deleted for f in fragments if f.id not in indexed),
        indexes=tuple(sorted(covered)),
    )


def _size(memory: Memory, table: str) -> int | None:
    root = local_path(memory.store.place.lake.uri)
    if root is None:
        return None
    return sum(map(_bytes, local_files(root / f"{memory.store.place.id}.{table}.lance")))


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # cleaned up while it was being counted
        return 0
