"""What ranking needs of facts and entities: their words and vectors.

Each value of each row that is read of a store by its place takes a processor 25 microseconds, and a query meets forty
facts and entities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.memory.recall.kept.parts import Kind, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.dataset import Handle

__all__ = ["Briefs", "briefs_of"]

MOST = 60_000  # rows
VECTORS = 48 << 20  # bytes of their vectors


@dataclass(frozen=True, slots=True)
class _Part:
    places: Any
    rows: pa.Table

    @property
    def size(self) -> int:
        return int(self.rows.nbytes)


class Briefs:
    """Some columns of a table at one version, by the places of its rows."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def at(self, places: Sequence[int]) -> pa.Table:
        """The rows at some places, in order; those that are gone are left out (``_rowid`` tells)."""
        wanted = np.unique(np.array(places, dtype=np.uint64))
        standing = [(part.rows, _standing(part.places, wanted)) for part in self._parts]
        found = [rows.take(pa.array(here)) for rows, here in standing if len(here)]
        return pa.concat_tables(found) if found else self._parts[0].rows.slice(0, 0)


def briefs_of(handle: Handle, name: str, columns: Sequence[str]) -> Briefs | None:
    """Some columns of a table, called ``name``: ``None`` where they cannot be kept."""
    schema = handle.schema
    width = schema.field("vector").type.list_size if "vector" in columns else 0
    kind = Kind(f"{name} {' '.join(columns)}", columns, min(MOST, VECTORS // max(1, 4 * width)))
    parts = parts_of(handle, kind, partial(_part, columns=columns))
    return None if parts is None else Briefs(parts)


def _part(rows: pa.Table, columns: Sequence[str]) -> _Part:
    return _Part(rows["_rowid"].to_numpy(), rows.select([*columns, "_rowid"]).combine_chunks())


def _standing(places: Any, wanted: Any) -> Any:
    """Where some places stand among others, both in order."""
    if not len(places):
        return np.empty(0, dtype=np.int64)
    at = np.searchsorted(places, wanted)
    at = at[at < len(places)]
    return at[places[at] == wanted[: len(at)]]
