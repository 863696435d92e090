"""The vectors as a column of the source's own tables: Lance in one commit a table, Parquet file by file."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.disk import on_disk
from unabridged.jobs.lance import add_column, checked_column, open_table, table_identity
from unabridged.jobs.places import find, place_of
from unabridged.jobs.sink import FINGERPRINT
from unabridged.jobs.source import format_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from unabridged.jobs.journal import Journal
    from unabridged.jobs.publish import Feed
    from unabridged.jobs.settings import JobSettings

__all__ = ["ColumnTarget"]

_BATCH = 8192


class ColumnTarget:
    """A row's vector stands beside its text; rows that are blank or have failed have null.

    A table is rewritten under a hidden name and put in its place, so a reader sees it with the column or
    without; the journal is told the identity that it has from then on.
    """

    def __init__(self, settings: JobSettings, journal: Journal) -> None:
        self._settings = settings
        self._journal = journal
        self._kind = format_of(settings.source)

    def check(self, *, ours: bool) -> None:
        """The tables can have a column, and have none of that name."""
        source, sink = self._settings.source, self._settings.sink
        if self._kind not in ("lance", "parquet"):
            raise ConfigError("sink.format", f"a column can be added to lance and parquet, the source is {self._kind}")
        if sink.chunk_vectors:
            raise ConfigError("sink.chunk_vectors", "a column has one vector a row; write chunk vectors to a file")
        for path in source.paths:
            if self._kind == "lance":
                checked_column(path, sink.column, source.storage, replace=sink.force or ours)
                continue
            for place in find(path, source.storage, endings=(".parquet", ".pq")):
                with place.open() as file:
                    names = pq.read_schema(file).names
                if sink.column in names and not (sink.force or ours):
                    raise ConfigError("sink.column", f"{place.name} has a column {sink.column!r}", advice="replace")

    def holds(self, part: str) -> bool:
        """Whether a table still has our column."""
        return self._fingerprint_of(part) is not None

    def keep(self, folder: Path) -> None:
        """Nothing: the vectors of rows that were done before are taken from the table itself."""

    def publish(self, feed: Feed, kept: Path) -> str:
        """Table by table; one that has changed since it was read is refused."""
        fed = dict(feed.parts())
        for name, state in self._journal.parts().items():
            if state.number not in fed:
                continue
            if self._identity(name) != state.identity:
                raise JobError(f"{name}: was changed while the job ran; run it again, what is done stays done")
            vectors = _columns(fed[state.number], state.rows or 0, feed.width)
            if feed.grows and self._fingerprint_of(name) == feed.fingerprint:
                vectors = self._over_old(name, vectors, set(self._journal.without_vector(state.number)))
            identity = self._lance(name, vectors, feed) if self._kind == "lance" else self._parquet(name, vectors, feed)
            self._journal.rename_identity(name, identity)
        return ", ".join(self._settings.source.paths)

    def _identity(self, name: str) -> str:
        storage = self._settings.source.storage
        return table_identity(name, storage) if self._kind == "lance" else place_of(name, storage).identity

    def _fingerprint_of(self, name: str) -> str | None:
        """The fingerprint of the column that a table has; ``None`` without one."""
        source, column = self._settings.source, self._settings.sink.column
        if self._kind == "lance":
            schema = open_table(name, source.storage).schema
        else:
            with place_of(name, source.storage).open() as file:
                schema = pq.read_schema(file)
        if column not in schema.names:
            return None
        found = (schema.field(column).metadata or {}).get(FINGERPRINT.encode())
        return None if found is None else str(found.decode())

    def _over_old(self, name: str, vectors: Iterator[pa.Array], missing: set[int]) -> Iterator[pa.Array]:
        """New vectors where there are some, else the row's old one; a row that now has none keeps none."""
        old = _Taken(self._old(name))
        at = 0
        for fresh in vectors:
            before = old.take(len(fresh))
            has = np.array(fresh.is_valid())
            gone = np.array([at + row in missing for row in range(len(fresh))]) & ~has
            take = np.where(has, np.arange(len(fresh)), np.arange(len(fresh)) + len(fresh))
            made = pa.concat_arrays([fresh, before]).take(pa.array(take, mask=gone))
            lost = int((~np.array(made.is_valid()) & ~gone).sum())
            if lost:
                raise JobError(
                    f"{name}: {lost} rows near row {at} have lost the vectors that they had; "
                    f"drop the column {self._settings.sink.column!r} and run the job again"
                )
            at += len(fresh)
            yield made

    def _old(self, name: str) -> Iterator[pa.Array]:
        source, column = self._settings.source, self._settings.sink.column
        if self._kind == "lance":
            scanner = open_table(name, source.storage).scanner(columns=[column], scan_in_order=True)
            yield from (batch.column(0) for batch in scanner.to_batches())
            return
        with place_of(name, source.storage).open() as opened, pq.ParquetFile(opened, pre_buffer=False) as file:
            yield from (batch.column(0) for batch in file.iter_batches(_BATCH, columns=[column]))

    def _lance(self, path: str, vectors: Iterator[pa.Array], feed: Feed) -> str:
        name = self._settings.sink.column
        field = _field(name, feed)
        schema = pa.schema([field])
        batches = (pa.record_batch([column], schema=schema) for column in vectors)
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return add_column(path, name, reader, self._settings.source.storage)

    def _parquet(self, name: str, vectors: Iterator[pa.Array], feed: Feed) -> str:
        place = place_of(name, self._settings.source.storage)
        hidden = f"{place.path.rpartition('/')[0]}/.{place.path.rpartition('/')[2]}.{secrets.token_hex(4)}.part"
        try:
            with on_disk(place.name):
                self._rewrite(place, hidden, vectors, feed)
            place.system.move(hidden, place.path)
        except BaseException:
            if place.system.get_file_info(hidden).is_file:
                place.system.delete_file(hidden)
            raise
        return place.identity

    def _rewrite(self, place: Any, hidden: str, vectors: Iterator[pa.Array], feed: Feed) -> None:
        name = self._settings.sink.column
        with place.open() as opened, pq.ParquetFile(opened, pre_buffer=False, buffer_size=1 << 20) as file:
            names = [each for each in file.schema_arrow.names if each != name]
            old = file.schema_arrow
            fields = [old.field(each) for each in names]
            about = {**(old.metadata or {}), FINGERPRINT.encode(): feed.fingerprint.encode()}
            schema = pa.schema([*fields, _field(name, feed)], metadata=about)
            with (
                place.system.open_output_stream(hidden) as out,
                pq.ParquetWriter(out, schema, compression="zstd") as writer,
            ):
                columns = _Taken(vectors)
                for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
                    made = [*batch.columns, columns.take(batch.num_rows)]
                    writer.write_batch(pa.record_batch(made, schema=schema))


class _Taken:
    """Arrays, given out in other lengths."""

    def __init__(self, arrays: Iterator[pa.Array]) -> None:
        self._arrays = arrays
        self._held: pa.Array | None = None

    def take(self, count: int) -> pa.Array:
        parts: list[pa.Array] = []
        while count:
            held = self._held if self._held is not None and len(self._held) else next(self._arrays)
            parts.append(held.slice(0, count))
            self._held = held.slice(count)
            count -= len(parts[-1])
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _field(name: str, feed: Feed) -> pa.Field:
    return pa.field(name, pa.list_(pa.float32(), feed.width), metadata={FINGERPRINT: feed.fingerprint})


def _columns(tables: Iterator[pa.Table], rows: int, width: int) -> Iterator[pa.Array]:
    """A vector for each row of a part, null where it has none, some at a time."""
    at = 0
    for table in tables:
        numbers = table["row"].to_numpy()
        if not len(numbers):
            continue
        yield from _nulls(int(numbers[0]) - at, width)
        yield _spread(table["vector"].combine_chunks(), numbers - numbers[0])
        at = int(numbers[-1]) + 1
    yield from _nulls(rows - at, width)


def _spread(vectors: pa.Array, places: Any) -> pa.Array:
    count = int(places[-1]) + 1
    if count == len(vectors):
        return vectors
    take = np.full(count, -1, np.int64)
    take[places] = np.arange(len(vectors))
    return vectors.take(pa.array(take, mask=take < 0))


def _nulls(count: int, width: int) -> Iterator[pa.Array]:
    while count > 0:
        yield pa.nulls(min(count, _BATCH), pa.list_(pa.float32(), width))
        count -= _BATCH
