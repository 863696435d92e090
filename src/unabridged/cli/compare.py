"""``unabridged chunk --compare``: chunkings beside each other, as a table and as a picture."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.cli.console import note, put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.text.documents import Document

__all__ = ["compare_methods"]


def compare_methods(name: str, source: str | Document, methods: Sequence[str], plot: Path | None, **sizes: Any) -> None:
    """Print a row a method; draw them over the document if a path is given."""
    from unabridged.text.plot import plot_chunks
    from unabridged.text.segmenters import split
    from unabridged.text.stats import chunk_stats, table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each is in the chunk set, and printed below
        sets = {method: split(source, method, embedder="lexical", **sizes) for method in methods}
    put(f"{name}\n{table(chunk_stats(made) for made in sets.values())}\n")
    for line in dict.fromkeys(said for made in sets.values() for said in made.warnings):
        note(f"warning: {line}")
    if plot:
        text = source if isinstance(source, str) else source.text
        plot.write_text(plot_chunks(sets, length=len(text), title=Path(name).name), encoding="utf-8")
        note(f"drawn to {plot}")
