"""``contextual``: paragraphs, each chunk opened by a bracketed line that says where it sits (SPEC S11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.errors import ConfigError, UnabridgedError
from unabridged.text.packing import cut
from unabridged.text.segmenters.pieces import Cut, Piece
from unabridged.text.segmenters.places import Places

if TYPE_CHECKING:
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec
    from unabridged.types import Span

__all__ = ["segment_contextual"]

_LINE_TOKENS = 90  # held back for a line that a model writes (SPEC S11)
_OPENING_TOKENS = 1500  # of the document, shown to the model beside the chunk (SPEC S11)
_ASK = (
    "Here is the beginning of a document, and one passage from it. Write one short sentence (under 60 words) "
    "that says what the passage is about and where it stands in the document, so that the passage can be found "
    "and understood alone. Answer with the sentence only."
)


def segment_contextual(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """The line is made of file, section, page and position, or by a model (``context_source="llm"``)."""
    wanted = spec.get("context_source", "metadata")
    if wanted not in ("metadata", "llm"):
        raise ConfigError("context_source", f"found {wanted!r}, expected 'metadata' or 'llm'")
    by_model = wanted == "llm" and tools.models.chat is not None
    room = min(_LINE_TOKENS if by_model else _longest(document, spec, tools), spec.max_tokens // 2)
    cap = spec.max_tokens - room
    spans = cut(
        document.text, max_tokens=cap, overlap_tokens=min(spec.overlap_tokens, cap - 1),
        min_tokens=min(spec.min_tokens, cap), costs=tools.costs,
    )  # fmt: skip
    fell_back: tuple[str, ...] = ()
    extra: dict[str, object] = {"context_source": "llm" if by_model else "metadata"}
    if by_model:
        lines = _model_lines(document, spans, tools)
        missing = sum(1 for line in lines if not line)
        extra["blurbs_missing"] = missing
        if missing:
            fell_back = (
                f"contextual: {missing} of {len(lines)} chunks have no context line (a call failed or a limit)",
            )
    else:
        lines = _metadata_lines(document, spans)
        if wanted == "llm":
            fell_back = ("contextual: no llm was given; the lines are made from the metadata",)
    pieces = [
        Piece(span.start, span.end, _fitted(line, document.text[span.start : span.end], spec.max_tokens, tools))
        for span, line in zip(spans, lines, strict=True)
    ]
    return Cut(pieces, extra, fell_back=fell_back)


def _metadata_lines(document: Document, spans: list[Span]) -> list[str]:
    places = Places.of(document).of_spans(spans)
    lines = []
    for at, (page, section, _) in enumerate(places, 1):
        parts = [f"Source: {document.name}"] if document.name else []
        parts += [f"Section: {section}"] if section else []
        parts += [f"Page: {page}"] if page is not None else []
        lines.append(" | ".join([*parts, f"Part {at} of {len(spans)}"]))
    return lines


def _longest(document: Document, spec: SegmentSpec, tools: Tools) -> int:
    """The tokens of the longest line that the document could need."""
    sections = {section for section in Places.of(document).sections or () if section}
    longest = max((tools.tokenizer.count(section) for section in sections), default=0)
    parts = 10 ** len(str(4 * tools.costs.total // spec.max_tokens + 8))
    frame = f"[Source: {document.name or ''} | Section:  | Page: {document.pages or ''} | Part {parts} of {parts}]\n\n"
    return longest + tools.tokenizer.count(frame)


def _model_lines(document: Document, spans: list[Span], tools: Tools) -> list[str]:
    opening = document.text[: tools.costs.select(_OPENING_TOKENS)]
    lines = []
    for span in spans:
        passage = document.text[span.start : span.end]
        asked = f"{_ASK}\n\n<document>\n{opening}\n</document>\n\n<passage>\n{passage}\n</passage>"
        try:
            answer = tools.models.ask("segment.context", [{"role": "user", "content": asked}], max_tokens=_LINE_TOKENS)
        except (UnabridgedError, OSError, RuntimeError, ValueError, LookupError, TypeError):
            answer = ""  # counted, said, and in the trace
        lines.append(" ".join(answer.strip().strip("[]").split()))
    return lines


def _fitted(line: str, passage: str, cap: int, tools: Tools) -> str:
    """The line in brackets, its end left out until it fits; nothing if not a word does."""
    words = line.split(" ") if line else []
    while words:
        shown = " ".join(words) + ("" if len(words) == len(line.split(" ")) else "…")
        prefix = f"[{shown}]\n\n"
        if tools.tokenizer.count(prefix + passage) <= cap:
            return prefix
        words = words[:-1]
    return ""
