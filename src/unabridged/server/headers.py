"""What browsers are told, and which pages may call: nothing from elsewhere, unless the settings name it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import Response

from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.server.settings import ServerSettings

__all__ = ["PAGE_POLICY", "preflight", "refuse_strangers", "shared", "written"]

Pairs = list[tuple[bytes, bytes]]

# A page of ours loads its own files and nothing else; HTML out of documents can run nothing in it.
PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS: Pairs = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
_DATA: Pairs = [*_ALWAYS, (b"content-security-policy", _DATA_POLICY.encode()), (b"cache-control", b"no-store")]
_PAGE: Pairs = [*_ALWAYS, (b"content-security-policy", PAGE_POLICY.encode())]
_DATA_PATHS = ("/v1/", "/v2/", "/api/", "/openai/", "/embed", "/info", "/mcp", "/health", "/ready", "/openapi.json")
_SAFE = {"GET", "HEAD", "OPTIONS"}
_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
_ALLOWED = "authorization, content-type, x-api-key, idempotency-key, if-match, if-none-match, mcp-session-id"
_SHOWN = "x-request-id, retry-after, etag, x-unabridged-chunked, x-unabridged-cached, mcp-session-id"


def written(request_id: str, path: str) -> Pairs:
    """The headers of every answer; a route's own of the same name win."""
    return [(b"x-request-id", request_id.encode()), *(_DATA if path.startswith(_DATA_PATHS) else _PAGE)]


def refuse_strangers(method: str, headers: Mapping[str, str], settings: ServerSettings) -> None:
    """Refuse a request for another host, and one that a page from elsewhere sends.

    Without keys, a browser on this machine is all that a page needs to get in: by a name of its own that
    points here, or by a form that posts here.
    """
    host = headers.get("host", "")
    if settings.hosts is not None and not _is_among(host, settings.hosts):
        raise Problem(421, "this server does not answer for that host; see server.allowedHosts", code="unknown_host")
    origin = headers.get("origin")
    # By host alone: behind a proxy that speaks TLS the scheme is not ours to know.
    if origin is not None and origin.partition("://")[2] != host and not _is_allowed(origin, settings):
        raise Problem(403, "pages of that origin may not call; see server.corsOrigins", code="origin_forbidden")
    if origin is None and method not in _SAFE and headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
        raise Problem(403, "pages from elsewhere may not call; see server.corsOrigins", code="origin_forbidden")


def preflight(method: str, headers: Mapping[str, str], settings: ServerSettings) -> Response | None:
    """The answer to a browser that asks before it calls."""
    if method != "OPTIONS" or "access-control-request-method" not in headers:
        return None
    about = {name.decode(): value.decode() for name, value in shared(headers, settings)}
    about |= {"access-control-allow-methods": _METHODS, "access-control-allow-headers": _ALLOWED}
    return Response(status_code=204, headers={**about, "access-control-max-age": "600"})


def shared(headers: Mapping[str, str], settings: ServerSettings) -> Pairs:
    """What lets a page of a named origin read the answer."""
    origin = headers.get("origin")
    if origin is None or not _is_allowed(origin, settings):
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _SHOWN.encode()),
        (b"cross-origin-resource-policy", b"cross-origin"),
        (b"vary", b"Origin"),
    ]


def _is_allowed(origin: str, settings: ServerSettings) -> bool:
    return origin in (settings.cors_origins or ())


def _is_among(host: str, names: tuple[str, ...]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return "*" in names or name in names or f"[{name}]" in names
