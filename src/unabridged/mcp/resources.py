"""Artifacts as resources: a text whole, or the bytes of it that a fact or a hit points at."""

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError

from unabridged.errors import NotFound, UnabridgedError
from unabridged.mcp.place import Place
from unabridged.mcp.tools import request_of, sentence
from unabridged.memory.memory import DATASET

__all__ = ["register"]

_TEXT = "unabridged://artifacts/{artifact_id}"
_BYTES = "unabridged://artifacts/{artifact_id}/bytes/{start}-{end}"
_OF = "unabridged://datasets/{dataset}/artifacts/{artifact_id}"
_OF_BYTES = "unabridged://datasets/{dataset}/artifacts/{artifact_id}/bytes/{start}-{end}"


def register(server: MCPServer, place: Place) -> None:
    """Add the resources."""

    def text(ctx: Context, dataset: str, artifact_id: str, start: str | None = None, end: str | None = None) -> str:
        try:
            memory = place.memory(dataset, "read", request_of(ctx))
            record = memory.artifacts.get(artifact_id)
            if start is None or end is None:
                return record.text
            if not (start.isdecimal() and end.isdecimal() and len(start) < 19 and len(end) < 19):
                raise ResourceError("bytes: expected START-END in whole numbers, such as bytes/120-180")
            return memory.slice(record, int(start), int(end))
        except NotFound as error:
            raise ResourceNotFoundError(str(error)) from None
        except (UnabridgedError, ToolError) as error:
            raise ResourceError(sentence(error) if isinstance(error, UnabridgedError) else str(error)) from None

    @server.resource(_TEXT, name="artifact", title="An artifact's text", mime_type="text/plain")
    def artifact(artifact_id: str, ctx: Context) -> str:
        """The text of an artifact, as it was received."""
        return text(ctx, DATASET, artifact_id)

    @server.resource(_BYTES, name="artifact_bytes", title="Bytes of an artifact's text", mime_type="text/plain")
    def artifact_bytes(artifact_id: str, start: str, end: str, ctx: Context) -> str:
        """The bytes START to END of an artifact's UTF-8 text: the passage that a source names."""
        return text(ctx, DATASET, artifact_id, start, end)

    @server.resource(_OF, name="dataset_artifact", title="An artifact's text, by dataset", mime_type="text/plain")
    def dataset_artifact(dataset: str, artifact_id: str, ctx: Context) -> str:
        """The text of an artifact of another dataset."""
        return text(ctx, dataset, artifact_id)

    @server.resource(_OF_BYTES, name="dataset_artifact_bytes", title="Bytes, by dataset", mime_type="text/plain")
    def dataset_artifact_bytes(dataset: str, artifact_id: str, start: str, end: str, ctx: Context) -> str:
        """The bytes START to END of the text of an artifact of another dataset."""
        return text(ctx, dataset, artifact_id, start, end)
