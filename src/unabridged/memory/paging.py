"""Pages of a listing: in the order of creation, from a cursor, stable while others write."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from unabridged.errors import InputError
from unabridged.memory.values import metadata_tags, moment
from unabridged.memory.where import among, at_most, both, equals, has, literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unabridged.memory.commits import View

__all__ = ["Page", "metadata_where", "page", "span_where"]

R = TypeVar("R")

PAGE_LIMIT = 1000


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


def page(
    view: View,
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
    keys = view.rows(table, both(where, beyond), ["id", "created_at"], order=order, limit=limit + 1).to_pylist()
    more = len(keys) > limit
    keys = keys[:limit]
    wanted = [key["id"] for key in keys]
    found = {record.id: record for record in view.records(table, among("id", wanted))} if wanted else {}
    items = tuple(found[each] for each in wanted)
    return Page(items, _cursor(keys[-1], newest_first=newest_first) if more else None)


def _cursor(key: Mapping[str, Any], *, newest_first: bool) -> str:
    raw = json.dumps([key["created_at"].isoformat(), key["id"], newest_first])
    return base64.urlsafe_b64encode(raw.encode()).decode()


def _beyond(cursor: str, *, newest_first: bool) -> str:
    try:
        created, last, way = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        at = dt.datetime.fromisoformat(created)
        id_, same = str(last), way is newest_first
    except (ValueError, TypeError, binascii.Error):
        raise InputError("cursor: not one that a listing gave") from None
    if not same:
        raise InputError("cursor: of a listing in the other order")
    sign = "<" if newest_first else ">"
    tie = f"`created_at` = {literal(at)} AND `id` {sign} {literal(id_)}"
    return f"`created_at` {sign} {literal(at)} OR ({tie})"


def metadata_where(metadata: Mapping[str, Any] | None) -> str | None:
    """Rows whose metadata holds all of this: paths and plain values, a list by each of its elements."""
    return both(*(has("tags", tag) for tag in metadata_tags(metadata or {})))


def span_where(column: str, since: Any, until: Any) -> str | None:
    """``since`` (inclusive) to ``until`` (exclusive)."""
    first, last = moment(since, "since"), moment(until, "until")
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
