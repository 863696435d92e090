"""The memory's HTTP API under ``/v1/gb`` (SPEC A23-A29, R5, R6): remember and recall, read, list and delete."""

from fastapi import APIRouter

from unabridged.server.memory import artifacts, datasets, graph, jobs, keeping, querying, remembering, shelves

__all__ = ["router"]

router = APIRouter(prefix="/v1/gb")
for _part in (remembering, querying, artifacts, graph, shelves, keeping, datasets, jobs):
    router.include_router(_part.router)
