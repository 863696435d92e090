"""What went wrong, in the shape that the caller's program reads: problem+json, OpenAI's, Cohere's, Ollama's, TEI's.

The path decides the shape. A problem says what, where and what would be right; never a text, a key, an
address or a path of the server's own.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Problem", "Shape", "problem_response", "shape_of"]

Shape = str
_SHAPES = (
    ("/v1/gb", "problem"),
    ("/v1/", "openai"),  # what is not here as well: the clients that ask for it read no other shape
    ("/openai/", "openai"),
    ("/v2/", "cohere"),
    ("/api/", "ollama"),
    ("/embed", "tei"),
    ("/info", "tei"),
)
# OpenAI's words for what is the caller's to change, and what is not.
_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    408: "timeout_error",
    429: "rate_limit_error",
    500: "server_error",
    502: "server_error",
    503: "server_error",
    504: "timeout_error",
}
_TEI_TYPES = {429: "overloaded", 503: "overloaded", 500: "backend", 502: "backend", 504: "backend"}


class Problem(HTTPException):
    """An answer other than success. Raise it anywhere in a request.

    ``code`` is a short word for programs, ``detail`` a sentence for people, ``param`` the field that is
    wrong; ``extra`` goes into problem+json as it is.

    >>> str(Problem(404, "no such artifact", code="not_found"))
    '404 not_found: no such artifact'
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: str = "",
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.status = status
        self.code = code or HTTPStatus(status).phrase.lower().replace(" ", "_")
        self.param = param
        self.extra = extra or {}

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail}"


def shape_of(path: str) -> Shape:
    """The shape of errors under a path.

    >>> shape_of("/v1/embeddings"), shape_of("/v1/gb/remember"), shape_of("/api/embed")
    ('openai', 'problem', 'ollama')
    """
    return next((shape for start, shape in _SHAPES if path.startswith(start)), "problem")


def problem_response(problem: Problem, *, path: str, request_id: str = "") -> Response:
    """The answer for a problem, in the shape of its path."""
    from unabridged.server.wire import dumps

    shape = shape_of(path)
    body = _BODIES[shape](problem, request_id)
    kind = "application/problem+json" if shape == "problem" else "application/json"
    return Response(dumps(body), problem.status, dict(problem.headers or {}), media_type=kind)


def _problem_json(problem: Problem, request_id: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": f"urn:unabridged:problem:{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    if problem.param:
        body["param"] = problem.param
    if request_id:
        body["request_id"] = request_id
    return {**body, **problem.extra}


def _openai(problem: Problem, _: str) -> dict[str, Any]:
    kind = _OPENAI_TYPES.get(problem.status, "invalid_request_error")
    if problem.code == "insufficient_quota":
        kind = "insufficient_quota"
    return {"error": {"message": problem.detail, "type": kind, "param": problem.param, "code": problem.code}}


def _cohere(problem: Problem, request_id: str) -> dict[str, Any]:
    return {"id": request_id, "message": problem.detail}


def _ollama(problem: Problem, _: str) -> dict[str, Any]:
    return {"error": problem.detail}


def _tei(problem: Problem, _: str) -> dict[str, Any]:
    return {"error": problem.detail, "error_type": _TEI_TYPES.get(problem.status, "validation")}


_BODIES = {"problem": _problem_json, "openai": _openai, "cohere": _cohere, "ollama": _ollama, "tei": _tei}
