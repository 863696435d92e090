"""The vector lane: for each logical index, the rows whose vectors point where the query's does (SPEC A15, L16).

A chunk stands for its passage and a whole artifact for itself, so a document is found by its pooled vector
and by the nearest of its chunks both (max-similarity); :mod:`unabridged.memory.recall_passes` puts them together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.lanes import INDEXES_OF, Asking, Found, Ranking
from unabridged.memory.where import both, not_null

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["vector_lane"]


def vector_lane(asking: Asking) -> Mapping[str, Ranking]:
    """The nearest rows of every index that is asked for; scores are cosines, -1 … 1."""
    if asking.vector is None:
        return {}
    return {index: _nearest(asking, index) for index in sorted(asking.indexes) if asking.holdings.holds(index)}


def _nearest(asking: Asking, index: str) -> Ranking:
    table, where = INDEXES_OF[index][0], asking.where(index)
    if where == "false":
        return ()
    if table == "artifacts" and not asking.holdings.embedded:
        where = both(where, not_null("embedder"))
    columns = ["id", "role"] if table == "artifacts" else ["id"]
    rows = asking.view[table].nearest(asking.vector, asking.depth, where=where, columns=columns)
    found = rows.to_pydict()
    roles = found.get("role") or [None] * rows.num_rows
    listed = zip(found["id"], found["_distance"], roles, strict=True)
    return [Found(table, id_, 1.0 - distance, role) for id_, distance, role in listed if distance is not None]
