"""Text in, spans or chunks out: what everything above the text floor calls.

A chunk takes paragraphs; of a paragraph that alone is over the cap, sentences; of such a sentence,
lines, then words; of such a word, graphemes (SPEC C4). :mod:`unabridged.text.engine` does it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.errors import ConfigError
from unabridged.text.boundaries import Lines, Words, lines, paragraphs
from unabridged.text.engine import Meter, pack
from unabridged.text.measure import Characters, Starts, Utf8Bytes, utf8_length
from unabridged.text.sentences import Sentences
from unabridged.text.tokens import as_tokenizer
from unabridged.types import Chunk, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unabridged.text.measure import Costs

__all__ = ["cut", "to_chunks"]


def cut(
    text: str,
    *,
    max_tokens: int | None,
    overlap_tokens: int = 0,
    min_tokens: int = 0,
    max_lines: int | None = None,
    tokenizer: str | object | None = None,
    semantic: bool = True,
    max_chars: int | None = None,
    max_bytes: int | None = None,
    strip: bool = False,
    costs: Costs | None = None,
) -> list[Span]:
    """Cut a text into spans that are each within every cap.

    Args:
        text: Any text; lone surrogates and NUL included.
        max_tokens: The cap, in tokens of ``tokenizer``.
        overlap_tokens: How many tokens at most a chunk shares with the one before.
        min_tokens: A chunk with fewer is merged with its neighbour where both fit one chunk.
        max_lines: How many new lines at most a chunk may begin.
        tokenizer: See :func:`~unabridged.text.tokens.as_tokenizer`; the estimator by default.
        semantic: Look for paragraphs, sentences and words; else cut at the cap.
        max_chars: A second cap, in characters.
        max_bytes: A third, in bytes of the UTF-8 form.
        strip: Leave white space at the ends of spans out (SPEC K2).
        costs: The tokenizer's prefix sums over this text, if they are at hand already.

    Returns:
        Spans that cover every character but blank ones, starts and ends strictly ascending.

    Raises:
        ConfigError: Settings that contradict each other.
        CapUnenforceable: One character alone is over a cap.

    >>> cut("One two. Three four. Five six.", max_tokens=5)
    [Span(start=0, end=9), Span(start=9, end=21), Span(start=21, end=30)]
    """
    _check(max_tokens, overlap_tokens, min_tokens, max_lines, max_chars, max_bytes)
    if not text or text.isspace():
        return []
    costs = costs or as_tokenizer(tokenizer).measure(text)
    meters = [] if max_tokens is None else [Meter(costs, max_tokens)]
    if max_chars is not None:
        meters.append(Meter(Characters().measure(text), max_chars))
    if max_bytes is not None:
        meters.append(Meter(Utf8Bytes().measure(text), max_bytes))
    if max_lines is not None:
        meters.append(Meter(Starts(lines(text), len(text)), max_lines, new_only=True))
    ends = paragraphs(text, getattr(costs, "scan", None)) if semantic else None
    levels = (Sentences(text), Lines(text), Words(text)) if semantic else ()
    spans = pack(text, meters, ends, levels, overlap=overlap_tokens, minimum=min_tokens, costs=costs)
    return list(_stripped(text, spans)) if strip else spans


def _check(
    max_tokens: int | None,
    overlap_tokens: int,
    min_tokens: int,
    max_lines: int | None,
    max_chars: int | None,
    max_bytes: int | None,
) -> None:
    caps = {"max_tokens": max_tokens, "max_chars": max_chars, "max_bytes": max_bytes, "max_lines": max_lines}
    for name, cap in caps.items():
        if cap is not None and cap < 1:
            raise ConfigError(name, f"found {cap}, expected a whole number from 1")
    if max_tokens is None and max_chars is None and max_bytes is None:
        raise ConfigError("max_tokens", "found no cap at all, expected max_tokens, max_chars or max_bytes")
    for name, value in {"overlap_tokens": overlap_tokens, "min_tokens": min_tokens}.items():
        if value < 0:
            raise ConfigError(name, f"found {value}, expected 0 or more")
    if max_tokens is not None and overlap_tokens >= max_tokens:
        raise ConfigError("overlap_tokens", f"found {overlap_tokens}, expected less than max_tokens ({max_tokens})")
    if max_tokens is not None and min_tokens > max_tokens:
        raise ConfigError("min_tokens", f"found {min_tokens}, expected at most max_tokens ({max_tokens})")


def _stripped(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        piece = text[span.start : span.end]
        start = span.end - len(piece.lstrip())
        yield Span(start, span.start + len(piece.rstrip()))


def to_chunks(
    text: str,
    spans: Sequence[Span],
    tokenizer: str | object | None = None,
    *,
    costs: Costs | None = None,
) -> tuple[Chunk, ...]:
    """The spans of a text as chunks: with their text, tokens, overlap and byte offsets.

    ``costs`` are the tokenizer's prefix sums over this text; with them nothing is counted twice.

    >>> to_chunks("é two", [Span(0, 2), Span(2, 5)])[1].start_byte
    3
    """
    if not spans:
        return ()
    costs = costs or as_tokenizer(tokenizer).measure(text)
    opens, closes = [span.start for span in spans], [span.end for span in spans]
    at_open, at_close = costs.many(opens).tolist(), costs.many(closes).tolist()
    sure, between, fixed = costs.is_sure, costs.between, costs.fixed
    chunks: list[Chunk] = []
    before_cost = 0
    places = zip(opens, closes, _byte_ranges(text, opens, closes), at_open, at_close, strict=True)
    for index, (start, end, (start_byte, end_byte), cost, end_cost) in enumerate(places):
        tokens = end_cost - cost + fixed if sure(start, end) else between(start, end)
        overlap = before_cost - cost if before_cost > cost else 0
        chunks.append(Chunk(index, start, end, start_byte, end_byte, text[start:end], tokens, overlap))
        before_cost = end_cost
    return tuple(chunks)


def _byte_ranges(text: str, opens: list[int], closes: list[int]) -> Iterator[tuple[int, int]]:
    """The ranges in bytes of UTF-8; what two ranges share is encoded twice, nothing more often."""
    if text.isascii():
        yield from zip(opens, closes, strict=True)
        return
    before = before_byte = 0
    for start, end in zip(opens, closes, strict=True):
        gap = utf8_length(text[before:start]) if start > before else -utf8_length(text[start:before])
        start_byte = before_byte + gap
        before, before_byte = end, before_byte + utf8_length(text[before:end])
        yield start_byte, before_byte
