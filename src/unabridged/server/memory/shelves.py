"""``/v1/gb/series`` and ``/v1/gb/images``: what a memory keeps beside texts."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from unabridged.memory.images import MAX_IMAGE_BYTES
from unabridged.server.given import Given, example
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Read, Write
from unabridged.server.memory.bodies import body_of
from unabridged.server.memory.conditions import CONDITIONAL, unchanged
from unabridged.server.memory.listing import Cursor, Limit, Metadata, Newest, Session, metadata_of, paged
from unabridged.server.memory.replies import bytes_reply, reply
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter()

SeriesId = Annotated[str, Path(description="The series' id.")]
ImageId = Annotated[str, Path(description="The image's id.")]
Since = Annotated[str | None, Query(description="From this moment on (ISO 8601).")]
Until = Annotated[str | None, Query(description="Before this moment (ISO 8601).")]


class Points(Given):
    """Points of a series: (time, value) pairs."""

    points: list[tuple[str, float]] = Field(
        description="Time in ISO 8601 and value.", examples=[[["2024-05-01T12:00:00Z", 3.5]]]
    )


class Appended(BaseModel):
    """How many points were added."""

    appended: int


class NewSeries(Given):
    """A series to make; the one of that name, if there is one."""

    model_config = example(name="boiler pressure", unit="bar")

    name: str
    unit: str | None = None
    artifact_id: str | None = Field(default=None, description="The text it belongs to.")
    session_id: str | None = None
    metadata: dict[str, Any] | None = None


class Window(BaseModel):
    """The statistics of one window."""

    start: dt.datetime
    stats: shapes.SeriesStatistics  # type: ignore[valid-type]


# -- series -----------------------------------------------------------------------------------------


@router.get("/series", responses=read(shapes.page_of(shapes.Series)), tags=["series"], operation_id="list_series")
def _series_list(
    *,
    request: Request,
    memory: Read,
    session_id: Session = None,
    metadata: Metadata = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of series, in the order in which they were made."""
    page = memory.series.list(
        session_id=session_id,
        metadata=metadata_of(metadata),
        limit=limit,
        cursor=cursor,
        newest_first=newest_first,
    )
    return reply(request, paged(page))


@router.post(
    "/series",
    status_code=201,
    responses=told(shapes.Series, status=201),
    tags=["series"],
    operation_id="create_series",
)
def _series_create(request: Request, memory: Write, given: NewSeries) -> Response:
    """Make a series, or find the one of that name."""
    made = memory.series.create(
        given.name, unit=given.unit, artifact=given.artifact_id, session_id=given.session_id, metadata=given.metadata
    )
    return reply(request, made, status=201)


@router.get("/series/{series_id}", responses=read(shapes.Series), tags=["series"], operation_id="get_series")
def _series_get(request: Request, memory: Read, series_id: SeriesId) -> Response:
    """One series."""
    return reply(request, memory.series.get(series_id))


@router.get("/series/{series_id}/points", responses=read(Points), tags=["series"], operation_id="get_series_points")
def _series_points(
    request: Request, memory: Read, series_id: SeriesId, since: Since = None, until: Until = None
) -> Response:
    """The points of a window, in time's order."""
    memory.series.get(series_id)
    return reply(request, {"points": memory.series.points(series_id, since=since, until=until)})


@router.post(
    "/series/{series_id}/points", responses=told(Appended), tags=["series"], operation_id="append_series_points"
)
def _series_append(request: Request, memory: Write, series_id: SeriesId, given: Points) -> Response:
    """Add points; nothing is ever overwritten."""
    return reply(request, {"appended": memory.series.append(series_id, given.points)})


@router.get(
    "/series/{series_id}/stats",
    responses=read(list[Window]),
    tags=["series"],
    operation_id="get_series_stats",
)
def _series_stats(
    request: Request,
    memory: Read,
    series_id: SeriesId,
    since: Since = None,
    until: Until = None,
    window: Annotated[
        float | None, Query(gt=0, le=1e10, allow_inf_nan=False, description="Width of a window in seconds.")
    ] = None,
) -> Response:
    """What the points say: of one window, or of each window of a width."""
    memory.series.get(series_id)
    if window is None:
        found = memory.series.stats(series_id, since=since, until=until)
        return reply(request, [{"start": found.since, "stats": found}] if found.count else [])
    width = dt.timedelta(seconds=window)
    parts = memory.series.windows(series_id, width, since=since, until=until)
    return reply(request, [{"start": start, "stats": stats} for start, stats in parts])


@router.delete(
    "/series/{series_id}",
    responses=told(shapes.Removed),
    dependencies=CONDITIONAL,
    tags=["series"],
    operation_id="delete_series",
)
def _series_delete(request: Request, memory: Write, series_id: SeriesId) -> Response:
    """Delete a series and its points; its observations stay, without it."""
    with unchanged(request, "series", series_id):
        memory.series.delete(series_id)
    return reply(request, {"deleted": [series_id]})


# -- images -----------------------------------------------------------------------------------------


@router.get("/images", responses=read(shapes.page_of(shapes.Image)), tags=["images"], operation_id="list_images")
def _images(
    *,
    request: Request,
    memory: Read,
    session_id: Session = None,
    artifact: Annotated[str | None, Query(description="Only of this artifact.")] = None,
    metadata: Metadata = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of images, in the order in which they came."""
    where: dict[str, Any] = {"session_id": session_id, "artifact": artifact, "metadata": metadata_of(metadata)}
    page = memory.images.list(**where, limit=limit, cursor=cursor, newest_first=newest_first)
    return reply(request, paged(page))


@router.post(
    "/images",
    status_code=201,
    responses=told(shapes.Image, status=201),
    openapi_extra={
        "requestBody": {"required": True, "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}}
    },
    tags=["images"],
    operation_id="create_image",
)
def _image_create(
    *,
    request: Request,
    memory: Write,
    raw: Annotated[bytes, body_of(MAX_IMAGE_BYTES)],
    caption: Annotated[str | None, Query(description="What it shows.")] = None,
    session_id: Annotated[str | None, Query(description="The session that it belongs to.")] = None,
    artifact: Annotated[str | None, Query(description="The text that it goes with.")] = None,
    shows: Annotated[list[str], Query(default_factory=list, description="Ids of entities on it; repeat it.")],
    metadata: Annotated[str | None, Query(description="A JSON object.")] = None,
) -> Response:
    """Keep an image: the body is its file (PNG, JPEG, GIF, WebP, AVIF, HEIC, BMP, TIFF or SVG)."""
    made = memory.images.add(
        raw,
        caption=caption,
        session_id=session_id,
        artifact=artifact,
        shows=shows,
        metadata=metadata_of(metadata),
    )
    return reply(request, made, status=201)


@router.get("/images/{image_id}", responses=read(shapes.Image), tags=["images"], operation_id="get_image")
def _image(request: Request, memory: Read, image_id: ImageId) -> Response:
    """One image: what is known of it."""
    return reply(request, memory.images.get(image_id))


@router.get(
    "/images/{image_id}/content",
    response_class=Response,
    responses={
        **read(),
        200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}, "description": "The file."},
        206: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}, "description": "A range."},
        416: {"description": "The file has no such bytes."},
    },
    tags=["images"],
    operation_id="get_image_content",
)
def _image_content(request: Request, memory: Read, image_id: ImageId) -> Response:
    """The file, checked against its digest; nothing in it is ever run (SVG comes as a download)."""
    record = memory.images.get(image_id)
    kind = "attachment" if record.media_type == "image/svg+xml" else "inline"
    told_as = {"Content-Disposition": f'{kind}; filename="{record.sha256[:16]}"'}
    return bytes_reply(request, memory.images.read(record), record.media_type, headers=told_as)


@router.delete(
    "/images/{image_id}",
    responses=told(shapes.Removed),
    dependencies=CONDITIONAL,
    tags=["images"],
    operation_id="delete_image",
)
def _image_delete(request: Request, memory: Write, image_id: ImageId) -> Response:
    """Delete an image; its file goes when no other image has the same bytes."""
    memory.images.get(image_id)
    with unchanged(request, "images", image_id):
        memory.images.delete([image_id])
    return reply(request, {"deleted": [image_id]})
