"""A text -> entities and facts, each grounded in a quote; a text -> its summary.

The prompts are ours, and have a version: an answer that is kept belongs to the words that asked for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.memory.asking.cache import answer_key
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
    import threading
    from collections.abc import Iterable

    from unabridged.memory.asking.asking import Answer, Asker, Call

__all__ = ["Extraction", "FoundEdge", "FoundEntity", "Summary", "aextract", "asummarize", "extract", "summarize"]


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


def extract(
    text: str,
    asker: Asker,
    *,
    reference_time: dt.datetime | None = None,
    known: Iterable[Any] = (),
    model: str | None = None,
    reasoning: str | None = None,
    cancel: threading.Event | None = None,
) -> Extraction:
    """The entities and facts of a text, by one call of the stage ``extract_graph``.

    ``reference_time`` is when the text was written: "yesterday" is counted from it. ``known`` are entities of
    what came before (records, found entities, or ``(name, type)``), so that a pronoun or a short name finds
    its own. Offsets are bytes of the UTF-8 text. A blank text asks nothing.

    Raises :class:`~unabridged.errors.ChatError` for an answer that cannot be used, the provider's error for a
    refusal; both carry ``calls``.
    """
    if not text.strip():
        return Extraction()
    given = _asked(text, reference_time, tuple(known), model, reasoning)
    return _extraction(asker.ask(**given, cancel=cancel), text, known)


async def aextract(
    text: str,
    asker: Asker,
    *,
    reference_time: dt.datetime | None = None,
    known: Iterable[Any] = (),
    model: str | None = None,
    reasoning: str | None = None,
    cancel: threading.Event | None = None,
) -> Extraction:
    """As :func:`extract`, from a task."""
    if not text.strip():
        return Extraction()
    given = _asked(text, reference_time, tuple(known), model, reasoning)
    return _extraction(await asker.aask(**given, cancel=cancel), text, known)


def summarize(
    text: str,
    asker: Asker,
    *,
    model: str | None = None,
    reasoning: str | None = None,
    cancel: threading.Event | None = None,
) -> Summary:
    """A faithful summary of a text, by one call of the stage ``summarize_chunk``; it sees this text only.

    Raises as :func:`extract` does; an empty or cut-off summary is an error.
    """
    return _summary(asker.ask(**_asked_summary(text, model, reasoning), cancel=cancel))


async def asummarize(
    text: str,
    asker: Asker,
    *,
    model: str | None = None,
    reasoning: str | None = None,
    cancel: threading.Event | None = None,
) -> Summary:
    """As :func:`summarize`, from a task."""
    return _summary(await asker.aask(**_asked_summary(text, model, reasoning), cancel=cancel))


def _asked(
    text: str, reference_time: dt.datetime | None, known: tuple[Any, ...], model: str | None, reasoning: str | None
) -> dict[str, Any]:
    messages = extraction_messages(text, reference_time=reference_time, known=known)
    return {
        "messages": messages,
        "stage": "extract_graph",
        "schema": EXTRACTION_SCHEMA,
        "aliases": ALIASES,
        "key": answer_key(text, EXTRACTION_VERSION, messages[-1]["content"]).hex(),
        "about": text,
        "model": model,
        "reasoning": reasoning,
    }


def _extraction(answer: Answer, text: str, known: Iterable[Any]) -> Extraction:
    entities, edges, notes = graph_of(answer.value, text, known)
    return Extraction(entities, edges, answer.calls, notes)


def _asked_summary(text: str, model: str | None, reasoning: str | None) -> dict[str, Any]:
    return {
        "messages": summary_messages(text),
        "stage": "summarize_chunk",
        "key": answer_key(text, SUMMARY_VERSION).hex(),
        "about": text,
        "model": model,
        "reasoning": reasoning,
    }


def _summary(answer: Answer) -> Summary:
    text = without_thought(answer.text).strip('`" \n')
    head, colon, rest = text.partition(":")
    if colon and head.strip("*# ").casefold() in {"summary", "here is the summary", "here is a summary"}:
        text = rest
    return Summary(text.strip("* \n"), answer.calls)
