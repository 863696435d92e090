"""What can go wrong on purpose: scripted troubles, and a rate limit that is a real token bucket."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unabridged.testing.chat import AskedChat
    from unabridged.testing.loopback import Seen

__all__ = ["Bucket", "RateLimit", "Script", "Trouble", "TroubleKind"]

TroubleKind = Literal[
    "status",
    "drop",
    "hang",
    "drip",
    "reverse",
    "duplicate",
    "gap",
    "fewer",
    "more",
    "empty",
    "narrow",
    "nan",
    "infinite",
    "null",
    "zero",
    "error_in_200",
    "not_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One thing that goes wrong, how often, and for which requests.

    ``kind`` is ``"status"`` (answers ``status`` with ``body`` and ``headers``), ``"drop"`` (hangs up),
    ``"hang"`` (never answers), ``"drip"`` (a byte every ``seconds``), or something wrong in the
    answer: its order (``"reverse"``, with right indices), its indices (``"duplicate"``, ``"gap"``),
    its count (``"fewer"``, ``"more"``, ``"empty"``), the width or the values of vector ``at``
    (``"narrow"``, ``"nan"``, ``"infinite"``, ``"null"``, ``"zero"``), ``"error_in_200"``, ``"not_json"``.

    It strikes ``times`` (``None``: for ever), after the first ``after`` requests, with the chance
    ``share`` (drawn from the server's ``seed``), and only where ``when(seen)`` is true.

    >>> Trouble(kind="status", status=503, times=2).body
    'upstream connect error'
    """

    kind: TroubleKind = "status"
    status: int = 503
    body: str | bytes | Mapping[str, Any] = "upstream connect error"
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = 1
    after: int = 0
    share: float = 1.0
    when: Callable[[Any], bool] | None = field(default=None, repr=False)
    seconds: float = 0.05
    at: int = 0

    @property
    def payload(self) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Script:
    """Which trouble strikes a request, if any."""

    def __init__(self, troubles: Sequence[Trouble], seed: int) -> None:
        self._troubles = [(trouble, [0]) for trouble in troubles]
        self._chance = random.Random(seed)

    def strike(self, seen: Seen | AskedChat) -> Trouble | None:
        """The first trouble that applies to a request."""
        for trouble, struck in self._troubles:
            if trouble.times is not None and struck[0] >= trouble.times:
                continue
            if seen.number < trouble.after or (trouble.when is not None and not trouble.when(seen)):
                continue
            if trouble.share < 1 and self._chance.random() >= trouble.share:
                continue
            struck[0] += 1
            return trouble
        return None

    def add(self, trouble: Trouble) -> None:
        """One more, from now on."""
        self._troubles.append((trouble, [0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """Admits ``requests`` and ``tokens`` every ``seconds``, by token buckets that hold ``burst`` of them.

    ``tell`` is how a refusal says when to come back: ``"seconds"`` (a Retry-After header, rounded up
    as HTTP has it), ``"milliseconds"`` (retry-after-ms), ``"date"``, ``"body"`` (a sentence), or
    ``"nothing"``.
    """

    requests: float | None = None
    tokens: float | None = None
    seconds: float = 1.0
    burst: float = 1.0
    tell: Literal["seconds", "milliseconds", "date", "body", "nothing"] = "seconds"


class Bucket:
    """A token bucket; ``take`` gives the seconds to wait, 0 if the request is admitted."""

    def __init__(self, rate: RateLimit, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._lock = threading.Lock()
        self._sizes = {"requests": rate.requests, "tokens": rate.tokens}
        self._levels = {name: size * rate.burst for name, size in self._sizes.items() if size is not None}
        self._at = clock()

    def take(self, tokens: int) -> float:
        """Admit one request of so many tokens, or say how long to wait. Infinite: it can never fit."""
        costs = {"requests": 1, "tokens": tokens}
        with self._lock:
            self._fill()
            waits = [self._wait(name, costs[name]) for name in self._levels]
            wait = max(waits, default=0.0)
            if wait == 0:
                for name in self._levels:
                    self._levels[name] -= costs[name]
        return wait

    def _fill(self) -> None:
        now = self._clock()
        passed, self._at = now - self._at, now
        for name, level in self._levels.items():
            size = self._sizes[name] or 0
            self._levels[name] = min(size * self._rate.burst, level + passed * size / self._rate.seconds)

    def _wait(self, name: str, cost: float) -> float:
        size = self._sizes[name] or 0
        if cost > size * self._rate.burst:
            return math.inf
        missing = cost - self._levels[name]
        return max(0.0, missing * self._rate.seconds / size)


def waiting(rate: RateLimit, seconds: float) -> tuple[dict[str, str], str]:
    """The headers of a refusal, and the time as its sentence has it."""
    milliseconds = max(1, math.ceil(seconds * 1000))
    words = f"{milliseconds}ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3f}s"
    if rate.tell == "seconds":
        return {"retry-after": str(math.ceil(seconds))}, words
    if rate.tell == "milliseconds":
        return {"retry-after-ms": str(milliseconds)}, words
    if rate.tell == "date":
        return {"retry-after": formatdate(time.time() + math.ceil(seconds), usegmt=True)}, words
    return {}, words
