"""What a recall gives back: hits with their evidence, the pack, and what could not be asked (SPEC R1-R4)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from unabridged.advice import joined
from unabridged.memory.recall.excerpt import ROOM, Excerpt, excerpt
from unabridged.memory.recall.words import words_in

if TYPE_CHECKING:
    from unabridged.memory.records import Artifact, Edge, Entity

__all__ = ["HIT_KINDS", "LANES", "Citation", "Degraded", "Hit", "HitKind", "LaneRank", "Pack", "Recalled", "plain"]

HitKind = Literal["passage", "summary", "document", "fact", "entity"]
HIT_KINDS: tuple[HitKind, ...] = ("passage", "summary", "document", "fact", "entity")
LANES = ("vector", "text", "names", "graph")


@dataclass(frozen=True, slots=True)
class Citation:
    """One place that grounds a hit: the bytes ``start:end`` of an artifact, and of its document.

    ``quote`` is exactly those bytes as text (``None`` where a source is known, its passage not).
    ``speaker`` and ``role`` come from the artifact's provenance, ``facts`` are the ids of what it states.
    """

    artifact_id: str
    document_id: str
    artifact_role: str
    kind: str
    start: int | None = None
    end: int | None = None
    document_start: int | None = None
    document_end: int | None = None
    quote: str | None = field(default=None, repr=False)
    source: str | None = None
    session_id: str | None = None
    speaker: str | None = None
    role: str | None = None
    valid_at: dt.datetime | None = None
    created_at: dt.datetime | None = None
    expires_at: dt.datetime | None = None
    page: int | None = None
    section: str | None = field(default=None, repr=False)
    facts: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class LaneRank:
    """Where one lane put a hit: its rank there (1 is best), the lane's own score, what it added to the fusion."""

    lane: str
    rank: int
    score: float
    share: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was recalled.

    Hits come in the order of ``fused`` times ``score``, whole documents a little behind. ``fused`` is 1 for what
    all lanes put first. ``score`` is the calibrated relevance, from 0 (as far as what has nothing to do with the
    query) to 1 (says it), and what the threshold is held against.
    """

    kind: HitKind
    id: str
    text: str = field(repr=False)
    score: float
    fused: float
    evidence: tuple[Citation, ...] = ()
    lanes: tuple[LaneRank, ...] = ()
    record: Artifact | Edge | Entity | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Degraded:
    """A lane that did not run, or not fully, and why; ``advice`` is a key of :data:`unabridged.advice.PYTHON`.

    >>> str(Degraded("vector", "the dataset holds no vectors", "embed_missing"))
    'vector: the dataset holds no vectors; Memory.embed_missing() makes them'
    """

    lane: str
    reason: str
    advice: str | None = None

    def __str__(self) -> str:
        """All of it, in Python's words."""
        return f"{self.lane}: {joined(self.reason, self.advice)}"


@dataclass(frozen=True, slots=True)
class Pack:
    """What fits a token budget, ready for a prompt: ``[n]`` in the text is ``citations[n - 1]``."""

    text: str = field(default="", repr=False)
    citations: tuple[Citation, ...] = ()
    tokens: int = 0
    left_out: int = 0

    def __str__(self) -> str:
        """The text."""
        return self.text


@dataclass(frozen=True, slots=True)
class Recalled(Sequence[Hit]):
    """The hits of one query, best first, and the pack made of them.

    ``below`` is how many candidates stayed under ``threshold``; ``timings`` are milliseconds.
    """

    query: str = field(repr=False)
    hits: tuple[Hit, ...] = ()
    pack: Pack = Pack()
    degraded: tuple[Degraded, ...] = ()
    threshold: float = 0.0
    below: int = 0
    timings: Mapping[str, float] = field(default_factory=dict, hash=False, repr=False)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        """A hit, or some."""
        return self.hits[at]

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    def excerpt(self, hit: Hit, room: int = ROOM) -> Excerpt:
        """The place of a hit that says most of the query, and its bytes: what to show where the whole is too long.

        ``room`` is how many characters it has at the most. It is looked for when it is asked for.

        >>> hit = Hit("passage", "a1", "The boiler is old and rusty. Mia services the boiler.", 0.9, 1.0)
        >>> str(Recalled("Who services the boiler?", (hit,)).excerpt(hit, room=30))
        '… Mia services the boiler.'
        """
        return excerpt(hit, words_in(self.query), room)

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold, records apart; each hit with its excerpt."""
        found: dict[str, Any] = plain(self)
        words = words_in(self.query)
        for told, hit in zip(found["hits"], self.hits, strict=True):
            told["excerpt"] = plain(excerpt(hit, words))
        return found


def plain(value: Any) -> Any:
    """Data as what JSON can hold: moments in ISO 8601, a hit without its record."""
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name != "record"}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value
