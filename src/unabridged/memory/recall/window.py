"""Words that stand together in a text: a window that slides over their places (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["together"]


def together(
    found: Sequence[tuple[int, str]], wide: int, weights: Mapping[str, float] | None = None
) -> Iterator[tuple[int, int, Mapping[str, int], float]]:
    """What stands together: for each place as the last one of a window, its first, how often each word is in it.

    And the sum of the words' weights, each once; without any, each weighs one. Places are by number, in order.

    >>> [(first, last, dict(seen), said) for first, last, seen, said in together([(0, "a"), (5, "b"), (9, "a")], 5)]
    [(0, 0, {'a': 1}, 1.0), (0, 1, {'a': 1, 'b': 1}, 2.0), (1, 2, {'a': 1, 'b': 1}, 2.0)]
    """
    seen: dict[str, int] = {}
    first, said = 0, 0.0
    for last, (at, word) in enumerate(found):
        count = seen[word] = seen.get(word, 0) + 1
        if count == 1:
            said += 1.0 if weights is None else weights.get(word, 0.0)
        while at - found[first][0] > wide:
            left = found[first][1]
            seen[left] -= 1
            if not seen[left]:
                said -= 1.0 if weights is None else weights.get(left, 0.0)
                del seen[left]
            first += 1
        yield first, last, seen, said
