"""The web page at ``/``: the files of the package, sent so that nothing out of a document can run.

Comments of scripts that have lines of their own stay at home: they are a sixteenth of what would travel.

The files stand under a folder of the address that changes when they do, so that a browser asks for each once.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response

from unabridged.errors import MissingExtra
from unabridged.memory.dataset import Lake
from unabridged.server.etags import is_known
from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from importlib.resources.abc import Traversable

__all__ = ["POLICY", "router"]

# Own files alone; no inline script or style; no markup made of strings (trusted types).
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
}
_COMMENT = re.compile(rb"^[ \t]*(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/)$", re.MULTILINE)
_MARK = b"@version@"  # in index.html, where the folder of the other files stands
_ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
}
_ONCE = {"Cache-Control": "public, max-age=31536000, immutable"}
_ASK = {"Cache-Control": "no-cache"}
_METHODS = ["GET", "HEAD"]


@contextlib.asynccontextmanager
async def _living(_: FastAPI) -> AsyncIterator[None]:
    """From the start on, what the first look at a memory needs is imported: it takes a second of CPU time."""
    importing = asyncio.create_task(asyncio.to_thread(_import_store))
    try:
        yield
    finally:
        await importing


def _import_store() -> None:
    with contextlib.suppress(MissingExtra):  # whoever asks a memory is told what is missing
        Lake("memory://")


router = APIRouter(include_in_schema=False, lifespan=_living)


@dataclass(frozen=True, slots=True)
class _Asset:
    """One file: its bytes, packed as well, and what tells its state."""

    body: bytes = field(repr=False)
    packed: bytes = field(repr=False)
    media_type: str
    etag: str


@cache
def assets() -> tuple[str, Mapping[str, _Asset]]:
    """The version of all files together, and each of them by its path."""
    found = dict(_walk(files("unabridged") / "web", ""))
    version = hashlib.sha256(b"".join(found[name] for name in sorted(found))).hexdigest()[:12]
    found["index.html"] = found["index.html"].replace(_MARK, version.encode())
    return version, {name: _asset(name, body) for name, body in found.items()}


def _walk(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        name = f"{path}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        elif name.rpartition(".")[2] in _TYPES:
            yield name, entry.read_bytes()


def _asset(name: str, body: bytes) -> _Asset:
    kind = _TYPES[name.rpartition(".")[2]]
    if name.endswith(".js"):
        body = _COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), body)  # every line keeps its number
    return _Asset(body, gzip.compress(body, 6, mtime=0), kind, f'"{hashlib.sha256(body).hexdigest()[:16]}"')


@router.api_route("/", methods=_METHODS)
@router.api_route("/index.html", methods=_METHODS)
async def _index(request: Request) -> Response:
    return _sent(request, "index.html", _ASK)


@router.api_route("/assets/{version}/{path:path}", methods=_METHODS)
async def _file(request: Request, version: str, path: str) -> Response:
    return _sent(request, path, _ONCE if version == assets()[0] else _ASK)


@router.api_route("/favicon.ico", methods=_METHODS)
async def _icon(request: Request) -> Response:
    return _sent(request, "icon.svg", _ASK)


def _sent(request: Request, path: str, keep: Mapping[str, str]) -> Response:
    asset = assets()[1].get(path)
    if asset is None:
        raise Problem(404, "the page has no such file", code="not_found")
    headers = {**_ALWAYS, **keep, "ETag": asset.etag}
    if is_known(request.headers, asset.etag):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, media_type=asset.media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.body, media_type=asset.media_type, headers=headers)
