"""The OpenAPI document: FastAPI's own, and for each operation all the ways in which its caller may show a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

__all__ = ["document_of"]

_BEARER = "bearer"
_METHODS = {"get", "put", "post", "delete", "patch"}
# The same key in a header of its own, as other clients send it.
_HEADERS = {
    name: {"type": "apiKey", "in": "header", "name": name, "description": f"The same key, as {whose} sends it."}
    for name, whose in {"x-api-key": "curl", "api-key": "Azure's SDK"}.items()
}


def document_of(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """What makes the document, once: ``security`` of an operation are the rights that a key must have for it."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _documented(app)
        return app.openapi_schema

    return document


def _documented(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    found["components"]["securitySchemes"] |= _HEADERS
    for item in found["paths"].values():
        for operation in (item[method] for method in _METHODS & item.keys()):
            asked = operation.get("security", [])
            rights = sorted({right for each in asked for right in each.get(_BEARER, ())})
            operation["security"] = [{scheme: rights} for scheme in (_BEARER, *_HEADERS)] if asked else []
    return found
