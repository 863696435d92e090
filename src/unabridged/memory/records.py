"""The record types of a memory (SPEC A): what is stored, as frozen data.

Moments are UTC to the microsecond. Offsets are bytes of the UTF-8 text. Vectors are not part of a
record; ``embedder`` holds the fingerprint under which one was made, or ``None`` where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

__all__ = [
    "KINDS",
    "LINK_TYPES",
    "RESERVED",
    "Artifact",
    "Edge",
    "Entity",
    "Image",
    "Inference",
    "Link",
    "LinkType",
    "Model",
    "Pending",
    "Point",
    "QueryRecord",
    "RequestRecord",
    "Role",
    "Series",
    "Session",
    "Snapshot",
]

Role = Literal["document", "chunk", "summary", "web_search", "observation"]
LinkType = Literal[
    "entity_artifact", "edge_artifact", "entity_session", "edge_session", "contradiction", "entity_image"
]
LINK_TYPES: tuple[LinkType, ...] = (
    "entity_artifact",
    "edge_artifact",
    "entity_session",
    "edge_session",
    "contradiction",
    "entity_image",
)
KINDS = ("knowledge", "memory")  # SPEC A3; the first stands for an empty one
RESERVED: Mapping[str, Role] = {
    "web_search": "web_search",
    "series_observation": "observation",
    "chunk_summary": "summary",
}


def _data() -> Any:
    """A mapping that a frozen record may hold: kept out of its hash."""
    return field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A text as it was received, or one derived from it, and everything that is known of it.

    ``document_id`` is the root of its chain (``None`` for a root), ``parent_id`` the next one up.
    ``lexical`` is what full text and the embedder read where it differs from ``text`` (SPEC K3).
    """

    id: str
    role: Role
    kind: str
    text: str = field(repr=False)
    created_at: dt.datetime
    session_id: str | None = None
    valid_at: dt.datetime | None = None
    parent_id: str | None = None
    document_id: str | None = None
    chunk_index: int | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    tokens: int | None = None
    overlap_tokens: int | None = None
    page: int | None = None
    section: str | None = field(default=None, repr=False)
    block_id: str | None = None
    lexical: str | None = field(default=None, repr=False)
    query: str | None = field(default=None, repr=False)
    series_id: str | None = None
    inference_id: str | None = None
    source: str | None = None
    source_hash: str | None = None
    splitter: str | None = None
    embedder: str | None = None
    processed_at: dt.datetime | None = None
    expires_at: dt.datetime | None = None
    metadata: Mapping[str, Any] = _data()
    provenance: Mapping[str, Any] = _data()

    @property
    def is_chunk(self) -> bool:
        """Whether it is a piece of a longer text (SPEC A5)."""
        return self.chunk_index is not None

    @property
    def is_derived(self) -> bool:
        """Whether it was made from another one: a summary, a web search, an observation (SPEC A5)."""
        return self.role in {"summary", "web_search", "observation"}

    @property
    def search_text(self) -> str:
        """What full text and the embedder read."""
        return self.text if self.lexical is None else self.lexical


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing that artifacts mention: one for each normalised name and type (SPEC A7)."""

    id: str
    name: str
    type: str
    created_at: dt.datetime
    aliases: tuple[str, ...] = ()
    description: str | None = field(default=None, repr=False)
    embedder: str | None = None
    metadata: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A fact between two entities, in valid time and in system time.

    ``artifact_id`` is who stated it first (``None`` once that is deleted); ``stated_invalid_at`` the
    end that its own source gave; ``invalid_at`` the end in force, contradictions counted.
    """

    id: str
    source_id: str
    relation: str
    target_id: str
    fact: str = field(repr=False)
    created_at: dt.datetime
    artifact_id: str | None = None
    valid_at: dt.datetime | None = None
    invalid_at: dt.datetime | None = None
    expired_at: dt.datetime | None = None
    stated_invalid_at: dt.datetime | None = None
    key: str = ""
    embedder: str | None = None
    metadata: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One line of provenance.

    ``entity_artifact``, ``edge_artifact``: who states it, and the bytes ``start:end`` of that artifact
    where it does. ``entity_session``, ``edge_session``: the sessions that yielded it. ``entity_image``:
    an image shows it. ``contradiction``: the edge ``from_id`` was closed at ``at`` by what the artifact
    ``to_id`` states, in the edge ``via_id`` where there is one.
    """

    type: LinkType
    from_id: str
    to_id: str
    created_at: dt.datetime
    via_id: str | None = None
    start: int | None = None
    end: int | None = None
    at: dt.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A run of a user or an agent; its id is the caller's own."""

    id: str
    created_at: dt.datetime
    metadata: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A time series: its points stand in a table of their own, append-only."""

    id: str
    name: str
    created_at: dt.datetime
    unit: str | None = None
    artifact_id: str | None = None
    session_id: str | None = None
    metadata: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image: this row, and a file named by the SHA-256 of its bytes."""

    id: str
    sha256: str
    media_type: str
    size: int
    created_at: dt.datetime
    caption: str | None = field(default=None, repr=False)
    session_id: str | None = None
    artifact_id: str | None = None
    embedder: str | None = None
    metadata: Mapping[str, Any] = _data()
    provenance: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One point of a series."""

    series_id: str
    time: dt.datetime
    value: float
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as its API reports it (SPEC A18)."""

    id: str
    name: str
    created_at: dt.datetime
    provider: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """One call of a model: kept even when the request that made it failed (SPEC A18)."""

    id: str
    stage: str
    created_at: dt.datetime
    model_id: str | None = None
    reasoning: str = "none"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    status: str = "ok"
    artifact_id: str | None = None
    session_id: str | None = None
    request_id: str | None = None
    detail: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A chunk that waits for its graph (SPEC K7); its id is the artifact's."""

    id: str
    document_id: str
    created_at: dt.datetime
    status: str = "waiting"
    priority: int = 50
    attempts: int = 0
    cycles: int = 0
    not_before: dt.datetime | None = None
    updated_at: dt.datetime | None = None
    detail: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """A request with an idempotency key and how far it came (SPEC A13); its id is the key."""

    id: str
    state: str
    created_at: dt.datetime
    updated_at: dt.datetime | None = None
    artifact_id: str | None = None
    session_id: str | None = None
    detail: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRecord:
    """A question asked in a session (SPEC A11)."""

    id: str
    created_at: dt.datetime
    session_id: str | None = None
    text: str = field(default="", repr=False)
    detail: Mapping[str, Any] = _data()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A head that was given a name: its versions stay until the name is dropped."""

    id: str
    name: str
    seq: int
    created_at: dt.datetime
    versions: Mapping[str, Any] = _data()
    settings: Mapping[str, Any] = _data()
