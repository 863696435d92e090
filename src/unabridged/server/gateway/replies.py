"""Vectors -> an answer's bytes. A large answer goes out in pieces, as fast as the client takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse

from unabridged.server.wire import dumps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from unabridged.server.hot import Warm

__all__ = ["listed", "sent"]

_JSON = "application/json"
_AT_ONCE = 1 << 18  # numbers: up to here an answer is made whole, in a few milliseconds
_A_PIECE = 1 << 15  # numbers in a piece of a larger one


def sent(body: Any, headers: Mapping[str, str], status: int = 200) -> Response:
    """A small answer."""
    return Response(dumps(body), status, dict(headers), media_type=_JSON)


def listed(
    head: bytes,
    rows: Sequence[Warm],
    shape: Callable[[int, Warm], Any],
    tail: bytes,
    headers: Mapping[str, str],
) -> Response:
    """An answer with a list of rows between ``head`` and ``tail``; ``shape`` makes what stands for a row."""
    width = max(1, len(rows[0].vector)) if rows else 1
    if len(rows) * width <= _AT_ONCE:
        inside = b",".join([dumps(shape(at, row)) for at, row in enumerate(rows)])
        return Response(b"".join((head, inside, tail)), 200, dict(headers), media_type=_JSON)
    pieces = _pieces(head, rows, shape, tail, max(1, _A_PIECE // width))
    return StreamingResponse(_flowing(pieces), 200, dict(headers), media_type=_JSON)


def _pieces(
    head: bytes, rows: Sequence[Warm], shape: Callable[[int, Warm], Any], tail: bytes, several: int
) -> Iterator[bytes]:
    yield head
    for start in range(0, len(rows), several):
        inside = b",".join([dumps(shape(start + at, row)) for at, row in enumerate(rows[start : start + several])])
        yield b"," + inside if start else inside
    yield tail


async def _flowing(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
