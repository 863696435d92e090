"""``/v1/gb/datasets``, ``/export``, ``/import``: datasets made, listed, copied and deleted whole (SPEC A28, R6)."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path as Folder
from typing import Annotated, BinaryIO, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from unabridged.errors import NotFound
from unabridged.memory import Memory, exchange
from unabridged.memory.catalog import DatasetInfo
from unabridged.server.given import Given
from unabridged.server.memory import archive, shapes
from unabridged.server.memory.access import Administrator, Dataset, Read, Reader, server_of
from unabridged.server.memory.bodies import spooled
from unabridged.server.memory.conditions import CONDITIONAL, hold
from unabridged.server.memory.replies import reply
from unabridged.server.problems import Problem
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter(tags=["datasets"])

Name = Annotated[str, Path(min_length=1, description="The dataset's name.")]


class NewDataset(Given):
    """A dataset to make."""

    name: str = Field(min_length=1, examples=["project-x"])


class Datasets(BaseModel):
    """The datasets of a place that the caller may touch, by name."""

    items: list[shapes.Dataset]  # type: ignore[valid-type]


@router.get("/datasets", responses=read(Datasets), operation_id="list_datasets")
def _list(request: Request, caller: Reader) -> Response:
    """The datasets that the caller may touch, by name."""
    found = Memory.datasets(server_of(request).place)
    return reply(request, {"items": [info for info in found if caller.reaches(info.name)]})


@router.post(
    "/datasets",
    status_code=201,
    responses={**told(shapes.Dataset, status=201), 200: {"model": shapes.Dataset, "description": "It was there."}},
    operation_id="create_dataset",
)
def _create(request: Request, caller: Administrator, given: NewDataset) -> Response:
    """Make a dataset: 201, or 200 where it is there already."""
    caller.require(given.name)
    known = _find(request, given.name)
    memory = server_of(request).memory(given.name, create=True)
    return reply(request, memory.info, status=201 if known is None else 200)


@router.get("/datasets/{name:path}", responses=read(shapes.Dataset), operation_id="get_dataset")
def _get(request: Request, caller: Reader, name: Name) -> Response:
    """One dataset."""
    caller.require(name)
    return reply(request, _there(request, name))


@router.delete(
    "/datasets/{name:path}",
    responses=told(shapes.Dataset),
    dependencies=CONDITIONAL,
    operation_id="delete_dataset",
)
def _delete(request: Request, caller: Administrator, name: Name) -> Response:
    """Delete a dataset whole, with its vectors and files; what it was."""
    caller.require(name)
    info = _there(request, name)
    hold(request, info)
    _drop(request, name)
    return reply(request, info)


def _drop(request: Request, name: str) -> None:
    server_of(request).forget(name)
    Memory.drop(server_of(request).place, name)


def _find(request: Request, name: str) -> DatasetInfo | None:
    return next((info for info in Memory.datasets(server_of(request).place) if info.name == name), None)


def _there(request: Request, name: str) -> DatasetInfo:
    info = _find(request, name)
    if info is None:
        raise NotFound("no dataset of that name is there: GET /v1/gb/datasets lists them")
    return info


def _holds(memory: Memory) -> bool:
    return bool(memory.artifacts.counts().documents or memory.entities.count())


# -- export and import ------------------------------------------------------------------------------


@router.get(
    "/export",
    response_class=Response,
    responses={
        **told(),
        200: {
            "content": {archive.MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "description": "A tar: manifest.json, a file a table, the images.",
        },
    },
    operation_id="export_dataset",
)
def _export(
    request: Request,
    memory: Read,
    format: Annotated[Literal["jsonl", "parquet"], Query(description="Of the rows.")] = "jsonl",  # noqa: A002
) -> Response:
    """The whole dataset as one file: every row, vector and image of one state, and the digests of all of them."""
    told_as = {"Content-Disposition": 'attachment; filename="unabridged-export.tar"'}
    if request.scope.get("unabridged.head"):  # asked by HEAD: nothing is built for an answer that has no body
        return StreamingResponse(iter(()), media_type=archive.MEDIA_TYPE, headers=told_as)
    folder = Folder(tempfile.mkdtemp(prefix="unabridged-export-"))
    try:
        memory.export(folder / "export", format=format)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return StreamingResponse(_sent(folder), media_type=archive.MEDIA_TYPE, headers=told_as)


def _sent(folder: Folder) -> Iterator[bytes]:
    try:
        yield from archive.packed(folder / "export")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@router.post(
    "/import",
    status_code=201,
    responses=told(shapes.Statistics, status=201),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {archive.MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    operation_id="import_dataset",
)
def _import(
    request: Request,
    caller: Administrator,
    body: Annotated[BinaryIO, Depends(spooled)],
    dataset: Dataset,
) -> Response:
    """Make a dataset of an export: it must not exist, or be empty. Every digest is checked first."""
    caller.require(dataset)
    server = server_of(request)
    new = _find(request, dataset) is None
    if not new and _holds(server.memory(dataset)):
        raise Problem(409, "the dataset to import into is not empty; choose another name", code="not_empty")
    with tempfile.TemporaryDirectory(prefix="unabridged-import-") as folder:
        archive.unpack(body, Folder(folder), server.settings.max_body_bytes)
        memory = server.memory(dataset, create=True)
        try:
            exchange.import_(memory, Folder(folder))
        except BaseException:
            if new:  # a failed import leaves no empty dataset behind
                _drop(request, dataset)
            raise
    return reply(request, memory.stats(), status=201)
