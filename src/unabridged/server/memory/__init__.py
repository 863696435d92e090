"""The memory's HTTP API under ``/v1/gb`` (SPEC A23-A29, R5, R6): remember and recall, read, list and delete."""

from fastapi import APIRouter, Depends
from fastapi.security import HTTPBearer

from unabridged.server.memory import artifacts, datasets, graph, jobs, keeping, querying, remembering, shelves

__all__ = ["router"]

# For the document alone: the frame has looked at the key before a route is asked.
_key = HTTPBearer(scheme_name="key", description="A key of the server; none is needed on loopback.", auto_error=False)
router = APIRouter(prefix="/v1/gb", dependencies=[Depends(_key)])
for _part in (remembering, querying, artifacts, graph, shelves, keeping, datasets, jobs):
    router.include_router(_part.router)
