"""Providers in this process that behave like servers do, and remember what they were asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from unabridged.errors import ProviderError
from unabridged.providers.hashing import HashingProvider
from unabridged.types import Fault, Limit, Reply, Request

Rule = Callable[["Server", Request], ProviderError | None]


@dataclass
class Server:
    """The hashing model behind a limit, a latency, and rules that may refuse a request."""

    limit: Limit = field(default_factory=lambda: Limit(input_tokens=512, request_inputs=64))
    announced: bool = True
    numbers: bool = True
    indexed: bool = True
    latency: float = 0.0
    rules: list[Rule] = field(default_factory=list)
    host: str = "process"
    model: str = "bag-of-words"
    requests: list[Request] = field(default_factory=list)
    refused: list[Request] = field(default_factory=list)
    most_in_flight: int = 0

    name = "hashing"
    settings = {"hash": "crc32/1"}

    def __post_init__(self) -> None:
        self._truth = HashingProvider(
            model=self.model,
            limit=self.limit,
            announced=self.announced,
            numbers=self.numbers,
            indexed=self.indexed,
        )
        self.limit = self._truth.limit
        self.tokenizer = self._truth.tokenizer
        self._flying = 0
        self._lock = threading.Lock()

    def send(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            self._flying += 1
            self.most_in_flight = max(self.most_in_flight, self._flying)
        try:
            time.sleep(self.latency)
            return self._answer(request)
        except ProviderError:
            self.refused.append(request)
            raise
        finally:
            with self._lock:
                self._flying -= 1

    async def asend(self, request: Request) -> Reply:
        import asyncio

        self.requests.append(request)
        self._flying += 1
        self.most_in_flight = max(self.most_in_flight, self._flying)
        try:
            await asyncio.sleep(self.latency)
            return self._answer(request)
        except ProviderError:
            self.refused.append(request)
            raise
        finally:
            self._flying -= 1

    def _answer(self, request: Request) -> Reply:
        for rule in self.rules:
            error = rule(self, request)
            if error is not None:
                raise error
        return self._truth.send(request)

    def truth(self, text: str):
        """The vector of a text, as the model alone gives it."""
        return HashingProvider(limit=Limit()).send(Request((text,))).vectors[0]

    def close(self) -> None: ...

    async def aclose(self) -> None: ...

    @property
    def sent(self) -> list[str]:
        return [text for request in self.requests for text in request.texts]


def refuse(kind, *, when=lambda server, request: True, times: int | None = None, **fields) -> Rule:
    """A rule: requests that ``when`` holds for are refused with this fault, at most ``times`` times."""
    left = [times]

    def rule(server: Server, request: Request) -> ProviderError | None:
        if left[0] == 0 or not when(server, request):
            return None
        if left[0] is not None:
            left[0] -= 1
        named = fields.get("indices")
        made = {**fields, "indices": named(request)} if callable(named) else fields
        return ProviderError(f"scripted {kind}", Fault(kind, **made))

    return rule


def holds(word: str):
    """Whether one of a request's texts has this word."""
    return lambda server, request: any(word in text for text in request.texts)


def covered(spans, text: str) -> bool:
    """Whether the spans leave out nothing but blanks (promise 1)."""
    ends = [0, *(int(row[1]) for row in spans)]
    starts = [*(int(row[0]) for row in spans), len(text)]
    gaps = (text[end:start] for end, start in zip(ends, starts, strict=True) if start > end)
    return all(not gap.strip() for gap in gaps) and all(a < b for a, b in pairwise(ends))
