"""Who stands in which facts, and where entities are: kept in memory of tables of up to :data:`MOST` rows.

A filter by ids goes through the store's planner and two indexes: a step of the graph's walk over 41,000 facts takes
3 ms of a processor there. Their ends by number are 4 MB, and are gone through in 0.3 ms. They are kept by the files
that hold them and what was deleted of those, so after a commit only what it wrote is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from unabridged.memory.dataset import Handle

__all__ = ["MOST", "Ends", "ends_of"]

MOST = 60_000  # rows of a table that is kept
ROOM = 64 << 20  # bytes of all that are

Fact = tuple[str, str, str]  # id, source, target


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one fragment: their places and ids; of facts the ends, as numbers of ``names``."""

    places: Any
    ids: pa.Array
    names: pa.Array | None = None
    ends: tuple[Any, ...] = field(default=())

    @property
    def size(self) -> int:
        """Bytes."""
        arrays = (self.places, self.ids, self.names, *self.ends)
        return sum(int(each.nbytes) for each in arrays if each is not None)


_kept: OrderedDict[str, _Part] = OrderedDict()  # by what tells a fragment's state, the latest asked for last
_mutex = threading.Lock()


class Ends:
    """The rows of a table at one version, by id and by the entities that they join."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts

    def around(self, names: Collection[str], most: int) -> dict[Fact, int]:
        """The facts that some entities stand in, with their places; ``most`` of them."""
        found: dict[Fact, int] = {}
        for part in self._parts:
            source, target = part.ends
            known = _among(part.names, names)
            here = np.flatnonzero(known[source] | known[target])[: most - len(found)]
            found |= zip(_facts(part, here), part.places[here].tolist(), strict=True)
        return found

    def places(self, ids: Collection[str]) -> list[int]:
        """Where the rows of some ids are."""
        return [place for part in self._parts for place in part.places[_among(part.ids, ids)].tolist()]


def ends_of(handle: Handle, *, facts: bool) -> Ends | None:
    """A table's ids, and of facts the ends; ``None`` where it is too large, or its store has no files to keep it by."""
    states = handle.states()
    if not states or handle.count() > MOST:
        return None
    return Ends([_part(handle, fragment, state, facts=facts) for fragment, state in states.items()])


def _among(names: Any, wanted: Collection[str]) -> Any:
    return pc.is_in(names, value_set=pa.array(list(wanted), names.type)).to_numpy(zero_copy_only=False)


def _facts(part: _Part, here: Any) -> Iterator[Fact]:
    names: Any = part.names
    ends = [names.take(pa.array(each[here])).to_pylist() for each in part.ends]
    return zip(part.ids.take(pa.array(here)).to_pylist(), *ends, strict=True)


def _part(handle: Handle, fragment: int, state: str, *, facts: bool) -> _Part:
    with _mutex:
        found = _kept.get(state)
        if found is not None:
            _kept.move_to_end(state)
            return found
    found = _read(handle, fragment, facts=facts)
    with _mutex:
        _kept[state] = found
        while sum(part.size for part in _kept.values()) > ROOM:
            _kept.popitem(last=False)
    return found


def _read(handle: Handle, fragment: int, *, facts: bool) -> _Part:
    rows = handle.columns(fragment, ["id", *(("source_id", "target_id") if facts else ())])
    places, ids = rows["_rowid"].to_numpy(), rows["id"].combine_chunks()
    if not facts:
        return _Part(places, ids)
    ends = [*rows["source_id"].chunks, *rows["target_id"].chunks]
    both = pa.chunked_array(ends, rows["source_id"].type).combine_chunks().dictionary_encode()
    numbers = both.indices.to_numpy()
    return _Part(places, ids, both.dictionary, (numbers[: len(rows)], numbers[len(rows) :]))
