"""What a job is and how far it has come, for whoever asks: the report of a run, and jobs as they lie on the disk."""

from __future__ import annotations

import fcntl
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.journal import FILE, Counts, Journal
from unabridged.jobs.meter import Meter, Spent
from unabridged.jobs.settings import default_jobs_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JobInfo", "JobProgress", "JobReport", "Lock", "list_jobs", "read_job"]

LOCK = "lock"
REQUESTS = "requests.log"


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a run has come. ``total`` is the rows of the source, if they are known without reading it.

    ``rows`` are those noted and those that are embedded of what is under way. ``notes`` are what is to be said of the
    source before a text of it is embedded.
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


@dataclass(frozen=True, slots=True)
class JobReport:
    """What a run ended with; ``rows`` are those done, skipped as blank and failed, of every run so far.

    ``status`` is ``done``, ``failed`` (some rows did, the rest is written) or ``stopped`` (a budget is reached;
    ``reason`` says which). ``tokens``, ``requests`` and ``cost`` are those of every run, ``seconds`` of this one,
    and so is ``run``: what it sent; ``tried`` are the rows that it found to do, ``wrote`` whether it wrote an output.
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
        return asdict(self)


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job as it lies on the disk. ``running`` is asked of the lock, so a killed one is not."""

    id: str
    folder: str
    status: str
    reason: str | None
    running: bool
    began: float | None
    ended: float | None
    counts: Counts
    spent: Spent
    total: int | None
    cost: float | None
    target: str | None
    model: str | None
    causes: Mapping[str, int]
    configuration: Mapping[str, Any] = field(repr=False)
    origin: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


class Lock:
    """One process runs a job at a time; the lock goes with the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise JobError(f"{folder.name}: is running in another process; 'unabridged job status' shows it") from None

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
        runs, spent = journal.runs(), meter.spent
        meter.close()
        last = runs[-1] if runs else None
        running = _held(place)
        status = "new" if last is None else last.status
        configuration = journal.get("configuration") or {}
        return JobInfo(
            id=job,
            folder=str(place),
            status="interrupted" if status == "running" and not running else status,
            reason=None if last is None else last.reason,
            running=running,
            began=None if last is None else last.began,
            ended=None if last is None else last.ended,
            counts=journal.counts(),
            spent=spent,
            total=journal.get("total"),
            cost=cost_of(spent.tokens, journal.get("price")),
            target=journal.get("target"),
            model=configuration.get("model"),
            causes=journal.causes(),
            configuration=configuration,
            origin=journal.get("origin") or {},
        )


def cost_of(tokens: int, price: float | None) -> float | None:
    """What so many tokens cost, in the money of a price for a million."""
    return None if price is None else tokens * price / 1e6


def _held(folder: Path) -> bool:
    if not (folder / LOCK).exists():
        return False
    handle = os.open(folder / LOCK, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
