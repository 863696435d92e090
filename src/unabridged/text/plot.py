"""Chunkings drawn: every chunk over the document at its place, as high as it is large (SPEC S14)."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from unabridged.text.stats import chunk_stats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.types import ChunkSet

__all__ = ["plot_chunks"]

_WIDTH, _LEFT, _ROW, _BAR, _TOP = 960, 150, 74, 48, 34  # points
_FILL = ("#4c78a8", "#9ecae9")  # two shades in turn, so that neighbours part


def plot_chunks(sets: Mapping[str, ChunkSet], *, length: int | None = None, title: str = "") -> str:
    """An SVG picture, a row a chunking: boundaries across the document, sizes in tokens, the cap as a line.

    ``length`` is the document's in characters; by default the furthest end of a chunk. The picture holds
    no text of the document.

    >>> from unabridged.text.segmenters import split
    >>> plot_chunks({"fixed": split("One. Two.", "fixed")}).count("<rect")
    1
    """
    length = length or max((chunk.end for made in sets.values() for chunk in made), default=1)
    largest = max((max([made.cap, *(c.tokens for c in made)]) for made in sets.values()), default=1)
    height = _TOP + _ROW * len(sets) + 24
    label = escape(title or "chunks", quote=True)
    box = f"0 0 {_WIDTH + _LEFT + 10} {height}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" role="img" aria-label="{label}">',
        f'<g font-family="sans-serif" font-size="12"><text x="4" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for at, (name, made) in enumerate(sets.items()):
        parts += _row(name, made, _TOP + at * _ROW, length, largest)
    parts.append(f'<text x="{_LEFT}" y="{height - 6}" fill="#555">0 … {length:,} characters</text></g></svg>')
    return "\n".join(parts)


def _row(name: str, made: ChunkSet, top: int, length: int, largest: int) -> list[str]:
    row, base = chunk_stats(made), top + _BAR
    label = escape(name if name == made.method else f"{name} ({made.method})")
    parts = [
        f'<text x="4" y="{top + 16}">{label}</text>',
        f'<text x="4" y="{top + 32}" fill="#555">{row.n} chunks, median {row.median:g}</text>',
    ]
    for chunk in made:
        left = _LEFT + _WIDTH * chunk.start / length
        width = max(0.5, _WIDTH * (chunk.end - chunk.start) / length)
        tall = _BAR * chunk.tokens / largest
        parts.append(
            f'<rect x="{left:.2f}" y="{base - tall:.2f}" width="{width:.2f}" height="{tall:.2f}" '
            f'fill="{_FILL[chunk.index % 2]}" stroke="#fff" stroke-width="0.3"/>'
        )
    line = base - _BAR * made.cap / largest
    parts.append(
        f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{line:.2f}" y2="{line:.2f}" '
        'stroke="#e45756" stroke-dasharray="4 3"/>'
    )
    return parts
