"""Vectors as they enter the store: made outside the lock, checked once, of one model and width.

Every vector carries the fingerprint of its embedder; vectors of two fingerprints are never stored side
by side and never compared (SPEC A15, DESIGN §5).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unabridged.errors import BadReply, InputError, ModelMismatch
from unabridged.memory.schema import VECTOR_TABLES
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.commits import Draft, View
    from unabridged.memory.gather import Gathered

__all__ = [
    "GIVEN",
    "EmbedderLike",
    "admit",
    "checked_vector",
    "embed_gathered",
    "embed_texts",
    "text_for",
    "vectors_in",
]

GIVEN = "given"  # the fingerprint of vectors that a caller brought without an embedder
BATCH = 256


class EmbedderLike(Protocol):
    """What the memory needs of an embedder."""

    def embed(self, texts: Any) -> Any:
        """One vector a text, float32, in order."""
        ...

    def fingerprint(self, role: Any = ...) -> str:
        """What must be equal for two vectors to be compared."""
        ...


def text_for(table: str, record: Any) -> str | None:
    """What is embedded of a record: an artifact's search text, an entity's name, an edge's fact."""
    if table == "artifacts":
        return str(record.search_text)
    if table == "entities":
        return str(record.name)
    return str(record.fact) if table == "edges" else record.caption


def checked_vector(vector: Any, width: int | None, what: str) -> Any:
    """One vector: finite, not zero, of the dataset's width."""
    array = np.asarray(vector, dtype=np.float32)
    if array.ndim != 1 or not array.size:
        raise InputError(f"{what}: a vector of shape {array.shape}, expected one dimension")
    if width is not None and array.size != width:
        raise ModelMismatch(f"{what}: a vector of width {array.size}, where the dataset holds width {width}")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: a vector with NaN or infinite values")
    if not array.any():
        raise InputError(f"{what}: a vector of zeros, which no other one can be compared with")
    return array


def embed_texts(embedder: EmbedderLike, texts: Sequence[str]) -> list[Any]:
    """One vector a text, in one call of the embedder."""
    vectors = np.asarray(embedder.embed(list(texts)), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        message = f"the embedder gave an array of shape {vectors.shape} for {len(texts)} texts"
        raise BadReply(message, Fault("wrong_shape"))
    return list(vectors)


def embed_gathered(gathered: Gathered, view: View, embedder: EmbedderLike) -> None:
    """Embed in one call whatever a transaction will add and has no vector for (SPEC A14)."""
    wanted = [(record.id, text) for record, text in _unembedded(gathered, view)]
    if wanted:
        vectors = embed_texts(embedder, [text for _, text in wanted])
        gathered.vectors.update({record: vector for (record, _), vector in zip(wanted, vectors, strict=True)})


def _unembedded(gathered: Gathered, view: View) -> Iterator[tuple[Any, str]]:
    from unabridged.memory.settle import fetch

    known = set(fetch(view, "entities", gathered.entities)) if gathered.entities else set()
    keys = [edge.key for edge in gathered.edges.values()]
    open_ = {e.key for e in fetch(view, "edges", keys, "key").values() if e.invalid_at is None} if keys else set()
    for table in VECTOR_TABLES:
        for record in getattr(gathered, table).values():
            text = text_for(table, record)
            stored = record.id in known or (table == "edges" and record.key in open_)
            if text and not stored and record.id not in gathered.vectors:
                yield record, text


def admit(draft: Draft, gathered: Gathered, fingerprint: str) -> None:
    """Check the vectors of a transaction against the dataset's, and mark the records with their model."""
    if not gathered.vectors:
        return
    width = draft.settings.get("width")
    if not _whole(gathered.vectors, width):
        for at, vector in enumerate(gathered.vectors.values()):
            checked_vector(vector, width, f"vector {at}")
        widths = sorted({len(vector) for vector in gathered.vectors.values()})
        raise ModelMismatch(f"vectors of widths {widths} in one commit: one model and width for all")
    claim(draft, len(next(iter(gathered.vectors.values()))), fingerprint)
    mark(gathered, fingerprint)


def _whole(vectors: dict[str, Any], width: int | None) -> bool:
    """Whether all are one-dimensional, of one width, finite and not zero: looked at together."""
    try:
        together = np.stack([np.asarray(vector, dtype=np.float32) for vector in vectors.values()])
    except (ValueError, TypeError):
        return False
    if together.ndim != 2 or not together.shape[1] or together.shape[1] != (width or together.shape[1]):
        return False
    vectors.update(zip(vectors, together, strict=True))
    return bool(np.isfinite(together).all() and together.any(axis=1).all())


def claim(draft: Draft, width: int, fingerprint: str) -> None:
    """Give an empty dataset its vector columns, or hold a new vector against the dataset's model."""
    stored = draft.settings.get("fingerprint")
    if draft.settings.get("width") is None:
        draft.add_vectors(width, draft.settings.get("vector_type", "float32"))
        draft.set(fingerprint=fingerprint)
    elif stored != fingerprint:
        raise ModelMismatch(
            "the dataset's vectors are of another model or settings than this embedder's", advice="reembed"
        )


def mark(gathered: Gathered, fingerprint: str) -> None:
    """Say on each record by whose model its vector is."""
    for table in VECTOR_TABLES:
        records: dict[str, Any] = getattr(gathered, table)
        for key in records.keys() & gathered.vectors.keys():
            if records[key].embedder != fingerprint:
                records[key] = replace(records[key], embedder=fingerprint)


def vectors_in(rows: pa.Table) -> dict[str, Any]:
    """The vectors of some rows, float32, by id; rows without one are left out."""
    found: dict[str, Any] = {}
    for batch in rows.select(["id", "vector"]).to_batches():
        column = batch["vector"]
        width = column.type.list_size
        flat = column.values.slice(column.offset * width, len(column) * width)
        whole = flat.to_numpy(zero_copy_only=False).reshape(len(column), width).astype(np.float32)
        there = column.is_valid().to_pylist()
        found.update({i: v for i, v, has in zip(batch["id"].to_pylist(), whole, there, strict=True) if has})
    return found


def batches(items: Iterable[Any], size: int = BATCH) -> Iterator[list[Any]]:
    """Items in lists of at most ``size``."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def missing_where(settings: Mapping[str, Any]) -> str:
    """Rows whose vector is absent, or of another model than the dataset's."""
    from unabridged.memory.where import either, is_null, literal

    fingerprint = settings.get("fingerprint")
    return (
        "`embedder` IS NULL"
        if fingerprint is None
        else either(is_null("embedder"), f"`embedder` != {literal(fingerprint)}")
    )
