"""How far a run is: told to its caller, and left beside the journal for whoever looks from another process."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["JobProgress", "Sign", "Watch", "last_sign"]

_FILE = "progress.json"
_TELL_EVERY = 0.1  # seconds between two calls of a listener
_SIGN_EVERY = 1.0  # seconds between two signs of life


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a run has come.

    ``rows`` are those noted and those that have their vectors of what is under way; ``total`` is the rows of the
    source, if they are known without reading it, else ``about`` a guess, if there is one. ``notes`` are what is to be
    said before a text is embedded.
    """

    rows: int
    total: int | None
    failed: int
    skipped: int
    tokens: int
    requests: int
    cost: float | None
    seconds: float
    phase: str = "embedding"
    notes: tuple[str, ...] = ()
    about: int | None = None

    @property
    def expected(self) -> int | None:
        """The rows of the source as far as can be told."""
        return self.total if self.total is not None or self.about is None else max(self.about, self.rows)


@dataclass(frozen=True, slots=True)
class Sign:
    """What a run said of itself last: ``at`` (seconds since the epoch) it had ``rows``, ``begun`` of them before it.

    >>> Sign(at=0.0, rows=300, begun=100, seconds=50.0, phase="embedding").rate
    4.0
    """

    at: float
    rows: int
    begun: int
    seconds: float
    phase: str

    @property
    def rate(self) -> float | None:
        """Rows a second since the run began."""
        return (self.rows - self.begun) / self.seconds if self.seconds > 0 and self.rows > self.begun else None


class Watch:
    """Tells a listener, some times a second, and leaves a sign of life in the job's folder while the run lasts."""

    def __init__(self, folder: Path, listener: Callable[[JobProgress], None] | None) -> None:
        self._file = folder / _FILE
        self._listener = listener
        self._began = time.monotonic()
        self._told = self._signed = float("-inf")
        self._begun: int | None = None
        self._rows = 0

    @property
    def due(self) -> bool:
        """Whether it is time to tell again: to count costs something."""
        now = time.monotonic()
        return now - self._signed >= _SIGN_EVERY or (self._listener is not None and now - self._told >= _TELL_EVERY)

    def tell(self, progress: JobProgress) -> None:
        """The run is so far; it never goes back, though what is asked for once more counts anew."""
        now = time.monotonic()
        self._rows = max(self._rows, progress.rows)
        first, self._begun = self._begun is None, self._rows if self._begun is None else self._begun
        if now - self._signed >= _SIGN_EVERY:
            self._signed = now
            self._sign(Sign(time.time(), self._rows, self._begun, now - self._began, progress.phase))
        if self._listener is not None:
            self._told = self._told if first else now  # the first says only that it begins
            self._listener(replace(progress, rows=self._rows))

    def close(self, *, done: bool = True) -> None:
        """The run has ended: the journal says how; the last sign of one that was not done stays, for the next."""
        if done:
            self._file.unlink(missing_ok=True)
        elif self._begun is not None:
            self._sign(Sign(time.time(), self._rows, self._begun, time.monotonic() - self._began, "ended"))

    def _sign(self, sign: Sign) -> None:
        hidden = self._file.with_suffix(".part")
        with contextlib.suppress(OSError):  # a disk that is full is told by what has to be written
            hidden.write_text(json.dumps(asdict(sign)), "utf-8")
            hidden.replace(self._file)


def last_sign(folder: Path) -> Sign | None:
    """The last sign of life in a job's folder; of a run that is done there is none."""
    try:
        found = json.loads((folder / _FILE).read_bytes())
        return Sign(**{each.name: found[each.name] for each in fields(Sign)})
    except (OSError, ValueError, LookupError, TypeError):
        return None
