"""``unabridged memory``: a dataset of artifacts, entities and facts, from the shell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unabridged.cli import memory_keep
from unabridged.cli.console import note, plural, put
from unabridged.cli.memory_options import (
    Config,
    Dataset,
    Json,
    Metadata,
    Model,
    Uri,
    Yes,
    chosen_embedder,
    confirm,
    opened,
    pairs,
    place,
)
from unabridged.cli.memory_print import as_data, lines, show, shown
from unabridged.errors import InputError, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.memory import Memory

__all__ = ["app", "register"]

app = typer.Typer(no_args_is_help=True, help="Keep texts, facts and where each came from.")
memory_keep.register(app)


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
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000)] = 50,
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

        found = Memory.datasets(place(uri))
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
        raise InputError(f"{what} cannot be filtered by {', '.join(wrong)}")
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
    record: Annotated[str, typer.Argument(help="The id of an artifact, an entity or an edge.")],
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
    memory = opened(uri, dataset, read_only=True)
    if span is not None:
        put(memory.slice(record, *_span(span)) + "\n")
        return
    kind, found = _found(memory, record)
    if kind == "artifact":
        made = memory.contribution(found)
        data = {**as_data(found), "entities": as_data(made.entities), "edges": as_data(made.edges)}
    else:
        data = {**as_data(found), "evidence": as_data(memory.evidence(found))}
    if as_json:
        show(data)
        return
    put(f"{shown(found)}\n\n{found.text}\n" if kind == "artifact" else f"{shown(found)}\n")
    if kind == "artifact":
        lines((*made.entities, *made.edges))
    for each in () if kind == "artifact" else memory.evidence(found):
        put(f"  {each.artifact.id}  {each.link.start}:{each.link.end}  {each.quote or ''}".rstrip() + "\n")


def _span(given: str) -> tuple[int, int]:
    start, mark, end = given.partition(":")
    if not mark or not start.isdigit() or not end.isdigit():
        raise InputError(f"--bytes: found {given!r}, expected A:B, such as 120:180")
    return int(start), int(end)


def _found(memory: Memory, record: str) -> tuple[str, Any]:
    shelves: dict[str, Callable[[list[str]], list[Any]]] = {
        "artifact": memory.artifacts.many,
        "entity": memory.entities.many,
        "edge": memory.edges.many,
    }
    for kind, many in shelves.items():
        if found := many([record]):
            return kind, found[0]
    raise NotFound("no artifact, entity or edge of that id is in the dataset")


@app.command("delete", no_args_is_help=True)
def _delete(
    ids: Annotated[list[str], typer.Argument(help="Ids of artifacts.")],
    unsupported: Annotated[
        Literal["delete", "keep"], typer.Option(help="What becomes of facts that lose their last source.")
    ] = "delete",
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Delete artifacts and what hangs from them; what others support stays.

    ```
    unabridged memory delete 01a22b3a56ef00049e0409763c8adbd3
    ```
    """
    with opened(uri, dataset) as memory:
        done = memory.delete(ids, unsupported=unsupported)
    if as_json:
        show(done)
        return
    artifacts, facts = plural(len(done.artifacts), "artifact"), plural(len(done.edges), "fact")
    entities = f"{len(done.entities):,} {'entity' if len(done.entities) == 1 else 'entities'}"
    put(f"deleted {artifacts}, {facts}, {entities}; {plural(len(done.reopened), 'fact')} open again\n")


@app.command("erase")
def _erase(
    session: Annotated[str | None, typer.Option("--session", help="All of a session.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="All of a source.")] = None,
    metadata: Metadata = None,
    drop_snapshots: Annotated[bool, typer.Option("--drop-snapshots", help="Let go of snapshots as well.")] = False,
    yes: Yes = False,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Erase a session, a source or a user (by metadata) for good, from every file, and prove it.

    ```
    unabridged memory erase --metadata user=alice --yes
    ```
    """
    given: dict[str, Any] = {"session_id": session, "source": source, "metadata": pairs(metadata)}
    with opened(uri, dataset) as memory:
        confirm("erase for good?", yes=yes)
        done = memory.erase(**given, drop_snapshots=drop_snapshots)
    if as_json:
        show(done)
    else:
        proof = done.proof
        put(f"erased {plural(len(done.deletion.artifacts), 'artifact')}; ")
        put(f"{plural(proof.passages, 'passage')} looked for in {plural(proof.files, 'file')}, ")
        put(f"found {proof.passages_found}\n")
    raise typer.Exit(0 if done.proof.holds else 1)
