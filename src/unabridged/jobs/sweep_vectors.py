"""Another embedder for a memory: vectors made beside it, kept as they come, changed in one commit.

Until that commit every search is served by the old vectors. What is made lies in the sweep's folder in
parts (ids, a hash of each text, vectors), so a sweep that was killed makes none of them twice. Documents that are
to be cut anew as well are so in the same commit: their old chunks get no vector of the new model, which nobody
would see.
"""

from __future__ import annotations

import contextlib
import shutil
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from unabridged.jobs.sweep_chunks import draft_recuts
from unabridged.memory.filling import change, fill, texts_of
from unabridged.memory.schema import VECTOR_TABLES, vector_column
from unabridged.memory.vectors import batches, checked_vector, embed_texts
from unabridged.memory.where import among, batched, both, equals

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from unabridged.jobs.sweep_chunks import Recut
    from unabridged.memory import Memory
    from unabridged.memory.commits import Draft, View
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["change_embedder"]

_PART = 1024  # texts of one part: what a kill may cost is what of it was under way and is not in a cache
_RECUT = "recut"  # the folder of the vectors of chunks that are not there yet


def change_embedder(
    memory: Memory,
    embedder: EmbedderLike,
    folder: Path,
    *,
    recuts: Sequence[Recut] = (),
    step: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Make every vector anew; how many this run made, and how many of ``recuts`` were done along with it.

    ``step`` is told after each part how many are made, and may raise.
    """
    fingerprint = embedder.fingerprint("document")
    place = folder / fingerprint
    done = 0
    with memory.store.pinned() as view:
        passing = _passing(view, recuts)
        texts = {table: texts_of(view, table, None) for table in VECTOR_TABLES}
        texts["artifacts"] = (pair for pair in texts_of(view, "artifacts", None) if pair[0] not in passing)
        texts[_RECUT] = ((key, text) for plan in recuts for key, _, text in _named(plan))
        for name, pairs in texts.items():
            spill = _Spill(place / name)
            for part in batches((pair for pair in pairs if not spill.has(*pair)), _PART):
                spill.add(part, embed_texts(embedder, [text for _, text in part]))
                done += len(part)
                if step is not None:
                    step(done)
    width = _Spill.width_of(place)
    made = {table: tuple(_Spill(place / table).paths()) for table in VECTOR_TABLES}
    cut = memory.store.commit(lambda draft: _both(draft, place, made, width, fingerprint, recuts))
    memory.embedder = embedder
    fill(memory)  # what was added meanwhile
    shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(OSError):  # another sweep's parts, or somebody's files
        folder.rmdir()
    return done, cut


def _both(
    draft: Draft,
    place: Path,
    made: Mapping[str, Sequence[Path]],
    width: int | None,
    fingerprint: str,
    recuts: Sequence[Recut],
) -> int:
    """Draft the new vectors, and the new cut with them."""
    change(draft, made, width, fingerprint)
    if not recuts:
        return 0
    ids = {key: name for plan in recuts for key, name, _ in _named(plan)}
    vectors = {ids[key]: vector for key, vector in _Spill(place / _RECUT).vectors(ids).items()}
    vectors |= _Spill(place / "artifacts").vectors({one.id for plan in recuts for one in plan.kept})
    return draft_recuts(draft, recuts, vectors, fingerprint)


def _named(plan: Recut) -> Iterator[tuple[str, str, str]]:
    """What is to be embedded for a document: under a name that the next run finds again, its id, the text."""
    places = {one.id: f"{one.start_offset}-{one.end_offset}" for one in plan.new}
    for name, text in plan.texts.items():
        yield f"{plan.document.id}/{places.get(name, '')}", name, text


def _passing(view: View, recuts: Sequence[Recut]) -> set[str]:
    """Rows that go with the old cut, or get their vector from the new one."""
    gone = [name for plan in recuts for name in plan.gone]
    found = {*gone, *(plan.document.id for plan in recuts)}
    for part in batched(gone):
        rows = view.rows("artifacts", both(equals("role", "summary"), among("parent_id", part)), ["id"])
        found.update(rows["id"].to_pylist())
    return found


class _Spill:
    """The vectors of one table that are made already, in files that are whole or not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = {name: crc for part in self._parts("text") for name, crc in _ids(part)}

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

    def vectors(self, names: Collection[str]) -> dict[str, Any]:
        """The vectors of some rows, by name."""
        found: dict[str, Any] = {}
        for part in self._parts("vector") if names else ():
            rows = part.filter(pc.is_in(part["id"], pa.array(names, pa.string())))
            matrix = rows["vector"].combine_chunks().flatten().to_numpy().reshape(len(rows), -1)
            found.update(zip(rows["id"].to_pylist(), matrix, strict=True))
        return found

    def _parts(self, *columns: str) -> Iterator[pa.Table]:
        for path in self.paths():
            with pa.ipc.open_file(path) as file:
                yield file.read_all().select(["id", *columns])

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
