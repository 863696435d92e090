"""May a refused request be sent again, and when. tenacity lives here, and nowhere else."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, TypeVar

import tenacity

from unabridged.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from unabridged.types import Fault

__all__ = ["acall", "call", "may_retry", "pause"]

_T = TypeVar("_T")

_TRANSIENT = frozenset({"rate_limit", "overloaded", "timeout", "upstream_error"})
# Seconds: the first wait is at most the one, every wait at most the other.
_FIRST, _LONGEST = 0.5, 30.0
_ATTEMPTS = 5
_wait = tenacity.wait_exponential(multiplier=_FIRST, max=_LONGEST)


def may_retry(fault: Fault) -> bool:
    """Whether the same request can succeed later: limits of rate, overload, time-outs, broken upstreams.

    >>> from unabridged.types import Fault
    >>> may_retry(Fault("overloaded")), may_retry(Fault("quota")), may_retry(Fault("unknown", status=500))
    (True, False, True)
    """
    if fault.kind == "unknown":
        return fault.status is None or fault.status >= 500
    return fault.kind in _TRANSIENT


def pause(fault: Fault, attempt: int, *, rng: random.Random | None = None) -> float:
    """Seconds to wait before attempt number ``attempt`` (from 1): as the provider says, else growing.

    Between half of the growing wait and all of it is drawn at random, so that callers do not come
    back together.

    >>> from unabridged.types import Fault
    >>> pause(Fault("rate_limit", retry_after=7.0), 1), 0.25 <= pause(Fault("overloaded"), 1) <= 0.5
    (7.0, True)
    """
    if fault.retry_after is not None:
        return max(fault.retry_after, 0.0)
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = max(attempt, 1)
    return float(_wait(state)) * (0.5 + (rng or random).random() / 2)


def call(send: Callable[[], _T], *, attempts: int = _ATTEMPTS, deadline: float | None = None) -> _T:
    """Call ``send`` until it succeeds; what may not be retried, or the last refusal, is raised as it is.

    ``deadline`` is on the monotonic clock: no wait reaches past it.

    >>> call(lambda: "answer")
    'answer'
    """
    return tenacity.Retrying(**_options(attempts, deadline))(send)


async def acall(send: Callable[[], Awaitable[_T]], *, attempts: int = _ATTEMPTS, deadline: float | None = None) -> _T:
    """As :func:`call`, for async callers."""

    async def sending() -> _T:  # tenacity awaits what is declared async, and no other callable's answer
        return await send()

    return await tenacity.AsyncRetrying(**_options(attempts, deadline))(sending)


def _options(attempts: int, deadline: float | None) -> dict[str, Any]:
    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        assert isinstance(error, ProviderError)  # noqa: S101
        return pause(error.fault, state.attempt_number)

    enough = tenacity.stop_after_attempt(attempts)

    def stop(state: tenacity.RetryCallState) -> bool:
        return enough(state) or (deadline is not None and time.monotonic() + wait(state) >= deadline)

    return {
        "retry": tenacity.retry_if_exception(lambda e: isinstance(e, ProviderError) and may_retry(e.fault)),
        "wait": wait,
        "stop": stop,
        "reraise": True,
    }
