"""The one way in: a text, document or file to chunks, by any segmenter, the cap enforced on all (SPEC S3, S17)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import accumulate
from os import PathLike
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, InputError, SegmentFallback
from unabridged.text.documents.model import Document
from unabridged.text.overlap import widen
from unabridged.text.packing import cut, to_chunks
from unabridged.text.segmenters.models import Models, as_chat, as_embed
from unabridged.text.segmenters.pieces import Cut, Piece, Tools
from unabridged.text.segmenters.places import Places
from unabridged.text.segmenters.registry import Segmenter, find_segmenter
from unabridged.text.segmenters.spec import SegmentSpec, check_settings, segment_spec
from unabridged.text.tokens import as_tokenizer
from unabridged.types import Chunk, ChunkSet, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_source", "split"]

_ADAPTIVE = "adaptive_overlap"  # a setting that all take: overlap by the boundary and the text


def split(
    source: str | Document | bytes | PathLike[str],
    method: str | Mapping[str, Any] | SegmentSpec | Callable[..., Any] = "paragraph",
    *,
    max_tokens: int | None = None,
    overlap_tokens: int | None = None,
    min_tokens: int | None = None,
    tokenizer: str | object | None = None,
    embedder: object = None,
    llm: object = None,
    max_calls: int | None = None,
    max_cost_usd: float | None = None,
    **settings: Any,
) -> ChunkSet:
    r"""Cut a text, a document or a file into chunks.

    A ``str`` is always a text; a :class:`~pathlib.Path` or bytes are read by
    :func:`~unabridged.text.documents.read_document`. ``method`` is a segmenter's name (``paragraph``,
    ``sentence``, ``recursive``, ``fixed``, ``structural``, ``page``, ``semantic``, ``contextual``,
    ``proposition``, or one registered), a mapping, a :class:`SegmentSpec`, or a function of a document.
    Sizes are in tokens of ``tokenizer`` (the estimator by default): ``max_tokens`` 1,200, no overlap, no
    minimum unless given. ``embedder`` is ``"lexical"``, a function of texts, or has ``embed()``; ``llm`` is a
    function of messages. ``max_calls`` and ``max_cost_usd`` end model calls.

    A size out of range is corrected with a :class:`~unabridged.errors.SettingCorrected` warning, a method that
    cannot run falls back with a :class:`~unabridged.errors.SegmentFallback` warning. Raises
    :class:`~unabridged.errors.ConfigError` for an unknown method or setting,
    :class:`~unabridged.errors.CapUnenforceable` where one character is over the cap.

    >>> chunks = split("First paragraph.\n\nSecond one.", max_tokens=32)
    >>> len(chunks), chunks.method, chunks[0].tokens
    (1, 'paragraph', 10)
    """
    given = {"max_tokens": max_tokens, "overlap_tokens": overlap_tokens, "min_tokens": min_tokens}
    if callable(method):
        segmenter = Segmenter(getattr(method, "__name__", "function"), "", method, settings=None)
        spec = segment_spec(segmenter.name, **given, **settings)
    else:
        spec = segment_spec(method, **given, **settings)
        segmenter = find_segmenter(spec.method)
    if segmenter.settings is not None:
        check_settings(spec, (*segmenter.settings, _ADAPTIVE))
    document = read_source(source)
    measure = as_tokenizer(tokenizer)
    models = Models(as_chat(llm), measure, max_calls, max_cost_usd)
    tools = Tools(measure, measure.measure(document.text), as_embed(embedder), models)
    made = _run(segmenter, document, _plain_overlap(spec), tools) if document.text.strip() else Cut(())
    made = _follow_text(made, document, spec, tools)
    for why in made.fell_back:
        warnings.warn(why, SegmentFallback, stacklevel=2)
    document = made.document or document
    chunks, enforced = _chunks(document, made, spec, tools)
    if not made.method or made.method == segmenter.name:
        chunks = _placed(document, chunks, segmenter.provenance, tools)
    else:
        chunks = _placed(document, chunks, find_segmenter(made.method.rpartition("->")[2]).provenance, tools)
    said = (*document.warnings, *spec.warnings, *made.notes, *made.fell_back)
    extra = {"cap_enforced": enforced, **made.extra}
    return ChunkSet(chunks, made.method or segmenter.name, spec.max_tokens, extra, tuple(models.trace), said)


def read_source(source: object) -> Document:
    """A text as it is, a document, or a file that is read."""
    if isinstance(source, str):
        return Document(source)
    if isinstance(source, Document):
        return source
    if isinstance(source, (bytes, bytearray, memoryview, PathLike)):
        from unabridged.text.documents import read_document

        return read_document(bytes(source) if not isinstance(source, PathLike) else source)
    raise InputError(f"found a {type(source).__name__}, expected a text, a Document, a path or bytes")


def _plain_overlap(spec: SegmentSpec) -> SegmentSpec:
    """Without overlap, and with room for it, where it is laid on afterwards."""
    if not spec.get(_ADAPTIVE, default=False):
        return spec
    cap = max(1, spec.max_tokens - spec.overlap_tokens)
    return replace(spec, max_tokens=cap, overlap_tokens=0, min_tokens=min(spec.min_tokens, cap))


def _follow_text(made: Cut, document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """Overlap that follows the text (SPEC L11), for segmenters that add nothing to it."""
    plain = [piece for piece in made.pieces if isinstance(piece, Span)]
    if not spec.get(_ADAPTIVE, default=False) or len(plain) != len(made.pieces):
        return made
    spans = widen(document.text, plain, costs=tools.costs, overlap=spec.overlap_tokens, cap=spec.max_tokens)
    return replace(made, pieces=spans)


def _run(segmenter: Segmenter, document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    takes = inspect.signature(segmenter.function).parameters.values()
    free = [
        one
        for one in takes
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is one.empty
    ]
    made = segmenter.function(*(document, spec, tools)[: max(1, len(free))])
    return made if isinstance(made, Cut) else Cut(list(_own(made, document.text, segmenter.name)))


def _own(made: object, text: str, name: str) -> Iterable[Piece]:
    """What a user's segmenter gave, as pieces: spans, pairs, chunks, or slices of the text in order."""
    if not isinstance(made, Iterable) or isinstance(made, (str, bytes)):
        raise ConfigError(name, f"the segmenter gave a {type(made).__name__}, expected spans or texts in order")
    floor = 0
    for one in made:
        if isinstance(one, Piece):
            piece = one
        elif isinstance(one, str):
            at = text.find(one, floor)
            if at < 0:
                raise ConfigError(name, f"the segmenter gave a text that is not in the document from {floor} on")
            piece = Piece(at, at + len(one))
        else:
            start, end = (one.start, one.end) if hasattr(one, "start") else one
            piece = Piece(int(start), int(end))
        if not 0 <= piece.start <= piece.end <= len(text):
            raise ConfigError(
                name, f"the segmenter gave [{piece.start}, {piece.end}), outside the document's {len(text)}"
            )
        floor = piece.start
        if piece.text(text).strip():
            yield piece


def _chunks(document: Document, made: Cut, spec: SegmentSpec, tools: Tools) -> tuple[tuple[Chunk, ...], int]:
    """Chunks within the cap, and how many pieces had to be split for it."""
    text = document.text
    if not any(isinstance(piece, Piece) for piece in made.pieces):  # mostly: spans, none of which is over
        chunks = to_chunks(text, made.pieces, costs=tools.costs)  # type: ignore[arg-type]
        if all(chunk.tokens <= spec.max_tokens for chunk in chunks):
            return chunks, 0
    pieces: list[tuple[Piece | Span, int]] = []
    enforced = 0
    prefixes = _prefix_tokens(made.pieces, tools)
    for piece in made.pieces:
        tokens = _tokens(piece, text, tools, prefixes)
        if tokens <= spec.max_tokens:
            pieces.append((piece, tokens))
        else:
            enforced += 1
            parts = _split_again(piece, text, spec.max_tokens, tools)
            pieces.extend((part, _tokens(part, text, tools, {})) for part in parts)
    chunks = to_chunks(text, [Span(piece.start, piece.end) for piece, _ in pieces], costs=tools.costs)
    return tuple(_with_additions(chunk, *piece) for chunk, piece in zip(chunks, pieces, strict=True)), enforced


def _prefix_tokens(pieces: Iterable[Piece | Span], tools: Tools) -> dict[str, int]:
    """The tokens of what stands before texts, counted together, where counts of lines add up."""
    found = (piece.prefix for piece in pieces if isinstance(piece, Piece) and piece.words is None)
    prefixes = list(dict.fromkeys(prefix for prefix in found if prefix.endswith("\n")))
    if not prefixes or not getattr(tools.tokenizer, "adds_up_by_line", False):
        return {}
    ends = list(accumulate(map(len, prefixes), initial=0))
    sums = tools.tokenizer.measure("".join(prefixes)).many(ends).tolist()
    return {prefix: after - before for prefix, before, after in zip(prefixes, sums, sums[1:], strict=False)}


def _tokens(piece: Piece | Span, text: str, tools: Tools, prefixes: Mapping[str, int]) -> int:
    if isinstance(piece, Span) or not (piece.prefix or piece.words):
        return tools.costs.between(piece.start, piece.end)
    if piece.words is None and piece.prefix in prefixes:
        return prefixes[piece.prefix] + tools.costs.between(piece.start, piece.end)
    return tools.tokenizer.count(piece.text(text))


def _split_again(piece: Piece | Span, text: str, cap: int, tools: Tools) -> Iterable[Piece]:
    """At sentences, then words, then characters; a prefix stays if it leaves half of the cap."""
    if isinstance(piece, Piece) and piece.words is not None:
        for part in cut(piece.words, max_tokens=cap, tokenizer=tools.tokenizer):
            yield Piece(piece.start, piece.end, words=piece.words[part.start : part.end])
        return
    prefix = piece.prefix if isinstance(piece, Piece) else ""
    room = tools.tokenizer.count(prefix) if prefix else 0
    prefix, room = (prefix, room) if room * 2 <= cap else ("", 0)
    for part in cut(text[piece.start : piece.end], max_tokens=cap - room, tokenizer=tools.tokenizer):
        yield Piece(piece.start + part.start, piece.start + part.end, prefix)


def _with_additions(chunk: Chunk, piece: Piece | Span, tokens: int) -> Chunk:
    if isinstance(piece, Span) or not (piece.prefix or piece.words is not None):
        return chunk
    text = piece.words if piece.words is not None else piece.prefix + chunk.text
    overlap = 0 if piece.words is not None else chunk.overlap_tokens
    return Chunk(
        chunk.index, chunk.start, chunk.end, chunk.start_byte, chunk.end_byte, text, tokens, overlap, source=chunk.text
    )


def _placed(document: Document, chunks: Sequence[Chunk], provenance: Sequence[str], tools: Tools) -> tuple[Chunk, ...]:
    if not provenance or not chunks:
        return tuple(chunks)
    scan = getattr(tools.costs, "scan", None)
    places = Places.of(document, scan).of_spans([Span(chunk.start, chunk.end) for chunk in chunks])
    on_page, in_section, in_block = (name in provenance for name in ("page", "section", "block_id"))
    for chunk, (page, section, block) in zip(chunks, places, strict=True):
        # The chunks were made here and nobody has seen them: a copy of each takes a fifth of the whole cut.
        if on_page and page is not None:
            object.__setattr__(chunk, "page", page)
        if in_section and section is not None:
            object.__setattr__(chunk, "section", section)
        if in_block and block is not None:
            object.__setattr__(chunk, "block_id", block)
    return tuple(chunks)
