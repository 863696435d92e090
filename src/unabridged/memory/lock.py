"""One writer at a time, and readers that are heard of.

On a local file system the writer's lock is the operating system's own: it ends with its process,
however that ends, and a stopped process keeps it. On an object store it is a lease, one row moved by
compare-and-set (lease.py); a writer that sleeps past its lease is refused by the head (and by every table,
which its successor restores first). A reader that stays registers the versions it stands on.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from unabridged.errors import StoreError
from unabridged.memory.trouble import told
from unabridged.memory.values import new_id

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "FileLock",
    "FileReaders",
    "Lock",
    "Readers",
    "ThreadLock",
    "held",
    "poll",
]

Versions = Mapping[str, int]

WAIT = 120.0  # seconds for the lock: eight writers in a row waited 5 s at the most, an index publish 2 s
_POLL = 0.002
_BORN = 60.0  # seconds after which a reader's unfinished file is nobody's: it takes one a millisecond


class Lock(Protocol):
    """The writer's lock."""

    def acquire(self, wait: float = WAIT) -> bool:
        """Take it within ``wait`` seconds; whether it was had."""
        ...

    def confirm(self) -> None:
        """Raise :class:`~unabridged.errors.Conflict` unless it is still held."""
        ...

    def release(self) -> None:
        """Give it back."""
        ...


@contextlib.contextmanager
def held(lock: Lock, wait: float = WAIT) -> Iterator[None]:
    """The lock, for the length of a block."""
    if not lock.acquire(wait):
        raise StoreError(f"the writer's lock was not free within {wait:g} s: another writer holds it")
    try:
        yield
    finally:
        lock.release()


def poll(attempt: Callable[[], bool], wait: float, pause: float = _POLL) -> bool:
    """Try until it is had, or for ``wait`` seconds; whether it was."""
    end = time.monotonic() + wait
    while not attempt():
        if time.monotonic() >= end:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    return True


class ThreadLock:
    """For a store inside this process: its threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def acquire(self, wait: float = WAIT) -> bool:
        """Take it."""
        return self._lock.acquire(timeout=wait) if wait > 0 else self._lock.acquire(blocking=False)

    def confirm(self) -> None:
        """It cannot be lost."""

    def release(self) -> None:
        """Give it back."""
        self._lock.release()


class FileLock:
    """An exclusive lock on a file, between threads and between processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._file: int | None = None

    @told("taking the lock")
    def acquire(self, wait: float = WAIT) -> bool:
        """Take it, first among this object's threads, then among processes."""
        end = time.monotonic() + wait
        if not (self._threads.acquire(timeout=wait) if wait > 0 else self._threads.acquire(blocking=False)):
            return False
        try:
            self._file = file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            had = poll(lambda: _lock_file(file), max(0.0, end - time.monotonic()))
        except FileNotFoundError:
            self._let_go()
            raise StoreError("the dataset's folder is gone: was the dataset dropped?") from None
        except BaseException:
            self._let_go()
            raise
        if not had:
            self._let_go()
        return had

    def confirm(self) -> None:
        """The operating system does not take it away."""

    def release(self) -> None:
        """Give it back."""
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)  # which also unlocks it
            self._file = None
        self._threads.release()


def _sweep(path: Path) -> None:
    """Remove the file of a reader that was killed before it had its name."""
    with contextlib.suppress(FileNotFoundError):  # it has it by now
        if time.time() - path.stat().st_mtime > _BORN:
            path.unlink()


def _lock_file(file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return _lock_file_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_file_windows(file: int) -> bool:  # pragma: no cover - Windows
    import msvcrt

    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    return True


class Readers(Protocol):
    """The readers that stay, and the versions they stand on."""

    def register(self, versions: Versions) -> str:
        """Make a reader known; its token."""
        ...

    def leave(self, token: str) -> None:
        """It is gone."""
        ...

    def standing(self) -> list[Versions]:
        """The versions that registered readers stand on."""
        ...


@dataclass
class FileReaders:
    """A locked file for each reader: the lock ends with its process, and the file is then swept."""

    folder: Path
    _open: dict[str, int] = field(default_factory=dict)

    @told("registering a reader")
    def register(self, versions: Versions) -> str:
        """Write a file, lock it, and only then give it its name."""
        token = new_id()
        fresh = self.folder / f"{token}.new"
        file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            _lock_file(file)
            os.write(file, json.dumps(dict(versions)).encode())
            fresh.rename(self.folder / token)
        except OSError:  # the disk is full
            os.close(file)
            fresh.unlink(missing_ok=True)
            raise
        self._open[token] = file
        return token

    def leave(self, token: str) -> None:
        """Remove the file, then unlock it."""
        file = self._open.pop(token, None)
        if file is not None:
            (self.folder / token).unlink(missing_ok=True)
            os.close(file)

    def standing(self) -> list[Versions]:
        """What the locked files say; those that can be locked have no reader any more."""
        paths = list(self.folder.iterdir())
        for path in paths:
            if path.suffix == ".new":
                _sweep(path)
        found = (self._read(path) for path in paths if path.suffix != ".new")
        return [versions for versions in found if versions is not None]

    def _read(self, path: Path) -> Versions | None:
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:  # it left meanwhile
            return None
        try:
            if _lock_file(file):
                path.unlink(missing_ok=True)
                return None
            raw: dict[str, int] = json.loads(path.read_text())
        except FileNotFoundError:  # pragma: no cover - it left between two calls
            return None
        finally:
            os.close(file)
        return raw
