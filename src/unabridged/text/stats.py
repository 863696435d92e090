"""Chunk sets in numbers: one row each, so that comparing is a table of rows (SPEC S14)."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unabridged.types import ChunkSet

__all__ = ["ChunkStats", "chunk_stats", "table", "trace_summary"]


@dataclass(frozen=True, slots=True)
class ChunkStats(Mapping[str, Any]):
    """One row: sizes are in tokens of the tokenizer that cut. Fields are read as attributes or by name."""

    method: str
    n: int
    total_tokens: int
    min: int
    median: float
    mean: float
    max: int
    over_cap: int

    def __getitem__(self, key: str) -> Any:
        """A field by its name."""
        if key not in tuple(self):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return (one.name for one in fields(self))

    def __len__(self) -> int:
        """How many columns there are."""
        return len(fields(self))


def chunk_stats(chunks: ChunkSet) -> ChunkStats:
    """A chunk set as one row; ``method`` names any fallback.

    >>> from unabridged.text.segmenters import split
    >>> row = chunk_stats(split("One. Two. Three.", "sentence"))
    >>> row.n, row["total_tokens"], row.over_cap
    (1, 7, 0)
    """
    sizes = [chunk.tokens for chunk in chunks] or [0]
    total = sum(sizes)
    over = sum(1 for size in sizes if size > chunks.cap)
    mean = round(total / max(1, len(chunks)), 1)
    return ChunkStats(
        chunks.method, len(chunks), total, min(sizes), float(statistics.median(sizes)), mean, max(sizes), over
    )


def trace_summary(chunks: ChunkSet) -> dict[str, Any]:
    """What the model calls of a segmentation came to: calls, tokens in and out, cost (``None`` if not told)."""
    rows = chunks.trace
    costs = [row["cost_usd"] for row in rows if row.get("cost_usd") is not None]
    return {
        "calls": len(rows),
        "tokens_in": sum(row["tokens_in"] for row in rows),
        "tokens_out": sum(row["tokens_out"] for row in rows),
        "cost_usd": sum(costs) if costs else None,
    }


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows under each other, as plain text.

    >>> print(table([{"method": "fixed", "n": 5}, {"method": "page", "n": 12}]))
    method   n
    fixed    5
    page    12
    """
    listed = [{key: _shown(value) for key, value in row.items()} for row in rows]
    names = list(listed[0]) if listed else []
    widths = {name: max(len(name), *(len(row.get(name, "")) for row in listed)) for name in names}
    numeric = {name for name in names if all(_is_number(row.get(name, "")) for row in listed)}
    lines = []
    for row in ({name: name for name in names}, *listed):
        cells = (row.get(n, "").rjust(widths[n]) if n in numeric else row.get(n, "").ljust(widths[n]) for n in names)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(".", "", 1).replace("-", "", 1).isdigit()
