"""Named states: a tag on each table at the versions of one head, opened, restored or let go by name.

Tags come before the row that names them and go after it, all under the writer's lock: a process killed between
leaves tags without a row, which hold old versions (and deleted text in them); upkeep and purges sweep those.
"""

from __future__ import annotations

import re

from unabridged.errors import NotFound, Taken
from unabridged.memory.commits import Store, View, Writing
from unabridged.memory.head import Head
from unabridged.memory.migration import migrate
from unabridged.memory.outside import Outside
from unabridged.memory.records import Snapshot
from unabridged.memory.values import checked_name, new_id, now
from unabridged.memory.where import equals

__all__ = ["drop", "find", "listed", "restore", "sweep", "take", "view", "view_of"]

_OURS = re.compile(r"[0-9a-f]{32}")  # the id of a snapshot; a tag that somebody else made is left alone


def _shelf(store: Store) -> Outside[Snapshot]:
    return Outside(store, "snapshots")


def listed(store: Store) -> list[Snapshot]:
    """The named states, oldest first."""
    return _shelf(store).list(order="created_at")


def find(store: Store, name: str) -> Snapshot:
    """The state of that name; :class:`~unabridged.errors.NotFound` if there is none."""
    found = _shelf(store).list(equals("name", name), limit=1)
    if not found:
        raise NotFound("no snapshot of that name", advice="list_snapshots")
    return found[0]


def take(store: Store, name: str) -> Snapshot:
    """Tag every table at the head, then write the name down."""
    checked_name(name, "snapshot name")

    def turn(writing: Writing) -> Snapshot:
        if _shelf(store).count(equals("name", name)):
            raise Taken("a snapshot of that name exists", advice="drop_snapshot")
        head = writing.head
        made = Snapshot(
            id=new_id(),
            name=name,
            seq=head.seq,
            created_at=now(),
            versions=dict(head.versions),
            settings=dict(head.settings),
        )
        for table, version in head.versions.items():
            store.place.open(table, version).tag(made.id)
        _shelf(store).append([made])
        return made

    return store.turn(turn)


def drop(store: Store, name: str) -> None:
    """Take the name away, then the tags."""

    def turn(_writing: Writing) -> None:
        found = find(store, name)
        _shelf(store).delete(equals("id", found.id))
        for table in found.versions:
            store.place.open(table, fenced=False).untag(found.id)

    store.turn(turn)


def sweep(store: Store) -> int:
    """Let go of tags that no named state has: of one that was killed while it was taken or dropped; how many."""

    def turn(writing: Writing) -> int:
        named = {each.id for each in listed(store)}
        gone = 0
        for handle in (store.place.open(table, fenced=False) for table in writing.head.versions):
            for stray in filter(_OURS.fullmatch, handle.tags() - named):
                handle.untag(stray)
                gone += 1
        return gone

    return store.turn(turn)


def view_of(store: Store, snapshot: Snapshot) -> View:
    """Every table at the versions of a named state."""
    return View(store.place, Head(snapshot.seq, dict(snapshot.versions), settings=dict(snapshot.settings)))


def view(store: Store, name: str) -> View:
    """The same, by name."""
    return view_of(store, find(store, name))


def restore(store: Store, name: str) -> None:
    """Make a named state the present one, in one commit."""
    found = find(store, name)

    def turn(writing: Writing) -> None:
        for table in writing.tables:
            handle = writing.touch(table)
            if table in found.versions:
                handle.restore(found.versions[table])
            else:  # a table that came with a later schema
                handle.delete("true")
        writing.move(settings=found.settings)

    store.turn(turn)
    migrate(store)
