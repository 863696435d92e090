"""Erasing for good: from every row, file and queue, and the proof (SPEC A29, case 41).

A deletion takes rows out of sight; their bytes stay in older versions, in data files until compaction,
and in the indexes built over them. A purge rewrites what holds deleted rows, builds the indexes anew,
and removes every other version and the debris of killed writers.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unabridged.advice import counted
from unabridged.embedding.embedder import Embedder
from unabridged.embedding.forgetting import forget
from unabridged.errors import InputError, Taken
from unabridged.memory import snapshots
from unabridged.memory.catalog import local_path
from unabridged.memory.deletion import Deletion, descendants, remove
from unabridged.memory.lock import held
from unabridged.memory.objects import Objects, local_files
from unabridged.memory.outside import again
from unabridged.memory.paging import metadata_where, optional
from unabridged.memory.recall import forget as recalled
from unabridged.memory.schema import INDEXES, OUTSIDE
from unabridged.memory.values import metadata_tags
from unabridged.memory.where import among, batched, both, either, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from unabridged.memory.commits import Draft, Place, View, Writing
    from unabridged.memory.dataset import Handle
    from unabridged.memory.memory import Memory

__all__ = ["Erasure", "Proof", "Purge", "erase", "forget_pending", "forget_requests", "purge"]

READERS = 10.0  # seconds that an erasure waits for readers of old states: a verify or an export ends in that
PROBE = 48  # bytes of a text that are looked for in the files: long enough that no other text holds them by chance


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge did: files rewritten and removed, images that nothing named."""

    bytes_freed: int
    rewritten: int
    images: int


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked for after an erasure, and how often it was found (zero, or it failed)."""

    ids: int
    ids_found: int
    files: int
    bytes: int
    passages: int
    passages_found: int

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not (self.ids_found or self.passages_found)


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure removed, by kind, and the proof that it is gone."""

    deletion: Deletion
    images: int
    series: int
    sessions: int
    inferences: int
    queries: int
    requests: int
    cached: int
    purge: Purge
    proof: Proof


def forget_pending(memory: Memory, ids: Iterable[str]) -> None:
    """Take deleted chunks out of the queue."""
    for part in batched(ids):
        memory.pending.delete(among("id", part))


# -- purge ------------------------------------------------------------------------------------------


def purge(memory: Memory, *, drop_snapshots: bool = False, wait: float = 0.0) -> Purge:
    """Take what was deleted out of every file of the dataset."""
    store = memory.store
    _let_go_of_snapshots(memory, drop=drop_snapshots)
    if not store.place.lake.fine:  # in this process only: there are no files
        memory.upkeep.step(wait=wait)
        recalled.forget()
        return Purge(0, 0, memory.images.sweep())
    snapshots.sweep(store)
    with held(store.place.upkeep), held(store.place.build):
        _wait_for_readers(memory, wait)
        freed, rewritten = store.turn(_purge_tables)
        for table in ("head", *OUTSIDE):
            done = _purge_loose(store.place, table)
            freed, rewritten = freed + done[0], rewritten + done[1]
    memory.upkeep.thorough()
    recalled.forget()
    return Purge(freed, rewritten, memory.images.sweep())


def _let_go_of_snapshots(memory: Memory, *, drop: bool) -> None:
    named = memory.snapshots()
    if named and not drop:
        raise Taken(
            counted(len(named), "snapshot holds the old versions", "snapshots hold the old versions"),
            advice="drop_snapshots",
        )
    for snapshot in named:
        memory.drop_snapshot(snapshot.name)


def _wait_for_readers(memory: Memory, wait: float) -> None:
    end = time.monotonic() + wait
    while standing := len(memory.store.place.readers.standing()):
        if time.monotonic() >= end:
            raise Taken(
                counted(standing, "registered reader holds old versions", "registered readers hold old versions"),
                advice="wait_readers",
            )
        time.sleep(0.05)


def _purge_tables(writing: Writing) -> tuple[int, int]:
    """Rewrite every table, move the head, then remove all versions but the new ones, under one lock."""
    rewritten = sum(_rewrite(writing.touch(table), table) for table in writing.tables)
    writing.move(upkeep={"seq": writing.head.seq + 1, "cleaned": writing.head.seq + 1})
    return sum(handle.clean_older(0.0, unverified=True) for handle in writing.tables.values()), rewritten


def _purge_loose(place: Place, table: str) -> tuple[int, int]:
    """The same for a table that no head names. What a writer is about to commit looks like debris: it is kept out."""
    guard = place.lock if table == "head" else place.outside
    with contextlib.nullcontext() if guard is None else held(guard):
        handle = place.open(table, fenced=False)
        rewritten = again(lambda: _rewrite(handle, table))
        return handle.clean_older(0.0, unverified=guard is not None), rewritten


def _rewrite(handle: Handle, table: str) -> int:
    """Indexes go (they hold what was indexed), fragments with deleted rows are written anew."""
    covered = handle.covered()
    for name in covered:
        handle.drop_index(name)
    stale = [fragment.id for fragment in handle.fragments() if fragment.deleted]
    if stale:
        handle.compact(stale)
    for index in INDEXES.get(table, ()):
        if index.kind == "text":
            handle.create_index(index, empty=True)
    return len(stale)


# -- erase ------------------------------------------------------------------------------------------


def forget_requests(
    memory: Memory, *, session_id: str | None, source: str | None, metadata: Mapping[str, Any] | None
) -> int:
    """Forget requests that meet every filter, also those that failed before anything was stored; how many."""
    if session_id is None and source is None and not metadata:
        return 0
    wanted = set(metadata_tags(metadata))
    doomed = [
        row.id
        for row in memory.requests.list()
        if session_id in (None, row.session_id)
        and source in (None, (row.detail.get("of") or {}).get("source"))
        and wanted <= set(metadata_tags((row.detail.get("of") or {}).get("metadata")))
    ]
    for part in batched(doomed):
        memory.requests.delete(among("id", part))
    return len(doomed)


def erase(
    memory: Memory,
    *,
    session_id: str | None,
    source: str | None,
    metadata: Mapping[str, Any] | None,
    artifacts: Sequence[str],
    drop_snapshots: bool,
) -> Erasure:
    """Erase what meets every filter given, and the artifacts named; then purge, and prove it."""
    where = both(*optional(session_id=session_id, source=source), metadata_where(metadata))
    if where is None and not artifacts:
        raise InputError("erase: name a session_id, a source, metadata or artifacts")
    named = memory.snapshots()
    if named and not drop_snapshots:
        raise Taken(
            counted(len(named), "snapshot holds what is to be erased", "snapshots hold what is to be erased"),
            advice="drop_snapshots",
        )
    doomed = memory.store.ask(lambda view: _doomed(view, where, artifacts))
    texts = [record.text for record in memory.artifacts.many(doomed)]
    # Kept vectors and answers first: of an erasure that is killed later, nobody could tell what to forget.
    cached = sum(_forgotten(each, texts) for each in (memory.embedder, memory.asker))
    whole_session = session_id if source is None and not metadata else None
    deletion, counts = memory.store.commit(lambda draft: _erase_rows(draft, where, artifacts, source, whole_session))
    outside = _erase_outside(memory, deletion.artifacts, whole_session, counts["series_ids"])
    outside["requests"] += forget_requests(memory, session_id=session_id, source=source, metadata=metadata)
    done = purge(memory, drop_snapshots=drop_snapshots, wait=READERS)  # the rows are gone: the files must follow
    return Erasure(
        deletion=deletion,
        images=counts["images"],
        series=len(counts["series_ids"]),
        sessions=counts["sessions"],
        **outside,
        cached=cached,
        purge=done,
        proof=_prove(memory, deletion.artifacts, texts),
    )


def _forgotten(keeper: Any, texts: Sequence[str]) -> int:
    """What an embedder or a chat has kept of the texts is forgotten; how many entries there were."""
    if isinstance(keeper, Embedder):
        return forget(keeper, texts)
    own = getattr(keeper, "forget", None)
    return int(own(texts) or 0) if own is not None else 0


def _doomed(view: View, where: str | None, named: Sequence[str]) -> list[str]:
    found = list(named)
    if where is not None:
        found += view.rows("artifacts", where, ["id"])["id"].to_pylist()
    return descendants(view, found)


def _erase_rows(
    draft: Draft, where: str | None, named: Sequence[str], source: str | None, session_id: str | None
) -> tuple[Deletion, dict[str, Any]]:
    view = draft.view
    deletion = remove(draft, _doomed(view, where, named), unsupported="delete")
    counts: dict[str, Any] = {"images": len(deletion.images), "series_ids": [], "sessions": 0}
    if where is not None and source is None:  # images and series have no source
        images = view.rows("images", where, ["id"])["id"].to_pylist()
        counts["series_ids"] = view.rows("series", where, ["id"])["id"].to_pylist()
        counts["images"] += len(set(images) - set(deletion.images))
        draft.delete("images", among("id", images))
        draft.delete("links", both(equals("type", "entity_image"), among("to_id", images)) or "false")
        draft.delete("series", among("id", counts["series_ids"]))
    if session_id is not None:
        counts["sessions"] = view["sessions"].count(equals("id", session_id))
        draft.delete("sessions", equals("id", session_id))
        types = among("type", ["entity_session", "edge_session"])
        draft.delete("links", both(types, equals("to_id", session_id)) or "false")
    return deletion, counts


def _erase_outside(memory: Memory, ids: Sequence[str], session_id: str | None, series: Sequence[str]) -> dict[str, int]:
    forget_pending(memory, ids)
    memory.series.forget(series)
    gone = {"inferences": 0, "queries": 0, "requests": 0}
    for name in gone:
        table = getattr(memory, name)
        conditions = [among("artifact_id", part) for part in batched(ids)] if name != "queries" else []
        conditions += [equals("session_id", session_id)] if session_id is not None else []
        if conditions:
            gone[name] = table.count(either(*conditions))
            table.delete(either(*conditions))
    return gone


# -- the proof --------------------------------------------------------------------------------------


def _prove(memory: Memory, ids: Sequence[str], texts: Sequence[str]) -> Proof:
    """Look for the ids in every table, and for passages of the texts in the bytes of every file."""
    view = memory.store.view()
    found = 0
    for part in batched(ids):
        found += view["artifacts"].count(either(among("id", part), among("parent_id", part)))
        found += view["links"].count(both(among("to_id", part), "`type` IN ('entity_artifact', 'edge_artifact')"))
        found += memory.pending.count(among("id", part)) + view["edges"].count(among("artifact_id", part))
    kept = _still_said(memory, texts)
    probes = [probe for probe in map(_probe, texts) if probe and probe not in kept]
    files, size, hits = 0, 0, 0
    for raw in _raw(memory):
        files += 1
        size += len(raw)
        hits += sum(probe in raw for probe in probes)
    return Proof(len(ids), found, files, size, len(probes), hits)


def _probe(text: str) -> bytes:
    """A passage from the middle of a text, which another text would not hold by chance."""
    raw = text.encode("utf-8")
    start = max(0, (len(raw) - PROBE) // 2)
    return raw[start : start + PROBE] if len(raw) >= PROBE // 3 else b""


def _still_said(memory: Memory, texts: Sequence[str]) -> set[bytes]:
    """Passages that an artifact which stays holds as well: the same text remembered by somebody else."""
    kept: set[bytes] = set()
    probes = {probe for probe in map(_probe, texts) if probe}
    if not probes:
        return kept
    for batch in memory.store.view()["artifacts"].batches(None, ["text"]):
        joined = "\0".join(batch["text"].to_pylist()).encode("utf-8")
        kept |= {probe for probe in probes - kept if probe in joined}
    return kept


def _raw(memory: Memory) -> Iterator[bytes]:
    place = memory.store.place
    root = local_path(place.lake.uri)
    if root is None:
        if place.lake.fine:
            yield from Objects(place.lake, place.lake.uri).read_all(f"{place.id}.")
        return
    for folder in (*root.glob(f"{place.id}.*"), root / "_unabridged" / place.id):
        for path in local_files(folder):
            with contextlib.suppress(FileNotFoundError):
                yield path.read_bytes()
