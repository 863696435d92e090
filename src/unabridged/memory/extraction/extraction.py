"""A text -> entities and facts, each grounded in a quote; a text -> its summary.

The prompts are ours, and have a version: an answer that is kept belongs to the words that asked for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack, cast

from unabridged.memory.asking.cache import answer_key
from unabridged.memory.asking.data import ModelChoice
from unabridged.memory.extraction.prompts import (
    ALIASES,
    EXTRACTION_SCHEMA,
    EXTRACTION_VERSION,
    SUMMARY_VERSION,
    extraction_messages,
    summary_messages,
)
from unabridged.memory.extraction.read import FoundEdge, FoundEntity, graph_of
from unabridged.providers.chat_json import without_thought

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from unabridged.memory.asking.asking import Answer, Asker, Call
    from unabridged.memory.asking.data import Asking

__all__ = [
    "Extracting",
    "Extraction",
    "FoundEdge",
    "FoundEntity",
    "Summary",
    "aextract",
    "asummarize",
    "extract",
    "summarize",
]

_EXTRACT, _SUMMARIZE = "extract_graph", "summarize_chunk"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a text says: entities, facts between them, the calls that it took, and what was left out and why."""

    entities: tuple[FoundEntity, ...] = ()
    edges: tuple[FoundEdge, ...] = ()
    calls: tuple[Call, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Two to four sentences that say what a text says (SPEC A17), and the calls that it took."""

    text: str = field(repr=False)
    calls: tuple[Call, ...] = ()


class Extracting(ModelChoice, total=False):
    """What an extraction is told besides the text: the options of :func:`extract` and :func:`aextract`.

    ``reference_time`` is when the text was written: "yesterday" is counted from it. ``known`` are entities of
    what came before (records, found entities, or ``(name, type)``), so that a pronoun or a short name finds
    its own.
    """

    reference_time: dt.datetime | None
    known: Iterable[Any]


def extract(text: str, asker: Asker, **how: Unpack[Extracting]) -> Extraction:
    """The entities and facts of a text, by one call of the stage ``extract_graph``.

    ``how`` are the options of :class:`Extracting`. Offsets are bytes of the UTF-8 text. A blank text asks nothing.

    Raises :class:`~unabridged.errors.ChatError` for an answer that cannot be used, the provider's error for a
    refusal; both carry ``calls``.
    """
    if not text.strip():
        return Extraction()
    messages, given, known = _asked(text, **how)
    return _extraction(asker.ask(messages, stage=_EXTRACT, **given), text, known)


async def aextract(text: str, asker: Asker, **how: Unpack[Extracting]) -> Extraction:
    """As :func:`extract`, from a task."""
    if not text.strip():
        return Extraction()
    messages, given, known = _asked(text, **how)
    return _extraction(await asker.aask(messages, stage=_EXTRACT, **given), text, known)


def summarize(text: str, asker: Asker, **how: Unpack[ModelChoice]) -> Summary:
    """A faithful summary of a text, by one call of the stage ``summarize_chunk``; it sees this text only.

    ``how`` are the options of :class:`~unabridged.memory.asking.data.ModelChoice`. Raises as :func:`extract` does; an
    empty or cut-off summary is an error.
    """
    return _summary(asker.ask(summary_messages(text), stage=_SUMMARIZE, **_kept(text, how)))


async def asummarize(text: str, asker: Asker, **how: Unpack[ModelChoice]) -> Summary:
    """As :func:`summarize`, from a task."""
    return _summary(await asker.aask(summary_messages(text), stage=_SUMMARIZE, **_kept(text, how)))


def _asked(
    text: str, *, reference_time: dt.datetime | None = None, known: Iterable[Any] = (), **how: Unpack[ModelChoice]
) -> tuple[list[dict[str, str]], Asking, tuple[Any, ...]]:
    """The messages, how they are asked, and what was known before."""
    before = tuple(known)
    messages = extraction_messages(text, reference_time=reference_time, known=before)
    key = answer_key(text, EXTRACTION_VERSION, messages[-1]["content"]).hex()
    given: Asking = {"schema": EXTRACTION_SCHEMA, "aliases": ALIASES, "key": key, "about": text}
    given.update(cast("Asking", how))  # of which it is a part
    return messages, given, before


def _kept(text: str, how: ModelChoice) -> Asking:
    given: Asking = {"key": answer_key(text, SUMMARY_VERSION).hex(), "about": text}
    given.update(cast("Asking", how))  # of which it is a part
    return given


def _extraction(answer: Answer, text: str, known: Iterable[Any]) -> Extraction:
    entities, edges, notes = graph_of(answer.value, text, known)
    return Extraction(entities, edges, answer.calls, notes)


def _summary(answer: Answer) -> Summary:
    text = without_thought(answer.text).strip('`" \n')
    head, colon, rest = text.partition(":")
    if colon and head.strip("*# ").casefold() in {"summary", "here is the summary", "here is a summary"}:
        text = rest
    return Summary(text.strip("* \n"), answer.calls)
