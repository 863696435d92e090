"""Small values: identities, moments, names and metadata, each checked once where it comes in.

Names are data (10 KB, quotes, slashes, any script): they are stored and compared, and become
neither a path nor a piece of a filter.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import secrets
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import Any

from unabridged.errors import EmptyText, InputError

__all__ = [
    "DEFAULT_MAX_TEXT_BYTES",
    "NAME_LIMIT",
    "checked_metadata",
    "checked_name",
    "checked_text",
    "digest",
    "edge_key",
    "entity_id",
    "metadata_json",
    "metadata_tags",
    "moment",
    "new_id",
    "normalise",
    "now",
    "utf8",
]

NAME_LIMIT = 65_536  # bytes: a name is looked up and indexed whole; six times the longest one asked for
DEFAULT_MAX_TEXT_BYTES = 1 << 20  # SPEC A16: 1 MiB, a setting

_DEEPEST = 100  # levels of metadata: what reads JSON ends at about a thousand, from wherever it is called
_BITS = 14_284  # of 4,300 digits, the longest number that Python writes
_SMALL = 4096  # bytes of metadata whose paths cannot be many times that
_FILTERS = 16 << 20  # characters of paths: a megabyte of metadata with plain keys has a third of that

_UTC = dt.UTC
_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: json.dumps with options makes one a call


def new_id() -> str:
    """A new identity: 32 hexadecimal digits that sort by the time they were made.

    48 bits of milliseconds, 16 bits that count within one, 64 random bits; ids of one process
    strictly increase.

    >>> new_id() < new_id()
    True
    """
    return f"{_ticks.next():016x}{secrets.token_hex(8)}"


class _Ticks:
    """Milliseconds and a count within each, strictly increasing in this process."""

    def __init__(self) -> None:
        self._last = 0
        self._mutex = threading.Lock()

    def next(self) -> int:
        with self._mutex:
            self._last = max(self._last + 1, time.time_ns() // 1_000_000 << 16)
            return self._last


_ticks = _Ticks()


def now() -> dt.datetime:
    """This moment, in UTC, to the microsecond."""
    return dt.datetime.now(_UTC)


def moment(value: dt.datetime | dt.date | str | None, name: str = "moment") -> dt.datetime | None:
    """A moment in UTC to the microsecond; one without a zone is taken as UTC, a date as its midnight.

    >>> moment("2024-05-01T12:00:00.000001+02:00")
    datetime.datetime(2024, 5, 1, 10, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _parsed(value, name)
    if isinstance(value, dt.datetime):
        try:
            return value.replace(tzinfo=_UTC) if value.tzinfo is None else value.astimezone(_UTC)
        except OverflowError:
            raise InputError(f"{name}: in UTC it lies outside the years 1 to 9999") from None
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=_UTC)
    raise InputError(f"{name}: found {type(value).__name__}, expected a datetime, a date or an ISO 8601 string")


def _parsed(value: str, name: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:
        raise InputError(f"{name}: not a moment in ISO 8601, such as 2024-05-01T12:00:00Z") from None


def digest(*parts: str) -> str:
    """SHA-256 over the parts, each with its length before it, so that no two lists share a digest."""
    state = hashlib.sha256()
    for part in parts:
        raw = utf8(part, "name")
        state.update(len(raw).to_bytes(8, "little") + raw)
    return state.hexdigest()


def normalise(name: str) -> str:
    """A name as identity sees it (SPEC A7): NFKC, case folded, white space folded.

    >>> normalise("  Ｅlectrons\\tX ") == normalise("electrons x")
    True
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())  # folding can undo the form: ẞ, İ


def entity_id(name: str, kind: str) -> str:
    """The identity of an entity in its dataset: its normalised name and type (SPEC A7).

    >>> entity_id("Washington", "person") == entity_id("washington ", "Person")
    True
    >>> entity_id("Washington", "person") == entity_id("Washington", "place")
    False
    """
    return digest(normalise(name), normalise(kind))[:32]


def edge_key(source_id: str, relation: str, target_id: str, fact: str) -> str:
    """What makes two edges exactly the same statement (SPEC A8)."""
    return digest(source_id, normalise(relation), target_id, normalise(fact))[:32]


def checked_name(value: str, what: str) -> str:
    """A name: text that can be written as UTF-8, not blank, at most 65,536 bytes."""
    if not isinstance(value, str):
        raise InputError(f"{what}: found {type(value).__name__}, expected a string")
    if not value.strip():
        raise InputError(f"{what}: is empty; give it at least one character that shows")
    size = len(value) if value.isascii() else len(utf8(value, what))
    if size > NAME_LIMIT:
        raise InputError(f"{what}: {size:,} bytes, over the limit of {NAME_LIMIT:,} bytes for a name")
    return value


def checked_text(value: str, limit: int, what: str = "text") -> str:
    """A text as received: not blank, writable as UTF-8, within ``limit`` bytes (SPEC A16)."""
    if not isinstance(value, str):
        raise InputError(f"{what}: found {type(value).__name__}, expected a string")
    if not value.strip():
        raise EmptyText([0], what=what)
    size = len(value) if value.isascii() else len(utf8(value, what))
    if size > limit:
        raise InputError(f"{what}: {size:,} bytes, over the limit of {limit:,} bytes", advice="text_bytes")
    return value


def utf8(value: str, what: str) -> bytes:
    """The bytes of a text; :class:`~unabridged.errors.InputError` for half of a surrogate pair, which has none."""
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{what}: a lone surrogate at character {error.start}; it is not text") from None


def metadata_json(value: Mapping[str, Any] | None) -> str | None:
    """Checked metadata as JSON text, or ``None`` for none."""
    return _encode(value) if value else None


def checked_metadata(value: Mapping[str, Any] | None, what: str = "metadata") -> dict[str, Any]:
    """Metadata that JSON can hold: keys are strings, values are JSON's own; its size is within a limit."""
    if not value:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{what}: found {type(value).__name__}, expected a mapping")
    bound = _bound(value, what)
    if bound > DEFAULT_MAX_TEXT_BYTES and len(_encode(value).encode()) > DEFAULT_MAX_TEXT_BYTES:
        raise InputError(f"{what}: over the limit of {DEFAULT_MAX_TEXT_BYTES:,} bytes for metadata")
    if bound > _SMALL and _spread(value, 0) > _FILTERS:
        raise InputError(f"{what}: its keys are too long for so many values below them, which are filtered by path")
    return dict(value)


def _spread(value: object, above: int) -> int:
    """How many characters of paths there are, when each plain value is told with its own (see metadata_tags)."""
    if isinstance(value, Mapping):
        return sum(_spread(inner, above + len(key)) for key, inner in value.items())
    return sum(_spread(inner, above) for inner in value) if isinstance(value, list | tuple) else above


def _bound(value: object, path: str) -> int:
    """Check a value that JSON should hold; at least as many bytes as its JSON has."""
    kind = type(value)
    if kind is str:
        return 8 + 6 * (len(value) if value.isascii() else len(utf8(value, path)))  # type: ignore[attr-defined,arg-type]
    if value is None or kind is bool:
        return 8
    if kind is int:
        if value.bit_length() > _BITS:  # type: ignore[attr-defined]
            raise InputError(f"{path}: a number of more than 4,300 digits; write it as a string")
        return 8 + value.bit_length()  # type: ignore[attr-defined]
    if kind is float:
        if value - value != 0:  # type: ignore[operator]
            raise InputError(f"{path}: a number is not finite; JSON has no NaN or infinity")
        return 32
    return _bound_inside(value, path)


def _bound_inside(value: object, path: str) -> int:
    for plain in (str, int, float):
        if isinstance(value, plain):  # a subclass, such as a string enumeration
            return _bound(plain(value), path)
    if path.count(".*") + path.count("[]") > _DEEPEST:
        raise InputError(f"{path.partition('.*')[0]}: nested more than {_DEEPEST} levels deep")
    if isinstance(value, list | tuple):
        return 8 + sum(_bound(inner, f"{path}[]") for inner in value)
    if not isinstance(value, Mapping):
        raise InputError(f"{path}: found {type(value).__name__}, expected what JSON can hold")
    for key in value:
        if not isinstance(key, str):
            raise InputError(f"{path}: a key is {type(key).__name__}, expected a string")
    return 8 + sum(_bound(key, path) + _bound(inner, f"{path}.*") for key, inner in value.items())


def metadata_tags(value: Mapping[str, Any] | None) -> list[str]:
    """What metadata can be filtered by: one string for each path and plain value, lists by element.

    >>> metadata_tags({"user": "alice", "tags": ["a", "b"]})
    ['["user","alice"]', '["tags","a"]', '["tags","b"]']
    """
    return list(dict.fromkeys(_tags(value, ()))) if value else []


def _tags(value: object, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _tags(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _tags(inner, path)
    else:
        plain = (
            encode_basestring(value) if isinstance(value, str) else str(value) if type(value) is int else _encode(value)
        )
        yield "[" + ",".join([*map(encode_basestring, path), plain]) + "]"
