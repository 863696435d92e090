"""The graph of texts that are stored already: the second half of a deferred request (SPEC K7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.errors import Cancelled, UnabridgedError
from unabridged.memory.remember.draft import drafted
from unabridged.memory.remember.plan import Plan, Request, Unit, derived_id
from unabridged.memory.remember.run import Account, Run
from unabridged.memory.remember.store import Storing
from unabridged.memory.remember.trajectory import Trajectory

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from unabridged.memory.memory import Memory
    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.data import Event

__all__ = ["worked"]

_OPTIONS = ("models", "reasoning", "summarize", "supersedes", "on_summary_failure")


def worked(
    memory: Memory,
    artifacts: Sequence[Artifact],
    options: Mapping[str, Any],
    failures: dict[str, str],
    progress: Callable[[Event], None] | None = None,
    cancel: threading.Event | None = None,
) -> list[str]:
    """Make the graphs of chunks of one document, in order; the ids of those that have one now.

    What fails goes into ``failures``, by id, with the kind of its error, and the others go on.
    """
    run = _run(memory, artifacts, options, progress, cancel)
    try:
        drafts = drafted(run, run.plan.units, {}, failed=lambda unit, error: _fail(failures, unit, error))
        return _stored(run, drafts, failures)
    finally:
        run.account.flush()


def _fail(failures: dict[str, str], unit: Unit, error: BaseException) -> None:
    failures[unit.id] = type(error).__name__


def _stored(run: Run, drafts: Mapping[int, Any], failures: dict[str, str]) -> list[str]:
    done: list[str] = []
    left = [unit for unit in run.plan.units if unit.at in drafts]
    while left:
        try:
            done.extend(outcome.unit.id for outcome in Storing(run, drafts, {}).store(left))
            left = []
        except Cancelled:
            left = []
        except UnabridgedError as error:
            bad = next(unit for unit in left if unit.id not in done)
            _fail(failures, bad, error)
            left = [unit for unit in left if unit.id not in done and unit is not bad]
    return done


def _run(
    memory: Memory,
    artifacts: Sequence[Artifact],
    options: Mapping[str, Any],
    progress: Callable[[Event], None] | None,
    cancel: threading.Event | None,
) -> Run:
    """A run whose units are stored artifacts: what they inherit is their own, options as the request had them."""
    ordered = sorted(artifacts, key=lambda each: each.chunk_index or 0)
    first = ordered[0]
    document = first.document_id or first.id
    given = {name: options[name] for name in _OPTIONS if name in options}
    given |= {"session_id": first.session_id, "valid_at": first.valid_at, "chunking": False}
    request = Request.of(first.text, {"kind": first.kind, **given}, limit=len(first.text.encode()))
    units = tuple(_unit(at, artifact, document) for at, artifact in enumerate(ordered))
    plan = Plan(request, document, first.created_at, (), units, 0)
    account = Account(memory, session_id=first.session_id, request_id=None)
    return Run(memory, plan, account, Trajectory(), progress, cancel)


def _unit(at: int, artifact: Artifact, document: str) -> Unit:
    if not artifact.is_chunk:
        return Unit(at, artifact.id, "document", artifact.text, artifact=artifact)
    number = (artifact.chunk_index or 0) + 1
    return Unit(
        at,
        artifact.id,
        "chunk",
        artifact.text,
        label=f" (chunk {number})",
        summary_id=derived_id(document, number, "summary"),
        artifact=artifact,
    )
