"""Artifacts as resources: the latest of them by name, and of any the text whole, or the bytes that a hit points at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from mcp import MCPError
from mcp.server.mcpserver import Context  # noqa: TC002 - the SDK reads it at run time
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.types import INVALID_PARAMS, Annotations, Resource

from unabridged.errors import InputError, NotFound, UnabridgedError
from unabridged.mcp.tools import request_of, sentence

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext

    from unabridged.mcp.place import Place
    from unabridged.memory.records import Artifact

__all__ = ["listing", "register"]

_TEXT = "unabridged://artifacts/{artifact_id}"
_BYTES = "unabridged://artifacts/{artifact_id}/bytes/{start}-{end}"
_OF = "unabridged://datasets/{dataset}/artifacts/{artifact_id}"
_OF_BYTES = "unabridged://datasets/{dataset}/artifacts/{artifact_id}/bytes/{start}-{end}"
_PAGE = 50  # resources of one answer: clients show them in a list
_TITLE = 80  # characters


def register(server: MCPServer, place: Place) -> None:
    """Add the templates: texts and bytes by the ids that tools give."""

    def text(
        ctx: Context, dataset: str | None, artifact_id: str, start: str | None = None, end: str | None = None
    ) -> str:
        try:
            memory = place.memory(dataset, "read", request_of(ctx))
            record = memory.artifacts.get(artifact_id)
            if start is None or end is None:
                return record.text
            if not (start.isdecimal() and end.isdecimal() and len(start) < 19 and len(end) < 19):
                raise ResourceError("bytes: expected START-END in whole numbers, such as bytes/120-180")
            return memory.slice(record, int(start), int(end))
        except NotFound as error:
            raise ResourceNotFoundError(sentence(error)) from None
        except (UnabridgedError, ToolError) as error:
            raise ResourceError(sentence(error) if isinstance(error, UnabridgedError) else str(error)) from None

    @server.resource(_TEXT, name="artifact", title="An artifact's text", mime_type="text/plain")
    def artifact(artifact_id: str, ctx: Context) -> str:
        """The text of an artifact, as it was received."""
        return text(ctx, None, artifact_id)

    @server.resource(_BYTES, name="artifact_bytes", title="Bytes of an artifact's text", mime_type="text/plain")
    def artifact_bytes(artifact_id: str, start: str, end: str, ctx: Context) -> str:
        """The bytes START to END of an artifact's UTF-8 text: the passage that a source names."""
        return text(ctx, None, artifact_id, start, end)

    @server.resource(_OF, name="dataset_artifact", title="An artifact's text, by dataset", mime_type="text/plain")
    def dataset_artifact(dataset: str, artifact_id: str, ctx: Context) -> str:
        """The text of an artifact of another dataset."""
        return text(ctx, dataset, artifact_id)

    @server.resource(_OF_BYTES, name="dataset_artifact_bytes", title="Bytes, by dataset", mime_type="text/plain")
    def dataset_artifact_bytes(dataset: str, artifact_id: str, start: str, end: str, ctx: Context) -> str:
        """The bytes START to END of the text of an artifact of another dataset."""
        return text(ctx, dataset, artifact_id, start, end)


def listing(place: Place) -> ServerMiddleware[Any]:
    """What answers ``resources/list``: the documents of the home dataset, the latest first, a page at a time.

    A caller who may not read sees none.
    """

    async def listed(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        made = await call_next(ctx)
        if ctx.method != "resources/list" or not isinstance(made, dict):
            return made
        cursor = (ctx.params or {}).get("cursor")
        try:
            resources, following = await run_sync(_latest, place, cursor, ctx.request)
        except ToolError:
            return made
        except InputError as error:
            raise MCPError(code=INVALID_PARAMS, message=sentence(error)) from None
        told = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in resources]
        return {**made, "resources": told, **({"nextCursor": following} if following else {})}

    return listed


def _latest(place: Place, cursor: str | None, request: Any) -> tuple[list[Resource], str | None]:
    memory = place.memory(None, "read", request)
    page = memory.artifacts.list(role="document", newest_first=True, limit=_PAGE, cursor=cursor)
    return [_resource(each) for each in page], page.cursor


def _resource(artifact: Artifact) -> Resource:
    at = artifact.valid_at or artifact.created_at
    about = [artifact.kind, f"of {at:%Y-%m-%d}", f"session {artifact.session_id}" if artifact.session_id else None]
    line = " ".join(artifact.text[: 4 * _TITLE].split())
    return Resource(
        uri=_TEXT.format(artifact_id=artifact.id),
        name=artifact.source or artifact.id,
        title=line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…",
        description=", ".join(each for each in about if each),
        mime_type="text/plain",
        size=len(artifact.text.encode()),
        annotations=Annotations(last_modified=artifact.created_at.isoformat()),
    )
