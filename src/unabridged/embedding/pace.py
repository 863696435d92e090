"""When the next request may go: how many at once, how many a second, first in first out.

Pure arithmetic behind a lock: the clock comes in with each call. The number in flight falls with every
overload, time-out and 429, and rises with success. A rate is in force only once a provider has
said 429; it follows what the provider admits, and probes a little above it.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from unabridged.types import FaultKind

__all__ = ["Outcome", "Pace", "outcome_of"]

Outcome = Literal["ok", "limited", "slow", "other"]

_WINDOW_SECONDS = 5.0  # over which the admitted rate is measured
_GROWTH = 0.05  # a second: how fast the rate probes upwards, once it is known
_QUIET_SECONDS, _FASTER, _FASTEST = 3.0, 1.5, 0.7  # without refusals it probes faster, up to so fast
_BACK_OFF = 0.93  # of the rate, after a refusal
# What was admitted lags behind what would be, and most where no burst is allowed: there each request that comes a
# few milliseconds early is refused. A cap close above what was measured then drew the rate down with itself.
_ABOVE_MEASURED = 2.0
_NOTHING_ADMITTED = 4  # refusals in a row: nothing is admitted at all
_FEWER = 0.7  # of the requests in flight, after an overload
_SETTLE_SECONDS = 0.5  # refusals of one burst count once
_SLOWEST = 0.05  # requests a second: a rate never falls below one in twenty seconds
_POLL = 0.005  # how soon a caller that waits for a place asks again
_LONGEST_POLL = 0.25


def outcome_of(kind: FaultKind) -> Outcome:
    """What a fault says about the pace."""
    if kind in ("rate_limit", "quota"):
        return "limited"
    return "slow" if kind in ("overloaded", "timeout", "upstream_error") else "other"


class Pace:
    """The gate in front of one key of one provider.

    >>> pace = Pace(2)
    >>> first, second, third = pace.ticket(), pace.ticket(), pace.ticket()
    >>> pace.enter(first, 0.0), pace.enter(second, 0.0), pace.enter(third, 0.0) > 0
    (0.0, 0.0, True)
    """

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        self.in_flight = 0
        self._window = float(concurrency)
        self._rate: float | None = None
        self._next = 0.0
        self._hold = self._held = self._since = 0.0
        self._lowered = -1e9
        self._refused_since_ok = 0
        self._searching = False
        self._admitted: deque[float] = deque()
        self._grown = 0.0
        self._tickets = itertools.count()
        self._waiting: list[int] = []
        self._queued: set[int] = set()  # what stands in the heap, so that asking costs no walk through it
        self._gone: set[int] = set()
        self._lock = threading.Lock()

    @property
    def window(self) -> float:
        """How many requests may be in flight now."""
        return self._window

    @property
    def rate(self) -> float | None:
        """Requests a second in force, or ``None`` while no 429 has been seen."""
        return self._rate

    @property
    def held(self) -> float:
        """Until when the provider admits nothing at all, on the clock of the calls; 0 where it has not said so."""
        return self._hold

    def ticket(self) -> int:
        """A place in the queue. It keeps its place when a request has to be sent again."""
        return next(self._tickets)

    def enter(self, ticket: int, now: float) -> float:
        """0 if the ticket's request may go now (it then is in flight), else seconds until to ask again."""
        with self._lock:
            ahead = self._ahead_of(ticket)
            wait = max(self._hold - now, self._next - now if self._rate is not None else 0.0)
            if ahead == 0 and wait <= 0 and self.in_flight < int(self._window):
                self._leave_queue(ticket)
                self.in_flight += 1
                if self._rate is not None:
                    self._next = max(now, self._next) + 1.0 / self._rate
                return 0.0
            self._queue(ticket)
            spacing = 0.0 if self._rate is None else ahead / self._rate
            return min(max(wait + spacing, _POLL), _LONGEST_POLL)

    def quit(self, ticket: int) -> None:
        """Give up a place without sending."""
        with self._lock:
            self._leave_queue(ticket)

    def leave(self, now: float, outcome: Outcome, retry_after: float | None = None) -> None:
        """A request is back."""
        with self._lock:
            self.in_flight -= 1
            if outcome == "ok":
                self._succeeded(now)
            elif outcome == "limited":
                self._limited(now, retry_after)
            elif outcome == "slow":
                self._lower(now)

    def _succeeded(self, now: float) -> None:
        self._refused_since_ok = 0
        self._admitted.append(now)
        self._forget(now)
        self._window = min(self._window + 1.0 / max(self._window, 1.0), float(self.concurrency))
        if self._rate is not None:
            quiet = max(now - self._lowered - _QUIET_SECONDS, 0.0)
            growth = _FASTEST if self._searching else min(_GROWTH * _FASTER**quiet, _FASTEST)
            self._rate *= 1.0 + growth * min(max(now - self._grown, 0.0), 1.0)
            self._grown = now

    def _limited(self, now: float, retry_after: float | None) -> None:
        self._refused_since_ok += 1
        fresh = now - self._lowered > _SETTLE_SECONDS
        first = self._rate is None
        self._lower(now)
        if fresh:
            self._rate = max(_SLOWEST, self._slower(now))
            self._grown = now
            spacing = 1.0 / self._rate
            self._next = max(self._next, now + (min(spacing, retry_after) if first and retry_after else spacing))
        # One refused probe waits alone; a provider that admits nothing holds everyone.
        if retry_after and (first or self._refused_since_ok >= _NOTHING_ADMITTED):
            self._held += max(0.0, now + retry_after - max(self._hold, now))
            self._hold = max(self._hold, now + retry_after)

    def _slower(self, now: float) -> float:
        """The first refusal starts the measuring; a later one says how much too far the probe went."""
        measured = self._measured(now)
        searched, self._searching = self._searching, self._rate is None
        if self._rate is None:
            self._since = now  # what a burst allowance let through before says nothing about the rate
            self._admitted.clear()
            return measured / 2
        # A search runs past the rate by what a burst allowance has let through meanwhile.
        return min(self._rate * (0.5 if searched else _BACK_OFF), measured * _ABOVE_MEASURED)

    def _lower(self, now: float) -> None:
        if now - self._lowered > _SETTLE_SECONDS:
            self._lowered = now
            self._window = max(1.0, self._window * _FEWER)

    def _measured(self, now: float) -> float:
        """Requests admitted a second, lately, but for the time in which all were held."""
        self._forget(now)
        if self._rate is None:
            return max(float(len(self._admitted)), 1.0) / max(now - (self._admitted or [now])[0], 0.5)
        seconds = min(now - self._since, _WINDOW_SECONDS)
        return (len(self._admitted) + 1) / max(seconds - self._held, _SETTLE_SECONDS)

    def _forget(self, now: float) -> None:
        while self._admitted and now - self._admitted[0] > _WINDOW_SECONDS:
            self._admitted.popleft()
        if now - self._hold > _WINDOW_SECONDS:
            self._held = 0.0

    def _ahead_of(self, ticket: int) -> int:
        while self._waiting and self._waiting[0] in self._gone:
            left = heapq.heappop(self._waiting)
            self._gone.discard(left)
            self._queued.discard(left)
        if not self._waiting or self._waiting[0] >= ticket:
            return 0
        return sum(1 for other in self._waiting if other < ticket and other not in self._gone)

    def _queue(self, ticket: int) -> None:
        if ticket in self._gone:
            self._gone.discard(ticket)
        elif ticket not in self._queued:
            self._queued.add(ticket)
            heapq.heappush(self._waiting, ticket)

    def _leave_queue(self, ticket: int) -> None:
        if ticket in self._queued:
            self._gone.add(ticket)
