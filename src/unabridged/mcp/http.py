"""MCP over streamable HTTP, as one route of an application; who calls, and from where, its frame has checked."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.routing import Route

from unabridged.mcp.place import Hosted
from unabridged.mcp.service import create_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Endpoint"]

PATH = "/mcp"


class Endpoint:
    """The route, and the server behind it while the application lives.

    Each request stands by itself (no session is kept), so any number of workers may serve one client.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._serving: ASGIApp | None = None

    def route(self) -> Route:
        """The route, for every method of the protocol."""
        return Route(PATH, self, methods=["GET", "POST", "DELETE"], include_in_schema=False)

    @asynccontextmanager
    async def life(self) -> AsyncIterator[None]:
        """Serve while this is open; a server of the protocol's own runs once."""
        made = create_server(Hosted(self._server))
        app = made.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=self._server.settings.max_body_bytes,
            # The frame refuses strange hosts and origins, by the settings of the whole server.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with made.session_manager.run():
            self._serving = app
            try:
                yield
            finally:
                self._serving = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if self._serving is None:
            await Response(status_code=503)(scope, receive, send)
            return
        await self._serving(scope, receive, send)
