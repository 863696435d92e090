"""Which role each row of the artifacts has, by its place: a byte a row, kept in memory.

With it one search serves the passages, the summaries and the documents of a query: a filter by role has each
row of an index held against it, and at a million rows takes longer than the search. A role never changes, nor
does a file of the store; so what was read of a fragment once is known as long as there is room for it, whatever
is written to the table. Reading a million took 0.13 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.memory.recall.kept.room import Room

if TYPE_CHECKING:
    from collections.abc import Collection

    from unabridged.memory.dataset import Handle

__all__ = ["ROLES", "Roles", "numbers"]

ROLES = ("document", "chunk", "summary", "web_search", "observation")
UNREAD = 255  # of a row that was deleted when its fragment was read: an older state has it
MOST = 64 << 20  # bytes, and so rows, of which roles are kept; a larger table is asked anew
_SHIFT = 32  # a row's place is its fragment's number, then where in it the row stands

_kept = Room()  # by the file that holds them


class Roles:
    """The roles of a table's rows, at one version of it."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._files = handle.files()
        self._read: dict[int, Any] = {}
        self._kept = 0 < sum(rows for _, rows in self._files.values()) <= MOST

    def of(self, places: Any) -> Any:
        """The role of each place, as its number in :data:`ROLES`."""
        if not len(places):
            return np.empty(0, dtype=np.uint8)
        if not self._kept:
            return _numbered(self._handle.at(places.tolist(), ["role"])["role"])
        found = np.empty(len(places), dtype=np.uint8)
        fragments = places >> _SHIFT
        for fragment in np.unique(fragments).tolist():
            here = fragments == fragment
            found[here] = self._fragment(fragment, places[here] & ((1 << _SHIFT) - 1))
        return found

    def _fragment(self, fragment: int, rows: Any) -> Any:
        """The roles of some of a fragment's rows."""
        file, every = self._files[fragment]
        known = self._read.get(fragment)
        if known is None:
            known = self._read[fragment] = _kept.get([file]).get(file)
        if known is None or (known[rows] == UNREAD).any():
            at, values = self._handle.column(fragment, "role")
            known = np.full(every, UNREAD, dtype=np.uint8) if known is None else known.copy()
            known[at] = _numbered(values)
            self._read[fragment] = known
            _kept.put({file: (known, every)}, MOST)
        return known[rows]


def numbers(roles: Collection[str]) -> list[int]:
    """Some roles as their numbers."""
    return [ROLES.index(role) for role in roles]


def _numbered(roles: Any) -> Any:
    known = roles.combine_chunks().dictionary_encode()
    numbers = np.array([ROLES.index(role) for role in known.dictionary.to_pylist()], dtype=np.uint8)
    return numbers[known.indices.to_numpy(zero_copy_only=False)]
