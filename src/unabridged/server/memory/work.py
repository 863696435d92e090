"""Work that takes long: in a thread of its own, told of as it goes, ended when the server stops."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

from fastapi import Request

from unabridged.advice import worded
from unabridged.errors import Cancelled, ChatError, Conflict, InputError, ProviderError, RememberFailed, UnabridgedError
from unabridged.server.advice import WORDS
from unabridged.server.faults import as_problem, no_text
from unabridged.server.problems import Problem, problem_response
from unabridged.server.state import Server

__all__ = ["EVENTS", "events", "in_thread", "wants_events"]

EVENTS = "text/event-stream"
_AT_ONCE = 16  # such pieces of work at once; each of them has up to eight model calls under way
_BEAT = 15.0  # seconds without news after which a comment keeps proxies from closing the stream

# Apart from the threads that short reads run in, so that long work never keeps them waiting.
_log = logging.getLogger("unabridged.server")
_running: set["asyncio.Task[None]"] = set()  # a task that nobody holds may be collected
_pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="unabridged-work")


def wants_events(request: Request) -> bool:
    """Whether the caller asked for server-sent events."""
    return EVENTS in request.headers.get("accept", "")


async def in_thread(server: Server, work: Callable[..., Any], *, cancellable: bool = True) -> Any:
    """Do it, and give back what it gives; what goes wrong as a problem."""
    with server.under_way() as cancel:
        call = partial(work, cancel=cancel) if cancellable else work
        try:
            return await asyncio.get_running_loop().run_in_executor(_pool, call)
        except UnabridgedError as error:
            raise problem_of(error) from None


async def events(
    server: Server, work: Callable[..., Any], answer: Callable[[Any], Any], *, keep_on: bool
) -> AsyncIterator[bytes]:
    """The work's progress as server-sent events, then ``done`` or ``error``.

    ``keep_on``: the work goes on to its end when nobody listens any more; else it stops between two steps.
    """
    loop, news, cancels = asyncio.get_running_loop(), asyncio.Queue[bytes | None](), list[threading.Event]()

    def tell(event: bytes | None) -> None:
        loop.call_soon_threadsafe(news.put_nowait, event)

    async def run() -> None:
        with server.under_way() as cancel:
            cancels.append(cancel)
            await loop.run_in_executor(_pool, _told, partial(work, cancel=cancel), answer, tell)

    _running.add(task := loop.create_task(run()))
    task.add_done_callback(_running.discard)
    try:
        while (event := await _next(news)) is not None:
            yield event
    finally:
        for cancel in () if keep_on else cancels:
            cancel.set()


def _told(work: Callable[..., Any], answer: Callable[[Any], Any], tell: Callable[[bytes | None], None]) -> None:
    """Do it, in a thread, and tell of it: the stream is open, so a caller is told there, or never."""
    try:
        done = work(progress=lambda event: tell(_event("progress", _json(asdict(event)))))
        if notes := getattr(done, "notes", ()):  # what was not done, and why; without events a header says it
            tell(_event("notes", _json(notes)))
        tell(_event("done", _json(answer(done))))
    except UnabridgedError as error:
        tell(_failed(problem_of(error)))
    except UnicodeEncodeError:
        tell(_failed(no_text()))
    except Exception as error:  # noqa: BLE001 -- nobody else would hear of it
        _log.error("remember failed: %s", type(error).__name__)
        tell(_failed(Problem(500, "a fault of the server's own; its log says which")))
    finally:
        tell(None)


async def _next(news: "asyncio.Queue[bytes | None]") -> bytes | None:
    try:
        async with asyncio.timeout(_BEAT):
            return await news.get()
    except TimeoutError:
        return b": still at it\n\n"


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()


def _failed(problem: Problem) -> bytes:
    return _event("error", bytes(problem_response(problem, path="/v1/gb").body))


def problem_of(error: UnabridgedError) -> Problem:
    """What remembering and asking can end with, beside what every part of the server knows (SPEC A13)."""
    if isinstance(error, RememberFailed):
        extra = {name: getattr(error, name) for name in ("artifact_id", "chunk", "chunks", "stored")}
        return Problem(502, worded(error, WORDS), code="chunk_failed", extra=extra)
    if isinstance(error, ChatError):
        return Problem(502, f"a model's answer cannot be used ({error.reason})", code=f"answer_{error.reason}")
    if isinstance(error, Cancelled):
        detail = "stopped before the end; the same request with its key goes on"
        return Problem(503, detail, code="stopped", headers={"retry-after": "5"})
    if isinstance(error, InputError) and str(error).startswith("idempotency_key: belongs"):
        return Problem(422, str(error), code="idempotency_key_reused", param="Idempotency-Key")
    if isinstance(error, Conflict) and str(error).startswith("idempotency_key"):
        return Problem(409, str(error), code="under_way", headers={"retry-after": "2"})
    found = as_problem(error)
    if isinstance(error, ProviderError) and found.status in {400, 404}:
        found.status = 502  # it is the model's server that refused, not this one
    return found
