"""Locks and readers by lease, for places without an operating system's locks (object stores).

A lease is one row, moved by compare-and-set, which its holder's heartbeat renews. Two clocks are never compared
without a second witness: a lease is free once its own time has run out, or once a waiter has seen it unmoved for
a whole lease by its own steady clock, so a clock that was set back holds nobody up. One that is taken over too
early costs a retry and no data: the head and the tables refuse who lost it.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import Conflict, StoreError
from unabridged.memory.lock import WAIT, poll
from unabridged.memory.values import new_id
from unabridged.memory.where import among, both, equals, literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.memory.dataset import Handle
    from unabridged.memory.lock import Versions

__all__ = ["LEASE_SCHEMA", "Heartbeat", "LeaseLock", "LeaseReaders"]

LEASE = 30.0  # seconds: far above a commit (0.03) and an upkeep step (2), short enough to wait out
READER_LEASE = 600.0  # seconds a remote reader is believed without a sign of life
BEATS = 3  # signs of life within one lease: two may be lost

LEASE_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("owner", pa.string()),
        pa.field("epoch", pa.int64()),
        pa.field("until", pa.float64()),
        pa.field("versions", pa.string()),
    ]
)


class Heartbeat:
    """Gives a sign of life every so many seconds, from a thread that lives from ``start`` to ``stop``.

    A sign that fails is given again the next time: whoever waits for it judges by its absence.
    """

    def __init__(self, sign: Callable[[], object], every: float) -> None:
        self._sign = sign
        self._every = every
        self._stopped = threading.Event()
        self._mutex = threading.Lock()

    def start(self) -> None:
        """Begin."""
        self._stopped = stopped = threading.Event()
        threading.Thread(target=self._beat, args=(stopped,), name="unabridged-lease", daemon=True).start()

    def stop(self) -> None:
        """End: once this returns, no sign is given any more."""
        with self._mutex:
            self._stopped.set()

    def _beat(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._every):
            with self._mutex, contextlib.suppress(StoreError, OSError):
                if not stopped.is_set():
                    self._sign()


class LeaseLock:
    """A lease on one row of a table: who, which epoch, until when."""

    def __init__(self, opened: Callable[[], Handle], name: str = "writer", *, seconds: float = LEASE) -> None:
        self._opened = opened
        self._name = name
        self._seconds = seconds
        self._threads = threading.Lock()
        self._me = new_id()
        self._epoch = 0
        self._until = 0.0  # by this machine's steady clock
        self._watched: tuple[Any, float] = (None, 0.0)
        self._heart = Heartbeat(self._renew, seconds / BEATS)

    def acquire(self, wait: float = WAIT) -> bool:
        """Take it once its last holder has given it back or let it run out."""
        end = time.monotonic() + wait
        if not (self._threads.acquire(timeout=wait) if wait > 0 else self._threads.acquire(blocking=False)):
            return False
        try:
            had = poll(self._attempt, max(0.0, end - time.monotonic()), pause=0.01)
        except BaseException:
            self._threads.release()
            raise
        if had:
            self._heart.start()
        else:
            self._threads.release()
        return had

    def _attempt(self) -> bool:
        rows = self._opened().read(equals("id", self._name)).to_pylist()
        if not rows:
            raise StoreError("the lease's row is gone: was the dataset dropped?")
        epoch = rows[0]["epoch"]
        return self._is_free(epoch, rows[0]["until"]) and self._set(epoch, epoch + 1)

    def _is_free(self, epoch: int, until: float) -> bool:
        if until < time.time():
            return True
        if self._watched[0] != (epoch, until):
            self._watched = ((epoch, until), time.monotonic())
        return time.monotonic() - self._watched[1] > self._seconds

    def _set(self, expected: int, epoch: int, seconds: float | None = None) -> bool:
        seconds = self._seconds if seconds is None else seconds
        until, steady = (time.time() + seconds, time.monotonic() + seconds) if seconds else (0.0, 0.0)
        where = both(equals("id", self._name), equals("epoch", expected))
        values = {"owner": literal(self._me), "epoch": str(epoch), "until": repr(until)}
        if not self._opened().compare_and_set(where or "", values):
            return False
        self._epoch, self._until = epoch, steady
        return True

    def _renew(self) -> bool:
        return self._set(self._epoch, self._epoch)

    def confirm(self) -> None:
        """Raise if it ran out: its heartbeat was stopped, or could not reach the store."""
        if self._until <= time.monotonic():
            raise Conflict("the writer's lease ran out before its commit was done; nothing of it is visible")

    def release(self) -> None:
        """Give it back, unless somebody has it by now."""
        try:
            self._heart.stop()
            with contextlib.suppress(StoreError):
                self._set(self._epoch, self._epoch, 0.0)
        finally:
            self._threads.release()


class LeaseReaders:
    """A row for each reader, believed for a while after its last sign of life."""

    def __init__(self, opened: Callable[[], Handle], *, seconds: float = READER_LEASE) -> None:
        self._opened = opened
        self._seconds = seconds
        self._hearts: dict[str, Heartbeat] = {}

    def register(self, versions: Versions) -> str:
        """Add a row, and keep it fresh until the reader leaves."""
        token = f"reader:{new_id()}"
        self._add(token, versions)
        self._hearts[token] = heart = Heartbeat(lambda: self._renew(token, versions), self._seconds / BEATS)
        heart.start()
        return token

    def _add(self, token: str, versions: Versions) -> None:
        row = {"id": token, "owner": "", "epoch": 0, "until": time.time() + self._seconds}
        rows = pa.Table.from_pylist([{**row, "versions": json.dumps(dict(versions))}], schema=LEASE_SCHEMA)
        self._opened().append(rows)

    def _renew(self, token: str, versions: Versions) -> None:
        until = repr(time.time() + self._seconds)
        if not self._opened().compare_and_set(equals("id", token), {"until": until}):
            self._add(token, versions)  # swept while this machine slept

    def leave(self, token: str) -> None:
        """Remove the row."""
        self._hearts.pop(token).stop()
        self._opened().delete(equals("id", token))

    def standing(self) -> list[Versions]:
        """What the rows say that have not run out; those that did so long ago are swept."""
        rows = self._opened().read("`id` LIKE 'reader:%'").to_pylist()
        dead = [row["id"] for row in rows if row["until"] < time.time() - self._seconds]
        if dead:
            self._opened().delete(among("id", dead))
        return [json.loads(row["versions"]) for row in rows if row["until"] >= time.time()]
