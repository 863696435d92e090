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

from unabridged.server.auth import authenticate, is_near, is_public
from unabridged.server.bodies import Body
from unabridged.server.headers import preflight, refuse_strangers, shared, written
from unabridged.server.problems import Problem, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from unabridged.server.state import Server

__all__ = ["Frame"]

_log = logging.getLogger("unabridged.server")
_PACKAGE = Path(__file__).parents[1]
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Frame:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            await _Exchange(self._server, scope, receive, send).run(self._app)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # no route here speaks anything else
            await send({"type": "websocket.close", "code": 1003})


class _Exchange:
    """One request on its way."""

    def __init__(self, server: Server, scope: Scope, receive: Receive, send: Send) -> None:
        self._server = server
        self._scope = scope
        self._receive = receive
        self._send = send
        self._started = time.perf_counter()
        self._status = 0
        self._headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]}
        given = self._headers.get("x-request-id", "")
        self._id = given if _GIVEN_ID.fullmatch(given) else secrets.token_hex(8)
        self._added = written(self._id, scope["path"])
        scope["unabridged.request_id"] = self._id

    async def run(self, app: ASGIApp) -> None:
        scope, server = self._scope, self._server
        room = None
        try:
            self._admit()
            if answer := preflight(scope["method"], self._headers, server.settings):
                await answer(scope, self._receive, self._told)
                return
            room = server.room.enter(exempt=is_public(scope["method"], scope["path"]))
            body = Body(self._receive, self._headers, server.settings, room)
            await app(scope, body.receive, self._told)
        except Problem as problem:
            await self._answer(problem)
        except Exception as error:  # noqa: BLE001 -- a caller gets an answer, whatever happened
            _log.error(
                "request %s failed: %s", self._id, _in_brief(error), exc_info=_log.isEnabledFor(logging.DEBUG)
            )
            await self._answer(Problem(500, "a fault of the server's own; its log has the request id"))
        finally:
            if room is not None:
                room.leave()
            self._told_of()

    def _admit(self) -> None:
        """Where, from where, and who."""
        scope, server = self._scope, self._server
        refuse_strangers(scope["method"], self._headers, server.settings)
        if scope["method"] == "OPTIONS" and "origin" in self._headers:
            return
        self._added = [*self._added, *shared(self._headers, server.settings)]
        if not is_public(scope["method"], scope["path"]):
            required = server.needs_keys or not is_near(scope.get("client"), self._headers)
            caller = authenticate(server.keys, self._headers, required=required)
            scope["unabridged.caller"] = caller
            told = server.meters.enter(caller)
            if told:
                self._added += [(name.encode(), value.encode()) for name, value in told.items()]

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
            message["headers"] = [*own, *(pair for pair in self._added if pair[0] not in named)]
        await self._send(message)

    def _told_of(self) -> None:
        if not _log.isEnabledFor(logging.INFO):
            return
        caller = getattr(self._scope.get("unabridged.caller"), "id", "-")
        took = (time.perf_counter() - self._started) * 1000
        # The route's pattern, not the path: a path may hold what a caller typed.
        route = getattr(self._scope.get("route"), "path", "-")
        _log.info("%s %s %d %.1f ms %s %s", self._scope["method"], route, self._status, took, caller, self._id)


def _in_brief(error: Exception) -> str:
    """Kind and place: an error's words may quote what a caller sent."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(_PACKAGE)]
    place = f" in {Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
