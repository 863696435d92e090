"""Vectors asked for lately, in memory: the disk is not asked, no thread is woken, no text is kept.

An entry is found by the model, the role and the SHA-256 of the text. When it is full, what was used
longest ago goes first.
"""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unabridged.embedding.results import TextResult
    from unabridged.types import Vector

__all__ = ["Hot", "Warm"]

# In characters: a longer text costs more to hash than the disk costs to ask.
LONGEST = 1 << 16
_OVERHEAD = 600  # bytes that the objects of an entry take


class Warm:
    """One text's vector, and what is said of it."""

    __slots__ = ("_base64", "chunks", "tokens", "unknown", "vector")

    def __init__(self, found: TextResult) -> None:
        assert found.vector is not None  # noqa: S101 -- whoever has none has been refused before
        self.vector: Vector = found.vector
        self.tokens = found.tokens
        self.chunks = found.chunk_count
        self.unknown = found.unknown_share or 0.0
        self._base64: str | None = None

    @property
    def base64(self) -> str:
        """Little-endian float32, as OpenAI's SDK asks for it."""
        if self._base64 is None:
            self._base64 = base64.b64encode(self.vector.astype("<f4", copy=False).tobytes()).decode()
        return self._base64

    @property
    def size(self) -> int:
        """Bytes, with the form that is made later."""
        return self.vector.nbytes * 7 // 3 + _OVERHEAD


class Hot:
    """The entries, by model, role and text."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[bytes, Warm] = OrderedDict()

    def get(self, prefix: bytes, text: str) -> Warm | None:
        """The entry of a text."""
        if not self._limit or len(text) > LONGEST:
            return None
        key = _key(prefix, text)
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, prefix: bytes, text: str, warm: Warm) -> None:
        """Keep an entry, unless it is too large for its like to be kept."""
        if not self._limit or len(text) > LONGEST or warm.size * 16 > self._limit:
            return
        key = _key(prefix, text)
        if key not in self._entries:
            self._size += warm.size
        self._entries[key] = warm
        while self._size > self._limit:
            _, gone = self._entries.popitem(last=False)
            self._size -= gone.size

    def clear(self) -> None:
        """Forget everything: a text has been erased."""
        self._entries.clear()
        self._size = 0

    def __len__(self) -> int:
        return len(self._entries)


def _key(prefix: bytes, text: str) -> bytes:
    return hashlib.sha256(prefix + text.encode("utf-8", "surrogatepass")).digest()
