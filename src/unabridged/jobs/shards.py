"""A part's rows, cut into shards at fixed places: so many rows, or so many characters, from its beginning on.

The same settings cut the same shards, so a resumed job goes on at the same places. What is done is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unabridged.jobs.shard import Shard
from unabridged.jobs.source import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from unabridged.jobs.source import Part, Source

__all__ = ["Gaps", "chosen", "shards"]


class Gaps:
    """Which rows of a part are still to be done, from the spans that are.

    >>> gaps = Gaps([(0, 10), (20, 30)])
    >>> gaps.start, gaps.done(15), gaps.done(25), gaps.covers(30), gaps.covers(31)
    (10, None, 30, False, False)
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans: list[tuple[int, int]] = []
        for first, after in sorted(spans):
            if self._spans and first <= self._spans[-1][1]:
                self._spans[-1] = self._spans[-1][0], max(after, self._spans[-1][1])
            else:
                self._spans.append((first, after))

    @property
    def start(self) -> int:
        """The first row that is not done."""
        return self._spans[0][1] if self._spans and self._spans[0][0] == 0 else 0

    def done(self, row: int) -> int | None:
        """Where the span ends that a row lies in; ``None`` if it is still to be done."""
        return next((after for first, after in self._spans if first <= row < after), None)

    def next(self, row: int) -> int | None:
        """Where the next span begins after a row."""
        return next((first for first, _ in self._spans if first > row), None)

    def covers(self, rows: int) -> bool:
        """Whether a part of so many rows is done."""
        return self.start >= rows


def shards(source: Source, part: Part, number: int, gaps: Gaps, *, rows: int, characters: int) -> Iterator[Shard]:
    """The shards of a part that are still to be done; the last one's ``after`` is the part's end."""
    for first, pieces in _runs(source.read(part, gaps.start), gaps):
        yield from _cut(number, first, pieces, rows, characters)


def chosen(source: Source, part: Part, number: int, rows: Sequence[int], size: int) -> Iterator[Shard]:
    """Shards of some rows of a part alone: those that failed, to be tried again."""
    wanted = np.array(sorted(rows), np.int64)
    for some in source.read(part, int(wanted[0]) if len(wanted) else 0) if len(wanted) else ():
        own = np.arange(some.first, some.first + len(some)) if some.numbers is None else np.array(some.numbers)
        at = np.flatnonzero(np.isin(own, wanted))
        for begin in range(0, len(at), size):
            yield _picked(number, some, own, at[begin : begin + size])
        if some.after > wanted[-1]:
            return


def _picked(number: int, some: Rows, own: np.ndarray, at: np.ndarray) -> Shard:
    place = {int(position): new for new, position in enumerate(at)}
    errors = tuple((place[where], why) for where, why in some.errors if where in place)
    numbers = tuple(int(row) for row in own[at])
    return Shard(number, numbers[0], some.table.take(pa.array(at)), numbers, errors, end=numbers[-1] + 1)


def _runs(batches: Iterable[Rows], gaps: Gaps) -> Iterator[tuple[int, Iterator[Rows]]]:
    """The stretches that are not done: where each begins, and its rows."""
    rest = _Pushback(batches)
    while (head := rest.take()) is not None:
        skip = gaps.done(head.first)
        if skip is not None:
            rest.give(_from(head, skip))
            continue
        rest.give(head)
        yield head.first, _until(rest, gaps.next(head.first))


class _Pushback:
    """An iterator that takes a batch back."""

    def __init__(self, batches: Iterable[Rows]) -> None:
        self._batches = iter(batches)
        self._held: Rows | None = None

    def take(self) -> Rows | None:
        held, self._held = self._held, None
        return held if held is not None else next(self._batches, None)

    def give(self, rows: Rows | None) -> None:
        self._held = rows


def _until(rest: _Pushback, stop: int | None) -> Iterator[Rows]:
    while (head := rest.take()) is not None:
        if stop is None or head.after <= stop:
            yield head
            continue
        before, after = _before(head, stop), _from(head, stop)
        rest.give(after)
        if before is not None:
            yield before
        return


def _before(rows: Rows, stop: int) -> Rows | None:
    count = _position(rows, stop)
    return _slice(rows, 0, count, stop) if count else None


def _from(rows: Rows, start: int) -> Rows | None:
    if rows.after <= start:
        return None
    at = _position(rows, start)
    return _slice(rows, at, len(rows), rows.after, first=start)


def _position(rows: Rows, row: int) -> int:
    if rows.numbers is None:
        return min(max(row - rows.first, 0), len(rows))
    return int(np.searchsorted(np.array(rows.numbers), row))


def _slice(rows: Rows, begin: int, end: int, after: int, *, first: int | None = None) -> Rows:
    numbers = None if rows.numbers is None else rows.numbers[begin:end]
    start = rows.first + begin if first is None else first
    errors = tuple((at - begin, why) for at, why in rows.errors if begin <= at < end)
    return Rows(start, rows.table.slice(begin, end - begin), errors, numbers, after)


def _cut(number: int, first: int, pieces: Iterator[Rows], rows: int, characters: int) -> Iterator[Shard]:
    """Greedy: a shard is full with so many rows, or once it holds so many characters."""
    held: list[Rows] = []
    count, size = 0, 0
    at = first
    for piece in pieces:
        begin = 0
        if not len(piece):  # files that are no texts were passed over
            held.append(piece)
        sizes = np.asarray(pc.fill_null(pc.utf8_length(piece.table["text"]), 0).to_numpy())
        while begin < len(piece):
            room = _room(sizes[begin:], rows - count, characters - size)
            end = begin + room
            whole = end == len(piece)
            after = piece.after if whole else _row(piece, end)
            held.append(_slice(piece, begin, end, after))
            count, size, begin = count + room, size + int(sizes[begin:end].sum()), end
            if count >= rows or size >= characters:
                yield _shard(number, at, held)
                at, held, count, size = after, [], 0, 0
    if held:
        yield _shard(number, at, held)


def _room(sizes: np.ndarray, rows: int, characters: int) -> int:
    """How many rows go in: up to the one that fills the shard, and at least one."""
    full = int(np.searchsorted(np.cumsum(sizes), characters)) + 1
    return max(1, min(len(sizes), rows, full))


def _row(rows: Rows, at: int) -> int:
    return rows.first + at if rows.numbers is None else rows.numbers[at]


def _shard(number: int, first: int, held: list[Rows]) -> Shard:
    table = pa.concat_tables([rows.table for rows in held], promote_options="permissive")
    errors, numbers, base = [], [], 0
    for rows in held:
        errors += [(base + at, why) for at, why in rows.errors]
        numbers += list(range(rows.first, rows.first + len(rows))) if rows.numbers is None else list(rows.numbers)
        base += len(rows)
    follows = numbers == list(range(first, first + len(numbers)))
    return Shard(number, first, table, None if follows else tuple(numbers), tuple(errors), end=held[-1].after)
