"""Another embedder for a memory: vectors made beside it, kept as they come, changed in one commit.

Until that commit every search is served by the old vectors. What is made lies in the sweep's folder in
parts (ids, a hash of each text, vectors), so a sweep that was killed makes none of them twice.
"""

from __future__ import annotations

import contextlib
import shutil
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa

from unabridged.memory.filling import change, fill, texts_of
from unabridged.memory.schema import VECTOR_TABLES, vector_column
from unabridged.memory.vectors import batches, checked_vector, embed_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from unabridged.memory import Memory
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["change_embedder"]

_PART = 1024  # texts of one part: what a kill may cost is what of it was under way and is not in a cache


def change_embedder(
    memory: Memory, embedder: EmbedderLike, folder: Path, *, step: Callable[[int], None] | None = None
) -> int:
    """Make every vector anew; how many were made by this run. ``step`` is told so after each part, and may raise."""
    fingerprint = embedder.fingerprint("document")
    place = folder / fingerprint
    done = 0
    with memory.store.pinned() as view:
        for table in VECTOR_TABLES:
            spill = _Spill(place / table)
            wanted = (pair for pair in texts_of(view, table, None) if not spill.has(*pair))
            for part in batches(wanted, _PART):
                spill.add(part, embed_texts(embedder, [text for _, text in part]))
                done += len(part)
                if step is not None:
                    step(done)
    width = _Spill.width_of(place)
    made = {table: tuple(_Spill(place / table).paths()) for table in VECTOR_TABLES}
    memory.store.commit(lambda draft: change(draft, made, width, fingerprint))
    memory.embedder = embedder
    fill(memory)  # what was added meanwhile
    shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):  # another sweep's parts, or somebody's files
        folder.rmdir()
    return done


class _Spill:
    """The vectors of one table that are made already, in files that are whole or not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = {name: crc for part in self._parts() for name, crc in _ids(part)}

    def has(self, name: str, text: str) -> bool:
        """Whether the vector of a row's present text is there."""
        return self._known.get(name) == _hash(text)

    def add(self, part: list[tuple[str, str]], vectors: list[object]) -> None:
        """One more file."""
        checked = [checked_vector(vector, None, self._folder.name) for vector in vectors]
        columns = [
            pa.array([name for name, _ in part]),
            pa.array([_hash(text) for _, text in part], pa.uint32()),
            vector_column(checked, len(checked[0]), "float32"),
        ]
        rows = pa.record_batch(columns, ["id", "text", "vector"])
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = self._folder / f"{len(self.paths()):06}.arrow"
        half = target.with_suffix(".half")
        with pa.OSFile(str(half), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_batch(rows)
        half.replace(target)
        self._known.update((name, _hash(text)) for name, text in part)

    def paths(self) -> list[Path]:
        """The files, oldest first: a later one has the newer text of a row."""
        return sorted(self._folder.glob("*.arrow"))

    def _parts(self) -> Iterator[pa.Table]:
        for path in self.paths():
            with pa.ipc.open_file(path) as file:
                yield file.read_all().select(["id", "text"])

    @staticmethod
    def width_of(place: Path) -> int | None:
        """The width of the vectors below a folder."""
        for path in sorted(place.glob("*/*.arrow")):
            with pa.ipc.open_file(path) as file:
                return int(file.schema.field("vector").type.list_size)
        return None


def _ids(part: pa.Table) -> Iterator[tuple[str, int]]:
    return zip(part["id"].to_pylist(), part["text"].to_pylist(), strict=True)


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
