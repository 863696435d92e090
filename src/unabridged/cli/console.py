"""What people read: notes, warnings and errors on stderr, results on stdout."""

from __future__ import annotations

import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from unabridged.advice import counted, worded
from unabridged.cli.advice import WORDS
from unabridged.cli.naming import by_option
from unabridged.errors import ConfigError, UnabridgedError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ReaderGone", "called", "in_words", "note", "number", "plural", "put", "reveal", "seconds", "story", "warn"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PACKAGE = Path(__file__).parents[1]
_LONG = re.compile(r"\S{300,}")  # a value without an end, that no path is as long as
_ERRNO = re.compile(r"\[Errno -?\d+\] ")  # a number that tells a reader nothing
_said: set[str] = set()


@dataclass(slots=True)
class _State:
    """Whether errors come with their traceback; the program and what it was called with, to tell of its options."""

    debug: bool = False
    command: Any = None
    args: Sequence[str] = ()


_state = _State()


class ReaderGone(Exception):
    """Who read our output has gone, as ``head`` does."""


def reveal(debug: bool) -> None:
    """Whether errors come with their traceback."""
    _state.debug = debug
    _said.clear()


def called(command: Any, args: Sequence[str]) -> None:
    """The program and what it was called with: errors tell of its options."""
    _state.command, _state.args = command, args


def note(line: str) -> None:
    """A line on stderr."""
    typer.echo(_plain(line), err=True)


def warn(line: str) -> None:
    """A warning, once, on stderr."""
    if line not in _said:
        _said.add(line)
        typer.secho(f"warning: {_plain(line)}", fg="yellow", err=True)


def story(error: BaseException | str) -> None:
    """An error in one line (one for each problem of a configuration), or all of it with ``--debug``."""
    if isinstance(error, BaseException) and _state.debug:
        traceback.print_exception(error)
        return
    said = error if isinstance(error, str) else in_words(error)
    for line in said.split("\n") if isinstance(error, ConfigError) else [said.replace("\n", "\\n")]:
        typer.secho(f"error: {_plain(line)}", fg="red", err=True)
    for line in getattr(error, "__notes__", ()):
        note(line)


def put(text: str) -> None:
    """Text on stdout, as UTF-8 whatever the terminal says it takes."""
    out = sys.stdout
    try:
        if hasattr(out, "buffer"):
            out.flush()
            out.buffer.write(text.encode("utf-8", "replace"))
            out.buffer.flush()
        else:
            out.write(text)
    except BrokenPipeError:
        raise ReaderGone from None


def number(value: float) -> str:
    """A number with its thousands apart.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{value:,.0f}"


def plural(count: int, word: str) -> str:
    """A count with its noun.

    >>> plural(1, "text"), plural(2500, "text")
    ('1 text', '2,500 texts')
    """
    return counted(count, word)


def seconds(value: float) -> str:
    """A duration as people say it.

    >>> seconds(0.214), seconds(75), seconds(7384)
    ('0.2 s', '1:15', '2:03:04')
    """
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _plain(line: str) -> str:
    """A file's name may hold what a terminal would obey; and nobody reads a word of a thousand letters."""
    line = _CONTROLS.sub(lambda letter: f"\\x{ord(letter[0]):02x}", line)
    return _LONG.sub(lambda word: f"{word[0][:60]}…{word[0][-20:]}", line)


def in_words(error: BaseException) -> str:
    """Our own errors speak for themselves; of others, the text may be anyone's: only kind and place."""
    if isinstance(error, UnabridgedError):
        said = _ERRNO.sub("", worded(error, WORDS))
        return said if _state.command is None else by_option(said, _state.command, _state.args)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "out of memory; embed fewer or smaller files at once"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(_PACKAGE)]
    place = f" in {Path(frames[-1].filename).relative_to(_PACKAGE.parent)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}, a fault of ours: 'unabridged --debug …' shows it, please report it"
