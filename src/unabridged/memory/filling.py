"""Vectors filled in later, and a change of model: made outside the lock, stored in commits of their own."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import ConfigError
from unabridged.memory.schema import VECTOR_TABLES, columns_of, from_table, vector_column
from unabridged.memory.vectors import (
    EmbedderLike,
    batches,
    checked_vector,
    claim,
    embed_texts,
    missing_where,
    text_for,
)
from unabridged.memory.where import among, batched, both, not_null

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from unabridged.memory.commits import Draft, Store, View
    from unabridged.memory.memory import Memory

__all__ = ["change", "fill", "lay", "reembed", "refill", "texts_of"]

_log = logging.getLogger("unabridged")


def fill(memory: Memory, *, limit: int | None = None) -> int:
    """Give a vector to what has none, a batch a commit; how many got one."""
    embedder = memory.embedder
    if embedder is None:
        raise ConfigError("embedder", "found none, expected one", advice="embedder")
    done = 0
    with memory.store.pinned() as view:
        for table in VECTOR_TABLES:
            for batch in batches(texts_of(view, table, missing_where(view.settings))):
                part = batch if limit is None else batch[: limit - done]
                if part:
                    _store(memory.store, table, part, embedder)
                done += len(part)
    return done


def texts_of(view: View, table: str, where: str | None) -> Iterator[tuple[str, str]]:
    """Ids of a table's rows and what of each is embedded; rows of which nothing is are passed over."""
    for batch in view[table].batches(where, columns_of(table)):
        for record in from_table(table, pa.Table.from_batches([batch])):
            text = text_for(table, record)
            if text:
                yield record.id, text


def refill(store: Store, embedder: EmbedderLike, edges: Iterable[str]) -> None:
    """Vectors for facts that were told anew; where the embedder fails they wait for :func:`fill`."""
    try:
        with store.pinned() as view:
            for ids in batched(edges):
                for part in batches(texts_of(view, "edges", both(among("id", ids), missing_where(view.settings)))):
                    _store(store, "edges", part, embedder)
    except Exception as error:  # noqa: BLE001 - whatever a caller's embedder raises: what made them necessary is done
        _log.warning("facts that were told anew have no vector yet: %s", type(error).__name__)


def _store(store: Store, table: str, part: list[tuple[str, str]], embedder: EmbedderLike) -> None:
    found = embed_texts(embedder, [text for _, text in part])
    vectors = {id_: vector for (id_, _), vector in zip(part, found, strict=True)}
    fingerprint = embedder.fingerprint("document")

    store.commit(lambda draft: lay(draft, table, vectors, fingerprint))


def lay(draft: Draft, table: str, vectors: Mapping[str, Any], fingerprint: str) -> None:
    """Draft vectors, by id, for rows that are stored; ids that are gone are passed over."""
    width = draft.settings.get("width")
    checked = {id_: checked_vector(vector, width, table) for id_, vector in vectors.items()}
    claim(draft, len(next(iter(checked.values()))), fingerprint)
    ids = draft.view.rows(table, among("id", checked), ["id"])["id"].to_pylist()
    draft.merge(table, _rows(ids, [checked[id_] for id_ in ids], fingerprint, draft))


def _rows(ids: list[str], vectors: list[Any], fingerprint: str, draft: Draft) -> pa.Table:
    column = vector_column(vectors, draft.settings["width"], draft.settings["vector_type"])
    return pa.table({"id": pa.array(ids, pa.string()), "embedder": [fingerprint] * len(ids), "vector": column})


def reembed(memory: Memory, embedder: EmbedderLike) -> int:
    """Make every vector anew with another embedder, beside the dataset; then change all in one commit.

    What was added meanwhile is filled in right after it.
    """
    fingerprint = embedder.fingerprint("document")
    with tempfile.TemporaryDirectory(prefix="unabridged-") as folder:
        with memory.store.pinned() as view:
            made = {table: _spill(view, table, embedder, Path(folder)) for table in VECTOR_TABLES}
        widths = [width for _, width in made.values() if width]
        files = {table: (path,) for table, (path, _) in made.items()}
        memory.store.commit(lambda draft: change(draft, files, widths[0] if widths else None, fingerprint))
    memory.embedder = embedder
    fill(memory)
    held = not_null("embedder")
    return memory.source.ask(lambda view: sum(view[table].count(held) for table in VECTOR_TABLES))


def _spill(view: View, table: str, embedder: EmbedderLike, folder: Path) -> tuple[Path, int]:
    """Ids and new vectors of one table, in a file."""
    path, width, writer = folder / f"{table}.arrow", 0, None
    try:
        for part in batches(texts_of(view, table, None)):
            vectors = [checked_vector(v, width or None, table) for v in embed_texts(embedder, [t for _, t in part])]
            width = len(vectors[0])
            rows = pa.record_batch(
                [pa.array([i for i, _ in part]), vector_column(vectors, width, "float32")], ["id", "vector"]
            )
            writer = writer or pa.ipc.new_file(path, rows.schema)
            writer.write_batch(rows)
    finally:
        if writer is not None:
            writer.close()
    return path, width


def change(draft: Draft, made: Mapping[str, Iterable[Path]], width: int | None, fingerprint: str) -> None:
    """Draft another model's vectors in place of all there are: of each table, Arrow files of ids and vectors."""
    draft.drop_vectors()
    draft.set(width=None, fingerprint=None)
    if width is None:
        return
    draft.add_vectors(width, draft.settings["vector_type"])
    draft.set(fingerprint=fingerprint)
    for table, paths in made.items():
        done: set[str] = set()
        for batch in _spilled(paths):
            ids = batch["id"].to_pylist()
            vectors = list(batch["vector"].values.to_numpy().reshape(len(ids), width))
            draft.merge(table, _rows(ids, vectors, fingerprint, draft))
            done.update(ids)
        late = draft.view.rows(table, not_null("embedder"), ["id"])["id"].to_pylist()
        rest = [id_ for id_ in late if id_ not in done]
        rows = {"id": pa.array(rest, pa.string()), "embedder": pa.array([None] * len(rest), pa.string())}
        draft.merge(table, pa.table(rows))


def _spilled(paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        if path.exists():
            with pa.ipc.open_file(path) as file:
                yield from file.read_all().to_batches()
