"""Records as what JSON can hold: one form for the shell, HTTP and MCP."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Records, moments, mappings and sequences as JSON's own types; moments in ISO 8601, UTC.

    >>> plain({"at": dt.datetime(2024, 5, 1, tzinfo=dt.UTC), "of": ("a", "b")})
    {'at': '2024-05-01T00:00:00+00:00', 'of': ['a', 'b']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple | set | frozenset) else value
