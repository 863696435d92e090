"""The parts of a table that are kept: one a fragment, by the files that hold it and what was deleted of them.

So after a commit only what it wrote is read. All of them share one room; a table that finds no place in it beside
what else is asked for is asked of its store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from unabridged.memory.recall.kept.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from unabridged.memory.dataset import Handle

__all__ = ["ROOM", "Kind", "forget", "parts_of"]

ROOM = 160 << 20  # bytes of all that is kept
_SHIFT = 32  # a row's place is its fragment's number, then where in it the row stands


class Sized(Protocol):
    """A part, which knows its size."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        ...


P = TypeVar("P", bound=Sized)


@dataclass(frozen=True, slots=True)
class Kind:
    """What is kept of a table: some columns, of the rows that pass a filter; nothing where more than ``most`` do."""

    name: str
    columns: Sequence[str]
    most: int | None
    where: str | None = None


_kept = Room()  # by kind and fragment's state


def parts_of(handle: Handle, kind: Kind, made: Callable[[pa.Table], P]) -> list[P] | None:
    """The parts of a table: ``made`` of each fragment's rows, in order, with their ``_rowid``.

    ``None`` where the table is too large to be kept, or its store has no files to keep it by.
    """
    states = handle.states()
    if not states or (kind.most is not None and handle.count(kind.where) > kind.most):
        return None
    keys = {fragment: f"{kind.name} {state}" for fragment, state in states.items()}
    known: dict[str, P] = _kept.get(keys.values())
    if missing := [fragment for fragment, key in keys.items() if key not in known]:
        if _kept.crowded(keys[fragment] for fragment in missing):
            return None
        read = dict(_by_fragment(handle.columns(missing, kind.columns, kind.where)))
        empty = next(iter(read.values())).slice(0, 0)
        fresh = {keys[fragment]: made(read.get(fragment, empty)) for fragment in missing}
        if not _kept.put({key: (part, part.size) for key, part in fresh.items()}, ROOM):
            return None
        known |= fresh
    return [known[key] for key in keys.values()]


def forget() -> None:
    """Let go of everything that is kept."""
    _kept.clear()


def _by_fragment(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    if not len(rows):
        yield -1, rows
        return
    fragments, first, count = np.unique(rows["_rowid"].to_numpy() >> _SHIFT, return_index=True, return_counts=True)
    for fragment, start, length in zip(fragments.tolist(), first.tolist(), count.tolist(), strict=True):
        yield fragment, rows.slice(start, length)
