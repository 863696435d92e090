"""Who is called what, and where entities are.

A query is looked through for some two hundred names; to ask the store for the entities that have any of them takes
5 ms, of which most is reading the filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from unabridged.memory.recall.kept.finder import Finder, Wanted
from unabridged.memory.recall.kept.parts import Kind, parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa

    from unabridged.memory.dataset import Handle

__all__ = ["NAMES", "Names", "names_of"]

NAMES = Kind("names", ("id", "names"), most=60_000)


@dataclass(frozen=True, slots=True)
class _Part:
    """The entities of one fragment; ``whose`` is the row of each of ``names``."""

    places: Any
    ids: Finder
    names: Finder
    whose: Any

    @property
    def size(self) -> int:
        return int(self.places.nbytes + self.whose.nbytes) + self.ids.size + self.names.size


class Names:
    """The entities of a table at one version, by what they are called and by id."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def called(self, names: Collection[str]) -> Iterator[tuple[str, str, int]]:
        """Each of some names that an entity has, with the entity's id and place."""
        wanted = Wanted(names)
        for part in self._parts:
            rows = part.names.rows(wanted)
            whose = part.whose[rows]
            yield from zip(part.names.at(rows), part.ids.at(whose), part.places[whose].tolist(), strict=True)

    def places(self, ids: Collection[str]) -> list[int]:
        """Where the entities of some ids are."""
        wanted = Wanted(ids)
        return [place for part in self._parts for place in part.places[part.ids.rows(wanted)].tolist()]


def names_of(handle: Handle) -> Names | None:
    """The entities of a table: ``None`` where they cannot be kept."""
    parts = parts_of(handle, NAMES, _part)
    return None if parts is None else Names(parts)


def _part(rows: pa.Table) -> _Part:
    names = rows["names"].combine_chunks()
    whose = pc.list_parent_indices(names).to_numpy()
    return _Part(rows["_rowid"].to_numpy(), Finder(rows["id"].combine_chunks()), Finder(names.flatten()), whose)
