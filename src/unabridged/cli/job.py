"""``unabridged job``: collections larger than memory, any interruption, counts that add up."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.cli.console import note, plural, put, warn
from unabridged.cli.exits import SOME_FAILED
from unabridged.cli.groups import grouped
from unabridged.cli.job_around import (
    Around,
    Batch,
    MetricsPort,
    Processes,
    RateRequests,
    Ray,
    RedisUrl,
    Spans,
    around,
    told,
)
from unabridged.cli.job_around import register as register_around
from unabridged.cli.job_options import (
    AnyJob,
    Chosen,
    Column,
    Dataset,
    Folder,
    Id,
    Ignore,
    Inputs,
    JobId,
    Keep,
    MaxCost,
    MaxRequests,
    Name,
    NoCache,
    OnChange,
    Output,
    Pooling,
    Price,
    SinkFormat,
    SourceFormat,
    TextColumn,
    Workers,
    chosen,
    split,
)
from unabridged.cli.job_print import ended, planned, shown, table
from unabridged.cli.options import (  # noqa: TC001 - typer reads annotations as it runs
    BaseUrl,
    ChunkVectors,
    Concurrency,
    Config,
    Dimensions,
    Encoding,
    Force,
    Hidden,
    Json,
    MaxTokens,
    Model,
    OverlapTokens,
    Quiet,
    Timeout,
)

if TYPE_CHECKING:
    from unabridged.jobs.state import JobInfo, JobReport

__all__ = ["app", "register"]

app = typer.Typer(no_args_is_help=True, help="Embed collections larger than memory, through any interruption.")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    register_around(app)
    parent.add_typer(app, name="job")


@app.command("run")
def _run(  # noqa: PLR0917 typer makes an option of each
    paths: Inputs = None,
    output: Output = None,
    source_format: SourceFormat = None,
    text_column: TextColumn = None,
    id_column: Id = None,
    keep: Keep = None,
    ignore: Ignore = None,
    hidden: Hidden = False,
    encoding: Encoding = None,
    sink_format: SinkFormat = None,
    column: Column = None,
    chunk_vectors: ChunkVectors = False,
    force: Force = False,
    dataset: Dataset = None,
    config: Config = None,
    model: Model = None,
    base_url: BaseUrl = None,
    dimensions: Dimensions = None,
    pooling: Pooling = None,
    max_tokens: MaxTokens = None,
    overlap_tokens: OverlapTokens = None,
    no_cache: NoCache = False,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    name: Name = None,
    folder: Folder = None,
    price: Price = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    on_change: OnChange = None,
    workers: Workers = None,
    batch: Batch = False,
    processes: Processes = None,
    ray: Ray = None,
    rate: RateRequests = None,
    redis: RedisUrl = None,
    metrics: MetricsPort = None,
    spans: Spans = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be done, and send nothing.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Embed a collection; run it again and it goes on where it ended.

    `PATH` is a job file (.json), or what is read: Parquet, Arrow, JSON lines or CSV (.gz, .zst too), folders, Lance
    tables, saved Hugging Face datasets, URIs, - for standard input.

    ```
    unabridged job run job.json
    unabridged job run rows.parquet -o vectors.lance --id key --keep title --model openai/text-embedding-3-small
    unabridged job run docs/ -o docs.parquet --chunk-vectors --dry-run
    unabridged job run table.lance --sink-format column --column embedding --max-cost 5 --price 0.02
    ```
    """
    given = dict(locals())
    said = Chosen(**{name: given[name] for name in Chosen.__slots__ if name in given})
    settings = chosen(said)
    if dry_run:
        _plan(settings, as_json=as_json, quiet=quiet)
        return
    where = told(Around(**{name: given[name] for name in Around.__slots__}), split(said)[0] or config)
    _work(settings, where, retry=False, as_json=as_json, quiet=quiet)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A job that was begun, and how it goes on."""

    job: JobId
    folder: Folder = None
    batch: Batch = False
    processes: Processes = None
    as_json: Json = False
    quiet: Quiet = False


@app.command("retry", no_args_is_help=True)
@grouped
def _retry(begun: _Begun) -> None:
    """Try the rows that failed again, and those alone.

    ```
    unabridged job retry vectors-1f2e3d4c
    ```
    """
    _again(begun, retry=True)


@app.command("resume", no_args_is_help=True)
@grouped
def _resume(begun: _Begun) -> None:
    """Go on with a job where it ended, as its first command said.

    ```
    unabridged job resume vectors-1f2e3d4c
    ```
    """
    _again(begun, retry=False)


def _again(begun: _Begun, *, retry: bool) -> None:
    """A job as it was begun, where it was begun."""
    from unabridged.errors import ConfigError
    from unabridged.jobs.state import read_job

    job, origin = begun.job, read_job(begun.folder, begun.job).origin
    if not origin:
        raise ConfigError("job", f"{job} was not begun by this program; use unabridged.jobs.job in Python")
    if not Path(origin["here"]).is_dir():
        raise ConfigError("job", f"{job} was begun in {origin['here']}, which is not there any more")
    os.chdir(origin["here"])  # relative paths mean what they meant, and rows keep the names made of them
    said = Chosen(**origin)
    where = told(Around(batch=begun.batch, processes=begun.processes), split(said)[0] or said.config)
    _work(chosen(said), where, retry=retry, as_json=begun.as_json, quiet=begun.quiet)


@app.command("list")
def _list(folder: Folder = None, as_json: Json = False) -> None:
    """Every job, the one that ran last first."""
    from unabridged.jobs.state import list_jobs

    jobs = list_jobs(folder)
    put(_json([job.to_dict() for job in jobs]) if as_json else table(jobs))


@app.command("status")
def _status(job: AnyJob = None, folder: Folder = None, as_json: Json = False) -> None:
    """How far a job is, running or not: rows, requests, cost, and failures by cause."""
    found = _meant(job, folder, "status", as_json=as_json)
    put(_json(found.to_dict()) if as_json else shown(found))


def _meant(job: str | None, folder: str | None, command: str, *, as_json: bool) -> JobInfo:
    """The job of this id; without one, that which runs, or the only one; several are listed."""
    from unabridged.jobs.state import list_jobs, read_job

    if job is not None:
        return read_job(folder, job)
    jobs = list_jobs(folder)
    for few in ([each for each in jobs if each.running], jobs):
        if len(few) == 1:
            return few[0]
    put(_json([each.to_dict() for each in jobs]) if as_json else table(jobs))
    if jobs:
        note(f"'unabridged job {command} ID' tells more of one of them")
    raise typer.Exit


@app.command("show")
def _show(
    job: AnyJob = None,
    folder: Folder = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Failed rows to show.")] = 20,
    as_json: Json = False,
) -> None:
    """A job's configuration, its runs, and the rows that failed, each with its cause."""
    from dataclasses import asdict

    from unabridged.jobs.journal import Journal

    found = _meant(job, folder, "show", as_json=as_json)
    with Journal(Path(found.folder), read_only=True) as journal:
        failures = list(journal.failures(limit=limit))
    if as_json:
        put(_json({**found.to_dict(), "failures": [asdict(one) for one in failures]}))
        return
    put(shown(found, failures=failures, runs=found.runs))


def _plan(settings: Any, *, as_json: bool, quiet: bool) -> None:
    from unabridged.cli.job_progress import Counting
    from unabridged.jobs.dryrun import dry_run

    with Counting(quiet=quiet) as counting:
        found = dry_run(settings, progress=counting.step)
    for said in () if quiet else found.notes:
        warn(said)
    put(_json(found.to_dict()) if as_json else planned(found))


def _work(settings: Any, where: Around, *, retry: bool, as_json: bool, quiet: bool) -> None:
    from unabridged.cli.job_progress import JobLine
    from unabridged.cli.job_signals import asked_to_end
    from unabridged.errors import JobError
    from unabridged.jobs.job import retry_job, run_job

    with asked_to_end() as asked, around(settings, where, asked.event) as job, JobLine(quiet=quiet) as line:
        try:
            work = retry_job if retry else run_job
            report = work(job.settings, progress=job.tell(first=line.step), cancel=asked.event, **job.options)
            job.ended(report)
        except JobError as error:
            line.stop()
            asked.leave(error)
    _tell(report, as_json=as_json, quiet=quiet)
    if not report.ok:
        raise typer.Exit(SOME_FAILED)


def _tell(report: JobReport, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        put(_json(report.to_dict()))
    elif not quiet:
        note(ended(report))
        for said in report.notes:
            warn(said)
        if report.counts.failed:
            note(f"{plural(report.counts.failed, 'row')} failed: 'unabridged job show {report.id}' says why,")
            note(_help(report))


def _help(report: JobReport) -> str:
    """What would help rows that failed: to try them again, or to change what stands in the source."""
    again = f"'unabridged job retry {report.id}' tries "
    if not report.hopeless:
        return again + "again"
    mend = "what the source has of them has to be changed there; the same command then embeds them"
    left = report.counts.failed - report.hopeless
    return f"{again}{plural(left, 'row')} again; of the others, {mend}" if left else mend


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n"
