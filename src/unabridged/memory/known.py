"""What the memory knew at a moment: of a fact that several sources ended, only the ends it had heard of by then.

A stored fact carries the end in force and when the memory first heard of one. Where it heard of an earlier end
later on, the contradictions tell the two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.temporal import ended, holds_where
from unabridged.memory.where import after, among, at_most, batched, both, equals

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from unabridged.memory.commits import View
    from unabridged.memory.records import Edge, Link

__all__ = ["as_known", "known_where"]

_ENDS = equals("type", "contradiction")


def known_where(
    view: View,
    *,
    as_of: dt.datetime | None = None,
    known_at: dt.datetime | None = None,
    include_history: bool = False,
    today: dt.datetime | None = None,
) -> str | None:
    """The filter of the facts that a read sees (:func:`~unabridged.memory.temporal.holds`), exact for ``known_at``."""
    still: Sequence[str] = ()
    if known_at is not None and not include_history:
        still = _still_open(view, known_at, as_of or known_at)
    return holds_where(as_of=as_of, known_at=known_at, include_history=include_history, today=today, still=still)


def _still_open(view: View, known_at: dt.datetime, at: dt.datetime) -> list[str]:
    """Facts that had heard of an end by ``known_at``, all of them after ``at``, and of another one since."""
    since = set(view.rows("links", both(_ENDS, after("created_at", known_at)), ["from_id"])["from_id"].to_pylist())
    heard: dict[str, bool] = {}
    for part in batched(since):
        where = both(_ENDS, at_most("created_at", known_at), among("from_id", part))
        rows = view.rows("links", where, ["from_id", "at"]).to_pydict()
        for edge, end in zip(rows["from_id"], rows["at"], strict=True):
            heard[edge] = heard.get(edge, True) and (end is None or end > at)
    return sorted(edge for edge, open_ in heard.items() if open_)


def as_known(view: View, edges: Iterable[Edge], known_at: dt.datetime | None) -> list[Edge]:
    """The facts with the ends that the memory knew of at ``known_at``; as they are where that is ``None``."""
    edges = list(edges)
    if known_at is None:
        return edges
    links: dict[str, list[Link]] = {}
    for part in batched(edge.id for edge in edges if edge.expired_at is not None):
        for link in view.records("links", both(_ENDS, at_most("created_at", known_at), among("from_id", part))):
            links.setdefault(link.from_id, []).append(link)
    return [ended(edge, links.get(edge.id, ())) for edge in edges]
