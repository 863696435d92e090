"""Outcomes as rows: a document each, and with chunk vectors a chunk each below it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.text.measure import utf8_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from unabridged.embedding.results import TextResult
    from unabridged.types import Chunk

__all__ = ["Outcome", "table"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One text of the command: its id and text, and what became of it.

    Without a text (``None``) it is told by the ``digest`` and ``size`` of its bytes.
    """

    id: str
    text: str | None = field(repr=False)
    result: TextResult | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    size: int = 0
    digest: str | None = None

    @property
    def status(self) -> str:
        """ok, chunked, truncated, skipped, empty or failed."""
        return "failed" if self.result is None else self.result.status

    @property
    def has_vector(self) -> bool:
        """Whether there is a vector to write."""
        return self.result is not None and self.result.vector is not None and self.result.vector.size > 0


def table(outcomes: Sequence[Outcome], width: int, *, chunks: bool) -> pa.Table:
    """Rows for a sink. Without ``chunks`` one a text; with them a document row, then its chunks."""
    import pyarrow as pa

    from unabridged.jobs.sink import vector_column

    rows, vectors = [], []
    for outcome in outcomes:
        for row, vector in _rows(outcome, chunks=chunks):
            rows.append(row)
            vectors.append(vector)
    schema = _schema(pa, chunks=chunks)
    made = pa.Table.from_pylist(rows, schema=schema)
    return made.append_column("vector", vector_column(vectors, width))


def _schema(pa: Any, *, chunks: bool) -> Any:
    placed = [("role", pa.string()), ("chunk", pa.int32())] if chunks else []
    spans = [(name, pa.int64()) for name in ("start", "end", "start_byte", "end_byte", "overlap_tokens")]
    return pa.schema(
        [
            ("id", pa.string()),
            *placed,
            ("status", pa.string()),
            ("chunks", pa.int32()),
            ("tokens", pa.int64()),
            ("cached", pa.bool_()),
            ("dispersion", pa.float32()),
            ("unknown_share", pa.float32()),
            ("chars", pa.int64()),
            ("bytes", pa.int64()),
            *(spans if chunks else []),
            ("sha256", pa.string()),
            ("warnings", pa.list_(pa.string())),
            ("error", pa.string()),
        ]
    )


def _rows(outcome: Outcome, *, chunks: bool) -> Iterator[tuple[dict[str, Any], Any]]:
    result, text = outcome.result, outcome.text or ""
    size = utf8_length(text)
    row: dict[str, Any] = {
        "id": outcome.id,
        "role": "document",
        "chunk": None,
        "status": outcome.status,
        "chunks": 0 if result is None else result.chunk_count,
        "tokens": 0 if result is None else result.tokens,
        "cached": result is not None and result.cached,
        "dispersion": None if result is None else result.dispersion,
        "unknown_share": None if result is None else result.unknown_share,
        "chars": len(text),
        "bytes": outcome.size if outcome.text is None else size,
        "start": 0,
        "end": len(text),
        "start_byte": 0,
        "end_byte": size,
        "overlap_tokens": 0,
        "sha256": outcome.digest if outcome.text is None else _sha256(text),
        "warnings": list(outcome.warnings),
        "error": outcome.error,
    }
    yield row, result.vector if result is not None and outcome.has_vector else None
    if chunks and result is not None and result.chunk_vectors is not None:
        yield from _chunk_rows(row, result)


def _chunk_rows(document: dict[str, Any], result: TextResult) -> Iterator[tuple[dict[str, Any], Any]]:
    whole = {"role": "chunk", "chunk": 0, "dispersion": None, "warnings": []}
    if not result.chunks:  # a text that fits is its own one chunk
        yield {**document, **whole}, result.chunk_vectors[0]  # type: ignore[index]
        return
    for chunk, vector in zip(result.chunks, result.chunk_vectors, strict=True):  # type: ignore[arg-type]
        yield {**document, **whole, **_placed(chunk)}, vector


def _placed(chunk: Chunk) -> dict[str, Any]:
    return {
        "chunk": chunk.index,
        "tokens": chunk.tokens,
        "overlap_tokens": chunk.overlap_tokens,
        "chars": chunk.end - chunk.start,
        "bytes": chunk.end_byte - chunk.start_byte,
        "start": chunk.start,
        "end": chunk.end,
        "start_byte": chunk.start_byte,
        "end_byte": chunk.end_byte,
        "sha256": _sha256(chunk.text),
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
