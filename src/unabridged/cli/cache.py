"""``unabridged cache``: the vectors that are kept on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unabridged.cli.console import number, plural, put
from unabridged.cli.exits import SOME_FAILED
from unabridged.cli.memory_options import confirm
from unabridged.cli.options import Yes  # noqa: TC001 - typer reads the annotations
from unabridged.errors import InputError

if TYPE_CHECKING:
    from unabridged.embedding.cache import VectorCache

__all__ = ["register"]

_cache = typer.Typer(no_args_is_help=True, help="The vectors that are kept on disk.")
_Folder = Annotated[str | None, typer.Option("--folder", help="A cache folder; none: the user's own.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_cache, name="cache")


def _open(folder: str | None) -> VectorCache:
    from unabridged.embedding.cache import VectorCache

    if folder is not None and not Path(folder).expanduser().is_dir():
        raise InputError(f"--folder: found {folder!r}, expected a folder that is there")
    return VectorCache(folder)


@_cache.command("stats")
def _stats(folder: _Folder = None) -> None:
    """How many vectors there are, and how much room they take.

    ```
    unabridged cache stats
    ```
    """
    with _open(folder) as cache:
        found = cache.stats()
    size, room = found.bytes / 2**20, found.limit_bytes / 2**20
    put(f"{plural(found.entries, 'vector')}, {number(size)} of {number(room)} MiB, in {found.folder}\n")


@_cache.command("clear")
def _clear(
    folder: _Folder = None,
    yes: Yes = False,
) -> None:
    """Remove every vector. What is embedded next is paid for again.

    ```
    unabridged cache clear --yes
    ```
    """
    with _open(folder) as cache:
        confirm(f"remove {plural(cache.stats().entries, 'vector')} from {cache.folder}?", yes=yes)
        put(f"removed {plural(cache.clear(), 'vector')}\n")


@_cache.command("verify")
def _verify(
    folder: _Folder = None,
    repair: Annotated[bool, typer.Option("--repair", help="Remove what is damaged.")] = False,
) -> None:
    """Read every vector and check its sum; exit 1 if one is damaged.

    ```
    unabridged cache verify --repair
    ```
    """
    with _open(folder) as cache:
        whole, damaged = cache.verify()
        put(f"{plural(whole, 'vector')} in order, {number(len(damaged))} damaged\n")
        if damaged and repair:
            put(f"removed {plural(cache.delete(damaged), 'vector')}\n")
        elif damaged:
            raise typer.Exit(SOME_FAILED)
