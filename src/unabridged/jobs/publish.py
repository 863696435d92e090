"""From staged blocks to the output: every finished row, in the order of the source, into the sink at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from unabridged.jobs.known import dead_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from unabridged.jobs.journal import Block, Journal
    from unabridged.jobs.staging import Staging

__all__ = ["Feed", "feed_of", "rebatched", "unified", "widened"]

# Rows of a group or fragment: the same wherever the blocks ended, so that the output does not tell.
_GROUP_ROWS = 8192
_GROUP_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Feed:
    """What a sink is given: the finished rows, part by part, in the order of their rows.

    ``schema`` has all columns of all blocks, ``row`` (of the part) first. ``grows``: the output has rows of an
    earlier run, which stay, but for those whose ids (hashed) are ``dead``.
    """

    fingerprint: str
    width: int
    schema: pa.Schema = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False)
    staging: Staging = field(repr=False)
    grows: bool = False
    dead: NDArray[np.bytes_] = field(default_factory=lambda: np.zeros(0, "S8"), repr=False)

    def parts(self) -> Iterator[tuple[int, Iterator[pa.Table]]]:
        """Each part's number and its tables."""
        numbers = sorted({block.part for block in self.blocks})
        for number in numbers:
            yield number, self._of([block for block in self.blocks if block.part == number])

    def tables(self) -> Iterator[pa.Table]:
        """Every table of every part, without the row's place."""
        for _, tables in self.parts():
            for table in tables:
                yield table.drop_columns(["row"])

    def _of(self, blocks: Sequence[Block]) -> Iterator[pa.Table]:
        late = [self._read(block) for block in blocks if block.retried]
        extra = pa.concat_tables(late) if late else None
        rows = np.zeros(0, np.int64) if extra is None else extra["row"].to_numpy()
        order = np.argsort(rows, kind="stable")
        for block in blocks:
            if block.retried:
                continue
            low, high = np.searchsorted(rows[order], [block.first, block.after])
            found = [self._read(block)] if block.file is not None else []
            if extra is not None and high > low:
                found.append(extra.take(pa.array(order[low:high])))
            if found:
                yield _sorted(pa.concat_tables(found))

    def _read(self, block: Block) -> pa.Table:
        assert block.file is not None  # noqa: S101
        return widened(self.staging.read(block.file), self.schema)


def feed_of(journal: Journal, staging: Staging) -> Feed | None:
    """Everything that is staged and not in the sink yet; ``None`` if there is nothing."""
    generations = {part.number: part.generation for part in journal.parts().values()}
    blocks = [block for block in journal.blocks(unpublished=True) if block.generation == generations[block.part]]
    schemas = [staging.schema(block.file) for block in blocks if block.file is not None]
    dead = dead_ids(journal)
    if not schemas and not len(dead):
        return None
    schema = unified(schemas)
    grows = any(block.published for block in journal.blocks())
    return Feed(journal.get("fingerprint"), journal.get("width"), schema, tuple(blocks), staging, grows, dead)


def unified(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """One schema that every table fits, null where it has no such column."""
    if not schemas:
        return pa.schema([])
    return pa.unify_schemas(list(dict.fromkeys(schemas)), promote_options="permissive")


def rebatched(tables: Iterable[pa.Table], width: int) -> Iterator[pa.Table]:
    """The same rows in tables of one size.

    >>> [t.num_rows for t in rebatched([pa.table({"id": ["a"] * 5000})] * 2, 4)]
    [8192, 1808]
    """
    size = max(256, min(_GROUP_ROWS, _GROUP_BYTES // (4 * width)))
    held: list[pa.Table] = []
    count, given = 0, False
    for table in tables:
        held.append(table)
        count += table.num_rows
        while count >= size:
            whole = pa.concat_tables(held)
            yield whole.slice(0, size).combine_chunks()
            given = True
            held, count = [whole.slice(size)], count - size
    if count or (held and not given):  # an output that has lost its last row has its columns still
        yield pa.concat_tables(held).combine_chunks()


def _sorted(table: pa.Table) -> pa.Table:
    rows = table["row"].to_numpy()
    if (np.diff(rows) >= 0).all():
        return table
    return table.take(pa.array(np.argsort(table["row"].to_numpy(), kind="stable")))


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with every column of the schema, null where its part has none."""
    if table.schema == schema:
        return table
    columns = [
        table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type) for f in schema
    ]
    return pa.table(columns, schema=schema)
