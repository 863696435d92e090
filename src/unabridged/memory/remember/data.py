"""What :meth:`Memory.remember` takes and gives: its options, its progress, its answer (SPEC A23, A27)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from unabridged.memory.plain import plain

if TYPE_CHECKING:
    import datetime as dt
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from unabridged.memory.records import Edge, Entity
    from unabridged.memory.remember.trajectory import Step

__all__ = ["ChunkOutcome", "Derived", "Event", "Options", "Remembered", "SummaryOutcome"]


@dataclass(frozen=True, slots=True)
class Event:
    """How far a request is: ``done`` of ``total`` of a step; ``chunk`` counts from 0 where it is about one.

    Steps are ``chunk``, ``extract``, ``summarize``, ``store``, ``embed``, ``resolve`` and ``done``.
    """

    step: str
    done: int
    total: int
    chunk: int | None = None
    artifact_id: str | None = None


class Options(TypedDict, total=False):
    """The options of ``remember``, all of them keyword-only (SPEC A27).

    ``valid_at`` (or ``reference_time``, the same) is when the text was true; ``chunking`` has ``size`` (1,024
    tokens), ``overlap_percent`` (20), ``tokenizer``, ``method``, or is ``False``. ``average`` makes a long
    document's vector of its ``chunks`` or of their ``summaries`` (SPEC L11). ``connect`` looks for facts
    that need two distant chunks, in a pass of its own over the summaries. ``supersedes=False`` (for all, or
    by kind) closes no older fact. ``contextual_bm25`` puts the document's title before each chunk for full text
    and for its vector (SPEC K3). ``idempotency_key`` makes a request resumable, and replays its answer once
    it is done.
    """

    kind: str | None
    session_id: str | None
    valid_at: Any
    reference_time: Any
    metadata: Mapping[str, Any] | None
    source: str | None
    source_hash: str | None
    provenance: Mapping[str, Any] | None
    expires_at: Any
    chunking: Mapping[str, Any] | bool | None
    extract: bool
    summarize: bool
    defer: bool
    web_search: bool | int
    timeseries: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None
    image: Any
    models: Mapping[str, str] | None
    reasoning: Mapping[str, str] | None
    average: Literal["chunks", "summaries"]
    connect: bool
    contextual_bm25: bool
    supersedes: bool | Mapping[str, bool]
    idempotency_key: str | None
    trajectory: bool
    dry_run: bool
    progress: Callable[[Event], None] | None
    cancel: threading.Event | None
    on_summary_failure: Literal["fail", "keep"]


@dataclass(frozen=True, slots=True)
class SummaryOutcome:
    """The summary of a chunk, and the call that wrote it."""

    artifact_id: str
    text: str = field(repr=False)
    model: str | None = None
    reasoning: str = "none"
    inference_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """What became of a chunk; ``entities`` and ``edges`` as its extraction listed them, before merging."""

    artifact_id: str
    index: int
    tokens: int
    overlap_tokens: int
    start_offset: int
    end_offset: int
    entities: int = 0
    edges: int = 0
    summary: SummaryOutcome | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """An artifact made on the way: a web search, an observation; ``parent_id`` is what it hangs from."""

    artifact_id: str
    kind: str
    parent_id: str
    query: str = field(repr=False)
    series_id: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a request stored, once it is done (SPEC A23).

    ``chunks`` is ``None`` for a text that fits one. ``notes`` say what was not done, and why; ``estimate``
    is what a dry run would cost, and then nothing is stored. ``replayed`` is an answer given again.
    """

    artifact_id: str
    kind: str
    created_at: dt.datetime
    session_id: str | None = None
    valid_at: dt.datetime | None = None
    entities: tuple[Entity, ...] = ()
    edges: tuple[Edge, ...] = ()
    invalidated_edges: tuple[Edge, ...] = ()
    embedded_entities: int = 0
    embedded_edges: int = 0
    embedded_chunks: int = 0
    embedded_summaries: int = 0
    chunks: tuple[ChunkOutcome, ...] | None = None
    derived: tuple[Derived, ...] = ()
    series: tuple[str, ...] = ()
    image_id: str | None = None
    pending: int = 0
    notes: tuple[str, ...] = ()
    trajectory: tuple[Step, ...] = ()
    estimate: Mapping[str, Any] | None = None
    replayed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it: exactly the fields of SPEC A23, and those that were asked for."""
        names = ("artifact_id", "kind", "session_id", "valid_at", "created_at", "entities", "edges")
        counted = ("invalidated_edges", "embedded_entities", "embedded_edges", "embedded_chunks", "embedded_summaries")
        made: dict[str, Any] = {name: plain(getattr(self, name)) for name in (*names, *counted)}
        if self.chunks is not None:
            made["chunks"] = plain(self.chunks)
        asked = ("derived", "series", "image_id", "pending", "trajectory", "estimate")
        return made | {name: plain(value) for name in asked if (value := getattr(self, name))}
