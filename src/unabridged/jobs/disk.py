"""Through to the disk; and a disk that is full, in one form, whichever library was writing."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["on_disk", "synced"]

_PAGE = 1 << 16  # a WAL's index takes 32 KB at once
_FULL = re.compile(r"no space left|disk is full|quota exceeded", re.IGNORECASE)


@contextlib.contextmanager
def on_disk(path: str | Path) -> Iterator[None]:
    """While ``path`` is written: no room left is an :class:`OSError` that names it, also where Lance or SQLite say so.

    >>> with on_disk("/disk/out.lance"):
    ...     raise RuntimeError("lance error: LanceError(IO): No space left on device, …")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: '/disk/out.lance'
    """
    try:
        yield
    except (OSError, RuntimeError, sqlite3.OperationalError) as error:
        if _FULL.search(str(error)) is None and not (isinstance(error, sqlite3.Error) and _has_no_room(path)):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None


def synced(path: Path) -> None:
    """Through to the disk: a rename may not outrun the contents."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _has_no_room(path: str | Path) -> bool:
    """Whether a disk has not even room for a page: SQLite then calls its helper files unreadable."""
    try:
        found = os.statvfs(os.path.dirname(path) or ".")  # noqa: PTH120
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _PAGE
