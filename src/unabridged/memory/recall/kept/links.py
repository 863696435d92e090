"""Which artifacts state which facts and entities.

A recall asks that up to three times, each of which took 3 to 4 ms in the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.memory.recall.kept.finder import Finder, Wanted
from unabridged.memory.recall.kept.parts import Kind, parts_of
from unabridged.memory.where import among

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from unabridged.memory.dataset import Handle

__all__ = ["LINKS", "Links", "links_of"]

_FACT = "edge_artifact"
_COLUMNS = ("from_id", "to_id", "type", "created_at", "start", "end")
LINKS = Kind("links", _COLUMNS, most=240_000, where=among("type", [_FACT, "entity_artifact"]))

Told = tuple[str, str, int, int | None, int | None]  # what is stated, the artifact, since when, bytes of its text


@dataclass(frozen=True, slots=True)
class _Part:
    """The links of one fragment: ``told`` has the columns that tell more, ``facts`` which of them are of a fact."""

    stated: Finder
    stating: Finder
    told: pa.Table
    facts: Any

    @property
    def size(self) -> int:
        return self.stated.size + self.stating.size + int(self.told.nbytes + self.facts.nbytes)


class Links:
    """What is stated, by a table at one version."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def told(self, ids: Collection[str]) -> Iterator[Told]:
        """Who states some facts or entities."""
        wanted = Wanted(ids)
        for part in self._parts:
            rows = part.stated.rows(wanted)
            if len(rows):
                told = (column.to_pylist() for column in part.told.take(pa.array(rows)).columns)
                yield from zip(part.stated.at(rows), part.stating.at(rows), *told, strict=True)

    def facts(self, artifacts: Collection[str], most: int) -> Iterator[tuple[str, str]]:
        """The facts that some artifacts state, each with its artifact: ``most`` of them."""
        wanted = Wanted(artifacts)
        for part in self._parts:
            rows = part.stating.rows(wanted)
            rows = rows[part.facts[rows]][:most]
            most -= len(rows)
            yield from zip(part.stated.at(rows), part.stating.at(rows), strict=True)


def links_of(handle: Handle) -> Links | None:
    """The links of a table: ``None`` where they cannot be kept."""
    parts = parts_of(handle, LINKS, _part)
    return None if parts is None else Links(parts)


def _part(rows: pa.Table) -> _Part:
    stated, stating = (Finder(rows[name].combine_chunks()) for name in ("from_id", "to_id"))
    told = rows.select(["start", "end"]).combine_chunks()
    told = told.add_column(0, "since", rows["created_at"].cast(pa.int64()).combine_chunks())
    return _Part(stated, stating, told, np.array([each == _FACT for each in rows["type"].to_pylist()], dtype=bool))
