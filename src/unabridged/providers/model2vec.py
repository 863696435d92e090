"""Static models of model2vec: a table of token vectors, no limit, very fast (package ``model2vec``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.providers.inprocess import InProcessProvider, RawTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from unabridged.types import Role, Tokenizer

__all__ = ["Model2VecProvider"]


class Model2VecProvider(InProcessProvider):
    """A static model by name or folder. It reads a text of any length to its end; nothing is cut.

    A text of which no token is known has no vector, and is refused (``bad_values``).
    """

    name = "model2vec"
    package = "model2vec"
    module = "model2vec"
    extra = "model2vec"

    def load(self) -> Any:
        """Load it by its own library."""
        from model2vec import StaticModel

        return StaticModel.from_pretrained(self.model)

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """To the end: the library's own default stops at 512 tokens."""
        vectors: NDArray[Any] = model.encode(texts, max_length=None, use_multiprocessing=False)
        return vectors

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """The model's tokenizer."""
        return RawTokenizer(model.tokenizer, self.model)

    def unknown(self, model: Any, texts: Sequence[str]) -> tuple[float, ...] | None:
        """Tokens that the model has no vector for."""
        if model.unk_token_id is None:
            return None
        shares = []
        for encoding in model.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False):
            ids = encoding.ids
            shares.append(ids.count(model.unk_token_id) / len(ids) if ids else 1.0)
        return tuple(shares)
