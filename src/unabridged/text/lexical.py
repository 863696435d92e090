"""Vectors from the words alone: a hashed bag of words, offline, the same every time (SPEC S10)."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["lexical_vectors", "words_of"]

_WIDTH = 512
# Words; characters of scripts that are written without spaces stand for words.
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+(?:['’][^\W_]+)?")


def words_of(text: str) -> list[str]:
    """The words of a text, case folded.

    >>> words_of("Don't stop, 東京!")
    ["don't", 'stop', '東', '京']
    """
    return _WORD.findall(text.casefold())


def lexical_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors of shape ``(texts, 512)``; texts that share words are near each other. Blank ones are zero.

    A word weighs by the root of its count, so that one that is repeated does not drown the others.

    >>> one, two, three = lexical_vectors(["red apples fall", "apples fall down", "ships sail far"])
    >>> bool(one @ two > one @ three)
    True
    """
    vectors = np.zeros((len(texts), _WIDTH), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in words_of(text):
            code = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            row[code % _WIDTH] += 1.0 if code & 0x8000_0000 else -1.0
    vectors = np.sign(vectors) * np.sqrt(np.abs(vectors))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norms, out=vectors, where=norms > 0)
