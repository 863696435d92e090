"""``proposition``: passages rewritten by a model into statements that stand alone (SPEC S12)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, UnabridgedError
from unabridged.text.engine import Meter, pack
from unabridged.text.packing import cut
from unabridged.text.segmenters.pieces import Cut, Piece, finest
from unabridged.text.segmenters.sentence import segment_sentence
from unabridged.types import Span  # noqa: TC001

if TYPE_CHECKING:
    from unabridged.text.documents.model import Document
    from unabridged.text.segmenters.pieces import Tools
    from unabridged.text.segmenters.spec import SegmentSpec

__all__ = ["SCHEMA", "read_statements", "segment_proposition"]

_BATCH_TOKENS = 900  # a request's passage (SPEC S12)
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"statements": {"type": "array", "items": {"type": "string"}}},
    "required": ["statements"],
    "additionalProperties": False,
}
_ASK = (
    "Rewrite the passage as a list of short factual statements. Each must be understood alone: put names in "
    "place of pronouns, keep every number, date and name exactly as written, add nothing and leave nothing out. "
    'Answer with JSON only: {"statements": ["…", "…"]}.'
)


def segment_proposition(document: Document, spec: SegmentSpec, tools: Tools) -> Cut:
    """A chunk a statement; its source is the passage that it was written from. Never any overlap."""
    size = spec.get("proposition_batch_tokens", _BATCH_TOKENS)
    if not isinstance(size, int) or size < 1:
        raise ConfigError("proposition_batch_tokens", "expected a whole number of tokens from 1")
    if tools.models.chat is None:
        why = "proposition: no llm was given; sentences were packed instead"
        return Cut(segment_sentence(document, spec, tools).pieces, method="proposition->sentence", fell_back=(why,))
    batches = cut(document.text, max_tokens=size, costs=tools.costs)
    pieces: list[Piece] = []
    kept = 0
    for batch in batches:
        statements = _rewritten(document.text[batch.start : batch.end], tools)
        if statements:
            pieces += _packed(batch, statements, spec, tools)
        else:
            kept += 1
            pieces += _as_written(document.text, batch, spec, tools)
    said = (
        (f"proposition: {kept} of {len(batches)} batches are kept as written (a call failed or a limit)",)
        if kept
        else ()
    )
    return Cut(pieces, {"batches": len(batches), "batches_kept_as_written": kept}, fell_back=said)


def _rewritten(passage: str, tools: Tools) -> list[str]:
    asked = [{"role": "system", "content": _ASK}, {"role": "user", "content": passage}]
    try:
        return read_statements(tools.models.ask("segment.proposition", asked, schema=SCHEMA))
    except (UnabridgedError, OSError, RuntimeError, ValueError, LookupError, TypeError):
        return []  # counted, said, and in the trace


def read_statements(answer: str) -> list[str]:
    """The statements in a model's answer: JSON in whatever wrapping, else a line each.

    >>> read_statements('<think>hm</think>```json\\n{"statements": ["A is B.", " "]}\\n```')
    ['A is B.']
    >>> read_statements("- One.\\n2. Two.")
    ['One.', 'Two.']
    """
    answer = re.sub(r"<think>.*?</think>", "", answer, flags=re.DOTALL).strip()
    fenced = re.search(r"```\w*\s*\n(.*?)```", answer, re.DOTALL)
    body = fenced[1].strip() if fenced else answer
    try:
        value = json.loads(body)
    except ValueError:
        if body[:1] in ("{", "["):  # JSON that was cut off is no list of lines
            return []
        return [
            line for line in (re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", row).strip() for row in body.splitlines()) if line
        ]
    if isinstance(value, Mapping):
        value = next((item for item in value.values() if isinstance(item, list)), [])
    return [item.strip() for item in value if isinstance(item, str) and item.strip()] if isinstance(value, list) else []


def _packed(batch: Span, statements: list[str], spec: SegmentSpec, tools: Tools) -> list[Piece]:
    """A piece a statement; one under the minimum joins the one before it where both fit."""
    pieces: list[Piece] = []
    for words in statements:
        joined = f"{pieces[-1].words}\n{words}" if pieces else words
        count = tools.tokenizer.count
        if pieces and count(words) < spec.min_tokens and count(joined) <= spec.max_tokens:
            pieces[-1] = Piece(batch.start, batch.end, words=joined)
        else:
            pieces.append(Piece(batch.start, batch.end, words=words))
    return pieces


def _as_written(text: str, batch: Span, spec: SegmentSpec, tools: Tools) -> list[Piece]:
    piece = text[batch.start : batch.end]
    meters = [Meter(tools.tokenizer.measure(piece), spec.max_tokens)]
    spans = pack(piece, meters, None, finest(piece))
    return [Piece(batch.start + span.start, batch.start + span.end) for span in spans]
