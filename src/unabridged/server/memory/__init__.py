"""The memory's HTTP API under ``/v1/gb`` (SPEC A23-A29, R5, R6): remember and recall, read, list and delete."""

from fastapi import APIRouter, Depends

from unabridged.server.memory import artifacts, datasets, graph, jobs, keeping, querying, remembering, shelves
from unabridged.server.strict import known_parameters

__all__ = ["router"]

router = APIRouter(prefix="/v1/gb", dependencies=[Depends(known_parameters)])
for _part in (remembering, querying, artifacts, graph, shelves, keeping, datasets, jobs):
    router.include_router(_part.router)
