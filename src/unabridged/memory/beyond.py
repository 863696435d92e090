"""What lies beyond the head: versions that it does not name, and heads that were before it.

A writer that was killed in a commit leaves versions after those of the head. That is normal: nobody sees them, and
the next commit undoes them. A head that was set back (an older row written by hand, its files taken from a copy)
leaves the commits after it there as well, which were acknowledged and are seen no more. The two are told apart by
what one commit can be: it appends to a table once, and what is found of another writer's is undone first.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.advice import counted
from unabridged.errors import StoreError
from unabridged.memory.head import head_of
from unabridged.memory.pieces import APPEND_ROWS
from unabridged.memory.soundness import Check, check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.memory.commits import Store
    from unabridged.memory.dataset import Handle

__all__ = ["Beyond", "beyond", "commits_in"]

HEADS = 100  # earlier heads looked at: as many as there are between two cleanings


@dataclass(frozen=True, slots=True)
class Beyond:
    """Whether the head is the newest one that was made, and what is worth knowing of what it does not name."""

    check: Check
    notes: tuple[str, ...] = ()


def beyond(store: Store) -> Beyond:
    """Look for commits after the head; it is read last, so that one that moves meanwhile is no fault."""
    if not store.place.lake.fine:
        return Beyond(check(_NAME, 1, []))
    made = _newest_head(store)
    last = {table: store.place.open(table, fenced=False) for table in store.view().head.versions}
    head = head_of(store.place.open("head", fenced=False).read())
    lost = [f"commit {made}"] if made > head.seq else []
    lost += [
        t for t, handle in last.items() if commits_in(_made_after(handle, head.versions.get(t, handle.version))) > 1
    ]
    if lost:
        return Beyond(check(_NAME, 1, lost), (_SET_BACK,))
    left = _left(store)
    return Beyond(check(_NAME, 1, []), (f"{counted(left, 'table')} {_LEFT}",) if left else ())


_NAME = "head: no commit was made after it"
_SET_BACK = (
    "the head was set back: commits after it are there and are not seen. Write nothing more, the next commit undoes "
    "them; bring the files of the head's table back as they were"
)
_LEFT = "have versions that no commit names, of a writer that was killed: the next commit undoes them"


def _newest_head(store: Store) -> int:
    """The highest number of a commit that the head's own versions tell."""
    table = store.place.open("head", fenced=False)
    found = [-1]
    for version in table.versions()[-HEADS:]:
        with contextlib.suppress(StoreError):  # cleaned up meanwhile
            found.append(head_of(store.place.open("head", version, fenced=False).read()).seq)
    return max(found)


def _made_after(handle: Handle, version: int) -> list[int | None]:
    made: list[int | None] = []
    for each in range(version + 1, handle.version + 1):
        with contextlib.suppress(StoreError):  # a version of which only its successors are left
            made.append(handle.appended(each))
    return made


def commits_in(appended: Iterable[int | None]) -> int:
    """How many commits there are at the least in a row of versions, by the rows that each appended.

    ``None`` is one that set the table back, with which another writer begins. Of what a commit appends only the
    last piece is short.

    >>> commits_in([0, 3, None, 0, 3]), commits_in([65536, 20]), commits_in([3, 0, 3])
    (1, 1, 2)
    """
    most = here = 0
    for rows in appended:
        here = 0 if rows is None else here + (0 < rows < APPEND_ROWS)
        most = max(most, here)
    return most


def _left(store: Store) -> int:
    """How many tables were written to after the head while nobody writes; 0 where somebody does, or nobody can tell.

    One that was only set back holds what the head says: a writer began there, and had nothing to commit.
    """
    lock = store.place.lock
    with contextlib.suppress(StoreError):
        if not store.read_only and lock.acquire(0.0):
            try:
                head = head_of(store.place.open("head", fenced=False).read())
                made = (_made_after(store.place.open(t, fenced=False), at) for t, at in head.versions.items())
                return sum(bool(each) and each[-1] is not None for each in made)
            finally:
                lock.release()
    return 0
