"""Two thin drivers, threads and tasks, over one flow of calls.

:class:`Flow` decides (which call, which lane, when); a driver only sends and waits. Sync callers never
meet an event loop, async callers never block on one.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from unabridged.embedding.pace import outcome_of
from unabridged.errors import ProviderError, ProviderTimeout
from unabridged.types import Fault, Reply, Request, Role

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from unabridged.embedding.lanes import Lane, Lanes
    from unabridged.embedding.pieces import Call
    from unabridged.embedding.work import Work

__all__ = ["Engine", "Flow"]

_IDLE = 0.05
_LATE_ANSWERS = 10.0  # seconds that answers under way are waited for when all has ended: they are paid for
WAITED_FOR = ("rate_limit", "overloaded")  # faults after which the same request is in order, only later
_Answer = Reply | ProviderError


class Flow:
    """The calls of one piece of work: gated, sent once each, and settled."""

    def __init__(self, work: Work, lanes: Lanes, *, role: Role, dimensions: int | None, deadline: float | None) -> None:
        self.work = work
        self.lanes = lanes
        self.pause = 0.0
        self._role = role
        self._dimensions = dimensions
        self._deadline = deadline
        self._held: Call | None = None
        self._began = time.monotonic()
        self._ended = 0.0
        self._last: ProviderError | None = None  # the last refusal of a request of this flow

    @property
    def done(self) -> bool:
        """Nothing is left to send or to wait for."""
        return self._held is None and self.work.done

    def launch(self) -> Call | None:
        """The call that may go now; else ``pause`` says how long to wait at the most."""
        now = time.monotonic()
        if self._deadline is not None and (now >= self._deadline or self._is_too_late(self._deadline)):
            self.expire()
            return None
        call = self._held or self.work.take(now)
        self._held = None
        if call is None:
            due = self.work.wait(now)
            self.pause = self._left(now, _IDLE if due is None else due)
            return None
        if self.work.error is not None:  # all has ended while it waited: it is not sent
            self._give_back(call, self.work.error)
            return None
        wait_for = self._gate(call, now)
        if self.work.error is not None:  # every key is out: the call has failed, and all others with it
            self.pause = 0.0
            return None
        if wait_for > 0:
            self._held, self.pause = call, self._left(now, wait_for)
            return None
        return call

    def request(self, call: Call) -> Request:
        """What is sent for a call, with the time that is left for it."""
        timeout = None if self._deadline is None else max(self._deadline - time.monotonic(), 0.001)
        return Request(tuple(p.text for p in call.pieces), self._role, self._dimensions, timeout)

    def settle(self, call: Call, answer: _Answer) -> None:
        """Hand a reply or a refusal to the work."""
        if isinstance(answer, Reply):
            self.work.succeed(call, answer)
            return
        fault, lane, self._last = answer.fault, call.lane, answer
        others = lane is not None and any(x.out is None and x is not lane for x in self.lanes.all)
        if lane is not None and fault.kind in ("auth", "quota"):
            others = self.lanes.take_out(lane, answer)
        elif lane is not None and others:
            call.tried |= {self.lanes.all.index(lane)}
        self.work.fail(call, answer, time.monotonic(), lane_left=others and len(call.tried) < len(self.lanes.all))

    def waited_enough(self) -> bool:
        """All has ended; whether what is under way, and paid for, is waited for no longer."""
        now = time.monotonic()
        self._ended = self._ended or now
        return now - self._ended >= _LATE_ANSWERS or (self._deadline is not None and now >= self._deadline)

    def expire(self) -> None:
        """No time is left: what is unfinished fails with a time-out, whose cause is the refusal that was waited out."""
        waited = self._waited_for()
        left = None if waited is None else max(0.0, waited[1] - time.monotonic())
        error = ProviderTimeout("no time is left: the caller's timeout has passed", Fault("timeout", retry_after=left))
        error.__cause__ = None if waited is None else waited[0]
        self.cancel(error)
        self.work.stop(error)

    def _is_too_late(self, deadline: float) -> bool:
        """Whether the host admits nothing until then, by its own word: to wait for that helps nobody."""
        sent = self.work.in_flight - (self._held is not None)
        return self.lanes.held() > deadline and not (sent or self.done)

    def _waited_for(self) -> tuple[ProviderError, float] | None:
        """The refusal that kept this flow waiting, its own or one of others at the same host, and until when."""
        if self._last is not None and self._last.fault.kind not in WAITED_FOR:
            return None  # what came last was something else: it hung, or failed
        return self.lanes.refusal(self._began)

    def cancel(self, error: Exception | None = None) -> None:
        """Give back the place of a call that waits at the gate."""
        call, self._held = self._held, None
        if call is not None:
            self._give_back(call, error or ProviderTimeout("cancelled", Fault("timeout")))

    def _give_back(self, call: Call, error: Exception) -> None:
        if call.lane is not None and call.ticket is not None:
            call.lane.pace.quit(call.ticket)
        self.pause = 0.0
        self.work.abandon(call, error)

    def _gate(self, call: Call, now: float) -> float:
        if call.lane is None or call.lane.out is not None:
            lane = self.lanes.pick(call.tried)
            if lane is None:
                return self._all_out(call)
            call.lane, call.ticket = lane, lane.pace.ticket()
        assert call.ticket is not None  # noqa: S101
        return self.lanes.enter(call.lane, call.ticket, now)

    def _all_out(self, call: Call) -> float:
        error = next(lane.out for lane in self.lanes.all if lane.out is not None)
        self.work.abandon(call, error)
        self.work.stop(error)
        return _IDLE

    def _left(self, now: float, seconds: float) -> float:
        return seconds if self._deadline is None else max(0.0, min(seconds, self._deadline - now))


class Engine:
    """Sends the calls of flows: inline when there is one, else in threads, or as tasks."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def run(self, flow: Flow, after: Callable[[], None]) -> None:
        """Drive a flow to its end; ``after`` is called with each answer settled."""
        flying: dict[Future[_Answer], Call] = {}
        landed: SimpleQueue[Future[_Answer]] = SimpleQueue()  # to look at all that fly would cost the more, the more do
        try:
            while not flow.done:
                self._launch(flow, flying, landed, after)
                if flying:
                    self._land(flow, flying, landed, after)
                elif not flow.done:
                    time.sleep(flow.pause)
        finally:
            flow.cancel()
            for future, call in flying.items():
                if future.cancel():
                    self._leave(_lane(call), None)

    def _launch(
        self,
        flow: Flow,
        flying: dict[Future[_Answer], Call],
        landed: SimpleQueue[Future[_Answer]],
        after: Callable[[], None],
    ) -> None:
        # An answer that is there is heard before more is sent: it may end everything.
        while landed.empty() and (call := flow.launch()) is not None:
            if not flying and flow.work.single:
                # Nothing could go beside it: the caller's own thread does as well as another.
                flow.settle(call, self._send(call, flow.request(call)))
                after()
            else:
                # The caller's context goes along: tracing spans, and what an adapter passes to its client.
                context = contextvars.copy_context()
                future = self._threads().submit(context.run, self._send, call, flow.request(call))
                flying[future] = call
                future.add_done_callback(landed.put)

    @staticmethod
    def _land(
        flow: Flow,
        flying: dict[Future[_Answer], Call],
        landed: SimpleQueue[Future[_Answer]],
        after: Callable[[], None],
    ) -> None:
        some: list[Future[_Answer]] = []
        with contextlib.suppress(Empty):
            some.append(landed.get(timeout=flow.pause or _IDLE))
            while True:
                some.append(landed.get_nowait())
        for future in some:
            flow.settle(flying.pop(future), future.result())
        if some:
            after()
        elif flow.work.error is not None and flow.waited_enough():
            for call in flying.values():
                flow.work.abandon(call, flow.work.error)
            flying.clear()

    def _send(self, call: Call, request: Request) -> _Answer:
        lane = _lane(call)
        try:
            return self._leave(lane, lane.provider.send(request))
        except ProviderError as error:
            return self._leave(lane, error)
        except BaseException:
            self._leave(lane, None)
            raise

    async def arun(self, flow: Flow, after: Callable[[], Awaitable[None]]) -> None:
        """As :meth:`run`, with tasks. Cancelling it cancels the requests that are under way."""
        flying: dict[asyncio.Task[_Answer], Call] = {}
        try:
            while not flow.done:
                while not any(t.done() for t in flying) and (call := flow.launch()) is not None:
                    call.begun = False
                    flying[asyncio.ensure_future(self._asend(call, flow.request(call)))] = call
                if flying:
                    await self._aland(flow, flying, after)
                elif not flow.done:
                    await asyncio.sleep(flow.pause)
        finally:
            flow.cancel()
            await self._acancel(flying)

    async def _acancel(self, flying: dict[asyncio.Task[_Answer], Call]) -> None:
        for task in flying:
            task.cancel()
        if flying:
            await asyncio.gather(*flying, return_exceptions=True)
        for call in flying.values():
            if not call.begun:  # a task that never took its first step could not give its place back
                self._leave(_lane(call), None)

    async def _aland(
        self, flow: Flow, flying: dict[asyncio.Task[_Answer], Call], after: Callable[[], Awaitable[None]]
    ) -> None:
        landed, _ = await asyncio.wait(flying, timeout=flow.pause or _IDLE, return_when=asyncio.FIRST_COMPLETED)
        for task in landed:
            flow.settle(flying.pop(task), task.result())
        if landed:
            await after()
        elif flow.work.error is not None and flow.waited_enough():
            for call in flying.values():
                flow.work.abandon(call, flow.work.error)
            await self._acancel(flying)
            flying.clear()

    async def _asend(self, call: Call, request: Request) -> _Answer:
        lane, call.begun = _lane(call), True
        try:
            return self._leave(lane, await lane.provider.asend(request))
        except ProviderError as error:
            return self._leave(lane, error)
        except BaseException:
            self._leave(lane, None)
            raise

    def _leave(self, lane: Lane, answer: _Answer | None) -> _Answer:
        self.lanes.left()
        if isinstance(answer, ProviderError):
            if answer.fault.kind in WAITED_FOR:
                lane.refusal = answer, time.monotonic()
            lane.pace.leave(time.monotonic(), outcome_of(answer.fault.kind), answer.fault.retry_after)
        else:
            lane.pace.leave(time.monotonic(), "ok" if isinstance(answer, Reply) else "other")
        return answer  # type: ignore[return-value]

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._pid != os.getpid():  # a forked child has no threads of its parent's
                self._pid = os.getpid()
                self._pool = ThreadPoolExecutor(self.lanes.concurrency, "unabridged")
            return self._pool

    def close(self) -> None:
        """Let the threads go."""
        with self._lock:
            if self._pool is not None and self._pid == os.getpid():
                self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _lane(call: Call) -> Lane:
    assert call.lane is not None  # noqa: S101
    return call.lane
