"""The head of an order: those that say the opposite of what is stated put where they belong."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING

from unabridged.memory.recall.polarity import OPPOSED, opposed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unabridged.memory.recall.rank import Candidate
    from unabridged.memory.recall.words import Words

__all__ = ["place", "unopposed"]


def place(each: Candidate) -> tuple[float, float, str]:
    """Where a candidate stands: the best first."""
    return (-each.worth, -each.fused, each.record.id)


def unopposed(
    order: Sequence[Candidate], most: int, words: Words, threshold: float, text: Callable[[Candidate], str]
) -> tuple[list[Candidate], int]:
    """The ``most`` best of an order, and how many of those before fell below the threshold.

    Only what comes to the head is read for it: that takes longer than all else that is done with a candidate.
    """
    heap = [(place(each), at, each) for at, each in enumerate(order)]
    head: list[Candidate] = []
    below = 0
    while heap and len(head) < most:
        _, at, each = heapq.heappop(heap)
        if each.doubted and opposed(words, text(each)):
            each = replace(each, score=min(each.score, OPPOSED), doubted=False)
            if each.score >= threshold:
                heapq.heappush(heap, (place(each), at, each))
            else:
                below += 1
        else:
            head.append(each)
    return head, below
