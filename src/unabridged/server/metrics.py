"""What the server has done since it started, for Prometheus: ``GET /metrics`` in its text format.

Counts by route and status, never by text, caller or path as typed: the labels stay few.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request  # noqa: TC002 -- FastAPI reads it at run time
from starlette.responses import Response

from unabridged.server.auth import needs
from unabridged.server.saying import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.server.room import Room

__all__ = ["Metrics", "router"]

router = APIRouter(tags=["health"])

_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
# In seconds: from what a cached text takes to what a book does.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_COUNTS = {
    "texts": "Texts that the gateway was asked for.",
    "texts_cached": "Those whose vector was known.",
    "texts_chunked": "Those that were over the model's limit.",
    "tokens": "Tokens that models billed.",
    "upstream_requests": "Requests that went to models.",
}


class Metrics:
    """The counts. One event loop writes them.

    >>> metrics = Metrics()
    >>> metrics.answered("/v1/embeddings", 200, 0.004)
    >>> metrics.embedded(texts=2, texts_cached=1)
    >>> [line for line in metrics.lines() if line.startswith("unabridged_texts_total")]
    ['unabridged_texts_total 2']
    """

    def __init__(self) -> None:
        self._answers: dict[tuple[str, int], int] = {}
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._counts = dict.fromkeys(_COUNTS, 0)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """One request has been answered."""
        key = (route, status)
        self._answers[key] = self._answers.get(key, 0) + 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = [0] * (len(_BUCKETS) + 1)
        times[bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def embedded(self, **counts: int) -> None:
        """Texts have been embedded."""
        for name, count in counts.items():
            self._counts[name] += count

    def lines(self, room: Room | None = None) -> Iterator[str]:
        """The text format, a line each."""
        yield from _head("requests_total", "counter", "Requests by route and status.")
        for (route, status), count in sorted(self._answers.items()):
            yield f'unabridged_requests_total{{route="{route}",status="{status}"}} {count}'
        yield from _head("request_seconds", "histogram", "Seconds until an answer was out.")
        for route, times in sorted(self._times.items()):
            yield from self._histogram(route, times)
        for name, about in _COUNTS.items():
            yield from _head(f"{name}_total", "counter", about)
            yield f"unabridged_{name}_total {self._counts[name]}"
        if room is not None:
            yield from _head("requests_in_flight", "gauge", "Requests that are being worked on.")
            yield f"unabridged_requests_in_flight {room.requests}"

    def _histogram(self, route: str, times: list[int]) -> Iterator[str]:
        total = 0
        for bound, count in zip((*_BUCKETS, "+Inf"), times, strict=True):
            total += count
            yield f'unabridged_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
        yield f'unabridged_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
        yield f'unabridged_request_seconds_count{{route="{route}"}} {total}'


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP unabridged_{name} {about}"
    yield f"# TYPE unabridged_{name} {kind}"


@router.get(
    "/metrics",
    summary="Counts for Prometheus",
    response_class=Response,
    dependencies=[needs(None)],
    responses={
        **told(),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "In its text format."},
    },
)
async def metrics(request: Request) -> Response:
    """Requests by route and status, their seconds, texts, tokens; a key with any right opens it."""
    server = request.app.state.server
    return Response("\n".join(server.metrics.lines(server.room)) + "\n", media_type=_FORMAT)
