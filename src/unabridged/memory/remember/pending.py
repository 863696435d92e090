"""Texts that wait for their graph (SPEC K7): queued when they are stored, drained, recovered.

A row a chunk, outside the commit; what is stored and has no graph is found without it too, by
``processed_at``. A job looks again before it works: at the chunk, at its scope, at ``processed_at``.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

from unabridged.errors import Cancelled, ConfigError, UnabridgedError
from unabridged.memory.processes import alive, me
from unabridged.memory.records import Pending
from unabridged.memory.remember.pending_work import worked
from unabridged.memory.values import now
from unabridged.memory.where import among, batched, both, equals, is_null, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from unabridged.memory.memory import Memory
    from unabridged.memory.remember.data import Event
    from unabridged.memory.remember.run import Run

__all__ = ["Dispatcher", "PendingReport", "dispatch", "queued", "recover", "work_pending"]

BATCH = 512  # SPEC K7, as the next three
INTERVAL = 60.0
CYCLES = 3
DOCUMENTS = 4
_GRACE = 60.0  # seconds in which a row may be there before the artifact that it is of
_at_work: set[str] = set()  # the chunks that this process is at


@dataclass(frozen=True, slots=True)
class PendingReport:
    """What one pass did: graphs made, chunks that failed (they are tried again), and what is left.

    ``held`` failed in every cycle and wait for somebody to look; ``queued`` were found by ``processed_at``
    alone, ``recovered`` were put back after a failure.
    """

    done: int = 0
    failed: int = 0
    held: int = 0
    waiting: int = 0
    queued: int = 0
    recovered: int = 0


def queued(run: Run) -> int:
    """Queue the units of a deferred request, before they are stored: none is ever missed. How many."""
    plan = run.plan
    detail = {
        "models": dict(plan.request.models),
        "reasoning": dict(plan.request.reasoning),
        "summarize": plan.request.summarize,
        "supersedes": plan.request.supersedes,
        "on_summary_failure": "keep" if plan.request.keep_unsummarized else "fail",
    }
    rows = [Pending(id=unit.id, document_id=plan.id, created_at=now(), detail=detail) for unit in plan.units]
    run.memory.pending.put(rows)
    return len(rows)


def dispatch(memory: Memory, *, limit: int = BATCH) -> int:
    """Queue the chunks that have no graph and are in no queue; how many."""
    where = both(equals("role", "chunk"), is_null("processed_at"))
    columns = ["id", "document_id", "created_at"]
    rows = memory.source.ask(lambda view: view.rows("artifacts", where, columns)).to_pylist()
    known: set[str] = set()
    for part in batched(row["id"] for row in rows):
        known |= {each.id for each in memory.pending.list(among("id", part))}
    missed = [row for row in rows if row["id"] not in known][:limit]
    at = now()
    memory.pending.append([Pending(id=row["id"], document_id=row["document_id"], created_at=at) for row in missed])
    return len(missed)


def recover(memory: Memory, *, limit: int = BATCH, cycles: int = CYCLES) -> tuple[int, int]:
    """Put failures back, and what a process that died was at; hold those that failed in every cycle. How many each."""
    back: list[Pending] = []
    held = 0
    for row in memory.pending.list(among("status", ["failed", "running"]), limit=limit, order="created_at"):
        if row.status == "running":
            if row.id not in _at_work and not alive(row.detail.get("owner") or {}, row.updated_at):
                back.append(replace(row, status="waiting", updated_at=now()))
        elif row.cycles + 1 >= cycles:
            held += memory.pending.change(equals("id", row.id), status=literal("held"))
        else:
            back.append(replace(row, status="waiting", cycles=row.cycles + 1, updated_at=now()))
    memory.pending.put(back)
    return len(back), held


def work_pending(
    memory: Memory,
    *,
    limit: int = BATCH,
    documents: int = DOCUMENTS,
    cycles: int = CYCLES,
    progress: Callable[[Event], None] | None = None,
    cancel: threading.Event | None = None,
) -> PendingReport:
    """One pass: find what was missed, put back what failed, and make the graphs of at most ``limit`` chunks.

    At most ``documents`` at once, the chunks of each in order; one that fails hurts only itself.
    """
    if memory.asker is None:
        raise ConfigError("chat", "found none, expected a chat model", advice="chat")
    recovered, _ = recover(memory, limit=limit, cycles=cycles)
    found = dispatch(memory, limit=limit)
    rows = _claimed(memory, limit)
    jobs = [list(part) for _, part in groupby(rows, key=lambda row: row.document_id)]
    try:
        with ThreadPoolExecutor(max(1, min(documents, len(jobs))), thread_name_prefix="unabridged-pending") as pool:
            done = list(pool.map(lambda job: _job(memory, job, progress, cancel), jobs))
    finally:
        _at_work.difference_update(row.id for row in rows)
    return PendingReport(
        done=sum(good for good, _ in done),
        failed=sum(bad for _, bad in done),
        held=memory.pending.count(equals("status", "held")),
        waiting=memory.pending.count(equals("status", "waiting")),
        queued=found,
        recovered=recovered,
    )


def _claimed(memory: Memory, limit: int) -> list[Pending]:
    """Rows that this pass works on: taken one by one, so that no other one has them too."""
    waiting = memory.pending.list(equals("status", "waiting"), order="created_at")
    waiting.sort(key=lambda row: (-row.priority, row.created_at, row.document_id, row.id))
    owner = {**me(), "since": now().isoformat()}
    mine: list[Pending] = []
    for row in waiting[:limit]:
        taken = replace(row, status="running", updated_at=now(), detail={**row.detail, "owner": owner})
        free = both(equals("id", row.id), equals("status", "waiting")) or ""
        if memory.pending.change(free, status=literal("running"), updated_at=literal(now())):
            _at_work.add(row.id)
            mine.append(taken)
    memory.pending.put(mine)
    order = {document: at for at, document in enumerate(dict.fromkeys(row.document_id for row in mine))}
    return sorted(mine, key=lambda row: order[row.document_id])


def _job(
    memory: Memory,
    rows: Sequence[Pending],
    progress: Callable[[Event], None] | None,
    cancel: threading.Event | None,
) -> tuple[int, int]:
    """The chunks of one document; how many got their graph, how many failed."""
    found = {each.id: each for each in memory.artifacts.many([row.id for row in rows])}
    gone = [row.id for row in rows if row.id not in found and _old(row)]
    early = [row for row in rows if row.id not in found and not _old(row)]
    over = [id_ for id_, artifact in found.items() if artifact.processed_at is not None]
    if gone or over:
        memory.pending.delete(among("id", [*gone, *over]))
    memory.pending.put([replace(row, status="waiting") for row in early])
    open_ = [row for row in rows if row.id in found and row.id not in over]
    if not open_:
        return 0, 0
    failures: dict[str, str] = {}
    try:
        done = worked(memory, [found[row.id] for row in open_], open_[0].detail, failures, progress, cancel)
    except Cancelled:
        done = []
    except UnabridgedError as error:
        done = []
        failures = {row.id: type(error).__name__ for row in open_}
    if done:
        memory.pending.delete(among("id", done))
    rest = [row for row in open_ if row.id not in done]
    memory.pending.put([_after(row, failures.get(row.id)) for row in rest])
    return len(done), len(failures)


def _old(row: Pending) -> bool:
    return (now() - row.created_at).total_seconds() > _GRACE


def _after(row: Pending, error: str | None) -> Pending:
    """A row that is not done: failed, or simply not come to."""
    detail = {name: value for name, value in row.detail.items() if name != "owner"}
    if error is None:
        return replace(row, status="waiting", updated_at=now(), detail=detail)
    return replace(row, status="failed", attempts=row.attempts + 1, updated_at=now(), detail={**detail, "error": error})


class Dispatcher:
    """Works off what is pending, a pass a minute, in a thread of its own, until it is stopped.

    ``told`` gets each pass's report, or the error that ended it; the next pass comes all the same.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        interval: float = INTERVAL,
        told: Callable[[PendingReport | Exception], None] | None = None,
        **options: Any,
    ) -> None:
        self._memory = memory
        self._interval = interval
        self._told = told or (lambda _: None)
        self._options = options
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unabridged-dispatch", daemon=True)

    def start(self) -> Self:
        """Begin with a pass."""
        self._thread.start()
        return self

    def wake(self) -> None:
        """Make the next pass now."""
        self._wake.set()

    def stop(self) -> None:
        """End after what is under way."""
        self._stop.set()
        self._wake.set()
        self._thread.join()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                self._told(work_pending(self._memory, cancel=self._stop, **self._options))
            except UnabridgedError as error:
                self._told(error)
            self._wake.wait(self._interval)
