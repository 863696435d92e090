"""Writes that are done only while something holds: looked at under the writer's lock, so that nothing comes between.

Who read a record and then changes or deletes it can say so; if another writer was faster, nothing is written.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unabridged.memory.commits import View

    Condition = Callable[[View], None]

__all__ = ["asked", "provided"]

_here = threading.local()


@contextlib.contextmanager
def provided(condition: Condition) -> Iterator[None]:
    """Hold this thread's next commit to a condition, which sees the very state that the commit would follow.

    What it raises is raised by the commit, and nothing is written. ::

        def nobody_was_faster(view):
            if view.head.seq != seen:
                raise Conflict("somebody was faster")

        with provided(nobody_was_faster):
            memory.update(note, metadata={"read": True})
    """
    _here.condition = condition
    try:
        yield
    finally:
        _here.condition = None


def asked() -> Callable[[View], View]:
    """What this thread's next commit looks with at each state that it would follow; asked for once."""
    condition: Condition | None = getattr(_here, "condition", None)
    _here.condition = None

    def look(view: View) -> View:
        if condition is not None:
            condition(view)
        return view

    return look
