"""What a job is and how far it has come, for whoever asks: the report of a run, and jobs as they lie on the disk."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.journal import DIED, FILE, Counts, Journal, RunRecord
from unabridged.jobs.meter import Meter, Spent
from unabridged.jobs.progress import JobProgress, last_sign
from unabridged.jobs.settings import default_jobs_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JobInfo", "JobProgress", "JobReport", "Lock", "hopeless", "list_jobs", "read_job"]

LOCK = "lock"
REQUESTS = "requests.log"
_NO_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)
_A_LOOK = 0.2  # seconds
_LASTING = frozenset({"unreadable", "empty", "UnknownScript"})  # what a text is, and not what came of it


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a run ended with; ``rows`` are those done, skipped as blank and failed, of every run so far.

    ``status`` is ``done``, ``failed`` (some rows did, the rest is written) or ``stopped`` (a budget is reached;
    ``reason`` says which). ``tokens``, ``requests`` and ``cost`` are those of every run, ``seconds`` of this one,
    and so is ``run``: what it sent; ``tried`` are the rows that it found to do, ``wrote`` whether it wrote an output.
    ``hopeless`` are the rows among those failed that fail again for as long as the source stays as it is.
    ``folder`` has the journal. ``notes`` say what is to be said of vectors that are there all the same.
    """

    id: str
    folder: str
    status: str
    reason: str | None
    counts: Counts
    tokens: int
    requests: int
    cost: float | None
    seconds: float
    target: str | None
    causes: Mapping[str, int] = field(default_factory=dict)
    passed_over: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    run: Spent = field(default_factory=Spent)
    tried: int = 0
    wrote: bool = False
    hopeless: int = 0

    @property
    def idle(self) -> bool:
        """Whether this run found nothing to do: what the counts say was done before."""
        return self.status in {"done", "failed"} and not (self.tried or self.wrote or self.run.requests)

    @property
    def ok(self) -> bool:
        """Whether every row of the source has its vector, or is blank."""
        return self.status == "done"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "idle": self.idle, "ok": self.ok}


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job as it lies on the disk. ``running`` is asked of the lock, so a killed one is not: it is ``interrupted``.

    ``ended`` is when the last run did, or was seen last; ``under_way`` are rows that have their vectors and are not
    noted yet: they are not paid for again. Of one that runs, ``pid`` is its process, ``rate`` its rows a second.
    """

    id: str
    folder: str
    status: str
    reason: str | None
    running: bool
    pid: int | None
    began: float | None
    ended: float | None
    counts: Counts
    under_way: int
    rate: float | None
    spent: Spent
    total: int | None
    about: int | None
    cost: float | None
    target: str | None
    model: str | None
    causes: Mapping[str, int]
    configuration: Mapping[str, Any] = field(repr=False)
    origin: Mapping[str, Any] = field(default_factory=dict, repr=False)
    runs: tuple[RunRecord, ...] = field(default=(), repr=False)

    @property
    def rows(self) -> int:
        """Rows that are done with, as far as can be seen from here."""
        return self.counts.rows + self.under_way

    @property
    def left(self) -> float | None:
        """Seconds that it will take still, if that can be said."""
        total = self.about if self.total is None else self.total
        return None if total is None or not self.rate else max(total - self.rows, 0) / self.rate

    @property
    def resumable(self) -> bool:
        """Whether its last run did not come to its end: run again, it goes on."""
        return self.status in {"interrupted", "stopped"}

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "rows": self.rows, "left": self.left, "resumable": self.resumable}


class Lock:
    """One process runs a job at a time; the lock goes with the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            if error.errno not in _NO_PLACE:
                raise
            said = os.strerror(error.errno or 0).lower()
            raise ConfigError("folder", f"jobs cannot be kept in {folder.parent}: {said}") from None
        until = time.monotonic() + _A_LOOK
        while not _locked(self._handle, fcntl.LOCK_EX):
            if time.monotonic() < until:  # whoever looks whether it is held, holds it for a moment
                time.sleep(_A_LOOK / 10)
                continue
            holder = os.pread(self._handle, 20, 0).decode("ascii", "replace")
            os.close(self._handle)
            which = f" ({holder})" if holder.isdigit() else ""
            said = f"'unabridged job status {folder.name}' shows how far it is"
            raise JobError(f"{folder.name}: is running in another process{which}; {said}")
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others run it."""
        os.close(self._handle)


def list_jobs(folder: str | Path | None = None) -> list[JobInfo]:
    """Every job of a folder, the one that ran last first."""
    place = Path(folder or default_jobs_folder())
    names = [path.parent.name for path in place.glob(f"*/{FILE}")]
    return sorted((read_job(place, name) for name in names), key=lambda job: job.began or 0.0, reverse=True)


def read_job(folder: str | Path | None, job: str) -> JobInfo:
    """A job by its id, as its journal has it; it may be running. Raises :class:`ConfigError` for no such job."""
    place = Path(folder or default_jobs_folder()) / job
    if not (place / FILE).exists():
        known = ", ".join(sorted(path.parent.name for path in place.parent.glob(f"*/{FILE}"))[:8])
        raise ConfigError("job", f"no job {job!r} in {place.parent}" + (f"; there are {known}" if known else ""))
    meter = Meter(place / REQUESTS)
    with Journal(place, read_only=True) as journal:
        spent = meter.spent
        meter.close()
        running = _held(place)
        runs = _as_they_are(journal, place, running=running)
        last, sign, counts = (runs[-1] if runs else None), last_sign(place), journal.counts()
        configuration = journal.get("configuration") or {}
        return JobInfo(
            id=job,
            folder=str(place),
            status="new" if last is None else last.status,
            reason=None if last is None else last.reason,
            running=running,
            pid=last.pid if running and last is not None else None,
            began=None if last is None else last.began,
            ended=None if last is None else last.ended,
            counts=counts,
            under_way=0 if sign is None else max(sign.rows - counts.rows, 0),
            rate=sign.rate if running and sign is not None else None,
            spent=spent,
            total=journal.get("total"),
            about=journal.get("about"),
            cost=cost_of(spent.tokens, journal.get("price")),
            target=journal.get("target"),
            model=configuration.get("model"),
            causes=journal.causes(),
            configuration=configuration,
            origin=journal.get("origin") or {},
            runs=tuple(runs),
        )


def _as_they_are(journal: Journal, place: Path, *, running: bool) -> list[RunRecord]:
    """The runs; one that did not end, and whose lock nobody holds, has died when it was seen last."""
    runs = journal.runs()
    for at, run in enumerate(runs):
        if run.status == "running" and not (running and at == len(runs) - 1):
            sign = last_sign(place)
            seen = max(run.began, journal.last_block or 0.0, 0.0 if sign is None else sign.at)
            runs[at] = replace(run, status="interrupted", reason=DIED, ended=seen)
    return runs


def hopeless(causes: Mapping[str, int], *, readable_later: bool) -> int:
    """How many rows that failed would fail again, for as long as the source stays as it is.

    A file that cannot be opened may be tomorrow (``readable_later``); a line that is not JSON stays what it is.

    >>> hopeless({"unreadable": 2, "bad_request": 1}, readable_later=False)
    2
    """
    lasting = _LASTING - {"unreadable"} if readable_later else _LASTING
    return sum(count for kind, count in causes.items() if kind in lasting)


def cost_of(tokens: int, price: float | None) -> float | None:
    """What so many tokens cost, in the money of a price for a million."""
    return None if price is None else tokens * price / 1e6


def _held(folder: Path) -> bool:
    """Whether a process runs the job. To look is no reason for another to be refused: a shared lock does."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _locked(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _locked(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
