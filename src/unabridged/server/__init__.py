"""The server: an OpenAI-compatible gateway, the memory's HTTP API, MCP and a page, in one application.

Needs ``pip install 'unabridged[server]'``. ``unabridged serve`` runs it; :func:`create_app` gives it to
another ASGI server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unabridged.server.app import create_app
    from unabridged.server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from unabridged.server.app import create_app

        return create_app
    if name == "ServerSettings":
        from unabridged.server.settings import ServerSettings

        return ServerSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
