"""Pages of a listing: in the order of creation, from a cursor, stable while others write."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from unabridged.errors import InputError
from unabridged.memory.values import checked_metadata, metadata_tags, moment
from unabridged.memory.where import among, at_least, at_most, both, equals, has, literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

__all__ = ["Page", "Shelf", "metadata_where", "page", "page_of_links", "span_where"]

R = TypeVar("R")

PAGE_LIMIT = 1000
LARGE = 50_000  # rows from which sorting their times first pays: of 300,000 a page took 12 ms of work, not 33


@dataclass(frozen=True, slots=True)
class Page(Generic[R]):
    """Some records of a listing; ``cursor`` asks for those after them, ``None`` at the end."""

    items: tuple[R, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[R]:
        """The records."""
        return iter(self.items)

    def __len__(self) -> int:
        """How many records this page has."""
        return len(self.items)


class Shelf(Protocol):
    """Where pages are read from: a view of the tables that move together, or one outside the commit."""

    def size(self, table: str) -> int:
        """How many rows a table has."""
        ...

    def rows(self, table: str, where: str | None = None, columns: Sequence[str] | None = None, **how: Any) -> pa.Table:
        """Rows as Arrow."""
        ...

    def records(self, table: str, where: str | None = None, **how: Any) -> list[Any]:
        """Rows as records."""
        ...


def page(
    view: Shelf,
    table: str,
    where: str | None,
    *,
    limit: int,
    cursor: str | None,
    newest_first: bool = False,
) -> Page[Any]:
    """One page: the order is found from two narrow columns, whole rows are read for the page alone."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise InputError(f"limit: found {limit}, expected 1 to {PAGE_LIMIT}")
    beyond = None if cursor is None else _beyond(cursor, newest_first=newest_first)
    order = [("created_at", not newest_first), ("id", not newest_first)]
    where = both(where, beyond)
    if view.size(table) > LARGE:
        where = both(where, _within(view, table, where, order[0], limit + 1))
    keys = view.rows(table, where, ["id", "created_at"], order=order, limit=limit + 1).to_pylist()
    more = len(keys) > limit
    keys = keys[:limit]
    wanted = [key["id"] for key in keys]
    found = {record.id: record for record in view.records(table, among("id", wanted))} if wanted else {}
    items = tuple(found[each] for each in wanted)
    return Page(items, _cursor(keys[-1], newest_first=newest_first) if more else None)


def _within(view: Shelf, table: str, where: str | None, order: tuple[str, bool], count: int) -> str | None:
    """Up to when the first ``count`` rows were made: a narrow column to sort, and the ids of few rows to read."""
    times = view.rows(table, where, [order[0]], order=[order], limit=count)[order[0]]
    if len(times) < count:
        return None
    return (at_most if order[1] else at_least)(order[0], times[-1].as_py())


_LINK_ORDER = ("created_at", "from_id", "to_id", "type")


def page_of_links(view: Shelf, where: str | None, *, limit: int, cursor: str | None) -> Page[Any]:
    """A page of links, oldest first. They have no id: a cursor is the last one's values, and how many share them."""
    if not 1 <= limit <= PAGE_LIMIT:
        raise InputError(f"limit: found {limit}, expected 1 to {PAGE_LIMIT}")
    last, passed = ((), 0) if cursor is None else _link_place(cursor)
    order = [(column, True) for column in (*_LINK_ORDER, "via_id")]
    beyond = _at_least(_LINK_ORDER, last) if last else None
    found = view.records("links", both(where, beyond), order=order, limit=limit + passed + 1)[passed:]
    items = tuple(found[:limit])
    if len(found) <= limit:
        return Page(items)
    key = _link_key(items[-1])
    same = sum(_link_key(each) == key for each in items) + (passed if key == last else 0)
    raw = json.dumps([key[0].isoformat(), *key[1:], same])
    return Page(items, base64.urlsafe_b64encode(raw.encode()).decode())


def _link_key(link: Any) -> tuple[Any, ...]:
    return tuple(getattr(link, column) for column in _LINK_ORDER)


def _link_place(cursor: str) -> tuple[tuple[Any, ...], int]:
    try:
        created, *ids, passed = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        key = (_moment(created), *map(str, ids))
        if len(key) == len(_LINK_ORDER) and 0 < int(passed) <= PAGE_LIMIT:
            return key, int(passed)
    except (ValueError, TypeError, OverflowError, binascii.Error):
        pass
    raise InputError("cursor: not one that a listing gave")


def _at_least(columns: Sequence[str], values: Sequence[Any]) -> str:
    """Rows at or after some values, column by column.

    >>> _at_least(("a", "b"), ("x", "y"))
    "`a` > 'x' OR (`a` = 'x' AND (`b` >= 'y'))"
    """
    column, value = f"`{columns[0]}`", literal(values[0])
    if len(columns) == 1:
        return f"{column} >= {value}"
    return f"{column} > {value} OR ({column} = {value} AND ({_at_least(columns[1:], values[1:])}))"


def _cursor(key: Mapping[str, Any], *, newest_first: bool) -> str:
    raw = json.dumps([key["created_at"].isoformat(), key["id"], newest_first])
    return base64.urlsafe_b64encode(raw.encode()).decode()


def _moment(written: str) -> dt.datetime:
    """A moment as a cursor has it; one without a zone is of no cursor that was given."""
    at = dt.datetime.fromisoformat(written)
    if at.tzinfo is None:
        raise ValueError
    return at.astimezone(dt.UTC)


def _beyond(cursor: str, *, newest_first: bool) -> str:
    try:
        created, last, way = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        at = _moment(created)
        id_, same = str(last), way is newest_first
    except (ValueError, TypeError, OverflowError, binascii.Error):
        raise InputError("cursor: not one that a listing gave") from None
    if not same:
        raise InputError("cursor: of a listing in the other order")
    sign = "<" if newest_first else ">"
    tie = f"`created_at` = {literal(at)} AND `id` {sign} {literal(id_)}"
    return f"`created_at` {sign} {literal(at)} OR ({tie})"


def metadata_where(metadata: Mapping[str, Any] | None) -> str | None:
    """Rows whose metadata holds all of this: paths and plain values, a list by each of its elements."""
    return both(*(has("tags", tag) for tag in metadata_tags(checked_metadata(metadata))))


def span_where(column: str, since: Any, until: Any) -> str | None:
    """``since`` (inclusive) to ``until`` (exclusive)."""
    named = column.removesuffix("_at") + "_" if column.endswith("_at") else ""
    first, last = moment(since, f"{named}since"), moment(until, f"{named}until")
    return both(
        None if first is None else f"`{column}` >= {literal(first)}",
        None if last is None else f"`{column}` < {literal(last)}",
    )


def optional(**columns: Any) -> Sequence[str | None]:
    """Equality filters for the columns that were asked for."""
    return [None if value is None else equals(column, value) for column, value in columns.items()]


def not_expired(at: dt.datetime) -> str:
    """Rows that have not run out."""
    return f"`expires_at` IS NULL OR NOT ({at_most('expires_at', at)})"
