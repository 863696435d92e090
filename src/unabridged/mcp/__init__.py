"""MCP: the memory as tools and resources for agents (``pip install 'unabridged[mcp]'``).

``unabridged mcp`` serves them over stdio; ``unabridged serve`` over streamable HTTP, at ``/mcp``.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["create_server", "mount", "run_stdio"]


def mount(app: FastAPI) -> None:
    """Serve MCP at ``/mcp`` of an application, for as long as it lives; not where the extra is not installed."""
    if find_spec("mcp") is None:
        return
    from unabridged.mcp.http import Endpoint

    endpoint = Endpoint(app.state.server)
    app.router.routes.append(endpoint.route())
    app.state.lives = [*getattr(app.state, "lives", ()), endpoint.life]


def __getattr__(name: str) -> Any:
    if name in {"create_server", "run_stdio"}:
        return getattr(_service(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _service() -> Any:
    if find_spec("mcp") is None:
        from unabridged.errors import MissingExtra

        raise MissingExtra("mcp", "mcp")
    from unabridged.mcp import service

    return service
