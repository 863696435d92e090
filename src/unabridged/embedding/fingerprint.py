"""What makes two vectors comparable, and under which key one is kept.

A *vector fingerprint* names everything that changes what a model answers for a given text: host, model,
its settings, width, role and prompt. A *document fingerprint* adds how a long text is cut and pooled.
A key is SHA-256 over a fingerprint and the exact text, so neither can be mistaken for part of the other.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from unabridged.text.wordbreaks import has_dictionary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.types import Provider, Role

__all__ = ["SPLITTER_VERSION", "digest", "document_fingerprint", "key", "vector_fingerprint"]

# Raised when the cutting engine would cut the same text otherwise than before.
SPLITTER_VERSION = 2


def digest(fields: Mapping[str, object]) -> str:
    """A stable name of 32 hex digits for a mapping, whatever the order of its keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": "1", "b": 2})
    True
    """
    text = json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def vector_fingerprint(provider: Provider, *, role: Role, dimensions: int | None) -> str:
    """The settings under which a raw vector of this provider was made."""
    return digest(
        {
            "provider": provider.name,
            "host": provider.host,
            "model": provider.model,
            "settings": dict(provider.settings),
            "role": role,
            "dimensions": dimensions,
        }
    )


def document_fingerprint(vector: str, settings: Mapping[str, object]) -> str:
    """The settings under which a document's one vector was made: those of its chunks, and of the cut."""
    words = {"words": "icu"} if has_dictionary() else {}  # it moves cuts inside Thai, Lao, Burmese and Khmer
    return digest({"vector": vector, "splitter": SPLITTER_VERSION, **words, **settings})


def key(fingerprint: str, text: str) -> bytes:
    """The cache key of a text: 32 bytes. Lone surrogates count as they are.

    >>> key("q", "x:hello") != key("q:x", "hello")
    True
    """
    named = fingerprint.encode()
    hashed = hashlib.sha256(len(named).to_bytes(4, "little") + named)
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return hashed.digest()
