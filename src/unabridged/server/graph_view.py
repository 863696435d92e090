"""``/v1/gb/graph``: the graph laid out for drawing, and the vectors of a dataset in two dimensions."""

import hashlib
import threading
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from unabridged.memory import Memory
from unabridged.server.etags import is_known
from unabridged.server.graph_data import Drawings, cloud_of, graph_of
from unabridged.server.memory.access import Read
from unabridged.server.saying import read
from unabridged.server.strict import known_parameters
from unabridged.server.wire import dumps

__all__ = ["router"]

MOST_NODES = 20_000
_making = threading.Lock()

router = APIRouter(prefix="/v1/gb/graph", tags=["graph"], dependencies=[Depends(known_parameters)])

Limit = Annotated[int, Query(ge=1, le=MOST_NODES, description="Points drawn; what is left out is counted.")]


@router.get("", responses=read(), operation_id="graph")
def _graph(
    request: Request,
    memory: Read,
    limit: Limit = 5000,
    type: Annotated[list[str] | None, Query(description="Only entities of these types; repeat it.")] = None,  # noqa: A002 - the name in the query
    around: Annotated[str | None, Query(max_length=200, description="Only what is within two steps of it.")] = None,
) -> Response:
    """Entities with their places and facts with their times, as columns; the layout is made here, once a head.

    Places are in ten-thousandths of the unit disc, times in milliseconds since 1970; an edge's `source` and
    `target` are positions among the nodes.
    """
    types = tuple(sorted(type or ()))
    return _drawn(
        request,
        memory,
        ("graph", limit, types, around),
        lambda: graph_of(memory, limit=limit, types=types, around=around),
    )


@router.get("/vectors", responses=read(), operation_id="vector_cloud")
def _vectors(
    request: Request,
    memory: Read,
    table: Literal["artifacts", "entities", "edges"] = "artifacts",
    role: Literal["document", "chunk", "summary", "web_search", "observation"] | None = None,
    method: Annotated[Literal["pca", "random"], Query(description="Principal axes, or two random ones.")] = "pca",
    limit: Limit = 5000,
) -> Response:
    """The vectors of a table as points in a plane, evenly sampled over `limit`; `share` is the variance shown."""
    only = role if table == "artifacts" else None
    return _drawn(
        request,
        memory,
        ("cloud", table, only, method, limit),
        lambda: cloud_of(memory, table, limit=limit, method=method, role=only),
    )


def _drawn(request: Request, memory: Memory, what: tuple[Any, ...], make: Any) -> Response:
    """A drawing as JSON; its ETag is the head that it was read at, so that an unchanged one is not sent again."""
    seq = memory.source.ask(lambda view: view.head.seq)
    key = (memory.info.id, seq, *what)
    etag = f'"{hashlib.sha256(repr(key).encode()).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if is_known(request.headers, etag):
        return Response(status_code=304, headers=headers)
    body = _drawings(request).get(key, lambda: dumps(make()))
    return Response(body, media_type="application/json", headers=headers)


def _drawings(request: Request) -> Drawings:
    state = request.app.state
    with _making:
        if not hasattr(state, "drawings"):
            state.drawings = Drawings()
        kept: Drawings = state.drawings
        return kept
