"""GGUF models by llama-cpp-python, in this process (package ``llama-cpp-python``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.providers.inprocess import InProcessProvider
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from unabridged.types import Role, Tokenizer

__all__ = ["LlamaCppProvider"]


class LlamaCppProvider(InProcessProvider):
    """A GGUF file; ``model`` is its path. ``num_ctx`` is the context in tokens; ``options`` go to ``Llama``.

    The batch is made as large as the context, because a text must be one batch, and nothing is cut.
    """

    name = "llama-cpp"
    package = "llama-cpp-python"
    module = "llama_cpp"
    extra = "llama-cpp"

    def __init__(
        self,
        model: str | None = None,
        *,
        dimensions: int | None = None,
        limit: Limit | None = None,
        prompts: Mapping[Role, str] | None = None,
        num_ctx: int = 512,
        **options: Any,
    ) -> None:
        super().__init__(model, dimensions=dimensions, limit=limit, prompts=prompts)
        self._context = num_ctx
        self._options = options

    def load(self) -> Any:
        """Load the file for embeddings."""
        from llama_cpp import Llama

        sizes = {"n_ctx": self._context, "n_batch": self._context, "n_ubatch": self._context}
        return Llama(self.model, embedding=True, verbose=False, **{**sizes, **self._options})

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """One text after another: a batch of several would have to share the context."""
        return np.array([model.embed(text, normalize=True, truncate=False) for text in texts])

    def own_limit(self, model: Any) -> Limit:
        """The context, without the special tokens."""
        return Limit(input_tokens=int(model.n_ctx()) - len(model.tokenize(b"", add_bos=True, special=True)))

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """The model's vocabulary."""
        return _Count(model, self.model)


class _Count:
    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._model = model

    def count(self, text: str) -> int:
        return len(self._model.tokenize(text.encode("utf-8", "replace"), add_bos=False))
