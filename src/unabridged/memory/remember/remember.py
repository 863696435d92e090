"""From a text to sourced facts: the write path, in the order of SPEC A12, with the guarantees of A13 and A14.

Plan (remember_plan.py), read every chunk's graph and summary (remember_draft.py), store the document, then
its chunks in order, each whole (remember_store.py). With a key the journal (remember_journal.py) makes it
resumable. Without a chat model the text is stored, embedded and searchable, and the answer says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.errors import ModelMismatch, StoreError, UnabridgedError
from unabridged.memory.remember.answer import answered, kept, recalled, revived
from unabridged.memory.remember.draft import Draft, drafted, offline
from unabridged.memory.remember.journal import Journal
from unabridged.memory.remember.more import Extras
from unabridged.memory.remember.pending import queued
from unabridged.memory.remember.plan import Request, planned
from unabridged.memory.remember.run import Account, Run
from unabridged.memory.remember.store import Storing
from unabridged.memory.remember.trajectory import Trajectory
from unabridged.memory.remember.whole import estimated, stored_whole, vectors_of_version
from unabridged.memory.where import equals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.memory.memory import Memory
    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.data import Remembered
    from unabridged.memory.remember.store import Outcome
    from unabridged.text.documents.model import Document

__all__ = ["aremember", "remember"]


def remember(
    memory: Memory,
    text: str,
    given: Mapping[str, Any],
    *,
    document: Document | None = None,
    reuse: Artifact | None = None,
) -> Remembered:
    """Do what :meth:`Memory.remember` says.

    ``document`` is the text with its blocks, where they are known; ``reuse`` an earlier version, whose
    vectors serve where a chunk is the same (SPEC K5).
    """
    request = Request.of(text, given, limit=memory.max_text_bytes, document=document)
    if given.get("dry_run"):
        return estimated(memory, planned(request))
    with Journal(memory, request) as journal:
        if journal.answer is not None:
            return revived(journal.answer)
        account = Account(memory, session_id=request.artifact["session_id"], request_id=request.key)
        plan = planned(request, id_=journal.id, created_at=journal.created_at)
        run = Run(memory, plan, account, Trajectory(), given.get("progress"), given.get("cancel"))
        run.kept.update(vectors_of_version(memory, reuse))
        try:
            answer = _Remembering(run, journal).run()
        finally:
            account.flush()
        if given.get("trajectory"):
            answer = replace(answer, trajectory=run.trajectory.steps())
        if request.key is not None:
            journal.done(kept(answer))
        return answer


async def aremember(memory: Memory, text: str, given: Mapping[str, Any]) -> Remembered:
    """As :func:`remember`, in a thread; a cancelled task stops it between two steps."""
    cancel = given.get("cancel") or threading.Event()
    work = asyncio.to_thread(remember, memory, text, {**given, "cancel": cancel})
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancel.set()
        with contextlib.suppress(UnabridgedError):
            await task
        raise


class _Remembering:
    """One request, from its plan to its answer."""

    def __init__(self, run: Run, journal: Journal) -> None:
        self.run_ = run
        self.plan = run.plan
        self.memory = run.memory
        self.journal = journal
        self.artifacts: dict[str, Artifact] = {}

    def run(self) -> Remembered:
        since, plan = time.monotonic(), self.plan
        if plan.chunked:
            self.run_.step("chunk_text", "", since=since, chunks=len(plan.chunks), tokens=plan.tokens)
            self.run_.tell("chunk", len(plan.chunks), len(plan.chunks))
        self._admit()
        self._look()
        self.run_.check()
        if not plan.request.extract or plan.request.defer:
            return self._whole()
        return self._graph()

    def _admit(self) -> None:
        """Refuse before anything is paid what the store would refuse after it."""
        if self.memory.store.read_only:
            raise StoreError("this memory was opened read-only", advice="writable")
        stored, embedder = self.memory.settings.get("fingerprint"), self.memory.embedder
        if embedder is not None and stored not in (None, embedder.fingerprint("document")):
            raise ModelMismatch(
                "the dataset's vectors are of another model or settings than this embedder's", advice="reembed"
            )

    def _look(self) -> None:
        """What an earlier run of the same request stored."""
        if self.journal.request.key is not None:
            ids = [self.plan.id, *(unit.id for unit in self.plan.units)]
            self.artifacts = {each.id: each for each in self.memory.artifacts.many(ids)}

    # -- without a graph, or with one later -----------------------------------------------------------

    def _whole(self) -> Remembered:
        defer = self.plan.request.defer and self.plan.request.extract
        if self.plan.id not in self.artifacts:
            waiting = queued(self.run_) if defer else 0
            self.artifacts = stored_whole(self.run_, waits=defer)
        else:
            waiting = self.memory.pending.count(equals("document_id", self.plan.id)) if defer else 0
        extras = Extras(self.run_, self.journal)
        self.run_.note(
            "the graph is made later, with what else waits"
            if defer
            else "no graph was made: extraction was switched off"
        )
        if self.plan.request.web_search or any(each.get("observations") for each in self.plan.request.timeseries):
            self.run_.note("no web searches and no observations: they are made with the graph alone")
        document = self.artifacts[self.plan.id]
        extras.keep_series(document)
        more = extras.finished(document, [])
        units = [unit for unit in self.plan.units if unit.id in self.artifacts]
        outcomes = recalled(self.run_, units, self.artifacts)
        self.run_.tell("done", 1, 1)
        return answered(self.run_, document, outcomes, {}, pending=waiting if defer else 0, **more)

    # -- with a graph -----------------------------------------------------------------------------------

    def _graph(self) -> Remembered:
        run, plan = self.run_, self.plan
        todo = [unit for unit in plan.units if unit.id not in self.artifacts]
        drafts = self._drafts(todo)
        extras = Extras(run, self.journal)
        derived = extras.read(drafts)
        self.journal.keep()
        if plan.chunked and plan.id not in self.artifacts:
            self._store_parent()
        outcomes = recalled(run, [unit for unit in plan.units if unit.id in self.artifacts], self.artifacts)
        outcomes += self._stored(todo, drafts)
        document = self.artifacts[plan.id]
        extras.keep_series(document)
        outcomes += self._derived(extras.anchored(derived), drafts)
        more = extras.finished(document, outcomes)
        run.tell("done", 1, 1)
        return answered(run, document, outcomes, drafts, **more)

    def _drafts(self, todo: list[Any]) -> dict[int, Draft]:
        if self.run_.asker is None:
            return offline(self.run_, todo)
        return drafted(self.run_, todo, self.journal.drafts, self.journal.keep)

    def _store_parent(self) -> None:
        since, request = time.monotonic(), self.plan.request
        tx = self.memory.write()
        tx.gathered.created_at = self.plan.created_at
        document = tx.artifact(
            request.text, id=self.plan.id, kind=request.kind, processed_at=self.plan.created_at, **request.artifact
        )
        tx.commit(embed=False)
        self.artifacts[document.id] = document
        self.run_.step("store_parent_artifact", "", since=since)

    def _stored(self, units: list[Any], drafts: dict[int, Draft]) -> list[Outcome]:
        storing = Storing(self.run_, drafts, self.artifacts)
        done = []
        for outcome in storing.store(units):
            done.append(outcome)
            self.journal.sign()
        return done

    def _derived(self, units: list[Any], drafts: dict[int, Draft]) -> list[Outcome]:
        """Web searches and observations, after the texts that they hang from."""
        known = {each.id: each for each in self.memory.artifacts.many([unit.id for unit in units])}
        self.artifacts |= known
        before = recalled(self.run_, [unit for unit in units if unit.id in known], self.artifacts)
        return before + self._stored([unit for unit in units if unit.id not in known], drafts)
