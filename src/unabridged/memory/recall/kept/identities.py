"""Which artifact is where, and of which document: 40 MB a million.

A query meets some sixty artifacts, and each value that is read of a store by its place takes a processor 25
microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.memory.recall.kept.parts import Kind, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.dataset import Handle

__all__ = ["IDENTITIES", "Identities", "identities_of"]

IDENTITIES = Kind("identities", ("id", "document_id"), most=2_000_000)


@dataclass(frozen=True, slots=True)
class _Part:
    places: Any
    ids: pa.Array
    documents: pa.DictionaryArray

    @property
    def size(self) -> int:
        return int(self.places.nbytes + self.ids.nbytes + self.documents.nbytes)


class Identities:
    """The artifacts at one version, by their places."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def at(self, places: Sequence[int]) -> tuple[list[str], list[str | None]]:
        """The id and the document of the artifact at each of some places, which are in order."""
        wanted = np.array(places, dtype=np.uint64)
        ids: list[str] = []
        documents: list[str | None] = []
        for part in self._parts:
            if len(part.places):
                first, last = np.searchsorted(wanted, part.places[[0, -1]] + np.array([0, 1], dtype=np.uint64))
                here = pa.array(np.searchsorted(part.places, wanted[first:last]))
                ids += part.ids.take(here).to_pylist()
                documents += part.documents.take(here).to_pylist()
        return ids, documents


def identities_of(handle: Handle) -> Identities | None:
    """Which artifact is where: ``None`` where that cannot be kept."""
    parts = parts_of(handle, IDENTITIES, _part)
    return None if parts is None else Identities(parts)


def _part(rows: pa.Table) -> _Part:
    documents = rows["document_id"].combine_chunks().dictionary_encode()
    return _Part(rows["_rowid"].to_numpy(), rows["id"].combine_chunks(), documents)
