"""graphiti: any ``EmbedderClient``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphiti_core.embedder.client import EmbedderClient

from unabridged.adapters.identity import identity_of
from unabridged.adapters.rows import Rows
from unabridged.adapters.shapes import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["UnabridgedEmbedder", "wrapped"]


def wrapped(inner: EmbedderClient, options: Mapping[str, Any]) -> UnabridgedEmbedder:
    """The embedder, for texts of any length."""
    return UnabridgedEmbedder(inner, **options)


class UnabridgedEmbedder(EmbedderClient):
    """An embedder for texts of any length, around another one."""

    def __init__(self, inner: EmbedderClient, **options: Any) -> None:
        self.inner = inner
        self.options = options
        self._rows = Rows(
            inner,
            options,
            documents=inner.create_batch,
            adocuments=inner.create_batch,
            aquery=inner.create,
            identity=identity_of(inner, getattr(inner, "config", None)),
        )

    async def create(self, input_data: Any) -> list[float]:
        """The vector of a text (of the first, if several are given: so graphiti's own embedders do)."""
        given = listed(input_data)
        if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str):
            given = given[0]
        return await self._rows.aquery(given)

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        """A vector for each text."""
        return await self._rows.adocuments(input_data_list)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self.inner, self.options)
