"""The common part of frameworks whose embedding object turns texts into rows of numbers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from unabridged.adapters.bridge import Bridge
from unabridged.adapters.client import Answer, ClientProvider, verified
from unabridged.adapters.identity import identity_of, own_limit
from unabridged.adapters.shapes import like, listed, texts_of
from unabridged.embedding.embedder import Embedder
from unabridged.errors import Overflow
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from unabridged.adapters.bridge import Outcome
    from unabridged.adapters.identity import Identity
    from unabridged.types import Request

__all__ = ["Rows", "rows_for"]


def rows_for(inner: Any, options: Mapping[str, Any], calls: Callable[[Any], dict[str, Any]]) -> Rows | OwnRows:
    """The ``calls`` of a framework's object, bridged; for a model's name (or nothing), an embedder's."""
    if inner is None or isinstance(inner, str):
        return OwnRows(Embedder(inner, **options))
    return Rows(inner, options, **calls(inner))


class Rows:
    """A framework's embedding object, bridged.

    ``documents`` embeds a list, ``query`` one text; without their async twins they are asked in a thread.
    """

    def __init__(
        self,
        inner: Any,
        options: Mapping[str, Any],
        *,
        documents: Callable[[list[str]], Any],
        query: Callable[[str], Any] | None = None,
        adocuments: Callable[[list[str]], Awaitable[Any]] | None = None,
        aquery: Callable[[str], Awaitable[Any]] | None = None,
        identity: Identity | None = None,
        null_is_refusal: bool = False,
    ) -> None:
        identity = identity or identity_of(inner)
        limit, tokenizer = own_limit(inner)
        self._documents, self._query = documents, query
        self._adocuments, self._aquery = adocuments, aquery
        self._name = identity.name
        self._null_is_refusal = null_is_refusal
        provider = ClientProvider(
            name=identity.name,
            model=identity.model or type(inner).__name__,
            host=identity.host,
            ask=self._ask,
            aask=self._aask if adocuments is not None else None,
            limit=limit,
            tokenizer=tokenizer,
        )
        self.bridge = Bridge(provider, options)

    def documents(self, texts: Any) -> Any:
        """A row a text."""
        given = listed(texts)
        several = texts_of(given)
        if several is None:
            return self._documents(given)
        return self.bridge.run(
            several,
            lambda: self._checked(self._documents(several), several),
            lambda made: like(made.sample, made.vectors),
        )

    def query(self, text: Any) -> Any:
        """The row of one query."""
        ask = self._query or self._first
        if not isinstance(text, str):
            return ask(text)
        return self.bridge.run([text], lambda: self._checked([ask(text)], [text])[0], _row, role="query")

    async def adocuments(self, texts: Any) -> Any:
        """As :meth:`documents`."""
        ask = self._adocuments or _threaded(self._documents)
        given = listed(texts)
        several = texts_of(given)
        if several is None:
            return await ask(given)

        async def direct() -> Any:
            return self._checked(await ask(several), several)

        return await self.bridge.arun(several, direct, lambda made: like(made.sample, made.vectors))

    async def aquery(self, text: Any) -> Any:
        """As :meth:`query`."""
        ask = self._aquery or _threaded(self._query or self._first)
        if not isinstance(text, str):
            return await ask(text)

        async def direct() -> Any:
            return self._checked([await ask(text)], [text])[0]

        return await self.bridge.arun([text], direct, _row, role="query")

    def _ask(self, request: Request) -> Answer:
        if request.role == "query" and self._query is not None:
            rows = [self._query(text) for text in request.texts]
        else:
            rows = self._documents(list(request.texts))
        self._refuse_nulls(rows, request.texts)
        return Answer(rows, sample=rows)

    async def _aask(self, request: Request) -> Answer:
        if request.role == "query" and self._aquery is not None:
            rows = await asyncio.gather(*(self._aquery(text) for text in request.texts))
        else:
            assert self._adocuments is not None  # noqa: S101
            rows = await self._adocuments(list(request.texts))
        return Answer(rows, sample=rows)

    def _first(self, text: str) -> Any:
        return self._documents([text])[0]

    def _refuse_nulls(self, rows: Any, texts: Sequence[str]) -> None:
        """A refusal that the client has swallowed, and its reason with it: most likely the text's size."""
        if not self._null_is_refusal:
            return
        null = [at for at, (row, text) in enumerate(zip(rows, texts, strict=True)) if row is None and text.strip()]
        if null:
            indices = () if len(null) == len(texts) else tuple(null)
            fault = Fault("input_overflow", "input", indices=indices, confidence=0.5)
            raise Overflow(f"{self._name}: refused without a reason, or logged and left out", fault)

    def _checked(self, rows: Any, texts: Sequence[str]) -> Any:
        self._refuse_nulls(rows, texts)
        return verified(rows, texts, self._name)


class OwnRows:
    """The same for a model that is named instead of wrapped: lists of floats from an embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def documents(self, texts: Any) -> list[list[float]]:
        """A row a text."""
        return self.embedder.embed(list(listed(texts))).tolist()

    def query(self, text: str) -> list[float]:
        """The row of one query."""
        return self.embedder.embed_query([text])[0].tolist()

    async def adocuments(self, texts: Any) -> list[list[float]]:
        """As :meth:`documents`."""
        return (await self.embedder.aembed(list(listed(texts)))).tolist()

    async def aquery(self, text: str) -> list[float]:
        """As :meth:`query`."""
        return (await self.embedder.aembed_query([text]))[0].tolist()


def _row(made: Outcome) -> Any:
    rows = like(made.sample, made.vectors)
    return rows[0]


def _threaded(call: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
    return lambda given: asyncio.to_thread(call, given)
