"""A job's progress: rows, speed, tokens, cost, failures, time left. In a pipe it is a line a minute."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from unabridged.cli.console import note, number, seconds, warn
from unabridged.cli.progress import Pace

if TYPE_CHECKING:
    from unabridged.jobs.state import JobProgress

__all__ = ["Counting", "JobLine"]

# In seconds, where nobody can see a bar: soon enough to know that it goes, and logs of a night stay readable.
_FIRST_LINE, _A_LINE_EVERY = 10.0, 60.0


class JobLine:
    """The line of one run: what ``run_job`` calls with its progress."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._pace = Pace(1)
        self._bar: Any = None
        self._task: Any = None
        self._due = time.monotonic() + _FIRST_LINE
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet:
            self._bar, self._task = _bar()
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the line away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def step(self, progress: JobProgress) -> None:
        """The run has come so far."""
        now = time.monotonic()
        self._warn(progress.notes)
        total = progress.expected
        self._pace.total = total or progress.rows
        self._pace.add(progress.rows, now=now)
        if self._bar is not None:
            self._bar.update(self._task, completed=progress.rows, total=total, about=self._about(progress))
        elif not self._quiet and now >= self._due:
            self._due = now + _A_LINE_EVERY
            of = "" if total is None else f" of {'' if progress.total else 'about '}{number(total)}"
            note(f"{number(progress.rows)}{of} rows, {self._about(progress)}")

    def _warn(self, notes: tuple[str, ...]) -> None:
        """What is to be said before anything is paid for, once, above the line."""
        fresh = [said for said in notes if said not in self._said]
        self._said.update(fresh)
        if fresh and self._bar is not None:
            self._bar.stop()
        for said in fresh:
            warn(said)
        if fresh and self._bar is not None:
            self._bar.start()

    def _about(self, progress: JobProgress) -> str:
        rate, left = self._pace.rate(), self._pace.left()
        parts = [
            progress.phase if progress.phase != "embedding" else "",
            "" if rate is None else f"{number(rate)} rows/s",
            f"{number(progress.requests)} requests",
            f"{number(progress.tokens)} tokens",
            "" if progress.cost is None else f"cost {progress.cost:.4f}",
            f"{number(progress.failed)} failed" if progress.failed else "",
            f"{seconds(left)} left" if left and progress.expected else "",
        ]
        return ", ".join(part for part in parts if part)


class Counting:
    """How many rows a dry run has read."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._quiet:
            self._bar, self._task = _bar()
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, rows: int) -> None:
        """So many rows are counted."""
        if self._bar is not None:
            self._bar.update(self._task, completed=rows, about=f"{number(rows)} rows counted")


def _bar() -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TextColumn("{task.fields[about]}"),
        console=Console(stderr=True),
        transient=True,
    )
    return bar, bar.add_task("", total=None, about="")
