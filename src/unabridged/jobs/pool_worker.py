"""A worker of the pool: pieces of shards come in over a line, what becomes of them goes back over it."""

from __future__ import annotations

import contextlib
import enum
import os
import pickle
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from unabridged.errors import JobError
from unabridged.jobs.answers import Answers
from unabridged.jobs.embed import HALTED, embedder_for, run_shard
from unabridged.jobs.journal import FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard

__all__ = ["Kind", "Serving", "work"]

_TELL_EVERY = 0.5  # seconds between two words about a piece that is under way


class Kind(enum.Enum):
    """What a message is: the first three go to a worker, the others come from it."""

    PIECE = "piece"
    HALT = "halt"
    END = "end"
    READY = "ready"
    REFUSED = "refused"
    LANDED = "landed"
    DONE = "done"
    FAILED = "failed"


def work(line: Connection, settings: JobSettings, threads: int) -> None:
    """The whole life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the job's own process is asked, and says what is to be done
    status = 1
    with contextlib.suppress(EOFError, OSError):  # the job's process is gone
        Serving(line, settings, threads).run()
        status = 0
    os._exit(status)  # everything is closed; the interpreter's own way out takes longer than a request


class Serving:
    """Takes pieces until it is told to end; several are embedded at once."""

    def __init__(self, line: Connection, settings: JobSettings, threads: int) -> None:
        self._line, self._settings, self._threads = line, settings, threads
        self._mutex = threading.Lock()
        self._kept: dict[tuple[int, int], int] = {}  # part and first row of shards not known to be noted: a segment

    def run(self) -> None:
        """Until the end. Raises :class:`EOFError` where nobody is there any more."""
        try:
            embedder = embedder_for(self._settings)
        except Exception as error:  # noqa: BLE001 it is raised in the job's process
            self._tell(Kind.REFUSED, None, _sendable(error))
            return
        self._tell(Kind.READY, None, None)
        with embedder, ThreadPoolExecutor(self._threads, "unabridged-piece") as pool:
            try:
                while True:
                    kind, value = self._line.recv()
                    if kind is Kind.END:
                        return
                    self._heard(kind, value, pool, embedder)
            except (EOFError, OSError):  # nobody is there: what is under way is paid for and kept, nothing else is sent
                HALTED.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _heard(self, kind: Kind, value: Any, pool: ThreadPoolExecutor, embedder: Embedder) -> None:
        if kind is Kind.HALT:
            HALTED.set()
            return
        number, first, piece = value
        pool.submit(self._embed, number, first, piece, embedder)

    def _embed(self, number: int, first: int, piece: Shard, embedder: Embedder) -> None:
        try:
            if isinstance(embedder.cache, Answers):  # not for models that are asked faster than a disk
                self._keep(embedder.cache, piece.part, first)
            result = run_shard(piece, self._settings, embedder=embedder, landed=self._telling(number))
        except Exception as error:  # noqa: BLE001 it is raised in the job's process
            self._tell(Kind.FAILED, number, _sendable(error))
            return
        self._tell(Kind.DONE, number, result)

    def _telling(self, number: int) -> Callable[[int], None]:
        """Tells the rows of a piece that have their vectors, not too often."""
        due = time.monotonic() + _TELL_EVERY

        def landed(rows: int) -> None:
            nonlocal due
            if (now := time.monotonic()) >= due:
                due = now + _TELL_EVERY
                with contextlib.suppress(OSError):  # nobody is there any more: whoever listens notices
                    self._tell(Kind.LANDED, number, rows)

        return landed

    def _tell(self, kind: Kind, number: int | None, value: object) -> None:
        with self._mutex:
            self._line.send((kind, number, value))

    def _keep(self, answers: Answers, part: int, first: int) -> None:
        """A piece of a shard begins: its answers stay until the journal has the shard; what it has may go."""
        with self._mutex:
            if (part, first) in self._kept:
                return
            noted = [one for one in self._kept if _is_noted(self._settings.place, *one)]
            ended = [self._kept.pop(one) for one in noted]
            self._kept[part, first] = answers.begin()
        for segment in ended:
            answers.end(segment)


def _is_noted(folder: Path, part: int, first: int) -> bool:
    with contextlib.closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as journal:
        row = journal.execute("SELECT 1 FROM blocks WHERE part = ? AND first = ? LIMIT 1", (part, first)).fetchone()
    return row is not None


def _sendable(error: Exception) -> Exception:
    """An error that can travel; one that cannot says what it was."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 our own
    except Exception:  # noqa: BLE001 whatever a foreign exception does when it is pickled
        return JobError(f"{type(error).__name__}: {error}")
    return error
