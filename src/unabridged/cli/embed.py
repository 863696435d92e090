"""``unabridged embed``: files and texts -> vectors in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unabridged.cli.console import note
from unabridged.cli.exits import SOME_FAILED

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.embedding.embedder import Embedder

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("embed", no_args_is_help=True)(_embed)


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
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an output that exists.")] = False,
    config: Annotated[
        str | None, typer.Option("--config", "-c", envvar="UNABRIDGED_CONFIG", help="A plugin JSON.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="PROVIDER/MODEL, such as openai/text-embedding-3-small."),
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Address of the endpoint.")] = None,
    dimensions: Annotated[int | None, typer.Option("--dimensions", "-d", min=1, help="Width of the vectors.")] = None,
    query: Annotated[bool, typer.Option("--query", help="The texts are queries, not documents.")] = False,
    pooling: Annotated[
        Literal["weighted", "mean", "max", "first", "hierarchical"] | None,
        typer.Option("--pooling", help="How chunk vectors become one; weighted is the default."),
    ] = None,
    chunk_vectors: Annotated[
        bool, typer.Option("--chunk-vectors", help="Also a row for each chunk, with its place in the text.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Largest chunk.")] = None,
    overlap_tokens: Annotated[
        int | None, typer.Option("--overlap-tokens", min=0, help="Shared with the chunk before.")
    ] = None,
    method: Annotated[str | None, typer.Option("--method", help="A segmenter instead of the plain cut.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither read nor keep vectors.")] = False,
    empty: Annotated[
        Literal["skip", "zero", "error"], typer.Option("--empty", help="What a blank text becomes.")
    ] = "skip",
    on_overflow: Annotated[
        Literal["chunk", "truncate", "error"] | None,
        typer.Option("--on-overflow", help="What an over-long text becomes."),
    ] = None,
    on_unknown: Annotated[
        Literal["warn", "error", "ignore"] | None,
        typer.Option("--on-unknown", help="A text in a script that the model does not know."),
    ] = None,
    on_error: Annotated[
        Literal["report", "raise"],
        typer.Option("--on-error", help="report: go on with the other texts; raise: stop, write nothing."),
    ] = "report",
    encoding: Annotated[str | None, typer.Option("--encoding", help="Of the files; told from the bytes.")] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Take hidden files of a folder too.")] = False,
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="Requests in flight.")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.001, help="Seconds that one request may take.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
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
    target = _target(output, force=force)
    from unabridged.cli.inputs import gather
    from unabridged.cli.outputs import open_output
    from unabridged.cli.task import Task
    from unabridged.errors import InputError

    inputs = gather(paths or [], text or [], encoding=encoding, hidden=hidden, exclude=_outputs(target))
    embedder = _embedder(
        config,
        {"model": model, "base_url": base_url, "dimensions": dimensions, "timeout": timeout},
        {"max_tokens": max_tokens, "overlap_tokens": overlap_tokens, "method": method},
        {
            "pooling": pooling,
            "on_overflow": on_overflow,
            "on_unknown": on_unknown,
            "concurrency": concurrency,
            "cache": False if no_cache else None,
            "on_error": "report",
            "empty": empty,
        },
    )
    task = Task(
        inputs,
        embedder,
        role="query" if query else "document",
        chunks=chunk_vectors,
        raises=on_error == "raise",
        quiet=quiet,
    )
    with embedder:
        written = task.run(open_output(target, lines=output == "-", chunks=chunk_vectors, force=force))
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


def _embedder(config: str | None, model: dict[str, Any], chunking: dict[str, Any], options: dict[str, Any]) -> Embedder:
    """The configuration's embedder; what the command line says wins."""
    from unabridged.config import load_config
    from unabridged.embedding.plan import Chunking

    overrides = {key: value for key, value in options.items() if value is not None}
    sizes = {key: value for key, value in chunking.items() if value is not None}
    if sizes:
        overrides["chunking"] = Chunking(**sizes)
    return load_config(config).with_model(**model).embedder(**overrides)
