"""What fits a token budget, ready for a prompt: no passage twice, overlap merged, each with its source (SPEC R3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.recall_data import Hit, Pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.commits import View

__all__ = ["DEFAULT_BUDGET", "packed"]

DEFAULT_BUDGET = 4000  # tokens


def packed(view: View, hits: Sequence[Hit], budget: int) -> Pack:
    """The hits' passages within ``budget`` tokens."""
    return Pack()
