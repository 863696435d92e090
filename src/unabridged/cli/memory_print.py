"""How ``unabridged memory`` shows records: a line each for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from unabridged.cli.console import put
from unabridged.memory.plain import plain as as_data

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable

__all__ = ["as_data", "lines", "show", "shown"]

_WIDTH = 72  # characters of a text on one line of a listing


def show(value: Any) -> None:
    """One record, or several, as JSON."""
    put(json.dumps(as_data(value), indent=2, ensure_ascii=False) + "\n")


def lines(records: Iterable[Any]) -> None:
    """A line for each record: its id, and what tells it apart."""
    for record in records:
        put(f"{shown(record)}\n")


def shown(record: Any) -> str:
    """One record on one line."""
    kind = type(record).__name__
    return f"{record.id}  {_SHOWN[kind](record)}" if kind in _SHOWN else str(as_data(record))


def _brief(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _moment(value: dt.datetime | None) -> str:
    return "" if value is None else value.isoformat(timespec="seconds").replace("+00:00", "Z")


def _edge(edge: Any) -> str:
    span = f"[{_moment(edge.valid_at) or '…'} – {_moment(edge.invalid_at) or 'now'}]"
    return f"{span}  {_brief(edge.fact)}"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "Artifact": lambda a: f"{a.role}/{a.kind}  {_moment(a.valid_at or a.created_at)}  {_brief(a.text)}",
    "Entity": lambda e: f"{e.type}  {_brief(e.name)}",
    "Edge": _edge,
    "Session": lambda s: _moment(s.created_at),
    "Series": lambda s: f"{_brief(s.name)}  {s.unit or ''}".rstrip(),
    "Image": lambda i: f"{i.media_type}  {i.size:,} bytes  {_brief(i.caption)}".rstrip(),
    "Snapshot": lambda s: f"{_brief(s.name)}  {_moment(s.created_at)}",
    "DatasetInfo": lambda d: f"{_brief(d.name)}  {_moment(d.created_at)}",
}
