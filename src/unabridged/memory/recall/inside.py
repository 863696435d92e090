"""Words that stand inside others: 犬 in 子犬, user name in getUserName, a word with vowel signs between its letters.

No index knows them, so the texts are read through: in a dataset small enough for that (a million rows take two
seconds of a processor, so 50,000 a tenth of one), and only where full text found less than it was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unabridged.memory.recall.lanes import NOTHING
from unabridged.memory.recall.spelling import loosely
from unabridged.memory.where import both, literal

if TYPE_CHECKING:
    from unabridged.memory.recall.lanes import Asking, Places

__all__ = ["SCANNED", "inside"]

SCANNED = 50_000  # rows of a table that are read through
_TERMS = 16  # words that are looked for in one pass
_LITTLE = 1e-3  # below any score of BM25: how well they fit is told by the words that they say


def inside(asking: Asking, table: str, column: str, where: str | None, depth: int) -> Places:
    """The rows of a table in which a word of the query stands within another, or otherwise joined."""
    pattern = loosely(asking.words.terms[:_TERMS])
    handle = asking.view[table]
    if not pattern or handle.count() > SCANNED:
        return NOTHING
    rows = handle.read(both(where, f"regexp_like(`{column}`, {literal(pattern)})"), ["_rowid"], limit=depth)
    found = rows["_rowid"].to_numpy()
    return found, np.full(len(found), _LITTLE)
