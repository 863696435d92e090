"""What stands outside the commit: points, models, inferences, pending work, requests, queries.

These must outlive a request that fails, so they are written at once, each table by itself. Appends of
several writers pass each other; a change of a row is a compare-and-set or is repeated until it holds.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from unabridged.errors import Conflict, NotFound, StoreError
from unabridged.memory.commits import ATTEMPTS, Store
from unabridged.memory.lock import held
from unabridged.memory.paging import Page, page
from unabridged.memory.records import Inference, Model
from unabridged.memory.schema import columns_of, from_table, to_table
from unabridged.memory.values import digest, now
from unabridged.memory.where import among, batched, both, equals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.dataset import Handle

__all__ = ["Ledger", "Models", "Outside", "again"]

R = TypeVar("R")
T = TypeVar("T")


class Outside(Generic[R]):
    """One table outside the commit."""

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self.table = table

    def _open(self) -> Handle:
        return self._store.place.open(self.table, fenced=False)

    def _writable(self) -> Handle:
        if self._store.read_only:
            raise StoreError("this memory was opened read-only", advice="writable")
        return self._open()

    def _write(self, write: Callable[[], T]) -> T:
        """Under the lock where there is one: a purge takes files away that no version names yet."""
        guard = self._store.place.outside
        with contextlib.nullcontext() if guard is None else held(guard):
            return again(write)

    def append(self, records: Sequence[R]) -> None:
        """Add rows."""
        if records:
            rows = to_table(self.table, records)
            self._write(lambda: self._writable().append(rows))

    def put(self, records: Sequence[R]) -> None:
        """Add rows, or replace those of the same id."""
        ids = [record.id for record in records]  # type: ignore[attr-defined]
        known = {each.id for each in self.list(among("id", ids))}  # type: ignore[attr-defined]
        self.append([each for each, id_ in zip(records, ids, strict=True) if id_ not in known])
        changed = [each for each, id_ in zip(records, ids, strict=True) if id_ in known]
        if changed:
            rows = to_table(self.table, changed)
            self._write(lambda: self._writable().merge(rows))

    def get(self, id_: str) -> R:
        """One row by id; :class:`~unabridged.errors.NotFound` if it is not there."""
        found = self.list(equals("id", id_), limit=1)
        if not found:
            raise NotFound(f"no row of that id is in {self.table}")
        return found[0]

    def count(self, where: str | None = None) -> int:
        """How many rows pass a filter."""
        return self._open().count(where)

    def change(self, where: str, **values: str) -> bool:
        """Set columns (as SQL literals, see where.py) where a filter holds; whether any row was there."""
        return self._write(lambda: self._writable().compare_and_set(where, values))

    def delete(self, where: str) -> None:
        """Remove rows."""
        if self.count(where):
            self._write(lambda: self._writable().delete(where))

    def list(self, where: str | None = None, *, limit: int | None = None, order: str | None = None) -> list[R]:
        """Rows that pass a filter (see where.py), in the order of a column if asked."""
        by = [(order, True)] if order else []
        return from_table(self.table, self._open().read(where, columns_of(self.table), order=by, limit=limit))

    def page(
        self, where: str | None = None, *, limit: int = 50, cursor: str | None = None, newest_first: bool = False
    ) -> Page[R]:
        """A page of the rows that pass a filter (see where.py), in the order in which they came."""
        shelf = _Shelf(self._open())
        return page(shelf, self.table, where, limit=limit, cursor=cursor, newest_first=newest_first)


class _Shelf:
    """One table outside the commit, as pages are read from one."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def size(self, table: str) -> int:
        return self._handle.count()

    def rows(self, table: str, where: str | None = None, columns: Sequence[str] | None = None, **how: Any) -> pa.Table:
        return self._handle.read(where, columns, **how)

    def records(self, table: str, where: str | None = None, **how: Any) -> list[Any]:
        return from_table(table, self._handle.read(where, columns_of(table), **how))


def again(write: Callable[[], T]) -> T:
    """Write, once more each time that another writer was first."""
    for left in range(ATTEMPTS - 1, -1, -1):
        try:
            return write()
        except Conflict:
            if not left:
                raise
    raise AssertionError


class Models(Outside[Model]):
    """The models that answered, as their APIs report them; registered when new (SPEC A18)."""

    def register(self, name: str, provider: str | None = None) -> Model:
        """The model of that name, made if it is new."""
        key = digest(name, provider or "")[:32]
        found = self.list(equals("id", key), limit=1)
        if found:
            return found[0]
        model = Model(id=key, name=name, provider=provider, created_at=now())
        self.append([model])
        return model


class Ledger(Outside[Inference]):
    """What each call of a model was, and what it cost."""

    def of(self, *, artifact_ids: Sequence[str] = (), session_id: str | None = None) -> list[Inference]:
        """The calls made for some artifacts, or in a session."""
        if not artifact_ids:
            return self.list(None if session_id is None else equals("session_id", session_id), order="created_at")
        of = None if session_id is None else equals("session_id", session_id)
        return [each for part in batched(artifact_ids) for each in self.list(both(among("artifact_id", part), of))]

    def cost(self, where: str | None = None) -> Mapping[str, float]:
        """Tokens in and out, and cost, summed."""
        rows = self.list(where)
        names = ("tokens_in", "tokens_out", "cost")
        return {name: sum(getattr(row, name) or 0 for row in rows) for name in names}
