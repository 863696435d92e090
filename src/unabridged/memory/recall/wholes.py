"""Whole documents by what their passages tell of them (pure; SPEC L16)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from unabridged.memory.recall.lanes import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unabridged.memory.recall.rank import Candidate

__all__ = ["by_passages", "said_in", "told"]


def by_passages(order: Sequence[Candidate], most: int = DOCUMENTS) -> dict[str, float]:
    """Documents by the best of their passages: maximum similarity beside the pooled vector (SPEC L16)."""
    best: dict[str, float] = {}
    for each in order:
        document = each.record.document_id
        if each.index == "passage" and document is not None:
            best.setdefault(document, each.worth)
    return dict(sorted(best.items(), key=lambda pair: -pair[1])[:most])


def said_in(order: Sequence[Candidate]) -> dict[str, tuple[float, bool, float | None]]:
    """How much of the query's words each document says in a chunk, whether as the query has them; its nearest chunk."""
    best: dict[str, tuple[float, bool, float | None]] = {}
    for each in order:
        document = each.record.document_id
        if each.record.role == "chunk" and document is not None:
            said, verbatim, near = best.get(document, (0.0, False, None))
            nearest = max((one for one in (near, each.near) if one is not None), default=None)
            best[document] = (*max((each.said, each.verbatim), (said, verbatim)), nearest)
    return best


def told(each: Candidate, said: Mapping[str, tuple[float, bool, float | None]]) -> Candidate:
    """A document with what :func:`said_in` knows of it."""
    share, verbatim, nearest = said.get(each.record.id, (0.0, False, None))
    return replace(each, said=share, verbatim=verbatim, near=nearest)
