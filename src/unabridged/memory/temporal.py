"""Valid time and system time: which facts hold, which restate, which close which (pure).

``valid_at`` and ``invalid_at`` say when a fact was true, ``created_at`` and ``expired_at`` when the
memory learned it and learned that it ended. An end in force is the earliest of what the fact's own
source stated and of what its contradictions say, so taking one away reopens exactly what it closed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unabridged.memory.values import now
from unabridged.memory.where import among, at_most, both, either, is_null, literal

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable

    from unabridged.memory.records import Edge, Link

__all__ = ["Closing", "contradicted", "ended", "holds", "holds_where", "restated", "start"]


@dataclass(frozen=True, slots=True)
class Closing:
    """One of two contradicting facts ends at ``at``: the older one, or a backdated newer one itself."""

    closed: Edge
    by: Edge
    at: dt.datetime


def start(edge: Edge) -> dt.datetime:
    """When a fact began, as far as it is known: at the latest when it was told, or when it had ended."""
    if edge.valid_at is not None:
        return edge.valid_at
    return edge.created_at if edge.stated_invalid_at is None else min(edge.created_at, edge.stated_invalid_at)


def contradicted(old: Edge, new: Edge, *, later: bool = False) -> Closing | None:
    """Which of two contradicting facts ends, and when; ``None`` if they never held at one time.

    A backdated fact closes itself, not the newer one (DESIGN §5, SPEC A9). One that tells the end of what is
    between the same two ("worked there until 2021") ends the known one then. ``later``: the memory was told the new
    one later, so that of two without a date the old one ends, whatever the clocks of their writers said.
    """
    told = new.stated_invalid_at
    if told is not None and {old.source_id, old.target_id} == {new.source_id, new.target_id}:
        over = told < start(old) or (old.invalid_at is not None and old.invalid_at <= told)
        return None if over else Closing(old, new, told)
    undated = old.valid_at is None and new.valid_at is None and new.stated_invalid_at is None
    first, second = (old, new) if start(old) <= start(new) or (later and undated) else (new, old)
    at = start(second)
    apart = any(each.invalid_at is not None and each.invalid_at <= at for each in (first, second))
    return None if apart else Closing(first, second, at)


def ended(edge: Edge, contradictions: Iterable[Link]) -> Edge:
    """The edge with the end that is in force: its own, or an earlier one that contradicts it."""
    closings = [link for link in contradictions if link.at is not None]
    ends = [link.at for link in closings if link.at is not None]
    if edge.stated_invalid_at is not None:
        ends.append(edge.stated_invalid_at)
    learned = min((link.created_at for link in closings), default=None)
    return replace(edge, invalid_at=min(ends, default=None), expired_at=learned)


def restated(candidates: Iterable[Edge], at: dt.datetime, end: dt.datetime | None = None) -> Edge | None:
    """The stored fact that the same statement, made of ``at``, repeats: one that is open, or held then.

    A statement that tells the fact's ``end`` repeats the one whose source told the same end, however long ago.
    """
    for edge in candidates:
        if edge.invalid_at is None or start(edge) <= at < edge.invalid_at:
            return edge
        if end is not None and edge.stated_invalid_at == end:
            return edge
    return None


def holds(
    edge: Edge,
    *,
    as_of: dt.datetime | None = None,
    known_at: dt.datetime | None = None,
    include_history: bool = False,
    today: dt.datetime | None = None,
) -> bool:
    """Whether a read sees the fact: by default what has not ended.

    ``as_of`` asks what was true then, ``known_at`` what the memory knew then, ``include_history`` for
    all that it ever knew. The fact carries one end: with ``known_at`` it is to be as it was known then
    (:func:`~unabridged.memory.known.as_known`).
    """
    if known_at is not None and edge.created_at > known_at:
        return False
    if include_history:
        return True
    at = as_of or known_at or today or now()
    end = edge.invalid_at
    if known_at is not None and (edge.expired_at is None or edge.expired_at > known_at):
        end = edge.stated_invalid_at
    began = as_of is None or edge.valid_at is None or edge.valid_at <= as_of
    return began and (end is None or end > at)


def holds_where(
    *,
    as_of: dt.datetime | None = None,
    known_at: dt.datetime | None = None,
    include_history: bool = False,
    today: dt.datetime | None = None,
    still: Iterable[str] = (),
) -> str | None:
    """The same as a filter; ``still`` are facts whose end, as it was known then, lay later (known.py)."""
    known = None if known_at is None else at_most("created_at", known_at)
    if include_history:
        return known
    at = literal(as_of or known_at or today or now())
    began = None if as_of is None else either(is_null("valid_at"), at_most("valid_at", as_of))
    if known_at is None:
        return both(began, _open("invalid_at", at))
    unknown = f"(`expired_at` IS NULL OR `expired_at` > {literal(known_at)}) AND ({_open('stated_invalid_at', at)})"
    learned = f"`expired_at` <= {literal(known_at)} AND ({_open('invalid_at', at)})"
    later = both(among("id", still), _open("stated_invalid_at", at)) or "false"
    return both(known, began, either(unknown, learned, later))


def _open(column: str, at: str) -> str:
    return f"`{column}` IS NULL OR `{column}` > {at}"
