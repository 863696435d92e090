"""``/v1/gb/jobs``: the batch jobs of this machine: what they did, how far they are; deleted once they are over.

They belong to whoever runs the server, not to a dataset, so all of it asks for the right ``admin``.
"""

import re
import shutil
from pathlib import Path as Folder
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from unabridged.errors import ConfigError, NotFound
from unabridged.jobs.settings import default_jobs_folder
from unabridged.jobs.state import JobInfo, Lock, list_jobs, read_job
from unabridged.memory.plain import plain
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Administrator, server_of
from unabridged.server.memory.conditions import CONDITIONAL, hold
from unabridged.server.memory.replies import reply
from unabridged.server.problems import Problem
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter(tags=["jobs"])

JobId = Annotated[str, Path(description="The job's id.")]
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}")  # the name of a folder, and of no other one
_LEFT_OUT = ("folder", "origin")  # paths of the server's own


class Jobs(BaseModel):
    """Jobs, the one that ran last first; `cursor` is the id of the last one, null at the end."""

    items: list[shapes.Job]  # type: ignore[valid-type]
    cursor: str | None = Field(description="For the next page.")


@router.get("/jobs", responses=read(Jobs), operation_id="list_jobs")
def _list(
    request: Request,
    _: Administrator,
    limit: Annotated[int, Query(ge=1, le=1000, description="Jobs on the page.")] = 50,
    cursor: Annotated[str | None, Query(description="From the page before.")] = None,
) -> Response:
    """A page of jobs, the one that ran last first."""
    found = list_jobs(_folder(request))
    ids = [job.id for job in found]
    if cursor is not None and cursor not in ids:
        raise Problem(400, "cursor: not one that a listing gave", code="invalid_input", param="cursor")
    start = 0 if cursor is None else ids.index(cursor) + 1
    page = found[start : start + limit]
    more = start + limit < len(found)
    return reply(request, {"items": [_sent(job) for job in page], "cursor": page[-1].id if more else None})


@router.get("/jobs/{job_id}", responses=read(shapes.Job), operation_id="get_job")
def _get(request: Request, _: Administrator, job_id: JobId) -> Response:
    """One job, as its journal has it; it may be running."""
    return reply(request, _sent(_found(request, job_id)))


@router.delete(
    "/jobs/{job_id}",
    responses=told(shapes.Removed),
    dependencies=CONDITIONAL,
    operation_id="delete_job",
)
def _delete(request: Request, _: Administrator, job_id: JobId) -> Response:
    """Forget a job that is over: its journal goes, what it wrote stays. One that runs is not touched (409)."""
    job = _found(request, job_id)
    hold(request, _sent(job))
    lock = Lock(Folder(job.folder))  # JobError, a 409, while it runs
    try:
        shutil.rmtree(job.folder)
    finally:
        lock.release()
    return reply(request, {"deleted": [job.id]})


def _folder(request: Request) -> Folder:
    """Where jobs are kept: as the configuration says, or the user's own folder."""
    section = server_of(request).config.settings.job
    return Folder(section.folder).expanduser() if section is not None and section.folder else default_jobs_folder()


def _found(request: Request, job_id: str) -> JobInfo:
    missing = "no job of that id is here: GET /v1/gb/jobs lists them"
    if not _ID.fullmatch(job_id):
        raise NotFound(missing)
    try:
        return read_job(_folder(request), job_id)
    except ConfigError:
        raise NotFound(missing) from None


def _sent(job: JobInfo) -> dict[str, Any]:
    return {name: value for name, value in plain(job).items() if name not in _LEFT_OUT}
