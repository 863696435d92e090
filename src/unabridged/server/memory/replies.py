"""Replies of the memory API: JSON with an ETag, text by byte ranges, and what a cache may do with them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.responses import Response

from unabridged.memory.plain import plain
from unabridged.server.etags import etag_of, is_known

__all__ = ["PLAIN_TEXT", "bytes_reply", "etag_of", "json_of", "reply"]

PLAIN_TEXT = "text/plain; charset=utf-8"
# What a document says is shown, never run: no script, no style, no frame, no other type than the one said.
_INERT = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
_FRESH = {"Cache-Control": "private, no-cache"}  # may be kept by the caller alone, and is asked for again
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def reply(request: Request, data: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """``data`` as JSON; a GET has an ETag, and is answered with 304 where the caller has that already."""
    body = json_of(data)
    return _conditional(request, body, "application/json", status, dict(headers or {}))


def json_of(data: Any) -> bytes:
    """JSON by the standard library: metadata may hold whole numbers of any length, which faster ones refuse."""
    return json.dumps(plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def bytes_reply(
    request: Request, body: bytes, media_type: str, *, headers: Mapping[str, str] | None = None
) -> Response:
    """Bytes as they are stored: whole, or the range that ``Range`` asks for (206; 416 where there is none)."""
    told = {**_INERT, "Accept-Ranges": "bytes", **(headers or {})}
    whole = _conditional(request, body, media_type, 200, told)
    asked = _RANGE.fullmatch(request.headers.get("range", "").strip())
    if whole.status_code != 200 or asked is None or not _sensible(*asked.groups()) or _outdated(request, body):
        return whole
    start, end = _bounds(asked.group(1), asked.group(2), len(body))
    if start >= end:
        return Response(status_code=416, headers={**told, "Content-Range": f"bytes */{len(body)}"})
    told |= {**_FRESH, "ETag": etag_of(body), "Content-Range": f"bytes {start}-{end - 1}/{len(body)}"}
    return Response(body[start:end], status_code=206, media_type=media_type, headers=told)


def _conditional(request: Request, body: bytes, media_type: str, status: int, headers: dict[str, str]) -> Response:
    if request.method == "PATCH" and status == 200:  # the record as it is now, which a next change may name
        headers |= {"ETag": etag_of(body)}
    elif request.method in {"GET", "HEAD"} and status == 200:
        headers |= {**_FRESH, "ETag": etag_of(body)}
        if is_known(request.headers, headers["ETag"]):
            return Response(status_code=304, headers=headers)
    return Response(body, status_code=status, media_type=media_type, headers=headers)


def _outdated(request: Request, body: bytes) -> bool:
    """Whether the caller's part is of another body, so that it must have the whole (``If-Range``)."""
    given = request.headers.get("if-range")
    return given is not None and given != etag_of(body)


def _sensible(first: str, last: str) -> bool:
    """Whether a range says anything: RFC 9110 has others passed over, and the whole sent."""
    return bool(last) if not first else not last or int(first) <= int(last)


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:  # the last so many bytes
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size
