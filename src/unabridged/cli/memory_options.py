"""What the commands of ``unabridged memory`` share: their options, and the memory that they open."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.errors import InputError, MissingExtra

if TYPE_CHECKING:
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
    "opened",
    "pairs",
    "place",
]

Uri = Annotated[
    str | None,
    typer.Option(
        "--memory", "--uri", "-u", envvar="UNABRIDGED_MEMORY", help="A folder, or what LanceDB opens (s3://…)."
    ),
]
Dataset = Annotated[str, typer.Option("--dataset", "-d", help="Which dataset of the place.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Config = Annotated[str | None, typer.Option("--config", "-c", envvar="UNABRIDGED_CONFIG", help="A plugin JSON.")]
Model = Annotated[str | None, typer.Option("--model", "-m", help="PROVIDER/MODEL that gives the vectors.")]
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


def opened(uri: str | None, dataset: str, *, config: str | None = None, create: bool = False, **options: Any) -> Memory:
    """The memory of the options."""
    from unabridged.memory import Memory

    return Memory.open(place(uri, config), dataset=dataset, create=create, **options)


def chosen_embedder(config: str | None, model: str | None, *, default: bool = False) -> Any:
    """The embedder of the options; ``default``: else the embedded model, where its extra is installed."""
    if model:
        from unabridged.embedding.embedder import Embedder

        return Embedder(model)
    if config:
        from unabridged.config import load_config

        return load_config(config).embedder()
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
    """Ask before what cannot be undone."""
    if not yes:
        typer.confirm(question, abort=True, err=True)
