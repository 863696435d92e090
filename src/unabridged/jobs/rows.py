"""Finished rows as Arrow tables: a row a text, and with chunk vectors a row a chunk below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.text.measure import utf8_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.embedding.results import TextResult
    from unabridged.jobs.shard import Shard

__all__ = ["OWN", "finished", "output_schema"]

# The columns that are ours; a source's own of the same name cannot be kept.
OWN = ("row", "id", "role", "chunk", "status", "tokens", "chunks", "start", "end", "start_byte", "end_byte", "vector")
_PLACES = ("start", "end", "start_byte", "end_byte")


def finished(
    shard: Shard, done: Sequence[tuple[int, TextResult]], *, chunk_vectors: bool, text_as: str | None = None
) -> pa.Table:
    """The rows that have a vector: ``done`` has positions in the shard and what became of them.

    ``text_as`` names the column that keeps the text, if any does.
    """
    at = np.fromiter((position for position, _ in done), np.int64, len(done))
    given = shard.table.take(pa.array(at)) if len(done) < len(shard) else shard.table
    rows = at + shard.first if shard.rows is None else np.array(shard.rows, np.int64)[at]
    results = [result for _, result in done]
    columns: dict[str, Any] = {
        "row": pa.array(rows, pa.int64()),
        "id": given["id"],
        **({} if text_as is None else {text_as: given["text"]}),
        **{name: given[name] for name in given.column_names if name not in ("id", "text")},
        "status": pa.array([result.status for result in results], pa.string()),
        "tokens": pa.array([result.tokens for result in results], pa.int64()),
        "chunks": pa.array([result.chunk_count for result in results], pa.int32()),
    }
    vectors = _vectors([result.vector for result in results])
    if not chunk_vectors:
        return pa.table({**columns, "vector": vectors})
    return _with_chunks(pa.table(columns), results, vectors)


def output_schema(table: pa.Table) -> pa.Schema:
    """What a sink gets: all but the row's place in its part."""
    return pa.schema([field for field in table.schema if field.name != "row"])


def _vectors(rows: Sequence[Any]) -> pa.Array:
    matrix = np.stack(rows).astype(np.float32, copy=False)
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])


def _with_chunks(documents: pa.Table, results: Sequence[TextResult], vectors: pa.Array) -> pa.Table:
    """Each document's row, then those of its chunks; a text that fits is its own one chunk."""
    order: list[int] = []
    own: dict[str, list[Any]] = {name: [] for name in ("role", "chunk", "tokens", *_PLACES)}
    flat: list[Any] = []
    whole = vectors.values.to_numpy().reshape(len(results), -1)
    for at, result in enumerate(results):
        for row, vector in _rows_of(result, whole[at]):
            order.append(at)
            flat.append(vector)
            for name, value in row.items():
                own[name].append(value)
    made = documents.take(pa.array(order, pa.int64()))
    made = made.set_column(made.schema.get_field_index("tokens"), "tokens", pa.array(own["tokens"], pa.int64()))
    at = made.schema.get_field_index("status")
    made = made.add_column(at, "chunk", pa.array(own["chunk"], pa.int32()))
    made = made.add_column(at, "role", pa.array(own["role"], pa.string()))
    for name in _PLACES:
        made = made.append_column(name, pa.array(own[name], pa.int64()))
    return made.append_column("vector", _vectors(flat))


def _rows_of(result: TextResult, vector: Any) -> list[tuple[dict[str, Any], Any]]:
    size = utf8_length(result.text)
    places = {"start": 0, "end": len(result.text), "start_byte": 0, "end_byte": size}
    rows = [({"role": "document", "chunk": None, "tokens": result.tokens, **places}, vector)]
    if result.spans is None:
        return [*rows, ({"role": "chunk", "chunk": 0, "tokens": result.tokens, **places}, vector)]
    pieces = () if result.chunk_vectors is None else zip(result.chunks, result.chunk_vectors, strict=True)
    for chunk, one in pieces:
        row = {name: getattr(chunk, name) for name in ("tokens", *_PLACES)}
        rows.append(({"role": "chunk", "chunk": chunk.index, **row}, one))
    return rows
