"""A shard: some rows of a source on their way to vectors, here or in another process. Plain data that travels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.types import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["FailedRow", "Shard", "ShardResult", "joined", "pieces"]


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """Rows of one part of the source, in order.

    ``table`` has the columns ``id``, ``text`` (null where it could not be read) and those kept; ``first`` is the
    row of the part at which it begins, and ``rows`` the rows themselves where they do not follow each
    other. ``errors`` says of positions in the table why there is no text.
    """

    part: int
    first: int
    table: pa.Table = field(repr=False)
    rows: tuple[int, ...] | None = field(default=None, repr=False)
    errors: tuple[tuple[int, str], ...] = field(default=(), repr=False)
    end: int | None = None

    def __len__(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def row(self, at: int) -> int:
        """The row of the part that stands at a position of the table."""
        return self.first + at if self.rows is None else self.rows[at]

    @property
    def after(self) -> int:
        """The row of the part at which the next shard begins."""
        if self.end is not None:
            return self.end
        return self.first + len(self) if self.rows is None else self.rows[-1] + 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Only its own rows travel: a pickled slice of a table takes the whole table along."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return _arrived, (self.part, self.first, sink.getvalue(), self.rows, self.errors, self.end)


def _arrived(part: int, first: int, data: pa.Buffer, *rest: Any) -> Shard:
    return Shard(part, first, pa.ipc.open_stream(data).read_all(), *rest)


@dataclass(frozen=True, slots=True)
class FailedRow:
    """A row without a vector and why: ``kind`` is a fault's, ``unreadable`` or ``error``; no text is in ``reason``.

    ``passing`` marks what may go away by itself (an overloaded server), and is tried again before the job ends.
    """

    row: int
    id: str
    kind: str
    reason: str
    passing: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ShardResult:
    """What became of a shard.

    ``table`` has the finished rows: ``row`` (of the part), ``id``, the kept columns, ``status``, ``tokens``,
    ``chunks`` and ``vector``; with chunk vectors more rows, a chunk each. ``keys`` are 16 bytes for each finished
    row, in the table's order: of its id and of its text. ``warned`` rows have a vector that
    something is to be said of; ``warning`` is the first of it. ``stop`` is an error that the next text would meet as
    well: then nothing of the shard is noted, and what was paid for lies in the answers.
    """

    part: int
    first: int
    rows: int
    table: pa.Table | None = field(default=None, repr=False)
    done: int = 0
    keys: bytes = field(default=b"", repr=False)
    failed: tuple[FailedRow, ...] = field(default=(), repr=False)
    skipped: tuple[int, ...] = field(default=(), repr=False)
    usage: Usage = field(default_factory=Usage)
    tokens: int = 0
    chunks: int = 0
    warned: int = 0
    warning: str | None = None
    lengths: tuple[int, ...] = field(default=(), repr=False)
    pieces: tuple[int, ...] = field(default=(), repr=False)
    fingerprint: str = ""
    width: int = 0
    end: int = 0
    stop: Exception | None = None


def pieces(shard: Shard, rows: int) -> Iterator[Shard]:
    """A shard in pieces of so many rows.

    >>> whole = Shard(1, 10, pa.table({"id": ["a", "b", "c"], "text": ["x", None, "z"]}), errors=((1, "null"),))
    >>> [(len(each), each.first, each.after, each.errors) for each in pieces(whole, 2)]
    [(2, 10, 12, ((1, 'null'),)), (1, 12, 13, ())]
    """
    if len(shard) <= rows:
        yield shard
        return
    for at in range(0, len(shard), rows):
        after = min(at + rows, len(shard))
        yield Shard(
            shard.part,
            shard.row(at),
            shard.table.slice(at, rows),
            None if shard.rows is None else shard.rows[at:after],
            tuple((where - at, why) for where, why in shard.errors if at <= where < after),
            end=shard.after if after == len(shard) else shard.row(after),
        )


def joined(results: Sequence[ShardResult]) -> ShardResult:
    """What became of a shard, from what became of its pieces in their order."""
    if len(results) == 1:
        return results[0]
    head, usage = results[0], sum((each.usage for each in results), Usage())
    rows = sum(each.rows for each in results)
    stop = next((each.stop for each in results if each.stop is not None), None)
    if stop is not None:
        return ShardResult(head.part, head.first, rows, usage=usage, stop=stop, end=results[-1].end)
    tables = [each.table for each in results if each.table is not None]
    return ShardResult(
        head.part,
        head.first,
        rows,
        table=pa.concat_tables(tables, promote_options="permissive") if tables else None,
        done=sum(each.done for each in results),
        keys=b"".join(each.keys for each in results),
        failed=tuple(itertools.chain.from_iterable(each.failed for each in results)),
        skipped=tuple(itertools.chain.from_iterable(each.skipped for each in results)),
        usage=usage,
        tokens=sum(each.tokens for each in results),
        chunks=sum(each.chunks for each in results),
        warned=sum(each.warned for each in results),
        warning=next((each.warning for each in results if each.warning is not None), None),
        lengths=_added(each.lengths for each in results),
        pieces=_added(each.pieces for each in results),
        fingerprint=head.fingerprint,
        width=max(each.width for each in results),
        end=results[-1].end,
    )


def _added(counts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sum(each) for each in itertools.zip_longest(*counts, fillvalue=0))
