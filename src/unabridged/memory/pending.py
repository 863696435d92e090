"""Chunks that wait for their graph (SPEC K7): queued, drained, recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.records import Pending
from unabridged.memory.values import now

if TYPE_CHECKING:
    from unabridged.memory.remember_run import Run

__all__ = ["queued"]


def queued(run: Run) -> int:
    """Queue the units of a deferred request, before they are stored: none is ever missed. How many."""
    plan = run.plan
    rows = [Pending(id=unit.id, document_id=plan.id, created_at=now()) for unit in plan.units]
    run.memory.pending.put(rows)
    return len(rows)
