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


MOST = 2048  # tokens of context that are taken unasked: a long one costs gigabytes of memory in some models


class LlamaCppProvider(InProcessProvider):
    """A GGUF file; ``model`` is its path. ``options`` go to ``Llama``.

    ``num_ctx`` is the context in tokens; if it is not given, that which the model was made for, up to 2,048.
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
        num_ctx: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, dimensions=dimensions, limit=limit, prompts=prompts)
        self._given_context = num_ctx
        self._options = options

    def load(self) -> Any:
        """Load the file for embeddings."""
        from llama_cpp import Llama

        context = self._given_context or min(_made_for(self.model), MOST)
        sizes = {"n_ctx": context, "n_batch": context, "n_ubatch": context}
        return Llama(self.model, embedding=True, verbose=False, **{**sizes, **self._options})

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """One text after another: a batch of several would have to share the context."""
        return np.array([model.embed(text, normalize=True, truncate=False) for text in texts])

    def own_limit(self, model: Any) -> Limit:
        """A batch, without the special tokens: the context itself is rounded up by the library."""
        specials = len(model.tokenize(b"", add_bos=True, special=True))
        return Limit(input_tokens=min(model.n_batch, model.n_ctx()) - specials)

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """The model's vocabulary."""
        return _Count(model, self.model)


def _made_for(path: str) -> int:
    """The context in tokens that a file says its model was trained for."""
    from llama_cpp import Llama

    model = Llama(path, vocab_only=True, verbose=False)
    try:
        kind = model.metadata.get("general.architecture", "")
        return int(model.metadata.get(f"{kind}.context_length", MOST))
    finally:
        model.close()


class _Count:
    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self._model = model

    def count(self, text: str) -> int:
        return len(self._model.tokenize(text.encode("utf-8", "replace"), add_bos=False))
