"""What became of every batch: written before a batch is created, so that no crash pays for one twice.

A SQLite file in the job's folder. It holds keys of texts (hashes), ids of batches, and vectors that were
paid for; no text. The order of writing is the whole idea: *prepared* before anything is sent, *uploaded*
with the file's id (an upload costs nothing), *created* with the batch's. A batch that may or may not have
been created is looked for on the provider's side by its key, which stands in its metadata.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from unabridged.errors import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from unabridged.types import Role, Vector

__all__ = ["BatchBook", "BookedBatch", "BookedLine", "Stage"]

Stage = Literal["prepared", "uploaded", "created", "collected", "abandoned"]

_KEY_BYTES = 32
_AT_ONCE = 500  # keys in one query; SQLite takes 999 parameters by default
_SCHEMA = """
CREATE TABLE IF NOT EXISTS batch (
  key TEXT PRIMARY KEY, service TEXT NOT NULL, stage TEXT NOT NULL, file TEXT, id TEXT, status TEXT,
  inputs INTEGER NOT NULL, bytes INTEGER NOT NULL, started REAL NOT NULL, ended REAL, detail TEXT);
CREATE TABLE IF NOT EXISTS line (
  batch TEXT NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL, dimensions INTEGER, texts BLOB NOT NULL,
  PRIMARY KEY (batch, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answer (
  text BLOB PRIMARY KEY, tokens INTEGER, vector BLOB NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class BookedLine:
    """One request of a batch: its id there, and the keys of its texts in order."""

    id: str
    role: Role
    dimensions: int | None
    texts: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class BookedBatch:
    """A batch as it is booked. ``file`` and ``id`` are the provider's; times are seconds since the epoch."""

    key: str
    stage: Stage
    file: str | None
    id: str | None
    status: str | None
    inputs: int
    bytes: int
    started: float
    ended: float | None
    detail: str | None


class BatchBook:
    """The book of one job, safe for several threads. Every change is on disk before the call is back.

    ``service`` names host, model and settings: batches of another are not taken up by this one.

    >>> import tempfile
    >>> with BatchBook(tempfile.mkdtemp(), service="a") as book:
    ...     book.prepare("k1", [BookedLine("r0", "document", None, (b"x" * 32,))], size=10)
    ...     book.move("k1", "created", id="batch_1")
    ...     [(batch.stage, batch.id) for batch in book.batches()]
    [('created', 'batch_1')]
    """

    def __init__(self, folder: str | Path, *, service: str) -> None:
        self.path = Path(folder) / "batches.sqlite"
        self._service = service
        self._lock = threading.RLock()
        try:
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=30)
            # FULL: a batch that is paid for must not be forgotten when the power fails.
            self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;" + _SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise JobError(f"{self.path}: cannot be used ({error})") from error

    def prepare(self, key: str, lines: Sequence[BookedLine], *, size: int) -> None:
        """Book a batch of ``size`` bytes before anything of it is sent."""
        inputs = sum(len(line.texts) for line in lines)
        rows = [(key, line.id, line.role, line.dimensions, b"".join(line.texts)) for line in lines]
        with self._writing():
            self._db.execute(
                "INSERT INTO batch (key, service, stage, inputs, bytes, started) VALUES (?, ?, 'prepared', ?, ?, ?)",
                (key, self._service, inputs, size, time.time()),
            )
            self._db.executemany("INSERT INTO line VALUES (?, ?, ?, ?, ?)", rows)

    def move(self, key: str, stage: Stage, **about: str | None) -> None:
        """A batch's next stage; ``about`` are ``file``, ``id``, ``status`` or ``detail``."""
        named = "".join(f", {name} = ?" for name in about)
        over = ", ended = ?" if stage in {"collected", "abandoned"} else ""
        given = (stage, *about.values(), *((time.time(),) if over else ()), key)
        with self._writing():
            self._db.execute(f"UPDATE batch SET stage = ?{named}{over} WHERE key = ?", given)  # noqa: S608
            if over:
                self._db.execute("DELETE FROM line WHERE batch = ?", (key,))

    def keep(self, answers: Iterable[tuple[bytes, Vector, int | None]]) -> None:
        """Store vectors by the keys of their texts, in one transaction."""
        rows = [(key, tokens, np.ascontiguousarray(vector, "<f4").tobytes()) for key, vector, tokens in answers]
        with self._writing():
            self._db.executemany("INSERT OR REPLACE INTO answer (text, tokens, vector) VALUES (?, ?, ?)", rows)

    def answers(self, keys: Iterable[bytes]) -> dict[bytes, tuple[Vector, int | None]]:
        """The vectors that are there, with the tokens billed for them."""
        asked = list(dict.fromkeys(keys))
        found: dict[bytes, tuple[Vector, int | None]] = {}
        for at in range(0, len(asked), _AT_ONCE):
            part = asked[at : at + _AT_ONCE]
            marks = ",".join("?" * len(part))
            with self._lock:
                rows = self._db.execute(
                    f"SELECT text, vector, tokens FROM answer WHERE text IN ({marks})",  # noqa: S608
                    part,
                ).fetchall()
            found |= {bytes(text): (np.frombuffer(vector, "<f4").copy(), tokens) for text, vector, tokens in rows}
        return found

    def batches(self) -> list[BookedBatch]:
        """Every batch of this service, oldest first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT key, stage, file, id, status, inputs, bytes, started, ended, detail "
                "FROM batch WHERE service = ? ORDER BY started",
                (self._service,),
            ).fetchall()
        return [BookedBatch(*row) for row in rows]

    def lines(self, key: str) -> list[BookedLine]:
        """The requests of a batch that is not over."""
        with self._lock:
            rows = self._db.execute("SELECT id, role, dimensions, texts FROM line WHERE batch = ?", (key,)).fetchall()
        return [BookedLine(name, role, dimensions, _apart(texts)) for name, role, dimensions, texts in rows]

    def forget(self) -> int:
        """Drop the vectors, once they are safe elsewhere; how many there were."""
        with self._writing():
            return self._db.execute("DELETE FROM answer").rowcount

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise JobError(f"{self.path}: cannot be written ({error}); the batches go on, resume later") from error


def _apart(texts: bytes) -> tuple[bytes, ...]:
    return tuple(texts[at : at + _KEY_BYTES] for at in range(0, len(texts), _KEY_BYTES))
