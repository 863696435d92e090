"""The road of every adapter: a call that fits is the client's own, the rest goes through an embedder."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unabridged.adapters.client import CALL, PATIENCE, Call, current, table_limit
from unabridged.embedding.embedder import Embedder
from unabridged.errors import EmbeddingFailed, ProviderError, UnabridgedError
from unabridged.types import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence

    from unabridged.adapters.client import ClientProvider
    from unabridged.embedding.results import EmbedResult
    from unabridged.types import Limit, Reply, Role, Vectors

__all__ = ["Bridge", "Bridges", "Outcome"]

_T = TypeVar("_T")
_TOO_LARGE = ("input_overflow", "request_overflow", "batch_count", "rate_limit_impossible")
_PROBE = Request(("width",))  # where only blank texts were given, and zeros are wanted for them
_MOST_BRIDGES = 64  # models, and settings of models, that one client is asked for at a time


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A vector for each text, float32 of shape ``(texts, width)``, and how it came about.

    ``sample`` is an answer of the client's own, if any was needed.
    """

    vectors: Vectors = field(repr=False)
    tokens: int
    report: Mapping[str, Any]
    sample: Any = None


class Bridge:
    """One model of one client.

    A call passes when its texts are within every known limit: then it is the client's own call, and its
    answer comes back as it is. What is over, or refused for its size, is cut, sent through the same
    client, pooled, and shaped by ``build``.
    """

    def __init__(self, provider: ClientProvider, options: Mapping[str, Any]) -> None:
        self.provider = provider
        provider.patience = options.get("patience", PATIENCE)
        self._options = {k: v for k, v in options.items() if k not in ("model", "patience")}
        given = options.get("limit")
        if given is None and options.get("model"):  # the model behind a deployment's name
            given = table_limit(provider.name, options["model"])
        if given is not None:
            self._options["limit"] = _over(provider.limit, given)
        self._blank_is_theirs = "empty" not in options
        # Who asks for the cache wants it asked first; a time-out of ours can only bound requests of ours.
        self._passes = not options.get("cache") and options.get("timeout") is None
        if provider.host == "process":  # nothing is gained, and not every model likes several threads
            self._options.setdefault("concurrency", 1)
        # A function's vectors have no name under which they could be kept for the next program.
        self._options.setdefault("cache", provider.host != "process")
        self._options.setdefault("empty", "skip")
        self._embedders: dict[int, Embedder] = {}

    @property
    def embedder(self) -> Embedder:
        """The embedder of this process: a forked child gets one of its own."""
        pid = os.getpid()
        found = self._embedders.get(pid)
        return found or self._embedders.setdefault(pid, Embedder(self.provider, **self._options))

    def run(
        self,
        texts: Sequence[str],
        direct: Callable[[], _T],
        build: Callable[[Outcome], _T],
        *,
        role: Role = "document",
        extras: Mapping[str, Any] | None = None,
    ) -> _T:
        """Make the client's own call if it fits, else one that does, and shape its outcome."""
        refusal = None
        if self._may_pass(texts):
            try:
                return direct()
            except Exception as error:
                refusal = self._too_large(error, texts)
                if refusal is None:
                    raise
        token = CALL.set(Call(extras or {}))
        try:
            with self.provider.replaying(texts, refusal):
                return build(self._outcome(texts, role))
        finally:
            CALL.reset(token)

    async def arun(
        self,
        texts: Sequence[str],
        direct: Callable[[], Awaitable[_T]],
        build: Callable[[Outcome], _T | Awaitable[_T]],
        *,
        role: Role = "document",
        extras: Mapping[str, Any] | None = None,
    ) -> _T:
        """As :meth:`run`, for async callers."""
        refusal = None
        if self._may_pass(texts):
            try:
                return await direct()
            except Exception as error:
                refusal = self._too_large(error, texts)
                if refusal is None:
                    raise
        token = CALL.set(Call(extras or {}))
        try:
            with self.provider.replaying(texts, refusal):
                made = build(await self._aoutcome(texts, role))
                return await made if inspect.isawaitable(made) else made
        finally:
            CALL.reset(token)

    def _may_pass(self, texts: Sequence[str]) -> bool:
        if not self._passes or not (self._blank_is_theirs or not any(map(_is_blank, texts))):
            return False
        return self.embedder.fits(texts)

    def _too_large(self, error: Exception, texts: Sequence[str]) -> ProviderError | None:
        refusal = self.provider.refusal(error)
        if refusal is not None and refusal.fault.kind in _TOO_LARGE:
            return refusal
        blank = [at for at, text in enumerate(texts) if _is_blank(text)]
        if blank and refusal is not None:
            where = ", ".join(map(str, blank[:10]))
            error.add_note(f'unabridged: blank texts at {where}; wrap(…, empty="zero") goes on with the others')
        return None

    def _outcome(self, texts: Sequence[str], role: Role) -> Outcome:
        failure: UnabridgedError
        try:
            blank = self._blank(texts)
            rows = self.provider.send(Request(tuple(texts[at] for at in blank), role)) if blank else None
            result = self.embedder.embed_detailed(texts, role=role)
            width = result.width or len(self.provider.send(_PROBE).vectors[0])
        except UnabridgedError as error:
            failure = error
        else:
            return _gathered(result, width, blank, rows)
        raise self._own(failure)

    async def _aoutcome(self, texts: Sequence[str], role: Role) -> Outcome:
        failure: UnabridgedError
        try:
            blank = self._blank(texts)
            rows = await self.provider.asend(Request(tuple(texts[at] for at in blank), role)) if blank else None
            result = await self.embedder.aembed_detailed(texts, role=role)
            width = result.width or len((await self.provider.asend(_PROBE)).vectors[0])
        except UnabridgedError as error:
            failure = error
        else:
            return _gathered(result, width, blank, rows)
        raise self._own(failure)

    def _blank(self, texts: Sequence[str]) -> list[int]:
        """Blank texts that are the client's business: it embeds or refuses them as it always does."""
        return [at for at, text in enumerate(texts) if _is_blank(text)] if self._blank_is_theirs else []

    def _own(self, error: BaseException) -> BaseException:
        """The client's own exception inside ours, with the finished part attached."""
        result = getattr(error, "result", None)
        if isinstance(error, EmbeddingFailed) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        if isinstance(error, ProviderError):
            if error.fault.kind in ("auth", "quota"):
                self._embedders.clear()  # the caller may mend it, and ask again
            if error.__cause__ is not None:
                error = error.__cause__
        if result is not None:
            error.unabridged = result  # type: ignore[attr-defined]
        return error


class Bridges:
    """The bridges of one wrapped client, one for each model and setting that it is asked for."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)
        self._made: dict[Hashable, Bridge] = {}

    def at(self, key: Hashable, make: Callable[[], ClientProvider]) -> Bridge:
        """The bridge for a key, made when it is first asked for."""
        found = self._made.get(key)
        if found is None:
            while len(self._made) >= _MOST_BRIDGES:
                self._made.pop(next(iter(self._made)), None)
            found = self._made.setdefault(key, Bridge(make(), self.options))
        return found


def _over(known: Limit, given: Limit) -> Limit:
    """What is given, and what is known where nothing is."""
    stated = {f.name: getattr(given, f.name) for f in fields(given) if getattr(given, f.name) is not None}
    return replace(known, **stated)


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _gathered(result: EmbedResult, width: int, blank: Sequence[int], rows: Reply | None) -> Outcome:
    vectors = np.zeros((len(result), width), np.float32)
    for text in result:
        if text.vector is not None and text.vector.size:
            vectors[text.index] = text.vector
    usage, seen = result.usage, current().seen
    tokens = usage.tokens
    if rows is not None:
        vectors[blank] = rows.vectors
        tokens += rows.tokens or 0
    report = {
        "texts": len(result),
        "chunked": sum(text.status == "chunked" for text in result),
        "chunks": usage.chunks + len(blank),
        "requests": usage.requests + (rows is not None),
        "cached": usage.cached,
        "tokens": tokens,
        "warnings": list(result.warnings),
    }
    return Outcome(vectors, tokens, report, seen[-1] if seen else None)
