"""Where some strings stand in a long column of them, found by their hashes (pure)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Finder", "Wanted"]

_NONE = np.empty(0, dtype=np.int64)


class Wanted:
    """Strings that are looked for, in any number of columns."""

    __slots__ = ("hashes", "strings")

    def __init__(self, strings: Collection[str]) -> None:
        self.strings = frozenset(strings)
        self.hashes = np.unique(np.fromiter(map(hash, self.strings), dtype=np.int64, count=len(self.strings)))


class Finder:
    """A column of strings, each kept once, searchable by bisection.

    >>> column = Finder(pa.array(["a", "b", "a"]))
    >>> column.rows(Wanted(["a", "z"])).tolist(), column.at(np.array([1, 2]))
    ([0, 2], ['b', 'a'])
    """

    __slots__ = ("_codes", "_first", "_hashes", "_order", "_rows", "_strings")

    def __init__(self, column: pa.Array) -> None:
        known = column.dictionary_encode()
        self._strings: pa.Array = known.dictionary
        self._codes = known.indices.to_numpy()
        hashes = np.fromiter(map(hash, self._strings.to_pylist()), dtype=np.int64, count=len(self._strings))
        self._order = np.argsort(hashes).astype(np.int32)
        self._hashes = hashes[self._order]
        self._rows = np.argsort(self._codes, kind="stable").astype(np.int32)
        self._first = np.concatenate([[0], np.cumsum(np.bincount(self._codes, minlength=len(hashes)))])

    @property
    def size(self) -> int:
        """Bytes."""
        arrays = (self._strings, self._codes, self._order, self._hashes, self._rows, self._first)
        return sum(int(each.nbytes) for each in arrays)

    def rows(self, wanted: Wanted) -> Any:
        """The numbers of the rows that hold one of some strings, in order."""
        first = np.searchsorted(self._hashes, wanted.hashes)
        last = np.searchsorted(self._hashes, wanted.hashes, "right")
        if not (first < last).any():
            return _NONE
        found = zip(first.tolist(), last.tolist(), strict=True)
        numbers = np.concatenate([self._order[a:b] for a, b in found])
        strings = self._strings.take(pa.array(numbers)).to_pylist()
        same = [number for number, string in zip(numbers.tolist(), strings, strict=True) if string in wanted.strings]
        runs = [self._rows[self._first[number] : self._first[number + 1]] for number in same]
        return np.sort(np.concatenate(runs)) if runs else _NONE  # none: another string of the same hash

    def at(self, rows: Any) -> list[str]:
        """The strings of some rows."""
        found: list[str] = self._strings.take(pa.array(self._codes[rows])).to_pylist()
        return found
