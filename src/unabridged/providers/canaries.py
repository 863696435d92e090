"""Canaries: a few fixed texts whose vectors are remembered, to see when a model has changed (SPEC L15).

A host may replace a model under the same name. Its vectors then lie elsewhere, and mixing them with
stored ones ruins every search. So the first vectors of these texts are kept, per host and model (and
width and role, through ``fingerprint``), and compared with what the model says later.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from unabridged.providers.knowledge import Knowledge

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from unabridged.types import Vectors

__all__ = ["CANARY_TEXTS", "Canaries", "drift", "drifted"]

# Two languages, a number, code: a new tokenizer, a new quantisation and new weights all show in these.
CANARY_TEXTS = (
    "The quick brown fox jumps over the lazy dog on 14 March.",
    "自然言語処理の評価には、再現できる実験が必要である。",
    "def area(radius: float) -> float: return 3.14159 * radius**2",
)
# The same weights in half precision, or batched otherwise, move a vector by less than 0.001; int8 by
# about 0.01; another model by 0.3 and more.
TOLERANCE = 0.03
_TABLE = """
CREATE TABLE IF NOT EXISTS canaries (
  host TEXT NOT NULL, model TEXT NOT NULL, fingerprint TEXT NOT NULL, width INTEGER NOT NULL,
  vectors BLOB NOT NULL, at REAL NOT NULL, PRIMARY KEY (host, model, fingerprint));
"""


def drift(old: ArrayLike, new: ArrayLike) -> float:
    """How far vectors have moved: the largest cosine distance between the two of a text, 0 … 2.

    Both of shape ``(texts, width)``. Other shapes, zeros, values that are no numbers are the largest drift.

    >>> drift([[1.0, 0.0]], [[2.0, 0.0]]), drift([[1.0, 0.0]], [[0.0, 1.0]]), drift([[1.0]], [[1.0, 0.0]])
    (0.0, 1.0, 2.0)
    """
    a, b = np.atleast_2d(np.asarray(old, np.float64)), np.atleast_2d(np.asarray(new, np.float64))
    if a.shape != b.shape or a.size == 0 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return 2.0
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    if not norms.all():
        return 2.0
    cosines = np.clip(np.einsum("ij,ij->i", a, b) / norms, -1.0, 1.0)
    return float(1.0 - cosines.min())


def drifted(old: ArrayLike, new: ArrayLike, *, tolerance: float = TOLERANCE) -> bool:
    """Whether two sets of canary vectors come from different models.

    >>> drifted([[1.0, 0.0]], [[0.999, 0.01]]), drifted([[1.0, 0.0]], [[0.7, 0.7]])
    (False, True)
    """
    return drift(old, new) > tolerance


class Canaries:
    """The remembered vectors, in the same file as the learned limits."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._knowledge = Knowledge(path)
        self._knowledge.prepare(_TABLE)

    def recall(self, host: str, model: str, fingerprint: str = "") -> Vectors | None:
        """The vectors of :data:`CANARY_TEXTS` as they were, float32 ``(texts, width)``; ``None`` if new."""
        rows = self._knowledge.read(
            "SELECT width, vectors FROM canaries WHERE host = ? AND model = ? AND fingerprint = ?",
            (host, model, fingerprint),
        )
        if not rows:
            return None
        width, raw = rows[0]
        if width < 1 or len(raw) % (4 * width):
            return None
        return np.frombuffer(raw, "<f4").reshape(-1, width).astype(np.float32)

    def remember(self, host: str, model: str, vectors: ArrayLike, fingerprint: str = "") -> None:
        """Keep these vectors as the model's own: the first time, or when a change has been confirmed."""
        array = np.atleast_2d(np.asarray(vectors, "<f4"))
        with self._knowledge.write() as database:
            database.execute(
                "INSERT OR REPLACE INTO canaries VALUES (?, ?, ?, ?, ?, ?)",
                (host, model, fingerprint, array.shape[1], array.tobytes(), time.time()),
            )

    def check(self, host: str, model: str, vectors: ArrayLike, fingerprint: str = "") -> float:
        """The drift from what is remembered; the first vectors of a model are remembered, with drift 0."""
        known = self.recall(host, model, fingerprint)
        if known is None:
            self.remember(host, model, vectors, fingerprint)
            return 0.0
        return drift(known, vectors)

    def forget(self, host: str | None = None, model: str | None = None) -> int:
        """Drop the canaries of a host, a model, both, or all; how many went."""
        return self._knowledge.drop(("canaries",), host, model)[0]
