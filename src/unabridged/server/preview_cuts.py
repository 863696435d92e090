"""A document cut by several recipes, as the page draws it: chunks, figures, and what a model's part would cost.

Nothing is spent that was not asked for: a recipe that would call a model gives its price, and its chunks only
with ``spend``. Offsets are sent in UTF-16 units, which are a browser's.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.advice import worded
from unabridged.errors import UnabridgedError
from unabridged.server.advice import WORDS
from unabridged.text.compare import rank_chunks
from unabridged.text.segmenters import segment_spec, split
from unabridged.text.stats import chunk_stats, trace_summary
from unabridged.text.tokens import as_tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from unabridged.text.documents import Document
    from unabridged.text.segmenters import SegmentSpec
    from unabridged.types import Chunk, ChunkSet

__all__ = ["Paid", "Recipe", "Tools", "cut", "offsets", "price", "tokenizers"]

_WINDOW_BATCH = 256  # windows in one call of the embedder, as text/segmenters/semantic.py sends them
_OPENING, _LINE = 1500, 90  # tokens of a document's beginning beside each chunk, and of a context line (SPEC S11)
_FRAME = 90  # tokens of the instruction around a passage: both prompts count 70 to 90
_REWRITTEN = 1.3  # statements repeat names in place of pronouns
_TOP = 5  # chunks that a question marks
_COSTLY = {"semantic": "segment.semantic", "contextual": "segment.context", "proposition": "segment.proposition"}


@dataclass(frozen=True, slots=True)
class Paid:
    """A model that may be called: its name, and dollars a million tokens in and out where they are known."""

    call: Any = field(repr=False)
    name: str
    prices: tuple[float, float] | None = None

    def cost(self, tokens_in: float, tokens_out: float) -> float | None:
        """Dollars; ``None`` where no price is known."""
        return None if self.prices is None else (tokens_in * self.prices[0] + tokens_out * self.prices[1]) / 1e6


@dataclass(frozen=True, slots=True)
class Tools:
    """What cutting may use, and the limits that end model calls; a blank one leaves the configured one in force."""

    tokenizer: str = "estimate"
    embedder: Paid | None = None
    llm: Paid | None = None
    max_calls: int | None = None
    max_cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to cut: what ``split`` takes, under a name; ``embedder`` is ``lexical`` (free) or ``api``."""

    name: str
    segment: Mapping[str, Any]
    embedder: str = "lexical"


def tokenizers() -> tuple[str, ...]:
    """Those that count here without a file or a download.

    >>> tokenizers()[:2]
    ('estimate', 'characters')
    """
    from importlib.util import find_spec

    exact = ("cl100k_base", "o200k_base") if find_spec("quicktok") else ()
    return ("estimate", "characters", "bytes", *exact)


def cut(document: Document, recipe: Recipe, tools: Tools, *, question: str = "", spend: bool = False) -> dict[str, Any]:
    """One recipe's chunks as data; its price alone where a model would be called and ``spend`` is not said.

    A recipe that cannot run has ``error``; the others are not lost with it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they travel with the chunks, as ``warnings``
        try:
            spec = segment_spec(dict(recipe.segment))
            cost = price(document, spec, recipe, tools)
            told = {"name": recipe.name, "method": spec.method, "cap": spec.max_tokens, "cost": cost}
            if cost is not None and not spend:
                return {**told, "warnings": list(spec.warnings)}
            made = _made(document, spec, recipe, tools)
        except UnabridgedError as error:
            return {"name": recipe.name, "method": str(recipe.segment.get("method", "")), "error": worded(error, WORDS)}
    hits = rank_chunks(made, question)[:_TOP] if question.strip() else []
    return {**told, **_data(document.text, made), "hits": hits}


def price(document: Document, spec: SegmentSpec, recipe: Recipe, tools: Tools) -> dict[str, Any] | None:
    """What the model calls of a recipe would come to, before any is made; ``None`` where it calls none."""
    total = as_tokenizer(tools.tokenizer).count(document.text)
    if spec.method == "semantic" and recipe.embedder == "api" and tools.embedder is not None:
        windows = document.text.count(". ") // max(1, int(spec.get("semantic_window", 2))) + 1
        return _price(spec, tools.embedder, math.ceil(windows / _WINDOW_BATCH), total, 0)
    if tools.llm is None:
        return None
    if spec.method == "contextual" and spec.get("context_source") == "llm":
        cap = max(1, spec.max_tokens - _LINE)
        calls = len(split(document, "paragraph", max_tokens=cap, tokenizer=tools.tokenizer))
        return _price(spec, tools.llm, calls, total + calls * (min(total, _OPENING) + _FRAME), calls * _LINE // 2)
    if spec.method == "proposition":
        size = int(spec.get("proposition_batch_tokens", 900))
        calls = len(split(document, "paragraph", max_tokens=size, tokenizer=tools.tokenizer))
        return _price(spec, tools.llm, calls, total + calls * _FRAME, total * _REWRITTEN)
    return None


def _price(spec: SegmentSpec, model: Paid, calls: int, tokens_in: float, tokens_out: float) -> dict[str, Any]:
    return {
        "stage": _COSTLY[spec.method],
        "model": model.name,
        "calls": calls,
        "tokens_in": round(tokens_in),
        "tokens_out": round(tokens_out),
        "usd": model.cost(tokens_in, tokens_out),
    }


def _made(document: Document, spec: SegmentSpec, recipe: Recipe, tools: Tools) -> ChunkSet:
    paid = tools.embedder if recipe.embedder == "api" else None
    return split(
        document,
        spec,
        tokenizer=tools.tokenizer,
        embedder=paid.call if paid is not None else "lexical",
        llm=None if tools.llm is None else tools.llm.call,
        max_calls=tools.max_calls,
        max_cost_usd=tools.max_cost_usd,
    )


def _data(text: str, made: ChunkSet) -> dict[str, Any]:
    stats = chunk_stats(made)
    bounds = offsets(text, [at for chunk in made for at in (chunk.start, chunk.end)])
    shared = sum(chunk.overlap_tokens for chunk in made)
    return {
        "method": made.method,
        "cap": made.cap,
        "stats": {**stats, "overlap_tokens": shared},
        "extra": dict(made.extra),
        "trace": {**trace_summary(made), "stages": sorted({str(row["stage"]) for row in made.trace})},
        "warnings": list(made.warnings),
        "chunks": [_chunk(chunk, *bounds[2 * at : 2 * at + 2]) for at, chunk in enumerate(made)],
    }


def _chunk(chunk: Chunk, start: int, end: int) -> dict[str, Any]:
    """One chunk; its own text only where that is not the document's."""
    row: dict[str, Any] = {"start": start, "end": end, "tokens": chunk.tokens}
    told = {"overlap": chunk.overlap_tokens or None, "page": chunk.page, "section": chunk.section}
    told["block"] = chunk.block_id
    if chunk.source is not None:
        added = chunk.text.removesuffix(chunk.source)
        told["prefix" if added != chunk.text or not chunk.source else "words"] = added
    return row | {name: value for name, value in told.items() if value is not None}


def offsets(text: str, places: Sequence[int]) -> list[int]:
    """Offsets in characters as offsets in UTF-16 units.

    >>> offsets("a😀b", [0, 1, 2, 3])
    [0, 1, 3, 4]
    """
    if text.isascii() or max(map(ord, text), default=0) < 0x10000:
        return list(places)
    codes: NDArray[np.uint32] = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    wide = np.concatenate(([0], np.cumsum(codes > 0xFFFF)))
    asked = np.asarray(places, np.int64)
    return (asked + wide[asked]).tolist()
