"""The command line: ``unabridged embed | chunk | remember | recall | job | serve …``, one file each.

Importing this is cheap; what a command needs is imported when it runs.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main"]

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def main() -> None:
    """Run the program on ``sys.argv`` and exit with its code."""
    with _leaving_at_once():
        from unabridged.cli.app import run
        from unabridged.cli.exits import INTERRUPTED, TERMINATED, drain, leave_now

    try:
        code = drain(run())
    except KeyboardInterrupt:  # before a command has begun, or after it has ended
        _leave()
    if code in (INTERRUPTED, TERMINATED):
        leave_now(code)
    raise SystemExit(code)


@contextmanager
def _leaving_at_once() -> Iterator[None]:
    """Ctrl-C ends the program where it stands, for as long as it has nothing to undo: no import tells a traceback."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # it is ignored, or somebody else's
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _leave(*_: object) -> NoReturn:
    os.write(2, b"interrupted\n")
    os._exit(_INTERRUPTED)
