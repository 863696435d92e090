"""The flow: read -> plan -> request -> pool -> write, with a bounded number of shards between reading and writing.

A thread reads and cuts shards into a short queue; a runner embeds some of them at once; the caller's thread
writes and notes what comes back. So memory is that of a few shards, however large the source, and a long text
holds up only its own shard.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, Self

from unabridged.errors import RateLimited
from unabridged.jobs.embed import run_shard
from unabridged.jobs.meter import Stopped
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.answers import Answers
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard, ShardResult

__all__ = ["Flow", "Runner", "ThreadRunner", "workers_for"]

_POLL = 0.2  # seconds: how soon a cancel, or a progress line, is seen while nothing comes back
_GRACE = 30.0  # seconds that requests under way are waited for when a job ends early: they are paid for
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0  # between attempts at a provider that answers nothing
_IN_FLIGHT_BYTES = 192 << 20  # of vectors, in all shards that are embedded at once
_UNKNOWN_WIDTH = 1024
_ASKED = Fault("quota")


class Runner(Protocol):
    """Embeds shards somewhere: in threads here, in processes, on a cluster. ``workers`` are taken in hand at once."""

    workers: int

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """Begin a shard."""
        ...

    def landed(self) -> int:
        """Rows that have their vectors, of shards that are not noted."""
        ...

    def noted(self, shard: Shard) -> None:
        """The shard's result is in the journal: what was kept for it is not needed any more."""
        ...

    def halt(self) -> None:
        """Nothing more may be sent: what is under way comes back without."""
        ...

    def close(self) -> None:
        """Wait for what runs, and give back what is held."""
        ...


class ThreadRunner:
    """Shards in threads of this process, over one embedder."""

    def __init__(self, settings: JobSettings, embedder: Embedder, answers: Answers, workers: int | None = None) -> None:
        threads = workers or settings.workers or workers_for(embedder, settings)
        self.workers = threads + 1  # one waits, so that no thread does while a finished shard is written
        self._settings = settings
        self._embedder = embedder
        self._answers = answers
        self._segments: dict[int, int] = {}
        self._rows: dict[int, int] = {}
        self._pool = ThreadPoolExecutor(threads, "unabridged-job")

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """Begin a shard."""
        self._segments[id(shard)] = self._answers.begin()
        self._rows[id(shard)] = 0
        landed = partial(self._rows.__setitem__, id(shard))
        return self._pool.submit(run_shard, shard, self._settings, embedder=self._embedder, landed=landed)

    def landed(self) -> int:
        """What the threads have told."""
        return sum(list(self._rows.values()))

    def noted(self, shard: Shard) -> None:
        """Its answers are not needed any more."""
        del self._rows[id(shard)]
        self._answers.end(self._segments.pop(id(shard)))

    def halt(self) -> None:
        """The job's meter, which this process has, knows."""

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def workers_for(embedder: Embedder, settings: JobSettings) -> int:
    """How many shards to embed at once, so that as many requests fly as may: one for a model in this process."""
    if embedder.provider.host == "process" or embedder.concurrency == 1:
        return 1
    shard = settings.block_rows * (embedder.dimensions or _UNKNOWN_WIDTH) * 8  # twice: as replies, and as rows
    return max(2, min(embedder.concurrency, 16, _IN_FLIGHT_BYTES // max(shard, 1)))


@dataclass(slots=True, eq=False)
class _Try:
    """A shard under way, and how often it has been sent in vain."""

    shard: Shard
    tries: int = 0
    due: float = 0.0


class Flow:
    """Drives shards through a runner; ``note`` takes each result, in the caller's thread.

    ``halt`` is set when nothing more may be sent: the meter looks at it before each request. ``cancel`` is the
    caller's wish to end.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        note: Callable[[Shard, ShardResult], None],
        tick: Callable[[], None],
        halt: threading.Event,
        cancel: threading.Event,
        patience: float,
    ) -> None:
        self._runner = runner
        self._note = note
        self._tick = tick
        self._halt = halt
        self._cancel = cancel
        self._patience = patience
        self._flying: dict[Future[ShardResult], _Try] = {}
        self._again: list[_Try] = []
        self._answered = time.monotonic()
        self.error: BaseException | None = None

    def run(self, shards: Iterator[Shard]) -> None:
        """Everything that ``shards`` gives; raises what ended it early, when what was under way is noted."""
        self._answered = time.monotonic()
        with _Reader(shards, self._runner.workers) as reader:
            try:
                while self._begin(reader) or self._flying or self._again:
                    self._land()
                    self._tick()
                    if self._cancel.is_set() and self.error is None:
                        self._end(Stopped("the job was asked to end", _ASKED))
                    if self.error is not None:
                        break
            except BaseException as error:
                self._end(error)
                self._drain()
                raise
            self._drain()
        if self.error is not None:
            raise self.error

    def _begin(self, reader: _Reader) -> bool:
        """Fill the runner; whether there is more to read."""
        while self.error is None and len(self._flying) < self._runner.workers:
            attempt = self._due() or self._fresh(reader)
            if attempt is None:
                break
            self._flying[self._runner.submit(attempt.shard)] = attempt
        return not reader.done and self.error is None

    def _due(self) -> _Try | None:
        now = time.monotonic()
        at = next((at for at, attempt in enumerate(self._again) if attempt.due <= now), None)
        return None if at is None else self._again.pop(at)

    def _fresh(self, reader: _Reader) -> _Try | None:
        if self._again:  # the provider answers nothing: what is asked again says when it does
            return None
        shard = reader.take(_POLL if not self._flying else 0.0)
        return None if shard is None else _Try(shard)

    def _land(self) -> None:
        if not self._flying:
            if self._again:
                time.sleep(min(_POLL, max(0.0, min(each.due for each in self._again) - time.monotonic())))
            return
        landed, _ = wait(self._flying, timeout=_POLL, return_when=FIRST_COMPLETED)
        for future in landed:
            self._settle(self._flying.pop(future), future)

    def _settle(self, attempt: _Try, future: Future[ShardResult]) -> None:
        error = future.exception()
        if error is not None:
            self._end(error)
            return
        result = future.result()
        if result.stop is not None:
            self._end(result.stop)
        elif self._unanswered(result):
            self._later(attempt, result)
        else:
            self._answered = time.monotonic()
            self._note(attempt.shard, result)
            self._runner.noted(attempt.shard)

    @staticmethod
    def _unanswered(result: ShardResult) -> bool:
        """Whether the provider took nothing of a shard, for reasons that may pass."""
        refused = [row for row in result.failed if row.kind != "unreadable"]
        return not result.done and bool(refused) and all(row.passing for row in refused)

    def _later(self, attempt: _Try, result: ShardResult) -> None:
        now = time.monotonic()
        self._runner.noted(attempt.shard)
        if now - self._answered > self._patience:
            row = next(row for row in result.failed if row.passing)
            said = f"no answer for {now - self._answered:.0f} s, the last: {row.reason}"
            self._end(RateLimited(said, Fault("overloaded")))
            return
        pause = min(_FIRST_WAIT * 2**attempt.tries, _LONGEST_WAIT)
        self._again.append(_Try(attempt.shard, attempt.tries + 1, now + pause))

    def _end(self, error: BaseException) -> None:
        """Nothing more is sent; the first cause is the one that counts, but for what it brought about."""
        if self.error is None or (isinstance(self.error, Stopped) and not isinstance(error, Stopped)):
            self.error = error
        self._halt.set()
        self._runner.halt()

    def _drain(self) -> None:
        """Wait for requests under way, for a while: they are paid for. What is complete is noted."""
        until = time.monotonic() + _GRACE
        while self._flying and time.monotonic() < until:
            with contextlib.suppress(OSError):  # a full disk has been told already
                self._land()
                self._tick()
        for future in self._flying:
            future.cancel()


class _Reader:
    """A thread that reads ahead, by as many shards as are embedded at once and one more."""

    def __init__(self, shards: Iterator[Shard], workers: int) -> None:
        self._shards = shards
        self._queue: queue.Queue[Shard | BaseException | None] = queue.Queue(1 if workers == 1 else 2)
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._read, name="unabridged-reader", daemon=True)
        self.done = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._thread.join(timeout=5)

    def take(self, timeout: float) -> Shard | None:
        """The next shard; ``None`` if there is none now, or none at all (then ``done``)."""
        if self.done:
            return None
        try:
            found = self._queue.get(timeout=timeout) if timeout else self._queue.get_nowait()
        except queue.Empty:
            return None
        if isinstance(found, BaseException):
            self.done = True
            raise found
        self.done = found is None
        return found

    def _read(self) -> None:
        last: BaseException | None = None
        try:
            for shard in self._shards:
                if not self._put(shard):
                    return
        except BaseException as error:  # noqa: BLE001 it is raised in the thread that asked
            last = error
        self._put(last)

    def _put(self, item: Shard | BaseException | None) -> bool:
        while not self._left.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=0.1)
                return True
        return False
