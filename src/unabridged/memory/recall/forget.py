"""What a process holds of texts in order to recall them faster, forgotten with the texts (SPEC A29)."""

from __future__ import annotations

from unabridged.memory.recall import densest, polarity, spelling, words
from unabridged.memory.recall.kept import parts

__all__ = ["forget"]


def forget() -> None:
    """Forget all of it, of every dataset: it is read again when it is asked for.

    >>> forget()
    """
    parts.forget()
    for room in (densest, polarity, spelling, words):
        for each in vars(room).values():
            if hasattr(each, "cache_clear") and each.cache_parameters()["maxsize"] is not None:  # not the word lists
                each.cache_clear()
