"""Who works at something, and whether that process still lives."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.memory.values import now

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

__all__ = ["alive", "me"]

STALE = 600.0  # seconds without a sign of life after which another machine's work is taken over


def me() -> dict[str, Any]:
    """This process, as it can be told from others."""
    return {"host": platform.node(), "pid": os.getpid(), "began": _began(os.getpid())}


def _began(pid: int) -> str | None:
    """When a process began, so that a reused number is not taken for it; ``None`` where nothing tells.

    One that has ended, and that nobody has asked about yet, began as never as one that is gone.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def alive(owner: Mapping[str, Any], signed: dt.datetime | None) -> bool:
    """Whether who works at a request still does: by its process on this machine, by its signs on another."""
    if owner.get("host") != platform.node():
        return signed is not None and (now() - signed).total_seconds() < STALE
    pid = int(owner.get("pid") or 0)
    if pid == os.getpid():
        return False  # this process keeps its own list, and the request is not on it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _began(pid) == owner.get("began")  # both None where there is no /proc
