"""Who stands in which facts.

A filter by ids goes through the store's planner and two indexes: a step of the graph's walk over 41,000 facts takes
3 ms of a processor there, and a tenth of one here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.memory.recall.kept.finder import Finder, Wanted
from unabridged.memory.recall.kept.parts import Kind, parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from unabridged.memory.dataset import Handle

__all__ = ["FACTS", "Ends", "ends_of"]

FACTS = Kind("facts", ("id", "source_id", "target_id"), most=60_000)

Fact = tuple[str, str, str]  # id, source, target


@dataclass(frozen=True, slots=True)
class _Part:
    places: Any
    ids: pa.Array
    sources: Finder
    targets: Finder

    @property
    def size(self) -> int:
        return int(self.places.nbytes + self.ids.nbytes) + self.sources.size + self.targets.size


class Ends:
    """The facts of a table at one version, by the entities that they join."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def around(self, names: Collection[str], most: int) -> dict[Fact, int]:
        """The facts that some entities stand in, with their places; ``most`` of them."""
        found: dict[Fact, int] = {}
        wanted = Wanted(names)
        for part in self._parts:
            here = np.union1d(part.sources.rows(wanted), part.targets.rows(wanted))[: most - len(found)]
            if len(here):
                found |= zip(_facts(part, here), part.places[here].tolist(), strict=True)
        return found


def ends_of(handle: Handle) -> Ends | None:
    """The facts of a table: ``None`` where they cannot be kept."""
    parts = parts_of(handle, FACTS, _part)
    return None if parts is None else Ends(parts)


def _facts(part: _Part, here: Any) -> Iterator[Fact]:
    ids = part.ids.take(pa.array(here)).to_pylist()
    return zip(ids, part.sources.at(here), part.targets.at(here), strict=True)


def _part(rows: pa.Table) -> _Part:
    ids, sources, targets = (rows[name].combine_chunks() for name in FACTS.columns)
    return _Part(rows["_rowid"].to_numpy(), ids, Finder(sources), Finder(targets))
