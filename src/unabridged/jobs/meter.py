"""What a job has asked for, over all of its runs and processes, and when that is enough.

Each request is noted in a log of 16-byte records before it is sent, and its bill when it is answered, so a
killed run has not forgotten what it spent. Processes that share the job's folder share the log.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unabridged.errors import ProviderError
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from unabridged.types import Limit, Provider, Reply, Request

__all__ = ["Meter", "Metered", "Observer", "Spent", "Stopped", "estimate"]

_RECORD = np.dtype([("kind", "<u4"), ("texts", "<u4"), ("tokens", "<u8")])
_PACKED = struct.Struct("<IIQ")  # the same, ten times as fast for one
_SENT, _ANSWERED, _REFUSED, _SENT_TEXTS = 1, 2, 3, 4  # the last counts texts of requests that are counted already


class Stopped(ProviderError):
    """The job sends no more: a budget is reached, or it was asked to end. Not a fault of any text."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a job has spent so far: requests sent, texts in them, tokens billed, requests refused."""

    requests: int = 0
    texts: int = 0
    tokens: int = 0
    refused: int = 0

    def __sub__(self, other: Spent) -> Spent:
        """What was spent since.

        >>> Spent(3, 20, 900) - Spent(1, 10, 400)
        Spent(requests=2, texts=10, tokens=500, refused=0)
        """
        return Spent(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))


class Observer(Protocol):
    """Told of each request that came back, for metrics and traces; never of a text."""

    def __call__(self, *, texts: int, tokens: int, seconds: float, error: ProviderError | None) -> None:
        """A request is back."""
        ...


class Meter:
    """Counts requests and stops them in time. ``max_cost`` is in the money of ``price``, for a million tokens.

    What is in flight is counted by its estimated tokens, so that a budget is never exceeded by more than the
    estimate is wrong.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_requests: int | None = None,
        max_cost: float | None = None,
        price: float | None = None,
        cancel: threading.Event | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._max_requests = max_requests
        self._max_tokens = None if max_cost is None or price is None else max_cost / price * 1e6
        self._cancel = cancel
        self._observer = observer
        self._lock = threading.Lock()
        self._flying = 0.0
        self._read = 0
        self._spent = Spent()
        self.reached: str | None = None
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def __call__(self, provider: Provider) -> Provider:
        """The provider, metered."""
        return Metered(provider, self)

    @property
    def spent(self) -> Spent:
        """What all processes have spent so far."""
        with self._lock:
            return self._refresh()

    def before(self, request: Request) -> float:
        """A request is about to go; its estimated tokens. Raises :class:`Stopped` where it may not."""
        if self._cancel is not None and self._cancel.is_set():
            raise _stopped("the job was asked to end")
        tokens = estimate(request) if self._max_tokens is not None else 0.0
        with self._lock:
            if self._max_requests is None and self._max_tokens is None:
                self._note(_SENT, len(request.texts), 0)
                return tokens
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            try:
                self._admit(tokens)
                self._note(_SENT, len(request.texts), 0)
                self._flying += tokens
            finally:
                fcntl.flock(self._handle, fcntl.LOCK_UN)
        return tokens

    def after(self, request: Request, tokens: float, began: float, answer: Reply | ProviderError | None) -> None:
        """It is back: with a reply, a refusal, or not at all."""
        refused = answer if isinstance(answer, ProviderError) else None
        billed = 0
        if answer is not None and refused is None:
            known = answer.tokens  # type: ignore[union-attr]
            billed = known if known is not None else int(tokens or estimate(request))
        with self._lock:
            self._flying -= tokens
            self._note(_REFUSED if answer is None or refused else _ANSWERED, len(request.texts), billed)
        if self._observer is not None:
            seconds = time.monotonic() - began
            self._observer(texts=len(request.texts), tokens=billed, seconds=seconds, error=refused)

    def add(self, spent: Spent) -> None:
        """What was spent where this log is not: on another machine."""
        rows = [(_SENT, 0, 0)] * spent.requests + [(_REFUSED, 0, 0)] * spent.refused
        rows += [(_SENT_TEXTS, spent.texts, 0), (_ANSWERED, 0, spent.tokens)]
        if spent != Spent():
            os.write(self._handle, np.array(rows, _RECORD).tobytes())

    def close(self) -> None:
        """Close the log."""
        os.close(self._handle)

    def _admit(self, tokens: float) -> None:
        spent = self._refresh()
        if self._max_requests is not None and spent.requests >= self._max_requests:
            self.reached = f"max_requests: {self._max_requests:,} requests are sent"
        if self._max_tokens is not None and spent.tokens + self._flying + tokens > self._max_tokens:
            self.reached = f"max_cost: the next request would exceed it, {spent.tokens:,} tokens are billed"
        if self.reached is not None:
            raise _stopped(self.reached)

    def _note(self, kind: int, texts: int, tokens: int) -> None:
        os.write(self._handle, _PACKED.pack(kind, texts, tokens))

    def _refresh(self) -> Spent:
        size = os.fstat(self._handle).st_size // _RECORD.itemsize * _RECORD.itemsize
        if size > self._read:
            rows = np.frombuffer(os.pread(self._handle, size - self._read, self._read), _RECORD)
            self._read = size
            sent = rows["kind"] == _SENT
            self._spent = Spent(
                self._spent.requests + int(sent.sum()),
                self._spent.texts + int(rows["texts"][sent | (rows["kind"] == _SENT_TEXTS)].sum()),
                self._spent.tokens + int(rows["tokens"].sum()),
                self._spent.refused + int((rows["kind"] == _REFUSED).sum()),
            )
        return self._spent


class Metered:
    """A provider whose requests are counted."""

    def __init__(self, inner: Provider, meter: Meter) -> None:
        self.inner = inner
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        """Whatever else the provider has."""
        return getattr(self.inner, name)

    @property
    def name(self) -> str:
        """The dialect."""
        return self.inner.name

    @property
    def host(self) -> str:
        """Where requests go."""
        return self.inner.host

    @property
    def model(self) -> str:
        """The model's name."""
        return self.inner.model

    @property
    def limit(self) -> Limit:
        """What one request may hold."""
        return self.inner.limit

    @property
    def settings(self) -> Any:
        """What else changes the vectors."""
        return self.inner.settings

    @property
    def tokenizer(self) -> Any:
        """The model's own tokenizer."""
        return self.inner.tokenizer

    def send(self, request: Request) -> Reply:
        """Send, and count."""
        with self._counted(request) as heard:
            answer = self.inner.send(request)
            heard.append(answer)
        return answer

    async def asend(self, request: Request) -> Reply:
        """The same, for async callers."""
        with self._counted(request) as heard:
            answer = await self.inner.asend(request)
            heard.append(answer)
        return answer

    @contextlib.contextmanager
    def _counted(self, request: Request) -> Iterator[list[Reply | ProviderError]]:
        """Around a request: what is heard of it is noted, whatever it is."""
        tokens, began = self._meter.before(request), time.monotonic()
        heard: list[Reply | ProviderError] = []
        try:
            yield heard
        except ProviderError as error:
            heard.append(error)
            raise
        finally:
            self._meter.after(request, tokens, began, heard[0] if heard else None)

    def close(self) -> None:
        """Give back what the provider holds."""
        self.inner.close()

    async def aclose(self) -> None:
        """The same, for async callers."""
        await self.inner.aclose()


def _stopped(reason: str) -> Stopped:
    return Stopped(reason, Fault("quota"))


def estimate(request: Request) -> float:
    """The tokens of a request, as counted here."""
    from unabridged.text.tokens import Estimate

    measure = Estimate()
    return float(sum(measure.count(text) for text in request.texts))
