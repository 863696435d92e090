"""Models of fastembed, which run on onnxruntime (package ``fastembed``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.providers.inprocess import InProcessProvider, RawTokenizer
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from unabridged.types import Role, Tokenizer

__all__ = ["FastEmbedProvider"]


class FastEmbedProvider(InProcessProvider):
    """A supported model by name. ``options`` go to ``TextEmbedding``: ``cache_dir``, ``specific_model_path``."""

    name = "fastembed"
    package = "fastembed"
    module = "fastembed"
    extra = "fastembed"

    def __init__(
        self,
        model: str | None = None,
        *,
        dimensions: int | None = None,
        limit: Limit | None = None,
        prompts: Mapping[Role, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, dimensions=dimensions, limit=limit, prompts=prompts)
        self._options = options

    def load(self) -> Any:
        """Load it by its own library."""
        from fastembed import TextEmbedding

        return TextEmbedding(self.model, **self._options)

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """By the method of the role: it knows the model's prompt."""
        if self._prompts:
            rows = model.embed(texts)
        else:
            rows = model.query_embed(texts) if role == "query" else model.passage_embed(texts)
        return np.stack(list(rows))

    def own_limit(self, model: Any) -> Limit:
        """Where the tokenizer would truncate, without the special tokens."""
        raw = _raw(model)
        cuts = None if raw is None else raw.truncation
        if raw is None or not cuts:
            return Limit()
        return Limit(input_tokens=cuts["max_length"] - raw.num_special_tokens_to_add(is_pair=False))

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """A copy of the model's tokenizer that does not truncate."""
        raw = _raw(model)
        if raw is None:
            return None
        return RawTokenizer(raw, self.model, raw.num_special_tokens_to_add(is_pair=False))


def _raw(model: Any) -> Any:
    return getattr(getattr(model, "model", None), "tokenizer", None)
