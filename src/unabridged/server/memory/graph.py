"""``/v1/gb/entities``, ``/edges``, ``/links``, ``/sessions``: the graph, and where each part of it comes from."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from unabridged.errors import InputError
from unabridged.memory.records import Edge, LinkType
from unabridged.memory.values import moment, now
from unabridged.server.given import Given, example
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Read, Write, refuse_snapshots
from unabridged.server.memory.conditions import CONDITIONAL, hold, refuse, unchanged
from unabridged.server.memory.listing import Cursor, Limit, Metadata, Newest, Session, metadata_of, paged
from unabridged.server.memory.replies import reply
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter()

EntityId = Annotated[str, Path(description="The entity's id.")]
EdgeId = Annotated[str, Path(description="The edge's id.")]
SessionId = Annotated[str, Path(description="The session's id, as the caller gave it.")]
AsOf = Annotated[str | None, Query(description="What was true at this moment (ISO 8601).")]
KnownAt = Annotated[str | None, Query(description="What the memory knew at this moment (ISO 8601).")]
Ids = Annotated[list[str], Query(min_length=1, max_length=200, description="Ids; repeat it.")]


class Ending(Given):
    """That a fact has ended, when, and what says so: a text, or one that is stored already."""

    model_config = example(text="Alice Moser left Acme.", invalid_at="2025-03-01")

    invalid_at: str | None = Field(default=None, description="When it ended (ISO 8601); default: now.")
    text: str | None = Field(default=None, min_length=1, description="What says so; it is stored as an artifact.")
    artifact_id: str | None = Field(default=None, description="The artifact that says so.")


@router.get("/entities", responses=read(shapes.page_of(shapes.Entity)), tags=["graph"], operation_id="list_entities")
def _entities(
    *,
    request: Request,
    memory: Read,
    type: Annotated[str | None, Query(description="Only of this type.")] = None,  # noqa: A002
    name: Annotated[str | None, Query(description="Only of this name or alias, whatever its case.")] = None,
    session_id: Session = None,
    metadata: Metadata = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of entities, in the order in which they were first mentioned; with `name`, those of that name."""
    if name is not None:
        found = [each for each in memory.entities.named(name) if type is None or each.type == type]
        return reply(request, {"items": found, "cursor": None})
    where: dict[str, Any] = {"type": type, "session_id": session_id, "metadata": metadata_of(metadata)}
    page = memory.entities.list(**where, limit=limit, cursor=cursor, newest_first=newest_first)
    return reply(request, paged(page))


@router.get("/entities/{entity_id}", responses=read(shapes.Entity), tags=["graph"], operation_id="get_entity")
def _entity(request: Request, memory: Read, entity_id: EntityId) -> Response:
    """One entity."""
    return reply(request, memory.entities.get(entity_id))


@router.get(
    "/entities/{entity_id}/evidence",
    responses=read(shapes.several(shapes.Evidence)),
    tags=["graph"],
    operation_id="get_entity_evidence",
)
def _entity_evidence(request: Request, memory: Read, entity_id: EntityId) -> Response:
    """The artifacts that mention an entity, each with its document and the passage."""
    memory.entities.get(entity_id)
    return reply(request, memory.evidence(entity_id))


@router.delete(
    "/entities/{entity_id}",
    responses=told(shapes.Deleted),
    dependencies=CONDITIONAL,
    tags=["graph"],
    operation_id="delete_entity",
)
def _delete_entity(request: Request, memory: Write, entity_id: EntityId) -> Response:
    """Take an entity out of the graph, with the facts at it; what those had ended reopens, the texts stay.

    To forget what the texts say, delete the artifacts: entities that nobody mentions any more go with them.
    """
    memory.entities.get(entity_id)
    with unchanged(request, "entities", entity_id):
        done = memory.withdraw(entities=[entity_id])
    return reply(request, done)


@router.delete("/entities", responses=told(shapes.Deleted), tags=["graph"], operation_id="delete_entities")
def _delete_entities(request: Request, memory: Write, id: Ids) -> Response:  # noqa: A002
    """The same for several, in one commit, or for none where one of them is not there."""
    refuse(request)
    return reply(request, memory.withdraw(entities=id))


@router.get("/edges", responses=read(shapes.page_of(shapes.Edge)), tags=["graph"], operation_id="list_edges")
def _edges(
    *,
    request: Request,
    memory: Read,
    entity: Annotated[str | None, Query(description="At either end.")] = None,
    source: Annotated[str | None, Query(description="From this entity.")] = None,
    target: Annotated[str | None, Query(description="To this entity.")] = None,
    relation: Annotated[str | None, Query(description="Only of this relation.")] = None,
    artifact: Annotated[str | None, Query(description="Stated by this artifact.")] = None,
    session_id: Session = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    include_history: Annotated[bool, Query(description="Those that have ended as well.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of facts: by default those that have not ended."""
    where: dict[str, Any] = {"entity": entity, "source": source, "target": target, "relation": relation}
    where |= {"artifact": artifact, "session_id": session_id, "as_of": as_of, "known_at": known_at}
    page = memory.edges.list(
        **where, include_history=include_history, limit=limit, cursor=cursor, newest_first=newest_first
    )
    return reply(request, paged(page))


@router.get("/edges/{edge_id}", responses=read(shapes.Edge), tags=["graph"], operation_id="get_edge")
def _edge(request: Request, memory: Read, edge_id: EdgeId) -> Response:
    """One fact, whether it holds or not."""
    return reply(request, memory.edges.get(edge_id))


@router.patch(
    "/edges/{edge_id}",
    responses=told(shapes.Edge),
    dependencies=CONDITIONAL,
    tags=["graph"],
    operation_id="end_edge",
)
def _end(request: Request, memory: Write, edge_id: EdgeId, given: Ending) -> Response:
    """Say that a fact has ended: it is kept, with its end, and what says so is recorded.

    Deleting what says so opens the fact again. One that has ended before then keeps its end.
    """
    at = moment(given.invalid_at, "invalid_at")
    _refuse_end(given, at or now(), memory.edges.get(edge_id))
    if given.artifact_id is not None:
        memory.artifacts.get(given.artifact_id)
    with unchanged(request, "edges", edge_id), memory.write() as tx:
        said = given.artifact_id or tx.artifact(given.text or "", valid_at=at)
        tx.close(edge_id, said, at=at)
    return reply(request, memory.edges.get(edge_id))


def _refuse_end(given: Ending, at: dt.datetime, edge: Edge) -> None:
    """Refuse an end that nobody says, that two say, or that lies before the beginning."""
    both = given.text is not None and given.artifact_id is not None
    if both or (given.text is None and given.artifact_id is None):
        found = "both" if both else "neither"
        detail = f"found {found}, expected one of text and artifact_id: what says that the fact has ended"
        raise InputError(f"text, artifact_id: {detail}")
    if given.text is not None and not given.text.strip():
        raise InputError("text: blank, expected what says that the fact has ended")
    if edge.valid_at is not None and at < edge.valid_at:
        end = "not given, and now" if given.invalid_at is None else at.isoformat()
        began = f"the fact begins, {edge.valid_at.isoformat()} (valid_at)"
        raise InputError(f"invalid_at: {end} is before {began}")


@router.delete(
    "/edges/{edge_id}",
    responses=told(shapes.Deleted),
    dependencies=CONDITIONAL,
    tags=["graph"],
    operation_id="delete_edge",
)
def _delete_edge(request: Request, memory: Write, edge_id: EdgeId) -> Response:
    """Retract a fact as if it had never been read: what it had ended reopens; the texts and the entities stay.

    A fact that was true and is no longer has ended: PATCH it.
    """
    memory.edges.get(edge_id)
    with unchanged(request, "edges", edge_id):
        done = memory.withdraw(edges=[edge_id])
    return reply(request, done)


@router.delete("/edges", responses=told(shapes.Deleted), tags=["graph"], operation_id="delete_edges")
def _delete_edges(request: Request, memory: Write, id: Ids) -> Response:  # noqa: A002
    """Retract several facts in one commit, or none where one of them is not there."""
    refuse(request)
    return reply(request, memory.withdraw(edges=id))


@router.get(
    "/edges/{edge_id}/evidence",
    responses=read(shapes.several(shapes.Evidence)),
    tags=["graph"],
    operation_id="get_edge_evidence",
)
def _edge_evidence(request: Request, memory: Read, edge_id: EdgeId) -> Response:
    """The artifacts that state a fact, each with its document and the passage."""
    memory.edges.get(edge_id)
    return reply(request, memory.evidence(edge_id))


@router.get(
    "/edges/{edge_id}/contradictions",
    responses=read(shapes.several(shapes.Link)),
    tags=["graph"],
    operation_id="get_edge_contradictions",
)
def _contradictions(request: Request, memory: Read, edge_id: EdgeId) -> Response:
    """What ended a fact: the artifact, the contradicting fact, and from when on."""
    memory.edges.get(edge_id)
    return reply(request, memory.edges.contradictions(edge_id))


@router.get("/links", responses=read(shapes.page_of(shapes.Link)), tags=["graph"], operation_id="list_links")
def _links(
    request: Request,
    memory: Read,
    type: Annotated[LinkType | None, Query(description="Only of this type.")] = None,  # noqa: A002
    from_id: Annotated[str | None, Query(description="From this entity or edge.")] = None,
    to_id: Annotated[str | None, Query(description="To this artifact, session or image.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """A page of provenance: which artifact states what, which session yielded it, what ended it."""
    page = memory.links.page(type=type, from_id=from_id, to_id=to_id, limit=limit, cursor=cursor)
    return reply(request, paged(page))


@router.get(
    "/sessions", responses=read(shapes.page_of(shapes.Session)), tags=["sessions"], operation_id="list_sessions"
)
def _sessions(
    *,
    request: Request,
    memory: Read,
    metadata: Metadata = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of sessions, in the order in which they began."""
    page = memory.sessions.list(metadata=metadata_of(metadata), limit=limit, cursor=cursor, newest_first=newest_first)
    return reply(request, paged(page))


@router.get(
    "/sessions/{session_id:path}", responses=read(shapes.Session), tags=["sessions"], operation_id="get_session"
)
def _session(request: Request, memory: Read, session_id: SessionId) -> Response:
    """One session. Its artifacts, entities, edges and inferences are listed with `?session_id=`."""
    return reply(request, memory.sessions.get(session_id))


@router.delete(
    "/sessions/{session_id:path}",
    responses=told(shapes.Erased),
    dependencies=CONDITIONAL,
    tags=["sessions"],
    operation_id="delete_session",
)
def _delete_session(
    *,
    request: Request,
    memory: Write,
    session_id: SessionId,
    drop_snapshots: Annotated[bool, Query(description="Let go of snapshots, which hold it too.")] = False,
) -> Response:
    """Erase a session for good: its artifacts and all that only they support, files and queues, with the proof."""
    hold(request, memory.sessions.get(session_id))
    refuse_snapshots(memory, drop=drop_snapshots)
    return reply(request, memory.erase(session_id=session_id, drop_snapshots=drop_snapshots))
