"""The parts of a table that are kept: one a fragment, by the files that hold it and what was deleted of them.

So after a commit only what it wrote is read. All of them share one room; the ones that were not asked for go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.dataset import Handle

__all__ = ["ROOM", "Kind", "parts_of"]

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


_kept: OrderedDict[str, Sized] = OrderedDict()  # by kind and fragment's state, the latest asked for last
_mutex = threading.Lock()


def parts_of(handle: Handle, kind: Kind, made: Callable[[pa.Table], P]) -> list[P] | None:
    """The parts of a table: ``made`` of each fragment's rows, in order, with their ``_rowid``.

    ``None`` where the table is too large to be kept, or its store has no files to keep it by.
    """
    states = handle.states()
    if not states or (kind.most is not None and handle.count(kind.where) > kind.most):
        return None
    keys = {fragment: f"{kind.name} {state}" for fragment, state in states.items()}
    with _mutex:
        known = {fragment: _kept[key] for fragment, key in keys.items() if key in _kept}
        for fragment in known:
            _kept.move_to_end(keys[fragment])
    if missing := [fragment for fragment in states if fragment not in known]:
        read = dict(_by_fragment(handle.columns(missing, kind.columns, kind.where)))
        empty = next(iter(read.values())).slice(0, 0)
        fresh = {fragment: made(read.get(fragment, empty)) for fragment in missing}
        _keep({keys[fragment]: part for fragment, part in fresh.items()})
        known |= fresh
    return cast("list[P]", [known[fragment] for fragment in states])


def _by_fragment(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    if not len(rows):
        yield -1, rows
        return
    fragments, first, count = np.unique(rows["_rowid"].to_numpy() >> _SHIFT, return_index=True, return_counts=True)
    for fragment, start, length in zip(fragments.tolist(), first.tolist(), count.tolist(), strict=True):
        yield fragment, rows.slice(start, length)


def _keep(parts: Mapping[str, Sized]) -> None:
    with _mutex:
        _kept.update(parts)
        while sum(part.size for part in _kept.values()) > ROOM:
            _kept.popitem(last=False)
