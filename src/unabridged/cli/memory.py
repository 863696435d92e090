"""``unabridged memory``: a dataset of artifacts, entities and facts, from the shell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unabridged.cli import memory_forget, memory_keep
from unabridged.cli.console import note, put
from unabridged.cli.memory_options import (
    Config,
    Dataset,
    Json,
    Metadata,
    Model,
    Uri,
    chosen_embedder,
    opened,
    pairs,
    place,
    storage,
)
from unabridged.cli.memory_print import as_data, lines, show, shown
from unabridged.cli.naming import option_of
from unabridged.errors import InputError, NotFound

if TYPE_CHECKING:
    from unabridged.memory import Memory

__all__ = ["app", "register"]

app = typer.Typer(no_args_is_help=True, help="Keep texts, facts and where each came from.")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="memory")


@app.command("init")
def _init(
    uri: Uri = None,
    dataset: Dataset = "default",
    vector_type: Annotated[Literal["float32", "float16"], typer.Option(help="How vectors are stored.")] = "float32",
) -> None:
    """Make a dataset, or find the one that is there.

    ```
    unabridged memory init --uri ./memory
    ```
    """
    with opened(uri, dataset, create=True, vector_type=vector_type) as memory:
        put(f"{memory.info.id}  {place(uri)}\n")


@app.command("add")
def _add(
    paths: Annotated[list[str] | None, typer.Argument(help="Files, or - for standard input.")] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", help="A text itself; may be repeated.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="knowledge (default) or memory.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="The session it belongs to.")] = None,
    valid_at: Annotated[str | None, typer.Option("--valid-at", help="When it was true, in ISO 8601.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="Its identity outside; a file's path is.")] = None,
    metadata: Metadata = None,
    chunk: Annotated[bool, typer.Option("--chunk/--no-chunk", help="Cut what is longer than --max-tokens.")] = True,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=32, help="Largest chunk.")] = 1024,
    config: Config = None,
    model: Model = None,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Store texts as they are: one artifact each, and its chunks. With --model or --config, with vectors.

    ```
    unabridged memory add notes.md --session monday
    unabridged memory add --text "Alice works at Acme" --metadata user=alice
    ```
    """
    texts = [(each, source) for each in text or ()]
    texts += [(_read(path), source or (None if path == "-" else path)) for path in paths or ()]
    if not texts:
        raise InputError("nothing to add: name files, - or --text")
    for each, origin in texts:
        if not each.strip():
            raise InputError(f"{origin or 'a text'} is empty or blank; nothing was added")
    given: dict[str, Any] = {"kind": kind, "session_id": session, "valid_at": valid_at, "metadata": pairs(metadata)}
    with opened(uri, dataset, config=config, create=True, embedder=chosen_embedder(config, model)) as memory:
        made = [
            memory.add(each, source=origin, chunks=_chunks(each, max_tokens) if chunk else (), **given)
            for each, origin in texts
        ]
        if memory.embedder is None:
            note("stored without vectors: --model or --config gives them, now or later")
    show(made) if as_json else lines(made)


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    from unabridged.text.documents import read_document

    return read_document(Path(path)).text


def _chunks(text: str, max_tokens: int) -> Any:
    """Chunks, for what does not fit one (SPEC C1)."""
    from unabridged.text.segmenters import split

    found = split(text, max_tokens=max_tokens, overlap_tokens=max_tokens // 5)
    return found if len(found) > 1 else ()


@app.command("list")
def _list(
    what: Annotated[
        Literal["artifacts", "entities", "edges", "sessions", "series", "images", "snapshots", "datasets"],
        typer.Argument(help="What to list."),
    ] = "artifacts",
    kind: Annotated[str | None, typer.Option("--kind", help="Artifacts of a kind.")] = None,
    role: Annotated[str | None, typer.Option("--role", help="document, chunk, summary …")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Of a session.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="Artifacts of a source.")] = None,
    entity_type: Annotated[str | None, typer.Option("--type", help="Entities of a type.")] = None,
    metadata: Metadata = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Facts that were true then.")] = None,
    known_at: Annotated[str | None, typer.Option("--known-at", help="Facts as the memory knew them then.")] = None,
    history: Annotated[bool, typer.Option("--history", help="Facts that ended, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Records of a page.")] = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Go on after a page.")] = None,
    newest: Annotated[bool, typer.Option("--newest", help="Newest first.")] = False,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """List a page of what is stored.

    ```
    unabridged memory list --session monday
    unabridged memory list edges --as-of 2024-01-01
    ```
    """
    if what == "datasets":
        from unabridged.memory import Memory

        found = Memory.datasets(place(uri), **storage(uri))
        show(found) if as_json else lines(found)
        return
    memory = opened(uri, dataset, read_only=True)
    if what == "snapshots":
        show(memory.snapshots()) if as_json else lines(memory.snapshots())
        return
    wanted: dict[str, Any] = {"kind": kind, "role": role, "session_id": session, "source": source, "type": entity_type}
    wanted |= {"metadata": pairs(metadata), "as_of": as_of, "known_at": known_at, "include_history": history or None}
    given = {name: value for name, value in wanted.items() if value is not None}
    if wrong := sorted(given.keys() - _FILTERS[what]):
        raise InputError(f"{what} cannot be filtered by {', '.join(map(option_of, wrong))}")
    page = getattr(memory, what).list(**given, limit=limit, cursor=cursor, newest_first=newest)
    show({"items": page.items, "cursor": page.cursor}) if as_json else lines(page)
    if page.cursor and not as_json:
        note(f"more: --cursor {page.cursor}")


_FILTERS = {
    "artifacts": {"kind", "role", "session_id", "source", "metadata"},
    "entities": {"type", "session_id", "metadata"},
    "edges": {"session_id", "as_of", "known_at", "include_history"},
    "sessions": {"metadata"},
    "series": {"session_id", "metadata"},
    "images": {"session_id", "metadata"},
}


@app.command("show", no_args_is_help=True)
def _show(
    record: Annotated[str, typer.Argument(help="The id of anything that `list` lists.")],
    span: Annotated[str | None, typer.Option("--bytes", help="Only the bytes A:B of an artifact's text.")] = None,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Show one record, and what it rests on or contributes.

    ```
    unabridged memory show 01a22b3a56ef00049e0409763c8adbd3 --bytes 120:180
    ```
    """
    from unabridged.memory.forgetting import kinds_of

    memory = opened(uri, dataset, read_only=True)
    if span is not None:
        put(memory.slice(record, *_span(span)) + "\n")
        return
    kind = kinds_of(memory.source, [record]).get(record)
    if kind is None:
        raise NotFound("nothing of that id is in the dataset")
    found = getattr(memory, kind).get(record)
    around = _around(memory, kind, found)
    if as_json:
        show({**as_data(found), **{name: as_data(each) for name, each in around.items()}})
        return
    put(f"{shown(found)}\n")
    if kind == "artifacts":
        put(f"\n{found.text}\n")
    lines((*around.get("entities", ()), *around.get("edges", ())))
    for each in around.get("evidence", ()):
        put(f"  {each.artifact.id}  {each.link.start}:{each.link.end}  {each.quote or ''}".rstrip() + "\n")


def _around(memory: Memory, kind: str, found: Any) -> dict[str, Any]:
    """What an artifact contributes, what a fact or an entity rests on."""
    if kind == "artifacts":
        made = memory.contribution(found)
        return {"entities": made.entities, "edges": made.edges}
    return {"evidence": memory.evidence(found)} if kind in {"entities", "edges"} else {}


def _span(given: str) -> tuple[int, int]:
    start, mark, end = given.partition(":")
    if not mark or not start.isdigit() or not end.isdigit():
        raise InputError(f"--bytes: found {given!r}, expected A:B, such as 120:180")
    return int(start), int(end)


memory_forget.register(app)  # in the order in which help lists them
memory_keep.register(app)
