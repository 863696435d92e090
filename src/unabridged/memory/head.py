"""The one row that says what is true: which version of each table, and what was true before."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HEAD_SCHEMA", "Head", "head_of", "head_row"]

MARKS = 12  # heads remembered over one grace, so that the oldest one still in use is known
HEAD_SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("seq", pa.int64()), pa.field("state", pa.string())])


@dataclass(frozen=True, slots=True)
class Head:
    """The one row that says what is true: the version of each table, the settings, who wrote last.

    ``marks`` are (time, versions) of earlier heads over the grace; ``upkeep`` is what upkeep noted.
    """

    seq: int
    versions: Mapping[str, int]
    writer: str = ""
    at: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[tuple[float, Mapping[str, int]], ...] = ()
    upkeep: Mapping[str, Any] = field(default_factory=dict)

    def state(self) -> str:
        """Everything but the sequence number, as JSON."""
        names = ("versions", "writer", "at", "settings", "marks", "upkeep")
        return json.dumps({name: getattr(self, name) for name in names}, ensure_ascii=False)

    def following(self, versions: Mapping[str, int], writer: str, grace: float, **changed: Any) -> Head:
        """The head after this one; this one becomes a mark if the last mark is old enough."""
        at = time.time()
        marks = tuple((min(when, at), versions) for when, versions in self.marks)  # the clock may have been set back
        if not marks or at - marks[-1][0] >= grace / MARKS:
            marks = (*marks, (at, self.versions))
        old = sum(when <= at - grace for when, _ in marks)
        return replace(
            self, seq=self.seq + 1, versions=versions, writer=writer, at=at, marks=marks[max(0, old - 1) :], **changed
        )


def head_row(head: Head) -> pa.Table:
    """The head as the row of its table."""
    return pa.Table.from_pylist([{"id": "head", "seq": head.seq, "state": head.state()}], schema=HEAD_SCHEMA)


def head_of(rows: pa.Table) -> Head:
    """The head from its table."""
    if rows.num_rows != 1:
        raise StoreError(f"the head has {rows.num_rows} rows, expected one: this is not an unabridged dataset")
    row = rows.to_pylist()[0]
    state = json.loads(row["state"])
    state["marks"] = tuple((when, versions) for when, versions in state["marks"])
    return Head(seq=row["seq"], **state)
