"""Filters from data: every value becomes a literal here, and nowhere else.

The store reads filters as SQL. A literal is written by one rule (a quote is doubled, nothing else
is special), which the tests hold with quotes, semicolons, back-slashes, NUL, line breaks, bidirectional
text and 10 KB names. Column names are the schema's own, never a caller's.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from unabridged.memory.values import utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "IN_LIMIT",
    "after",
    "among",
    "at_least",
    "at_most",
    "batched",
    "both",
    "either",
    "equals",
    "has",
    "is_null",
    "literal",
    "not_among",
    "not_null",
]

IN_LIMIT = 10_000  # values in one list: 50,000 took 174 ms in one query, of which parsing is half


def literal(value: str | float | dt.datetime) -> str:
    """One value as the store's SQL writes it.

    >>> literal("O'Hara; --")
    "'O''Hara; --'"
    >>> literal(dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc))
    'to_timestamp_micros(1704067200000000)'
    """
    if isinstance(value, str):
        if not value.isascii():
            utf8(value, "filter")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.datetime):
        micros = (value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
        return f"to_timestamp_micros({micros})"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def equals(column: str, value: str | float | None) -> str:
    """``column`` is ``value``; ``None`` asks for null."""
    return is_null(column) if value is None else f"`{column}` = {literal(value)}"


def is_null(column: str) -> str:
    """``column`` holds nothing."""
    return f"`{column}` IS NULL"


def not_null(column: str) -> str:
    """``column`` holds something."""
    return f"`{column}` IS NOT NULL"


def among(column: str, values: Iterable[str]) -> str:
    """``column`` is one of ``values``; of none, it is never so.

    >>> among("id", [])
    'false'
    """
    listed = ", ".join(map(literal, values))
    return f"`{column}` IN ({listed})" if listed else "false"


def not_among(column: str, values: Iterable[str]) -> str:
    """``column`` is none of ``values``."""
    listed = ", ".join(map(literal, values))
    return f"`{column}` NOT IN ({listed})" if listed else "true"


def has(column: str, value: str) -> str:
    """The list in ``column`` holds ``value``."""
    return f"array_has(`{column}`, {literal(value)})"


def at_most(column: str, value: dt.datetime) -> str:
    """``column`` is at or before ``value``."""
    return f"`{column}` <= {literal(value)}"


def at_least(column: str, value: dt.datetime) -> str:
    """``column`` is at or after ``value``."""
    return f"`{column}` >= {literal(value)}"


def after(column: str, value: dt.datetime) -> str:
    """``column`` is after ``value``."""
    return f"`{column}` > {literal(value)}"


def both(*parts: str | None) -> str | None:
    """All of the parts; ``None`` stands for no condition.

    >>> both("a = 1", None, "b = 2")
    '(a = 1) AND (b = 2)'
    """
    given = [part for part in parts if part]
    return " AND ".join(f"({part})" for part in given) if len(given) > 1 else (given[0] if given else None)


def either(*parts: str) -> str:
    """Any of the parts."""
    return " OR ".join(f"({part})" for part in parts)


def batched(values: Iterable[str], size: int = IN_LIMIT) -> Iterator[Sequence[str]]:
    """Lists short enough for one ``IN``."""
    listed = list(values)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]
