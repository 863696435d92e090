"""Texts as callers pass them, and vectors as callers expect them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unabridged.types import Vectors

__all__ = ["like", "listed", "texts_of"]


def listed(given: Any) -> Any:
    """A generator, an array or a column as a list, so that it can be read twice; all else as it is.

    >>> listed(word for word in ["two", "texts"]), listed("one text"), listed(None)
    (['two', 'texts'], 'one text', None)
    """
    for method in ("tolist", "to_pylist"):  # numpy and pandas, pyarrow
        if hasattr(given, method):
            return getattr(given, method)()
    if isinstance(given, (str, bytes, list, dict)) or not hasattr(given, "__iter__"):
        return given
    return list(given)


def texts_of(given: Any) -> list[str] | None:
    """One text or several as a list; ``None`` for anything else, which is the client's business.

    >>> texts_of("one"), texts_of(["two", "texts"]), texts_of([1, 2]), texts_of([])
    (['one'], ['two', 'texts'], None, None)
    """
    if isinstance(given, str):
        return [given]
    if isinstance(given, list) and given and all(isinstance(text, str) for text in given):
        return given
    return None


def like(sample: Any, vectors: Vectors) -> Any:
    """Vectors of shape ``(n, width)`` in the type of a sample: an array, a tensor, or lists.

    >>> like([[0.5]], np.ones((1, 2), np.float32)), like([np.ones(2)], np.ones((1, 2), np.float32))
    ([[1.0, 1.0]], [array([1., 1.])])
    """
    if isinstance(sample, np.ndarray) and sample.dtype != object:
        return vectors.astype(sample.dtype)[0 if sample.ndim == 1 else slice(None)]
    if hasattr(sample, "detach"):  # a torch tensor: the device and type of the sample's
        return sample.new_tensor((vectors[0] if sample.ndim == 1 else vectors).tolist())
    if isinstance(sample, (list, tuple)) and sample:
        if np.ndim(sample[0]) == 0:  # the vector of one text
            return type(sample)(vectors[0].tolist())
        return type(sample)(like(sample[0], row[np.newaxis]) for row in vectors)
    return vectors.tolist()
