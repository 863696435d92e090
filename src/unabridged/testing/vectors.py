"""The loopback provider's vectors: made from the text alone, and spoilt on demand."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unabridged.testing.troubles import Trouble
    from unabridged.types import Vector

__all__ = ["spoilt", "vector_for"]


def vector_for(text: str, dimensions: int = 32) -> Vector:
    """The loopback provider's vector for a text: unit length, the same everywhere and for ever.

    >>> vector_for("a text").shape, bool((vector_for("a text") == vector_for("b text")).any())
    ((32,), False)
    """
    digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(dimensions)
    values = np.frombuffer(digest, dtype=np.int8).astype(np.float32)
    values[0] += 0.5  # never all zero
    unit: Vector = values / np.float32(np.sqrt(np.dot(values, values)))
    return unit


def spoilt(rows: list[tuple[int, Any]], trouble: Trouble) -> list[tuple[int, Any]]:
    """An answer with something wrong in it."""
    if trouble.kind == "reverse":
        return rows[::-1]
    if trouble.kind == "empty":
        return []
    if trouble.kind == "fewer":
        return rows[:-1]
    if trouble.kind == "more":
        return [*rows, (len(rows), rows[-1][1])]
    at = min(trouble.at, len(rows) - 1)
    index, vector = rows[at]
    if trouble.kind == "duplicate":
        index = (index + 1) % max(len(rows), 2)
    elif trouble.kind == "gap":
        index = len(rows) + 7
    else:
        vector = _spoilt_vector(vector, trouble.kind)
    return [*rows[:at], (index, vector), *rows[at + 1 :]]


def _spoilt_vector(vector: Any, kind: str) -> Any:
    if kind == "null":
        return None
    values = np.frombuffer(base64.b64decode(vector), "<f4") if isinstance(vector, str) else np.array(vector)
    if kind == "narrow":
        values = values[: max(1, len(values) // 4)]
    elif kind == "zero":
        values = np.zeros_like(values)
    else:
        values = values.copy()
        values[-1] = {"nan": np.nan, "infinite": np.inf}[kind]
    if isinstance(vector, str):
        return base64.b64encode(values.astype("<f4").tobytes()).decode()
    return values.tolist()
