"""fastembed: ``TextEmbedding.embed``, ``query_embed``, ``passage_embed``; vectors still come one by one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from unabridged.adapters.client import Answer, ClientProvider
from unabridged.adapters.identity import HuggingFaceTokens
from unabridged.adapters.shapes import texts_of
from unabridged.adapters.standin import StandIn, stand_in
from unabridged.types import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from unabridged.types import Request

__all__ = ["wrapped"]

_BATCH = 256  # fastembed's own default


def wrapped(model: Any, options: Mapping[str, Any]) -> Any:
    """A model of the same class, with the same weights, that embeds texts of any length."""
    return stand_in(model, _Model, options)


class _Model(StandIn):
    def embed(self, documents: Any, batch_size: int = _BATCH, parallel: int | None = None, **given: Any) -> Any:
        bare = self.theirs("embed")
        settings = {"batch_size": batch_size, "parallel": parallel, **given}
        # Workers are started once a call, so then all goes in one.
        size = batch_size if parallel is None else None
        return _embed(self, "embed", lambda texts: list(bare(texts, **settings)), documents, size, given)

    def passage_embed(self, texts: Any, **given: Any) -> Any:
        bare = self.theirs("passage_embed")
        return _embed(self, "passage", lambda some: list(bare(some, **given)), texts, _BATCH, given)

    def query_embed(self, query: Any, **given: Any) -> Any:
        bare = self.theirs("query_embed")
        return _embed(self, "query", lambda some: list(bare(some, **given)), query, _BATCH, given)


def _embed(
    model: Any,
    way: str,
    bare: Callable[[list[str]], list[Any]],
    given: Any,
    size: int | None,
    named: dict[str, Any],
) -> Iterator[Any]:
    settings = repr((way, sorted(named.items())))

    def ask(request: Request) -> Answer:
        return Answer(bare(list(request.texts)))

    def make() -> ClientProvider:
        if getattr(model.model, "tokenizer", None) is None:  # not loaded yet
            next(iter(bare(["load"])))
        tokenizer = model.model.tokenizer
        length = (tokenizer.truncation or {}).get("max_length")
        return ClientProvider(
            name="fastembed",
            model=model.model_name,
            ask=ask,
            limit=Limit(input_tokens=length) if length else None,
            tokenizer=HuggingFaceTokens(tokenizer),
            settings={"arguments": settings},
        )

    for texts in _batches([given] if isinstance(given, str) else given, size):
        several = texts_of(texts)
        if several is None:
            yield from bare(texts)
            continue
        bridge = model._unabridged.at(settings, make)  # noqa: SLF001
        yield from bridge.run(several, lambda several=several: bare(several), lambda made: list(made.vectors))


def _batches(texts: Iterable[str], size: int | None) -> Iterator[list[str]]:
    left = iter(texts)
    while batch := list(islice(left, size)):
        yield batch
