"""Any sentence-transformers model, by name or folder (package ``sentence-transformers``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.providers.inprocess import InProcessProvider, RawTokenizer
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from unabridged.types import Role, Tokenizer

__all__ = ["SentenceTransformersProvider"]


class SentenceTransformersProvider(InProcessProvider):
    """A model with its own length, prompts and modules. ``options`` go to ``SentenceTransformer``.

    The model's own prompts are used by role, where it has them, unless ``prompts`` are given.
    """

    name = "sentence-transformers"
    package = "sentence-transformers"
    module = "sentence_transformers"
    extra = "sentence-transformers"

    def __init__(
        self,
        model: str | None = None,
        *,
        dimensions: int | None = None,
        limit: Limit | None = None,
        prompts: Mapping[Role, str] | None = None,
        batch_size: int = 32,
        **options: Any,
    ) -> None:
        super().__init__(model, dimensions=dimensions, limit=limit, prompts=prompts)
        self._batch_size = batch_size
        self._options = options

    def load(self) -> Any:
        """Load it by its own library."""
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(self.model, **self._options)

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """By the method of the role where the library has one: it knows the model's prompt."""
        method = model.encode if self._prompts else getattr(model, f"encode_{role}", model.encode)
        vectors: NDArray[Any] = method(
            texts, batch_size=self._batch_size, show_progress_bar=False, convert_to_numpy=True
        )
        return vectors

    def own_limit(self, model: Any) -> Limit:
        """``max_seq_length``, without the special tokens and the model's longest prompt."""
        longest = model.max_seq_length
        if longest is None:
            return Limit()
        tokenizer = self.own_tokenizer(model)
        own = [] if self._prompts or tokenizer is None else [tokenizer.count(p) for p in _prompts(model)]
        return Limit(input_tokens=int(longest) - getattr(tokenizer, "specials", 2) - max(own, default=0))

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """The fast tokenizer below the model's, if it has one."""
        wrapped = getattr(model.tokenizer, "backend_tokenizer", None)
        if wrapped is not None:
            return RawTokenizer(wrapped, self.model, wrapped.num_special_tokens_to_add(is_pair=False))
        return RawTokenizer(model.tokenizer, self.model) if hasattr(model.tokenizer, "to_str") else None


def _prompts(model: Any) -> list[str]:
    found = getattr(model, "prompts", None) or {}
    return [prompt for prompt in found.values() if prompt]
