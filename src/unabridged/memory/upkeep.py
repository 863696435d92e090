"""Upkeep: small fragments merged, indexes made and refreshed when they pay, old versions cleaned up.

Three steps, by themselves every 25 commits or by hand: compact and index under the writer's lock, move
the head, clean up what no kept head, tag or registered reader needs. The rows that came last, a table's
tail, are not indexed and are merged like a binary counter, so that each row is rewritten log n times;
once a tail is large enough it settles, as one piece: the scalar indexes take it in, and segments of the text,
label and vector indexes are built over it outside the lock and published under it. Nothing automatic rewrites rows that
a text index covers (see dataset.py), nor so many that a writer would wait for more than two seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from unabridged.errors import StoreError
from unabridged.memory import snapshots
from unabridged.memory.lock import WAIT
from unabridged.memory.merging import plan
from unabridged.memory.pieces import APPEND_ROWS, Fragment
from unabridged.memory.schema import INDEXES, OUTSIDE, TABLES, Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.memory.commits import Store, Writing
    from unabridged.memory.dataset import Handle
    from unabridged.memory.head import Head

__all__ = ["Upkeep"]

_log = logging.getLogger("unabridged")

SEGMENTED = frozenset({"text", "labels", "vector"})  # bringing a label index up to date took 75 us a label, 16 s in all
EVERY = 25  # commits: at 25 a commit stays flat, at 400 without upkeep it had grown fourfold
CLEAN_EVERY = 100  # commits: cleaning reads every kept manifest, 0.1 s a table
TAIL = 1024  # the same where text is searched: words of an unindexed tail are read anew by each query, 35 MB a second
LONGEST_TAIL = 4096  # and however large the table is
VECTORS_PAY = 8192  # rows from which a vector index beats a scan: 12,000 are 3 to 8 ms, through an index below two
INLINE = 8192  # rows whose segments are built by the writer that is due; more, in a thread
SEGMENTS = 8  # segments of an index that are searched one by one before the small ones are merged
REMAP = 100_000  # indexed vectors whose remapping stays under a second


class Upkeep:
    """Keeps one dataset in shape, from whichever writer is due."""

    def __init__(self, store: Store, *, automatic: bool = True) -> None:
        self.automatic = automatic
        self._store = store
        self._thread: threading.Thread | None = None
        self._mutex = threading.Lock()
        self._idle: threading.Thread | None = None
        self._closed = threading.Event()
        self._last = 0.0

    def after_commit(self, seq: int) -> None:
        """Do what is due; a step that another writer is doing, or that fails, is left for the next time."""
        if not self.automatic:
            return
        head = self._store.view().head
        if seq - head.upkeep.get("seq", 0) >= EVERY:
            self._try_step()
        self._last = time.monotonic()
        if self._idle is None or not self._idle.is_alive():
            self._closed.clear()
            self._idle = threading.Thread(target=self._when_idle, name="unabridged-upkeep", daemon=True)
            self._idle.start()

    def _try_step(self, *, clean: bool = False) -> None:
        try:
            self.step(clean=clean)
        except (StoreError, OSError) as error:  # the commit is done; the next one finds the same work due
            _log.warning("upkeep was not finished: %s", error)

    def _when_idle(self) -> None:
        """Once nothing was committed for as long as the grace, tidy up what it held; then end."""
        grace = self._store.grace + 1.0
        while (left := self._last + grace - time.monotonic()) > 0:
            if self._closed.wait(left):
                return
        self._try_step(clean=True)

    def thorough(self) -> None:
        """All that there is to do, by hand: however long it takes, in this thread."""
        if self._thread is not None:
            self._thread.join()
        if not self.step(wait=WAIT, thorough=True):
            raise StoreError(f"upkeep was under way elsewhere for {WAIT:g} s")

    def step(self, *, wait: float = 0.0, thorough: bool = False, clean: bool = False) -> bool:
        """One round; whether it was had (another one may be under way)."""
        upkeep = self._store.place.upkeep
        if not upkeep.acquire(wait):
            return False
        try:
            due = self._tend(thorough=thorough, idle=clean)
            if thorough or clean or self._cleaning_due():
                self.clean()
        finally:
            upkeep.release()
        self._index(due, here=thorough)
        return True

    def _cleaning_due(self) -> bool:
        head = self._store.view().head
        return bool(head.seq - head.upkeep.get("cleaned", 0) >= CLEAN_EVERY)

    # -- compact and index, under the lock --------------------------------------------------------

    def _tend(self, *, thorough: bool, idle: bool) -> list[tuple[str, Index]]:
        fine = self._store.place.lake.fine

        def turn(writing: Writing) -> list[tuple[str, Index]]:
            due = []
            for table in TABLES:
                due += (
                    _tend_table(writing, table, thorough=thorough, idle=idle) if fine else _tend_whole(writing, table)
                )
            writing.move(upkeep={"seq": writing.head.seq + 1})
            return due

        due = self._store.turn(turn)
        if fine:
            for table in OUTSIDE:
                _tend_outside(self._store.place.open(table, fenced=False), table, thorough=thorough)
        return due

    # -- segments, outside it -------------------------------------------------------

    def _index(self, due: Sequence[tuple[str, Index]], *, here: bool) -> None:
        heavy = [] if here else [each for each in due if self._rows(*each) > INLINE]
        for table, index in due:
            if (table, index) not in heavy:
                self._build(table, index)
        if heavy:
            self._build_behind(heavy)

    def _rows(self, table: str, index: Index) -> int:
        """How many rows the next segment will cover, old segments that it takes in included."""
        handle = self._store.view()[table]
        wanted = set(_segment(handle, index))
        return sum(f.rows for f in handle.fragments() if f.id in wanted)

    def _build_behind(self, due: Sequence[tuple[str, Index]]) -> None:
        with self._mutex:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._build_all, args=(due,), name="unabridged-index", daemon=True
                )
                self._thread.start()

    def _build_all(self, due: Sequence[tuple[str, Index]]) -> None:
        for table, index in due:
            try:
                self._build(table, index)
            except StoreError as error:
                _log.warning("an index was not built: %s", error)
                return

    def _build(self, table: str, index: Index) -> None:
        """Build a segment over settled fragments that have none, small old segments included; publish it."""
        build = self._store.place.build
        if not build.acquire(0.0):
            return
        try:
            with self._store.pinned() as view:
                handle = view[table]
                fragments = _segment(handle, index)
                if not fragments or (index.kind == "vector" and not handle.holding("embedder IS NOT NULL", fragments)):
                    return
                segment = handle.build(index, fragments)
            self._store.turn(lambda writing: _publish(writing, table, index, segment, fragments))
        finally:
            build.release()

    # -- clean up -----------------------------------------------------------------------------------

    def clean(self, *, grace: float | None = None) -> int:
        """Remove versions that no head of the grace, tag or registered reader needs; the bytes freed."""
        store = self._store
        if not store.place.lake.fine:
            return 0
        snapshots.sweep(store)
        head = store.view().head
        grace = store.grace if grace is None else grace
        floor = _floor(head, time.time() - grace)
        for standing in store.place.readers.standing():
            floor = {table: min(version, standing.get(table, version)) for table, version in floor.items()}
        freed = sum(store.place.open(table).clean(version) for table, version in floor.items())
        for table in store.place.loose:
            freed += store.place.open(table, fenced=False).clean_older(grace)
        if store.place.lake.tidy():
            store.reopen()
        store.turn(lambda writing: writing.move(upkeep={"cleaned": writing.head.seq}))
        return freed

    def close(self) -> None:
        """Wait for an index that is being built, and for a step that is under way; let go of later ones."""
        self._closed.set()
        for thread in (self._thread, self._idle):
            if thread is not None and thread is not threading.current_thread():
                thread.join()


def _floor(head: Head, before: float) -> dict[str, int]:
    """The oldest versions that a reader who came after ``before`` may stand on: below them nobody is."""
    old = [named for when, named in head.marks if when <= before]
    kept = head.versions if head.at <= before else (old[-1] if old else {})
    return {name: kept.get(name, 0) for name in head.versions}


def _tend_table(writing: Writing, table: str, *, thorough: bool, idle: bool) -> list[tuple[str, Index]]:
    handle = writing.tables[table]
    if thorough:
        _merge(writing, table)
    covered = handle.covered()
    fragments = handle.fragments()
    settle = 1 if thorough else _patience(table, sum(f.rows for f in fragments))
    todo = plan(fragments, _settled(table, covered), _frozen(table, covered, fragments), settle, idle=idle)
    if not todo.empty:
        handle = writing.touch(table)
        for run in todo.compact:
            handle.compact(run)
        if todo.refresh:
            _refresh(handle, table, covered)
            covered = handle.covered()
    heavy = [index for index in INDEXES[table] if index.kind in SEGMENTED]
    return [(table, index) for index in heavy if _due(handle, index, covered)]


def _patience(table: str, rows: int) -> int | None:
    """How long a table's tail may grow before it is indexed."""
    texts = any(index.kind == "text" for index in INDEXES[table])
    return min(LONGEST_TAIL, max(TAIL, rows // 32)) if texts else None


def _merge(writing: Writing, table: str) -> None:
    """Merge small fragments and write out deletions wherever they are; what is built in segments is made anew."""
    handle = writing.tables[table]
    pieces = {f.id for f in handle.fragments() if f.deleted or f.rows < APPEND_ROWS // 2}
    if len(pieces) < 2 and not any(f.deleted for f in handle.fragments()):
        return
    writing.touch(table)
    covered = handle.covered()
    for index in INDEXES[table]:
        if index.kind in SEGMENTED and any(segment & pieces for segment in covered.get(index.name, [])):
            handle.drop_index(index.name)
            if index.kind == "text":
                handle.create_index(index, empty=True)
    if known := [index.name for index in _scalars(table) if index.name in covered]:
        handle.refresh_indexes(known)  # fragments under different indexes are not merged
    handle.compact(pieces)


def _scalars(table: str) -> list[Index]:
    return [index for index in INDEXES[table] if index.kind not in SEGMENTED]


def _settled(table: str, covered: dict[str, list[set[int]]]) -> set[int]:
    """The fragments that the table's first scalar index covers, or any that is built in segments."""
    names = [_scalars(table)[0].name, *(i.name for i in INDEXES[table] if i.kind in SEGMENTED)]
    return set().union(*(segment for name in names for segment in covered.get(name, [])))


def _frozen(table: str, covered: dict[str, list[set[int]]], fragments: Sequence[Fragment]) -> set[int]:
    """Fragments whose rows must not move by themselves: under a text or label index, or a large vector index."""
    still = [i.name for i in INDEXES[table] if i.kind in {"text", "labels"}]
    frozen = set().union(*(segment for name in still for segment in covered.get(name, [])))
    vectors: set[int] = set().union(*covered.get("vector_idx", []))
    rows = sum(f.rows for f in fragments if f.id in vectors)
    return frozen | vectors if rows > REMAP else frozen


def _refresh(handle: Handle, table: str, covered: dict[str, list[set[int]]]) -> None:
    known = [index.name for index in _scalars(table) if index.name in covered]
    if known:
        handle.refresh_indexes(known)
    for index in _scalars(table):
        if index.name not in covered:
            handle.create_index(index)


def _tend_whole(writing: Writing, table: str) -> list[tuple[str, Index]]:
    """In a store without finer calls."""
    if writing.tables[table].count():
        writing.touch(table).rewrite()
    return []


def _tend_outside(handle: Handle, table: str, *, thorough: bool) -> None:
    """Queues and points: merged when they have grown small pieces; they have no head to keep to."""
    covered = handle.covered()
    settled = _settled(table, covered) if INDEXES[table] else set()
    todo = plan(handle.fragments(), settled, set())
    if thorough or sum(map(len, todo.compact)) >= EVERY or todo.refresh:
        for run in todo.compact:
            handle.compact(run)
        if todo.refresh and INDEXES[table]:
            _refresh(handle, table, covered)


def _due(handle: Handle, index: Index, covered: dict[str, list[set[int]]]) -> bool:
    if index.kind == "vector" and "vector" not in handle.schema.names:
        return False
    if index.kind == "vector" and sum(f.rows for f in handle.fragments()) < VECTORS_PAY:
        return False
    return bool(_uncovered(handle, index, covered))


def _uncovered(handle: Handle, index: Index, covered: dict[str, list[set[int]]] | None = None) -> set[int]:
    """Settled fragments that the index does not cover yet."""
    covered = handle.covered() if covered is None else covered
    known = set().union(*_segments(handle, index, covered))
    first = next((name for name in ("id_idx", "from_id_idx") if name in covered), None)
    settled = set().union(*covered[first]) if first else set()
    return (settled & {f.id for f in handle.fragments()}) - known


def _segments(handle: Handle, index: Index, covered: dict[str, list[set[int]]]) -> list[set[int]]:
    """What the segments of an index cover; those of another kind than would be built today do not count."""
    return [] if _is_outdated(handle, index) else covered.get(index.name, [])


def _is_outdated(handle: Handle, index: Index) -> bool:
    if index.kind != "vector" or "vector" not in handle.schema.names:
        return False
    return handle.kinds().get(index.name, "") not in {"", handle.vector_kind()["index_type"]}


def _segment(handle: Handle, index: Index) -> list[int]:
    """The fragments of the next segment: those without one, and small old segments once there are many."""
    rows = {f.id: f.rows for f in handle.fragments()}
    covered = handle.covered()
    fresh = _uncovered(handle, index, covered)
    if not fresh:
        return []
    known = [segment for segment in _segments(handle, index, covered) if segment]
    segments = sorted(known, key=lambda segment: sum(rows.get(f, 0) for f in segment))
    total = sum(rows[f] for f in fresh)
    for segment in segments if len(segments) >= SEGMENTS else ():
        size = sum(rows.get(f, 0) for f in segment)
        if size > total:
            break
        fresh |= segment & rows.keys()
        total += size
    return sorted(fresh)


def _publish(writing: Writing, table: str, index: Index, segment: Any, fragments: Sequence[int]) -> None:
    handle = writing.touch(table)
    if set(fragments) <= {f.id for f in handle.fragments()}:  # else it is of rows that have moved since
        if _is_outdated(handle, index):  # segments of two kinds are refused
            handle.drop_index(index.name)
        handle.publish(index, segment)
        writing.move()
