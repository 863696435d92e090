"""``unabridged embed``: files and texts -> vectors in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from unabridged.cli.console import note
from unabridged.cli.exits import SOME_FAILED
from unabridged.cli.groups import grouped
from unabridged.cli.options import (  # noqa: TC001 - typer reads annotations as it runs
    BaseUrl,
    ChunkVectors,
    Concurrency,
    Config,
    Dimensions,
    Encoding,
    Force,
    Hidden,
    MaxTokens,
    Model,
    OverlapTokens,
    Quiet,
    Timeout,
)
from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.embedding.embedder import Embedder

__all__ = ["register"]


@dataclass(frozen=True, slots=True)
class _Model:
    """The model, and how it is reached."""

    panel: ClassVar[str] = "Model"

    config: Config = None
    model: Model = None
    base_url: BaseUrl = None
    dimensions: Dimensions = None
    query: Annotated[bool, typer.Option("--query", help="The texts are queries, not documents.")] = False
    concurrency: Concurrency = None
    timeout: Timeout = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep vectors.")] = False


@dataclass(frozen=True, slots=True)
class _Long:
    """What becomes of a text that the model cannot take whole."""

    panel: ClassVar[str] = "Long texts"

    max_tokens: MaxTokens = None
    overlap_tokens: OverlapTokens = None
    method: Annotated[
        str | None, typer.Option("--method", help="A segmenter instead of the plain cut, such as paragraph.")
    ] = None
    pooling: Annotated[
        Literal["weighted", "mean", "max", "first", "hierarchical"] | None,
        typer.Option("--pooling", help="How chunk vectors become one (default: weighted, by unique tokens)."),
    ] = None
    chunk_vectors: ChunkVectors = False
    on_overflow: Annotated[
        Literal["chunk", "truncate", "error"] | None,
        typer.Option("--on-overflow", help="What an over-long text becomes (default: chunk)."),
    ] = None


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What becomes of a text that has no vector."""

    panel: ClassVar[str] = "Texts in trouble"

    empty: Annotated[Literal["skip", "zero", "error"], typer.Option("--empty", help="What a blank text becomes.")] = (
        "skip"
    )
    on_unknown: Annotated[
        Literal["warn", "error", "ignore"] | None,
        typer.Option("--on-unknown", help="A text in a script that the model does not know (default: warn)."),
    ] = None
    on_error: Annotated[
        Literal["report", "raise"],
        typer.Option("--on-error", help="report: go on with the other texts; raise: stop, write nothing."),
    ] = "report"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("embed")(grouped(_embed))


def _embed(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders, patterns ('docs/**/*.md'), or - for standard input."),
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", help="A text itself; may be repeated.")] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Where to: .parquet, .npy, .jsonl or .lance; - is JSON lines."),
    ] = None,
    force: Force = False,
    encoding: Encoding = None,
    hidden: Hidden = False,
    quiet: Quiet = False,
    *,
    chosen: _Model,
    long: _Long,
    trouble: _Trouble,
) -> None:
    """Turn texts of any length into vectors: one text, one row, one vector.

    Long texts are cut where sentences end, embedded in chunks and pooled; nothing is left out.
    Without `--output`, rows go to standard output as JSON lines, or on a terminal as a table.

    ```
    unabridged embed book.md -o book.parquet
    unabridged embed docs/ 'notes/**/*.txt' -o notes.lance --chunk-vectors
    cat server.log | unabridged embed - -o log.npy --model openai/text-embedding-3-small
    unabridged embed --text 'two words' --query
    ```
    """
    if not (paths or text):
        said = "nothing to read: name a file, a folder, a pattern, - or --text TEXT"
        raise ConfigError("PATH", f"{said}; 'unabridged embed --help' has examples")
    target = _target(output, force=force)
    from unabridged.cli.inputs import gather
    from unabridged.cli.outputs import open_output
    from unabridged.cli.task import Task
    from unabridged.errors import InputError

    inputs = gather(paths or [], text or [], encoding=encoding, hidden=hidden, exclude=_outputs(target))
    embedder = _embedder(chosen, long, trouble)
    task = Task(
        inputs,
        embedder,
        role="query" if chosen.query else "document",
        chunks=long.chunk_vectors,
        raises=trouble.on_error == "raise",
        quiet=quiet,
    )
    with embedder:
        written = task.run(open_output(target, lines=output == "-", chunks=long.chunk_vectors, force=force))
    task.tell_the_rest()
    if not quiet:
        note(task.summary(target if written else None))
    if not written:
        raise InputError(f"{target}: nothing to write, as no text has a vector")
    if task.failed:
        raise typer.Exit(SOME_FAILED)


def _target(output: str | None, *, force: bool) -> Path | None:
    """Where to, checked before any text is paid for; ``None`` is standard output."""
    if output is None or output == "-":
        return None
    from unabridged.jobs.sink import check_target

    return check_target(output, force=force)


def _outputs(target: Path | None) -> list[Path]:
    """What the folders to read may hold of our own making."""
    if target is None:
        return []
    from unabridged.jobs.sink import ids_file

    return [target, ids_file(target)] if target.suffix == ".npy" else [target]


def _embedder(chosen: _Model, long: _Long, trouble: _Trouble) -> Embedder:
    """The configuration's embedder; what the command line says wins."""
    from unabridged.config import load_config
    from unabridged.embedding.plan import Chunking

    config = load_config(chosen.config).with_model(
        model=chosen.model, base_url=chosen.base_url, dimensions=chosen.dimensions, timeout=chosen.timeout
    )
    sizes = {"max_tokens": long.max_tokens, "overlap_tokens": long.overlap_tokens, "method": long.method}
    cut = {key: value for key, value in sizes.items() if value is not None}
    options = {
        "chunking": Chunking(**cut) if cut else None,  # type: ignore[arg-type]
        "pooling": long.pooling,
        "on_overflow": long.on_overflow,
        "on_unknown": trouble.on_unknown,
        "concurrency": chosen.concurrency,
        "cache": False if chosen.no_cache else None,
        "on_error": "report",
        "empty": trouble.empty,
    }
    return config.embedder(**{key: value for key, value in options.items() if value is not None})
