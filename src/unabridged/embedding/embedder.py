"""The embedder: any text -> one vector. The story on one page; each step has a module of its own."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from unabridged.embedding.drift import DriftGuard
from unabridged.embedding.engine import Engine, Flow
from unabridged.embedding.failures import raise_failures
from unabridged.embedding.fingerprint import document_fingerprint, vector_fingerprint
from unabridged.embedding.inputs import (
    cache_of,
    checked_texts,
    declared_limit,
    knowledge_path,
    known_names,
    one_of,
    positive,
    providers,
)
from unabridged.embedding.lanes import Lanes
from unabridged.embedding.limits import LimitsInForce
from unabridged.embedding.plan import Chunking, Cutting
from unabridged.embedding.pooling import check_pooling
from unabridged.embedding.preview import as_cut
from unabridged.embedding.results import EmbedResult, Progress
from unabridged.embedding.run import Run, aside
from unabridged.embedding.settings import Settings
from unabridged.embedding.verdicts import blank, unknown
from unabridged.providers.calibration import Calibration
from unabridged.providers.limits import LearnedLimits
from unabridged.types import Limit, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from unabridged.embedding.cache import Entry, VectorCache
    from unabridged.embedding.flights import Landing
    from unabridged.embedding.verdicts import Empty, OnUnknown
    from unabridged.types import ChunkSet, Provider, Role, Vector, Vectors

__all__ = ["Embedder"]

_AT_ONCE = 8  # requests in flight, unless the provider knows better


class Embedder:
    """Turns texts of any length into vectors, with one model, cached, in parallel.

    ``provider`` is a provider, a name such as ``"openai/text-embedding-3-small"``, or several of
    either: keys of one host take turns, other hosts are fallbacks for the same model. Nothing given
    means the embedded default (no key, no network).

    ``chunking`` cuts what is over the limit (``False``: the provider's own error comes back);
    ``on_overflow="truncate"`` keeps the beginning and says so. ``pooling`` is ``weighted`` (by the tokens
    that each chunk alone brings), ``mean``, ``max``, ``first``, ``hierarchical`` (by sections), or ``none``.
    ``cache`` is a folder, a :class:`VectorCache`, ``True`` for the user's own, or ``False``.
    ``concurrency`` is the most requests in flight (8; 1 for the embedded model, which uses every core).
    ``timeout`` is in seconds, for a whole call. ``empty`` and ``on_error`` say what a bad text does: by
    default it raises, when all others are done, with the finished part as ``error.result``. A blank text given
    alone is then no error but an empty vector, of width 0, at once; what ``empty`` says holds for it too.
    ``on_drift="error"`` compares a few fixed texts with how the model embedded them before, once, and
    refuses to go on with a model that has changed. What a provider refuses is learned, beside the cache.

    >>> embedder = Embedder("hashing", cache=False)
    >>> embedder.embed("a text of any length").shape, embedder.embed(["two", "texts"]).shape
    ((256,), (2, 256))
    """

    @known_names
    def __init__(
        self,
        provider: Provider | str | Sequence[Provider | str] | None = None,
        *,
        chunking: bool | Chunking = True,
        pooling: str = "weighted",
        cache: bool | str | Path | VectorCache = True,
        dimensions: int | None = None,
        concurrency: int | None = None,
        empty: Empty | None = None,
        on_error: Literal["raise", "report"] = "raise",
        on_overflow: Literal["chunk", "truncate", "error"] = "chunk",
        on_unknown: OnUnknown = "warn",
        on_drift: Literal["ignore", "error"] = "ignore",
        timeout: float | None = None,
        limit: Limit | None = None,
        tokenizer: object = None,
        max_requests_per_text: int = 32,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        one_of("empty", "error" if empty is None else empty, ("error", "skip", "zero"))
        one_of("on_error", on_error, ("raise", "report"))
        one_of("on_overflow", on_overflow, ("chunk", "truncate", "error"))
        one_of("on_unknown", on_unknown, ("warn", "error", "ignore"))
        one_of("on_drift", on_drift, ("ignore", "error"))
        positive("dimensions", dimensions)
        positive("timeout", timeout)
        several = providers(provider)
        own = getattr(several[0] if several else None, "concurrency", _AT_ONCE)
        at_once = own if concurrency is None else concurrency
        self._lanes = Lanes(several, at_once)
        self.provider: Provider = self._lanes.first
        self._engine = Engine(self._lanes)
        self._asked_dimensions = dimensions
        self._empty, self._on_error, self._on_unknown = empty, on_error, on_unknown
        self._timeout, self._progress = timeout, progress
        self._width = dimensions
        self._known_prints: dict[Role, tuple[str, str]] = {}
        given = chunking if isinstance(chunking, Chunking) else Chunking()
        kept = cache_of(cache)
        path, host, model = knowledge_path(kept), self.provider.host, self.model
        learned = None if kept is None else LearnedLimits(path).for_model(host, model)
        counts = None if kept is None else Calibration(path).for_model(host, model)
        self._settings = Settings(
            chunking=given,
            cuts=chunking is not False and on_overflow != "error",
            truncates=on_overflow == "truncate",
            limits=LimitsInForce(declared_limit(self.provider, limit), learned, counts),
            tokenizer=tokenizer if tokenizer is not None else self.provider.tokenizer,
            cache=kept,
            pooling="mean" if given.compat and pooling == "weighted" else check_pooling(pooling),
            budget=max_requests_per_text,
            spread=at_once,
            pads=getattr(self.provider, "pads", False),
        )
        self._check_drift = on_drift == "error"
        self._guard = DriftGuard(
            self.provider, dimensions=dimensions, fingerprint=self._prints("document")[0], path=path
        )

    # -- what users call ---------------------------------------------------------------------------

    def embed(self, texts: str | Iterable[str]) -> Vectors:
        """Documents -> vectors: one text gives shape ``(width,)``, several give ``(n, width)``, float32.

        Raises the provider's error if one text is given and refused, :class:`EmbeddingFailed` with the
        finished part if some of several are.
        """
        return self._vectors(texts, self.embed_detailed(texts))

    def embed_query(self, texts: str | Iterable[str]) -> Vectors:
        """As :meth:`embed`, for queries, where the model tells them apart."""
        return self._vectors(texts, self.embed_detailed(texts, role="query"))

    async def aembed(self, texts: str | Iterable[str]) -> Vectors:
        """As :meth:`embed`, for async callers."""
        return self._vectors(texts, await self.aembed_detailed(texts))

    async def aembed_query(self, texts: str | Iterable[str]) -> Vectors:
        """As :meth:`embed_query`, for async callers."""
        return self._vectors(texts, await self.aembed_detailed(texts, role="query"))

    def embed_detailed(
        self,
        texts: str | Iterable[str],
        *,
        role: Role = "document",
        chunk_vectors: bool = False,
        timeout: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> EmbedResult:
        """Each text's outcome: status, vector, tokens, chunks, cached or not, dispersion, warnings.

        >>> result = Embedder("hashing", cache=False).embed_detailed(["short", "long " * 9000])
        >>> [(text.status, text.chunk_count) for text in result]
        [('ok', 1), ('chunked', 2)]
        """
        started = time.monotonic()
        deadline = self._deadline(timeout, started)
        if self._check_drift and not self._guard.checked:
            self._guard.check()
        run = self._run(texts, role, chunk_vectors=chunk_vectors, progress=progress)
        try:
            run.prepare()
            while (work := run.work()) is not None:
                flow = Flow(work, self._lanes, role=role, dimensions=self._asked_dimensions, deadline=deadline)
                self._engine.run(flow, run.keep)
                run.join({at: _landed(future, deadline) for at, future in run.theirs.items()})
            return self._result(run, started, alone=isinstance(texts, str))
        finally:
            run.release()

    async def aembed_detailed(
        self,
        texts: str | Iterable[str],
        *,
        role: Role = "document",
        chunk_vectors: bool = False,
        timeout: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> EmbedResult:
        """As :meth:`embed_detailed`, for async callers: tasks, never a blocked event loop."""
        started = time.monotonic()
        deadline = self._deadline(timeout, started)
        if self._check_drift and not self._guard.checked:
            await self._guard.acheck()
        run = self._run(texts, role, chunk_vectors=chunk_vectors, progress=progress)

        async def keep() -> None:
            await aside(run, run.keep)

        try:
            await aside(run, run.prepare)
            while (work := run.work()) is not None:
                flow = Flow(work, self._lanes, role=role, dimensions=self._asked_dimensions, deadline=deadline)
                await self._engine.arun(flow, keep)
                run.join({at: await _alanded(future, deadline) for at, future in run.theirs.items()})
            return await aside(run, self._result, run, started, alone=isinstance(texts, str))
        finally:
            run.release()

    # -- what it is --------------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The model's name as its provider spells it."""
        return self.provider.model

    @property
    def dimensions(self) -> int | None:
        """The width of the vectors: as asked for, as known, or as seen; ``None`` before any is."""
        if self._width is None:
            self._width = getattr(self.provider, "dimensions", None)
        return self._width

    @property
    def concurrency(self) -> int:
        """The most requests in flight at once."""
        return self._lanes.concurrency

    @property
    def limit(self) -> Limit:
        """What the provider takes, as known now: declared, and tightened by its refusals."""
        return self._settings.limits.limit

    @property
    def declared_limit(self) -> Limit:
        """The limit as given, as the provider states it, or as the table has it: before any refusal."""
        return self._settings.limits.declared

    @property
    def cutting(self) -> Cutting | None:
        """The numbers in force: chunk, overlap, minimum, and from where on a text is cut."""
        return self._settings.cutting

    @property
    def cache(self) -> VectorCache | None:
        """Where vectors are kept."""
        return self._settings.cache

    def check_drift(self, *, confirm: bool = False) -> float:
        """How far the model's answers to a few fixed texts have moved since they were remembered.

        One short request. Raises :class:`ModelMismatch` if they have; ``confirm`` takes them as they are.
        """
        return self._guard.check(confirm=confirm)

    def fits(self, texts: Sequence[str]) -> bool:
        """Whether these texts would go to the provider as they are, in one request.

        >>> embedder = Embedder("hashing", cache=False)
        >>> embedder.fits(["short"]), embedder.fits(["long " * 9000])
        (True, False)
        """
        return self._settings.fits(texts)

    def preview(self, text: str) -> ChunkSet:
        """The chunks that a text would be embedded in, before anything is sent: one if it fits.

        >>> made = Embedder("hashing", cache=False).preview("long " * 9000)
        >>> len(made), made.cap, made.extra["limit"]
        (2, 5734, 8192)
        """
        return as_cut(text, self._settings)

    def fingerprint(self, role: Role = "document") -> str:
        """Names everything that changes a document's vector: two equal ones may be compared and mixed."""
        return self._prints(role)[1]

    def _prints(self, role: Role) -> tuple[str, str]:
        """The fingerprints of a raw vector and of a document's, made once for each role."""
        if role not in self._known_prints:
            plan, settings = self._settings.declared_cutting, self._settings
            raw = vector_fingerprint(self.provider, role=role, dimensions=self._asked_dimensions)
            fields = {
                "pooling": settings.pool_as,
                "cutting": plan.settings() if plan is not None and settings.cuts else None,
                "tokenizer": settings.tokenizer_name,
            }
            self._known_prints[role] = raw, document_fingerprint(raw, fields)
        return self._known_prints[role]

    def through(self, around: Callable[[Provider], Provider], cache: VectorCache | None) -> None:
        """Send every request through what ``around`` makes of its provider; keep entries in ``cache``."""
        self._settings.cache = cache
        for lane in self._lanes.all:
            lane.provider = around(lane.provider)

    def close(self) -> None:
        """Give back threads, connections and files."""
        self._engine.close()
        for lane in self._lanes.all:
            lane.provider.close()
        if self._settings.cache is not None:
            self._settings.cache.close()

    async def aclose(self) -> None:
        """As :meth:`close`, for async callers."""
        for lane in self._lanes.all:
            await lane.provider.aclose()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # -- the steps ---------------------------------------------------------------------------------

    def _run(self, texts: str | Iterable[str], role: Role, *, chunk_vectors: bool, progress: Any) -> Run:
        vector_print, document_print = self._prints(role)
        return Run(
            self._settings,
            checked_texts(texts),
            vector_print=vector_print,
            document_print=document_print,
            chunk_vectors=chunk_vectors,
            progress=progress or self._progress,
        )

    def _deadline(self, timeout: float | None, started: float) -> float | None:
        seconds = timeout if timeout is not None else self._timeout
        return None if seconds is None else started + seconds

    def _result(self, run: Run, started: float, *, alone: bool) -> EmbedResult:
        made = run.outcomes()
        for at, text in made.items():
            made[at] = unknown(text, self.model, self._on_unknown)
        width = next((len(r.vector) for r in made.values() if r.vector is not None), self.dimensions or 0)
        self._width = self._width or width or None
        for at in run.blank:
            made[at] = blank(at, width, self._empty, alone=alone)
        texts = tuple(made[at] for at in range(len(run.texts)))
        usage = Usage(
            tokens=run.billed,
            requests=run.requests,
            chunks=sum(t.chunk_count for t in texts),
            cached=sum(t.cached for t in texts),
            seconds=time.monotonic() - started,
        )
        result = EmbedResult(texts, usage, width, tuple(w for t in texts for w in t.warnings))
        if self._on_error == "raise":
            raise_failures(result)
        return result

    @staticmethod
    def _vectors(texts: str | Iterable[str], result: EmbedResult) -> Vectors:
        if not isinstance(texts, str):
            return result.vectors
        vector: Vector | None = result[0].vector
        return np.zeros(0, np.float32) if vector is None else vector


def _landed(future: Landing, deadline: float | None) -> Entry | None:
    try:
        return future.result(None if deadline is None else max(deadline - time.monotonic(), 0.0))
    except TimeoutError:
        return None


async def _alanded(future: Landing, deadline: float | None) -> Entry | None:
    left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    try:
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), left)
    except TimeoutError:
        return None
