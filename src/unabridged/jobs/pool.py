"""Shards in processes of this machine: for models that run here, and where one process is not enough to send.

Each worker is a fresh process (spawn) with an embedder of its own; it keeps its answers and counts its requests
in the job's folder as the job's own process does, so that a budget holds over all of them and a kill costs
nothing that was paid. Shards go out in pieces of some full requests, several to a worker at once, so that it is
never without work between two, and the last of a job are shared evenly. While the workers start, this process
sends in the place of one of them, if the model is elsewhere. A worker that dies is replaced, and its pieces are
sent again, each alone.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import threading
from collections import deque
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from unabridged.embedding.batching import DEFAULT_INPUTS
from unabridged.errors import ConfigError, JobError
from unabridged.jobs.embed import run_shard
from unabridged.jobs.flow import workers_for
from unabridged.jobs.meter import Stopped
from unabridged.jobs.pool_worker import Kind, work
from unabridged.jobs.shard import ShardResult, joined, pieces
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.answers import Answers
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard

__all__ = ["PoolRunner", "processes"]

_LOSSES = 3  # times that one piece may be in hand of a worker that dies, or that a worker may die as it starts
_ROUNDS = 3  # full requests of a piece for each that may fly: what is between two pieces is a small part of them
_SHARDS = 16  # in hand at once, but for two a process: they lie in memory
_SECONDS_TO_END = 10.0  # that a worker has to close its files


def processes(count: int | None = None) -> Callable[[JobSettings, Embedder, Answers], PoolRunner]:
    """The ``runner`` of :func:`~unabridged.jobs.job.run_job` for so many processes (default: one for each core).

    >>> processes(0)
    Traceback (most recent call last):
    unabridged.errors.ConfigError: processes: found 0, expected at least 1
    """
    wanted = (os.cpu_count() or 1) if count is None else count
    if wanted < 1:
        raise ConfigError("processes", f"found {wanted}, expected at least 1")

    def make(settings: JobSettings, embedder: Embedder, answers: Answers) -> PoolRunner:
        return PoolRunner(settings, embedder, answers, wanted)

    return make


@dataclass(slots=True, eq=False)
class _Open:
    """A shard under way, and what has become of its pieces so far."""

    shard: Shard
    future: Future[ShardResult]
    results: list[ShardResult | None]
    rows: list[int] = field(init=False)  # of each piece, that have their vectors

    def __post_init__(self) -> None:
        self.rows = [0] * len(self.results)

    def landed(self, at: int, result: ShardResult) -> None:
        self.results[at], self.rows[at] = result, 0 if result.stop else result.rows
        whole = [each for each in self.results if each is not None]
        if len(whole) == len(self.results):
            with contextlib.suppress(InvalidStateError):  # the job has ended, and nobody waits
                self.future.set_result(joined(whole))

    def failed(self, error: BaseException) -> None:
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


@dataclass(slots=True, eq=False)
class _Piece:
    """Some rows of a shard, and in how many workers' hands it was when they died."""

    of: _Open
    at: int
    shard: Shard
    losses: int = 0


@dataclass(slots=True, eq=False)
class _Worker:
    """One process, from its start to its end, and the pieces that it has in hand."""

    process: SpawnProcess
    line: Connection
    ready: bool = False
    hand: dict[int, _Piece] = field(default_factory=dict)
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, message: object) -> None:
        with self.mutex, contextlib.suppress(OSError):  # it is gone: whoever listens to it notices
            self.line.send(message)


class PoolRunner:
    """A :class:`~unabridged.jobs.flow.Runner` over processes. Settings must be picklable."""

    def __init__(self, settings: JobSettings, embedder: Embedder, answers: Answers, count: int = 1) -> None:
        self._settings, self._embedder, self._answers, self._count = settings, embedder, answers, count
        self._threads = workers_for(embedder, settings)
        self.workers = min(count * (self._threads + 1), max(_SHARDS, 2 * count))
        self._flying = embedder.concurrency * (embedder.limit.request_inputs or DEFAULT_INPUTS)  # rows, at the most
        self._rows = _ROUNDS * self._flying
        self._mutex = threading.RLock()
        self._waiting: deque[_Piece] = deque()
        self._numbers = itertools.count()
        self._pids: set[int] = set()
        self._open: dict[int, _Open] = {}
        self._false_starts = 0
        self._error: BaseException | None = None
        self._closed = False
        self._here = None if embedder.provider.host == "process" else _Here(settings, embedder, answers, self._threads)
        self._workers = [self._started() for _ in range(count)]

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """Begin a shard."""
        cut = list(pieces(shard, self._rows))
        opened = _Open(shard, Future(), [None] * len(cut))
        with self._mutex:
            self._open[id(shard)] = opened
            if self._error is not None:
                opened.failed(self._error)
                return opened.future
            self._waiting += [_Piece(opened, at, piece) for at, piece in enumerate(cut)]
        self._feed()
        return opened.future

    def landed(self) -> int:
        """What the processes have told."""
        with self._mutex:
            return sum(sum(opened.rows) for opened in self._open.values())

    def noted(self, shard: Shard) -> None:
        """One shard less whose answers are needed; its workers find that in the journal."""
        with self._mutex:
            self._open.pop(id(shard), None)
            if self._here is not None:
                self._here.noted(shard)

    def halt(self) -> None:
        """Workers send nothing more; what waits here is given back, once what is under way of its shard is in."""
        with self._mutex:
            waiting, self._waiting = list(self._waiting), deque()
            workers = list(self._workers)
        for worker in workers:
            worker.tell((Kind.HALT, None))
        for piece in waiting:
            stop = Stopped("the job was asked to end", Fault("quota"))
            piece.of.landed(piece.at, ShardResult(piece.shard.part, piece.shard.first, len(piece.shard), stop=stop))

    def close(self) -> None:
        """Let the processes go, and remove their answers if all of them are noted.

        Where the job ends early, what was under way has been waited for: the processes are ended, and what they
        were paid for lies in their answers.
        """
        with self._mutex:
            self._closed = True
            workers = list(self._workers)
        if self._here is not None:
            self._here.close()
        for worker in workers:
            worker.tell((Kind.END, None))
            if self._open:
                worker.process.terminate()
        for worker in workers:
            worker.process.join(_SECONDS_TO_END)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
            worker.line.close()
        if not self._open:
            for path in self._answers.place.glob("*.answers"):
                if _writer(path) in self._pids:
                    path.unlink(missing_ok=True)

    def _started(self) -> _Worker:
        """A new process. A forked child would inherit this one's threads' locks and sockets; this begins anew."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, self._settings, self._threads), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._pids.add(process.pid or 0)
        threading.Thread(target=self._listen, args=(worker,), name="unabridged-worker", daemon=True).start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        """What a worker says, until it is gone."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                kind, number, value = worker.line.recv()
                if kind is Kind.READY:
                    self._false_starts, worker.ready = 0, True
                elif kind is Kind.REFUSED:  # it could not open its embedder, and no other could
                    self._give_up(value)
                elif kind is Kind.LANDED:
                    piece = worker.hand[number]
                    piece.of.rows[piece.at] = value
                    continue
                else:
                    piece = worker.hand.pop(number)
                    piece.of.landed(piece.at, value) if kind is Kind.DONE else piece.of.failed(value)
                self._feed()
        self._gone(worker)

    def _feed(self) -> None:
        """Hand out what waits. It is sent outside of the lock: a worker takes its time to unpack."""
        with self._mutex:
            given = list(self._given())
        for worker, number, piece in given:
            worker.tell((Kind.PIECE, (number, piece.of.shard.first, piece.shard)))

    def _given(self) -> Iterator[tuple[_Worker, int, _Piece]]:
        while self._waiting:
            piece = self._waiting[0]
            worker = self._free(alone=piece.losses > 0)
            if worker is not None:
                number = next(self._numbers)
                worker.hand[number] = self._waiting.popleft()
                yield worker, number, piece
            elif self._here is not None and self._here.takes(self._sending):
                self._here.embed(self._waiting.popleft(), self._feed)
            else:
                return

    @property
    def _sending(self) -> bool:
        """Whether every worker is there to send."""
        return all(worker.ready for worker in self._workers)

    def _free(self, *, alone: bool) -> _Worker | None:
        """The worker with the least in hand, if it can take one more.

        As long as this process sends in the place of one, one of them waits; whose piece has been in the hand of a
        worker that died gets no other beside it, so that it is known which one it was.
        """
        ready = [worker for worker in self._workers if worker.ready and not _suspect(worker)]
        if self._here is not None and self._here.busy and len(ready) == self._count:
            ready = [worker for worker in ready if worker.hand] or ready[1:]
        least = min(ready, key=_rows_of, default=None)
        if least is None or (alone and least.hand):
            return None
        # Enough that requests fly while the next piece comes, and no more: the last ones are shared by all.
        enough = len(least.hand) > self._threads or _rows_of(least) >= self._rows + self._flying
        return None if enough else least

    def _gone(self, worker: _Worker) -> None:
        """A worker has ended: on request, or it died, and another takes its place and its pieces."""
        with self._mutex:
            if self._closed:
                return
            lost = list(worker.hand.values())
            self._false_starts += not worker.ready
            for piece in lost:
                piece.losses += 1
                if piece.losses >= _LOSSES:
                    where = f"rows {piece.shard.first:,} to {piece.shard.after:,} of part {piece.shard.part}"
                    piece.of.failed(JobError(f"a worker process died {_LOSSES} times over {where}"))
            self._waiting.extendleft(reversed([piece for piece in lost if piece.losses < _LOSSES]))
            worker.line.close()
            self._workers.remove(worker)
            if self._error is None and self._false_starts < _LOSSES:
                self._workers.append(self._started())
        worker.process.join(_SECONDS_TO_END)
        if self._false_starts >= _LOSSES:
            said = "a program that runs a job in processes begins it below: if __name__ == '__main__'"
            self._give_up(JobError(f"worker processes died {_LOSSES} times as they started; {said}"))
        self._feed()

    def _give_up(self, error: BaseException) -> None:
        """No worker can be had: everything that waits, or comes, meets the same."""
        with self._mutex:
            self._error = self._error or error
            waiting, self._waiting = list(self._waiting), deque()
        for piece in waiting:
            piece.of.failed(error)


class _Here:
    """This process in the place of a worker, for as long as not all of them are there."""

    def __init__(self, settings: JobSettings, embedder: Embedder, answers: Answers, threads: int) -> None:
        self._settings, self._embedder, self._answers = settings, embedder, answers
        self._threads = min(threads, 2)
        self._pool = ThreadPoolExecutor(self._threads, "unabridged-job")
        self._hand = 0
        self._mutex = threading.Lock()
        self._segments: dict[int, int] = {}

    @property
    def busy(self) -> bool:
        return self._hand > 0

    def takes(self, all_there: bool) -> bool:  # noqa: FBT001 one question
        return not all_there and self._hand < self._threads

    def embed(self, piece: _Piece, after: Callable[[], None]) -> None:
        with self._mutex:
            self._hand += 1
        self._segments.setdefault(id(piece.of.shard), self._answers.begin())
        self._pool.submit(self._embed, piece, after)

    def _embed(self, piece: _Piece, after: Callable[[], None]) -> None:
        try:
            landed = partial(piece.of.rows.__setitem__, piece.at)
            result = run_shard(piece.shard, self._settings, embedder=self._embedder, landed=landed)
            piece.of.landed(piece.at, result)
        except BaseException as error:  # noqa: BLE001 it is raised in the thread that waits for the shard
            piece.of.failed(error)
        finally:
            with self._mutex:
                self._hand -= 1
            after()

    def noted(self, shard: Shard) -> None:
        segment = self._segments.pop(id(shard), None)
        if segment is not None:
            self._answers.end(segment)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _rows_of(worker: _Worker) -> int:
    return sum(len(piece.shard) for piece in worker.hand.values())


def _suspect(worker: _Worker) -> bool:
    return any(piece.losses for piece in worker.hand.values())


def _writer(path: Path) -> int:
    """The process that wrote a segment of answers: its name says so."""
    number = path.name.split("-")[1]
    return int(number) if number.isdigit() else -1
