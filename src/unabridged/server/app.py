"""The application: every door behind one frame."""

from __future__ import annotations

import importlib
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from unabridged.config import Config, load_config
from unabridged.config.names import nearest
from unabridged.errors import UnabridgedError
from unabridged.server import health, metrics
from unabridged.server.faults import no_text, problem_of
from unabridged.server.frame import Frame
from unabridged.server.gateway import direct
from unabridged.server.given import fields_at
from unabridged.server.nowhere import not_in_this_way, nothing_at
from unabridged.server.openapi import document_of, operation_id
from unabridged.server.problems import Problem, problem_response
from unabridged.server.settings import ServerSettings
from unabridged.server.state import Server
from unabridged.server.strict import taken
from unabridged.server.wire import EMPTY, NO_JSON, NO_OBJECT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["create_app"]

_log = logging.getLogger("unabridged.server")
# Modules that have a ``router``, in this order.
_ROUTERS = (
    "unabridged.server.gateway",
    "unabridged.server.memory",
    "unabridged.server.preview",
    "unabridged.server.graph_view",
    "unabridged.server.configuration",
    "unabridged.server.page",
)
# Modules that mount an application of their own: ``mount(app)``.
_MOUNTED = ("unabridged.mcp",)


def create_app(config: Config | None = None, *, settings: ServerSettings | None = None) -> FastAPI:
    """An ASGI application with the gateway, the memory's API, MCP and the page.

    ``config`` is a loaded configuration (default: the embedded model, and the user's own folders);
    ``settings`` replaces its section ``server``. ``app.state.server`` is what all requests share.

    >>> app = create_app(load_config({"embedding": {"provider": "hashing", "cache": False}}))
    >>> app.state.server.embedders("bag-of-words").model
    'bag-of-words'
    """
    config = config if config is not None else load_config()
    server = Server(config, settings if settings is not None else ServerSettings.of(config))
    # The interactive documentation of FastAPI loads scripts from elsewhere: only the schema itself is served.
    app = FastAPI(
        title="unabridged",
        version=_version(),
        docs_url=None,
        redoc_url=None,
        lifespan=_living,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        description="Embeddings for text of any length, and a memory that keeps its sources.",
    )
    app.state.server = server
    app.include_router(health.router)
    app.include_router(metrics.router)
    for part in _parts(_ROUTERS):
        app.include_router(part.router)
    for part in _parts(_MOUNTED):
        part.mount(app)
    app.add_exception_handler(HTTPException, _answer)
    app.add_exception_handler(RequestValidationError, _answer)
    app.add_exception_handler(UnabridgedError, _answer)
    app.add_exception_handler(UnicodeEncodeError, _answer)
    app.openapi = document_of(app)  # type: ignore[method-assign] # FastAPI's own way of changing it
    app.add_middleware(Frame, server=server, direct=direct)
    return app


@asynccontextmanager
async def _living(app: FastAPI) -> AsyncIterator[None]:
    """From the first request to the last; parts with a life of their own add to ``app.state.lives``."""
    server: Server = app.state.server
    await server.start()
    try:
        async with _lives(app):
            yield
    finally:
        await server.close()


@asynccontextmanager
async def _lives(app: FastAPI) -> AsyncIterator[None]:
    """Whatever mounted parts need open while the server runs: ``app.state.lives`` are context managers' makers."""
    async with AsyncExitStack() as stack:
        for life in getattr(app.state, "lives", ()):
            await stack.enter_async_context(life())
        yield


def _parts(names: Iterable[str]) -> Iterator[Any]:
    """The modules of these names; one that needs a package which is not installed is left out, and said so."""
    for name in names:
        try:
            yield importlib.import_module(name)
        except ImportError as error:
            if (error.name or "").partition(".")[0] == __name__.partition(".")[0]:
                raise  # a fault of ours, not an extra that is missing
            _log.warning("%s is left out: %s", name, error)


async def _answer(request: Request, error: Exception) -> Response:
    """Whatever was raised, in the shape of the path."""
    return problem_response(
        _problem(error, request), path=request.url.path, request_id=request.scope.get("unabridged.request_id", "")
    )


def _problem(error: Exception, request: Request) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnabridgedError):
        return problem_of(error)
    if isinstance(error, RequestValidationError):
        return _invalid(error, request)
    if isinstance(error, UnicodeEncodeError):
        return no_text()
    assert isinstance(error, HTTPException)  # noqa: S101 -- these are what the handlers are for
    return _of_the_framework(error, request)


def _of_the_framework(error: HTTPException, request: Request) -> Problem:
    """What the frameworks under us say no more of than the status."""
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return Problem(400, NO_JSON, code="invalid_json")
    path, paths = request.scope["path"], request.app.openapi()["paths"]
    if error.status_code == HTTPStatus.NOT_FOUND:
        return nothing_at(paths, path)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return not_in_this_way(paths, path, error.headers)
    return Problem(error.status_code, str(error.detail), headers=error.headers)


def _invalid(error: RequestValidationError, request: Request) -> Problem:
    """What is wrong, by place; never what was sent."""
    route = request.scope.get("route")
    faults = error.errors()
    if faults and faults[0]["type"] == "json_invalid":
        return Problem(422, NO_JSON, code="invalid_json", param="body")
    if any((one["type"], one["loc"]) == ("missing", ("body",)) for one in faults):
        return Problem(422, EMPTY, code="invalid_json", param="body")
    if any(one["type"] == "model_attributes_type" and one["loc"] == ("body",) for one in faults):
        return _no_object(request.headers.get("content-type", ""))
    told = [{"at": ".".join(map(str, one["loc"])), "problem": _said(one, route)} for one in faults]
    first = told[0] if told else {"at": "", "problem": "not valid"}
    detail = f"{first['at']}: {first['problem']}"
    return Problem(422, detail, code="invalid_request", param=first["at"], extra={"errors": told})


def _no_object(content_type: str) -> Problem:
    """A body that is JSON and no object, or was not said to be JSON, and so was not read as such."""
    if "json" in content_type.lower():
        return Problem(422, NO_OBJECT, code="invalid_request", param="body")
    detail = "the body is not said to be JSON: send it with Content-Type: application/json"
    return Problem(415, detail, param="Content-Type")


def _said(fault: Any, route: Any) -> str:
    """What is wrong at one place; of a field that is not known, which one may have been meant, or where it belongs."""
    body = getattr(getattr(route, "body_field", None), "field_info", None)
    if fault["type"] != "extra_forbidden" or body is None:
        return str(fault["msg"])
    _, *place, name = fault["loc"]
    if not place and name in taken(route):
        return f"no field of the body: it belongs into the address, as ?{name}=…"
    known = fields_at(body.annotation, place)
    near = nearest(str(name), known)
    return f"unknown field, did you mean {near}?" if near else f"unknown field, known are {', '.join(known)}"


def _version() -> str:
    from importlib.metadata import version

    return version("unabridged")
