"""Answers of chat models on disk, so that a retry is free: the embedder's cache shelf, and JSON for values.

A key is two halves: what the question is about (a text, so that its answers can be forgotten with it), and
everything else that the answer depends on.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any

from unabridged.embedding.cache import ByteCache, default_cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["AnswerCache", "answer_key"]

_HEADER = struct.Struct("<4sI")  # magic, CRC-32 of what follows
_MAGIC = b"UBA\x01"
_HALF = 16  # bytes


class AnswerCache(ByteCache[Any]):
    """Answers by key: JSON values, compressed.

    >>> import tempfile
    >>> with AnswerCache(tempfile.mkdtemp()) as cache:
    ...     cache.put({answer_key("a text", "a stage"): {"value": "an answer"}})
    ...     cache.forget(["a text"]), cache.forget(["a text"])
    (1, 0)
    """

    what = "answer cache"

    def _default_folder(self) -> Path:
        vectors = default_cache_folder()
        return vectors / "answers" if os.environ.get("UNABRIDGED_CACHE") else vectors.with_name("answers")

    def _pack(self, value: Any) -> bytes:
        body = zlib.compress(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)
        return _HEADER.pack(_MAGIC, zlib.crc32(body)) + body

    def _unpack(self, value: bytes) -> Any:
        if len(value) < _HEADER.size:
            return None
        magic, crc = _HEADER.unpack_from(value)
        body = value[_HEADER.size :]
        if magic != _MAGIC or zlib.crc32(body) != crc:
            return None
        try:
            return json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
        except (ValueError, zlib.error):
            return None

    def forget(self, texts: Iterable[str]) -> int:
        """Remove every answer about these texts; how many there were."""
        return sum(self.delete(self.beginning(_about(text))) for text in texts)


def answer_key(about: str, *parts: str) -> bytes:
    """The key of an answer: 32 bytes, of which the first half stands for the text that it is about.

    >>> answer_key("a", "b", "c") == answer_key("a", "bc") or answer_key("a", "b")[:16] != answer_key("a", "c")[:16]
    False
    """
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little") + raw)
    return _about(about) + state.digest()[:_HALF]


def _about(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_HALF]
