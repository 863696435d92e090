"""How an embedder would cut a text: what :meth:`Embedder.embed` does, without a request."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from unabridged.errors import CapUnenforceable
from unabridged.text.packing import to_chunks
from unabridged.types import ChunkSet, Span

if TYPE_CHECKING:
    from unabridged.embedding.settings import Settings

__all__ = ["as_cut"]


def as_cut(text: str, settings: Settings) -> ChunkSet:
    """The pieces that would be sent: one for a text that fits, none for a blank one.

    ``cap`` is the largest chunk (0 for a model that takes any length) and ``extra["unit"]`` what it counts;
    ``extra["limit"]`` is the size, in the same unit, from which on a text is cut.
    """
    plan = settings.cutting
    spans = [] if not text.strip() else [Span(0, len(text))]
    if spans and plan is not None and settings.cuts and settings.over(text, settings.count(text)):
        with suppress(CapUnenforceable):  # else it is sent as it is, and the provider says so (SPEC L8)
            spans = settings.segment(text)
    made = to_chunks(text, spans, settings.measure)
    if plan is None:
        return ChunkSet(made, "whole", 0)
    begins = plan.trigger_tokens if plan.unit == "tokens" else plan.trigger_chars
    return ChunkSet(made, plan.method or "embed", plan.max_size, {"unit": plan.unit, "limit": begins})
