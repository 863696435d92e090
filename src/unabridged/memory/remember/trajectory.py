"""What a request did, step by step (SPEC A24): in the order of its story, whatever ran at the same time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Step", "Trajectory"]

ORDER = (
    "chunk_text", "web_search", "extract_graph", "summarize_chunk", "store_parent_artifact",
    "candidates", "resolve", "embed", "store_artifact", "connect_chunks", "store_image",
)  # fmt: skip
BEFORE = 4  # of these, those that come before anything is stored


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``message`` says what and on which chunk, ``detail`` holds its counts, never a text of the user's.

    ``seconds`` is how long it took.
    """

    step: str
    message: str
    seconds: float = 0.0
    detail: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Trajectory:
    """Steps as they happen, given back in the order of A24."""

    def __init__(self) -> None:
        self._steps: list[tuple[tuple[int, int, int], Step]] = []
        self._mutex = threading.Lock()

    def add(self, step: str, message: str, *, unit: int = 0, since: float | None = None, **detail: Any) -> None:
        """Note a step of unit number ``unit``; ``since`` is when it began, on the monotonic clock."""
        seconds = 0.0 if since is None else time.monotonic() - since
        at = ORDER.index(step)
        place = (
            (0, at, 0) if at == 0 else (1, unit, at) if at < BEFORE else (2, 0, 0) if at == BEFORE else (3, unit, at)
        )
        with self._mutex:
            self._steps.append((place, Step(step, message, round(seconds, 6), detail)))

    def steps(self) -> tuple[Step, ...]:
        """Everything, in order."""
        with self._mutex:
            return tuple(step for _, step in sorted(self._steps, key=lambda each: each[0]))
