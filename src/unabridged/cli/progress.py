"""One line on a terminal: how far, how fast, how long still. Nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from unabridged.cli.console import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

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

    @property
    def begun(self) -> bool:
        """Whether there is a first sample."""
        return bool(self._samples)

    def rate(self) -> float | None:
        """Units a second, or ``None`` while nothing can be said."""
        if len(self._samples) < 2:
            return None
        (began, first), (now, last) = self._samples[0], self._samples[-1]
        return (last - first) / (now - began) if now > began and last > first else None

    def left(self, now: float | None = None) -> float | None:
        """Seconds until all is done, or ``None`` while nothing can be said.

        ``now`` counts down what has passed since the last sample.
        """
        rate = self.rate()
        if rate is None:
            return None
        (began, first), (last, done) = self._samples[0], self._samples[-1]
        rest = max(self.total - done, 0)
        left = rest / rate - (0.0 if now is None else now - last)
        if left >= 0 or now is None:
            return left
        return rest * (now - began) / (done - first)  # overdue: it goes slower than it did

    def least(self, wave: float, now: float) -> float | None:
        """Seconds that are left at the least, before anything has come back.

        ``wave`` is how much may be under way at once: no more than that can be done by now.

        >>> pace = Pace(total=100)
        >>> pace.add(0, now=0.0)
        >>> pace.least(20, now=1.5)
        6.0
        """
        if not self._samples or not 0 < wave < self.total:
            return None
        began, done = self._samples[0]
        bound = (now - began) * max(self.total - done - wave, 0) / wave
        return bound or None


class ProgressLine:
    """The line itself. ``total_bytes`` is the size of all texts; a batch counts by its tokens.

    ``wave`` is the most tokens that are under way at once, ``speed`` the bytes a second to be expected:
    where they are known, they tell the time left before the first answer does.
    """

    def __init__(
        self,
        total_bytes: int,
        texts: int,
        *,
        quiet: bool,
        wave: int | None = None,
        speed: float | None = None,
    ) -> None:
        self._pace = Pace(max(total_bytes, 1))
        self._texts = texts
        self._shown = sys.stderr.isatty() and not quiet
        self._bar: Any = None
        self._task: Any = None
        self._done_bytes = self._batch_bytes = self._done_texts = 0
        self._tokens = self._tokens_before = 0
        self._token_pace = Pace(0)
        self._wave = wave
        self._wave_bytes = 0.0
        self._speed = speed
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        if self._shown:
            self._bar, self._task = _bar(self._pace.total, self._time_left)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def batch(self, size: int, *, total: int) -> None:
        """A batch of ``size`` bytes begins; ``total`` is the size of all, as known by now."""
        self._batch_bytes = size
        self._pace.total = max(total, self._done_bytes + size, 1)

    def step(self, progress: Progress) -> None:
        """The batch has come so far: what an embedder calls."""
        share = progress.tokens_done / progress.tokens if progress.tokens else 1.0
        self._tokens = self._tokens_before + progress.tokens_done
        if self._wave is not None and progress.tokens:
            self._wave_bytes = self._batch_bytes * min(self._wave / progress.tokens, 1.0)
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
        rate = self._token_pace.rate()
        self._bar.update(
            self._task,
            completed=done,
            total=self._pace.total,
            texts=f"{texts:,}/{self._texts:,} texts",
            rate="" if rate is None else f"{rate:,.0f} tokens/s",
        )

    def _time_left(self) -> str:
        """In words, at every turn of the wheel: it counts down between two answers."""
        now = time.monotonic()
        left = self._pace.left(now)
        if left is not None:
            return f"{seconds(left)} left"
        least = self._pace.least(self._wave_bytes, now)
        if least is not None:
            return f"over {seconds(least)} left"
        if self._pace.begun:
            return "waiting for the first answer …"
        if self._speed is None:
            return "getting ready …"
        return f"about {seconds(max(self._pace.total / self._speed - now + self._started, 1.0))} left"


def _bar(total: float, time_left: Callable[[], str]) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
    )
    from rich.text import Text

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(time_left())

    bar = Progress(
        SpinnerColumn(),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TextColumn("{task.fields[texts]}"),
        TextColumn("{task.fields[rate]}"),
        Left(),
        console=Console(stderr=True),
        transient=True,
    )
    return bar, bar.add_task("", total=total, texts="", rate="")
