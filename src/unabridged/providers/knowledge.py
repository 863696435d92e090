"""One small SQLite file for what is learned of hosts and models: limits, calibration, canaries.

A connection a use, short immediate transactions, and SQLite's own locks: safe for several threads
and processes, whole or absent after a crash. A file that cannot be used costs memory, not the work:
knowledge falls back to this process alone, with a warning.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Knowledge", "default_knowledge_file", "matching"]

_FILE = "knowledge.sqlite"
_PATIENCE = 10.0  # seconds to wait for another writer: a write takes a few milliseconds


def default_knowledge_file() -> Path:
    """Beside the vector cache (``UNABRIDGED_CACHE``), unless ``UNABRIDGED_KNOWLEDGE`` names a file."""
    named = os.environ.get("UNABRIDGED_KNOWLEDGE", "").strip()
    moved = os.environ.get("UNABRIDGED_CACHE", "").strip()
    return Path(named) if named else Path(moved or user_cache_dir("unabridged")) / _FILE


def matching(host: str | None, model: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition that selects a host, a model, both, or everything, and its values.

    >>> matching("h", None)
    (' WHERE host = ?', ('h',))
    """
    given = {name: value for name, value in (("host", host), ("model", model)) if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given)
    return (f" WHERE {where}" if where else ""), tuple(given.values())


class Knowledge:
    """Access to the file: read rows, or write within one transaction."""

    def __init__(self, path: str | Path | None = None) -> None:
        given = default_knowledge_file() if path is None else Path(path)
        self.path = given / _FILE if given.is_dir() or not given.suffix else given
        self._memory: sqlite3.Connection | None = None
        self._lock = threading.RLock()

    def prepare(self, schema: str) -> None:
        """Make the tables that are not there yet."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._run(schema)
        except (OSError, sqlite3.DatabaseError) as error:
            self._fall_back(error, schema)

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._connected() as database:
            return database.execute(query, tuple(values)).fetchall()

    def drop(self, tables: Sequence[str], host: str | None, model: str | None) -> list[int]:
        """Delete the rows of a host, a model, both, or all, from tables of ours; how many went from each."""
        where, values = matching(host, model)
        with self.write() as database:
            return [database.execute(f"DELETE FROM {table}{where}", values).rowcount for table in tables]  # noqa: S608

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or none."""
        with self._connected() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def _run(self, schema: str) -> None:
        with self._connected() as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(schema)
        with suppress(OSError):
            self.path.chmod(0o600)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._memory is not None:
                yield self._memory
                return
            database = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            try:
                database.execute("PRAGMA synchronous = NORMAL")
                yield database
            finally:
                database.close()

    def _fall_back(self, error: Exception, schema: str) -> None:
        """An unusable file (another format, a full or read-only disk): go on in memory."""
        warnings.warn(f"{self.path}: {error}; what is learned is kept for this process only", stacklevel=4)
        with self._lock:
            if self._memory is None:
                self._memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            self._memory.executescript(schema)
