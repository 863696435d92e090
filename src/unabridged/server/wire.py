"""JSON on the wire: orjson writes, which takes float32 as it is; pydantic's parser reads."""

from __future__ import annotations

import json
from typing import Any

import orjson
from pydantic_core import from_json

from unabridged.server.problems import Problem

__all__ = ["EMPTY", "NO_JSON", "NO_OBJECT", "dumps", "loads"]

# Of a body, the same words at every door.
EMPTY = "the body is empty, expected a JSON object"
NO_JSON = "the body is not valid JSON in UTF-8"
NO_OBJECT = "body: expected a JSON object"


def dumps(value: Any) -> bytes:
    """JSON in UTF-8; a float32 array is written with the digits that it needs.

    >>> dumps({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError:  # half of a surrogate pair, which UTF-8 cannot hold
        return json.dumps(value).encode()


def loads(body: bytes) -> Any:
    """The value of a request's body.

    Raises :class:`~unabridged.server.problems.Problem` 400 for what is no JSON.

    >>> loads(b'{"input": "text"}')
    {'input': 'text'}
    """
    if not body:
        raise Problem(400, EMPTY, code="invalid_json")
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError:
        return _tolerant(body)


def _tolerant(body: bytes) -> Any:
    """Half of a surrogate pair is no reason to refuse a text; the parser above is stricter."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Problem(400, NO_JSON, code="invalid_json") from None


def _refuse(word: str) -> Any:
    raise ValueError(word)
