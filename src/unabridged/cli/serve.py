"""``unabridged serve``: the gateway, the memory's HTTP API, MCP and the page; and the keys that open it."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from unabridged.cli.console import note, number, put
from unabridged.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from unabridged.config import Config
    from unabridged.server.keys import Key
    from unabridged.server.limits import Use
    from unabridged.server.settings import ServerSettings

__all__ = ["register"]

_serve = typer.Typer()
_keys = typer.Typer(no_args_is_help=True, help="The keys that open the server.")
_serve.add_typer(_keys, name="keys")

_Config = Annotated[str | None, typer.Option("--config", "-c", envvar="UNABRIDGED_CONFIG", help="A plugin JSON.")]
_KeysFile = Annotated[str | None, typer.Option("--keys-file", help="Where keys are kept; default: the user's folder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_serve, name="serve")


@_serve.callback(invoke_without_command=True)
def _run(
    context: typer.Context,
    config: _Config = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="PROVIDER/MODEL instead of the file's.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Where the model's endpoint is.")] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65535, help="Port (8080); 0: a free one.")
    ] = None,
    uri: Annotated[
        str | None,
        typer.Option("--memory", "--uri", "-u", envvar="UNABRIDGED_MEMORY", help="Folder or URI of the memory."),
    ] = None,
    keys_file: _KeysFile = None,
) -> None:
    """Serve embeddings for text of any length, and the memory, over HTTP, until Ctrl-C.

    Without a configuration: the embedded model, on loopback, without keys.

    ```
    unabridged serve
    unabridged serve --config plugin.json --host 0.0.0.0
    unabridged serve keys add my-app
    ```
    """
    if context.invoked_subcommand is not None:
        return
    _needs_extra()
    from unabridged.server.run import listen, serve

    found = _loaded(config, uri)
    if model is not None or base_url is not None:
        found = found.with_model(model=model, base_url=base_url)
    settings = _settings(found, host=host, port=port, keys_file=keys_file)
    socket = listen(settings)
    try:
        serve(found, settings, socket, told=note)
    finally:
        socket.close()
    note("stopped")


@_keys.command("add")
def _add(
    name: Annotated[str, typer.Argument(help="Whom or what it is for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="What it may do; may be repeated. embed (default): the gateway's embeddings, nothing of the memory; "
            "read: recall, list, export; write: remember and delete, and read; admin: all, and make and drop datasets.",
        ),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="A dataset it reaches, or a pattern (team-*); may be repeated; default all."),
    ] = None,
    requests_per_minute: Annotated[
        int | None, typer.Option("--requests-per-minute", min=1, help="Requests a minute, at the most.")
    ] = None,
    tokens_per_minute: Annotated[
        int | None, typer.Option("--tokens-per-minute", min=1, help="Tokens a minute, at the most.")
    ] = None,
    tokens_per_month: Annotated[
        int | None, typer.Option("--tokens-per-month", min=1, help="Tokens a calendar month, at the most.")
    ] = None,
    days: Annotated[int | None, typer.Option("--days", min=1, help="Days until it expires.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Revoke the key that has the name already.")] = False,
    config: _Config = None,
    keys_file: _KeysFile = None,
) -> None:
    """Make a key, and say what it may do. It is shown once, on standard output; what is kept is a hash.

    Without `--scope` it may embed, and nothing else. A name that a key has already needs `--replace`.

    ```
    unabridged serve keys add my-app --requests-per-minute 600
    unabridged serve keys add my-agent --scope embed --scope write --dataset team-a
    ```
    """
    from unabridged.server.keys import KeyFile

    if not name.strip() or not name.isprintable():
        raise InputError("NAME: expected a printable name")
    expires = None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    path = _settings(_loaded(config), keys_file=keys_file).keys_path
    key, shown = KeyFile(path).add(
        name,
        replace=replace,
        scopes=tuple(scope) if scope else None,
        datasets=tuple(dataset) if dataset else None,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        tokens_per_month=tokens_per_month,
        expires_at=expires,
    )
    put(f"{shown}\n")
    note(f"key {key.id} for {key.name}: {_rights(key)}")
    note(f"shown this once, kept as a hash in {path}")


def _rights(key: Key) -> str:
    """What a key may do, where, how much and how long, in words."""
    several = "s" if len(key.datasets) > 1 else ""
    reach = "every dataset" if "*" in key.datasets else f"the dataset{several} {', '.join(key.datasets)}"
    only_gateway = key.scopes == ("embed",)
    told = [f"may {' and '.join(key.scopes)}" + (" only (--scope gives more)" if only_gateway else f" in {reach}")]
    told.append(_limits(key))
    told.append(f"until {key.expires_at}" if key.expires_at else "until it is revoked")
    return "; ".join(told)


def _limits(key: Key) -> str:
    limits = {
        "requests a minute": key.requests_per_minute,
        "tokens a minute": key.tokens_per_minute,
        "tokens a month": key.tokens_per_month,
    }
    bounds = [f"{number(most)} {words}" for words, most in limits.items() if most is not None]
    return ", ".join(bounds) or "the server's limits"


@_keys.command("list")
def _list(
    config: _Config = None,
    keys_file: _KeysFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
) -> None:
    """The keys, their rights and limits, and what each has used this month; never a key itself.

    ```
    unabridged serve keys list
    ```
    """
    from unabridged.server.keys import KeyFile
    from unabridged.server.limits import Use, read_use

    path = _settings(_loaded(config), keys_file=keys_file).keys_path
    keys, use = KeyFile(path).read(), read_use(path.with_name("use.sqlite"))
    if as_json:
        rows = [{**asdict(key), "used": asdict(use.get(key.id, Use()))} for key in keys]
        put(json.dumps([{name: row[name] for name in row if name != "hash"} for row in rows], indent=2) + "\n")
        return
    if not keys:
        note(f"no keys in {path}; `unabridged serve keys add NAME` makes one")
        return
    _table(keys, use)


def _table(keys: tuple[Key, ...], use: dict[str, Use]) -> None:
    from unabridged.server.limits import Use

    heads = ("ID", "NAME", "STATE", "RIGHTS", "DATASETS", "LIMITS", "USED THIS MONTH")
    rows = [heads, *(_row(key, use.get(key.id, Use())) for key in keys)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        put("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def _row(key: Key, used: Use) -> tuple[str, ...]:
    opens = f"until {key.expires_at}" if key.expires_at else "valid"
    state = "revoked" if key.revoked_at else opens if key.is_valid(datetime.now(UTC)) else "expired"
    spent = f"{number(used.requests)} requests, {number(used.tokens)} tokens"
    return (key.id, key.name, state, ",".join(key.scopes), ",".join(key.datasets), _limits(key), spent)


@_keys.command("revoke")
def _revoke(
    key: Annotated[str, typer.Argument(help="The id of a key, or its name where only one has it.")],
    config: _Config = None,
    keys_file: _KeysFile = None,
) -> None:
    """Revoke a key: a running server refuses it within a second.

    ```
    unabridged serve keys revoke my-app
    ```
    """
    from unabridged.server.keys import KeyFile

    revoked = KeyFile(_settings(_loaded(config), keys_file=keys_file).keys_path).revoke(key)
    put(f"{revoked.id}  {revoked.name}  revoked\n")


def _loaded(config: str | None, uri: str | None = None) -> Config:
    from unabridged.config import load_config

    found = load_config(config)
    if uri is None:
        return found
    from dataclasses import replace

    return replace(found, settings=found.settings.model_copy(update={"db_path": uri}))


def _settings(config: Config, **given: object) -> ServerSettings:
    _needs_extra()
    from unabridged.server.settings import ServerSettings

    return ServerSettings.of(config, **given)


def _needs_extra() -> None:
    for package in ("fastapi", "orjson", "uvicorn"):
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(package, "server") from None
