"""Token ids instead of texts: passed on to hosts that take them, turned back into text for all others."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from unabridged.errors import MissingExtra

__all__ = ["as_texts"]

# All of OpenAI's embedding models use this encoding and this limit.
_ENCODING, _LIMIT, _MOST = "cl100k_base", 8191, 2048
_TAKES_IDS = ("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com")


def as_texts(given: Any, host: str) -> Any:
    """Texts for token ids that the host would not take, or that are over its limit; all else as it is.

    >>> as_texts([[1, 2]], "api.openai.com"), as_texts(["text"], "localhost")
    ([[1, 2]], ['text'])
    """
    rows = _rows(given)
    if rows is None:
        return given
    taken = f".{host.partition(':')[0]}".endswith(_TAKES_IDS)
    if taken and len(rows) <= _MOST and all(len(row) <= _LIMIT for row in rows):
        return rows if given and not isinstance(given[0], int) else given
    decode = _decoder()
    return [decode(list(row)) for row in rows]


def _rows(given: Any) -> list[list[int]] | None:
    if not isinstance(given, list) or not given:
        return None
    if all(type(token) is int for token in given):
        return [given]
    if any(isinstance(row, str) or not hasattr(row, "__iter__") for row in given):
        return None
    rows = [list(row) for row in given]
    return rows if all(row and all(type(token) is int for token in row) for row in rows) else None


@lru_cache(maxsize=1)
def _decoder() -> Any:
    for library in ("quicktok", "tiktoken"):
        try:
            return import_module(library).get_encoding(_ENCODING).decode
        except (ImportError, OSError, ValueError):
            continue
    raise MissingExtra("tiktoken", "tokenizers")
