"""Whether a dataset's tables are there and can be read: every row, every index, the versions of named states.

What is found here is damage from outside: a file that was removed, cut off or replaced. Nothing that is read
from a damaged table can be believed, so :mod:`unabridged.memory.verify` looks no further then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unabridged.errors import StoreError
from unabridged.memory import snapshots
from unabridged.memory.schema import INDEXES, OUTSIDE, TABLES, Index
from unabridged.memory.where import both, equals, has, not_null

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from unabridged.memory.commits import Store, View
    from unabridged.memory.dataset import Handle

__all__ = ["Check", "check", "opened", "sound"]

_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One promise: how many rows were looked at, how many broke it, the ids of some that did."""

    name: str
    checked: int
    broken: int
    examples: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it holds."""
        return not self.broken


def check(name: str, checked: int, broken: Iterable[Any]) -> Check:
    """A check from what it looked at and what broke it."""
    found = list(broken)
    return Check(name, checked, len(found), tuple(str(each)[:64] for each in found[:_EXAMPLES]))


def opened(view: View) -> Check:
    """Whether the versions that the head names are there."""
    return check("tables: the head's versions are there", len(TABLES), _failing(TABLES, lambda name: view[name].schema))


def sound(store: Store, view: View) -> Iterator[Check]:
    """Every row of every table, one question to every index, the versions of every named state."""
    broken = _failing(TABLES, lambda name: _read(view[name]))
    yield check("tables: every row can be read", len(TABLES), broken)
    broken = _failing(OUTSIDE, lambda name: _read(store.place.open(name, fenced=False)))
    yield check("tables outside the commit: every row can be read", len(OUTSIDE), broken)
    if store.place.lake.fine and not broken:
        yield _indexes(view)
    if store.place.lake.fine and "snapshots" not in broken:
        yield _snapshots(store)


def _failing(names: Iterable[str], ask: Callable[[str], object]) -> list[str]:
    found = []
    for name in names:
        try:
            ask(name)
        except StoreError:
            found.append(name)
    return found


def _read(handle: Handle) -> None:
    for _ in handle.batches():
        pass


def _snapshots(store: Store) -> Check:
    states = {each.name: each for each in snapshots.listed(store)}
    broken = _failing(states, lambda name: _open_all(snapshots.view_of(store, states[name])))
    return check("snapshots: their versions are there", len(states), broken)


def _open_all(view: View) -> None:
    for table in view.head.versions:
        view[table].fragments()


def _indexes(view: View) -> Check:
    known = {(table, index.name): index for table in TABLES for index in INDEXES[table]}
    there = [(table, name) for table in TABLES for name in view[table].covered() if (table, name) in known]
    named = {f"{table}.{name}": (table, known[table, name]) for table, name in there}
    return check("indexes: answer", len(named), _failing(named, lambda name: _answers(view, *named[name])))


def _answers(view: View, table: str, index: Index) -> None:
    """Ask an index for what the first row that it may hold has; a :class:`StoreError` if it cannot tell."""
    handle, column = view[table], index.column
    sample = handle.read(not_null(column), [column], limit=1)
    if not sample.num_rows:
        return
    value = sample[column][0].as_py()
    if index.kind == "vector":
        handle.nearest(value, 1)
    elif index.kind == "text":
        handle.match(value[:200], column, 1)
    elif index.kind == "labels":
        if value and not handle.count(has(column, value[0])):
            raise StoreError("the index does not know what the table holds")
    elif not handle.count(both(equals(column, value))):
        raise StoreError("the index does not know what the table holds")
