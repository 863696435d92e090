"""How ``unabridged memory`` shows records: a line each for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from unabridged.cli.console import number, put
from unabridged.memory.plain import plain as as_data

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable

    from unabridged.memory.verify import Check, Report

__all__ = ["as_data", "lines", "show", "shown", "verdict"]

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


# -- what verify found ------------------------------------------------------------------------------


def verdict(report: Report, *, every: bool) -> str:
    """What a verification found: the verdict, what is broken, then what holds, by subject or (``every``) one by one."""
    broken = [check for check in report.checks if not check.ok]
    holding = [check for check in report.checks if check.ok]
    total = len(report.checks)
    said = f"broken: {len(broken)} of {total} promises do not hold" if broken else f"sound: all {total} promises hold"
    rest = _table("promise", _each(holding)) if every else _table("promises of", _by_subject(holding))
    parts = [f"{report.dataset}, commit {report.seq:,}: {said}\n", "".join(map(_broken, broken)), rest]
    return "\n".join(part for part in parts if part)


def _broken(check: Check) -> str:
    named = [*check.examples, *([f"and {more:,} more"] if (more := check.broken - len(check.examples)) > 0 else [])]
    return "\n          ".join([f"BROKEN  {check.name}: {check.broken:,} of {check.checked:,}", *named]) + "\n"


def _each(checks: Iterable[Check]) -> list[tuple[str, str]]:
    return [(check.name, number(check.checked)) for check in checks]


def _by_subject(checks: Iterable[Check]) -> list[tuple[str, str]]:
    """How many promises hold of each subject, and over how many of its rows at the most."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check.name.partition(":")[0], []).append(check)
    return [(f"{name} ({len(of)})", number(max(check.checked for check in of))) for name, of in found.items()]


def _table(head: str, rows: list[tuple[str, str]]) -> str:
    wide = max(len(name) for name in (head, *(name for name, _ in rows)))
    listed = [f"ok      {name:<{wide}}  {looked_at:>12}\n" for name, looked_at in rows]
    return "".join([f"        {head:<{wide}}  {'looked at':>12}\n", *listed]) if rows else ""
