"""One commit over several tables: write them under the writer's lock, then move one row, the head.

The head names the version of every table that is true. Readers open exactly those; a commit is seen
when its compare-and-set on the head succeeds, and not before. A writer that takes over from another
one restores **every** table to the head first, whatever its newest version is: half a commit of a
killed writer disappears, and what a stopped writer still has in flight is refused by Lance, its next
write by the fence in :class:`~unabridged.memory.dataset.Handle`, its commit by the head.

There is no fsync below this: a commit survives the death of its process, not of the machine's power.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from unabridged.errors import Conflict, StoreError
from unabridged.memory.conditions import asked
from unabridged.memory.head import Head, head_of
from unabridged.memory.lock import Lock, Readers, held
from unabridged.memory.schema import (
    OUTSIDE,
    VECTOR_TABLES,
    columns_of,
    from_table,
    to_table,
    vector_column,
    vector_field,
)
from unabridged.memory.trouble import Gone
from unabridged.memory.values import new_id
from unabridged.memory.where import equals, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from unabridged.memory.dataset import Handle, Lake

__all__ = ["Draft", "Place", "Source", "Store", "View", "Writing"]

T = TypeVar("T")
ATTEMPTS = 6  # a lost race is rare under a lock; under leases a sleeper can lose several in a row


@dataclass(frozen=True, slots=True)
class Place:
    """Where one dataset lies, and what guards it.

    ``outside`` guards the tables outside the commit, where an operating system does: a lease for each row that is
    written there would cost more than the row. ``loose`` are the tables that no head names.
    """

    lake: Lake
    id: str
    name: str
    lock: Lock
    upkeep: Lock
    build: Lock
    readers: Readers
    outside: Lock | None = None
    loose: tuple[str, ...] = ("head", *OUTSIDE)

    def open(self, table: str, version: int | None = None, *, fenced: bool = True) -> Handle:
        """One of its tables."""
        return self.lake.open(f"{self.id}.{table}", version, fenced=fenced)


class View:
    """Every table at the version that one head names. Safe to share between threads; never moves."""

    def __init__(self, place: Place, head: Head) -> None:
        self.head = head
        self._place = place
        self._open: dict[str, Handle] = {}
        self._mutex = threading.Lock()

    def __getitem__(self, table: str) -> Handle:
        """A table, opened when it is first asked for."""
        with self._mutex:
            if table not in self._open:
                self._open[table] = self._place.open(table, self.head.versions[table])
            return self._open[table]

    @property
    def dataset(self) -> str:
        """The dataset's id."""
        return self._place.id

    @property
    def settings(self) -> Mapping[str, Any]:
        """The dataset's settings at this head."""
        return self.head.settings

    def size(self, table: str) -> int:
        """How many rows a table has."""
        return self[table].count()

    def rows(self, table: str, where: str | None = None, columns: Sequence[str] | None = None, **how: Any) -> pa.Table:
        """Rows as Arrow; see :meth:`~unabridged.memory.dataset.Handle.read`."""
        return self[table].read(where, columns, **how)

    def records(self, table: str, where: str | None = None, **how: Any) -> list[Any]:
        """Rows as records."""
        return from_table(table, self[table].read(where, columns_of(table), **how))


class Source(Protocol):
    """Where reads come from: the newest head, or one that stays."""

    def ask(self, question: Callable[[View], T]) -> T:
        """Answer from one view of all tables."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """A view that stays: a snapshot, or a reader that is registered."""

    view: View

    def ask(self, question: Callable[[View], T]) -> T:
        """Answer from it."""
        return question(self.view)


class Draft:
    """What a commit will write, collected against the view that it was decided on."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.changed: dict[str, Any] = {}
        self.appended: dict[str, list[tuple[Sequence[Any], Sequence[Any] | None]]] = {}
        self.merged: dict[str, list[pa.Table]] = {}
        self.deleted: dict[str, list[str]] = {}
        self.columns: tuple[int, str] | None = None
        self.dropped = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.changed or self.appended or self.merged or self.deleted or self.columns or self.dropped)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings as they will be."""
        return {**self.view.settings, **self.changed}

    def append(self, table: str, records: Sequence[Any], vectors: Sequence[Any] | None = None) -> None:
        """New rows; ``vectors`` in the order of ``records``, ``None`` where there is none."""
        if records:
            self.appended.setdefault(table, []).append((records, vectors))

    def merge(self, table: str, rows: pa.Table) -> None:
        """Changed columns of rows that are there, by id."""
        if rows.num_rows:
            self.merged.setdefault(table, []).append(rows)

    def delete(self, table: str, where: str) -> None:
        """Rows that go."""
        self.deleted.setdefault(table, []).append(where)

    def set(self, **settings: Any) -> None:
        """Change settings of the dataset."""
        self.changed.update(settings)

    def add_vectors(self, width: int, kind: str = "float32") -> None:
        """Give the tables their vector columns, with the first vector."""
        self.columns = (width, kind)
        self.set(width=width, vector_type=kind)

    def drop_vectors(self) -> None:
        """Take the vector columns away: another model's will follow."""
        self.dropped = True

    def table(self, name: str, records: Sequence[Any], vectors: Sequence[Any] | None) -> pa.Table:
        """Records and their vectors as the rows that the table will hold."""
        rows = to_table(name, records)
        width = self.settings.get("width")
        if name not in VECTOR_TABLES or not width:
            return rows
        column = vector_column(vectors or [None] * len(records), width, self.settings["vector_type"])
        return rows.append_column("vector", column)


class Writing:
    """One turn under the writer's lock: the tables at the head, about to move."""

    def __init__(self, view: View, tables: dict[str, Handle], store: Store) -> None:
        self.view = view
        self.tables = tables
        self.moved = False
        self._store = store

    @property
    def head(self) -> Head:
        """The head that this turn started from."""
        return self.view.head

    def apply(self, draft: Draft) -> None:
        """Write what was drafted: columns, then deletions, changes, additions."""
        self._columns(draft)
        for table, conditions in draft.deleted.items():
            for where in conditions:
                self._table(table).delete(where)
        for table, changes in draft.merged.items():
            for rows in changes:
                self._table(table).merge(rows)
        for table, parts in draft.appended.items():
            rows = pa.concat_tables([draft.table(table, *part) for part in parts])
            handle = self._table(table)
            handle.append(rows.select(handle.schema.names))

    def _columns(self, draft: Draft) -> None:
        for table in VECTOR_TABLES:
            if draft.dropped and "vector" in self.tables[table].schema.names:
                self._table(table).drop_columns(["vector"])
            if draft.columns:
                self._table(table).add_columns([vector_field(*draft.columns)])

    def _table(self, name: str) -> Handle:
        self._store.place.lock.confirm()
        self._store.dirty = True
        return self.tables[name]

    def touch(self, name: str) -> Handle:
        """A table that is about to be moved by other means than a draft; nobody may be ahead of the head."""
        handle = self._table(name)
        if handle.version != handle.latest():
            raise Conflict("a table is ahead of the head: an unfinished commit is to be undone first")
        return handle

    def move(self, *, settings: Mapping[str, Any] | None = None, upkeep: Mapping[str, Any] | None = None) -> Head:
        """Move the head: from here on the commit is seen."""
        changed: dict[str, Any] = {} if settings is None else {"settings": dict(settings)}
        if upkeep is not None:
            changed["upkeep"] = {**self.head.upkeep, **upkeep}
        versions = {name: handle.version for name, handle in self.tables.items()}
        following = self.head.following(versions, self._store.me, self._store.grace, **changed)
        self._store.move(self.head, following)
        self.moved = True
        return following


class Store:
    """A dataset: its newest view, its commits.

    ``grace`` is how many seconds a superseded version stays for readers that are not registered.
    """

    def __init__(self, place: Place, *, grace: float = 60.0, read_only: bool = False) -> None:
        self.place = place
        self.grace = grace
        self.read_only = read_only
        self.me = new_id()
        self.dirty = False
        self.committed: Callable[[int], object] = lambda _seq: None
        self._mutex = threading.Lock()
        self._head_table = place.open("head", fenced=False)
        self._seen = -1
        self._view: View | None = None
        self._tables: dict[str, Handle] = {}

    def view(self) -> View:
        """The newest head's view: an answer costs one look at the head, and a read only where it moved."""
        with self._mutex:
            version = self._head_table.latest()
            if self._view is None or version != self._seen:
                head = head_of(self._head_table.read())
                if self._view is None or head.seq != self._view.head.seq:
                    self._view = View(self.place, head)
                self._seen = version
            return self._view

    def reopen(self) -> None:
        """Read every table through another opening from now on."""
        with self._mutex:
            self._view = None
        for handle in self._tables.values():
            handle.reopen()

    def ask(self, question: Callable[[View], T]) -> T:
        """Answer from the newest view; once more if its versions were cleaned up under a slow reader."""
        try:
            return question(self.view())
        except Gone:
            with self._mutex:
                self._view = None
            return question(self.view())

    @contextlib.contextmanager
    def pinned(self) -> Iterator[View]:
        """A view that stays as long as the block runs: registered, so that upkeep leaves it alone.

        Where a read-only store cannot be registered with (a mount that is read-only too), the view stays for as
        long as the grace of those who write elsewhere.
        """
        view = self.view()
        token = self._registered(view)
        try:
            for table in view.head.versions:
                view[table]  # opened now, while the grace still holds it
            yield view
        finally:
            if token is not None:
                self.place.readers.leave(token)

    def _registered(self, view: View) -> str | None:
        try:
            return self.place.readers.register(view.head.versions)
        except StoreError:
            if not self.read_only:
                raise
            return None

    def commit(self, work: Callable[[Draft], T]) -> T:
        """Let ``work`` draft against the head, write it, move the head; again if another writer was first."""
        look = asked()

        def turn(writing: Writing) -> tuple[T, int]:
            draft = Draft(look(writing.view))
            result = work(draft)
            if draft.empty:
                return result, 0
            writing.apply(draft)
            return result, writing.move(settings=draft.settings).seq

        result, seq = self.turn(turn)
        if seq:
            self.committed(seq)
        return result

    def turn(self, work: Callable[[Writing], T]) -> T:
        """One turn under the writer's lock, again if another writer was first."""
        for left in range(ATTEMPTS - 1, -1, -1):
            try:
                with self._writing() as writing:
                    return work(writing)
            except Conflict:
                if not left:
                    raise
        raise AssertionError

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Writing]:
        """The writer's lock, with every table at the head."""
        if self.read_only:
            raise StoreError("this memory was opened read-only", advice="writable")
        with held(self.place.lock):
            view = self.view()
            if view.head.writer != self.me or self.dirty or not self._at(view.head):
                self._take_over(view.head)
            yield Writing(view, self._tables, self)

    def _at(self, head: Head) -> bool:
        return {name: handle.version for name, handle in self._tables.items()} == dict(head.versions)

    def _take_over(self, head: Head) -> None:
        self.dirty = True
        for name, version in head.versions.items():
            self.place.lock.confirm()
            handle = self.place.open(name)
            handle.restore(version)
            self._tables[name] = handle

    def move(self, head: Head, following: Head) -> None:
        """Compare and set: from ``head`` to ``following``, or :class:`~unabridged.errors.Conflict`."""
        self.place.lock.confirm()
        values = {"seq": str(following.seq), "state": literal(following.state())}
        if not self.place.open("head", fenced=False).compare_and_set(equals("seq", head.seq), values):
            raise Conflict("another writer moved the head first; nothing of this commit is visible")
        self.dirty = False
