"""``unabridged sweep``: what is stale by splitter or embedder, made new."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from unabridged.cli.console import note, number, plural, put
from unabridged.cli.memory_options import Config, Dataset, Json, Model, Uri, chosen_embedder, opened
from unabridged.errors import InputError, JobError

if TYPE_CHECKING:
    from unabridged.jobs.sweep import Swept

__all__ = ["register"]

_WORDS = {
    "stale": lambda n: f"{number(n)} rows are stale",
    "done": lambda n: f"{number(n)} rows made new",
    "failed": lambda n: f"{number(n)} rows failed",
    "documents": lambda n: plural(n, "document"),
    "chunks": lambda n: plural(n, "chunk"),
    "kept": lambda n: f"{number(n)} kept as they were",
    "removed": lambda n: f"{number(n)} removed",
    "vectors": lambda n: plural(n, "vector"),
    "missing": lambda n: f"{number(n)} without a vector",
    "summaries": lambda n: f"{number(n)} summaries gone with their chunks",
}

Size = Annotated[int | None, typer.Option("--size", min=1, help="Chunks of so many tokens from now on.")]
Overlap = Annotated[int | None, typer.Option("--overlap-percent", min=0, max=90, help="Their overlap; 20 by default.")]
Method = Annotated[str | None, typer.Option("--method", help="A segmenter, as `unabridged chunk --help` lists them.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep")(_sweep)


def _sweep(
    output: Annotated[
        str | None, typer.Argument(help="A job's output, or a table with its column; without it, a memory.")
    ] = None,
    text_column: Annotated[str, typer.Option("--text-column", help="Column of the output that keeps texts.")] = "text",
    source: Annotated[
        list[str] | None, typer.Option("--source", help="Where the texts are, if the output keeps none.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="With --source: the column that names a row.")] = None,
    size: Size = None,
    overlap_percent: Overlap = None,
    method: Method = None,
    config: Config = None,
    model: Model = None,
    uri: Uri = None,
    dataset: Dataset = "default",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Cut so many documents at the most.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is stale, and change nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Cut and embed a memory's documents anew where the splitter or the embedder is another one now.

    What is not stale is not touched; old vectors serve every search until the new ones are there; facts keep their
    sources. Interrupted, it goes on when it is run again.

    ```
    unabridged sweep --uri ./memory --model openai/text-embedding-3-large --dry-run
    unabridged sweep --uri ./memory --config plugin.json --size 512
    unabridged sweep vectors.lance --model openai/text-embedding-3-large
    unabridged sweep vectors.npy --model hashing --source rows.parquet --id key
    ```
    """
    from unabridged.jobs.sweep import find_stale

    if output is not None:
        opener = _opener(config, model)
        origin = _Origin(text_column, source, id_column)
        _tell(_sink(output, opener, origin, dry_run=dry_run), as_json=as_json)
        return
    given = {"size": size, "overlap_percent": overlap_percent, "method": method}
    chunking = {name: value for name, value in given.items() if value is not None} or None
    embedder = chosen_embedder(config, model)
    if chunking is None and embedder is None:
        raise InputError("nothing to compare with: --size, --method, --model or --config says what is wanted now")
    with opened(uri, dataset, config=config, embedder=embedder) as memory:
        if dry_run:
            _tell(find_stale(memory, chunking=chunking), as_json=as_json)
        else:
            _tell(_swept(memory, chunking, limit), as_json=as_json)


class _Origin(NamedTuple):
    """Where the texts of an output are."""

    text: str
    paths: list[str] | None
    id: str | None


def _opener(config: str | None, model: str | None) -> Any:
    from unabridged.jobs.settings import EmbedderSpec

    if model:
        return EmbedderSpec(model)
    if config:
        from unabridged.config import load_config
        from unabridged.config.job import ConfigEmbedder

        block = load_config(config).block
        return ConfigEmbedder({key: value for key, value in block.settings.items() if key != "job"}, block.plugin)
    raise InputError("nothing to compare with: --model or --config says what is wanted now")


def _sink(output: str, opener: Any, origin: _Origin, *, dry_run: bool) -> Any:
    from unabridged.cli.job_progress import JobLine
    from unabridged.cli.job_signals import asked_to_end
    from unabridged.jobs.settings import SourceSettings
    from unabridged.jobs.sweep_sink import find_stale_sink, sweep_sink

    if dry_run:
        return find_stale_sink(output, opener)
    given = None if not origin.paths else SourceSettings(tuple(origin.paths), text=origin.text, id=origin.id)
    with asked_to_end() as asked, JobLine(quiet=False) as line:
        try:
            report = sweep_sink(output, opener, text=origin.text, source=given, progress=line.step, cancel=asked.event)
        except JobError as error:
            line.stop()
            asked.leave(error)
    return report.counts if report is not None else find_stale_sink(output, opener)


def _swept(memory: Any, chunking: Any, limit: int | None) -> Swept:
    from unabridged.cli.job_signals import asked_to_end
    from unabridged.jobs.sweep import sweep

    with asked_to_end() as asked:
        try:
            return sweep(memory, chunking=chunking, limit=limit, progress=_progress, cancel=asked.event)
        except JobError as error:
            asked.leave(error)


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        note(f"{number(done)} of {number(total)} {what}")


def _tell(found: Any, *, as_json: bool) -> None:
    if as_json:
        put(json.dumps(asdict(found), ensure_ascii=False, indent=2) + "\n")
        return
    counts = {name: value for name, value in asdict(found).items() if name in _WORDS and value}
    parts = [_WORDS[name](value) for name, value in counts.items()]
    put((", ".join(parts) or "nothing is stale") + "\n")
