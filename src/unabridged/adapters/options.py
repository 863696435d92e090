"""The options of a wrapped object as JSON, for frameworks that store their objects' configuration."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from unabridged.embedding.plan import Chunking
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["from_json", "to_json"]

_RECORDS = {"limit": Limit, "chunking": Chunking}


def to_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """What can be stored of them; a progress callback or an open cache belongs to its program.

    >>> to_json({"limit": Limit(input_tokens=512), "empty": "zero", "progress": print})
    {'limit': {'input_tokens': 512}, 'empty': 'zero'}
    """
    made: dict[str, Any] = {}
    for name, value in options.items():
        if is_dataclass(value) and not isinstance(value, type):
            made[name] = {k: v for k, v in asdict(value).items() if v is not None}
        elif isinstance(value, (str, int, float, bool)) or value is None:
            made[name] = value
    return made


def from_json(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The options again.

    >>> from_json({"limit": {"input_tokens": 512}})["limit"].input_tokens
    512
    """
    return {
        name: _RECORDS[name](**value) if name in _RECORDS and isinstance(value, dict) else value
        for name, value in stored.items()
    }
