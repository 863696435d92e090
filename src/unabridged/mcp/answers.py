"""What the tools answer with, as structured content: small models that a program can read and an agent can act on."""

import datetime as dt
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnswerResult",
    "Chunk",
    "Dated",
    "Embedded",
    "Fact",
    "Forgotten",
    "Graph",
    "Hit",
    "Listing",
    "Named",
    "Preview",
    "Recollection",
    "RememberResult",
    "Sentence",
    "Shown",
    "Source",
    "Timeline",
]


class Answer(BaseModel):
    """A model whose fields may be given by name."""

    model_config = ConfigDict(populate_by_name=True)


class Named(Answer):
    """An entity."""

    id: str
    name: str
    type: str
    description: str | None = None


class Fact(Answer):
    """A fact between two entities, and when it holds: `invalid_at` null means that it still does."""

    id: str
    source: str = Field(description="Name of the entity it is about.")
    relation: str
    target: str = Field(description="Name of the entity at its other end.")
    fact: str
    valid_at: dt.datetime | None = None
    invalid_at: dt.datetime | None = None


class Source(Answer):
    """A place that grounds something: the bytes `start` to `end` of an artifact, and how they begin."""

    artifact_id: str
    document_id: str | None = None
    start: int | None = None
    end: int | None = None
    quote: str | None = None
    source: str | None = None
    session_id: str | None = None
    valid_at: dt.datetime | None = None
    created_at: dt.datetime | None = None


class Dated(Fact):
    """A fact of a timeline, and what it rests on."""

    sources: list[Source] = Field(description="The first of them; `show` has all.")


class RememberResult(Answer):
    """What was stored."""

    artifact_id: str = Field(description="Keep it to show or forget the text later.")
    kind: str
    created_at: dt.datetime
    chunks: int = Field(description="Pieces that a long text was cut into; 0: it was kept whole.")
    entities: list[Named]
    facts: list[Fact]
    ended_facts: list[Fact] = Field(description="Older facts that this text contradicts, now closed.")
    notes: list[str] = Field(description="What was not done, and why.")


class Hit(Answer):
    """One thing that was recalled."""

    kind: str = Field(description="passage, summary, document, fact or entity.")
    id: str
    text: str = Field(description="What of it says most of the query; `context` or `show` has the whole.")
    start: int | None = Field(default=None, description="Of a text: the first byte of that, as `show` takes it.")
    end: int | None = Field(default=None, description="The byte after its last one.")
    score: float = Field(description="0 (nothing to do with the query) to 1 (says it).")
    sources: list[Source] = Field(description="The first of them; `show` has all.")


class Recollection(Answer):
    """What the memory holds on a query, best first. `context` is ready for a prompt: [n] is `citations[n-1]`."""

    context: str
    citations: list[Source]
    hits: list[Hit]
    notes: list[str] = Field(description="What could not be searched, and why.")


class Sentence(Answer):
    """One sentence of an answer, and what it rests on."""

    text: str
    sources: list[Source]


class AnswerResult(Answer):
    """An answer out of the memory."""

    answer: str = Field(description="The answer; where `known` is null, passages to answer from yourself.")
    known: bool | None = Field(
        description="false: the memory does not hold it. null: no model has answered, `notes` say why."
    )
    sentences: list[Sentence]
    notes: list[str]


class Listing(Answer):
    """A page; give `cursor` back for the next one, null means that this was the last."""

    items: list[dict[str, Any]]
    cursor: str | None = None


class Shown(Answer):
    """One record: its fields, its text, what it rests on, and what rests on it."""

    kind: str = Field(description="artifact, entity, fact, session, series, image or inference.")
    record: dict[str, Any]
    text: str | None = Field(default=None, description="Of an artifact: whole, the bytes asked for, or its beginning.")
    size: int | None = Field(default=None, description="Bytes of an artifact's whole text.")
    next_start: int | None = Field(default=None, description="There is more: give this as start for the next part.")
    sources: list[Source] = []
    entities: list[Named] = []
    facts: list[Fact] = []


class Forgotten(Answer):
    """What is gone, and the facts that are open again because what ended them is."""

    artifacts: list[str]
    entities: list[str]
    facts: list[str]
    reopened_facts: list[str]
    erased: bool = Field(description="Whether the bytes are gone from every file too, and that was proven.")


class Graph(Answer):
    """Entities and the facts between them."""

    entities: list[Named]
    facts: list[Fact]
    more: bool = Field(description="Whether the limit left something out; ask for less depth, or for fewer entities.")


class Timeline(Answer):
    """What was said of an entity, in the order in which it became true."""

    entity: Named
    facts: list[Dated]


class Embedded(Answer):
    """Vectors, one a text, in order; texts over the model's limit were cut, and their vectors averaged."""

    model: str
    dimensions: int
    vectors: list[list[float]]
    chunks: list[int] = Field(description="Into how many chunks each text was cut.")


class Chunk(Answer):
    """A piece of a text: its characters `start` to `end`."""

    index: int
    start: int
    end: int
    tokens: int
    overlap_tokens: int
    section: str | None = None
    text: str


class Preview(Answer):
    """How a text would be cut: the figures of all chunks, and the first of them."""

    method: str
    chunks: int
    tokens: int
    min_tokens: int
    mean_tokens: float
    max_tokens: int
    shown: list[Chunk]
    notes: list[str]
