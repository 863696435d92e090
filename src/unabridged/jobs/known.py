"""What is done of a part that has changed since: rows are told by their content, wherever they stand now.

A row is known by 16 bytes, of its id and of its text. A known row is not sent again: where its vector is still
staged it is carried into the new block; where the output has it, it stays there, and is counted as the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from unabridged.jobs.embed import KEY_BYTES, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from unabridged.jobs.journal import Journal
    from unabridged.jobs.shard import Shard, ShardResult
    from unabridged.jobs.staging import Staging

__all__ = ["Carried", "Known", "dead_ids", "id_hash", "merged"]

_KEY = f"S{KEY_BYTES}"
_ID = f"S{KEY_BYTES // 2}"
_OUT = -1  # the block of a row that the output has


@dataclass(frozen=True, slots=True)
class Carried:
    """Rows of a shard that are done already: ``table`` those still staged, ``same`` the keys of the others."""

    table: pa.Table | None = field(default=None, repr=False)
    keys: bytes = field(default=b"", repr=False)
    same: bytes = field(default=b"", repr=False)

    @property
    def count(self) -> int:
        """How many rows are staged."""
        return len(self.keys) // KEY_BYTES


class Known:
    """The rows of a part's earlier generations. Sorted arrays: 32 bytes a row, whatever its text.

    ``published`` says whether the output still has what it had.
    """

    def __init__(
        self, journal: Journal, staging: Staging, part: int, generation: int, *, published: bool = True
    ) -> None:
        self._staging = staging
        keys, blocks, places = [], [], []
        self._files: list[str] = []
        for block, blob in journal.keyed_blocks(part, before=generation):
            staged = block.done if block.file is not None else 0
            found = np.frombuffer(blob, _KEY)[: None if published else staged]
            if block.file is not None:
                self._files.append(block.file)
            keys.append(found)
            blocks.append(np.where(np.arange(len(found)) < staged, len(self._files) - 1, _OUT))
            places.append(np.arange(len(found)))
        every = np.concatenate(keys) if keys else np.zeros(0, _KEY)
        order = np.argsort(every, kind="stable")
        self._keys = every[order]
        self._blocks = np.concatenate(blocks)[order] if keys else np.zeros(0, np.int64)
        self._places = np.concatenate(places)[order] if keys else np.zeros(0, np.int64)

    def __len__(self) -> int:
        """How many rows are known."""
        return len(self._keys)

    def split(self, shard: Shard) -> tuple[Shard, Carried | None]:
        """The rows that are new or have changed, and what is known of the others."""
        table = shard.table
        texts, ids = table["text"].to_pylist(), table["id"].to_pylist()
        blob = keys_of(ids, ["" if text is None else text for text in texts])
        wanted = np.frombuffer(blob, _KEY)
        if not len(self._keys) or not len(wanted):
            return shard, None
        at = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        hit = (self._keys[at] == wanted) & np.array([text is not None for text in texts])
        if not hit.any():
            return shard, None
        return _without(shard, hit), self._carried(shard, np.flatnonzero(hit), at[hit], blob)

    def _carried(self, shard: Shard, rows: NDArray[np.int64], at: NDArray[np.int64], blob: bytes) -> Carried:
        blocks = self._blocks[at]
        staged = blocks != _OUT
        tables = []
        order: list[int] = []
        for block in np.unique(blocks[staged]):
            of = blocks == block
            rows_of = rows[of]
            tables.append(self._taken(int(block), self._places[at[of]], [shard.row(int(row)) for row in rows_of]))
            order += rows_of.tolist()
        table = pa.concat_tables(tables, promote_options="permissive") if tables else None
        return Carried(table, _keys(blob, order), _keys(blob, rows[~staged].tolist()))

    def _taken(self, block: int, places: NDArray[np.int64], numbers: list[int]) -> pa.Table:
        """The staged rows of some texts (with chunk vectors each has several), under their new numbers."""
        table = self._staging.read(self._files[block])
        _, first = np.unique(table["row"].to_numpy(), return_index=True)
        first = np.append(np.sort(first), table.num_rows)
        spans = [np.arange(first[place], first[place + 1]) for place in places]
        rows = np.repeat(np.array(numbers, np.int64), [len(span) for span in spans])
        taken = table.take(pa.array(np.concatenate(spans)))
        return taken.set_column(0, "row", pa.array(rows))


def merged(result: ShardResult, carried: Carried) -> ShardResult:
    """What became of a shard, with the rows that were done before: staged ones first come the new."""
    tables = [table for table in (result.table, carried.table) if table is not None]
    return replace(
        result,
        table=pa.concat_tables(tables, promote_options="permissive") if tables else None,
        done=result.done + carried.count,
        keys=result.keys + carried.keys + carried.same,
        rows=result.rows + carried.count + len(carried.same) // KEY_BYTES,
    )


def dead_ids(journal: Journal) -> NDArray[np.bytes_]:
    """The ids, hashed, of rows that the output has and the source does not any more, or with another text."""
    dead = []
    for part in journal.parts().values():
        old = [blob for block, blob in journal.keyed_blocks(part.number, before=part.generation) if block.published]
        if not old:
            continue
        now = [blob for _, blob in journal.keyed_blocks(part.number, since=part.generation)]
        before, after = _array(old), _array(now)
        gone = np.unique(before[~np.isin(before, after)])
        dead.append(_ids(gone))
    return np.unique(np.concatenate(dead)) if dead else np.zeros(0, _ID)


def id_hash(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """The first half of a row's key, for each id."""
    size = KEY_BYTES // 2
    joined = b"".join(blake2b(each.encode("utf-8", "surrogatepass"), digest_size=size).digest() for each in ids)
    return np.frombuffer(joined, _ID)


def _without(shard: Shard, hit: NDArray[np.bool_]) -> Shard:
    left = np.flatnonzero(~hit)
    place = {int(old): new for new, old in enumerate(left)}
    return replace(
        shard,
        table=shard.table.take(pa.array(left)),
        rows=tuple(shard.row(int(at)) for at in left),
        errors=tuple((place[at], why) for at, why in shard.errors),
        end=shard.after,
    )


def _keys(blob: bytes, at: Iterable[int]) -> bytes:
    return b"".join(blob[KEY_BYTES * each : KEY_BYTES * (each + 1)] for each in at)


def _array(blobs: Iterable[bytes]) -> NDArray[np.bytes_]:
    return np.frombuffer(b"".join(blobs), _KEY)


def _ids(keys: NDArray[np.bytes_]) -> NDArray[np.bytes_]:
    whole = np.ascontiguousarray(keys).view(np.uint8).reshape(-1, KEY_BYTES)
    return np.ascontiguousarray(whole[:, : KEY_BYTES // 2]).view(_ID).ravel()
