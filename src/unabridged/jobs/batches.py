"""A provider that answers by batches: the same requests at half the price, hours later, none paid twice.

:class:`BatchedProvider` stands where a provider stands, so an embedder cuts, pools, caches and re-cuts as
ever. A request waits until its batch is over; what arrives meanwhile goes into the next file. The book
(:mod:`unabridged.jobs.batch_book`) knows every batch before it is created, and answers by text: a job that
was killed takes up the batches that were under way, whatever requests it makes of its texts this time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoResult
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

from unabridged.embedding.fingerprint import digest, vector_fingerprint
from unabridged.embedding.fingerprint import key as text_key
from unabridged.errors import ProviderTimeout
from unabridged.jobs.batch_asks import Ask
from unabridged.jobs.batch_book import BatchBook
from unabridged.jobs.batch_flights import Dispatcher, waiting_ended
from unabridged.providers.batches import batch_api
from unabridged.types import Fault, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.settings import Opener
    from unabridged.providers.batches import BatchLimits, BatchState
    from unabridged.providers.remote import HttpProvider
    from unabridged.types import Limit, Provider, Request, Role, Tokenizer

__all__ = ["BatchedOpener", "BatchedProvider"]

_WAITING = 256  # requests that wait at once: a thread each, nearly free; together they fill a file
_LINGER = 2.0  # seconds without a new request after which what there is goes
_POLL = (5.0, 60.0)  # seconds between two looks at a batch: at first, and at the most
_LISTEN = 0.5  # seconds: how soon it is noticed that nobody wants to wait any more
# OpenAI and Voyage end a batch after 24 and 12 hours, Gemini after 48 at the most.
_PATIENCE = 50 * 3600.0


class BatchedProvider:
    """``provider`` (of OpenAI, Gemini or Voyage) by way of its batch API; ``folder`` keeps the book.

    A file goes when it is full (``limits``, the provider's by default) or when no request came for
    ``linger`` seconds; a batch is looked at every ``poll`` seconds, from the first number up to the second,
    and given up ``patience`` seconds after it began. ``tidy`` deletes files on the provider's side once their
    answers are here. ``watch`` is told each state of each batch; ``cancel``, once it is set, ends all waiting.

    Raises :class:`~unabridged.errors.ConfigError` for a provider without a batch API, and
    :class:`~unabridged.errors.JobError` for a folder that cannot be written. A request raises as it would
    otherwise, with the fault of its own line; one that a batch did not reach in time, a time-out; if a batch
    was cancelled, is not over in time, or is not waited for any more, a :class:`~unabridged.errors.JobError`.
    """

    def __init__(
        self,
        provider: HttpProvider,
        folder: str | Path,
        *,
        concurrency: int = _WAITING,
        linger: float = _LINGER,
        poll: tuple[float, float] = _POLL,
        patience: float = _PATIENCE,
        limits: BatchLimits | None = None,
        tidy: bool = True,
        watch: Callable[[BatchState], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        api = batch_api(provider)
        self._cancel = cancel
        self._provider = provider
        self.concurrency = concurrency
        self._prints: dict[tuple[Role, int | None], str] = {}
        service = digest({"host": provider.host, "model": provider.model, "settings": dict(provider.settings)})
        self._book = BatchBook(folder, service=service)
        self._lock = threading.Lock()
        self._dispatcher = Dispatcher(
            api, self._book, self._lock, limits or api.limits, linger, poll, patience, tidy=tidy, watch=watch
        )

    # What it is: what the provider is, so that its vectors have the same fingerprint.

    @property
    def name(self) -> str:
        """The provider's dialect."""
        return self._provider.name

    @property
    def host(self) -> str:
        """Where requests go."""
        return self._provider.host

    @property
    def model(self) -> str:
        """The model's name."""
        return self._provider.model

    @property
    def limit(self) -> Limit:
        """What one request may hold: a line of a batch is an ordinary request."""
        return self._provider.limit

    @property
    def settings(self) -> Mapping[str, str]:
        """What else changes the vectors: not whether they come in batches."""
        return self._provider.settings

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer."""
        return self._provider.tokenizer

    @property
    def dimensions(self) -> int | None:
        """The width that is asked for."""
        return self._provider.dimensions

    @property
    def book(self) -> BatchBook:
        """Every batch, and what was paid for."""
        return self._book

    # What it does.

    def send(self, request: Request) -> Reply:
        """Put a request into a batch and wait for its answer."""
        future = self._submit(request)
        end = None if request.timeout is None else time.monotonic() + request.timeout
        while True:
            left = _LISTEN if end is None else min(_LISTEN, max(end - time.monotonic(), 0.0))
            try:
                return future.result(timeout=left)
            except NoResult:
                if future.done():
                    raise
            if self._cancel is not None and self._cancel.is_set():
                raise waiting_ended()
            if end is not None and time.monotonic() >= end:
                message = f"{self.name}: the batch is not over within {request.timeout:.3g} s; it goes on"
                raise ProviderTimeout(message, Fault("timeout"))

    async def asend(self, request: Request) -> Reply:
        """The same from a task."""
        future = await asyncio.to_thread(self._submit, request)
        return await asyncio.wait_for(asyncio.wrap_future(future), request.timeout)

    def close(self) -> None:
        """Stop waiting. Batches that are under way go on; the next one with this folder takes them up."""
        self._dispatcher.close()
        self._book.close()
        self._provider.close()

    async def aclose(self) -> None:
        """The same, for async callers."""
        await asyncio.to_thread(self._dispatcher.close)
        self._book.close()
        await self._provider.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, request: Request) -> Future[Reply]:
        asked = self._provider.asked(replace(request, timeout=None))
        keys = tuple(self._key(asked, text) for text in asked.texts)
        ask = Ask(keys)
        with self._lock:  # with it held, a text is in the book, on its way, or new
            ask.got |= self._book.answers(keys)
            missing = {key: text for key, text in zip(keys, asked.texts, strict=True) if key not in ask.got}
            if missing:
                self._dispatcher.add(ask, replace(asked, texts=tuple(missing.values())), tuple(missing))
        if not missing:
            ask.settle()
        return ask.future

    def _key(self, asked: Request, text: str) -> bytes:
        settings = asked.role, asked.dimensions
        if settings not in self._prints:
            self._prints[settings] = vector_fingerprint(self._provider, role=asked.role, dimensions=asked.dimensions)
        return text_key(self._prints[settings], text)

    def __repr__(self) -> str:
        return f"BatchedProvider({self._provider!r})"


@dataclass(frozen=True, slots=True)
class BatchedOpener:
    """Opens an embedder as ``opener`` does, with every request by way of the provider's batch API.

    ``folder`` keeps the book, ``options`` are those of :class:`BatchedProvider`. It travels as the opener does.
    Raises as :class:`BatchedProvider` does.
    """

    opener: Opener
    folder: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **overrides: Any) -> Embedder:
        """Open it: as many requests wait at once as fill a file."""
        waiting = self.options.get("concurrency", _WAITING)
        embedder = self.opener(**{"concurrency": waiting, **overrides})
        embedder.through(self._batched, embedder.cache)
        return embedder

    def _batched(self, provider: Provider) -> BatchedProvider:
        return BatchedProvider(cast("HttpProvider", provider), self.folder, **self.options)
