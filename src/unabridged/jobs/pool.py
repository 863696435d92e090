"""Shards in processes of this machine: for models that run here, and where one process is not enough to send.

Each worker is a fresh process (spawn) with an embedder of its own; it keeps its answers and counts its requests
in the job's folder as the job's own process does, so that a budget holds over all of them and a kill costs
nothing that was paid. A worker that dies takes its pool along: a new one is made, and what was under way is sent
again.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import threading
from concurrent.futures import Future, InvalidStateError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.answers import Answers
from unabridged.jobs.embed import embedder_for, run_shard
from unabridged.jobs.journal import FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard, ShardResult

__all__ = ["PoolRunner", "processes"]

_LOSSES = 3  # times that one shard may be under way in a pool that breaks: more, and it is what breaks it
_AHEAD = 2  # shards in hand for each process, so that none waits for the next


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


class PoolRunner:
    """A :class:`~unabridged.jobs.flow.Runner` over processes. Settings must be picklable."""

    def __init__(self, settings: JobSettings, embedder: Embedder, answers: Answers, count: int = 1) -> None:
        self.workers = count * _AHEAD
        self._settings = settings
        self._count = count
        self._answers = answers.place
        self._lock = threading.Lock()
        self._pool = self._made()
        self._broken = 0
        self._closed = False
        self._open = 0
        self._workers: set[int] = set()

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """Begin a shard."""
        future: Future[ShardResult] = Future()
        with self._lock:
            self._open += 1
        self._send(shard, future, _LOSSES)
        return future

    def noted(self, shard: Shard) -> None:
        """One shard less whose answers are needed; its worker finds that in the journal."""
        with self._lock:
            self._open -= 1

    def close(self) -> None:
        """Let the processes go, and remove their answers if all of them are noted.

        Where the job ends early, what was under way has been waited for: the processes are ended, and what they
        were paid for lies in their answers.
        """
        with self._lock:
            self._closed = True
            pool = self._pool
        if self._open:
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 no public way before Python 3.14
                process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        if self._open == 0:
            for path in self._answers.glob("*.answers"):
                if _writer(path) in self._workers:
                    path.unlink(missing_ok=True)

    def _made(self) -> ProcessPoolExecutor:
        # A forked child would inherit this process's threads' locks and sockets; a spawned one begins anew.
        return ProcessPoolExecutor(self._count, multiprocessing.get_context("spawn"))

    def _send(self, shard: Shard, future: Future[ShardResult], left: int) -> None:
        with self._lock:
            pool, turn = self._pool, self._broken
        try:
            inner = pool.submit(_embed, shard, self._settings)
        except BrokenProcessPool as error:
            self._lost(shard, future, left, turn, error)
            return
        inner.add_done_callback(lambda done: self._landed(done, shard, future, left, turn))

    def _landed(self, done: Future[Any], shard: Shard, future: Future[ShardResult], left: int, turn: int) -> None:
        error = None if done.cancelled() else done.exception()
        with contextlib.suppress(InvalidStateError):  # the job has ended, and nobody waits
            if done.cancelled():
                future.cancel()
            elif isinstance(error, BrokenProcessPool):
                self._lost(shard, future, left, turn, error)
            elif error is not None:
                future.set_exception(error)
            else:
                worker, result = done.result()
                self._workers.add(worker)
                future.set_result(result)

    def _lost(self, shard: Shard, future: Future[ShardResult], left: int, turn: int, error: Exception) -> None:
        """A worker died. Whoever notices first makes a new pool; what was under way goes to it."""
        if left <= 1:
            where = f"rows {shard.first:,} to {shard.after:,} of part {shard.part}"
            future.set_exception(JobError(f"a worker process died {_LOSSES} times over {where}"))
            return
        with self._lock:
            if self._closed:
                future.cancel()
                return
            if turn == self._broken:
                self._broken += 1
                self._pool.shutdown(wait=False)
                try:
                    self._pool = self._made()
                except RuntimeError:  # the interpreter is on its way out
                    future.set_exception(error)
                    return
        self._send(shard, future, left - 1)


def _embed(shard: Shard, settings: JobSettings) -> tuple[int, ShardResult]:
    """In a worker: the shard's result, and who made it."""
    embedder = embedder_for(settings)
    if isinstance(embedder.cache, Answers):  # not for models that are asked faster than a disk
        _keep(embedder.cache, settings.place, shard)
    return os.getpid(), run_shard(shard, settings, embedder=embedder)


_kept: list[tuple[int, int, int]] = []  # in a worker: part, first row and segment of shards not known to be noted


def _keep(answers: Answers, folder: Path, shard: Shard) -> None:
    """A shard begins: its answers stay until the journal has it; those that it has by now may go."""
    for part, first, segment in [one for one in _kept if _is_noted(folder, *one[:2])]:
        answers.end(segment)
        _kept.remove((part, first, segment))
    _kept.append((shard.part, shard.first, answers.begin()))


def _is_noted(folder: Path, part: int, first: int) -> bool:
    with contextlib.closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as journal:
        row = journal.execute("SELECT 1 FROM blocks WHERE part = ? AND first = ? LIMIT 1", (part, first)).fetchone()
    return row is not None


def _writer(path: Path) -> int:
    """The process that wrote a segment of answers: its name says so."""
    number = path.name.split("-")[1]
    return int(number) if number.isdigit() else -1
