"""One gate for the requests of many processes: a rate for all together, a pause that all keep, a budget.

Pure but for its clock: where it stands (an actor on a cluster) is somebody else's business. A worker asks
before each request and tells what it was billed.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unabridged.errors import ConfigError
from unabridged.jobs.meter import Spent

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Gate", "GateLimits"]

_INSTANT = 1e-6  # seconds; less is rounding, and nobody can wait for it
_BURST = 1.0  # seconds' worth of requests or tokens that may go at once after a quiet time


@dataclass(frozen=True, slots=True)
class GateLimits:
    """What all workers may do together. ``requests`` and ``tokens`` are a second's, the budgets for the whole job."""

    requests: float | None = None
    tokens: float | None = None
    max_requests: int | None = None
    max_tokens: float | None = None

    def __post_init__(self) -> None:
        """Refuse what would let nothing through."""
        for name in ("requests", "tokens"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"rate.{name}", f"found {value!r}, expected a number above 0")


class Gate:
    """Admits requests one by one; thread-safe.

    >>> gate = Gate(GateLimits(requests=2), clock=lambda: 0.0)
    >>> [gate.admit(1) for _ in range(3)]
    [0.0, 0.0, 0.5]
    """

    def __init__(self, limits: GateLimits, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._at = clock()
        rates = {"requests": limits.requests, "tokens": limits.tokens}
        self._rates = {name: rate for name, rate in rates.items() if rate is not None}
        self._levels = {name: rate * _BURST for name, rate in self._rates.items()}
        self._hold = 0.0
        self._spent, self._told = Spent(), Spent()
        self._flying = 0.0
        self._stopped = False

    def stop(self) -> None:
        """None may go any more: the job ends."""
        self._stopped = True

    def admit(self, tokens: float) -> float | str:
        """0 where a request may go now, the seconds to wait, or why none may go any more."""
        with self._lock:
            reached = self._reached(tokens)
            if reached is not None:
                return reached
            now = self._clock()
            self._fill(now)
            costs = {"requests": 1.0, "tokens": tokens}
            wait = max([self._hold - now, *(self._wait(name, costs[name]) for name in self._rates)], default=0.0)
            if wait > _INSTANT:
                return wait
            for name in self._rates:
                self._levels[name] -= costs[name]
            self._flying += tokens
            self._spent = _plus(self._spent, Spent(requests=1))
            return 0.0

    def back(self, estimated: float, texts: int, tokens: int, *, refused: bool, retry_after: float | None) -> None:
        """A request is back; ``retry_after`` holds everybody, for the limit is everybody's."""
        with self._lock:
            self._flying -= estimated
            self._spent = _plus(self._spent, Spent(0, texts, tokens, int(refused)))
            if retry_after:
                self._hold = max(self._hold, self._clock() + retry_after)

    def news(self) -> Spent:
        """What was spent since this was last asked."""
        with self._lock:
            told, self._told = self._told, self._spent
            return self._spent - told

    def _reached(self, tokens: float) -> str | None:
        limits = self._limits
        if self._stopped:
            return "the job was asked to end"
        if limits.max_requests is not None and self._spent.requests >= limits.max_requests:
            return "max_requests: all that may be sent are sent"
        if limits.max_tokens is not None and self._spent.tokens + self._flying + tokens > limits.max_tokens:
            return "max_cost: the next request would exceed it"
        return None

    def _fill(self, now: float) -> None:
        passed, self._at = now - self._at, now
        for name, rate in self._rates.items():
            self._levels[name] = min(rate * _BURST, self._levels[name] + passed * rate)

    def _wait(self, name: str, cost: float) -> float:
        """A request larger than the burst goes when the bucket is full, and leaves it in debt."""
        rate = self._rates[name]
        missing = min(cost, rate * _BURST) - self._levels[name]
        return missing / rate


def _plus(one: Spent, other: Spent) -> Spent:
    return Spent(*(getattr(one, name) + getattr(other, name) for name in Spent.__slots__))
