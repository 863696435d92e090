"""Export and import, lossless: every row, vector and file of one state, as JSON Lines or Parquet.

An export is a folder: ``manifest.json`` (format, schema, settings, and for each file its rows, size and
SHA-256), one file a table, ``files/`` with the images. Rows are in the order of their keys, so two exports
of the same state are equal. In JSON Lines a vector is the base64 of its little-endian bytes.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import hashlib
import json
import shutil
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unabridged.errors import InputError, Taken
from unabridged.memory.lock import held
from unabridged.memory.schema import (
    OUTSIDE,
    SCHEMA_VERSION,
    TABLES,
    VECTOR_TABLES,
    arrow_schema,
    vector_column,
    vector_field,
)
from unabridged.memory.trouble import told
from unabridged.memory.values import new_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from unabridged.memory.commits import View, Writing
    from unabridged.memory.dataset import Handle
    from unabridged.memory.memory import Memory

__all__ = ["FORMAT", "Manifest", "checked", "export", "import_"]

FORMAT = 1
KINDS = ("jsonl", "parquet")
ROWS = 8192
_KEPT = tuple(name for name in OUTSIDE if name != "snapshots")  # a snapshot names versions of its own store
_KEYS: Mapping[str, tuple[str, ...]] = {
    "links": ("created_at", "type", "from_id", "to_id", "via_id"),
    "points": ("series_id", "time", "id"),
    "sessions": ("created_at", "id"),
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export holds."""

    format: int
    kind: str
    schema: int
    dataset: str
    seq: int
    settings: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)


# -- export -----------------------------------------------------------------------------------------


@told("exporting")
def export(memory: Memory, path: Path, kind: str) -> Manifest:
    """Write one state to a folder that is not there yet; under another name until it is whole."""
    if kind not in KINDS:
        raise InputError(f"format: found {kind!r}, expected 'jsonl' or 'parquet'")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path}: is there already; export to a new folder")
    beside = path.with_name(f"{path.name}.{new_id()}.new")
    beside.mkdir(parents=True)
    try:
        with memory.store.pinned() as view:
            manifest = _write(memory, view, beside, kind)
        (beside / "manifest.json").write_text(json.dumps(asdict(manifest), ensure_ascii=False, indent=1), "utf-8")
        if path.exists():
            path.rmdir()
        beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return manifest


def _write(memory: Memory, view: View, folder: Path, kind: str) -> Manifest:
    tables = {}
    for table in (*TABLES, *_KEPT):
        name = f"{table}.{kind}"
        count = _write_table(memory, view, table, folder / name, kind)
        tables[table] = {"file": name, "rows": count, **_sealed(folder / name)}
    settings = {name: value for name, value in view.settings.items() if name != "schema"}
    return Manifest(
        format=FORMAT,
        kind=kind,
        schema=int(view.settings["schema"]),
        dataset=memory.name,
        seq=view.head.seq,
        settings=settings,
        tables=tables,
        files=_write_files(memory, view, folder / "files"),
    )


def _write_table(memory: Memory, view: View, table: str, path: Path, kind: str) -> int:
    handle = view[table] if table in TABLES else memory.store.place.open(table, fenced=False)
    keys = _KEYS.get(table, ("created_at", "id"))
    count = 0
    writer = _Lines(path) if kind == "jsonl" else _Parquet(path, handle.schema)
    with writer:
        for rows in _in_order(handle, keys):
            writer.write(rows)
            count += rows.num_rows
    return count


def _in_order(handle: Handle, keys: tuple[str, ...]) -> Iterator[pa.Table]:
    """Whole rows in the order of their keys, a few thousand at a time."""
    order = handle.read(None, [*keys])
    at = pc.sort_indices(order, [(key, "ascending") for key in keys]).to_pylist()
    for start in range(0, len(at), ROWS):
        yield handle.take(at[start : start + ROWS])


class _Lines:
    def __init__(self, path: Path) -> None:
        self._out = path.open("w", encoding="utf-8", newline="\n")

    def write(self, rows: pa.Table) -> None:
        columns = {name: _to_json(rows[name]) for name in rows.column_names}
        for row in zip(*columns.values(), strict=True):
            values = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
            self._out.write(json.dumps(values, ensure_ascii=False) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()


class _Parquet:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._out = pq.ParquetWriter(path, schema, compression="zstd")
        self._schema = schema

    def write(self, rows: pa.Table) -> None:
        self._out.write_table(rows.cast(self._schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()


def _to_json(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_fixed_size_list(column.type):
        return [_vector_text(each) for chunk in column.chunks for each in chunk]
    values = column.to_pylist()
    if pa.types.is_timestamp(column.type):
        return [None if v is None else v.isoformat() for v in values]
    return values


def _vector_text(vector: Any) -> str | None:
    if not vector.is_valid:
        return None
    values = vector.values.to_numpy(zero_copy_only=False)
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def _write_files(memory: Memory, view: View, folder: Path) -> dict[str, int]:
    folder.mkdir()
    sizes = {}
    for key in sorted(set(view.rows("images", None, ["sha256"])["sha256"].to_pylist())):
        raw = memory.images.files.read(key)
        (folder / key).write_bytes(raw)
        sizes[key] = len(raw)
    return sizes


def _sealed(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


# -- import -----------------------------------------------------------------------------------------


def checked(path: Path) -> Manifest:
    """What an export says that it holds, once that is found to be there and whole."""
    manifest = _manifest(path)
    _check(manifest, path)
    return manifest


def import_(memory: Memory, path: Path, manifest: Manifest | None = None) -> None:
    """Bring an export into an empty dataset: checked first, files and queues next, then all rows in one commit."""
    manifest = manifest or checked(path)
    if memory.artifacts.counts().documents or memory.entities.count():
        raise Taken("the dataset to import into is not empty; choose another name for it")
    for key in manifest.files:
        memory.images.files.write(key, (path / "files" / key).read_bytes())
    guard = memory.store.place.outside
    for table in _KEPT:
        place = memory.store.place.open(table, fenced=False)
        with contextlib.nullcontext() if guard is None else held(guard):
            if place.count():  # of an import that was killed before its commit
                place.delete("true")
            for rows in _read(path, manifest, table, place.schema):
                place.append(rows)
    memory.store.turn(lambda writing: _import_tables(writing, path, manifest))
    memory.upkeep.after_commit(memory.store.view().head.seq)


def _manifest(path: Path) -> Manifest:
    try:
        manifest = Manifest(**json.loads((path / "manifest.json").read_text("utf-8")))
        newer = manifest.format > FORMAT or manifest.schema > SCHEMA_VERSION
        named = [said["file"] for said in manifest.tables.values() if said["rows"] >= 0]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise InputError(f"{path}: has no manifest.json of an unabridged export") from None
    if newer:
        raise InputError(
            f"{path}: format {manifest.format}, schema {manifest.schema}, newer than this library's "
            f"{FORMAT} and {SCHEMA_VERSION}: upgrade unabridged"
        )
    if manifest.kind not in KINDS or named != [f"{table}.{manifest.kind}" for table in manifest.tables]:
        raise InputError(f"{path}: its manifest.json names files that no export has")
    return manifest


def _check(manifest: Manifest, path: Path) -> None:
    for table, said in manifest.tables.items():
        file = path / said["file"]
        if not file.is_file():
            raise InputError(f"{path}: {said['file']} is missing")
        if _sealed(file)["sha256"] != said["sha256"]:
            raise InputError(f"{path}: the file of {table} is not what was exported: its SHA-256 differs")
    for key in manifest.files:
        file = path / "files" / key
        if not file.is_file() or _sealed(file)["sha256"] != key:
            raise InputError(f"{path}: an image's file is missing or damaged: {key}")


def _import_tables(writing: Writing, path: Path, manifest: Manifest) -> None:
    settings = {**writing.head.settings, **manifest.settings, "schema": SCHEMA_VERSION}
    width = settings.get("width")
    for table in TABLES:
        handle = writing.touch(table)
        if table in VECTOR_TABLES and width:
            handle.add_columns([vector_field(width, settings["vector_type"])])
        for rows in _read(path, manifest, table, handle.schema):
            handle.append(rows)
    writing.move(settings=settings)


def _fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of an older schema in this one: missing columns are null, unknown ones are left out."""
    columns = [
        rows[f.name].cast(f.type) if f.name in rows.column_names else pa.nulls(rows.num_rows, f.type) for f in schema
    ]
    return pa.table(columns, schema=schema)


def _read(path: Path, manifest: Manifest, table: str, schema: pa.Schema) -> Iterator[pa.Table]:
    said = manifest.tables.get(table)
    if said is None:
        return
    batches = (
        _parquet(path / said["file"]) if manifest.kind == "parquet" else _lines(path / said["file"], table, manifest)
    )
    waiting: list[pa.Table] = []
    count = 0
    try:
        for rows in batches:
            count += rows.num_rows
            waiting.append(_fitted(rows, schema))
            if sum(each.num_rows for each in waiting) >= 8 * ROWS:  # large fragments from the start
                yield pa.concat_tables(waiting)
                waiting = []
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, pa.ArrowException):
        raise InputError(f"{path}: {said['file']} does not hold what an export of {table} holds") from None
    if count != said["rows"]:
        raise InputError(f"{path}: {said['file']} holds {count:,} rows, where its manifest names {said['rows']}")
    if waiting:
        yield pa.concat_tables(waiting)


def _parquet(path: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS):
            yield pa.Table.from_batches([batch])


def _lines(path: Path, table: str, manifest: Manifest) -> Iterator[pa.Table]:
    width, kind = manifest.settings.get("width"), manifest.settings.get("vector_type", "float32")
    with path.open(encoding="utf-8", newline="\n") as file:
        while lines := list(islice(file, ROWS)):
            yield _rows([json.loads(line) for line in lines], table, width, kind)


def _rows(values: list[dict[str, Any]], table: str, width: int | None, kind: str) -> pa.Table:
    schema = arrow_schema(table)
    columns = [pa.array([_from_json(row.get(f.name), f.type) for row in values], f.type) for f in schema]
    rows = pa.table(columns, schema=schema)
    if table not in VECTOR_TABLES or not width:
        return rows
    raw = [row.get("vector") for row in values]
    vectors = [
        None if v is None else np.frombuffer(base64.b64decode(v), "<f2" if kind == "float16" else "<f4") for v in raw
    ]
    return rows.append_column("vector", vector_column(vectors, width, kind))


def _from_json(value: Any, type_: pa.DataType) -> Any:
    return dt.datetime.fromisoformat(value) if value is not None and pa.types.is_timestamp(type_) else value
