"""Where documents are, and which of them have chunks: those are whole artifacts, the others passages.

Both took a look-up by an index, of ten documents 4 ms: it brings each of their chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unabridged.memory.recall.kept.finder import Finder, Wanted
from unabridged.memory.recall.kept.parts import Kind, parts_of
from unabridged.memory.where import equals

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa

    from unabridged.memory.dataset import Handle

__all__ = ["DOCUMENTS", "PARENTS", "Documents", "documents_of"]

DOCUMENTS = Kind("documents", ("id",), most=200_000, where=equals("role", "document"))
PARENTS = Kind("parents", ("parent_id",), most=None, where=equals("role", "chunk"))  # each once, so as few


@dataclass(frozen=True, slots=True)
class _Part:
    places: Any
    ids: Finder

    @property
    def size(self) -> int:
        return int(self.places.nbytes) + self.ids.size


class Documents:
    """The documents of the artifacts at one version."""

    def __init__(self, parts: Sequence[_Part], parents: Sequence[Finder]) -> None:
        self._parts = parts
        self._parents = parents

    def places(self, ids: Collection[str]) -> dict[str, int]:
        """Where the documents among some ids are."""
        found: dict[str, int] = {}
        wanted = Wanted(ids)
        for part in self._parts:
            rows = part.ids.rows(wanted)
            if len(rows):
                found |= zip(part.ids.at(rows), part.places[rows].tolist(), strict=True)
        return found

    def chunked(self, ids: Collection[str]) -> set[str]:
        """Those of some documents that have chunks."""
        wanted = Wanted(ids)
        return {id_ for part in self._parents for id_ in part.at(part.rows(wanted))}


def documents_of(handle: Handle) -> Documents | None:
    """The documents of the artifacts: ``None`` where they cannot be kept."""
    parts = parts_of(handle, DOCUMENTS, _part)
    parents = parts_of(handle, PARENTS, _parents) if parts is not None else None
    return None if parts is None or parents is None else Documents(parts, parents)


def _part(rows: pa.Table) -> _Part:
    return _Part(rows["_rowid"].to_numpy(), Finder(rows["id"].combine_chunks()))


def _parents(rows: pa.Table) -> Finder:
    return Finder(rows["parent_id"].combine_chunks().unique())
