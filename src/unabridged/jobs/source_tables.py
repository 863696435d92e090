"""Parquet, Arrow IPC (files and streams) and folders that Hugging Face's ``datasets`` saved."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from unabridged.errors import UnreadableFile
from unabridged.jobs.places import Place, find, place_of
from unabridged.jobs.source import Columns, Part, as_rows, kept_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.jobs.settings import SourceSettings
    from unabridged.jobs.source import Rows

__all__ = ["ArrowSource", "ParquetSource", "is_saved_dataset"]

_BATCH = 4096
_READ_AHEAD = 1 << 20  # bytes of a column buffered at once: a row group may be larger than memory


class ParquetSource:
    """Parquet files; row groups that are done are not read again."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._columns = Columns(settings)

    @property
    def hints(self) -> tuple[str, ...]:
        """What is to be said before the first row of a new job is embedded."""
        return self._columns.hints

    def parts(self) -> Iterator[Part]:
        """A file each."""
        made = []
        self._columns = Columns(self._settings)
        for path in self._settings.paths:
            for place in _found(path, self._settings, (".parquet", ".pq")):
                with _opened(place) as file:
                    self._columns.add(place.name, file.schema_arrow)
                    made.append(Part(place.name, place.identity, file.metadata.num_rows, place, place.lasting))
        self._columns.check()
        yield from made

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The rows of a file, from any of them on."""
        with _opened(part.at) as file:
            kept = kept_columns(self._settings, file.schema_arrow.names, part.name)
            columns = _needed(self._settings, kept, file.schema_arrow.names)
            groups, first = _groups_from(file, start)
            for batch in file.iter_batches(_BATCH, row_groups=groups, columns=columns, use_threads=False):
                table = pa.Table.from_batches([batch])
                if first + len(table) > start:
                    fresh = table.slice(max(start - first, 0))
                    yield as_rows(fresh, self._settings, part.name, max(start, first), kept, self._columns.types)
                first += len(table)


def _found(path: str, settings: SourceSettings, endings: tuple[str, ...]) -> list[Place]:
    return find(path, settings.storage, endings=endings, leave_out=settings.leave_out)


def _opened(place: Place) -> Any:
    try:
        return pq.ParquetFile(place.open(), pre_buffer=False, buffer_size=_READ_AHEAD)
    except pa.ArrowInvalid as error:
        raise UnreadableFile(place.name, f"not a Parquet file: {_short(error)}") from None


def _groups_from(file: Any, start: int) -> tuple[list[int], int]:
    """The row groups from a row on, and the first row of the first of them."""
    first = 0
    for at in range(file.num_row_groups):
        rows = file.metadata.row_group(at).num_rows
        if first + rows > start:
            return list(range(at, file.num_row_groups)), first
        first += rows
    return [], first


def _needed(settings: SourceSettings, kept: list[str], names: list[str]) -> list[str]:
    """The columns to read, of those that there are."""
    wanted = dict.fromkeys((settings.text, settings.id, *kept))
    return [name for name in wanted if name in names]


class ArrowSource:
    """Arrow IPC files and streams; ``huggingface`` names folders of them that ``datasets`` saved."""

    def __init__(self, settings: SourceSettings, kind: str) -> None:
        self._settings = settings
        self._saved = kind == "huggingface"
        self._columns = Columns(settings)

    @property
    def hints(self) -> tuple[str, ...]:
        """What is to be said before the first row of a new job is embedded."""
        return self._columns.hints

    def parts(self) -> Iterator[Part]:
        """A file each, in the order in which they were saved."""
        made = []
        self._columns = Columns(self._settings)
        for path in self._settings.paths:
            places = (
                _saved_files(place_of(path, self._settings.storage))
                if self._saved
                else _found(path, self._settings, (".arrow", ".feather", ".ipc"))
            )
            for place in places:
                with _reader(place) as reader:
                    self._columns.add(place.name, reader.schema)
                made.append(Part(place.name, place.identity, None, place, place.lasting))
        self._columns.check()
        yield from made

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The rows of a file, from any of them on."""
        first = 0
        for batch in _batches(part.at):
            if first + batch.num_rows > start:
                table = pa.Table.from_batches([batch])
                kept = kept_columns(self._settings, table.column_names, part.name)
                begin = max(start - first, 0)
                for at in range(begin, len(table), _BATCH):
                    some = table.select(_needed(self._settings, kept, table.column_names)).slice(at, _BATCH)
                    yield as_rows(some, self._settings, part.name, first + at, kept, self._columns.types)
            first += batch.num_rows


def _batches(place: Place) -> Iterator[pa.RecordBatch]:
    """The record batches of a file, whichever of the two forms it has."""
    with _reader(place) as reader:
        if isinstance(reader, pa.RecordBatchFileReader):
            yield from (reader.get_batch(at) for at in range(reader.num_record_batches))
        else:
            yield from reader


@contextlib.contextmanager
def _reader(place: Place) -> Iterator[Any]:
    """A reader of an Arrow file; a local one is mapped, not read."""
    try:
        with pa.memory_map(place.path) if place.local else place.open() as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            yield pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
    except pa.ArrowInvalid as error:
        raise UnreadableFile(place.name, f"not an Arrow file: {_short(error)}") from None


def is_saved_dataset(place: Place) -> bool:
    """Whether a folder was saved by ``datasets``: one dataset, or several splits."""
    return place.below("state.json").exists or place.below("dataset_dict.json").exists


def _saved_files(place: Place) -> list[Place]:
    """The data files of a saved dataset, or of each of its splits."""
    if place.below("dataset_dict.json").exists:
        splits = _json(place.below("dataset_dict.json"))["splits"]
        return [each for split in splits for each in _saved_files(place.below(split))]
    if not place.below("state.json").exists:
        raise UnreadableFile(place.name, "not a folder that datasets saved: there is no state.json")
    return [place.below(file["filename"]) for file in _json(place.below("state.json"))["_data_files"]]


def _json(place: Place) -> Any:
    try:
        with place.open() as file:
            return json.loads(file.read())
    except ValueError:
        raise UnreadableFile(place.name, "not JSON") from None


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:160].rstrip(".")
