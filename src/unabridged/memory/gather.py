"""What a transaction gathers before it commits: records, their vectors, and who states what.

Nothing here touches the store. An entity's identity follows from its name and type, so it is known at
once; whether an edge is new or restates a stored one is settled at the commit (settle.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError
from unabridged.memory.records import KINDS, RESERVED, Artifact, Edge, Entity, Image, Session
from unabridged.memory.values import (
    checked_metadata,
    checked_name,
    checked_text,
    edge_key,
    entity_id,
    moment,
    new_id,
    now,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Mapping

    from unabridged.types import Chunk

__all__ = [
    "INHERITED",
    "Contradiction",
    "Gathered",
    "Quote",
    "Statement",
    "checked_kind",
    "identity",
    "place_of",
    "sliced",
    "stored_kind",
]

INHERITED = ("metadata", "provenance", "source", "expires_at")  # a filter on a document finds its chunks too

Quote = str | tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Statement:
    """An artifact states an edge or mentions an entity, in the bytes ``start:end`` where that is known."""

    subject: str
    artifact: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An edge is contradicted by what an artifact states: in the edge ``by``, or from ``at`` on."""

    edge: str
    artifact: str
    by: str | None = None
    at: dt.datetime | None = None


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "valid_at": moment,
    "expires_at": moment,
    "processed_at": moment,
    "session_id": checked_name,
    "source": checked_name,
    "metadata": checked_metadata,
    "provenance": checked_metadata,
}


def checked_kind(kind: str | None) -> str:
    """A kind that a caller may ask for (SPEC A3): trimmed, any case, empty is ``knowledge``.

    >>> checked_kind("  Memory ")
    'memory'
    """
    if kind is not None and not isinstance(kind, str):
        raise InputError(f"kind: found {type(kind).__name__}, expected one of {', '.join(KINDS)}")
    name = (kind or "").strip().casefold() or KINDS[0]
    if name in RESERVED:
        raise InputError(f"kind: {name} is made by the memory itself; ask for one of {', '.join(KINDS)}")
    if name not in KINDS:
        raise InputError(f"kind: not one of {', '.join(KINDS)}")
    return name


def stored_kind(kind: str | None) -> str | None:
    """A kind that stored texts have, in any case: what may be asked for, and what the memory makes itself.

    >>> stored_kind("Memory"), stored_kind("chunk_summary"), stored_kind(None)
    ('memory', 'chunk_summary', None)
    """
    known = [*KINDS, *RESERVED]
    name = kind.strip().casefold() if isinstance(kind, str) else kind
    if name is not None and name not in known:
        raise InputError(f"kind: found {kind!r}, expected one of {', '.join(known)}")
    return name


def place_of(quote: Quote, text: str | None) -> tuple[int | None, int | None]:
    """Where a quote stands in a text, in bytes: found, or checked.

    >>> place_of("é", "née")
    (1, 3)
    """
    if quote is None:
        return None, None
    if isinstance(quote, str):
        at = -1 if text is None else text.find(quote)
        if at < 0 or text is None or not quote:
            raise InputError("quote: not a passage of the artifact; give its bytes as (start, end)")
        begin = len(text[:at].encode("utf-8"))
        return begin, begin + len(quote.encode("utf-8"))
    start, end = quote
    if text is not None:
        sliced(text, start, end, "quote")
    return start, end


def sliced(text: str, start: int, end: int, what: str = "slice") -> str:
    """The bytes ``start:end`` of a text, which must not cut a character."""
    raw = text.encode("utf-8")
    if not 0 <= start <= end <= len(raw):
        raise InputError(f"{what}: bytes {start}:{end} are not within the text's 0:{len(raw)}")
    try:
        return raw[start:end].decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{what}: bytes {start}:{end} cut a character of the UTF-8 text") from None


def identity(record: Any) -> str:
    """The id of a record, or the id itself."""
    return record if isinstance(record, str) else str(record.id)


@dataclass
class Gathered:
    """The records of one transaction, and everything that is said between them."""

    max_text_bytes: int
    fingerprint: str | None = None
    created_at: dt.datetime = field(default_factory=now)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    edges: dict[str, Edge] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    vectors: dict[str, Any] = field(default_factory=dict)
    late: dict[str, Any] = field(default_factory=dict)
    mentions: dict[tuple[str, str], Statement] = field(default_factory=dict)
    statements: dict[tuple[str, str], Statement] = field(default_factory=dict)
    shown: dict[tuple[str, str], None] = field(default_factory=dict)
    contradictions: list[Contradiction] = field(default_factory=list)
    updates: dict[str, dict[str, Any]] = field(default_factory=dict)
    deletions: list[str] = field(default_factory=list)

    def keep_vector(self, record: str, vector: Any) -> None:
        """Remember a vector that came with a record."""
        if vector is not None:
            self.vectors[record] = vector

    def text_of(self, artifact: Any) -> str | None:
        """The text of an artifact, where this transaction knows it."""
        if isinstance(artifact, Artifact):
            return artifact.text
        known = self.artifacts.get(artifact)
        return known.text if known else None

    # -- artifacts --------------------------------------------------------------------------------

    def document(self, text: str, *, kind: str | None = None, vector: Any = None, **given: Any) -> Artifact:
        """A text as it was received."""
        checked_text(text, self.max_text_bytes)
        key = given.pop("id", None) or new_id()
        values = self._checked(given)
        record = Artifact(
            id=key,
            role="document",
            kind=checked_kind(kind),
            text=text,
            created_at=self.created_at,
            embedder=None if vector is None else self.fingerprint,
            **values,
        )
        return self._artifact(record, vector)

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {"metadata": {}, "provenance": {}}
        for name, value in given.items():
            if value is not None:
                check = _CHECKS.get(name)
                values[name] = value if check is None else check(value, name)
            elif name not in values:
                values[name] = None
        return values

    def _artifact(self, record: Artifact, vector: Any) -> Artifact:
        self.artifacts[record.id] = record
        self.keep_vector(record.id, vector)
        if record.session_id is not None:
            self.session(record.session_id)
        return record

    def chunk(self, parent: Artifact, chunk: Chunk, vector: Any = None, **given: Any) -> Artifact:
        """A piece of a document: the slice of its parent's bytes, exactly (SPEC A4, C6)."""
        if sliced(parent.text, chunk.start_byte, chunk.end_byte, "chunk") != chunk.source_text:
            raise InputError(f"chunk {chunk.index}: its text is not its parent's bytes at its offsets")
        record = replace(
            self._child(parent, "chunk", parent.kind, chunk.source_text, given),
            chunk_index=chunk.index,
            start_offset=chunk.start_byte,
            end_offset=chunk.end_byte,
            tokens=chunk.tokens,
            overlap_tokens=chunk.overlap_tokens,
            page=chunk.page,
            section=chunk.section,
            block_id=chunk.block_id,
            lexical=None if chunk.text == chunk.source_text else chunk.text,
        )
        return self._artifact(record, vector)

    def derived(self, parent: Artifact, kind: str, text: str, vector: Any = None, **given: Any) -> Artifact:
        """A summary, a web search or an observation: a child of what it was made from (SPEC A17-A20)."""
        checked_text(text, self.max_text_bytes)
        return self._artifact(self._child(parent, RESERVED[kind], kind, text, given), vector)

    def _child(self, parent: Artifact, role: Any, kind: str, text: str, given: Mapping[str, Any]) -> Artifact:
        more = {name: getattr(parent, name) for name in INHERITED} | dict(given)
        return Artifact(
            id=more.pop("id", None) or new_id(),
            role=role,
            kind=kind,
            text=text,
            session_id=parent.session_id,
            valid_at=parent.valid_at,
            created_at=parent.created_at if role in {"chunk", "summary"} else self.created_at,
            parent_id=parent.id,
            document_id=parent.document_id or parent.id,
            **self._checked(more),
        )

    # -- the graph --------------------------------------------------------------------------------

    def entity(self, name: str, type_: str, artifact: Any, **given: Any) -> Entity:
        """A thing that an artifact mentions; once for each normalised name and type (SPEC A7)."""
        checked_name(name, "entity name")
        checked_name(type_, "entity type")
        quote, vector = given.pop("quote", None), given.pop("vector", None)
        place_of(quote, self.text_of(artifact))  # a caller may catch this and go on: nothing is kept yet
        aliases = tuple(checked_name(alias, "alias") for alias in given.pop("aliases", ()))
        given["metadata"] = checked_metadata(given.get("metadata"))
        key = entity_id(name, type_)
        known = self.entities.get(key)
        if known is None:
            known = Entity(id=key, name=name, type=type_, created_at=self.created_at, aliases=aliases, **given)
        else:
            known = replace(known, aliases=tuple(dict.fromkeys((*known.aliases, *aliases))))
        self.entities[key] = known
        self.keep_vector(key, vector)
        self.mention(key, artifact, quote)
        return known

    def mention(self, entity: Any, artifact: Any, quote: Quote = None) -> None:
        """An artifact mentions an entity."""
        self._say(self.mentions, entity, artifact, quote)

    def state(self, edge: Any, artifact: Any, quote: Quote = None) -> None:
        """An artifact states an edge."""
        self._say(self.statements, edge, artifact, quote)

    def _say(self, where: dict[tuple[str, str], Statement], what: Any, artifact: Any, quote: Quote) -> None:
        subject, source = identity(what), identity(artifact)
        begin, end = place_of(quote, self.text_of(artifact))
        known = where.get((subject, source))
        if known is None or known.start is None:
            where[subject, source] = Statement(subject, source, begin, end)

    def edge(self, source: Any, relation: str, target: Any, artifact: Any, **given: Any) -> Edge:
        """A fact between two entities that an artifact states."""
        checked_name(relation, "relation")
        quote, vector = given.pop("quote", None), given.pop("vector", None)
        place_of(quote, self.text_of(artifact))  # a caller may catch this and go on: nothing is kept yet
        fact = given.pop("fact", None) or self._sentence(source, relation, target)
        checked_text(fact, self.max_text_bytes, "fact")
        given["metadata"] = checked_metadata(given.get("metadata"))
        begin = moment(given.pop("valid_at", None), "valid_at")
        end = moment(given.pop("invalid_at", None), "invalid_at")
        if begin is None and (told := self._time_of(artifact)) is not None and (end is None or told <= end):
            begin = told  # a fact that had ended before it was told began nobody knows when
        if begin is not None and end is not None and end < begin:
            raise InputError("invalid_at: lies before valid_at; a fact cannot end before it begins")
        record = Edge(
            id=new_id(),
            source_id=identity(source),
            relation=relation,
            target_id=identity(target),
            fact=fact,
            key=edge_key(identity(source), relation, identity(target), fact),
            artifact_id=identity(artifact),
            created_at=self.created_at,
            valid_at=begin,
            invalid_at=end,
            stated_invalid_at=end,
            **given,
        )
        self.edges[record.id] = record
        self.keep_vector(record.id, vector)
        self.state(record, artifact, quote)
        for entity in (source, target):  # who states a fact mentions both its ends (promise 11)
            self.mention(entity, artifact)
        return record

    def _sentence(self, source: Any, relation: str, target: Any) -> str:
        return " ".join((self._name(source), relation, self._name(target)))

    def _name(self, entity: Any) -> str:
        known = entity if isinstance(entity, Entity) else self.entities.get(entity)
        if known is None:
            raise InputError("fact: is needed where an end of the edge is given by its id alone")
        return known.name

    def _time_of(self, artifact: Any) -> dt.datetime | None:
        known = artifact if isinstance(artifact, Artifact) else self.artifacts.get(artifact)
        return known.valid_at if known else None

    # -- the rest ---------------------------------------------------------------------------------

    def session(self, session_id: str, metadata: Mapping[str, Any] | None = None) -> Session:
        """A session, made when it is first named."""
        checked_name(session_id, "session_id")
        if session_id not in self.sessions or metadata:
            values = checked_metadata(metadata)
            self.sessions[session_id] = Session(id=session_id, created_at=self.created_at, metadata=values)
        return self.sessions[session_id]

    def update(self, artifact: Any, changes: Mapping[str, Any]) -> None:
        """Change what may change of an artifact: never its text."""
        allowed = {"metadata", "provenance", "processed_at", "expires_at", "source", "source_hash", "splitter"}
        if wrong := set(changes) - allowed:
            raise InputError(f"update: cannot change {', '.join(sorted(wrong))}; {', '.join(sorted(allowed))} can be")
        values = self._checked(changes)
        self.updates.setdefault(identity(artifact), {}).update({name: values[name] for name in changes})

    def delete(self, artifacts: Iterable[Any]) -> None:
        """Artifacts that go in the same commit (a document replaced by its new version)."""
        self.deletions.extend(map(identity, artifacts))
