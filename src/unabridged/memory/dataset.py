"""The room where LanceDB lives: tables as handles, each pinned to a version or moving with its writer.

Nothing else in the project imports ``lancedb`` or ``lance``. What is above it knows tables by name and
rows as Arrow; how a commit spans tables is :mod:`unabridged.memory.commits`.

Measured facts behind the choices (lancedb 0.40, Lance 13): an append is 2 ms, a partial merge 4 ms, a
compare-and-set on one row 2 ms, opening a table at a version 0.5 ms. Moving rows under a full-text index
with positions can abort the process (an allocation of 40 GB in the index's remapping), so compaction
never touches fragments that such an index covers.
"""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unabridged.errors import Conflict, MissingExtra, StoreError
from unabridged.memory.schema import Index

__all__ = ["APPEND_ROWS", "Fragment", "Gone", "Handle", "Lake"]

APPEND_ROWS = 65_536  # rows a fragment: 100 MB at 384 wide, which a compaction rewrites in under a second
_TOKENS = {"base_tokenizer": "icu/split", "stem": False, "remove_stop_words": False, "with_position": True}


class Gone(StoreError):
    """A version that was read from has been cleaned up; read the head again."""


@contextmanager
def _told(doing: str) -> Iterator[None]:
    """The store's own errors as ours, with what a filter quoted taken out of the message."""
    try:
        yield
    except (ValueError, RuntimeError, OSError) as error:
        said = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "…", str(error)).split("\n")[0][:200]
        raise _kind(str(error))(f"{doing}: {said}") from None


def _kind(said: str) -> type[StoreError]:
    if re.search(r"[Ii]ncompatible transaction|commit conflict|concurrent transaction|Too many concurrent", said):
        return Conflict
    return Gone if re.search(r"no longer exists|[Nn]ot found|does not exist", said) else StoreError


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a table: rows written, rows deleted since."""

    id: int
    rows: int
    deleted: int


class Lake:
    """One connection to a place that holds tables.

    >>> lake = Lake("memory://")
    >>> handle = lake.create("t", pa.schema([("id", pa.string())]))
    >>> handle.append(pa.table({"id": ["a"]}))
    >>> handle.read().to_pylist()
    [{'id': 'a'}]
    """

    def __init__(self, uri: str, *, storage_options: Mapping[str, str] | None = None) -> None:
        os.environ.setdefault("LANCE_LOG", "error")  # it warns of every empty index partition, on stderr
        try:
            import lancedb
        except ImportError:  # pragma: no cover - a core dependency
            raise MissingExtra("lancedb", "memory") from None
        self.uri = uri
        with _told("opening the store"):
            self._db = lancedb.connect(uri, storage_options=dict(storage_options or {}) or None)
        self.fine = not uri.startswith(("memory://", "db://"))  # whether Lance's finer calls reach it

    def names(self) -> list[str]:
        """The names of all tables."""
        found, token = [], None
        while True:
            page = self._db.list_tables(page_token=token, limit=1000)
            found += page.tables
            token = page.page_token
            if not token:
                return found

    def create(self, name: str, schema: pa.Schema) -> Handle:
        """A new, empty table."""
        with _told("creating a table"):
            return Handle(self, self._db.create_table(name, schema=schema))

    def open(self, name: str, version: int | None = None, *, fenced: bool = True) -> Handle:
        """A table at its newest version, or pinned to one; ``fenced`` handles refuse a second writer."""
        with _told("opening a table"):
            handle = Handle(self, self._db.open_table(name), fenced=fenced)
            if version is not None:
                handle.pin(version)
            return handle

    def drop(self, name: str) -> None:
        """Remove a table with every version and file of it."""
        with _told("dropping a table"):
            self._db.drop_table(name, ignore_missing=True)


class Handle:
    """One table, seen at one version; a writer's handle moves with what it writes.

    Every write must move the table by exactly one version: anything else means that somebody wrote
    between, and is refused as a :class:`~unabridged.errors.Conflict` (fencing, DESIGN §5).
    """

    def __init__(self, lake: Lake, table: Any, *, fenced: bool = True) -> None:
        self._lake = lake
        self._table = table
        self._fenced = fenced
        self._at: int = table.version

    @property
    def version(self) -> int:
        """The version that it stands at."""
        return self._at

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return self._table.schema

    # -- reading ----------------------------------------------------------------------------------

    def read(
        self,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        order: Sequence[tuple[str, bool]] = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Rows that pass ``where``; ``order`` is (column, ascending) pairs."""
        with _told("reading"):
            return self._scan(where, columns, order, limit).to_arrow()

    def batches(
        self, where: str | None = None, columns: Sequence[str] | None = None, *, rows: int = 8192
    ) -> Iterator[pa.RecordBatch]:
        """The same, in batches, for tables that do not fit in memory."""
        with _told("reading"):
            yield from self._scan(where, columns, (), None).to_batches(rows)

    def row_ids(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of every row, with ``_rowid``."""
        with _told("reading"):
            return self._table.search().select(list(columns)).with_row_id(True).to_arrow()

    def take(self, row_ids: Sequence[int]) -> pa.Table:
        """Whole rows by their ``_rowid``, in that order."""
        with _told("reading"):
            return self._table.take_row_ids(list(row_ids)).to_arrow()

    def _scan(
        self,
        where: str | None,
        columns: Sequence[str] | None,
        order: Sequence[tuple[str, bool]],
        limit: int | None,
    ) -> Any:
        query = self._table.search()
        if where is not None:
            query = query.where(where)
        if columns is not None:
            query = query.select(list(columns))
        if order:
            from lancedb.query import ColumnOrdering

            query = query.order_by([ColumnOrdering(column_name=c, ascending=up) for c, up in order])
        return query if limit is None else query.limit(limit)

    def count(self, where: str | None = None) -> int:
        """How many rows pass ``where``."""
        with _told("counting"):
            return int(self._table.count_rows(where))

    def nearest(
        self,
        vector: Any,
        k: int,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        probes: int | None = None,
        refine: int | None = None,
        exact: bool = False,
    ) -> pa.Table:
        """The ``k`` rows nearest by cosine, with ``_distance`` (0 … 2); ``exact`` ignores the index."""
        with _told("searching by vector"):
            query = self._table.search(vector, vector_column_name="vector").distance_type("cosine").limit(k)
            query = query.where(where, prefilter=True) if where else query
            query = query.select([*columns, "_distance"]) if columns is not None else query
            query = query.nprobes(probes) if probes else query
            query = query.refine_factor(refine) if refine else query
            return (query.bypass_vector_index() if exact else query).to_arrow()

    def match(
        self,
        text: str,
        column: str,
        k: int,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        phrase: bool = False,
    ) -> pa.Table:
        """The ``k`` rows that match ``text`` best by BM25, with ``_score``."""
        from lancedb.query import MatchQuery, PhraseQuery

        asked = PhraseQuery(text, column) if phrase else MatchQuery(text, column)
        with _told("searching by text"):
            query = self._table.search(asked, query_type="fts").limit(k)
            query = query.where(where, prefilter=True) if where else query
            return (query.select([*columns, "_score"]) if columns is not None else query).to_arrow()

    # -- writing ----------------------------------------------------------------------------------

    def append(self, rows: pa.Table) -> None:
        """Add rows, in fragments that a later compaction can afford to rewrite."""
        for start in range(0, rows.num_rows, APPEND_ROWS):
            with _told("appending"):
                self._moved(self._table.add(rows.slice(start, APPEND_ROWS)).version)

    def merge(self, rows: pa.Table, on: str = "id") -> None:
        """Change the rows that are there, by key; columns that ``rows`` lacks keep their values."""
        with _told("merging"):
            self._moved(self._table.merge_insert(on).when_matched_update_all().execute(rows).version)

    def delete(self, where: str) -> None:
        """Remove the rows that pass ``where``."""
        with _told("deleting"):
            self._moved(self._table.delete(where).version)

    def compare_and_set(self, where: str, values: Mapping[str, str]) -> bool:
        """Set columns (SQL expressions) where ``where`` holds; whether a row was there to set."""
        with _told("moving a row"):
            done = self._table.update(where=where, values_sql=dict(values))
        self._at = self._table.version
        return bool(done.rows_updated)

    def add_columns(self, columns: Sequence[pa.Field]) -> None:
        """New columns, null in every row there is."""
        with _told("adding columns"):
            self._moved(self._table.add_columns(list(columns)).version)

    def drop_columns(self, columns: Sequence[str]) -> None:
        """Remove columns."""
        with _told("dropping columns"):
            self._moved(self._table.drop_columns(list(columns)).version)

    def _moved(self, version: int) -> None:
        if self._fenced and version != self._at + 1:
            self._at = version
            raise Conflict("another writer wrote to the same table; nothing of this commit is visible")
        self._at = version

    # -- versions ---------------------------------------------------------------------------------

    def pin(self, version: int) -> None:
        """Stand at ``version``."""
        with _told("opening a version"):
            self._table.checkout(version)
        self._at = version

    def latest(self) -> int:
        """Stand at the newest version."""
        with _told("opening the newest version"):
            self._table.checkout_latest()
        self._at = self._table.version
        return self._at

    def restore(self, version: int) -> None:
        """Make what ``version`` held the newest version; transactions still in flight are refused."""
        with _told("restoring a version"):
            self._table.checkout(version)
            self._table.restore()
        self._at = self._table.version

    def tag(self, name: str) -> None:
        """Keep this version until the tag goes."""
        with _told("tagging"):
            self._table.tags.create(name, self._at)

    def untag(self, name: str) -> None:
        """Let go of a tagged version."""
        if name in self._table.tags.list():
            with _told("removing a tag"):
                self._table.tags.delete(name)

    # -- upkeep (Lance's finer calls; the policy is in upkeep.py) ------------------------------------

    def _lance(self) -> Any:
        try:
            return self._table.to_lance()
        except ImportError:  # pragma: no cover - pylance comes with the extra
            raise MissingExtra("pylance", "memory") from None

    def fragments(self) -> list[Fragment]:
        """The table's pieces, oldest first."""
        with _told("reading fragments"):
            pieces = self._lance().get_fragments()
            return [Fragment(f.fragment_id, f.metadata.physical_rows, f.num_deletions) for f in pieces]

    def covered(self) -> dict[str, list[set[int]]]:
        """For each index, the fragments that each of its segments covers."""
        with _told("reading indexes"):
            described = self._lance().describe_indices()
            return {d.name: [set(s.fragment_ids) for s in d.segments] for d in described}

    def compact(self, only: Iterable[int], *, rows: int = APPEND_ROWS) -> None:
        """Rewrite the fragments in ``only`` as few, without what was deleted from them."""
        keep = set(only)
        with _told("compacting"):
            dataset = self._lance()
            others = [f.fragment_id for f in dataset.get_fragments() if f.fragment_id not in keep]
            dataset.optimize.compact_files(
                target_rows_per_fragment=rows,
                excluded_fragment_ids=others,
                materialize_deletions=True,
                materialize_deletions_threshold=0.0,
            )
        self.latest()

    def create_index(self, index: Index, *, empty: bool = False) -> None:
        """Make an index over the whole table; ``empty`` only says how what is written later is read."""
        from lancedb.index import FTS, Bitmap, BTree, IvfFlat, LabelList

        made = {"btree": BTree, "bitmap": Bitmap, "labels": LabelList}.get(index.kind)
        if made is None:
            config = FTS(**_TOKENS) if index.kind == "text" else IvfFlat(distance_type="cosine")
        else:
            config = made()
        with _told("building an index"):
            self._table.create_index(index.column, config=config, name=index.name, train=not empty)
        self.latest()

    def refresh_indexes(self, names: Sequence[str]) -> None:
        """Bring scalar indexes up to date with rows written since."""
        with _told("refreshing indexes"):
            self._lance().optimize.optimize_indices(index_names=list(names))
        self.latest()

    def holding(self, where: str, fragments: Sequence[int]) -> int:
        """How many rows of some fragments pass ``where``."""
        with _told("counting"):
            dataset = self._lance()
            return int(dataset.scanner(filter=where, fragments=[dataset.get_fragment(f) for f in fragments]).count_rows())

    def build(self, index: Index, fragments: Sequence[int], **options: Any) -> Any:
        """Build a segment of a text or vector index over some fragments; nobody sees it until it is published."""
        how: dict[str, Any] = {"index_type": "INVERTED", **_TOKENS}
        if index.kind == "vector":
            how = {"index_type": "IVF_FLAT", "metric": "cosine", **options}
        with _told("building an index"):
            return self._lance().create_index_uncommitted(
                index.column, name=index.name, replace=True, fragment_ids=list(fragments), **how
            )

    def publish(self, index: Index, segment: Any) -> None:
        """Make a built segment part of its index; segments of the same fragments give way to it."""
        with _told("publishing an index"):
            self._lance().commit_existing_index_segments(index.name, index.column, [segment])
        self.latest()

    def drop_index(self, name: str) -> None:
        """Remove an index."""
        with _told("dropping an index"):
            self._table.drop_index(name)
        self.latest()

    def rewrite(self) -> None:
        """In a store without finer calls: compact, index and clean up in one."""
        with _told("optimising"):
            self._table.optimize(cleanup_older_than=dt.timedelta(seconds=3600))
        self.latest()

    def versions(self) -> list[int]:
        """The versions that exist, oldest first."""
        with _told("listing versions"):
            if self._lake.fine:
                return [v["version"] for v in self._lance().version_refs()]
            return [v["version"] for v in self._table.list_versions()]

    def clean(self, below: int) -> int:
        """Remove untagged versions under ``below`` and their files; the bytes freed."""
        old = [v for v in self.versions() if v < below]
        return self._clean(versions=old) if old else 0

    def clean_older(self, seconds: float, *, unverified: bool = False) -> int:
        """Remove untagged versions but the newest that are older than that, and their files.

        ``unverified`` also removes files that no version names (the debris of killed writers): only
        while nobody else can be writing.
        """
        older = dt.timedelta(seconds=max(seconds, 1e-6))
        return self._clean(older_than=older, delete_unverified=unverified)

    def _clean(self, **which: Any) -> int:
        with _told("cleaning up"):
            done = self._lance().cleanup_old_versions(error_if_tagged_old_versions=False, **which)
            return int(done.bytes_removed)
