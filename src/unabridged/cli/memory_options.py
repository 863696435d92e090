"""What the commands of ``unabridged memory`` share: their options, the memory that they open, their words."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.cli.options import Config, Json, Model, Yes
from unabridged.errors import Cancelled, InputError, MissingExtra, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.memory import Memory

__all__ = [
    "Config",
    "Dataset",
    "Json",
    "Metadata",
    "Model",
    "Uri",
    "Yes",
    "chosen_embedder",
    "confirm",
    "named",
    "opened",
    "pairs",
    "place",
    "settings",
    "storage",
]

Uri = Annotated[
    str | None,
    typer.Option(
        "--memory", "--uri", "-u", envvar="UNABRIDGED_MEMORY", help="A folder, or what LanceDB opens (s3://…)."
    ),
]
Dataset = Annotated[str, typer.Option("--dataset", "-d", help="Which dataset of the place.")]
Metadata = Annotated[list[str] | None, typer.Option("--metadata", help="KEY=VALUE; may be repeated.")]


def place(uri: str | None, config: str | None = None) -> str:
    """Where the memory lies: as asked, as the plugin JSON says (``dbPath``), or the user's own folder."""
    if uri:
        return uri
    config = config or os.environ.get("UNABRIDGED_CONFIG")
    if config:
        from unabridged.config import load_config

        if found := load_config(config).db_path:
            return found
    from platformdirs import user_data_dir

    return str(Path(user_data_dir("unabridged")) / "memory")


def settings(uri: str | None, config: str | None = None) -> dict[str, Any]:
    """How the plugin JSON has its memory opened (its store's options, its lock …); of another place it says nothing."""
    config = config or os.environ.get("UNABRIDGED_CONFIG")
    if uri or not config:
        return {}
    from unabridged.config import load_config
    from unabridged.config.build_memory import memory_options

    found = load_config(config)
    return memory_options(found) if found.db_path else {}


def storage(uri: str | None) -> dict[str, Any]:
    """Of these, the store's own options alone."""
    return {name: value for name, value in settings(uri).items() if name == "storage_options"}


def opened(uri: str | None, dataset: str, *, config: str | None = None, create: bool = False, **options: Any) -> Memory:
    """The memory of the options."""
    from unabridged.memory import Memory

    where = place(uri, config)
    with named(where, dataset):
        return Memory.open(where, dataset=dataset, create=create, **{**settings(uri, config), **options})


@contextlib.contextmanager
def named(where: str, dataset: str) -> Iterator[None]:
    """Say of a dataset that is not there which one, where, and how to find those that are."""
    from unabridged.memory.catalog import untouched

    try:
        yield
    except NotFound as error:
        if error.advice != "list_datasets":
            raise
        if untouched(where):
            raise NotFound(
                f"{where}: no such folder; `unabridged memory init` makes one, and a dataset in it"
            ) from None
        shown = f"`unabridged memory list datasets --memory {shlex.quote(where)}` shows those that are"
        raise NotFound(f"no dataset {dataset[:64]!r} is in {where}; {shown}") from None


def chosen_embedder(config: str | None, model: str | None, *, default: bool = False) -> Any:
    """The embedder of the options; ``default``: else the embedded model, where its extra is installed."""
    if model is not None or config:
        from unabridged.config import load_config

        return load_config(config).with_model(model=model).embedder()
    return _embedded() if default else None


def _embedded() -> Any:
    from unabridged.embedding.embedder import Embedder

    with contextlib.suppress(MissingExtra):
        return Embedder()
    return None


def pairs(given: list[str] | None) -> dict[str, Any] | None:
    """KEY=VALUE, where a value that is JSON is taken as that."""
    found = {}
    for each in given or ():
        key, mark, value = each.partition("=")
        if not mark or not key:
            raise InputError("--metadata: expected KEY=VALUE, such as user=alice")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found or None


def confirm(question: str, *, yes: bool) -> None:
    """Ask before what cannot be undone; where nobody can answer, say how to answer beforehand."""
    if yes:
        return
    typer.echo(f"{question} [y/N]: ", nl=False, err=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if not answer:
        typer.echo(err=True)
        raise InputError("this needs a confirmation, and standard input has none: --yes gives it")
    if answer.strip().casefold() not in {"y", "yes"}:
        raise Cancelled("it was not confirmed, and nothing was changed")
