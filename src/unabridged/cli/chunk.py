"""``unabridged chunk``: how a text would be cut, before anything is spent."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.cli.console import note, number, plural, put
from unabridged.cli.exits import SOME_FAILED
from unabridged.cli.options import Encoding  # noqa: TC001 - typer reads annotations as it runs
from unabridged.errors import ConfigError, InputError, SegmentFallback, SettingCorrected
from unabridged.jobs.lines import json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unabridged.cli.inputs import Text
    from unabridged.text.documents import Document
    from unabridged.types import ChunkSet

__all__ = ["register"]

_WITH_PLACES = frozenset({".pdf", ".docx", ".docm", ".epub"})
_METHOD = "paragraph"
_DEFAULTS = {"max_tokens": 1200, "overlap_tokens": 0, "min_tokens": 0}  # SPEC S2
_SHOWN = 72  # characters of a chunk's beginning and of its end


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("chunk", no_args_is_help=True)(_chunk)


def _chunk(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files, folders, patterns, or - for standard input.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", help="A text itself; may be repeated.")] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Cut as embed does for PROVIDER/MODEL; local is its default."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="fixed, paragraph, sentence, recursive, structural, page, semantic, contextual or proposition "
            "(default: paragraph; with --model the plain cut of embed).",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=1, help="Largest chunk (default: 1,200; with --model 70 % of its limit)."),
    ] = None,
    overlap_tokens: Annotated[
        int | None,
        typer.Option(
            "--overlap-tokens", min=0, help="Shared with the chunk before (default: 0; with --model 5 % of its limit)."
        ),
    ] = None,
    min_tokens: Annotated[
        int | None,
        typer.Option(
            "--min-tokens",
            min=0,
            help="Smaller chunks are merged where they fit (default: 0; with --model 10 % of its limit).",
        ),
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="estimate (default), characters, cl100k_base, …")
    ] = None,
    encoding: Encoding = None,
    compare: Annotated[
        str | None, typer.Option("--compare", help="Methods beside each other, by commas: fixed,paragraph.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the comparison to this SVG file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON a chunk, with its whole text.")] = False,
) -> None:
    """Show how texts would be cut: a preview of each chunk, and statistics.

    Without `--model` a segmenter cuts, in chunks of 1,200 tokens; with it, texts are cut as `embed` would for that
    model: only those over its limit, in chunks that suit it.

    ```
    unabridged chunk book.md --model local
    unabridged chunk book.md --max-tokens 500 --overlap-tokens 50
    unabridged chunk server.log --method sentence --json
    unabridged chunk book.md --compare fixed,paragraph,structural --plot cuts.svg
    ```
    """
    from unabridged.cli.compare import compare_methods
    from unabridged.cli.inputs import gather

    if plot is not None and (plot.is_dir() or not plot.parent.is_dir()):
        raise InputError(f"--plot: found {str(plot)!r}, expected a file in a folder that is there")
    if model is not None and (compare or plot or tokenizer):
        other = "--compare" if compare else "--plot" if plot else "--tokenizer"
        raise ConfigError("--model", f"cuts as embed does, so {other} has no place beside it; leave one of them out")
    given = {"max_tokens": max_tokens, "overlap_tokens": overlap_tokens, "min_tokens": min_tokens}
    sizes = {**_DEFAULTS, **{name: size for name, size in given.items() if size is not None}}
    cutter = _segmenter(method, sizes, tokenizer) if model is None else _as_embedded(model, method, given)
    failed = drawn = 0
    inputs = gather(paths or [], text or [], encoding=encoding)
    for batch in inputs.batches():
        for one in batch:
            if one.error is not None:
                note(f"error: {one.id}: {one.error}")
                failed += 1
                continue
            if compare or plot:
                methods = [part for part in (compare or method or _METHOD).replace(",", " ").split() if part]
                drawn += 1
                picture = plot if plot is None or len(inputs) == 1 else plot.with_stem(f"{plot.stem}-{drawn}")
                compare_methods(one.id, _source(one), methods, picture, tokenizer=tokenizer, **sizes)
                continue
            made = cutter.cut(one)
            _as_json(one, made) if as_json else _preview(one, made, cutter.why)
            for line in dict.fromkeys(made.warnings):
                note(f"warning: {line}")
    if failed:
        raise typer.Exit(SOME_FAILED)


@dataclass(frozen=True, slots=True)
class _Cutter:
    """What cuts a text, and why in such chunks."""

    cut: Callable[[Text], ChunkSet]
    why: str


def _segmenter(method: str | None, sizes: Mapping[str, int], tokenizer: str | None) -> _Cutter:
    """A segmenter, with what was given or its own defaults; sizes that contradict each other are refused (SPEC L6)."""
    from unabridged.embedding.plan import Chunking
    from unabridged.text.segmenters import split

    Chunking(**sizes)  # type: ignore[arg-type]

    def cut(one: Text) -> ChunkSet:
        with warnings.catch_warnings():
            for kind in (SettingCorrected, SegmentFallback):
                warnings.simplefilter("ignore", kind)  # each is in the chunk set, and printed by whoever asked
            return split(_source(one), method=method or _METHOD, tokenizer=tokenizer, **sizes)

    ours = sizes["max_tokens"] == _DEFAULTS["max_tokens"]
    return _Cutter(cut, "; --model MODEL shows what embed does" if ours else "")


def _as_embedded(model: str, method: str | None, sizes: Mapping[str, int | None]) -> _Cutter:
    """The cut of ``embed`` for a model. Nothing is sent, so a key that is missing is not missed."""
    from unabridged.config import load_config
    from unabridged.embedding.plan import Chunking

    options = {"chunking": Chunking(**sizes, method=method), "cache": False}  # type: ignore[arg-type]
    try:
        embedder = load_config().with_model(model=model).embedder(**options)
    except ConfigError as error:
        if error.advice != "api_key":
            raise
        embedder = load_config({"embedding": {"model": model, "apiKey": "none-is-needed"}}).embedder(**options)
    return _Cutter(lambda one: embedder.preview(one.text), f", as embed does for {model}")


def _source(one: Text) -> str | Document:
    """What a segmenter is given: a file whose format has pages or headings as a document, the rest as text."""
    if one.path is None or one.path.suffix.lower() not in _WITH_PLACES:
        return one.text
    from unabridged.text.documents import read_document

    return read_document(one.path)


def _as_json(one: Text, made: ChunkSet) -> None:
    for chunk in made:
        row: dict[str, Any] = {
            "id": one.id,
            "chunk": chunk.index,
            "start": chunk.start,
            "end": chunk.end,
            "start_byte": chunk.start_byte,
            "end_byte": chunk.end_byte,
            "tokens": chunk.tokens,
            "overlap_tokens": chunk.overlap_tokens,
            "section": chunk.section,
            "page": chunk.page,
            "text": chunk.text.encode("utf-8", "replace").decode(),
        }
        put(json_line({k: v for k, v in row.items() if v is not None}))


def _preview(one: Text, made: ChunkSet, why: str) -> None:
    from unabridged.text.stats import chunk_stats

    put(f"{one.id}: {plural(len(made), 'chunk')} by {made.method}, {_cap(made)}{why}\n")
    for chunk in made:
        shared = f" (+{chunk.overlap_tokens} shared)" if chunk.overlap_tokens else ""
        put(
            f"  {chunk.index + 1:>4}  {chunk.start:>9,}–{chunk.end:<9,} {chunk.tokens:>6,} tokens{shared}  {_ends(chunk.text)}\n"  # noqa: E501
        )
    if len(made) > 1:
        row = chunk_stats(made)
        put(
            f"  tokens: {number(row.total_tokens)} in all; smallest {number(row.min)}, median "
            f"{number(row.median)}, mean {number(row.mean)}, largest {number(row.max)}\n"
        )


def _cap(made: ChunkSet) -> str:
    """How large a chunk may be, and for a model from where on a text is cut."""
    if not made.cap:
        return "never cut, at any length"
    unit = made.extra.get("unit", "tokens")
    limit = made.extra.get("limit")
    return f"cap {number(made.cap)} {unit}" + (f" for texts over the limit of {number(limit)}" if limit else "")


def _ends(text: str) -> str:
    """How a chunk begins and ends, on one line."""
    words = " ".join(text.split())
    words = "".join(c if c.isprintable() else "·" for c in words)
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN * 2 // 3]} … {words[-_SHOWN // 3 :]}"
