"""``/v1/gb/stats``, ``/verify``, ``/erase``, ``/embed``, ``/inferences``: keeping a dataset."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from unabridged.memory import Memory
from unabridged.memory.paging import optional
from unabridged.memory.plain import plain
from unabridged.memory.where import both, equals
from unabridged.server.given import Given, example
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Read, Write, refuse_snapshots
from unabridged.server.memory.conditions import CONDITIONAL, hold
from unabridged.server.memory.listing import Cursor, Limit, Newest, Session, paged
from unabridged.server.memory.replies import reply
from unabridged.server.problems import Problem
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter(tags=["keeping"])


class ErasureRequest(Given):
    """What to erase: all that meets every filter given, and the artifacts named."""

    model_config = example(metadata={"user": "alice"})

    session_id: str | None = None
    source: str | None = None
    metadata: dict[str, Any] | None = Field(default=None, description='Such as {"user": "alice"}.')
    artifacts: list[str] = Field(default_factory=list)
    drop_snapshots: bool = Field(default=False, description="Let go of snapshots, which hold it too.")


class Cost(BaseModel):
    """What calls cost together."""

    tokens_in: float
    tokens_out: float
    cost: float


class Models(BaseModel):
    """The models that answered."""

    items: list[shapes.Model]  # type: ignore[valid-type]


class Embedded(BaseModel):
    """How many records got a vector."""

    embedded: int


@router.get("/stats", responses=read(shapes.Statistics), operation_id="get_stats")
def _stats(request: Request, memory: Read) -> Response:
    """Rows, sizes, versions, and for each logical index the vectors expected and present."""
    return reply(request, memory.stats())


@router.post("/verify", responses=told(shapes.Report), operation_id="verify")
def _verify(request: Request, memory: Read) -> Response:
    """Check every promise on the live dataset; `ok` says whether all hold."""
    return _verified(request, memory)


@router.get("/verify", responses=read(shapes.Report), operation_id="get_verification")
def _verify_get(request: Request, memory: Read) -> Response:
    """The same, for programs that only GET."""
    return _verified(request, memory)


def _verified(request: Request, memory: Memory) -> Response:
    report = memory.verify()
    return reply(request, {**plain(report), "ok": report.ok})


@router.post("/erase", responses=told(shapes.Erased), operation_id="erase")
def _erase(request: Request, memory: Write, given: ErasureRequest) -> Response:
    """Erase a session, a source, a user (by metadata) or artifacts from every row, file and queue, and prove it."""
    refuse_snapshots(memory, drop=given.drop_snapshots)
    return reply(request, memory.erase(**given.model_dump()))


@router.post("/embed", responses=told(Embedded), operation_id="embed_missing")
def _embed(
    request: Request,
    memory: Write,
    limit: Annotated[int | None, Query(ge=1, description="At most so many.")] = None,
) -> Response:
    """Give a vector to everything that was stored without an embedder; how many got one."""
    if memory.embedder is None:
        raise Problem(409, "no embedder is configured, so there are no vectors to give", code="no_embedder")
    return reply(request, {"embedded": memory.embed_missing(limit=limit)})


@router.get("/inferences", responses=read(shapes.page_of(shapes.Inference)), operation_id="list_inferences")
def _inferences(
    *,
    request: Request,
    memory: Read,
    stage: Annotated[str | None, Query(description="Only of this stage, such as summarize_chunk.")] = None,
    status: Annotated[str | None, Query(description="ok, or how it failed.")] = None,
    model_id: Annotated[str | None, Query(description="Only of this model.")] = None,
    artifact: Annotated[str | None, Query(description="Only for this artifact.")] = None,
    session_id: Session = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of model calls: stage, model, tokens, cost, seconds; kept even where the request failed."""
    where: dict[str, Any] = {"stage": stage, "status": status, "model_id": model_id}
    where |= {"artifact_id": artifact, "session_id": session_id}
    page = memory.inferences.page(both(*optional(**where)), limit=limit, cursor=cursor, newest_first=newest_first)
    return reply(request, paged(page))


@router.get("/inferences/cost", responses=read(Cost), operation_id="get_inference_cost")
def _cost(request: Request, memory: Read, session_id: Session = None) -> Response:
    """What all calls cost together, or those of a session."""
    return reply(request, memory.inferences.cost(both(*optional(session_id=session_id))))


@router.get("/inferences/{inference_id}", responses=read(shapes.Inference), operation_id="get_inference")
def _inference(request: Request, memory: Read, inference_id: Annotated[str, Path()]) -> Response:
    """One call of a model."""
    return reply(request, memory.inferences.get(inference_id))


@router.delete(
    "/inferences/{inference_id}",
    responses=told(shapes.Removed),
    dependencies=CONDITIONAL,
    operation_id="delete_inference",
)
def _delete_inference(request: Request, memory: Write, inference_id: Annotated[str, Path()]) -> Response:
    """Forget one call; summaries that it wrote keep its id, which then names nothing."""
    record = memory.inferences.get(inference_id)
    hold(request, record)
    memory.inferences.delete(equals("id", record.id))
    return reply(request, {"deleted": [record.id]})


@router.get("/pending", responses=read(shapes.page_of(shapes.Pending)), operation_id="list_pending")
def _pending(
    *,
    request: Request,
    memory: Read,
    status: Annotated[str | None, Query(description="waiting, failed or held.")] = None,
    document: Annotated[str | None, Query(description="Only of this document.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of what waits for its graph: texts that were remembered with `defer`, and those that failed."""
    where = both(*optional(status=status, document_id=document))
    page = memory.pending.page(where, limit=limit, cursor=cursor, newest_first=newest_first)
    return reply(request, paged(page))


@router.delete(
    "/pending/{artifact_id}",
    responses=told(shapes.Removed),
    operation_id="delete_pending",
)
def _delete_pending(request: Request, memory: Write, artifact_id: Annotated[str, Path()]) -> Response:
    """Take a text out of the queue; it stays, and is found again while it has no graph."""
    record = memory.pending.get(artifact_id)
    memory.pending.delete(equals("id", record.id))
    return reply(request, {"deleted": [record.id]})


@router.get("/models", responses=read(Models), operation_id="list_models")
def _models(request: Request, memory: Read) -> Response:
    """The models that answered, as their APIs report them."""
    return reply(request, {"items": memory.models.list(order="created_at")})
