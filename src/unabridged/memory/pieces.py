"""The pieces of a table, for upkeep: fragments, the segments of its indexes, its old versions.

These are Lance's own calls, made on a table that :mod:`unabridged.memory.dataset` opened.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unabridged.memory.trouble import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from unabridged.memory.schema import Index

__all__ = ["APPEND_ROWS", "TOKENS", "Fragment", "Pieces"]

APPEND_ROWS = 65_536  # rows a fragment: 100 MB at 384 wide, which a compaction rewrites in under a second
SHORTENED = 64  # width from which an index keeps vectors at two bits a dimension: of fewer, too little is left
TOKENS: dict[str, Any] = {
    "base_tokenizer": "icu/split",
    "stem": False,
    "remove_stop_words": False,
    "with_position": True,
}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a table: rows written, rows deleted since."""

    id: int
    rows: int
    deleted: int


class Pieces:
    """What upkeep does to one table; a part of :class:`~unabridged.memory.dataset.Handle`."""

    def _reader(self) -> Any:
        """The table as Lance sees it, at the version that the handle stands at."""
        raise NotImplementedError

    def _apart(self) -> Any:
        """The same, as an object of its own: what changes a table locks the object against its readers."""
        raise NotImplementedError

    def latest(self) -> int:
        """Stand at the newest version."""
        raise NotImplementedError

    def versions(self) -> list[int]:
        """The versions that exist, oldest first."""
        raise NotImplementedError

    @told("reading fragments")
    def fragments(self) -> list[Fragment]:
        """The table's pieces, oldest first."""
        pieces = self._reader().get_fragments()
        return [Fragment(f.fragment_id, f.metadata.physical_rows, f.num_deletions) for f in pieces]

    @told("reading indexes")
    def covered(self) -> dict[str, list[set[int]]]:
        """For each index, the fragments that each of its segments covers."""
        return {d.name: [set(s.fragment_ids) for s in d.segments] for d in self._reader().describe_indices()}

    @told("compacting")
    def compact(self, only: Iterable[int]) -> None:
        """Rewrite the fragments in ``only`` as few, without what was deleted from them."""
        keep, dataset = set(only), self._apart()
        dataset.optimize.compact_files(
            target_rows_per_fragment=APPEND_ROWS,
            excluded_fragment_ids=[f.fragment_id for f in dataset.get_fragments() if f.fragment_id not in keep],
            materialize_deletions=True,
            materialize_deletions_threshold=0.0,
        )
        self.latest()

    @told("refreshing indexes")
    def refresh_indexes(self, names: Sequence[str]) -> None:
        """Bring scalar indexes up to date with rows written since."""
        self._apart().optimize.optimize_indices(index_names=list(names))
        self.latest()

    @told("counting")
    def holding(self, where: str, fragments: Sequence[int]) -> int:
        """How many rows of some fragments pass ``where``."""
        dataset = self._reader()
        return int(dataset.scanner(filter=where, fragments=[dataset.get_fragment(f) for f in fragments]).count_rows())

    @told("building an index")
    def build(self, index: Index, fragments: Sequence[int]) -> Any:
        """Build a segment of an index over some fragments; nobody sees it until it is published."""
        how: dict[str, Any] = (
            {"index_type": "LABEL_LIST"} if index.kind == "labels" else {"index_type": "INVERTED", **TOKENS}
        )
        if index.kind == "vector":
            how = {"metric": "cosine", **self.vector_kind()}
        return self._apart().create_index_uncommitted(
            index.column, name=index.name, replace=True, fragment_ids=list(fragments), **how
        )

    def vector_kind(self) -> dict[str, Any]:
        """The index that suits the vectors' width.

        At a million rows 256 wide, two bits a dimension and 200 of the nearest compared whole found 0.99 of the
        exact ten in 9 ms; whole vectors in the index 0.93 in 10 ms, and a build of 5 s for every 0.6 (FINDINGS §3
        has 100,000 rows). Segments of one index must be of one kind.
        """
        width = self._reader().schema.field("vector").type.list_size
        short = width >= SHORTENED and width % 8 == 0
        return {"index_type": "IVF_RQ", "num_bits": 2} if short else {"index_type": "IVF_FLAT"}

    @told("reading indexes")
    def index_bytes(self) -> int:
        """How large the table's indexes are in their files."""
        return sum(d.total_size_bytes or 0 for d in self._reader().describe_indices())

    @told("reading indexes")
    def kinds(self) -> dict[str, str]:
        """What kind of index each is, as the store calls it."""
        return {d.name: str(d.index_type) for d in self._reader().describe_indices()}

    @told("publishing an index")
    def publish(self, index: Index, segment: Any) -> None:
        """Make a built segment part of its index; segments of the same fragments give way to it."""
        self._apart().commit_existing_index_segments(index.name, index.column, [segment])
        self.latest()

    @told("reading a transaction")
    def appended(self, version: int) -> int | None:
        """How many rows the transaction appended that made a version; ``None`` of one that set the table back."""
        done = self._reader().read_transaction(version).operation
        kind = type(done).__name__
        return None if kind == "Restore" else sum(f.physical_rows for f in done.fragments) if kind == "Append" else 0

    def clean(self, below: int) -> int:
        """Remove untagged versions under ``below`` and their files; the bytes freed."""
        old = [v for v in self.versions() if v < below]
        return self._clean(versions=old) if old else 0

    def clean_older(self, seconds: float, *, unverified: bool = False) -> int:
        """Remove untagged versions but the newest that are older than that, and their files.

        ``unverified`` also removes files that no version names (the debris of killed writers): only
        while nobody else can be writing.
        """
        return self._clean(older_than=dt.timedelta(seconds=max(seconds, 1e-6)), delete_unverified=unverified)

    @told("cleaning up")
    def _clean(self, **which: Any) -> int:
        done = self._apart().cleanup_old_versions(error_if_tagged_old_versions=False, **which)
        return int(done.bytes_removed)
