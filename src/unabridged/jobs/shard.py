"""A shard: some rows of a source on their way to vectors, here or in another process. Plain data that travels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unabridged.types import Usage

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FailedRow", "Shard", "ShardResult"]


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
