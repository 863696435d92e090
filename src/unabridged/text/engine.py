"""The one cutting engine: caps, boundaries and overlap in; spans out.

A chunk takes whole units, greedily and in order. A unit that alone is over a cap is looked into: for
the boundaries of the next finer level, and so on, and is cut by force last. Prefix sums say where a
cap is reached, and finer boundaries are looked for only there: the work is linear in the text and
the chunks, on any input.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unabridged.errors import CapUnenforceable
from unabridged.text.graphemes import forced_cut, forced_start
from unabridged.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from unabridged.text.boundaries import Level
    from unabridged.text.measure import Costs

    Offsets = NDArray[np.int64]

__all__ = ["Meter", "pack"]


@dataclass(frozen=True, slots=True)
class Meter:
    """One cap: what is counted, and how much of it a chunk may hold.

    With ``new_only`` the overlap does not count.
    """

    costs: Costs
    cap: int
    new_only: bool = False

    room: int = field(init=False)
    """What is left for characters beside the tokens that every input costs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "room", self.cap - self.costs.fixed)


def pack(
    text: str,
    meters: Sequence[Meter],
    ends: Sequence[int] | Offsets | None = None,
    levels: Sequence[Level] = (),
    *,
    overlap: int = 0,
    minimum: int = 0,
    costs: Costs | None = None,
) -> list[Span]:
    """Pack units into chunks: what :func:`~unabridged.text.packing.cut` and the segmenters stand on.

    Args:
        text: The document.
        meters: The caps; all of them hold.
        ends: Where units end, ascending, the last at the text's end. ``None``: the text is one unit.
        levels: Finer boundaries, strongest first, for a unit that alone is over a cap.
        overlap: What a chunk may share at most with the one before it.
        minimum: A chunk that costs less is merged with a neighbour where both fit one chunk.
        costs: What ``overlap`` and ``minimum`` are counted in; the first meter's by default.

    Returns:
        Spans in order, none of them blank.

    Raises:
        CapUnenforceable: One character alone is over a cap.
    """
    for meter in meters:
        if meter.room < 1:
            fixed = meter.costs.fixed
            raise CapUnenforceable(f"a cap of {meter.cap} leaves no room beside {fixed} special tokens")
    units = _Units.of(meters, np.asarray([len(text)] if ends is None else ends, np.int64))
    packer = _Packer(text, meters, units, tuple(levels), overlap, costs or meters[0].costs)
    spans = list(packer.spans())
    if minimum:
        spans = _merged(spans, meters, minimum, packer.costs)
    return [span for span in spans if not _is_blank(text, span)]


def _is_blank(text: str, span: Span) -> bool:
    return text[span.start].isspace() and text[span.start : span.end].isspace()


# Up to so many, a list's items are quicker to come by than a view's, its making included.
_FEW = 4096


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Bounds of units (0 first), each meter's sums at them, and which units are over a cap alone."""

    bounds: Sequence[int]
    sums: tuple[Sequence[int], ...]
    big: bytes

    @classmethod
    def of(cls, meters: Sequence[Meter], ends: Offsets) -> _Units:
        bounds = np.concatenate((np.zeros(1, np.int64), ends))
        sums = [meter.costs.many(bounds) for meter in meters]
        big = np.zeros(len(ends), np.bool_)
        for meter, row in zip(meters, sums, strict=True):
            big |= row[1:] - row[:-1] > meter.room
        return cls(_quick(bounds), tuple(_quick(row) for row in sums), big.tobytes() + b"\0")


def _quick(numbers: Offsets) -> Sequence[int]:
    """The same numbers, as something that gives out plain integers."""
    return numbers.tolist() if len(numbers) <= _FEW else memoryview(np.ascontiguousarray(numbers))  # type: ignore[arg-type]


class _Packer:
    """The state that does not change from chunk to chunk. The first meter is the one that mostly decides."""

    __slots__ = (
        "alone", "at", "bounds", "costs", "first", "levels", "others", "overlap", "select", "sums", "text", "units",
    )  # fmt: skip

    def __init__(
        self, text: str, meters: Sequence[Meter], units: _Units, levels: Sequence[Level], overlap: int, costs: Costs
    ) -> None:
        self.text = text
        self.first = meters[0]
        self.others = tuple(zip(meters[1:], units.sums[1:], strict=True))
        self.units, self.bounds, self.sums = units, units.bounds, units.sums[0]
        self.levels = levels
        self.overlap, self.costs = overlap, costs
        self.at, self.select = meters[0].costs.at, meters[0].costs.select
        self.alone = not self.others and costs is meters[0].costs

    def spans(self) -> Iterator[Span]:
        """The chunks, before small ones are merged."""
        bounds, size, content = self.bounds, len(self.text), len(self.text.rstrip())
        before = start = new = unit = 0
        careful = False  # once a piece had to be cut, it is likely again
        while True:
            whole = self._whole_units(start, new, unit)
            if whole > unit and not self.units.big[whole]:
                end, careful = bounds[whole], False
            else:
                base = bounds[whole] if whole > unit else new
                start, end = self._inside(start, new, base, last=careful)
                if end < 0:
                    start, careful = self._opening(before, new, unit, careful=True), True
                    start, end = self._inside(start, new, new, last=True)
                whole = bisect_right(bounds, end, unit) - 1
            start, end = self._confirmed(start, new, end)
            if content <= end < size and content - 1 > new:  # what is left is blank: leave it a word
                start, end = self._confirmed(start, new, self._boundary(start, new, new, content - 1))
            yield Span(start, end)
            if end >= size:
                return
            unit = whole if bounds[whole] == end else bisect_right(bounds, end, unit) - 1
            before, start, new = start, self._opening(start, end, unit, careful=careful), end

    def _whole_units(self, start: int, new: int, unit: int) -> int:
        """The index of the last bound that is in reach, at least ``unit``."""
        budget = self.at(start) + self.first.room
        # A unit costs a token or more, but for blank ones: the answer is near, and near is quick.
        near = min(unit + 2 + self.first.room, len(self.sums))
        if near < len(self.sums) and self.sums[near - 1] <= budget:
            near = len(self.sums)
        last = bisect_right(self.sums, budget, unit + 1, near) - 1
        for meter, sums in self.others:
            budget = meter.costs.at(new if meter.new_only else start) + meter.room
            last = min(last, bisect_right(sums, budget, unit + 1) - 1)
        return last

    def _inside(self, start: int, new: int, base: int, *, last: bool = False) -> tuple[int, int]:
        """A chunk that ends inside a unit, after ``base`` where that is a bound in reach.

        The end is negative where nothing but a piece fits beside the overlap; the ``last`` time it is cut.
        """
        high = self._reach(start, new)
        if high <= new and start < new:
            start = new
            high = self._reach(start, new)
        if high <= new:
            high = self._counted_reach(new)
        return start, self._boundary(start, new, base, high, last=last or start == new)

    def _reach(self, start: int, new: int) -> int:
        """How far a chunk may go."""
        reach = self.select(self.at(start) + self.first.room)
        for meter, _ in self.others:
            costs = meter.costs
            reach = min(reach, costs.select(costs.at(new if meter.new_only else start) + meter.room))
        return reach

    def _counted_reach(self, new: int) -> int:
        """How far a chunk may go where the prefix sums say not one character: they may be rough."""
        width = 1
        if self._over(new, new + width) is not None:
            raise CapUnenforceable(f"the character at {new} alone is over the limit")
        while new + 2 * width <= len(self.text) and self._over(new, new + 2 * width) is None:
            width *= 2
        return new + width

    def _boundary(self, start: int, new: int, base: int, high: int, *, last: bool = True) -> int:
        """The best boundary in ``(new, high]``, of which ``base`` is the last between whole units."""
        if high >= len(self.text):
            return high
        finest = len(self.levels) - 1
        for depth, level in enumerate(self.levels):
            if depth == finest:
                if base == new and not last:
                    return -1
                high = self._piece_high(new, high)
            if (found := level.last(base, high)) is not None:
                base = found
            # At half of the way it is worth ending before a part that must be cut anyway.
            half_way = 2 * (base - start) >= high - start
            if base > new and (half_way or self._unit_end(base, depth) is not None):
                return base
        return base if base > new else forced_cut(self.text, high, new)

    def _piece_high(self, new: int, high: int) -> int:
        """Pieces of what cannot be kept whole leave room for the overlap (SPEC C4)."""
        if not self.overlap or self.costs is not self.first.costs:
            return high
        return max(new + 1, min(high, self.select(self.at(new) + self.first.room - self.overlap)))

    def _unit_end(self, at: int, depth: int) -> int | None:
        """Where the unit at ``at`` ends, if down to this depth there is one within the caps."""
        reach = self._reach(at, at)
        if reach >= len(self.text):
            return reach
        following = self.bounds[bisect_right(self.bounds, at)]
        if following <= reach:
            return following
        for level in self.levels[: depth + 1]:
            if (end := level.first(at, reach)) is not None:
                return end
        return None

    def _confirmed(self, start: int, new: int, end: int) -> tuple[int, int]:
        """The chunk, shortened until a recount too says that it is within every cap."""
        if not self.others and self.first.costs.is_sure(start, end):
            return start, end
        tries = 0
        while (over := self._over(start, end)) is not None:
            tries += 1
            high = _shorter(*over, start, end)
            if tries > 3:
                high = min(high, new + (end - new) // 2)
            if high <= new and start < new:
                start, tries = new, 0
                continue
            if end - new == 1:
                raise CapUnenforceable(f"the character at {new} alone is over the limit")
            high = max(high, new + 1)
            place = bisect_right(self.bounds, high) - 1
            base = max(new, self.bounds[place])
            whole = base > new and not self.units.big[place]
            end = base if whole else self._boundary(start, new, base, high)
        return start, end

    def _over(self, start: int, end: int) -> tuple[Meter, int] | None:
        for meter in (self.first, *(meter for meter, _ in self.others)):
            if not meter.new_only and (actual := meter.costs.between(start, end)) > meter.cap:
                return meter, actual
        return None

    def _opening(self, before: int, new: int, unit: int, *, careful: bool) -> int:
        """Where the chunk after ``new`` opens: in the tail of the one that opened at ``before``.

        Whether the next part of a unit that is looked into fits beside it is asked only if ``careful``:
        mostly it does, and finding its end costs a search.
        """
        if not self.overlap:
            return new
        low = self._overlap_low(new, unit, careful=careful)
        if low <= before:
            low = before + 1
        if low >= new:
            return new
        bounds, big = self.bounds, self.units.big
        near = max(0, unit - self.overlap - 1)
        place = bisect_left(bounds, low, near if near and bounds[near - 1] < low else 0, unit + 1)
        whole = bounds[place] if place <= unit else new
        if whole == low or (whole < new and not big[place - 1]):
            return whole
        # Inside a unit that is looked into, sentences are units; else one that is near is welcome.
        middle = (low + new) // 2
        top = whole - 1 if big[place - 1] else middle
        for level in self.levels:
            if (found := level.first(low - 1, top)) is not None:
                return found
            top = min(top, middle)
        if whole < new:
            return whole
        # From the next token on: what opens inside one would have to be counted again.
        if not self.costs.is_sure(low, new):
            low = self.costs.select(self.costs.at(low))
        return forced_start(self.text, low, before, new) if low < new else new

    def _overlap_low(self, new: int, unit: int, *, careful: bool) -> int:
        """The first place from which the tail is within the overlap, and leaves room for what follows."""
        whole = self.bounds[unit] == new
        if whole and not self.units.big[unit]:
            following: int | None = self.bounds[unit + 1]
            need = self.sums[unit + 1]
        else:
            following = self._next_part(new, unit) if careful else None
            need = 0 if following is None else self.at(following)
        if not self.alone:
            return self._overlap_low_by_all(new, following)
        floor = (self.sums[unit] if whole else self.at(new)) - self.overlap
        if need - self.first.room > floor:  # noqa: PLR1730
            floor = need - self.first.room
        return self.select(floor - 1) + 1

    def _next_part(self, new: int, unit: int) -> int | None:
        """Where the part at ``new`` of a unit that is looked into ends; ``None`` if by force."""
        following = self.bounds[unit + 1]
        # A first look that needs no prefix sums: mostly, a part has fewer characters than the cap tokens.
        near = min(following, new + self.first.room)
        if self.levels and (end := self.levels[0].first(new, near)) is not None and self._fits_alone(new, end):
            return end
        reach = self._reach(new, new)
        for level in self.levels[:-1]:  # the last level's pieces leave room for the overlap
            if (end := level.first(new, min(following, reach))) is not None:
                return end
        # The rest of the unit: kept whole if it is a part of its own, not the end of one already cut.
        whole = following <= reach and any(level.first(new - 1, new) for level in self.levels[:-1])
        return following if whole else None

    def _fits_alone(self, start: int, end: int) -> bool:
        if self.at(end) - self.at(start) > self.first.room:
            return False
        return all(meter.costs.at(end) - meter.costs.at(start) <= meter.room for meter, _ in self.others)

    def _overlap_low_by_all(self, new: int, following: int | None) -> int:
        """The same where there are several meters, or the overlap is counted in another unit."""
        low = self.costs.select(self.costs.at(new) - self.overlap - 1) + 1
        if following is None:
            return low
        for meter in (self.first, *(meter for meter, _ in self.others)):
            if not meter.new_only:
                low = max(low, meter.costs.select(meter.costs.at(following) - meter.room - 1) + 1)
        return low


def _shorter(meter: Meter, actual: int, start: int, end: int) -> int:
    """Where a chunk that costs ``actual`` would have to end, if all of it cost alike."""
    costs = meter.costs
    before = costs.at(start)
    target = before + (costs.at(end) - before) * meter.room // max(1, actual - costs.fixed) - 1
    return min(costs.select(target), end - 1)


def _merged(spans: list[Span], meters: Sequence[Meter], minimum: int, costs: Costs) -> list[Span]:
    """Chunks under the minimum, merged with a neighbour where both fit one chunk."""
    merged: list[Span] = []
    new = 0
    for span in spans:
        if merged:
            before = merged[-1]
            smaller = min(costs.between(one.start, one.end) for one in (before, span))
            if smaller < minimum and _fits(meters, before.start, new, span.end):
                merged[-1] = Span(before.start, span.end)
                continue
            new = before.end
        merged.append(span)
    return merged


def _fits(meters: Sequence[Meter], start: int, new: int, end: int) -> bool:
    return all(meter.costs.between(new if meter.new_only else start, end) <= meter.cap for meter in meters)
