"""``unabridged mcp``: the memory as tools for an agent, over standard input and output."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from unabridged.cli.memory_options import Config, Model, Uri, place

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp")(_mcp)


def _mcp(
    uri: Uri = None,
    config: Config = None,
    model: Model = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="The dataset that all tools mean, unless told of another.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Recall only: store and forget nothing.")] = False,
) -> None:
    """Serve the memory to an agent: tools and resources of the Model Context Protocol, over stdio.

    Put it into the agent's settings as a command; it runs as long as the agent does.

    ```
    unabridged mcp --uri ~/memory
    unabridged mcp --dataset project-x
    claude mcp add memory -- unabridged mcp
    ```
    """
    from unabridged.config import load_config
    from unabridged.mcp import run_stdio

    loaded = load_config(config) if config else load_config()
    loaded = loaded.with_model(model=model) if model else loaded
    settings = loaded.settings.model_copy(update={"db_path": place(uri, config)})
    run_stdio(replace(loaded, settings=settings), dataset=dataset, read_only=read_only)
