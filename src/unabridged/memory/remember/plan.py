"""What a request asks for, checked, and the units that it comes down to: before anything is called or stored.

A unit is one artifact whose text becomes a graph: a short text itself, each chunk of a long one, and
later what a web search found or a series shows. Every unit's id is known from here on, so whether it is
stored is one look-up, also after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.embedding.fingerprint import SPLITTER_VERSION
from unabridged.errors import ConfigError, InputError
from unabridged.memory.gather import checked_kind
from unabridged.memory.remember.data import Options
from unabridged.memory.remember.image import Picture
from unabridged.memory.remember.names import names_before
from unabridged.memory.remember.series import listed
from unabridged.memory.values import checked_metadata, checked_name, checked_text, digest, moment, new_id, now
from unabridged.text.documents.model import Document
from unabridged.text.packing import cut, to_chunks
from unabridged.text.tokens import as_tokenizer

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from unabridged.memory.records import Artifact
    from unabridged.types import Chunk

__all__ = ["STAGES", "Cutter", "Plan", "Request", "Unit", "planned"]

STAGES = (
    "extract_graph",
    "summarize_chunk",
    "resolve_edges",
    "link_chunks",
)  # the calls whose model a request may choose
SIZE, OVERLAP_PERCENT = 1024, 20  # SPEC C1, C2


@dataclass(frozen=True, slots=True)
class Cutter:
    """How a text is chunked (SPEC C1, C2, C8): sizes in tokens of the tokenizer."""

    size: int = SIZE
    overlap_percent: int = OVERLAP_PERCENT
    tokenizer: Any = None
    method: str | None = None
    off: bool = False

    @classmethod
    def of(cls, given: Any) -> Cutter:
        """From the ``chunking`` of a request. Raises :class:`ConfigError` with the key's path."""
        if given is None or isinstance(given, bool):
            return cls(off=given is False)
        if not isinstance(given, Mapping):
            raise ConfigError("chunking", f"found {type(given).__name__}, expected an object, or false")
        known = ("size", "overlap_percent", "tokenizer", "method")
        for name in given:
            if name not in known:
                raise ConfigError(f"chunking.{name}", f"is not known; there are {', '.join(known)}")
        made = cls(**given)
        _whole("chunking.size", made.size, 1, 1_000_000)
        _whole("chunking.overlap_percent", made.overlap_percent, 0, 90)
        as_tokenizer(made.tokenizer)
        return made

    @property
    def overlap(self) -> int:
        """Tokens that a chunk may share with the one before it."""
        return self.size * self.overlap_percent // 100

    @property
    def name(self) -> str:
        """What a chunk says of how it was cut (SPEC K6)."""
        tokenizer = getattr(as_tokenizer(self.tokenizer), "name", "own")
        return f"{self.method or 'packed'}-{SPLITTER_VERSION}:{self.size}:{self.overlap}:{tokenizer}"

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return as_tokenizer(self.tokenizer).count(text)

    def chunks(self, document: Document) -> tuple[Chunk, ...]:
        """The chunks of a text that is over the size; none for one that fits (SPEC C1)."""
        text = document.text
        measure = as_tokenizer(self.tokenizer)
        costs = measure.measure(text)
        if self.off or costs.between(0, len(text)) <= self.size:
            return ()
        if method := self.method or ("structural" if document.format == "code" else None):
            from unabridged.text.segmenters import split

            more: dict[str, Any] = {} if self.method else {"prefix_section": False}  # SPEC K9: code at definitions
            return tuple(
                split(document, method, max_tokens=self.size, overlap_tokens=self.overlap, tokenizer=measure, **more)
            )
        spans = cut(text, max_tokens=self.size, overlap_tokens=self.overlap, tokenizer=measure, costs=costs)
        return _placed(document, to_chunks(text, spans, costs=costs), costs)


def _placed(document: Document, chunks: tuple[Chunk, ...], costs: Any) -> tuple[Chunk, ...]:
    from unabridged.text.segmenters.places import Places
    from unabridged.types import Span

    places = Places.of(document, getattr(costs, "scan", None)).of_spans([Span(c.start, c.end) for c in chunks])
    return tuple(
        replace(chunk, page=page, section=section, block_id=block)
        for chunk, (page, section, block) in zip(chunks, places, strict=True)
    )


def _whole(path: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(path, f"found {value!r}, expected a whole number from {least} to {most:,}")


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a request, checked."""

    text: str = field(repr=False)
    kind: str
    artifact: Mapping[str, Any]
    cutter: Cutter
    reference: dt.datetime | None
    extract: bool = True
    summarize: bool = True
    defer: bool = False
    web_search: int = 0
    timeseries: tuple[Mapping[str, Any], ...] = ()
    image: Picture | None = field(default=None, repr=False)
    models: Mapping[str, str] = field(default_factory=dict)
    reasoning: Mapping[str, str] = field(default_factory=dict)
    average: str = "chunks"
    connect: bool = False
    supersedes: bool = True
    key: str | None = None
    keep_unsummarized: bool = False
    titled: bool = False
    document: Document | None = field(default=None, repr=False)

    @classmethod
    def of(cls, text: str, given: Mapping[str, Any], *, limit: int, document: Document | None = None) -> Request:
        """Check everything that a caller gave; nothing is stored for a request that is wrong (SPEC A3)."""
        for name in given:
            if name not in Options.__annotations__:
                raise TypeError(f"remember() got an unexpected keyword argument {name!r}")
        checked_text(text, limit)
        valid_at = moment(given.get("valid_at"), "valid_at")
        reference = moment(given.get("reference_time"), "reference_time")
        session, source, key = (given.get(name) for name in ("session_id", "source", "idempotency_key"))
        for name, value in (("session_id", session), ("source", source), ("idempotency_key", key)):
            if value is not None:
                checked_name(value, name)
        artifact = {
            "session_id": session,
            "valid_at": valid_at or reference,
            "metadata": checked_metadata(given.get("metadata")),
            "source": source,
            "source_hash": given.get("source_hash"),
            "provenance": checked_metadata(given.get("provenance"), "provenance"),
            "expires_at": moment(given.get("expires_at"), "expires_at"),
        }
        return cls(
            text=text,
            kind=checked_kind(given.get("kind")),
            artifact=artifact,
            cutter=Cutter.of(given.get("chunking")),
            reference=reference or valid_at,
            timeseries=listed(given.get("timeseries")),
            models=_staged("models", given.get("models")),
            reasoning=_reasoning(given.get("reasoning")),
            average=_one_of("average", given.get("average", "chunks"), ("chunks", "summaries")),
            web_search=_searches(given.get("web_search", False)),
            image=None if given.get("image") is None else Picture.of(given["image"], text),
            key=key,
            supersedes=_supersedes(given.get("supersedes", True), checked_kind(given.get("kind"))),
            keep_unsummarized=_one_of("on_summary_failure", given.get("on_summary_failure", "fail"), ("fail", "keep"))
            == "keep",
            document=document,
            titled=bool(given.get("contextual_bm25", False)),
            **{name: bool(given[name]) for name in ("extract", "summarize", "defer", "connect") if name in given},
        )

    @property
    def digest(self) -> str:
        """What makes two requests of one key the same."""
        said = {name: str(getattr(self, name)) for name in ("kind", "artifact", "cutter", "models", "reasoning")}
        said |= {
            name: str(getattr(self, name))
            for name in ("extract", "summarize", "defer", "web_search", "average", "titled")
        }
        said |= {
            "timeseries": digest(json.dumps(self.timeseries, default=str)),
            "image": self.image.digest if self.image is not None else "",
        }
        return digest(self.text, json.dumps(said, sort_keys=True))


def _one_of(name: str, value: Any, known: Sequence[str]) -> str:
    if value not in known:
        raise InputError(f"{name}: found {value!r}, expected one of {', '.join(known)}")
    return str(value)


def _staged(name: str, given: Any) -> dict[str, str]:
    for stage, value in (given or {}).items():
        if stage not in STAGES:
            raise InputError(f"{name}.{stage}: no such stage; there are {', '.join(STAGES)}")
        if not isinstance(value, str) or not value:
            raise InputError(f"{name}.{stage}: found {value!r}, expected a name")
    return dict(given or {})


def _reasoning(given: Any) -> dict[str, str]:
    levels = ("none", "low", "medium", "high")
    return {stage: _one_of(f"reasoning.{stage}", value, levels) for stage, value in _staged("reasoning", given).items()}


def _searches(given: Any) -> int:
    """How many entities are searched for: three, or as many as asked."""
    if isinstance(given, bool) or given is None:
        return 3 if given else 0
    _whole("web_search", given, 0, 100)
    return int(given)


def _supersedes(given: Any, kind: str) -> bool:
    """Whether a text closes older facts: as asked, for all or by its kind (SPEC A3)."""
    if not isinstance(given, Mapping):
        return bool(given)
    return bool(given.get(kind, True))


@dataclass(frozen=True, slots=True)
class Unit:
    """One artifact whose text becomes a graph.

    ``known`` are names that earlier chunks spoke of; ``artifact`` is there where the text is stored already,
    and only waits for its graph (SPEC K7).
    """

    at: int
    id: str
    role: str
    text: str = field(repr=False)
    label: str = ""
    chunk: Chunk | None = None
    summary_id: str | None = None
    parent_id: str = ""
    query: str | None = field(default=None, repr=False)
    series: str | None = field(default=None, repr=False)
    known: tuple[str, ...] = field(default=(), repr=False)
    artifact: Artifact | None = field(default=None, repr=False)
    provenance: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """A request and its units; ``id`` is the artifact of the whole text."""

    request: Request
    id: str
    created_at: dt.datetime
    chunks: tuple[Chunk, ...]
    units: tuple[Unit, ...]
    tokens: int

    @property
    def chunked(self) -> bool:
        """Whether the text is over the size of a chunk."""
        return bool(self.chunks)

    @property
    def reference(self) -> dt.datetime:
        """What relative dates in the text count from: as given, or the day on which it came.

        The day, not the moment: the same text sent twice on one day asks the same question once.
        """
        given = self.request.reference
        return given or self.created_at.replace(hour=0, minute=0, second=0, microsecond=0)


def planned(request: Request, *, id_: str | None = None, created_at: dt.datetime | None = None) -> Plan:
    """Cut the text, and give every unit its identity."""
    id_, created_at = id_ or new_id(), created_at or now()
    document = request.document or Document(request.text)
    chunks = request.cutter.chunks(document)
    tokens = request.cutter.count(request.text)
    title = document.title or request.artifact["metadata"].get("title")
    if request.titled and title:  # SPEC K3: what full text indexes, and the embedder reads
        chunks = tuple(replace(c, text=f"{title}\n\n{c.text}", source=c.source_text) for c in chunks)
    if not chunks:
        unit = Unit(0, id_, "document", request.text)
        return Plan(request, id_, created_at, (), (unit,), tokens)
    names = names_before([chunk.source_text for chunk in chunks])
    units = tuple(
        Unit(
            at=at,
            id=derived_id(id_, at + 1, "chunk"),
            role="chunk",
            text=chunk.source_text,
            label=f" (chunk {at + 1} of {len(chunks)})",
            chunk=chunk,
            summary_id=derived_id(id_, at + 1, "summary"),
            known=names[at],
        )
        for at, chunk in enumerate(chunks)
    )
    return Plan(request, id_, created_at, chunks, units, tokens)


def derived_id(parent: str, at: int, what: str) -> str:
    """The identity of a part: it follows from its parent's, and sorts after it, in order."""
    return f"{int(parent[:16], 16) + at:016x}{digest(parent, what, str(at))[:16]}"
