"""The program: its commands, its exit codes, and how it ends."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.cli import cache, chunk, config, embed, job, mcp, memory, models, recall, remember, serve, sweep
from unabridged.cli.console import ReaderGone, called, note, put, reveal, story, warn
from unabridged.cli.exits import INTERRUPTED, TERMINATED, USAGE, Leave, exit_code
from unabridged.cli.naming import misused

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "run"]

_EXIT_CODES = (
    "Exit codes: 0 done · 1 some texts failed, the rest is written · 2 usage, configuration or input · "
    "3 the provider · 4 disk, or a fault of ours · 130 interrupted. "
    "`unabridged COMMAND --help` has examples."
)

# What --help shows together.
_PANELS = {
    "Vectors": ("embed", "job", "sweep", "chunk", "models", "cache"),
    "Memory": ("remember", "pending", "recall", "query", "memory"),
    "Doors and settings": ("serve", "mcp", "config"),
}

app = typer.Typer(
    name="unabridged",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"unabridged {version('unabridged')}")
        raise typer.Exit


@app.callback(epilog=_EXIT_CODES)
def _root(
    *,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="UNABRIDGED_DEBUG", help="Show the traceback of an error.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the log on stderr.")] = False,
) -> None:
    """Embeddings for text of any length: nothing is cut silently, nothing is paid for twice."""
    reveal(debug)
    if verbose:
        logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stderr)
        logging.getLogger("unabridged").setLevel(logging.INFO)


for _module in (embed, job, sweep, chunk, models, cache, remember, recall, memory, serve, mcp, config):
    _module.register(app)
_info: Any
for _info in (*app.registered_commands, *app.registered_groups):
    _info.rich_help_panel = next(panel for panel, names in _PANELS.items() if _info.name in names)


def run(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; every error is one line on stderr."""
    command: Any = typer.main.get_command(app)
    args = sys.argv[1:] if args is None else args
    called(command, args)
    try:
        with _polite():
            return _ended(command.main(args, prog_name="unabridged", standalone_mode=False))
    except (typer.Abort, KeyboardInterrupt):
        return _ended(INTERRUPTED)
    except Leave as leave:
        return leave.code
    except ReaderGone:
        sys.stdout = None  # nothing may be flushed into it at exit
        return 0
    except Exception as error:  # noqa: BLE001
        if hasattr(error, "format_message"):  # click's own, which typer may bring along under another name
            return _misused(error, command, args)
        story(error)
        return exit_code(error)


def _ended(code: object) -> int:
    """The code that a command came back with; newer versions of typer turn Ctrl-C into one."""
    if code == INTERRUPTED:
        note("interrupted: nothing half-written is left; what was embedded is in the cache, if there is one")
    return code if isinstance(code, int) else 0


def _misused(error: Any, command: Any, args: Sequence[str]) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help, where it was not shown already
        message = error.format_message()
        put(f"{message}\n" if message else "")
        return USAGE
    story(misused(error, command, args))
    return USAGE


class _polite:  # noqa: N801
    """Warnings as one line each, once; SIGTERM as an exception."""

    def __enter__(self) -> None:
        self._show = warnings.showwarning
        self._old = None
        warnings.showwarning = lambda message, *_, **__: warn(str(message))
        if threading.current_thread() is threading.main_thread():
            self._old = signal.signal(signal.SIGTERM, _terminate)

    def __exit__(self, *_: object) -> None:
        warnings.showwarning = self._show
        if self._old is not None:
            signal.signal(signal.SIGTERM, self._old)


def _terminate(*_: object) -> None:
    raise Leave(TERMINATED)
