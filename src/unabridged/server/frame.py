"""What every request passes through, before and after its route: one plain ASGI layer.

In: a request id, the host that is asked for, the origin of a page, who calls, room for one more, and a
body no larger and no slower than allowed. Out: headers that browsers obey, and errors in the shape that
the path has. Nothing of a request's contents is logged.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from unabridged.errors import UnabridgedError
from unabridged.server.auth import authenticate, is_near, is_public
from unabridged.server.bodies import Body
from unabridged.server.faults import no_text, problem_of
from unabridged.server.headers import written
from unabridged.server.problems import Problem, problem_response

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from unabridged.server.state import Server

    Handler = Callable[[Request], Awaitable[Response]]

__all__ = ["Frame"]

_log = logging.getLogger("unabridged.server")
_PACKAGE = Path(__file__).parents[1]
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Frame:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, server: Server, direct: Mapping[tuple[str, str], Handler]) -> None:
        self._app = app
        self._server = server
        self._direct = {key: _Direct(key[1], handler) for key, handler in direct.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            if scope["method"] == "HEAD" and not is_public("GET", scope["path"]):  # those answer it themselves
                scope, send = {**scope, "method": "GET", "unabridged.head": True}, _without_body(send)
            app = self._direct.get((scope["method"], scope["path"]), self._app)
            await _Exchange(self._server, scope, receive, send).run(app)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # no route here speaks anything else
            await send({"type": "websocket.close", "code": 1003})


def _without_body(send: Send) -> Send:
    """What a HEAD is told: the headers that a GET would have (RFC 9110, 9.3.2)."""

    async def told(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return told


class _Direct:
    """A function of a request as an application of its own.

    Half of what a request for a cached vector costs is finding its route and looking for dependencies that
    it has not; for a few exact paths that is left out.
    """

    __slots__ = ("_handler", "path")

    def __init__(self, path: str, handler: Handler) -> None:
        self.path = path
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self  # for the log
        try:
            answer = await self._handler(Request(scope, receive))
        except UnabridgedError as error:
            raise problem_of(error) from None
        except UnicodeEncodeError:
            raise no_text() from None
        await answer(scope, receive, send)


class _Exchange:
    """One request on its way."""

    def __init__(self, server: Server, scope: Scope, receive: Receive, send: Send) -> None:
        self._server = server
        self._scope = scope
        self._receive = receive
        self._send = send
        self._started = time.perf_counter()
        self._status = 0
        self._headers = headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]}
        given = headers.get("x-request-id")
        self._id = given if given and _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)
        self._added = [(b"x-request-id", self._id.encode()), *written(scope["path"])]
        scope["unabridged.request_id"] = self._id

    async def run(self, app: ASGIApp) -> None:
        scope, server = self._scope, self._server
        room = None
        try:
            self._admit()
            if scope["method"] == "OPTIONS" and (answer := server.strangers.preflight(self._headers)):
                await answer(scope, self._receive, self._told)
                return
            room = server.room.enter(exempt=is_public(scope["method"], scope["path"]))
            body = Body(self._receive, self._headers, server.settings, room)
            await app(scope, body.receive, self._told)
        except Problem as problem:
            await self._answer(problem)
        except Exception as error:  # noqa: BLE001 -- a caller gets an answer, whatever happened
            _log.error("request %s failed: %s", self._id, _in_brief(error), exc_info=_log.isEnabledFor(logging.DEBUG))
            await self._answer(Problem(500, "a fault of the server's own; its log has the request id"))
        finally:
            if room is not None:
                room.leave()
            self._told_of()

    def _admit(self) -> None:
        """Where, from where, and who."""
        scope, server = self._scope, self._server
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:  # others on the way may have read the other one
            raise Problem(400, "more than one Host header", code="invalid_request")
        server.strangers.refuse(scope["method"], self._headers)
        if "origin" in self._headers:
            self._added = [*server.strangers.shared(self._headers), *self._added]
            if scope["method"] == "OPTIONS":
                return
        if not is_public(scope["method"], scope["path"]):
            required = server.needs_keys or not is_near(scope.get("client"), self._headers)
            caller = authenticate(server.keys, self._headers, required=required)
            scope["unabridged.caller"] = caller
            server.meters.enter(caller)

    async def _answer(self, problem: Problem) -> None:
        if self._status:
            return  # half of an answer is out: the connection ends, and the client sees that it is cut off
        answer = problem_response(problem, path=self._scope["path"], request_id=self._id)
        await answer(self._scope, self._receive, self._told)

    async def _told(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            own: list[Any] = message.setdefault("headers", [])
            named = {name for name, _ in own}
            for pair in (*self._added, *self._limits()):  # what stands first wins
                if pair[0] not in named or pair[0] == b"vary":
                    named.add(pair[0])
                    own.append(pair)
        await self._send(message)

    def _limits(self) -> list[tuple[bytes, bytes]]:
        """How the caller's limits stand, now that the work is done."""
        caller = self._scope.get("unabridged.caller")
        told = {} if caller is None else self._server.meters.told(caller)
        return [(name.encode(), value.encode()) for name, value in told.items()]

    def _told_of(self) -> None:
        took = time.perf_counter() - self._started
        route = _pattern(self._scope)
        self._server.metrics.answered(route, self._status, took)
        if _log.isEnabledFor(logging.INFO):
            caller = getattr(self._scope.get("unabridged.caller"), "id", "-")
            told = (self._scope["method"], route, self._status, took * 1e3, caller, self._id)
            _log.info("%s %s %d %.1f ms %s %s", *told)


def _pattern(scope: Scope) -> str:
    """The path with the names of its parameters in place of what a caller typed; ``-`` where no route was found."""
    path: str = scope["path"]
    if scope.get("route") is None:
        return "-"
    for name, value in reversed(scope.get("path_params", {}).items()):
        head, found, tail = path.rpartition(f"/{value}")
        if not found:
            return "-"
        path = f"{head}/{{{name}}}{tail}"
    return path


def _in_brief(error: Exception) -> str:
    """Kind and place: an error's words may quote what a caller sent."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(_PACKAGE)]
    place = f" in {Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
