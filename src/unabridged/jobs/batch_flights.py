"""Batches under way: one thread that fills files, starts batches, looks at them, and hands out answers.

Whoever asks waits on a future. All shared state is behind one lock, which is never held while the network
is spoken to.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unabridged.errors import JobError, ProviderError
from unabridged.jobs.batch_asks import Ask, Line
from unabridged.jobs.batch_book import BookedLine
from unabridged.providers import retry
from unabridged.providers.batches import BatchItem, BatchResult, BatchState
from unabridged.providers.replies import bad_reply
from unabridged.types import Fault, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from unabridged.jobs.batch_book import BatchBook, BookedBatch
    from unabridged.providers.batches import BatchApi, BatchLimits
    from unabridged.types import Vector

__all__ = ["Dispatcher", "waiting_ended"]

_KEPT_AT_ONCE = 500  # answers a transaction
_SLOWER = 1.5  # each look at a batch waits so much longer than the one before
# Refusals for want of room: the same file is taken once another batch is over, or a smaller one is.
_CROWDED = frozenset({"rate_limit", "rate_limit_impossible", "overloaded"})
_SHORTEST_WAIT = 0.005


@dataclass(slots=True, eq=False)
class _Flight:
    """A batch that was created; ``items`` have no texts where it was found in the book."""

    key: str
    id: str
    file: str | None
    lines: dict[str, Line]
    started: float
    due: float
    interval: float

    @property
    def items(self) -> tuple[BatchItem, ...]:
        return tuple(BatchItem(name, line.request) for name, line in self.lines.items())


class Dispatcher:
    """Fills, starts, watches and collects batches, on a thread of its own that begins with the first request."""

    def __init__(
        self,
        api: BatchApi,
        book: BatchBook,
        lock: threading.Lock,
        limits: BatchLimits,
        linger: float,
        poll: tuple[float, float],
        patience: float,
        *,
        tidy: bool,
        watch: Callable[[BatchState], None] | None,
    ) -> None:
        self._api, self._book, self._limits = api, book, limits
        self._linger, self._poll, self._patience, self._tidy = linger, poll, patience, tidy
        self._watch = watch or _unwatched
        self._changed = threading.Condition(lock)
        self._waiting: dict[bytes, list[Ask]] = {}
        self._under_way: set[bytes] = set()
        self._queue: deque[Line] = deque()
        self._queued = (0, 0)  # inputs and bytes in the queue
        self._last = 0.0
        self._held = False  # the provider takes no more batches until one of ours is over
        self._most = limits.inputs
        self._flights: list[_Flight] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        self._unfinished = [one for one in book.batches() if one.stage in {"prepared", "uploaded", "created"}]
        for one in self._unfinished:
            self._under_way.update(key for line in book.lines(one.key) for key in line.texts)

    def add(self, ask: Ask, request: Request, keys: Sequence[bytes]) -> None:
        """Queue what is new of a request; the lock is held. ``request.texts`` are those of ``keys``."""
        ask.settings = replace(request, texts=())
        fresh: dict[bytes, str] = {}
        for key, text in zip(keys, request.texts, strict=True):
            ask.texts[key] = text
            self._waiting.setdefault(key, []).append(ask)
            if key not in self._under_way:
                fresh[key] = text
        if fresh:
            self._push(Line.of(tuple(fresh), replace(request, texts=tuple(fresh.values()))))
        if self._closed:
            self._fail(keys, waiting_ended())
        self._start()
        self._changed.notify()

    def close(self) -> None:
        """End the thread; what waits is told that it waits no longer."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        with self._changed:
            self._fail(list(self._waiting), waiting_ended())

    # The thread.

    def _start(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="unabridged-batches", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self._resume()
            while not self._closed:
                lines, flight = self._next()
                if lines:
                    self._launch(lines)
                elif flight is not None:
                    self._look(flight)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            with self._changed:
                self._closed = True
                self._fail(list(self._waiting), error)

    def _next(self) -> tuple[list[Line], _Flight | None]:
        """The lines of a file that is to go, or a batch that is to be looked at, or a pause."""
        with self._changed:
            now = time.monotonic()
            held = self._held and bool(self._flights)
            quiet = self._last + self._linger - now
            if self._queue and not held and not self._closed and (quiet <= 0 or self._is_full()):
                return self._take(), None
            flight = min(self._flights, key=lambda one: one.due, default=None)
            if flight is not None and flight.due <= now:
                return [], flight
            waits = [flight.due - now] if flight is not None else []
            waits += [quiet] if self._queue and not held else []
            if not self._closed:
                self._changed.wait(max(min(waits), _SHORTEST_WAIT) if waits else None)
        return [], None

    def _is_full(self) -> bool:
        inputs, size = self._queued
        return inputs >= self._most or len(self._queue) >= self._limits.requests or size >= self._limits.bytes

    def _take(self) -> list[Line]:
        """As many lines of one role and width as a file may hold."""
        inputs, size, taken, left = self._most, self._limits.bytes, list[Line](), deque[Line]()
        settings = _settings(self._queue[0])
        for line in self._queue:
            fits = len(line.keys) <= inputs and line.size <= size and len(taken) < self._limits.requests
            if (fits or not taken) and _settings(line) == settings:
                taken.append(line)
                inputs, size = inputs - len(line.keys), size - line.size
            else:
                left.append(line)
                inputs = 0 if _settings(line) == settings else inputs  # in order: nothing overtakes
        self._queue = left
        self._weigh()
        return taken

    def _launch(self, lines: list[Line]) -> None:
        key = secrets.token_hex(16)
        named = {f"r{at}": line for at, line in enumerate(lines)}
        items = tuple(BatchItem(name, line.request) for name, line in named.items())
        content = b"".join(part + b"\n" for item in items for part in self._api.lines(item))
        booked = [BookedLine(n, x.request.role, x.request.dimensions, x.keys) for n, x in named.items()]
        self._book.prepare(key, booked, size=len(content))
        try:
            file = retry.call(lambda: self._api.upload(content, f"unabridged-{key}.jsonl"))
            self._book.move(key, "uploaded", file=file)
            state = self._create(file, items, key)
        except ProviderError as error:
            self._book.move(key, "abandoned", detail=error.fault.kind)
            self._refused(lines, error)
            return
        self._book.move(key, "created", id=state.id)
        self._fly(_Flight(key, state.id, file, named, time.time(), 0.0, self._poll[0]))
        self._watch(state)

    def _create(self, file: str, items: tuple[BatchItem, ...], key: str) -> BatchState:
        """Create a batch once: a call without an answer may have arrived, so it is looked for before the next."""
        tried = False

        def create() -> BatchState:
            nonlocal tried
            found = self._api.find(key) if tried else None
            tried = True
            return found or self._api.create(file, items, key=key)

        return retry.call(create)

    def _resume(self) -> None:
        """Go on with the batches of a run before this one; texts of those that never began are new."""
        lost = dict.fromkeys(key for one in self._unfinished for key in self._take_up(one))
        flying = {key for flight in self._flights for line in flight.lines.values() for key in line.keys}
        with self._changed:
            self._again(key for key in lost if key not in flying)

    def _take_up(self, one: BookedBatch) -> list[bytes]:
        """Find a batch again, or give back the keys of its texts."""
        lines = {
            line.id: Line(line.texts, Request(("",) * len(line.texts), line.role, line.dimensions))
            for line in self._book.lines(one.key)
        }
        found = one.id
        if found is None and one.stage == "uploaded":
            state = retry.call(lambda: self._api.find(one.key))
            found = None if state is None else state.id
        if found is None:  # it never began
            self._book.move(one.key, "abandoned", detail="not created")
            self._tidy_up(one.file)
            return [key for line in lines.values() for key in line.keys]
        self._book.move(one.key, "created", id=found)
        self._fly(_Flight(one.key, found, one.file, lines, one.started, 0.0, self._poll[0]))
        return []

    def _fly(self, flight: _Flight) -> None:
        flight.due = time.monotonic() + flight.interval
        with self._changed:
            self._flights.append(flight)

    def _look(self, flight: _Flight) -> None:
        try:
            state = self._api.check(flight.id)
        except ProviderError as error:
            if not retry.may_retry(error.fault):
                self._give_up(flight, error)  # it stays in the book: with a key that is right, it is taken up
                return
            state = BatchState(flight.id, "running")
        self._watch(state)
        if state.status != "running":
            self._collect(flight, state)
        elif time.time() - flight.started > self._patience:
            message = f"the batch {flight.id} is not over after {self._patience / 3600:.3g} h; the next run looks again"
            self._give_up(flight, JobError(message))
        else:
            flight.interval = min(flight.interval * _SLOWER, self._poll[1])
            flight.due = time.monotonic() + flight.interval

    def _give_up(self, flight: _Flight, error: Exception) -> None:
        with self._changed:
            self._flights.remove(flight)
            self._fail([key for line in flight.lines.values() for key in line.keys], error)

    def _collect(self, flight: _Flight, state: BatchState) -> None:
        """Store what was answered, then tell who waits, then forget the batch on both sides."""
        try:
            errors = retry.call(lambda: self._gather(flight, state))
        except ProviderError as error:
            self._book.move(flight.key, "abandoned", status=state.status, detail=error.fault.kind)
            self._give_up(flight, error)
            return
        self._book.move(flight.key, "collected", status=state.status)
        with self._changed:
            self._flights.remove(flight)
            self._held = False
        if state.error is not None and state.error.fault.kind in _CROWDED:
            self._refused(list(flight.lines.values()), state.error)
        else:
            for name, line in flight.lines.items():
                self._settle(flight, line, errors.get(name), state)
        self._tidy_up(flight.file, *state.files)

    def _gather(self, flight: _Flight, state: BatchState) -> dict[str, ProviderError]:
        """Every answer into the book; the refusals by the ids of their requests."""
        errors: dict[str, ProviderError] = {}
        kept: list[tuple[bytes, Vector, int | None]] = []
        for result in self._api.results(state, flight.items, self._book.path.parent):
            keys = flight.lines[result.id].keys
            if isinstance(result.answer, ProviderError):
                errors.setdefault(result.id, _placed(result.answer, result.at))
                continue
            kept += _answers(result, keys)
            if len(kept) >= _KEPT_AT_ONCE:
                self._book.keep(kept)
                kept = []
        self._book.keep(kept)
        return errors

    def _settle(self, flight: _Flight, line: Line, error: ProviderError | None, state: BatchState) -> None:
        found = self._book.answers(line.keys)
        missing = [key for key in line.keys if key not in found]
        with self._changed:
            for key, answer in found.items():
                self._under_way.discard(key)
                for ask in self._waiting.pop(key, ()):
                    ask.take(key, answer)
            if missing:
                self._fail(missing, error or state.error or _unanswered(flight.id, state), line.keys)

    def _refused(self, lines: list[Line], error: ProviderError) -> None:
        """A file was refused: for want of room, it goes again later or smaller; else its texts have failed."""
        inputs = sum(len(line.keys) for line in lines)
        with self._changed:
            again = error.fault.kind in _CROWDED and (bool(self._flights) or len(lines) > 1)
            if not again:
                self._fail([key for line in lines for key in line.keys], error)
                return
            self._held = bool(self._flights)
            if not self._held:
                self._most = max(inputs // 2, 1)
            if any(line.size for line in lines):
                self._queue.extendleft(reversed(lines))
                self._weigh()
            else:  # of a run before this one: only who asked has the texts
                self._again([key for line in lines for key in line.keys])

    # With the lock held.

    def _push(self, line: Line) -> None:
        self._under_way.update(line.keys)
        self._queue.append(line)
        self._queued = self._queued[0] + len(line.keys), self._queued[1] + line.size
        self._last = time.monotonic()

    def _weigh(self) -> None:
        self._queued = sum(len(line.keys) for line in self._queue), sum(line.size for line in self._queue)

    def _again(self, keys: Iterable[bytes]) -> None:
        """Texts that were thought to be under way are not: queue those that somebody waits for."""
        for key in keys:
            self._under_way.discard(key)
            asks = self._waiting.get(key)
            if asks:
                self._push(Line.of((key,), replace(asks[0].settings, texts=(asks[0].texts[key],))))

    def _fail(self, keys: Sequence[bytes], error: Exception, line: tuple[bytes, ...] = ()) -> None:
        for key in keys:
            self._under_way.discard(key)
            for ask in self._waiting.pop(key, ()):
                ask.fail(error, line or ask.keys)

    def _tidy_up(self, *files: str | None) -> None:
        if self._tidy:
            for name in filter(None, files):
                with contextlib.suppress(ProviderError):  # files go by themselves some day
                    self._api.discard((name,))


def _unwatched(_: BatchState) -> None:
    """Nobody looks."""


def _settings(line: Line) -> tuple[str, int | None]:
    return line.request.role, line.request.dimensions


def _answers(result: BatchResult, keys: tuple[bytes, ...]) -> list[tuple[bytes, Vector, int | None]]:
    """A reply's rows by text; its tokens are shared out, the rest goes to the first."""
    reply = result.answer
    assert isinstance(reply, Reply)  # noqa: S101
    named = keys if result.at is None else keys[result.at : result.at + 1]
    if reply.tokens is None:
        return [(key, vector, None) for key, vector in zip(named, reply.vectors, strict=True)]
    each, rest = divmod(reply.tokens, len(named))
    counts = [each + rest] + [each] * (len(named) - 1)
    return list(zip(named, reply.vectors, counts, strict=True))


def _placed(error: ProviderError, at: int | None) -> ProviderError:
    """The refusal of one text of a request names its position."""
    if at is None:
        return error
    return type(error)(str(error), replace(error.fault, indices=(at,), scope="input"), body=error.body)


def _unanswered(batch: str, state: BatchState) -> Exception:
    if state.status == "expired":
        return ProviderError(f"the batch {batch} expired before this request", Fault("timeout"))
    if state.status == "cancelled":
        return JobError(f"the batch {batch} was cancelled; what it had answered is kept, run the job again to go on")
    return bad_reply(f"no answer for a request of the batch {batch}", provider="batch")


def waiting_ended() -> JobError:
    """Nobody waits for the batches any more."""
    return JobError("waiting for the batch was ended; it goes on, and is taken up by the next run of the job")
