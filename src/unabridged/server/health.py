"""Whether it lives, and whether it takes requests: for load balancers and supervisors; no key is needed."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 -- FastAPI reads it at run time
from starlette.responses import Response

from unabridged.server.wire import dumps

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/health", summary="It lives")
@router.head("/health", include_in_schema=False)
@router.get("/healthz", include_in_schema=False)
@router.get("/livez", include_in_schema=False)
async def health() -> Response:
    """200 as long as the process answers."""
    return _json(200, {"status": "ok"})


@router.get("/ready", summary="It takes requests", responses={503: {"description": "Starting, full, or stopping."}})
@router.head("/ready", include_in_schema=False)
@router.get("/readyz", include_in_schema=False)
async def ready(request: Request) -> Response:
    """200 when requests are taken; 503 while it starts or stops, and when it is full."""
    server = request.app.state.server
    full = server.room.requests >= server.settings.concurrency
    taken = server.ready and not full
    word = "ready" if taken else "full" if full else "stopping" if server.room.closing else "starting"
    return _json(200 if taken else 503, {"status": word, "requests": server.room.requests})


def _json(status: int, body: object) -> Response:
    return Response(dumps(body), status, media_type="application/json")
