"""The steps of asking, without I/O, and two thin drivers for them: threads and tasks.

A flow is a generator of steps; a driver does each step and sends its outcome back in. So nothing is written
twice, sync code never meets an event loop, and async code never blocks one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from unabridged.embedding.pace import outcome_of
from unabridged.errors import Cancelled, ProviderError, ProviderTimeout
from unabridged.providers.retry import may_retry, pause
from unabridged.types import Fault

if TYPE_CHECKING:
    import threading

    from unabridged.embedding.lanes import Lane, Lanes
    from unabridged.memory.asking.chat import Question, Speaker
    from unabridged.providers.chat_replies import ChatReply

__all__ = ["Do", "Pause", "Send", "Sending", "Steps", "adrive", "drive", "time_left"]

T = TypeVar("T")
Steps = Generator["Send | Pause | Do", Any, T]

_TRIES = 5  # of a refusal that may pass, as for embeddings
_TWICE = frozenset({"bad_reply", "timeout"})  # what took too long takes as long again: minutes, not seconds
_SMALLEST_BUDGET = 64  # tokens: no answer of ours is shorter
_LISTEN = 0.05  # seconds: how soon a task that waits notices that it was cancelled


@dataclass(frozen=True, slots=True)
class Send:
    """Send a question to a chat; its outcome is a reply, or the error that came instead."""

    speaker: Speaker
    question: Question

    def done(self) -> ChatReply | ProviderError:
        """Do it in a thread."""
        try:
            return self.speaker.send(self.question)
        except ProviderError as error:
            return error

    async def adone(self) -> ChatReply | ProviderError:
        """Do it in a task."""
        try:
            return await self.speaker.asend(self.question)
        except ProviderError as error:
            return error


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Do:
    """Do something that may block for a moment: read a file, wait for another caller's answer."""

    action: Callable[[], Any]


def drive(steps: Steps[T], cancel: threading.Event | None = None) -> T:
    """Do every step in this thread; what the flow returns."""
    outcome: Any = None
    try:
        while True:
            step = steps.send(outcome)
            _check(cancel)
            if isinstance(step, Send):
                outcome = step.done()
            elif isinstance(step, Do):
                outcome = step.action()
            elif cancel is not None:
                cancel.wait(step.seconds)
            else:
                time.sleep(step.seconds)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


async def adrive(steps: Steps[T], cancel: threading.Event | None = None) -> T:
    """Do every step in this task."""
    outcome: Any = None
    try:
        while True:
            step = steps.send(outcome)
            _check(cancel)
            if isinstance(step, Send):
                outcome = await step.adone()
            elif isinstance(step, Do):
                outcome = await asyncio.to_thread(step.action)
            else:
                await _asleep(step.seconds, cancel)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


async def _asleep(seconds: float, cancel: threading.Event | None) -> None:
    if cancel is None:
        await asyncio.sleep(seconds)
        return
    until = time.monotonic() + seconds
    # It is a thread's event, that no task can wait for.
    while (left := until - time.monotonic()) > 0 and not cancel.is_set():  # noqa: ASYNC110
        await asyncio.sleep(min(left, _LISTEN))


def _check(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise Cancelled("chat: the caller asked to stop")


def time_left(until: float | None) -> float:
    """Seconds until a moment of the monotonic clock. Raises :class:`ProviderTimeout` where there are none."""
    if until is None:
        return float("inf")
    left = until - time.monotonic()
    if left <= 0:
        raise ProviderTimeout("chat: no time is left: the caller's timeout has passed", Fault("timeout"))
    return left


class Sending:
    """One question on its way: through the gate, again after what may pass, to another key or host."""

    def __init__(self, lanes: Lanes, question: Question, until: float | None) -> None:
        self.lanes = lanes
        self.question = question
        self.until = until
        self.requests = 0
        self.seconds = 0.0
        self.speaker: Speaker = lanes.all[0].provider
        self._tries = 0
        self._tried: frozenset[int] = frozenset()

    def steps(self) -> Steps[ChatReply]:
        """The steps until there is a reply. Raises the refusal that ends it."""
        started = time.monotonic()
        try:
            while True:
                lane = self._lane()
                answer = yield from self._through(lane)
                if not isinstance(answer, ProviderError):
                    return answer
                wait = self._after(lane, answer)
                if wait:
                    yield Pause(wait)
        finally:
            self.seconds = time.monotonic() - started

    def _lane(self) -> Lane:
        lane = self.lanes.pick(self._tried)
        if lane is None:
            raise next(each.out for each in self.lanes.all if each.out is not None)
        self.speaker = lane.provider
        return lane

    def _through(self, lane: Lane) -> Steps[ChatReply | ProviderError]:
        """Wait at the lane's gate, send, and give the place back whatever happens."""
        ticket = lane.pace.ticket()
        entered = False
        answer: ChatReply | ProviderError | None = None
        try:
            while (wait := self.lanes.enter(lane, ticket, time.monotonic())) > 0:
                yield Pause(min(wait, time_left(self.until)))
            entered = True
            self.requests += 1
            answer = yield Send(lane.provider, self._asked(lane))
            return answer
        finally:
            if entered:
                self._leave(lane, answer)
            else:
                lane.pace.quit(ticket)

    def _leave(self, lane: Lane, answer: ChatReply | ProviderError | None) -> None:
        self.lanes.left()
        now = time.monotonic()
        if isinstance(answer, ProviderError):
            lane.pace.leave(now, outcome_of(answer.fault.kind), answer.fault.retry_after)
        else:
            lane.pace.leave(now, "other" if answer is None else "ok")

    def _asked(self, lane: Lane) -> Question:
        """The question for this lane: a fallback host has its own model, and so much time is left."""
        model = self.question.model if lane.rank == 0 else None
        timeout = None if self.until is None else time_left(self.until)
        return replace(self.question, model=model, timeout=timeout)

    def _after(self, lane: Lane, error: ProviderError) -> float:
        """Seconds to wait before the next attempt. Raises the refusal where there is none."""
        fault = error.fault
        if fault.kind in ("auth", "quota"):
            if not self.lanes.take_out(lane, error):
                raise error
            return 0.0
        if fault.kind == "output_budget" and self._lower_budget(fault):
            return 0.0
        if not may_retry(fault) and fault.kind != "bad_reply":
            raise error
        self._tries += fault.kind != "rate_limit"  # to wait for a rate costs no tries
        if self._tries >= (2 if fault.kind in _TWICE else _TRIES):
            self._give_up(lane, error)
            return 0.0
        wait = pause(fault, max(self._tries, 1))
        if self.until is not None and time.monotonic() + wait >= self.until:
            raise error
        return wait

    def _give_up(self, lane: Lane, error: ProviderError) -> None:
        """Go to another key or host, if there is one that was not tried."""
        self._tried |= {self.lanes.all.index(lane)}
        if all(at in self._tried or other.out is not None for at, other in enumerate(self.lanes.all)):
            raise error
        self._tries = 0

    def _lower_budget(self, fault: Fault) -> bool:
        """The answer may have fewer tokens than asked for: as many as the refusal allows, or half."""
        before = self.question.max_tokens
        if before is None or before <= _SMALLEST_BUDGET:
            return False
        stated = fault.limit if fault.limit is not None and 0 < fault.limit < before else before // 2
        self.question = replace(self.question, max_tokens=max(stated, _SMALLEST_BUDGET))
        return True
