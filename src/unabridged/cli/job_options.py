"""The options of ``unabridged job``, and the job that they mean."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from unabridged.jobs.settings import JobSettings

__all__ = ["Chosen", "chosen"]

JobId = Annotated[str, typer.Argument(help="The job's id, as `unabridged job list` shows it.")]
AnyJob = Annotated[
    str | None, typer.Argument(help="The job's id; without it the one that runs, or the only one there is.")
]
Inputs = Annotated[list[str] | None, typer.Argument(metavar="PATH…", help="A job file (.json), or what is read.")]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="Where to: .parquet, .npy, .jsonl, .lance, local or a URI; or a memory."),
]
SourceFormat = Annotated[
    Literal["parquet", "arrow", "jsonl", "csv", "lance", "huggingface", "files", "memory"] | None,
    typer.Option("--source-format", help="What is read; told from the endings."),
]
TextColumn = Annotated[str | None, typer.Option("--text-column", help="Column of the text; default: text.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that names a row; default: its place in its file.")]
Keep = Annotated[
    list[str] | None, typer.Option("--keep", "-k", help="Column to carry along; may be repeated; '*' is all.")
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="Pattern as in .gitignore; may be repeated.")]
SinkFormat = Annotated[
    Literal["parquet", "npy", "jsonl", "lance", "column", "memory"] | None,
    typer.Option("--sink-format", help="column: into the source's own tables; memory: --output is its place."),
]
Column = Annotated[str | None, typer.Option("--column", help="Name of the column that is added; default: vector.")]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Of a memory, read or written.")]
Pooling = Annotated[
    Literal["weighted", "mean", "max", "first"] | None,
    typer.Option("--pooling", help="How chunk vectors become one; weighted is the default."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep vectors of other jobs.")]
Name = Annotated[str | None, typer.Option("--name", help="The job's id; default: from what it reads and writes.")]
Folder = Annotated[
    str | None, typer.Option("--folder", envvar="UNABRIDGED_JOBS", help="Where jobs are kept; the user's own folder.")
]
Price = Annotated[float | None, typer.Option("--price", help="What a million tokens cost.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", help="Stop before the job costs more; needs --price.")]
MaxRequests = Annotated[
    int | None, typer.Option("--max-requests", min=1, help="Stop after so many requests, of all runs of the job.")
]
OnChange = Annotated[
    Literal["refuse", "fork"] | None,
    typer.Option("--on-change", help="Another model, source or sink under this name: refuse it, or begin another job."),
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Blocks embedded at once.")]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the command line says of a job. It is kept in the journal, so that the job can be tried again."""

    paths: list[str] | None = None
    output: str | None = None
    source_format: str | None = None
    text_column: str | None = None
    id_column: str | None = None
    keep: list[str] | None = None
    ignore: list[str] | None = None
    hidden: bool = False
    encoding: str | None = None
    sink_format: str | None = None
    column: str | None = None
    chunk_vectors: bool = False
    force: bool = False
    dataset: str | None = None
    config: str | None = None
    model: str | None = None
    base_url: str | None = None
    dimensions: int | None = None
    pooling: str | None = None
    max_tokens: int | None = None
    overlap_tokens: int | None = None
    no_cache: bool = False
    concurrency: int | None = None
    timeout: float | None = None
    name: str | None = None
    folder: str | None = None
    price: float | None = None
    max_cost: float | None = None
    max_requests: int | None = None
    on_change: str | None = None
    workers: int | None = None
    here: str = field(default_factory=lambda: str(Path.cwd()))


def chosen(given: Chosen) -> JobSettings:
    """The job that is meant: a job file, and what the command line puts in its place."""
    from unabridged.config import load_config
    from unabridged.config.job import job_settings
    from unabridged.embedding.plan import Chunking

    file, paths = split(given)
    sizes = {"max_tokens": given.max_tokens, "overlap_tokens": given.overlap_tokens}
    wanted: dict[str, Any] = {key: value for key, value in sizes.items() if value is not None}
    options = {"pooling": given.pooling, "concurrency": given.concurrency, "cache": False if given.no_cache else None}
    return job_settings(
        load_config(file or given.config),
        model={
            "model": given.model,
            "base_url": given.base_url,
            "dimensions": given.dimensions,
            "timeout": given.timeout,
        },
        options={**options, "chunking": Chunking(**wanted) if wanted else None},
        source={
            "paths": tuple(paths) or None,
            "format": given.source_format,
            "text": given.text_column,
            "id": given.id_column,
            "keep": tuple(given.keep or ()),
            "ignore": tuple(given.ignore or ()),
            "hidden": given.hidden or None,
            "encoding": given.encoding,
            "dataset": given.dataset,
        },
        sink={
            "target": given.output,
            "format": given.sink_format,
            "column": given.column,
            "chunk_vectors": given.chunk_vectors,
            "force": given.force,
            "dataset": given.dataset,
        },
        name=given.name,
        folder=given.folder,
        price=given.price,
        max_cost=given.max_cost,
        max_requests=given.max_requests,
        on_change=given.on_change,
        workers=given.workers,
        cache=False if given.no_cache else None,
        origin=_kept(given),
    )


def split(given: Chosen) -> tuple[str | None, list[str]]:
    """A job file among the paths, and the other paths."""
    paths = list(given.paths or ())
    if paths and paths[0].lower().endswith((".json", ".json5", ".jsonc")):
        return paths[0], paths[1:]
    return None, paths


def _kept(given: Chosen) -> dict[str, Any]:
    return {key: value for key, value in asdict(given).items() if value not in (None, False, [])}
