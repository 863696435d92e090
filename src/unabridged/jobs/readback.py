"""An output that a job wrote before, read again: so that a source that has grown costs only what is new in it."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unabridged.jobs.known import id_hash
from unabridged.jobs.sink import ids_file, vector_column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_back", "without"]

_BATCH = 4096


def read_back(path: Path, width: int) -> Iterator[pa.Table]:
    """The rows of an output in any of its formats, as they were written."""
    kind = path.suffix.lower()
    if kind == ".parquet":
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(_BATCH):
                yield pa.Table.from_batches([batch])
    elif kind == ".lance":
        from unabridged.jobs.lance import open_table, tables_of

        yield from tables_of(open_table(str(path)))
    elif kind == ".jsonl":
        for rows in _lines(path):
            vectors = [row.pop("vector") for row in rows]
            yield _table(rows, [None if each is None else np.array(each, np.float32) for each in vectors], width)
    else:
        matrix = np.load(path, mmap_mode="r")
        for rows in _lines(ids_file(path)):
            at = [row.pop("row") for row in rows]
            yield _table(rows, [None if each is None else np.array(matrix[each]) for each in at], width)


def without(tables: Iterator[pa.Table], dead: NDArray[np.bytes_]) -> Iterator[pa.Table]:
    """The rows whose ids are not among the dead."""
    for table in tables:
        keep = ~np.isin(id_hash(table["id"].to_pylist()), dead)
        kept = table if keep.all() else table.filter(pa.array(keep))
        if kept.num_rows:
            yield kept.replace_schema_metadata(None)


def _lines(path: Path) -> Iterator[list[dict[str, Any]]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        rows = (json.loads(line) for line in file)
        while some := list(itertools.islice(rows, _BATCH)):
            for row in some:
                row.pop("fingerprint", None)
            yield some


def _table(rows: list[dict[str, Any]], vectors: list[Any], width: int) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    for name, kind in (("tokens", pa.int64()), ("chunks", pa.int32()), ("chunk", pa.int32())):
        if name in table.column_names:
            table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(kind))
    return table.append_column("vector", vector_column(vectors, width))
