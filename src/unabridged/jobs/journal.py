"""The journal: what is done, by content and fingerprint, in a SQLite file in the job's own folder.

A block of rows is done once its line stands here; its vectors were staged, under a name of their own, before
that, so whatever moment a process dies at, a block is either done with its vectors or not done at all. Every
method is one transaction.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from unabridged.errors import JobError
from unabridged.jobs.disk import on_disk
from unabridged.jobs.journal_records import Block, Counts, Failure, PartState, RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from unabridged.jobs.shard import FailedRow, ShardResult

__all__ = ["Block", "Counts", "Failure", "Journal", "PartState", "RunRecord"]

FILE = "journal.sqlite"
DIED = "it ended without a word: killed, asked twice to end, or the machine went down"
_BLOCK = "id, part, generation, first, after, done, file, retried, published"
_NEVER = 1 << 62
VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS parts (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, identity TEXT NOT NULL,
    rows INTEGER, generation INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS blocks (
    id INTEGER PRIMARY KEY, part INTEGER NOT NULL, generation INTEGER NOT NULL, first INTEGER NOT NULL,
    after INTEGER NOT NULL, rows INTEGER NOT NULL, done INTEGER NOT NULL, same INTEGER NOT NULL,
    retried INTEGER NOT NULL, file TEXT, keys BLOB NOT NULL, tokens INTEGER NOT NULL, chunks INTEGER NOT NULL,
    requests INTEGER NOT NULL, warned INTEGER NOT NULL, lengths TEXT NOT NULL,
    pieces TEXT NOT NULL, fingerprint TEXT NOT NULL,
    published INTEGER NOT NULL DEFAULT 0, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS blocks_of ON blocks (part, generation, first);
CREATE TABLE IF NOT EXISTS failed (
    part INTEGER NOT NULL, row INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL,
    passing INTEGER NOT NULL, tries INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (part, row)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS skipped (
    part INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (part, row)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, began REAL NOT NULL, ended REAL, status TEXT NOT NULL, reason TEXT, pid INTEGER NOT NULL);
"""


class Journal:
    """The journal of one job. Thread-safe; one process writes, any may read.

    >>> import tempfile, pathlib
    >>> with Journal(pathlib.Path(tempfile.mkdtemp())) as journal:
    ...     journal.set("status", "new")
    ...     journal.get("status"), journal.counts().adds_up
    ('new', True)
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        place = folder / FILE
        self._lock = threading.RLock()
        if read_only:
            self._db = sqlite3.connect(f"{place.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            return
        folder.mkdir(parents=True, exist_ok=True)
        with on_disk(place):
            self._db = sqlite3.connect(place, check_same_thread=False, isolation_level=None, timeout=30)
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=30000"):
                self._db.execute(f"PRAGMA {pragma}").fetchall()
        found = self._one("PRAGMA user_version")[0]
        if found not in (0, VERSION):
            self._db.close()
            raise JobError(
                f"{folder.name}: its journal has format {found}, this program knows {VERSION}; begin another job"
            )
        with on_disk(place):
            self._db.executescript(f"{_SCHEMA} PRAGMA user_version = {VERSION};")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- about the job -------------------------------------------------------------------------------

    def get(self, key: str) -> Any:
        """A value by its name; ``None`` where there is none."""
        row = self._one("SELECT value FROM about WHERE key = ?", key)
        return None if row is None else json.loads(row[0])

    def set(self, key: str, value: Any, *, lasting: bool = False) -> None:
        """Keep a value (JSON); ``lasting``: through to the disk, before anything else is done."""
        with self._writing(lasting=lasting):
            self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, json.dumps(value)))

    def begin_run(self, pid: int, *, seen: float | None = None) -> int:
        """A run begins; its number. One before it that did not end has died: when it was ``seen``, or noted a block."""
        with self._writing():
            self._db.execute(
                "UPDATE runs SET status = 'interrupted', reason = ?, ended = MAX(began, COALESCE(?, 0),"
                " COALESCE((SELECT MAX(at) FROM blocks), 0)) WHERE status = 'running'",
                (DIED, seen),
            )
            made = self._db.execute(
                "INSERT INTO runs (began, status, pid) VALUES (?, 'running', ?)", (time.time(), pid)
            )
            return int(made.lastrowid or 0)

    @property
    def last_block(self) -> float | None:
        """When the last block was noted."""
        found: float | None = self._one("SELECT MAX(at) FROM blocks")[0]
        return found

    def end_run(self, run: int, status: str, reason: str | None) -> None:
        """It ended, how and why."""
        self._do("UPDATE runs SET ended = ?, status = ?, reason = ? WHERE id = ?", time.time(), status, reason, run)

    def runs(self) -> list[RunRecord]:
        """Every run, oldest first."""
        return [RunRecord(*row) for row in self._all("SELECT id, began, ended, status, reason, pid FROM runs")]

    # -- parts ---------------------------------------------------------------------------------------

    def parts(self) -> dict[str, PartState]:
        """Every part, by name, in order."""
        rows = self._all("SELECT number, name, identity, rows, generation FROM parts ORDER BY number")
        return {row[1]: PartState(*row) for row in rows}

    def part(self, name: str, identity: str) -> PartState:
        """A part as it is now: known, new, or changed since it was read (then its next generation begins)."""
        with self._writing():
            row = self._one("SELECT number, name, identity, rows, generation FROM parts WHERE name = ?", name)
            if row is None:
                self._db.execute("INSERT INTO parts (name, identity) VALUES (?, ?)", (name, identity))
            elif row[2] != identity:
                self._db.execute(
                    "UPDATE parts SET identity = ?, rows = NULL, generation = generation + 1 WHERE name = ?",
                    (identity, name),
                )
                self._db.execute("DELETE FROM failed WHERE part = ?", (row[0],))
                self._db.execute("DELETE FROM skipped WHERE part = ?", (row[0],))
            return PartState(
                *self._one("SELECT number, name, identity, rows, generation FROM parts WHERE name = ?", name)
            )

    @property
    def untouched(self) -> bool:
        """Whether no row has been embedded, in whichever run: then nothing of the job is worth keeping."""
        done = self._one("SELECT 1 FROM blocks WHERE done + same > 0 LIMIT 1")
        return done is None and self.get("publishing") is None

    def forget(self) -> None:
        """Begin anew, where nothing was done: rows that failed, or were blank, are read again."""
        with self._writing():
            for table in ("parts", "blocks", "failed", "skipped"):
                self._db.execute(f"DELETE FROM {table}")  # noqa: S608 our names
            self._db.execute("DELETE FROM about WHERE key IN ('fingerprint', 'width', 'warning', 'total')")

    def lost(self, number: int) -> bool:
        """The output has the rows of a part no more: they are to be read again; whether there were any."""
        with self._writing():
            gone = self._db.execute("DELETE FROM blocks WHERE part = ? AND published", (number,)).rowcount
            if gone:
                self._db.execute("UPDATE parts SET rows = NULL WHERE number = ?", (number,))
                for table in ("failed", "skipped"):
                    self._db.execute(f"DELETE FROM {table} WHERE part = ?", (number,))  # noqa: S608 our names
            return bool(gone)

    def finish_part(self, number: int, rows: int) -> None:
        """A part was read to its end: it has so many rows."""
        self._do("UPDATE parts SET rows = ? WHERE number = ?", rows, number)

    def rename_identity(self, name: str, identity: str) -> None:
        """We changed the part ourselves (a column was added): what is done stays done."""
        self._do("UPDATE parts SET identity = ? WHERE name = ?", identity, name)

    # -- blocks --------------------------------------------------------------------------------------

    def add_block(self, result: ShardResult, generation: int, *, file: str | None, same: int = 0) -> None:
        """A block is done: its finished rows are staged, its failed ones listed. All of it, or nothing.

        ``same`` of its rows are in the output already.
        """
        with self._writing(lasting=True):
            self._insert_block(result, generation, file, rows=result.rows, same=same, retried=False)
            self._insert_failed(result.part, result.failed)
            self._insert_skipped(result.part, result.skipped)

    def retried(self, result: ShardResult, generation: int, rows: Sequence[int], *, file: str | None) -> None:
        """Rows that had failed were tried again: those that are done now leave the table of failures."""
        still = {each.row for each in result.failed}
        with self._writing(lasting=True):
            if result.done:  # as rows they were counted when they failed
                self._insert_block(result, generation, file, rows=0, same=0, retried=True)
            gone = [(result.part, row) for row in rows if row not in still]
            self._db.executemany("DELETE FROM failed WHERE part = ? AND row = ?", gone)
            self._insert_failed(result.part, result.failed)
            self._insert_skipped(result.part, result.skipped)

    @contextlib.contextmanager
    def _writing(self, *, lasting: bool = False) -> Iterator[None]:
        """One transaction. A killed process loses none; a power failure spares what is ``lasting``, and all before it.

        A line of the journal is on the disk before the answers that it makes superfluous are removed. What only
        describes the job need not be: each wait for the disk is some milliseconds in which nothing is computed.
        """
        with self._lock, on_disk(self.folder / FILE):
            self._db.execute(f"PRAGMA synchronous={'FULL' if lasting else 'NORMAL'}")
            with self._db:
                self._db.execute("BEGIN IMMEDIATE")
                yield

    def _insert_block(
        self, result: ShardResult, generation: int, file: str | None, *, rows: int, same: int, retried: bool
    ) -> None:
        row = {
            "part": result.part,
            "generation": generation,
            "first": result.first,
            "after": result.end,
            "rows": rows,
            "done": result.done,
            "same": same,
            "retried": int(retried),
            "file": file,
            "keys": result.keys,
            "tokens": result.tokens,
            "chunks": result.chunks,
            "requests": result.usage.requests,
            "warned": result.warned,
            "lengths": json.dumps(result.lengths),
            "pieces": json.dumps(result.pieces),
            "fingerprint": result.fingerprint,
            "at": time.time(),
        }
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self._db.execute(f"INSERT INTO blocks ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608 our names

    def _insert_failed(self, part: int, failed: Iterable[FailedRow]) -> None:
        self._db.executemany(
            "INSERT INTO failed (part, row, id, kind, reason, passing, tries, at) VALUES (?, ?, ?, ?, ?, ?, 1, ?)"
            " ON CONFLICT (part, row) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,"
            " passing = excluded.passing, tries = tries + 1, at = excluded.at",
            [(part, one.row, one.id, one.kind, one.reason, int(one.passing), time.time()) for one in failed],
        )

    def _insert_skipped(self, part: int, rows: Iterable[int]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?)", [(part, row) for row in rows])

    def spans(self, part: int, generation: int, *, lost: bool = False) -> list[tuple[int, int]]:
        """The rows of a part that are done, as spans in order; what lies between is still to be read.

        ``lost``: without those that only the output had, and it has them no more.
        """
        rows = self._all(
            "SELECT first, after FROM blocks WHERE part = ? AND generation = ? AND retried = 0 AND published <= ?"
            " ORDER BY first",
            part,
            generation,
            int(not lost),
        )
        return [(first, after) for first, after in rows]

    def blocks(self, *, unpublished: bool = False) -> list[Block]:
        """The blocks in the order of their rows."""
        rows = self._all(
            f"SELECT {_BLOCK} FROM blocks WHERE published = 0 OR ? ORDER BY part, generation, first, id",  # noqa: S608
            int(not unpublished),
        )
        return [_block(row) for row in rows]

    def keyed_blocks(self, part: int, *, before: int | None = None, since: int = 0) -> Iterator[tuple[Block, bytes]]:
        """The blocks of some generations of a part with the keys of their rows: the staged ones, then the same."""
        rows = self._all(
            f"SELECT {_BLOCK}, keys FROM blocks WHERE part = ? AND generation < ? AND generation >= ?"  # noqa: S608
            " ORDER BY generation, first, id",
            part,
            _NEVER if before is None else before,
            since,
        )
        return ((_block(row[:9]), row[9]) for row in rows)

    def mark_published(self, blocks: Iterable[int]) -> None:
        """The sink has these blocks for good; earlier generations of their parts, and what was kept, may go."""
        with self._writing(lasting=True):
            self._db.executemany("UPDATE blocks SET published = 1, file = NULL WHERE id = ?", [(b,) for b in blocks])
            self._db.execute("DELETE FROM about WHERE key = 'kept'")
            self._db.execute(
                "DELETE FROM blocks WHERE generation < (SELECT generation FROM parts WHERE number = blocks.part)"
            )

    def counts(self) -> Counts:
        """Rows read, done, skipped and failed, of each part as it is now."""
        of = " FROM blocks b JOIN parts p ON b.part = p.number AND b.generation = p.generation"
        sums = self._one(
            "SELECT COALESCE(SUM(b.rows), 0), COALESCE(SUM(b.done + b.same), 0), COALESCE(SUM(b.tokens), 0),"
            " COALESCE(SUM(b.chunks), 0), COUNT(*), COALESCE(SUM(b.warned), 0)" + of
        )
        failed = self._one("SELECT COUNT(*) FROM failed")[0]
        skipped = self._one("SELECT COUNT(*) FROM skipped")[0]
        return Counts(sums[0], sums[1], skipped, failed, *sums[2:])

    def failures(self, *, passing: bool = False, limit: int | None = None) -> Iterator[Failure]:
        """The rows that failed, in order; ``passing``: only those that may do by themselves."""
        rows = self._all(
            "SELECT p.name, f.row, f.id, f.kind, f.reason, f.tries, f.passing, f.at FROM failed f"
            " JOIN parts p ON p.number = f.part WHERE f.passing OR ? ORDER BY f.part, f.row LIMIT ?",
            int(not passing),
            -1 if limit is None else limit,
        )
        return (Failure(*row[:6], bool(row[6]), row[7]) for row in rows)  # type: ignore[call-arg]

    def causes(self) -> dict[str, int]:
        """How many rows failed, by kind, the most frequent first."""
        rows = self._all("SELECT kind, COUNT(*) FROM failed GROUP BY kind ORDER BY 2 DESC, 1")
        return dict(rows)

    def failed_rows(self, part: int, *, passing: bool) -> list[int]:
        """The rows of a part to try again."""
        rows = self._all(
            "SELECT row FROM failed WHERE part = ? AND (passing OR ?) ORDER BY row", part, int(not passing)
        )
        return [row[0] for row in rows]

    def without_vector(self, part: int) -> list[int]:
        """The rows of a part that are blank or have failed."""
        rows = self._all(
            "SELECT row FROM failed WHERE part = ? UNION SELECT row FROM skipped WHERE part = ?", part, part
        )
        return [row[0] for row in rows]

    def history(self) -> list[Mapping[str, Any]]:
        """A line a block, for reports: when, how many rows, tokens, chunks, requests, and their spread.

        ``lengths`` and ``pieces`` count rows by the power of two of their tokens and chunks.
        """
        names = ("at", "rows", "done", "tokens", "chunks", "requests", "lengths", "pieces")
        rows = self._all("SELECT at, rows, done, tokens, chunks, requests, lengths, pieces FROM blocks ORDER BY at")
        lists = ("lengths", "pieces")
        return [
            {name: json.loads(value) if name in lists else value for name, value in zip(names, row, strict=True)}
            for row in rows
        ]

    def _do(self, sql: str, *given: Any) -> None:
        self._all(sql, *given)

    def _one(self, sql: str, *given: Any) -> Any:
        return next(iter(self._all(sql, *given)), None)

    def _all(self, sql: str, *given: Any) -> list[Any]:
        with self._lock, on_disk(self.folder / FILE):
            return self._db.execute(sql, given).fetchall()


def _block(row: Sequence[Any]) -> Block:
    return Block(*row[:7], *map(bool, row[7:9]))
