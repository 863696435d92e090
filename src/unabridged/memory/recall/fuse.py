"""Many rankings into one, and one ranking made less alike (pure).

Reciprocal rank fusion: Cormack, Clarke, Büttcher, SIGIR 2009. Maximal marginal relevance: Carbonell and
Goldstein, SIGIR 1998.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unabridged.memory.recall.data import LaneRank

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

__all__ = ["RANK_CONSTANT", "diverse", "fuse"]

RANK_CONSTANT = 10  # the paper has 60; at 10 the heads of two lanes count for more (benchmarks/recall.py)

K = TypeVar("K", bound="Hashable")


def fuse(
    rankings: Mapping[str, Sequence[tuple[K, float]]], weights: Mapping[str, float], constant: int = RANK_CONSTANT
) -> dict[K, tuple[LaneRank, ...]]:
    """What each ranking gives to each of its items: its weight over the constant plus the rank; equals share a rank.

    >>> fused = fuse({"one": [("a", 9.0), ("b", 3.0)], "two": [("b", 0.5)]}, {"one": 1.0, "two": 1.0})
    >>> max(fused, key=lambda item: sum(lane.share for lane in fused[item]))
    'b'
    """
    found: dict[K, list[LaneRank]] = {}
    for lane, ranking in rankings.items():
        weight = weights.get(lane, 1.0)
        rank, last = 0, None
        for place, (item, score) in enumerate(ranking, 1):
            rank, last = (rank, last) if score == last else (place, score)
            found.setdefault(item, []).append(LaneRank(lane, rank, float(score), weight / (constant + rank)))
    return {item: tuple(lanes) for item, lanes in found.items()}


def diverse(scores: Sequence[float], vectors: Sequence[Any | None], diversity: float, limit: int) -> list[int]:
    """The places of at most ``limit`` items, each chosen for its score less its likeness to those before it.

    ``diversity`` is from 0 (the scores alone) to 1 (as unlike as can be); an item without a vector is like
    no other. Scores are compared by their share of the best one.

    >>> diverse([1.0, 0.99, 0.5], [[1, 0], [1, 0.01], [0, 1]], 0.6, 2)
    [0, 2]
    """
    if not scores or diversity <= 0:
        return list(range(min(limit, len(scores))))
    worth = np.asarray(scores, dtype=np.float64) / (max(scores) or 1.0)
    unit = _unit(vectors)
    near = np.zeros(len(scores))
    left = set(range(len(scores)))
    chosen: list[int] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda at: ((1 - diversity) * worth[at] - diversity * near[at], -at))
        left.discard(best)
        chosen.append(best)
        near = np.maximum(near, unit @ unit[best])
    return chosen


def _unit(vectors: Sequence[Any | None]) -> Any:
    width = next((len(vector) for vector in vectors if vector is not None), 1)
    rows = np.stack([np.zeros(width) if v is None else np.asarray(v, dtype=np.float64) for v in vectors])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
