"""Chunk vectors -> one vector. Pure arithmetic, accumulated in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.text.sections import Section
    from unabridged.types import Vector, Vectors

__all__ = ["Pooling", "are_unit", "check_pooling", "dispersion", "pool", "pool_sections"]

Pooling = Literal["weighted", "mean", "max", "first", "hierarchical", "none"]

# float32 keeps seven digits; int8 models and float16 wires leave norms within a few parts in a thousand.
_UNIT_TOLERANCE = 5e-3
# Below this the sum of unit vectors has cancelled out, and its direction is noise.
_CANCELLED = 1e-6


def check_pooling(name: str) -> Pooling:
    """The pooling called ``name``, or a :class:`ConfigError` that lists those there are."""
    if name not in get_args(Pooling):
        raise ConfigError("pooling", f"found {name!r}, expected one of {', '.join(get_args(Pooling))}")
    return name  # type: ignore[return-value]


def pool(vectors: Vectors, weights: Sequence[float], how: Pooling = "weighted") -> Vector:
    """One vector of shape ``(width,)`` from chunk vectors of shape ``(chunks, width)``.

    ``weights`` are the tokens that each chunk alone brings (overlap is not counted twice). The result
    has unit length where all chunk vectors have. One chunk comes back bit for bit. Chunk vectors that
    cancel out leave the one of the heaviest chunk.

    >>> pool(np.array([[1, 0], [0, 1]], np.float32), [1, 1]).round(2).astype(float).round(2).tolist()
    [0.71, 0.71]
    """
    if len(vectors) == 1 or how == "first":
        return np.array(vectors[0], np.float32)
    exact = vectors.astype(np.float64)
    if how == "max":
        pooled = exact.max(axis=0)
    else:
        share = np.asarray(weights, np.float64) if how in ("weighted", "hierarchical") else np.ones(len(exact))
        if share.sum() <= 0:
            share = np.ones(len(exact))
        pooled = (share / share.sum()) @ exact
    if not are_unit(vectors):
        return np.array(pooled, np.float32)
    norm = float(np.linalg.norm(pooled))
    if norm < _CANCELLED:
        return np.array(vectors[int(np.argmax(weights))], np.float32)
    return np.array(pooled / norm, np.float32)


def pool_sections(vectors: Vectors, sections: Sequence[Section]) -> Vectors:
    """A vector a section, shape ``(sections, width)``: its chunks weighed by what each brings to it.

    >>> from unabridged.text.sections import Section
    >>> pool_sections(np.eye(2, dtype=np.float32), [Section("A", 0, 9, (1,), (9,))]).tolist()
    [[0.0, 1.0]]
    """
    return np.stack([pool(vectors[list(section.members)], section.weights) for section in sections])


def are_unit(vectors: Vectors) -> bool:
    """Whether every row has unit length, to the precision that models give.

    >>> are_unit(np.array([[0.6, 0.8]], np.float32)), are_unit(np.array([[3.0, 4.0]], np.float32))
    (True, False)
    """
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return bool(np.all(np.abs(norms - 1.0) <= _UNIT_TOLERANCE))


def dispersion(vectors: Vectors) -> float | None:
    """Mean pairwise cosine of the rows, from -1 to 1; ``None`` for a single row.

    Linear in the number of rows: the squared length of the sum of ``n`` unit vectors is
    ``n + n(n-1)ρ``.

    >>> dispersion(np.array([[1, 0], [0, 2]], np.float32))
    0.0
    """
    count = len(vectors)
    if count < 2:
        return None
    exact = vectors.astype(np.float64)
    norms = np.linalg.norm(exact, axis=1, keepdims=True)
    total = (exact / np.where(norms == 0, 1, norms)).sum(axis=0)
    return float((total @ total - count) / (count * (count - 1)))
