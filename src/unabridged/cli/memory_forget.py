"""``unabridged memory``: letting go: of records, of facts that are wrong or over, of all that somebody ever said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unabridged.cli.console import plural, put
from unabridged.cli.memory_options import Dataset, Json, Metadata, Uri, Yes, confirm, opened, pairs
from unabridged.cli.memory_print import show, shown
from unabridged.errors import InputError

if TYPE_CHECKING:
    from unabridged.memory.deletion import Deletion

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("delete", no_args_is_help=True)(_delete)
    app.command("withdraw", no_args_is_help=True)(_withdraw)
    app.command("end", no_args_is_help=True)(_end)
    app.command("erase")(_erase)


def _delete(
    ids: Annotated[list[str], typer.Argument(help="Ids of artifacts, entities, facts, series or images.")],
    unsupported: Annotated[
        Literal["delete", "keep"], typer.Option(help="What becomes of facts that lose their last source.")
    ] = "delete",
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Delete records by their ids; nothing where one of them is not there.

    An artifact goes with what hangs from it and what only it supports. A fact or an entity is withdrawn, and the
    texts stay: see `withdraw`, and `end` for a fact that was true. A series goes with its points, an image with its
    file. A session is erased: see `erase`.

    ```
    unabridged memory delete 01a22b3a56ef00049e0409763c8adbd3
    ```
    """
    with opened(uri, dataset) as memory:
        done = memory.forget(ids, unsupported=unsupported)
    show(done) if as_json else put(f"deleted {_counts(done)}\n")


def _withdraw(
    ids: Annotated[list[str], typer.Argument(help="Ids of facts and entities.")],
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Take facts, and entities with the facts at them, back as if they had never been read; the texts stay.

    What a withdrawn fact had ended is open again. A fact that was true and is no longer is not withdrawn: `end` it.

    ```
    unabridged memory withdraw 01a22b3a56ef00049e0409763c8adbd3
    ```
    """
    from unabridged.memory.forgetting import kinds_of

    with opened(uri, dataset) as memory:
        kinds = kinds_of(memory.source, ids)
        if wrong := [each for each in ids if kinds.get(each, "edges") not in {"entities", "edges"}]:
            raise InputError(f"{plural(len(wrong), 'id')} of neither facts nor entities: `delete` takes any")
        entities = [each for each in ids if kinds.get(each) == "entities"]
        done = memory.withdraw(entities=entities, edges=[each for each in ids if each not in entities])
    show(done) if as_json else put(f"withdrew {_counts(done)}\n")


def _counts(done: Deletion) -> str:
    """What went, by kind, and what is open again."""
    entities = f"{len(done.entities):,} {'entity' if len(done.entities) == 1 else 'entities'}"
    parts = [plural(len(done.artifacts), "artifact"), plural(len(done.edges), "fact"), entities]
    parts += [f"{len(done.series):,} series"] if done.series else []
    parts += [plural(len(done.images), "image")] if done.images else []
    return f"{', '.join(parts)}; {plural(len(done.reopened), 'fact')} open again"


def _end(
    fact: Annotated[str, typer.Argument(help="The id of a fact.")],
    text: Annotated[str | None, typer.Option("--text", "-t", help="What says so; it is stored.")] = None,
    artifact: Annotated[str | None, typer.Option("--artifact", help="The id of the artifact that says so.")] = None,
    at: Annotated[str | None, typer.Option("--at", help="When it ended, in ISO 8601; now, if not given.")] = None,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Say that a fact has ended: it stays, with its end, and so does what says so. Deleting that opens it again.

    ```
    unabridged memory end 01a22b3a56ef00049e0409763c8adbd3 --text "Alice left Acme in May." --at 2024-05-31
    ```
    """
    if (text is None) == (artifact is None):
        raise InputError("name what says so, with either --text or --artifact: the end of a fact has a source, too")
    with opened(uri, dataset) as memory:
        ended = memory.end(fact, at=at, text=text, artifact=artifact)
    show(ended) if as_json else put(f"{shown(ended)}\n")


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
    if not any(value is not None for value in given.values()):
        raise InputError("name what to erase: --session, --source or --metadata; several must all be met")
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
