"""The same embedder for vectors of another width: its provider, cache, limits and threads are shared."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from unabridged.embedding.drift import DriftGuard
from unabridged.embedding.inputs import knowledge_path, positive

if TYPE_CHECKING:
    from unabridged.embedding.embedder import Embedder

__all__ = ["at_width"]


def at_width(embedder: Embedder, dimensions: int) -> Embedder:
    """An embedder that asks for ``dimensions``; closing either closes what both share.

    Whether the model can give them, its provider says.

    >>> from unabridged.embedding.embedder import Embedder
    >>> wide = Embedder("hashing", cache=False)
    >>> narrow = at_width(wide, 64)
    >>> narrow.embed("text").shape, wide.embed("text").shape, narrow.fingerprint() == wide.fingerprint()
    ((64,), (256,), False)
    """
    positive("dimensions", dimensions)
    other = copy.copy(embedder)
    other._asked_dimensions = other._width = dimensions  # noqa: SLF001 -- a copy of the class's own making
    other._known_prints = {}  # noqa: SLF001
    other._guard = DriftGuard(  # noqa: SLF001
        other.provider,
        dimensions=dimensions,
        fingerprint=other.fingerprint(),
        path=knowledge_path(other.cache),
    )
    return other
