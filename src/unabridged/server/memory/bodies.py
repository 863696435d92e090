"""Bodies that are no JSON: read up to a limit, never beyond it."""

import tempfile
from collections.abc import AsyncIterator, Callable
from typing import Any, BinaryIO

from fastapi import Depends, Request

from unabridged.server.problems import Problem

__all__ = ["body_of", "spooled", "too_large"]

_IN_MEMORY = 1 << 20  # of an upload; what is longer lies in a file that has no name


def too_large(size: int | None, limit: int, what: str) -> Problem:
    """The answer to what is over a limit in bytes."""
    found = "more" if size is None else f"{size:,} bytes"
    return Problem(413, f"{what}: {found}, over the limit of {limit:,} bytes", code="too_large")


def body_of(limit: int) -> Any:
    """A dependency: the whole body of a request, at most ``limit`` bytes of it."""
    return Depends(_reader(limit))


def _reader(limit: int) -> Callable[[Request], Any]:
    async def read(request: Request) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise too_large(None, limit, "body")
            parts.append(part)
        return b"".join(parts)

    return read


async def spooled(request: Request) -> AsyncIterator[BinaryIO]:
    """A dependency: the body in a file of its own, gone when the request is done."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        async for part in request.stream():
            file.write(part)
        file.seek(0)
        yield file  # type: ignore[misc]
