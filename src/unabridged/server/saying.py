"""What the OpenAPI document says of a route's answers."""

from typing import Any

from pydantic import BaseModel, Field

__all__ = ["ProblemBody", "read", "told"]


class ProblemBody(BaseModel):
    """What went wrong (RFC 9457): never a text, a key, or a path of the server's."""

    type: str = Field(description="urn:unabridged:problem: and the code.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What is wrong, where, and what would be right.")
    code: str = Field(description="A short word for programs.")
    param: str | None = Field(default=None, description="The field that is wrong.")
    request_id: str | None = Field(default=None, description="As in the header X-Request-Id.")


# Among the components by ``unabridged.server.openapi``: no route answers with it alone.
_PROBLEM = {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}}
_REFUSED = {**_PROBLEM, "description": "Refused: a bad value, no such record, no right to it, or over a limit."}
_FAILED = {**_PROBLEM, "description": "Failed: a model's provider, the store, or a fault of the server."}


def told(model: Any = None, *, status: int = 200, text: str = "Done.", **more: Any) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: ``model`` under ``status``, problems under every other.

    >>> sorted(map(str, told()))
    ['200', '4XX', '5XX']
    """
    good: dict[str, Any] = {"description": text, **more}
    if model is not None:
        good["model"] = model
    return {status: good, "4XX": _REFUSED, "5XX": _FAILED}


def read(model: Any = None, **more: Any) -> dict[int | str, dict[str, Any]]:
    """The same for a GET, which a caller may ask for conditionally."""
    return {**told(model, **more), 304: {"description": "What If-None-Match names is still what is stored."}}
