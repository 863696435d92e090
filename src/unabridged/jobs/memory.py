"""A memory as a source (the texts of its artifacts) and as a target (a document each, with its vectors).

In a memory a row is known by its ``source``, which is the row's id: what stands there with the same text stays as
it is, what has another text is replaced (SPEC K5). So a publication that was interrupted is simply done again.
"""

from __future__ import annotations

import hashlib
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.errors import JobError, ModelMismatch
from unabridged.jobs.known import id_hash
from unabridged.jobs.places import lasting
from unabridged.jobs.rows import OWN
from unabridged.jobs.source import Part, Rows, of_these
from unabridged.memory import Memory
from unabridged.memory.where import among, batched, both, equals, not_null
from unabridged.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from unabridged.jobs.publish import Feed
    from unabridged.jobs.settings import JobSettings, SourceSettings

__all__ = ["MemorySource", "MemoryTarget"]

_COLUMNS = ("role", "kind", "session_id", "source")  # that may be kept
_PAGE = 1000
_DOCUMENTS = 1000  # in one commit: large enough that a commit's 30 ms do not count


class MemorySource:
    """The artifacts of a dataset, oldest first; ``role``, ``kind``, ``session_id`` and ``source`` may be kept."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        of_these("text", (settings.text,), ("text",), "artifacts")
        of_these("id", (settings.id or "id",), ("id",), "artifacts")
        of_these("keep", settings.keep, (*_COLUMNS, "text", "*"), "artifacts")
        self._columns = [name for name in _COLUMNS if name in settings.keep or "*" in settings.keep]

    def parts(self) -> Iterator[Part]:
        """A place each; its identity is the head's number, so what is added later is found."""
        for path in self._settings.paths:
            with self._open(path) as memory:
                head = memory.source.ask(lambda view: view.head.seq)
                yield Part(path, f"head {head}", None, path, lasting(path))

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The artifacts from one of them on."""
        with self._open(part.at) as memory, memory.pinned() as reader:
            first, cursor = 0, None
            while True:
                page = reader.artifacts.list(limit=_PAGE, cursor=cursor)
                if page.items and first + len(page) > start:
                    fresh = page.items[max(start - first, 0) :]
                    yield self._rows(fresh, max(start, first))
                first, cursor = first + len(page), page.cursor
                if cursor is None:
                    return

    def _open(self, path: str) -> Memory:
        settings = self._settings
        options: dict[str, Any] = {"storage_options": {**settings.storage}}
        return Memory.open(path, dataset=settings.dataset, create=False, read_only=True, **options)

    def _rows(self, artifacts: Iterable[Any], first: int) -> Rows:
        found = list(artifacts)
        columns: dict[str, Any] = {
            "id": pa.array([each.id for each in found], pa.string()),
            "text": pa.array([each.search_text for each in found], pa.string()),
            **{name: pa.array([getattr(each, name) for each in found], pa.string()) for name in self._columns},
        }
        return Rows(first, pa.table(columns), after=first + len(found))


class _Print:
    """Stands for the job's embedder in a transaction: its fingerprint, and no vector but those that are brought."""

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint

    def fingerprint(self, role: Any = "document") -> str:
        """The fingerprint of every vector of the job."""
        return self._fingerprint

    def embed(self, texts: Any) -> Any:
        """Never needed: every row comes with its vector."""
        raise JobError(f"{len(texts)} texts without a vector reached the memory")


class MemoryTarget:
    """A document for each row, with the kept columns as metadata, and its chunks where chunk vectors are asked for."""

    def __init__(self, settings: JobSettings) -> None:
        self._settings = settings

    def check(self, *, ours: bool) -> None:
        """The place opens, and its vectors are of this job's model or there are none."""
        sink = self._settings.sink
        with self._open(None) as memory:
            held = memory.settings.get("fingerprint")
        if held is None:
            return
        embedder = self._settings.embedder(cache=False)
        mine = embedder.fingerprint(self._settings.role)
        embedder.close()
        if mine != held:
            raise ModelMismatch(f"{sink.target}: holds vectors of another model or of other settings than this job's")

    def holds(self, part: str) -> bool:
        """What was deleted from the memory stays deleted."""
        return True

    def keep(self, folder: Path) -> None:
        """Nothing: a row that is there is not written twice."""

    def publish(self, feed: Feed, kept: Path) -> str:
        """Some documents a commit."""
        with self._open(_Print(feed.fingerprint)) as memory:
            if len(feed.dead):
                self._remove(memory, feed)
            for documents in _grouped(feed.tables()):
                self._store(memory, documents, feed.fingerprint)
        return self._settings.sink.target

    def _open(self, embedder: Any) -> Memory:
        sink = self._settings.sink
        return Memory.open(
            sink.target,
            dataset=sink.dataset,
            embedder=embedder,
            max_text_bytes=sys.maxsize,
            storage_options=dict(sink.storage) or None,
        )

    def _store(self, memory: Memory, documents: list[list[dict[str, Any]]], fingerprint: str) -> None:
        text_as = self._settings.text_as or "text"
        held = _held(memory, [rows[0]["id"] for rows in documents])
        with memory.write() as tx:
            for rows in documents:
                row = rows[0]
                digest = hashlib.sha256(row[text_as].encode("utf-8", "surrogatepass")).hexdigest()
                old = held.get(row["id"], [])
                if any(known == digest for _, known in old):
                    continue
                tx.delete([artifact for artifact, _ in old])
                metadata = {name: value for name, value in row.items() if name not in OWN and name != text_as}
                document = tx.artifact(
                    row[text_as],
                    vector=row["vector"],
                    source=row["id"],
                    source_hash=digest,
                    tokens=row["tokens"],
                    metadata={name: value for name, value in metadata.items() if value is not None},
                    provenance={"job": self._settings.id},
                )
                if len(rows) > 2:  # a text that fits is one chunk, which is the document itself
                    for chunk in rows[1:]:
                        tx.chunk(document, _chunk(chunk, row[text_as]), vector=chunk["vector"], splitter=fingerprint)

    def _remove(self, memory: Memory, feed: Feed) -> None:
        """What the source has no more; only rows that this job wrote."""
        where = both(equals("role", "document"), not_null("source"))
        found = memory.source.ask(lambda view: view.records("artifacts", where))
        gone = [artifact for artifact in found if artifact.provenance.get("job") == self._settings.id]
        dead = np.isin(id_hash([artifact.source for artifact in gone]), feed.dead) if gone else ()
        memory.delete([artifact for artifact, is_dead in zip(gone, dead, strict=True) if is_dead])


def _held(memory: Memory, ids: list[str]) -> dict[str, list[tuple[str, str | None]]]:
    """The documents that stand for some rows: their artifacts, and the hash of their texts."""
    columns = ["id", "source", "source_hash"]
    found: dict[str, list[tuple[str, str | None]]] = {}
    for part in batched(ids):
        where = both(equals("role", "document"), among("source", part))
        rows = memory.source.ask(partial(_artifact_rows, where=where, columns=columns))
        for row in rows.to_pylist():
            found.setdefault(row["source"], []).append((row["id"], row["source_hash"]))
    return found


def _artifact_rows(view: Any, *, where: str | None, columns: list[str]) -> pa.Table:
    return view.rows("artifacts", where, columns)


def _grouped(tables: Iterable[pa.Table]) -> Iterator[list[list[dict[str, Any]]]]:
    """Documents with the rows of their chunks, some at a time."""
    rows = (row for table in tables for row in _dicts(table))
    held: list[list[dict[str, Any]]] = []
    for row in rows:
        if row.get("role") == "chunk":
            held[-1].append(row)
            continue
        if len(held) >= _DOCUMENTS:
            yield held
            held = []
        held.append([row])
    if held:
        yield held


def _dicts(table: pa.Table) -> Iterator[dict[str, Any]]:
    vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
    for row, vector in zip(table.drop_columns(["vector"]).to_pylist(), vectors, strict=True):
        yield {**row, "vector": vector}


def _chunk(row: Mapping[str, Any], text: str) -> Chunk:
    start, end = row["start"], row["end"]
    return Chunk(row["chunk"], start, end, row["start_byte"], row["end_byte"], text[start:end], row["tokens"])
