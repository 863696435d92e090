"""The room where LanceDB lives: tables as handles, each pinned to a version or moving with its writer.

Nothing else in the project imports ``lancedb`` or ``lance``. What is above it knows tables by name and
rows as Arrow; how a commit spans tables is :mod:`unabridged.memory.commits`.

Where Lance's own calls reach (folders and object stores) they read and keep up; LanceDB writes, and does
all of it for ``memory://`` and ``db://``. Measured (lancedb 0.40, Lance 13): an append is 2 ms, a partial
merge 4 ms, a compare-and-set on one row 2 ms; a look-up 0.4 ms through Lance and 1.1 through LanceDB.
Moving rows under a full-text index with positions can abort the process (the index's remapping allocates
40 GB), so nothing above moves fragments that such an index covers.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
from typing import TYPE_CHECKING, Any

from unabridged.errors import Conflict, MissingExtra
from unabridged.memory.caches import READ_CACHE, Caches, caches_of
from unabridged.memory.pieces import APPEND_ROWS, TOKENS, Pieces
from unabridged.memory.searches import Searches
from unabridged.memory.trouble import told

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.schema import Index

__all__ = ["Handle", "Lake"]

_WIDE = 6  # columns from which the rows are found first: a tail of 12 fragments was read in 1.7 ms, not 4.7


class Lake:
    """One connection to a place that holds tables.

    >>> import pyarrow as pa
    >>> lake = Lake("memory://")
    >>> handle = lake.create("t", pa.schema([("id", pa.string())]))
    >>> handle.append(pa.table({"id": ["a"]}))
    >>> handle.read().to_pylist()
    [{'id': 'a'}]
    """

    def __init__(self, uri: str, *, storage_options: Mapping[str, str] | None = None) -> None:
        os.environ.setdefault("LANCE_LOG", "error")  # it warns of every empty index partition, on stderr
        try:
            import lance
            import lancedb
        except ImportError as error:  # pragma: no cover - both come with the extra
            raise MissingExtra("lancedb" if error.name == "lancedb" else "pylance", "memory") from None
        self.uri = uri
        self.fine = not uri.startswith(("memory://", "db://"))  # whether Lance's own calls reach it
        self.options = dict(storage_options or {}) or None
        self._lance = lance
        if self.fine:
            self._caches = caches_of(uri, lance, lancedb)
        else:  # another process's, or a store of its own: nothing is shared with others of the same name
            self._caches = Caches(lance, lancedb, writing=READ_CACHE)
        with told("opening the store"):
            self.db = lancedb.connect(uri, storage_options=self.options, session=self._caches.writing)

    def names(self) -> list[str]:
        """The names of all tables."""
        found, token = [], None
        while True:
            page = self.db.list_tables(page_token=token, limit=1000)
            found += page.tables
            token = page.page_token
            if not token:
                return found

    @told("creating a table")
    def create(self, name: str, schema: pa.Schema) -> Handle:
        """A new, empty table."""
        self.db.create_table(name, schema=schema)
        return Handle(self, name, None, fenced=True)

    def open(self, name: str, version: int | None = None, *, fenced: bool = True) -> Handle:
        """A table at its newest version, or pinned to one; ``fenced`` handles refuse a second writer."""
        return Handle(self, name, version, fenced=fenced)

    def files(self, address: str) -> Any:
        """Plain files under an address, through the same store and options as the tables (see objects.py)."""
        from lance.file import LanceFileSession

        return LanceFileSession(address, storage_options=self.options)

    @told("dropping a table")
    def drop(self, name: str) -> None:
        """Remove a table with every version and file of it."""
        self.db.drop_table(name, ignore_missing=True)  # type: ignore[call-arg]

    def tidy(self) -> bool:
        """Let go of what is kept of indexes that are no more, where that is most of it; whether it was."""
        return self.fine and self._caches.tidy(self._index_bytes)

    def _index_bytes(self) -> int:
        return sum(self.open(name, fenced=False).index_bytes() for name in self.names())

    @told("opening a table")
    def dataset(self, name: str, version: int | None) -> Any:
        """A table at one version, as Lance sees it; all share one cache."""
        uri = f"{self.uri.rstrip('/')}/{name}.lance"
        how = {"version": version, "storage_options": self.options, "session": self._caches.reading}
        return self._lance.dataset(uri, **how)


class Handle(Pieces, Searches):
    """One table, seen at one version; a writer's handle moves with what it writes.

    Every fenced write must move the table by exactly one version: anything else means that somebody
    wrote between, and is refused as a :class:`~unabridged.errors.Conflict` (fencing, DESIGN §5).
    """

    def __init__(self, lake: Lake, name: str, version: int | None, *, fenced: bool) -> None:
        self._lake = lake
        self._name = name
        self._fenced = fenced
        self._table: Any = None  # LanceDB's, which moves with its writes
        self._fixed: Any = None  # LanceDB's, checked out at a version
        self._seen: Any = None  # Lance's, at a version
        self._mutex = threading.Lock()
        if lake.fine:
            self._seen = lake.dataset(name, version)
            self._at = int(self._seen.version)
        else:
            self._at = version or int(self._opened().version)

    @told("opening a table")
    def _opened(self) -> Any:
        return self._lake.db.open_table(self._name)

    def _writer(self) -> Any:
        """The table as LanceDB writes it; a fenced one must still be the newest."""
        with self._mutex:
            if self._table is None:
                self._table = self._opened()
                if self._fenced and self._table.version != self._at:
                    raise Conflict("another writer wrote to the same table since it was opened")
            return self._table

    def _searched(self) -> Any:
        """The table as LanceDB reads it, at this version."""
        with self._mutex:
            if self._fixed is None or self._fixed.version != self._at:
                self._fixed = self._opened()
                self._fixed.checkout(self._at)
            return self._fixed

    def reopen(self) -> None:
        """Read it through another opening from now on: this one holds what was in memory when it was made."""
        self._seen = None

    def _reader(self) -> Any:
        """The table as Lance sees it, at this version."""
        seen = self._seen
        if seen is None or seen.version != self._at:
            seen = self._seen = self._lake.dataset(self._name, self._at)
        return seen

    def _apart(self) -> Any:
        return self._lake.dataset(self._name, self._at)

    @property
    def name(self) -> str:
        """What the store calls the table."""
        return self._name

    @property
    def version(self) -> int:
        """The version that it stands at."""
        return self._at

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table."""
        return (self._reader() if self._lake.fine else self._searched()).schema

    # -- reading ----------------------------------------------------------------------------------

    @told("reading")
    def read(
        self,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        order: Sequence[tuple[str, bool]] = (),
        limit: int | None = None,
    ) -> pa.Table:
        """Rows that pass ``where``; ``order`` is (column, ascending) pairs."""
        names = None if columns is None else list(columns)
        if not self._lake.fine:
            return self._query(where, names, order, limit).to_arrow()
        seen = self._reader()
        if where is not None and names is not None and len(names) > _WIDE and not order and limit is None:
            rows = seen.to_table(columns=[], filter=where, with_row_id=True)["_rowid"].to_pylist()
            if not rows:  # a scan for nothing reads every fragment: at 300 of them a third of a commit
                return _none(seen.schema, names)
            if len(rows) <= APPEND_ROWS:
                where = f"_rowid IN ({', '.join(map(str, rows))})"
        return seen.to_table(columns=names, filter=where, limit=limit, order_by=_ordering(order))

    def batches(
        self, where: str | None = None, columns: Sequence[str] | None = None, *, rows: int = 8192
    ) -> Iterator[pa.RecordBatch]:
        """The same, in batches, for tables that do not fit in memory."""
        names = None if columns is None else list(columns)
        with told("reading"):
            if self._lake.fine:
                yield from self._reader().to_batches(columns=names, filter=where, batch_size=rows)
            else:
                yield from self._query(where, names, (), None).to_batches(rows)

    def _query(
        self, where: str | None, columns: list[str] | None, order: Sequence[tuple[str, bool]], limit: int | None
    ) -> Any:
        query = self._searched().search()
        query = query if where is None else query.where(where)
        query = query if columns is None else query.select(columns)
        if order:
            from lancedb.query import ColumnOrdering

            query = query.order_by([ColumnOrdering(column_name=c, ascending=up) for c, up in order])
        return query if limit is None else query.limit(limit)

    @told("counting")
    def count(self, where: str | None = None) -> int:
        """How many rows pass ``where``."""
        return int((self._reader() if self._lake.fine else self._searched()).count_rows(where))

    @told("reading")
    def take(self, offsets: Sequence[int]) -> pa.Table:
        """Whole rows by their position in a whole read, in the order asked."""
        return self._reader().take(offsets) if self._lake.fine else self._searched().take_offsets(offsets).to_arrow()

    # -- writing ----------------------------------------------------------------------------------

    @told("appending")
    def append(self, rows: pa.Table) -> None:
        """Add rows, in fragments that a later compaction can afford to rewrite."""
        for start in range(0, rows.num_rows, APPEND_ROWS):
            self._moved(self._writer().add(rows.slice(start, APPEND_ROWS)).version)

    @told("merging")
    def merge(self, rows: pa.Table, on: str = "id") -> None:
        """Change the rows that are there, by key; columns that ``rows`` lacks keep their values."""
        nulls = "vector" in rows.column_names and rows["vector"].null_count
        how = {"on_bad_vectors": "null"} if nulls else {}  # a vector taken away is a bad one to LanceDB
        self._moved(self._writer().merge_insert(on).when_matched_update_all().execute(rows, **how).version)

    @told("deleting")
    def delete(self, where: str) -> None:
        """Remove the rows that pass ``where``."""
        self._moved(self._writer().delete(where).version)

    @told("moving a row")
    def compare_and_set(self, where: str, values: Mapping[str, str]) -> bool:
        """Set columns (SQL expressions) where ``where`` holds; whether a row was there to set."""
        done = self._writer().update(where=where, values_sql=dict(values))
        self._at = done.version
        return bool(done.rows_updated)

    @told("adding columns")
    def add_columns(self, columns: Sequence[pa.Field]) -> None:
        """New columns, null in every row there is."""
        self._moved(self._writer().add_columns(list(columns)).version)

    @told("dropping columns")
    def drop_columns(self, columns: Sequence[str]) -> None:
        """Remove columns."""
        self._moved(self._writer().drop_columns(list(columns)).version)

    def _moved(self, version: int) -> None:
        expected, self._at = self._at + 1, version
        if self._fenced and version != expected:
            raise Conflict("another writer wrote to the same table; nothing of this commit is visible")

    # -- versions ---------------------------------------------------------------------------------

    @told("opening the newest version")
    def latest(self) -> int:
        """Stand at the newest version."""
        if self._table is not None:
            self._table.checkout_latest()
        newest = self._lake.dataset(self._name, None) if self._lake.fine else self._table or self._opened()
        self._at = int(newest.version)
        return self._at

    @told("restoring a version")
    def restore(self, version: int) -> None:
        """Make what ``version`` held the newest version; transactions still in flight are refused."""
        table = self._writer()
        table.checkout(version)
        table.restore()
        self._at = int(table.version)

    @told("tagging")
    def tag(self, name: str) -> None:
        """Keep this version until the tag goes."""
        self._opened().tags.create(name, self._at)

    @told("listing tags")
    def tags(self) -> set[str]:
        """The names of the tags."""
        return set(self._opened().tags.list())

    @told("removing a tag")
    def untag(self, name: str) -> None:
        """Let go of a tagged version."""
        if name in self.tags():
            self._opened().tags.delete(name)

    @told("listing versions")
    def versions(self) -> list[int]:
        """The versions that exist, oldest first."""
        if self._lake.fine:
            return [v["version"] for v in self._reader().version_refs()]
        return [v["version"] for v in self._opened().list_versions()]

    # -- whole indexes ---------------------------------------------------------------------------------

    @told("building an index")
    def create_index(self, index: Index, *, empty: bool = False) -> None:
        """Make an index over the whole table; ``empty`` only says how what is written later is read."""
        from lancedb.index import FTS, Bitmap, BTree, IvfFlat, LabelList

        scalar = {"btree": BTree, "bitmap": Bitmap, "labels": LabelList}.get(index.kind)
        heavy = FTS(**TOKENS) if index.kind == "text" else IvfFlat(distance_type="cosine")
        config = heavy if scalar is None else scalar()
        self._writer().create_index(index.column, config=config, name=index.name, train=not empty)
        self.latest()

    @told("dropping an index")
    def drop_index(self, name: str) -> None:
        """Remove an index."""
        self._writer().drop_index(name)
        self.latest()

    @told("optimising")
    def rewrite(self) -> None:
        """In a store without finer calls: compact, index and clean up in one."""
        self._writer().optimize(cleanup_older_than=dt.timedelta(seconds=3600))
        self.latest()


def _none(schema: Any, names: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names]).empty_table()


def _ordering(order: Sequence[tuple[str, bool]]) -> Any:
    from lance.dataset import ColumnOrdering

    return [ColumnOrdering(c, up) for c, up in order] or None
