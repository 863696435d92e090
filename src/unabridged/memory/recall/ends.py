"""Who stands in which facts, where entities are, what states anything: kept in memory of tables of so many rows.

A filter by ids goes through the store's planner and two indexes: a step of the graph's walk over 41,000 facts takes
3 ms of a processor there. Their ends by number are 4 MB, and are gone through in 0.3 ms. They are kept by the files
that hold them and what was deleted of those, so after a commit only what it wrote is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from unabridged.memory.dataset import Handle

__all__ = ["MOST", "Ends", "ends_of"]

MOST = 60_000  # rows of a table that is kept
LINKS = 4 * MOST  # the same of links, of which no more is kept than what they lead to
ROOM = 64 << 20  # bytes of all that are

Kind = Literal["edges", "entities", "links"]
_COLUMNS: Mapping[Kind, Sequence[str]] = {
    "edges": ("id", "source_id", "target_id"),
    "entities": ("id",),
    "links": ("to_id",),
}
Fact = tuple[str, str, str]  # id, source, target


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one fragment: their places and ids; of facts the ends, as numbers of ``names``.

    Of links it is what they lead to, each once, without places.
    """

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

    def any_of(self, ids: Collection[str]) -> bool:
        """Whether there is anything of some ids."""
        return any(_among(part.ids, ids).any() for part in self._parts)

    def places(self, ids: Collection[str]) -> list[int]:
        """Where the rows of some ids are."""
        return [place for part in self._parts for place in part.places[_among(part.ids, ids)].tolist()]


def ends_of(handle: Handle, of: Kind) -> Ends | None:
    """A table's ids, of facts the ends, of links what they lead to: ``None`` where it is too large to be kept.

    So is it where its store has no files to keep it by.
    """
    states = handle.states()
    if not states or handle.count() > (LINKS if of == "links" else MOST):
        return None
    return Ends([_part(handle, fragment, state, of) for fragment, state in states.items()])


def _among(names: Any, wanted: Collection[str]) -> Any:
    return pc.is_in(names, value_set=pa.array(list(wanted), names.type)).to_numpy(zero_copy_only=False)


def _facts(part: _Part, here: Any) -> Iterator[Fact]:
    names: Any = part.names
    ends = [names.take(pa.array(each[here])).to_pylist() for each in part.ends]
    return zip(part.ids.take(pa.array(here)).to_pylist(), *ends, strict=True)


def _part(handle: Handle, fragment: int, state: str, of: Kind) -> _Part:
    with _mutex:
        found = _kept.get(state)
        if found is not None:
            _kept.move_to_end(state)
            return found
    found = _read(handle, fragment, of)
    with _mutex:
        _kept[state] = found
        while sum(part.size for part in _kept.values()) > ROOM:
            _kept.popitem(last=False)
    return found


def _read(handle: Handle, fragment: int, of: Kind) -> _Part:
    rows = handle.columns(fragment, _COLUMNS[of])
    if of == "links":
        return _Part(np.empty(0), rows["to_id"].unique())
    places, ids = rows["_rowid"].to_numpy(), rows["id"].combine_chunks()
    if of == "entities":
        return _Part(places, ids)
    ends = [*rows["source_id"].chunks, *rows["target_id"].chunks]
    both = pa.chunked_array(ends, rows["source_id"].type).combine_chunks().dictionary_encode()
    numbers = both.indices.to_numpy()
    return _Part(places, ids, both.dictionary, (numbers[: len(rows)], numbers[len(rows) :]))
