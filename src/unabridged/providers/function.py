"""A function of one's own as a provider: texts in, vectors out."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.providers.replies import bad_reply, checked, vectors_from
from unabridged.types import Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unabridged.types import Request, Tokenizer, Vectors

__all__ = ["FunctionProvider"]


class FunctionProvider:
    """Wraps ``function(texts: list[str])``, which gives a vector for each text: rows or an array.

    It may be a coroutine function, for async callers only. ``model`` names what it computes, and is
    part of the fingerprint; its own exceptions come back as they are.

    >>> from unabridged.types import Request
    >>> provider = FunctionProvider(lambda texts: [[len(text), 1.0] for text in texts], model="length")
    >>> provider.send(Request(("abc",))).vectors.tolist()
    [[3.0, 1.0]]
    """

    name = "function"
    host = "process"

    def __init__(
        self,
        function: Callable[[list[str]], Any],
        *,
        model: str,
        limit: Limit | None = None,
        tokenizer: Tokenizer | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.limit = limit or Limit()
        self.tokenizer = tokenizer
        self.settings: Mapping[str, str] = dict(settings or {})
        self._function = function

    def send(self, request: Request) -> Reply:
        """Call the function, and check what it gives."""
        if inspect.iscoroutinefunction(self._function):
            raise TypeError("this provider's function is a coroutine: use the async methods")
        return self._reply(request, self._function(list(request.texts)))

    async def asend(self, request: Request) -> Reply:
        """Await the function, or call it on a thread."""
        if inspect.iscoroutinefunction(self._function):
            return self._reply(request, await self._function(list(request.texts)))
        return await asyncio.to_thread(self.send, request)

    def close(self) -> None:
        """Nothing to give back."""

    async def aclose(self) -> None:
        """Nothing to give back."""

    def _reply(self, request: Request, found: Any) -> Reply:
        return Reply(_vectors(found, len(request.texts), request.dimensions), model=self.model)


def _vectors(found: Any, count: int, width: int | None) -> Vectors:
    if isinstance(found, np.ndarray):
        return checked(found, count=count, width=width, provider="function")
    try:
        rows = [(None, row.tolist() if hasattr(row, "tolist") else row) for row in found]
    except TypeError:
        raise bad_reply(f"no vectors, but {type(found).__name__}", provider="function") from None
    listed = [(at, list(row) if isinstance(row, tuple) else row) for at, row in rows]
    return vectors_from(listed, count=count, width=width, provider="function")
