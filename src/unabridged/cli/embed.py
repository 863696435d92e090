"""``unabridged embed``: files and texts -> vectors in a file."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unabridged.cli.console import note, number, plural, put, seconds, story, warn
from unabridged.cli.exits import SOME_FAILED
from unabridged.errors import InputError, ProviderError

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.cli.inputs import Inputs, Text
    from unabridged.cli.progress import ProgressLine
    from unabridged.cli.rows import Outcome
    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.results import EmbedResult
    from unabridged.jobs.sink import Sink
    from unabridged.types import Usage

__all__ = ["register"]

_SHOWN = 5  # warnings and failures in full; the rest is counted, and stands in the output
# Bytes of English a second that the embedded model takes on two cores (1 MB in 34 s, measured); a guess for the
# first moments, in which a book is counted.
_LOCAL_SPEED = 30_000.0
# Refusals that the next text would meet as well: there is no use in going on.
_FATAL = frozenset({"auth", "quota", "model_not_found", "invalid_dimensions"})


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
        Literal["weighted", "mean", "max", "first"] | None,
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
    timeout: Annotated[float | None, typer.Option("--timeout", min=0.001, help="Seconds for a batch.")] = None,
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
        },
        cache=not no_cache,
        empty=empty,
    )
    task = Task(
        inputs,
        embedder,
        role="query" if query else "document",
        chunks=chunk_vectors,
        raises=on_error == "raise",
        blank_fails=empty == "error",
        quiet=quiet,
    )
    with embedder:
        target_sink = None if target is None else _Late(target, embedder, force=force)
        _run(task, target_sink)
    if not quiet:
        _summary(task, target)
    if task.failed:
        raise typer.Exit(SOME_FAILED)


@dataclass(slots=True, eq=False)
class Task:
    """What is to be embedded, and what has become of it so far."""

    inputs: Inputs
    embedder: Embedder
    role: Literal["query", "document"]
    chunks: bool
    raises: bool
    blank_fails: bool
    quiet: bool = False
    usage: Usage | None = None
    texts: int = 0
    failed: int = 0
    skipped: int = 0
    started: float = field(default_factory=time.monotonic)


class _Late:
    """A sink that is opened with the first vectors, whose width it has to know."""

    def __init__(self, target: Path, embedder: Embedder, *, force: bool) -> None:
        self._target, self._embedder, self._force = target, embedder, force
        self._sink: Sink | None = None

    def write(self, outcomes: list[Outcome], width: int, *, chunks: bool) -> None:
        from unabridged.cli.rows import table
        from unabridged.jobs.sink import open_sink

        if self._sink is None:
            self._sink = open_sink(
                self._target, fingerprint=self._embedder.fingerprint(), width=width, force=self._force
            )
        self._sink.write(table(outcomes, width, chunks=chunks))

    def commit(self) -> None:
        if self._sink is not None:
            self._sink.commit()

    def abort(self) -> None:
        if self._sink is not None:
            self._sink.abort()


def _run(task: Task, sink: _Late | None) -> None:
    """Batch by batch: embed, write. Nothing half-written is left, whatever happens."""
    from unabridged.cli.progress import ProgressLine

    waiting: list[Outcome] = []
    try:
        size, texts, wave = task.inputs.bytes, len(task.inputs), _wave(task.embedder)
        speed = _LOCAL_SPEED if task.embedder.provider.name == "local" else None
        with ProgressLine(size, texts, quiet=task.quiet, wave=wave, speed=speed) as line:
            for batch in task.inputs.batches():
                line.batch(sum(one.size for one in batch), total=task.inputs.bytes)
                waiting += _embed_batch(task, batch, line)
                line.batch_done(len(batch))
                width = task.embedder.dimensions
                if width is not None:
                    _hand_over(task, sink, waiting, width)
                    waiting = []
        if waiting:
            _hand_over(task, sink, waiting, task.embedder.dimensions or 0)
        if sink is not None:
            sink.commit()
    except BaseException:
        if sink is not None:
            sink.abort()
        raise


def _wave(embedder: Embedder) -> int | None:
    """The most tokens that are under way at once, if the provider's limits tell."""
    limit, plan = embedder.limit, embedder.cutting
    tokens = limit.request_tokens
    if tokens is None and limit.request_inputs is not None and plan is not None and plan.unit == "tokens":
        tokens = limit.request_inputs * plan.max_size
    return None if tokens is None else tokens * embedder.concurrency


def _embed_batch(task: Task, batch: list[Text], line: ProgressLine) -> list[Outcome]:
    from unabridged.cli.rows import Outcome

    readable = [one for one in batch if one.error is None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # they stand in the results, and are told there
        result = task.embedder.embed_detailed(
            [one.text for one in readable], role=task.role, chunk_vectors=task.chunks, progress=line.step
        )
    task.usage = result.usage if task.usage is None else task.usage + result.usage
    _stop_if_hopeless(result)
    made = {id(one): found for one, found in zip(readable, result, strict=True)}
    outcomes = []
    for one in batch:
        found = made.get(id(one))
        said = tuple(w for w in (one.warning, *(found.warnings if found is not None else ())) if w)
        reason = one.error if found is None else found.reason
        outcome = Outcome(one.id, one.text, found, reason, tuple(_named(w, one.id) for w in said))
        _count(task, outcome)
        outcomes.append(outcome)
    return outcomes


def _named(warning: str, name: str) -> str:
    """A warning about "text 3" names the file instead."""
    head, colon, rest = warning.partition(": ")
    return f"{name}: {rest}" if colon and head.startswith("text ") else f"{name}: {warning}"


def _count(task: Task, outcome: Outcome) -> None:
    task.texts += 1
    blank = outcome.status == "skipped"
    task.skipped += blank
    if outcome.status == "failed" or (blank and task.blank_fails):
        task.failed += 1
        if task.raises:
            raise (
                outcome.result.error
                if outcome.result and outcome.result.error
                else InputError(f"{outcome.id}: {outcome.error}")
            )
        if task.failed <= _SHOWN:
            story(f"{outcome.id}: {outcome.error}")
    for line in outcome.warnings[:_SHOWN]:
        warn(line)


def _stop_if_hopeless(result: EmbedResult) -> None:
    """A wrong key or model is the same for every text: nothing is written, and the next is not tried."""
    for text in result.failed:
        if isinstance(text.error, ProviderError) and text.error.fault.kind in _FATAL:
            raise text.error


def _hand_over(task: Task, sink: _Late | None, outcomes: list[Outcome], width: int) -> None:
    if sink is not None:
        if width:
            sink.write(outcomes, width, chunks=task.chunks)
        return
    from unabridged.cli.rows import table
    from unabridged.jobs.sink import json_lines

    if not sys.stdout.isatty():
        if width:
            for row in json_lines(table(outcomes, width, chunks=task.chunks), task.embedder.fingerprint()):
                put(row)
        return
    for outcome in outcomes:
        found = outcome.result
        chunks = 0 if found is None else found.chunk_count
        tokens = 0 if found is None else found.tokens
        put(f"{outcome.status:10} {number(tokens):>10} tokens  {plural(chunks, 'chunk'):>12}  {outcome.id}\n")


def _summary(task: Task, target: Path | None) -> None:
    usage = task.usage
    if usage is None:
        return
    parts = [
        plural(task.texts, "text"),
        plural(usage.chunks, "chunk"),
        plural(usage.tokens, "token") + " sent",
        f"{number(usage.cached)} cached",
        plural(usage.requests, "request"),
        seconds(time.monotonic() - task.started),
    ]
    passed = [f"{count} {reason}" for reason, count in task.inputs.skipped.items()]
    if task.skipped:
        passed.append(f"{task.skipped} blank")
    if passed:
        parts.append(f"skipped: {', '.join(passed)}")
    if task.failed:
        parts.append(f"{task.failed} failed")
    note(", ".join(parts) + (f" -> {target}" if target is not None else ""))


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


def _embedder(
    config: str | None,
    provider: dict[str, Any],
    chunking: dict[str, Any],
    options: dict[str, Any],
    *,
    cache: bool,
    empty: str,
) -> Embedder:
    """The configuration's embedder; what the command line says wins."""
    from unabridged.config import load_config
    from unabridged.embedding.plan import Chunking

    chosen = {key: value for key, value in options.items() if value is not None}
    chosen |= {"on_error": "report", "empty": "skip" if empty == "error" else empty}
    if not cache:
        chosen["cache"] = False
    if any(value is not None for value in chunking.values()):
        chosen["chunking"] = Chunking(**{key: value for key, value in chunking.items() if value is not None})
    if config is not None and provider["model"] is None and provider["base_url"] is None:
        chosen |= {k: provider[k] for k in ("dimensions", "timeout") if provider[k] is not None}
        return load_config(config).embedder(**chosen)
    names = {"model": "model", "base_url": "baseURL", "dimensions": "dimensions", "timeout": "timeout"}
    written = {names[key]: value for key, value in provider.items() if value is not None}
    return load_config({"embedding": written}).embedder(**chosen)
