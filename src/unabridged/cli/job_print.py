"""Jobs in words: a report in a line, a dry run, a job, and a table of them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from unabridged.cli.console import number, plural, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.jobs.dryrun import DryRun
    from unabridged.jobs.journal import Failure, RunRecord
    from unabridged.jobs.state import JobInfo, JobReport

__all__ = ["ended", "planned", "shown", "table"]

_GO_ON = "run the same command to resume"
_KEPT = "what was answered is kept"


def ended(report: JobReport) -> str:
    """What a run ended with, in one line: rows of all runs, and what this one sent."""
    counts = report.counts
    parts = [_nothing(report)] if report.idle else [plural(counts.rows, "row"), f"{number(counts.done)} done"]
    parts += [
        f"{number(counts.skipped)} blank" if counts.skipped else "",
        f"{number(counts.failed)} failed" if counts.failed else "",
        "" if report.idle else plural(counts.chunks, "chunk"),
        "" if report.idle else plural(report.run.tokens, "token") + " sent" + _all(number(report.tokens), report),
        plural(report.run.requests, "request") + _all(number(report.requests), report),
        _cost(report),
        seconds(report.seconds),
    ]
    passed = [f"{number(count)} {reason}" for reason, count in sorted(report.passed_over.items())]
    parts.append(f"passed over: {', '.join(passed)}" if passed else "")
    line = f"{report.id}: " + ", ".join(part for part in parts if part)
    line += f" -> {report.target}" if report.target else ""
    return line + (f"\nstopped: {report.reason}; run it again to go on" if report.status == "stopped" else "")


def _nothing(report: JobReport) -> str:
    counts = report.counts
    if not counts.rows:
        return "nothing to do: no row was found"
    if counts.done == counts.rows:
        told = "its one row is" if counts.rows == 1 else f"all {number(counts.rows)} rows are"
        return f"nothing to do: {told} done"
    return f"nothing to do: {plural(counts.rows, 'row')}, {number(counts.done)} done"


def _all(sum_: str, report: JobReport) -> str:
    """What all runs together come to, this one among them, where it was not the only one."""
    return "" if report.requests == report.run.requests else f" ({sum_} in all)"


def _cost(report: JobReport) -> str:
    if report.cost is None:
        return ""
    mine = report.cost * report.run.tokens / report.tokens if report.tokens else 0.0
    return f"cost {mine:.4f}" + _all(f"{report.cost:.4f}", report)


def planned(found: DryRun) -> str:
    """What a job would do."""
    rows = [
        ("rows to do", number(found.rows)),
        ("done before", number(found.done_before)),
        ("blank", number(found.blank)),
        ("unreadable", number(found.unreadable)),
        ("texts to cut", number(found.chunked)),
        ("chunks", number(found.chunks)),
        ("tokens", number(found.tokens)),
        ("answered by the cache", number(found.known)),
        ("tokens to send", number(found.sent_tokens)),
        ("requests", number(found.requests)),
        ("cost", "no --price given" if found.cost is None else f"{found.cost:.4f}"),
        ("time", f"about {seconds(found.seconds)}"),
        ("vectors", f"{found.bytes / 1e6:,.1f} MB"),
    ]
    return _aligned(rows)


def _status(job: JobInfo) -> str:
    if job.running:
        return f"running (process {job.pid}, since {_moment(job.began)})"
    reason = f" ({job.reason})" if job.reason else ""
    command = f", or 'unabridged job resume {job.id}'" if job.origin else ""
    return f"{job.status}{_stopped(job)}{reason}" + (f"; {_GO_ON}{command}: {_KEPT}" if job.resumable else "")


def _stopped(job: JobInfo) -> str:
    return f" at {_moment(job.ended)}" if job.resumable and job.ended else ""


def _about(job: JobInfo) -> str:
    return "" if job.about is None or not (job.running or job.resumable) else f" of about {number(job.about)}"


def _pace(job: JobInfo) -> str:
    """How fast a job goes that runs, and how long it takes still."""
    if not job.rate:
        return ""
    left = "" if job.left is None else f", about {seconds(job.left)} left"
    return f", {number(job.rate) if job.rate >= 10 else f'{job.rate:.2g}'} rows/s{left}"


def shown(job: JobInfo, *, failures: Sequence[Failure] = (), runs: Sequence[RunRecord] = ()) -> str:
    """A job, and if asked its runs and failed rows."""
    counts = job.counts
    total = f" of {number(job.total)}" if job.total is not None else _about(job)
    rows = [
        ("job", job.id),
        ("status", _status(job)),
        ("rows", f"{number(job.rows)}{total}{_pace(job)}"),
        ("done", number(counts.done + job.under_way)),
        ("blank", number(counts.skipped)),
        ("failed", number(counts.failed)),
        ("chunks", number(counts.chunks)),
        ("requests", f"{number(job.spent.requests)} ({number(job.spent.refused)} refused)"),
        ("tokens sent", number(job.spent.tokens)),
        *([("cost", f"{job.cost:.4f}")] if job.cost is not None else []),
        ("model", str(job.model)),
        ("output", job.target or "not written yet"),
        ("journal", job.folder),
        *[(f"failed: {kind}", number(count)) for kind, count in job.causes.items()],
    ]
    made = _aligned(rows)
    for run in runs:
        until = "" if run.ended is None else f" to {_moment(run.ended)}"
        made += f"run {run.id}  {_moment(run.began)}{until}  {run.status}{f' ({run.reason})' if run.reason else ''}\n"
    for one in failures:
        made += f"{one.part} row {one.row}  {one.id}  {one.kind}: {one.reason} (tried {plural(one.tries, 'time')})\n"
    return made


def table(jobs: Sequence[JobInfo]) -> str:
    """A line a job."""
    if not jobs:
        return "no jobs here\n"
    width = max(len(job.id) for job in jobs)
    return "".join(f"{job.id:{width}}  {_line(job)}\n" for job in jobs)


def _line(job: JobInfo) -> str:
    status = "running" if job.running else job.status
    total = f"/{number(job.total)}" if job.total is not None else _about(job)
    parts = [
        f"{status:11}  {_moment(job.began)}  {_rows(job.rows, total)}{_pace(job)}",
        f"{number(job.counts.failed)} failed" if job.counts.failed else "",
        f"stopped{_stopped(job)}, {_GO_ON}" if job.resumable and not job.running else "",
    ]
    return "  ".join(part for part in parts if part)


def _rows(count: int, total: str) -> str:
    return f"{number(count)}{total} rows" if total else plural(count, "row")


def _aligned(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:{width}}  {value}\n" for name, value in rows)


def _moment(at: float | None) -> str:
    if at is None:
        return "never run          "
    return dt.datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
