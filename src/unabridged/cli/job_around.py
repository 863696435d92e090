"""Where a job's shards run, how its requests go, who watches: options of ``job run`` and ``job retry``; its report."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.cli.console import note
from unabridged.cli.job_options import Folder, JobId  # noqa: TC001 typer reads them

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.state import JobProgress, JobReport

__all__ = [
    "Around",
    "Batch",
    "MetricsPort",
    "Processes",
    "RateRequests",
    "Ray",
    "RedisUrl",
    "Spans",
    "around",
    "register",
    "told",
]

_BATCH_BLOCKS = 16  # of 4,096 rows each: they fill a provider's file of 50,000 inputs

Batch = Annotated[
    bool,
    typer.Option("--batch", help="By the provider's batch API (OpenAI, Gemini, Voyage): cheaper, within hours."),
]
Processes = Annotated[int | None, typer.Option("--processes", min=1, help="Embed in so many processes.")]
Ray = Annotated[
    str | None,
    typer.Option("--ray", help="Embed on a Ray cluster: auto, ray://HOST:PORT, or local.", metavar="ADDRESS"),
]
RateRequests = Annotated[
    float | None, typer.Option("--rate", help="With --ray: requests a second, of all workers together.")
]
RedisUrl = Annotated[
    str | None,
    typer.Option("--redis", envvar="UNABRIDGED_REDIS", help="With --ray: a cache for all workers, redis://HOST:PORT."),
]
MetricsPort = Annotated[
    int | None, typer.Option("--metrics", help="Serve Prometheus metrics on this port of 127.0.0.1 meanwhile.")
]
Spans = Annotated[bool, typer.Option("--spans", help="OpenTelemetry spans, to where the environment says.")]


@dataclass(frozen=True, slots=True)
class Around:
    """What the options say."""

    batch: bool = False
    processes: int | None = None
    ray: str | None = None
    rate: float | None = None
    redis: str | None = None
    metrics: int | None = None
    spans: bool = False


def told(given: Around, file: str | None) -> Around:
    """The options, and what the job file says where they say nothing."""
    if file is None:
        return given
    from unabridged.config import load_config

    section = load_config(file).settings.job
    if section is None:
        return given
    return Around(**{name: getattr(given, name) or getattr(section, name) for name in Around.__slots__})


@dataclass(slots=True)
class _Watched:
    """The job as it is to be run, and who is told of it."""

    settings: JobSettings
    options: dict[str, Any] = field(default_factory=dict)
    listeners: list[Callable[[JobProgress], None]] = field(default_factory=list)
    ended: Callable[[JobReport], None] = lambda _: None

    def tell(self, *, first: Callable[[JobProgress], None]) -> Callable[[JobProgress], None]:
        """One listener to the progress that tells all."""
        several = [first, *self.listeners]

        def step(state: JobProgress) -> None:
            for one in several:
                one(state)

        return step


@contextlib.contextmanager
def around(settings: JobSettings, given: Around, cancel: threading.Event) -> Iterator[_Watched]:
    """The job with its options in force, for as long as the block runs."""
    from unabridged.jobs.metrics import Metrics, observers

    watched = _Watched(_batched(settings, cancel) if given.batch else settings)
    watched.options |= _runner(given)
    model = _model(settings) if given.metrics is not None or given.spans else ""
    with contextlib.ExitStack() as stack:
        metrics = spans = None
        if given.metrics is not None:
            metrics = Metrics(settings.id, model=model)
            stack.callback(metrics.close)
            port = stack.enter_context(metrics.served(given.metrics))
            note(f"metrics: http://127.0.0.1:{port}/metrics")
            watched.listeners.append(metrics.progress)
        if given.spans:
            from unabridged.jobs.telemetry import Spans as JobSpans

            spans = stack.enter_context(JobSpans(settings.id, model=model).run())
            watched.ended = spans.report
        watched.options["observer"] = observers(metrics, spans)
        yield watched


def register(app: typer.Typer) -> None:
    """Add ``job report``."""
    app.command("report", no_args_is_help=True)(_report)


def _report(
    job: JobId,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="The page's file; default: report.html in the job's folder.")
    ] = None,
    folder: Folder = None,
) -> None:
    """One page about a job, running or not: throughput, lengths, chunks a text, failures, cost.

    ```
    unabridged job report vectors-1f2e3d4c -o report.html
    ```
    """
    from unabridged.jobs.report import write_report
    from unabridged.jobs.state import read_job

    target = Path(output) if output else Path(read_job(folder, job).folder) / "report.html"
    note(str(write_report(folder, job, target)))


def _batched(settings: JobSettings, cancel: threading.Event) -> JobSettings:
    """By the provider's batch API; a price is what the same would cost without."""
    from unabridged.jobs.batches import BatchedOpener
    from unabridged.providers.batches import batch_discount

    name = _model(settings).partition("/")[0]
    price = None if settings.price is None else settings.price * batch_discount(name)
    opener = BatchedOpener(settings.embedder, str(settings.place / "batches"), {"cancel": cancel})
    return replace(settings, embedder=opener, price=price, workers=settings.workers or _BATCH_BLOCKS)


def _runner(given: Around) -> dict[str, Any]:
    from unabridged.errors import ConfigError

    if given.ray is not None:
        from unabridged.jobs.gate import GateLimits
        from unabridged.jobs.ray import on_ray

        if given.processes is not None or given.batch:
            raise ConfigError("--ray", "cannot be combined with --processes or --batch")
        address = None if given.ray == "local" else given.ray
        return {"runner": on_ray(address, rate=GateLimits(requests=given.rate), redis=given.redis)}
    if given.rate is not None:
        raise ConfigError("--rate", "needs --ray: one process keeps its rate by itself")
    if given.processes is not None:
        if given.batch:
            raise ConfigError("--processes", "cannot be combined with --batch: its work is waiting")
        from unabridged.jobs.pool import processes

        return {"runner": processes(given.processes)}
    return {}


def _model(settings: JobSettings) -> str:
    embedder = settings.embedder(cache=False)
    try:
        return f"{embedder.provider.name}/{embedder.provider.model}"
    finally:
        embedder.close()
