"""The segmenters by name, and the one way in: settings corrected, the cap held, spans as chunks.

``paragraph`` packs the author's paragraphs, ``sentence`` packs sentences, ``recursive`` takes the strongest
separator that still fits, ``fixed`` cuts at the cap and nowhere else. Others are registered by name.
"""

from __future__ import annotations

import difflib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unabridged.errors import ConfigError
from unabridged.text.boundaries import Lines, Sentences, Words, sentences
from unabridged.text.engine import Meter, pack
from unabridged.text.packing import cut, to_chunks
from unabridged.text.tokens import as_tokenizer
from unabridged.types import ChunkSet, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unabridged.text.measure import Measure

__all__ = ["Segmenter", "register_segmenter", "segmenters", "split"]

# SPEC S2: what settings are held to.
_SMALLEST, _LARGEST = 32, 1_000_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a segmenter is given besides the text."""

    max_tokens: int
    overlap_tokens: int
    min_tokens: int
    measure: Measure


@dataclass(frozen=True, slots=True)
class Segmenter:
    """A way to cut: its name, what it takes for a boundary, what it costs, and the function."""

    name: str
    hypothesis: str
    spans: Callable[[str, Sizes], Sequence[Span]]
    cost: str = "free"


def _paragraph(text: str, sizes: Sizes) -> list[Span]:
    return cut(
        text,
        max_tokens=sizes.max_tokens,
        overlap_tokens=sizes.overlap_tokens,
        min_tokens=sizes.min_tokens,
        tokenizer=sizes.measure,
    )


def _sentence(text: str, sizes: Sizes) -> list[Span]:
    costs = sizes.measure.measure(text)
    ends = [*sentences(text), len(text)]
    return pack(
        text,
        [Meter(costs, sizes.max_tokens)],
        np.unique(np.array(ends, np.int64)),
        (Lines(text), Words(text)),
        overlap=sizes.overlap_tokens,
        minimum=sizes.min_tokens,
        costs=costs,
    )


def _recursive(text: str, sizes: Sizes) -> list[Span]:
    costs = sizes.measure.measure(text)
    return pack(
        text,
        [Meter(costs, sizes.max_tokens)],
        None,
        (_Blank(text), Lines(text), Sentences(text), Words(text)),
        overlap=sizes.overlap_tokens,
        minimum=sizes.min_tokens,
        costs=costs,
    )


def _fixed(text: str, sizes: Sizes) -> list[Span]:
    return cut(
        text,
        max_tokens=sizes.max_tokens,
        overlap_tokens=sizes.overlap_tokens,
        tokenizer=sizes.measure,
        semantic=False,
    )


@dataclass(frozen=True, slots=True)
class _Blank:
    """Blank lines, looked for only where asked."""

    text: str

    def last(self, low: int, high: int) -> int | None:
        """The end of the last blank line in a range."""
        at = self.text.rfind("\n\n", low, high)
        return at + 2 if at >= 0 and low < at + 2 <= high else None

    def first(self, low: int, high: int) -> int | None:
        """The end of the first blank line in a range."""
        at = self.text.find("\n\n", low, high)
        return at + 2 if at >= 0 and low < at + 2 <= high else None


_REGISTERED: dict[str, Segmenter] = {
    one.name: one
    for one in (
        Segmenter("fixed", "meaning is uniform: cut on a ruler", _fixed),
        Segmenter("paragraph", "the author's paragraphs are real", _paragraph),
        Segmenter("recursive", "the strongest separator that still fits", _recursive),
        Segmenter("sentence", "sentences are whole; pack them tightly", _sentence),
    )
}


def segmenters() -> tuple[Segmenter, ...]:
    """All that can be named, in order of name.

    >>> [one.name for one in segmenters()]
    ['fixed', 'paragraph', 'recursive', 'sentence']
    """
    return tuple(_REGISTERED[name] for name in sorted(_REGISTERED))


def register_segmenter(segmenter: Segmenter) -> None:
    """Add a way to cut, or replace one. It is held to the cap like all others."""
    _REGISTERED[segmenter.name] = segmenter


def split(
    text: str,
    method: str = "paragraph",
    *,
    max_tokens: int = 1200,
    overlap_tokens: int = 0,
    min_tokens: int = 0,
    tokenizer: str | object | None = None,
) -> ChunkSet:
    r"""Cut a text into chunks: a sequence with ``start``, ``end``, ``tokens`` and ``text`` each.

    Sizes are in tokens of ``tokenizer`` (the estimator by default). What is out of range is corrected, and
    a warning says from what to what. Raises :class:`ConfigError` for an unknown method,
    :class:`CapUnenforceable` where one character is over the cap.

    >>> chunks = split("First paragraph.\n\nSecond one.", max_tokens=32)
    >>> len(chunks), chunks.method, chunks[0].tokens
    (1, 'paragraph', 10)
    """
    if not isinstance(text, str):
        raise ConfigError("text", f"found {type(text).__name__}, expected str")
    segmenter = _REGISTERED.get(method)
    if segmenter is None:
        near = difflib.get_close_matches(str(method), _REGISTERED, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(_REGISTERED))}"
        raise ConfigError("method", f"found {method!r}, {hint}")
    said: list[str] = []
    size = _held("max_tokens", max_tokens, _SMALLEST, _LARGEST, said)
    sizes = Sizes(
        size,
        _held("overlap_tokens", overlap_tokens, 0, size - 1, said),
        _held("min_tokens", min_tokens, 0, size, said),
        as_tokenizer(tokenizer),
    )
    spans, cut_again = _within(text, segmenter.spans(text, sizes), sizes)
    chunks = to_chunks(text, spans, sizes.measure)
    return ChunkSet(chunks, method, size, {"cap_enforced": cut_again}, (), tuple(said))


def _held(name: str, value: int, low: int, high: int, said: list[str]) -> int:
    held = min(max(value, low), high)
    if held != value:
        said.append(f"{name} {value} is outside [{low}, {high}]; using {held}")
        warnings.warn(said[-1], UserWarning, stacklevel=3)
    return held


def _within(text: str, spans: Sequence[Span], sizes: Sizes) -> tuple[list[Span], int]:
    """Spans over the cap, of a user's own segmenter, are split; how many there were (SPEC S3)."""
    kept: list[Span] = []
    cut_again = 0
    for span in spans:
        piece = text[span.start : span.end]
        if sizes.measure.count(piece) <= sizes.max_tokens:
            kept.append(span)
            continue
        cut_again += 1
        parts = cut(piece, max_tokens=sizes.max_tokens, tokenizer=sizes.measure)
        kept += [Span(span.start + part.start, span.start + part.end) for part in parts]
    return kept, cut_again
