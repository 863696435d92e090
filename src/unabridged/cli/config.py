"""``unabridged config``: what a plugin JSON says, and what it comes to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from unabridged.cli.console import note, put
from unabridged.cli.options import Json  # noqa: TC001 - typer reads annotations as it runs

if TYPE_CHECKING:
    from unabridged.config.explain import Figure

__all__ = ["register"]

_config = typer.Typer(no_args_is_help=True, help="Show, explain and check a plugin JSON.")
_Path = Annotated[
    str | None,
    typer.Argument(
        envvar="UNABRIDGED_CONFIG", help="A plugin JSON, or a folder with a plugin.json; none: the embedded default."
    ),
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
    as_json: Json = False,
) -> None:
    """What is in force, where each of it came from, and what of the file is not used, and why.

    ```
    unabridged config explain plugin.json
    ```
    """
    from unabridged.config import load_config

    found = load_config(path).explain()
    if as_json:
        figures = {f.name: {"value": f.value, "unit": f.unit, "origin": f.origin} for f in found.figures}
        put(json.dumps({"settings": found.settings, "figures": figures, "notes": found.notes}, indent=2) + "\n")
        return
    shown = [(figure.name, _in_words(figure), figure.origin) for figure in found.figures]
    names, values = (max(len(row[at]) for row in shown) for at in (0, 1))
    for name, value, origin in shown:
        put(f"{name:{names}}  {value:{values}}  {origin}\n")
    put("".join(f"note: {line}\n" for line in found.notes))


def _in_words(figure: Figure) -> str:
    if figure.value is None:
        return "–"
    value = f"{figure.value:,}" if isinstance(figure.value, int) else str(figure.value)
    return f"{value} {figure.unit}".rstrip()


@_config.command("check")
def _check(path: _Path = None) -> None:
    """Say what is wrong with a file, a line each; exit 0 if nothing is.

    ```
    unabridged config check plugin.json
    ```
    """
    from unabridged.config import load_config

    found = load_config(path)
    found.check()
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
