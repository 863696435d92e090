"""A job's report: one HTML page without a script or anything to load, made from the journal at any time.

It shows throughput, lengths, chunks a text, failures by cause, and cost. It holds ids, counts and reasons; no
text, key or vector is in it (promise 12).
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.jobs.journal import Journal
from unabridged.jobs.report_plots import bars, columns, lines, short
from unabridged.jobs.state import read_job

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unabridged.jobs.journal import Failure
    from unabridged.jobs.state import JobInfo

__all__ = ["job_report", "write_report"]

_POINTS = 60  # of a line: more cannot be told apart at this width
_BLOCKS_A_POINT = 4  # fewer, and the line shows when blocks were noted rather than how fast they come
_SHOWN = 100  # failed rows; the rest are in the journal


@dataclass(frozen=True, slots=True)
class _Facts:
    """Everything that the page shows."""

    job: JobInfo
    history: Sequence[Mapping[str, Any]]
    failures: Sequence[Failure]


def job_report(folder: str | Path | None, job: str) -> str:
    """The page for a job, which may be running; see :func:`~unabridged.jobs.state.read_job` for the arguments.

    Raises :class:`~unabridged.errors.ConfigError` for a job that is not there.
    """
    info = read_job(folder, job)
    with Journal(Path(info.folder), read_only=True) as journal:
        facts = _Facts(info, journal.history(), list(journal.failures(limit=_SHOWN)))
    return _page(facts)


def write_report(folder: str | Path | None, job: str, target: str | Path) -> Path:
    """Write the page to a file, whole or not at all; its path."""
    path = Path(target)
    half = path.with_name(f".{path.name}.part")
    half.write_text(job_report(folder, job), encoding="utf-8")
    half.replace(path)
    return path


def _page(facts: _Facts) -> str:
    job = facts.job
    plots = [*_over_time(facts), *_by_size(facts), *_failed(facts)]
    tables = [*_failure_table(facts), _run_table(facts)]
    body = f"""<main><h1>{escape(job.id)}</h1>{_lead(job)}
<div class="facts">{"".join(_fact(*fact) for fact in _summary(facts))}</div>
<div class="plots">{"".join(plots)}</div>{"".join(tables)}</main>"""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(job.id)} · unabridged</title><style>{_style()}</style></head><body>{body}</body></html>\n"
    )


@cache
def _style() -> str:
    return (files("unabridged.jobs") / "report.css").read_text(encoding="utf-8")


def _lead(job: JobInfo) -> str:
    status = "running" if job.running else job.status
    kind = "done" if status == "done" else "bad-text" if status in {"failed", "stopped", "interrupted"} else ""
    reason = f": {escape(job.reason)}" if job.reason and status != "running" else ""
    if job.resumable and not job.running:
        reason = f" at {_moment(job.ended or 0.0)} UTC{reason}; run the same command to resume it"
    way = f"{escape(job.model or 'an embedder')} → {escape(job.target or 'nothing written yet')}"
    return f'<p><span class="status {kind}">{escape(status)}</span>{reason}</p><p>{way}</p>'


def _summary(facts: _Facts) -> list[tuple[str, str]]:
    counts, spent = facts.job.counts, facts.job.spent
    seconds = sum(end - begin for begin, end in _spans(facts))
    known = facts.job.total
    found = [
        ("rows done", f"{counts.done + facts.job.under_way:,}"),
        ("failed", f"{counts.failed:,}"),
        ("blank", f"{counts.skipped:,}"),
        ("rows read", f"{facts.job.rows:,}") if known is None else ("rows in all", f"{known:,}"),
        ("chunks", f"{counts.chunks:,}"),
        ("tokens billed", f"{spent.tokens:,}"),
        ("requests", f"{spent.requests:,}"),
        ("refused", f"{spent.refused:,}"),
        ("time at work", _seconds(seconds)),
        ("rows a second", short(facts.job.rows / seconds) if seconds > 0 else "–"),
    ]
    if facts.job.cost is not None:
        found.append(("cost", f"{facts.job.cost:,.4g}"))
    return found


def _fact(name: str, value: str) -> str:
    return f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"


def _section(title: str, about: str, plot: str, kind: str = "") -> str:
    return f'<section class="{kind}"><h2>{escape(title)}</h2><p>{escape(about)}</p>{plot}</section>'


# -- over time --------------------------------------------------------------------------------------


def _spans(facts: _Facts) -> list[tuple[float, float]]:
    """When the job was at work: each run from its beginning to its end, or to now."""
    now = time.time()
    return [(run.began, max(run.began, now if run.ended is None else run.ended)) for run in facts.job.runs]


def _worked(spans: Sequence[tuple[float, float]]) -> Callable[[float], float]:
    """From the clock to seconds at work: the nights between runs are left out."""

    def at(moment: float) -> float:
        return sum(max(0.0, min(moment, end) - begin) for begin, end in spans)

    return at


def _over_time(facts: _Facts) -> list[str]:
    spans = _spans(facts)
    worked = _worked(spans)
    total = worked(float("inf"))
    if not facts.history or total <= 0:
        return []
    width = total / min(_POINTS, max(len(facts.history) // _BLOCKS_A_POINT, 2))
    rows = [0.0] * (round(total / width) + 1)
    tokens = list(rows)
    for block in facts.history:
        at = min(int(worked(block["at"]) / width), len(rows) - 1)
        rows[at] += block["rows"]
        tokens[at] += block["tokens"]
    breaks = [worked(begin) for begin, _ in spans[1:]]
    speed = [(min((n + 1) * width, total), count / width) for n, count in enumerate(rows[:-1])] or [(total, 0.0)]
    if rows[-1] and len(speed) > 1:  # what was noted at the very end
        speed[-1] = (speed[-1][0], speed[-1][1] + rows[-1] / width)
    speed.insert(0, (0.0, speed[0][1]))
    about = "rows a second, at work" + ("; dashed: a new run" if breaks else "")
    made = [
        _section(
            "Throughput",
            about,
            lines(speed, label="Rows a second over time", x_text=_seconds, y_text=short, breaks=breaks),
        )
    ]
    return [*made, _spent(facts, tokens, width, total, breaks)]


def _spent(facts: _Facts, tokens: Sequence[float], width: float, total: float, breaks: Sequence[float]) -> str:
    """Cost over time, or tokens where there is no price."""
    # What was billed and what is in finished rows differ by refused and repeated requests: the total is as billed.
    whole = sum(tokens)
    scale = facts.job.spent.tokens / whole if whole else 0.0
    price = facts.job.cost / facts.job.spent.tokens if facts.job.cost and facts.job.spent.tokens else None
    points, so_far = [(0.0, 0.0)], 0.0
    for n, count in enumerate(tokens):
        so_far += count * scale * (price or 1.0)
        points.append((min((n + 1) * width, total), so_far))
    title, about = ("Cost", "in the price's money, as billed") if price else ("Tokens", "billed so far")
    plot = lines(points, label=f"{title} over time", x_text=_seconds, y_text=short, breaks=breaks)
    return _section(title, about, plot)


# -- by size ----------------------------------------------------------------------------------------


def _by_size(facts: _Facts) -> list[str]:
    made = []
    for name, title, about in (
        ("lengths", "Lengths", "texts by their tokens, from each number to the next"),
        ("pieces", "Chunks a text", "texts by their chunks, from each number to the next"),
    ):
        counts = _bins([row[name] for row in facts.history])
        if counts:
            made.append(_section(title, about, columns(counts, label=about.capitalize(), unit="texts")))
    return made


def _bins(rows: Sequence[Sequence[int]]) -> list[tuple[str, int]]:
    """Counts by powers of two, as the journal has them, from the first that is not empty to the last."""
    width = max(map(len, rows), default=0)
    sums = [sum(row[at] for row in rows if at < len(row)) for at in range(width)]
    used = [at for at, count in enumerate(sums) if count]
    if not used:
        return []
    return [(_bin(at), sums[at]) for at in range(used[0], used[-1] + 1)]


def _bin(at: int) -> str:
    if at < 2:
        return str(at)
    low, high = 1 << (at - 1), (1 << at) - 1
    return f"{short(low) if low >= 10_000 else f'{low:,}'} to {high:,}"


# -- failures and runs ------------------------------------------------------------------------------


def _failed(facts: _Facts) -> list[str]:
    causes = facts.job.causes
    if not causes:
        return []
    about = "rows without a vector"
    return [_section("Failures by cause", about, bars(causes, label="Failed rows by cause", unit="rows"))]


def _failure_table(facts: _Facts) -> list[str]:
    if not facts.failures:
        return []
    rows = [
        f'<tr><td>{escape(one.part)}</td><td class="n">{one.row:,}</td><td>{escape(one.id)}</td>'
        f"<td>{escape(one.kind)}</td><td>{escape(one.reason)}</td></tr>"
        for one in facts.failures
    ]
    failed = facts.job.counts.failed
    about = f"the first {len(rows):,} of {failed:,}" if failed > len(rows) else f"{failed:,}"
    head = '<tr><th>part</th><th class="n">row</th><th>id</th><th>cause</th><th>reason</th></tr>'
    return [_section("Failed rows", about, _table(head, rows), "wide")]


def _run_table(facts: _Facts) -> str:
    rows = [
        f'<tr><td>{_moment(run.began)}</td><td class="n">{_seconds(end - begin)}</td>'
        f"<td>{escape(run.status)}</td><td>{escape(run.reason or '')}</td></tr>"
        for run, (begin, end) in zip(facts.job.runs, _spans(facts), strict=True)
    ]
    head = '<tr><th>began (UTC)</th><th class="n">took</th><th>ended</th><th>why</th></tr>'
    return _section("Runs", f"{len(rows):,}", _table(head, rows), "wide")


def _table(head: str, rows: Sequence[str]) -> str:
    return f'<div class="table"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _moment(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _seconds(value: float) -> str:
    """A duration as people say it.

    >>> _seconds(0.4), _seconds(75), _seconds(7384)
    ('0.4 s', '1:15', '2:03:04')
    """
    if value < 60:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
