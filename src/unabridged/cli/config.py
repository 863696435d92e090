"""``unabridged config``: what a plugin JSON says, and what it comes to."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from unabridged.cli.console import note, put

__all__ = ["register"]

_config = typer.Typer(no_args_is_help=True, help="Show, explain and check a plugin JSON.")
_Path = Annotated[
    str | None,
    typer.Argument(help="A plugin JSON, or a folder with a plugin.json; none: the embedded default."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_config, name="config")


@_config.command("show")
def _show(path: _Path = None) -> None:
    """The settings in force as JSON, secrets masked.

    ```
    unabridged config show plugin.json
    ```
    """
    from unabridged.config import load_config
    from unabridged.config.explain import masked

    put(json.dumps(masked(load_config(path)), indent=2, ensure_ascii=False) + "\n")


@_config.command("explain")
def _explain(
    path: _Path = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """The numbers in force for the model, and where each came from.

    ```
    unabridged config explain plugin.json
    ```
    """
    from unabridged.config import load_config

    found = load_config(path).explain()
    if as_json:
        figures = {f.name: {"value": f.value, "origin": f.origin} for f in found.figures}
        put(json.dumps({"settings": found.settings, "figures": figures, "notes": found.notes}, indent=2) + "\n")
        return
    width = max(len(figure.name) for figure in found.figures)
    shown = [
        (
            f.name,
            "–" if f.value is None else f"{f.value:,}" if isinstance(f.value, int) else str(f.value),
            f.origin,
        )
        for f in found.figures
    ]
    values = max(len(value) for _, value, _ in shown)
    for name, value, origin in shown:
        put(f"{name:{width}}  {value:{values}}  {origin}\n")
    for line in found.notes:
        note(f"note: {line}")


@_config.command("check")
def _check(path: _Path = None) -> None:
    """Say what is wrong with a file, a line each; exit 0 if nothing is.

    ```
    unabridged config check plugin.json
    ```
    """
    from unabridged.config import load_config

    found = load_config(path)
    found.explain()
    for line in found.notes:
        note(f"note: {line}")
    put(f"{path or 'the embedded default'}: in order\n")


@_config.command("schema")
def _schema() -> None:
    """The JSON Schema of a configuration, for editors.

    ```
    unabridged config schema > unabridged.schema.json
    ```
    """
    from unabridged.config.schema import schema_text

    put(schema_text())
