"""txtai: a transform for ``Embeddings(method="external")``.

>>> from unabridged.adapters.txtai import transform
>>> make = transform("hashing", cache=False)
>>> make(["short", "long " * 9000]).shape
(2, 256)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.adapters import wrap
from unabridged.embedding.embedder import Embedder

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.types import Vectors

__all__ = ["transform"]


def transform(model: Callable[[list[str]], Any] | str | None = None, **options: Any) -> Callable[[list[str]], Vectors]:
    """A function of a function (or of a model's name), for texts of any length.

    txtai takes plain functions only: it would call any other callable to make one.
    """
    if model is None or isinstance(model, str):
        embed: Callable[..., Any] = Embedder(model, **options).embed
    else:
        embed = wrap(model, **options)

    def make(texts: list[str]) -> Vectors:
        return np.asarray(embed(list(texts)), dtype=np.float32)

    return make
