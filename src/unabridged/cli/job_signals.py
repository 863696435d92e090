"""The first Ctrl-C, or SIGTERM, asks a job to end: what is under way comes back and is kept. The second ends it now."""

from __future__ import annotations

import contextlib
import enum
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from unabridged.cli.console import note
from unabridged.cli.exits import INTERRUPTED, TERMINATED, Leave, leave_now

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Asked", "Ending", "asked_to_end"]


class Asked(enum.IntEnum):
    """Who asked."""

    INTERRUPT = signal.SIGINT
    TERMINATE = signal.SIGTERM


@dataclass(slots=True)
class Ending:
    """The event that a job looks at, and who set it."""

    event: threading.Event = field(default_factory=threading.Event)
    by: Asked | None = None

    def leave(self, error: Exception) -> NoReturn:
        """What a job raised; where a signal brought it about, it is told, and the code is the signal's."""
        if self.by is None:
            raise error
        note(str(error))
        raise Leave(INTERRUPTED if self.by == Asked.INTERRUPT else TERMINATED) from None


@contextlib.contextmanager
def asked_to_end() -> Iterator[Ending]:
    """While the block runs, a signal asks; outside the main thread there is none to ask."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return

    def ask(number: int, _: object) -> None:
        if ending.by is not None:
            leave_now(INTERRUPTED if number == signal.SIGINT else TERMINATED)
        ending.by = Asked(number)
        ending.event.set()
        note("ending: what is under way is waited for, so that it is not paid twice; again to end at once")

    before = {each: signal.signal(each, ask) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ending
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
