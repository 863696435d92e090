"""Lance tables: their rows as a source, a column added to one, and a table written to an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import ConfigError, MissingExtra, UnreadableFile
from unabridged.jobs.disk import on_disk
from unabridged.jobs.places import lasting
from unabridged.jobs.sink import FINGERPRINT
from unabridged.jobs.source import Columns, Part, as_rows, kept_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unabridged.jobs.settings import SourceSettings
    from unabridged.jobs.source import Rows

__all__ = [
    "LanceSource",
    "add_column",
    "checked_column",
    "exists",
    "open_table",
    "table_identity",
    "tables_of",
    "write_table",
]

_BATCH = 4096
_FILE_ROWS = 1 << 20


class LanceSource:
    """A table each, at the version it has when the job looks; its rows in their stored order."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._columns = Columns(settings)

    @property
    def hints(self) -> tuple[str, ...]:
        """What is to be said before the first row of a new job is embedded."""
        return self._columns.hints

    def parts(self) -> Iterator[Part]:
        """A table each."""
        made = []
        self._columns = Columns(self._settings)
        for path in self._settings.paths:
            table = open_table(path, self._settings.storage)
            self._columns.add(path, table.schema)
            identity = table_identity(path, self._settings.storage)
            made.append(Part(path, identity, table.count_rows(), table, lasting(path)))
        self._columns.check()
        yield from made

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The rows of a table, from any of them on."""
        settings, table = self._settings, part.at
        kept = kept_columns(settings, table.schema.names, part.name)
        wanted = dict.fromkeys((settings.text, settings.id, *kept))
        columns = [name for name in wanted if name in table.schema.names]
        scanner = table.scanner(columns=columns, offset=start, batch_size=_BATCH, scan_in_order=True)
        first = start
        for batch in scanner.to_batches():
            yield as_rows(pa.Table.from_batches([batch]), settings, part.name, first, kept, self._columns.types)
            first += batch.num_rows


def open_table(path: str, storage: Mapping[str, str] | None = None, *, version: int | None = None) -> Any:
    """A Lance table by its path or URI. Raises for a place where there is none."""
    lance = _lance()
    try:
        return lance.dataset(path, version=version, storage_options=dict(storage or {}) or None)
    except (ValueError, OSError) as error:
        said = str(error).splitlines()[0][:160]
        raise UnreadableFile(path, f"not a Lance table: {said}") from None


def tables_of(table: Any) -> Iterator[pa.Table]:
    """The rows of a table, some at a time, in their stored order."""
    for batch in table.scanner(batch_size=_BATCH, scan_in_order=True).to_batches():
        yield pa.Table.from_batches([batch])


def add_column(path: str, name: str, batches: pa.RecordBatchReader, storage: Mapping[str, str] | None = None) -> str:
    """Add a column to a table in one commit; the table's identity afterwards.

    ``batches`` has the one column, a value a row, in the order of the rows. A column that is there is staged
    under another name first, and takes its place by two short commits of the schema alone.
    """
    with on_disk(path):
        return _added(open_table(path, storage), name, batches)


def _added(table: Any, name: str, batches: pa.RecordBatchReader) -> str:
    if name not in table.schema.names:
        table.add_columns(batches)
        return f"version {table.version}"
    beside = f"{name}__new"
    if beside in table.schema.names:
        table.drop_columns([beside])
    schema = pa.schema([batches.schema.field(0).with_name(beside)])
    renamed = (pa.record_batch(batch.columns, schema=schema) for batch in batches)
    table.add_columns(pa.RecordBatchReader.from_batches(schema, renamed))
    table.drop_columns([name])
    table.alter_columns({"path": beside, "name": name})
    return f"version {table.version}"


def table_identity(path: str, storage: Mapping[str, str] | None = None) -> str:
    """What changes when a table does: its version."""
    return f"version {open_table(path, storage).version}"


def write_table(path: str, batches: pa.RecordBatchReader, fingerprint: str, storage: Mapping[str, str] | None) -> None:
    """Write a whole table in one commit: a new one, or the next version of one that is there."""
    schema = batches.schema.with_metadata({FINGERPRINT: fingerprint})
    named = pa.RecordBatchReader.from_batches(
        schema, (batch.replace_schema_metadata(schema.metadata) for batch in batches)
    )
    options = dict(storage or {}) or None
    with on_disk(path):
        _lance().write_dataset(named, path, mode="overwrite", max_rows_per_file=_FILE_ROWS, storage_options=options)


def exists(path: str, storage: Mapping[str, str] | None = None) -> bool:
    """Whether there is a table."""
    try:
        open_table(path, storage)
    except UnreadableFile:
        return False
    return True


def checked_column(path: str, name: str, storage: Mapping[str, str] | None, *, replace: bool) -> None:
    """Raise if a column cannot be added."""
    if name in open_table(path, storage).schema.names and not replace:
        raise ConfigError("sink.column", f"{path} has a column {name!r}", advice="replace")


def _lance() -> Any:
    try:
        import lance
    except ImportError:
        raise MissingExtra("pylance", "memory") from None
    return lance
