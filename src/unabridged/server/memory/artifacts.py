"""``/v1/gb/artifacts``: the texts of a memory: read, list, change, delete, and their bytes."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request, Response

from unabridged.errors import InputError
from unabridged.memory import Memory
from unabridged.memory.paging import Page
from unabridged.memory.plain import plain
from unabridged.memory.records import Artifact, Role
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Read, Write
from unabridged.server.memory.conditions import CONDITIONAL, refuse, unchanged
from unabridged.server.memory.listing import Cursor, Limit, Metadata, Newest, Session, metadata_of
from unabridged.server.memory.replies import PLAIN_TEXT, bytes_reply, reply
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter(tags=["artifacts"])

PAGE_BYTES = 16 << 20  # of text on one page: 16 texts of the largest size (SPEC A16)
_STEP = 50  # artifacts read at once, so that a page of 1,000 is never in memory whole

ArtifactId = Annotated[str, Path(description="The artifact's id.")]
Unsupported = Annotated[
    Literal["delete", "keep"] | None, Query(description="What becomes of facts that lose their last source.")
]
Moment = Annotated[str | None, Query(description="A moment in ISO 8601.", examples=["2024-05-01T12:00:00Z"])]


@router.get("/artifacts", responses=read(shapes.page_of(shapes.ListedArtifact)), operation_id="list_artifacts")
def _list(
    *,
    request: Request,
    memory: Read,
    role: Annotated[Role | None, Query(description="What it is.")] = None,
    kind: Annotated[str | None, Query(description="knowledge, memory, or a derived kind.")] = None,
    session_id: Session = None,
    source: Annotated[str | None, Query(description="Its identity outside, such as a URL.")] = None,
    document: Annotated[str | None, Query(description="All that hangs from this document.")] = None,
    parent: Annotated[str | None, Query(description="What hangs directly from this artifact.")] = None,
    series_id: Annotated[str | None, Query(description="Observations of this series.")] = None,
    metadata: Metadata = None,
    created_since: Moment = None,
    created_until: Moment = None,
    valid_since: Moment = None,
    valid_until: Moment = None,
    pending: Annotated[bool, Query(description="Only chunks that no graph was made of yet.")] = False,
    text: Annotated[bool, Query(description="false leaves the texts out (null); GET one for it.")] = True,
    limit: Limit = 50,
    cursor: Cursor = None,
    newest_first: Newest = False,
) -> Response:
    """A page of artifacts, oldest first: all, or those that meet every filter.

    A page ends early at 16 MiB of text; `cursor` always says whether there is more.
    """
    where: dict[str, Any] = {"role": role, "kind": kind, "session_id": session_id, "source": source}
    where |= {"document": document, "parent": parent, "series_id": series_id, "metadata": metadata_of(metadata)}
    where |= {"created_since": created_since, "created_until": created_until, "pending": pending}
    where |= {"valid_since": valid_since, "valid_until": valid_until, "newest_first": newest_first}
    page = _page(memory, where, limit, cursor, PAGE_BYTES if text else None)
    items = [plain(each) if text else plain(each) | {"text": None} for each in page]
    return reply(request, {"items": items, "cursor": page.cursor})


def _page(memory: Memory, where: dict[str, Any], limit: int, cursor: str | None, most: int | None) -> Page[Artifact]:
    found: list[Artifact] = []
    size = 0
    while True:
        step = min(limit - len(found), limit if most is None else _STEP)
        part = memory.artifacts.list(**where, limit=step, cursor=cursor)
        found += part.items
        size += sum(len(each.text) for each in part)
        cursor = part.cursor
        if cursor is None or len(found) >= limit or (most is not None and size >= most):
            return Page(tuple(found), cursor)


@router.get("/artifacts/{artifact_id}", responses=read(shapes.Artifact), operation_id="get_artifact")
def _get(request: Request, memory: Read, artifact_id: ArtifactId) -> Response:
    """One artifact: its text, where it came from, and everything that is known of it."""
    return reply(request, memory.artifacts.get(artifact_id))


@router.get(
    "/artifacts/{artifact_id}/text",
    response_class=Response,
    responses={
        **read(None),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The text, or its bytes."},
        206: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The bytes of `Range`."},
        416: {"description": "The text has no such bytes."},
    },
    operation_id="get_artifact_text",
)
def _text(
    request: Request,
    memory: Read,
    artifact_id: ArtifactId,
    start: Annotated[int | None, Query(ge=0, description="First byte of the UTF-8 text.")] = None,
    end: Annotated[int | None, Query(ge=0, description="The byte after the last one.")] = None,
) -> Response:
    """The text as it was received, to the byte; or the bytes `start` to `end`, which must not cut a character.

    A `Range` header is kept as HTTP has it, where a character may be cut.
    """
    record = memory.artifacts.get(artifact_id)
    if start is not None or end is not None:
        size = len(record.text.encode())
        part = memory.slice(record, start or 0, size if end is None else end)
        return bytes_reply(request, part.encode(), PLAIN_TEXT)
    return bytes_reply(request, record.text.encode(), PLAIN_TEXT)


@router.get(
    "/artifacts/{artifact_id}/children",
    responses=read(shapes.several(shapes.Artifact)),
    operation_id="get_artifact_children",
)
def _children(
    request: Request,
    memory: Read,
    artifact_id: ArtifactId,
    role: Annotated[Role | None, Query(description="Only these.")] = None,
) -> Response:
    """What hangs from an artifact directly: chunks in their order, then what was derived from it."""
    memory.artifacts.get(artifact_id)
    return reply(request, memory.artifacts.children(artifact_id, role=role))


@router.get(
    "/artifacts/{artifact_id}/contribution",
    responses=read(shapes.Contribution),
    operation_id="get_artifact_contribution",
)
def _contribution(
    *,
    request: Request,
    memory: Read,
    artifact_id: ArtifactId,
    whole: Annotated[bool, Query(description="Count what hangs from it too.")] = True,
) -> Response:
    """The entities and facts that rest on an artifact."""
    memory.artifacts.get(artifact_id)
    return reply(request, memory.contribution(artifact_id, whole=whole))


@router.patch(
    "/artifacts/{artifact_id}",
    responses=told(shapes.Artifact),
    dependencies=CONDITIONAL,
    operation_id="update_artifact",
)
def _update(
    request: Request,
    memory: Write,
    artifact_id: ArtifactId,
    changes: Annotated[
        dict[str, Any],
        Body(
            description="metadata, provenance, source, source_hash, expires_at; never the text.",
            examples=[{"metadata": {"user": "alice"}}],
        ),
    ],
) -> Response:
    """Change what may change of an artifact: metadata, provenance, source, expiry. Its text never does."""
    allowed = {"metadata", "provenance", "source", "source_hash", "expires_at"}
    if wrong := sorted(changes.keys() - allowed):
        raise InputError(f"update: cannot change {json.dumps(wrong[0])[:80]}; {', '.join(sorted(allowed))} can be")
    memory.artifacts.get(artifact_id)
    with unchanged(request, "artifacts", artifact_id):
        changed = memory.update(artifact_id, **changes)
    return reply(request, changed)


@router.delete(
    "/artifacts/{artifact_id}",
    responses=told(shapes.Deleted),
    dependencies=CONDITIONAL,
    operation_id="delete_artifact",
)
def _delete(request: Request, memory: Write, artifact_id: ArtifactId, unsupported: Unsupported = None) -> Response:
    """Delete an artifact and what hangs from it; what others support stays, and what it had ended reopens."""
    with unchanged(request, "artifacts", artifact_id):
        done = memory.delete(artifact_id, unsupported=unsupported)
    return reply(request, done)


@router.delete("/artifacts", responses=told(shapes.Deleted), operation_id="delete_artifacts")
def _delete_many(
    request: Request,
    memory: Write,
    id: Annotated[list[str], Query(min_length=1, max_length=200, description="Ids; repeat it.")],  # noqa: A002
    unsupported: Unsupported = None,
) -> Response:
    """Delete several artifacts in one commit, or none where one of them is not there."""
    refuse(request)
    return reply(request, memory.delete(id, unsupported=unsupported))
