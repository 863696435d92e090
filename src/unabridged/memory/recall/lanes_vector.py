"""The vector lane: for each logical index, the rows whose vectors point where the query's does (SPEC A15, L16).

A chunk stands for its passage and a whole artifact for itself, so a document is found by its pooled vector
and by the nearest of its chunks both (max-similarity); :mod:`unabridged.memory.recall.recall` puts them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.recall.lanes import INDEXES_OF, Asking, Found, Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["vector_lane"]


def vector_lane(asking: Asking) -> Mapping[str, Ranking]:
    """The nearest rows of every index that is asked for; scores are cosines, -1 … 1."""
    if asking.vector is None:
        return {}
    found = asking.by_role(lambda where, depth: _artifacts(asking, where, depth))
    for index in ("fact", "entity"):
        if index in asking.indexes and asking.holdings.holds(index):
            found[index] = _nearest(asking, INDEXES_OF[index][0], asking.where(index), asking.depth)
    return found


def _artifacts(asking: Asking, where: str | None, depth: int) -> Ranking:
    return _nearest(asking, "artifacts", where, depth, ["id", "role"])


def _nearest(
    asking: Asking, table: str, where: str | None, depth: int, columns: Sequence[str] = ("id",)
) -> list[Found]:
    if where == "false":
        return []
    rows = asking.view[table].nearest(asking.vector, depth, where=where, columns=columns).to_pydict()
    return Found.all(table, rows, [1.0 - distance for distance in rows["_distance"]])
