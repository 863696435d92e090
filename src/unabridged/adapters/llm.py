"""simonw/llm: a plugin. Every embedding model ``x`` that llm knows is there once more as ``unabridged/x``.

``llm embed -m unabridged/3-small -i book.txt``; ``unabridged`` alone is the embedded default model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llm

from unabridged.adapters.rows import rows_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["UnabridgedModel", "register_embedding_models", "wrapped"]


def wrapped(inner: llm.EmbeddingModel, options: Mapping[str, Any]) -> UnabridgedModel:
    """The model, for texts of any length."""
    return UnabridgedModel(inner, **options)


class UnabridgedModel(llm.EmbeddingModel):
    """An embedding model for texts of any length, around another one, or around the embedded default."""

    def __init__(self, inner: llm.EmbeddingModel | None = None, **options: Any) -> None:
        self.inner = inner
        self.model_id = "unabridged" if inner is None else f"unabridged/{inner.model_id}"
        self._options = options
        self._rows: dict[str | None, Any] = {}
        for name in ("key", "needs_key", "key_env_var", "supports_text", "supports_binary", "batch_size"):
            if inner is not None:
                setattr(self, name, getattr(inner, name))

    def embed_batch(self, items: Iterable[str | bytes], *, key: str | None = None) -> Iterator[list[float]]:
        """A vector for each text; what is not text is the inner model's business."""
        given = list(items)
        if self.inner is not None and any(isinstance(item, bytes) for item in given):
            yield from self.inner._embed_batch(given, key=key)  # noqa: SLF001
            return
        yield from (list(map(float, row)) for row in self._for(key).documents(given))

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self.inner, self._options)

    def _for(self, key: str | None) -> Any:
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = rows_for(
                self.inner,
                self._options,
                lambda inner: {"documents": lambda texts: list(inner._embed_batch(texts, key=key))},  # noqa: SLF001
            )
        return found


@llm.hookimpl(trylast=True)
def register_embedding_models(register: Callable[..., None]) -> None:
    """Tell llm of our models: the default, and one around each model of every other plugin."""
    register(UnabridgedModel())

    def again(model: llm.EmbeddingModel, aliases: Iterable[str] | None = None) -> None:
        register(UnabridgedModel(model), aliases=[f"unabridged/{alias}" for alias in aliases or ()])

    from llm.plugins import pm

    for plugin in pm.get_plugins():
        hook = getattr(plugin, "register_embedding_models", None)
        if hook is not None and hook is not register_embedding_models:
            hook(register=again)
