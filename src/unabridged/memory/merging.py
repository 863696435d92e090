"""Which pieces of a table upkeep merges, and when what came last settles (pure).

Each piece costs every read that scans 0.06 ms, and each merge writes rows once more. Small pieces are merged like a
binary counter; what settles, or lies idle, becomes one piece: once settled, nothing automatic moves it any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.memory.pieces import APPEND_ROWS, Fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Plan", "newest_run", "plan", "whole_run"]

SETTLE = 4096  # rows of a tail that pay for an index refresh; larger tables let a 32nd of them wait
WHOLE = 16_384  # rows that are written once more to be one piece: 0.1 s at 384 wide, for half of the pieces
STALE = 0.3  # share of deleted rows that makes a fragment worth rewriting


@dataclass(frozen=True, slots=True)
class Plan:
    """What one step does to a table."""

    compact: tuple[tuple[int, ...], ...] = ()
    refresh: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.compact or self.refresh)


def newest_run(sizes: Sequence[int]) -> int:
    """From where on the newest pieces are merged into one, as a binary counter carries.

    A piece joins if what came after it is at least as large.

    >>> newest_run([400, 8, 8, 8]), newest_run([24, 8, 8, 8]), newest_run([9])
    (1, 0, 1)
    """
    total = sizes[-1] if sizes else 0
    at = len(sizes) - 1
    while at > 0 and sizes[at - 1] <= total and total + sizes[at - 1] <= APPEND_ROWS:
        at -= 1
        total += sizes[at]
    return at if at < len(sizes) - 1 else len(sizes)


def whole_run(sizes: Sequence[int]) -> int:
    """From where on the newest pieces fit one that is still cheap to write.

    >>> whole_run([400, 8, 8]), whole_run([65_536, 8, 8]), whole_run([9])
    (0, 1, 1)
    """
    at, total = len(sizes), 0
    while at > 0 and total + sizes[at - 1] <= WHOLE:
        at -= 1
        total += sizes[at]
    return at if at < len(sizes) - 1 else len(sizes)


def plan(
    fragments: Sequence[Fragment],
    settled: set[int],
    frozen: set[int],
    settle: int | None = None,
    *,
    idle: bool = False,
) -> Plan:
    """What to compact, and whether the tail settles; ``frozen`` fragments are left as they are."""
    tail = [f for f in fragments if f.id not in settled]
    sizes = [f.rows for f in tail]
    refresh = sum(sizes) >= (settle or max(SETTLE, sum(f.rows for f in fragments) // 32))
    run = tail[min(newest_run(sizes), whole_run(sizes) if refresh or idle else len(tail)) :]
    compact = [tuple(f.id for f in run)] if run else []
    loose = [f for f in fragments if f.id in settled and f.id not in frozen]
    compact += [(f.id,) for f in loose if f.deleted > STALE * f.rows]
    return Plan(tuple(compact), refresh)
