"""One line on a terminal: how far, how fast, how long still. Nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from unabridged.cli.console import seconds

if TYPE_CHECKING:
    from unabridged.embedding.results import Progress

__all__ = ["Pace", "ProgressLine"]

_WINDOW = 20.0  # seconds that the rate looks back: long enough to be steady, short enough to notice


class Pace:
    """How fast work goes, from samples of what is done.

    The first sample is where counting starts, so what the cache knew does not make the rest look fast.

    >>> pace = Pace(total=100)
    >>> pace.left(), pace.add(40, now=0.0), pace.add(50, now=2.0), pace.left()
    (None, None, None, 10.0)
    """

    def __init__(self, total: float) -> None:
        self.total = total
        self._samples: deque[tuple[float, float]] = deque()

    def add(self, done: float, *, now: float) -> None:
        """Note how much is done."""
        self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[0][0] > _WINDOW:
            self._samples.popleft()

    def rate(self) -> float | None:
        """Units a second, or ``None`` while nothing can be said."""
        if len(self._samples) < 2:
            return None
        (began, first), (now, last) = self._samples[0], self._samples[-1]
        return (last - first) / (now - began) if now > began and last > first else None

    def left(self) -> float | None:
        """Seconds until all is done, or ``None`` while nothing can be said."""
        rate = self.rate()
        return None if rate is None else max(self.total - self._samples[-1][1], 0) / rate


class ProgressLine:
    """The line itself. ``total_bytes`` is the size of all texts; a batch counts by its tokens."""

    def __init__(self, total_bytes: int, texts: int, *, quiet: bool) -> None:
        self._pace = Pace(max(total_bytes, 1))
        self._texts = texts
        self._shown = sys.stderr.isatty() and not quiet
        self._bar: Any = None
        self._task: Any = None
        self._done_bytes = self._batch_bytes = self._done_texts = 0
        self._tokens = self._tokens_before = 0
        self._token_pace = Pace(0)

    def __enter__(self) -> Self:
        if self._shown:
            self._bar, self._task = _bar(self._pace.total)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def batch(self, size: int) -> None:
        """A batch of ``size`` bytes begins."""
        self._batch_bytes = size

    def step(self, progress: Progress) -> None:
        """The batch has come so far: what an embedder calls."""
        share = progress.tokens_done / progress.tokens if progress.tokens else 1.0
        self._tokens = self._tokens_before + progress.tokens_done
        self._show(self._done_bytes + self._batch_bytes * share, self._done_texts + progress.texts_done)

    def batch_done(self, texts: int) -> None:
        """A batch of so many texts is finished."""
        self._done_bytes += self._batch_bytes
        self._done_texts += texts
        self._tokens_before = self._tokens
        self._show(self._done_bytes, self._done_texts)

    def _show(self, done: float, texts: int) -> None:
        now = time.monotonic()
        self._pace.add(done, now=now)
        self._token_pace.add(self._tokens, now=now)
        if self._bar is None:
            return
        rate, left = self._token_pace.rate(), self._pace.left()
        self._bar.update(
            self._task,
            completed=done,
            texts=f"{texts:,}/{self._texts:,} texts",
            rate="" if rate is None else f"{rate:,.0f} tokens/s",
            left="" if left is None else f"{seconds(left)} left",
        )


def _bar(total: float) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TextColumn("{task.fields[texts]}"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    )
    return bar, bar.add_task("", total=total, texts="", rate="", left="loading the model …")
