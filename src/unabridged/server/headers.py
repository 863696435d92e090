"""What browsers are told, and which pages may call: nothing from elsewhere, unless the settings name it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.responses import Response

from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.server.settings import ServerSettings

__all__ = ["PAGE_POLICY", "Strangers", "written"]

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
_DATA_PATHS = (
    "/v1/",
    "/v2/",
    "/api/",
    "/openai/",
    "/embed",
    "/info",
    "/mcp",
    "/health",
    "/ready",
    "/metrics",
    "/openapi.json",
)
_SAFE = {"GET", "HEAD", "OPTIONS"}
_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
_ALLOWED = (
    "authorization, content-type, x-api-key, idempotency-key, if-match, if-none-match, mcp-session-id, "
    "if-range, mcp-protocol-version, range"
)
_SHOWN = (
    "x-request-id, retry-after, etag, x-unabridged-chunked, x-unabridged-chunks, x-unabridged-cached, "
    "x-unabridged-requests, x-unabridged-unknown, mcp-session-id, accept-ranges, content-range, "
    "idempotent-replayed, x-unabridged-notes, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, "
    "x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens"
)


def written(path: str) -> Pairs:
    """The headers of every answer under a path; a route's own of the same name win."""
    return _DATA if path.startswith(_DATA_PATHS) else _PAGE


class Strangers:
    """Who is no stranger: requests for one of the server's own hosts, from its own pages or those named.

    Without keys, a browser on this machine is all that a page elsewhere needs to get in: by a name of its
    own that points here, or by a form that posts here.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._hosts = settings.hosts
        self._origins = frozenset(settings.cors_origins or ())

    def refuse(self, method: str, headers: Mapping[str, str]) -> None:
        """Raise problem 421 for another host, 403 for a page from elsewhere."""
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts and "*" not in self._hosts:
            detail = "this server does not answer for that host; see server.allowedHosts"
            raise Problem(421, detail, code="unknown_host")
        origin = headers.get("origin")
        if origin is not None:
            # By host alone: behind a proxy that speaks TLS the scheme is not ours to know.
            near = origin.partition("://")[2] == host or origin in self._origins
        else:
            near = method in _SAFE or headers.get("sec-fetch-site") not in {"cross-site", "same-site"}
        if not near:
            detail = "pages of that origin may not call; see server.corsOrigins"
            raise Problem(403, detail, code="origin_forbidden")

    def preflight(self, headers: Mapping[str, str]) -> Response | None:
        """The answer to a browser that asks before it calls."""
        if "access-control-request-method" not in headers:
            return None
        about = {name.decode(): value.decode("latin-1") for name, value in self.shared(headers)}
        about |= {"access-control-allow-methods": _METHODS, "access-control-allow-headers": _ALLOWED}
        return Response(status_code=204, headers={**about, "access-control-max-age": "600"})

    def shared(self, headers: Mapping[str, str]) -> Pairs:
        """What lets a page of a named origin read the answer."""
        origin = headers.get("origin", "")
        if origin not in self._origins:
            return []
        return [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", _SHOWN.encode()),
            (b"cross-origin-resource-policy", b"cross-origin"),
            (b"vary", b"Origin"),
        ]


@lru_cache(maxsize=256)
def _name(host: str) -> str:
    """The name in a Host header, without its port; brackets stay around an address of version 6."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return f"[{name}]" if ":" in name else name
