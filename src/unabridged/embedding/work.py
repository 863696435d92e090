"""The work of one call, as a state machine without I/O: what to send next, and what an answer means.

A driver takes calls, sends them, and gives back a reply or a refusal. A refusal either shrinks the work
(a text is cut, a request is split, a suspect is set apart), waits, changes the lane, or ends something.
Of a request that is refused without naming the offender, the suspects are halved, one test at a time, and
the texts cleared on the way go out together at the end: ⌈log2 n⌉ + 1 extra requests for one offender.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING

from unabridged.embedding.batching import next_batch
from unabridged.embedding.limits import next_guess
from unabridged.embedding.pieces import Call, Document, Group, Piece, Recut, exhausted, fresh_cut, probe
from unabridged.providers.retry import may_retry, pause
from unabridged.types import Limit, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.embedding.limits import LimitsInForce
    from unabridged.errors import ProviderError
    from unabridged.types import Fault, Reply, Vector

__all__ = ["Work"]

_TRANSIENT_TRIES = 5
_BAD_REPLIES = 2  # an answer that cannot be trusted says nothing about a text; it is asked for once more
_OVERFLOW = "input_overflow"
_SHRINK_REQUEST = ("request_overflow", "batch_count", "rate_limit_impossible")
_ENDS_ALL = ("model_not_found", "invalid_dimensions", "output_budget", "wrong_shape", "auth", "quota")
_SUSPICIOUS = 2  # texts refused one by one, and nothing accepted: is it the request? A probe tells
# In tokens: work is spread over the requests that may fly together, in shares of at least so much.
_WORTH_A_REQUEST = 8192


class Work:
    """What is left to do for a call's pieces.

    ``settled`` gathers the pieces that have a vector since the driver last emptied it; ``error`` is set
    when nothing more can be sent at all.
    """

    def __init__(
        self,
        pieces: Iterable[Piece],
        limits: LimitsInForce,
        recut: Recut | None,
        *,
        budget: int,
        spread: int = 1,
    ) -> None:
        self._waiting = deque(pieces)
        self._limits = limits
        self._recut = recut
        self._budget = budget
        share = sum(p.tokens for p in self._waiting) // spread
        self._share = None if spread == 1 else max(_WORTH_A_REQUEST, share)
        self._ended = False
        self._tests: deque[Call] = deque()
        self._later: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        self._guess: int | None = None
        self._guess_fault: Fault | None = None
        self._checked = (limits.limit, limits.scales.version)
        self._in_flight = 0
        self._accepted = 0
        self._refused_alone = 0
        self._over_alone: set[bytes] = set()  # keys of texts that were named as over: never sent again
        self._probing = False
        self.settled: list[Piece] = []
        self.requests = 0
        self.billed = 0
        self.error: Exception | None = None

    @property
    def limit(self) -> Limit:
        """The limit in force for this call: what is known, and what is guessed."""
        known = self._limits.limit
        return known if self._guess is None else known.tighten(Limit(input_tokens=self._guess))

    @property
    def done(self) -> bool:
        """Nothing waits and nothing is in flight."""
        return not (self._in_flight or self._waiting or self._tests or self._later)

    @property
    def in_flight(self) -> int:
        """Calls that were taken and are not settled."""
        return self._in_flight

    @property
    def single(self) -> bool:
        """The call just taken is the only one there is."""
        return self._in_flight == 1 and not (self._waiting or self._tests or self._later)

    def wait(self, now: float) -> float | None:
        """Seconds until a call is due, or ``None`` if only an answer can bring new work."""
        return max(0.0, self._later[0][0] - now) if self._later else None

    def take(self, now: float) -> Call | None:
        """The next call, or ``None`` if there is none now."""
        call = self._next(now)
        if call is not None:
            self._in_flight += 1
        return call

    def _next(self, now: float) -> Call | None:
        if self._probing:
            return None
        while self._later and self._later[0][0] <= now:
            if (call := self._again(heapq.heappop(self._later)[2])) is not None:
                self._probing = call.probe is not None
                return call
        while self._tests:
            if (call := self._again(self._tests.popleft())) is not None:
                self._probing = call.probe is not None
                return call
        self._check_waiting()
        batch = next_batch(self._waiting, self.limit, scale=self._limits.scales.of, share=self._share)
        return Call(batch) if batch else None

    def _again(self, call: Call) -> Call | None:
        """A call made earlier, less what has meanwhile ended; back in the queue if a limit has changed."""
        call.pieces = [p for p in call.pieces if p.wanted]
        if call.group is None and self._recut is not None and any(map(self._over, call.pieces)):
            self._waiting.extendleft(reversed(call.pieces))
            return None
        if not call.pieces and call.group is not None:
            self._cleared(call)
        return call if call.pieces else None

    def _check_waiting(self) -> None:
        state = (self.limit, self._limits.scales.version)
        changed, self._checked = state != self._checked, state
        if not (changed or self._ended):
            return
        self._ended = False
        kept: deque[Piece] = deque()
        for piece in self._waiting:
            if not piece.wanted:
                continue
            kept.extend(self._smaller(piece, None) if changed and self._recut and self._over(piece) else [piece])
        self._waiting = kept

    def _over(self, piece: Piece) -> bool:
        return piece.over(self.limit, self._limits.scales.of(piece.text))

    # -- what came back ----------------------------------------------------------------------------

    def succeed(self, call: Call, reply: Reply) -> None:
        """A checked reply: a vector for each piece."""
        counted = sum(p.tokens for p in call.pieces)
        self._in_flight -= 1
        self.requests += 1
        self._probing &= call.probe is None
        self.billed += counted if reply.tokens is None else reply.tokens
        for at, piece in enumerate(call.pieces):
            self._settle(piece, reply.vectors[at], None if reply.unknown is None else reply.unknown[at])
        self._accepted += 1
        self._limits.accepted(call.pieces, reply.tokens)
        if self._guess is not None and self._guess_fault is not None and any(p.recut for p in call.pieces):
            self._limits.confirm_guess(self._guess, self._guess_fault)
        if call.group is not None:
            self._cleared(call)

    def fail(self, call: Call, error: ProviderError, now: float, *, lane_left: bool) -> None:
        """A refusal. ``lane_left`` says whether another key or provider can take the request."""
        self._in_flight -= 1
        self.requests += 1
        fault = error.fault
        self._probing &= call.probe is None
        if call.probe is not None and not may_retry(fault):
            self._stop_with(call, call.probe)
        elif fault.kind in _SHRINK_REQUEST and len(call.pieces) > 1:
            self._split(call, fault)
        elif fault.kind == _OVERFLOW or fault.kind in _SHRINK_REQUEST:
            self._find_over(call, error)
        elif fault.kind in ("auth", "quota") and lane_left:
            call.lane = None
            self._retry(call, now, 0.0)
        elif fault.kind in _ENDS_ALL:
            self._stop_with(call, error)
        elif may_retry(fault) or fault.kind == "bad_reply":
            self._wait_or_give_up(call, error, now, lane_left=lane_left)
        else:
            self._find_bad(call, error)

    def stop(self, error: Exception) -> None:
        """Nothing more is sent: every text that is not finished fails with this error."""
        self.error = error
        calls = [call for _, _, call in self._later] + list(self._tests)
        unfinished = [p for call in calls for p in call.everything]
        for piece in (*self._waiting, *unfinished):
            self._end(piece, error)
        self._waiting.clear()
        self._tests.clear()
        self._later.clear()

    def _stop_with(self, call: Call, error: Exception) -> None:
        for piece in call.everything:
            self._end(piece, error)
        self.stop(error)

    def abandon(self, call: Call, error: Exception) -> None:
        """A call whose answer nobody waits for any more (the deadline has passed)."""
        self._in_flight -= 1
        self._stop_with(call, error)

    def _settle(self, piece: Piece, vector: Vector, unknown: float | None) -> None:
        for one in (piece, *piece.twins):
            one.vector, one.unknown = vector, unknown
            self.settled.append(one)

    def _end(self, piece: Piece, error: Exception) -> list[Piece]:
        self._ended = True
        for one in (piece, *piece.twins):
            if one.document.error is None and one.vector is None:
                one.document.error = error
        return []

    def _retry(self, call: Call, now: float, seconds: float) -> None:
        heapq.heappush(self._later, (now + seconds, next(self._order), call))

    def _wait_or_give_up(self, call: Call, error: ProviderError, now: float, *, lane_left: bool) -> None:
        if error.fault.kind != "rate_limit":  # to wait for a rate costs no tries
            call.tries += 1
            for piece in call.pieces:
                self._refused(piece)
        if call.tries >= (_TRANSIENT_TRIES if may_retry(error.fault) else _BAD_REPLIES):
            if not lane_left:
                for piece in call.pieces:
                    self._end(piece, error)
                if call.group is not None:
                    self._cleared(call)
                return
            call.tries, call.lane = 0, None
        self._retry(call, now, pause(error.fault, call.tries))

    # -- too large ---------------------------------------------------------------------------------

    def _split(self, call: Call, fault: Fault) -> None:
        self._limits.refused_request(fault, call.pieces)
        self._waiting.extendleft(reversed(call.everything))

    def _find_over(self, call: Call, error: ProviderError) -> None:
        fault, pieces = error.fault, call.pieces
        named = [pieces[i] for i in fault.indices if 0 <= i < len(pieces)]
        if not named and len(pieces) > 1 and fault.limit is not None:
            self._limits.refused_input(fault, None)
        over = named or ([p for p in pieces if self._over(p)] if self._recut else [])
        if len(pieces) == 1:
            over = pieces
        elif not over and self._guess is not None and all(p.recut for p in pieces):
            # The guess itself was too high: its largest pieces are over, and none has to be looked for.
            over = [p for p in pieces if 2 * p.tokens >= max(q.tokens for q in pieces)]
        if not over:
            self._suspect(call, error, sorted(pieces, key=lambda p: p.tokens))
            return
        innocent = [p for p in call.everything if p not in over]
        smaller = [child for p in over for child in self._offender(p, error)]
        self._waiting.extendleft(reversed([*innocent, *smaller]))

    def _offender(self, piece: Piece, error: ProviderError) -> list[Piece]:
        self._refused(piece)
        self._over_alone.add(piece.key)
        fault, before = error.fault, piece.tokens * self._limits.scales.of(piece.text)
        learned = self._recut is not None and self._limits.refused_input(fault, piece)
        if self._recut is None or not (learned or self._lower_guess(before, fault)):
            return self._end(piece, error)
        limit = self.limit.input_tokens
        if not self._over(piece) and limit is not None and piece.tokens:
            # Within the limit by our count and refused all the same: we count too few.
            self._limits.count_more(piece, limit * 1.05 / piece.tokens)
        return self._smaller(piece, error)

    def _lower_guess(self, refused: float, fault: Fault) -> bool:
        if self._guess is not None and self._guess < refused:
            return True  # the guess stands: this text was cut, or counted, before it
        lower = next_guess(refused)
        if lower is None:
            return False
        self._guess, self._guess_fault = lower, fault
        return True

    def _smaller(self, piece: Piece, error: ProviderError | None) -> list[Piece]:
        document = piece.document
        if self._recut is None or not piece.wanted:
            return []
        fresh = self._afresh(document) if document.cut else []
        if fresh:
            return [p for p in fresh if p.vector is None and not p.follows]
        children = self._cut(piece)
        if len(children) < (1 if document.truncated else 2):
            if error is None:
                return [piece]  # it cannot be cut: the provider says what is wrong with it
            return self._end(piece, error)
        at = document.pieces.index(piece)
        document.pieces[at : at + 1] = children
        document.cut = True
        for twin in piece.twins:
            children = [*children, *self._smaller(twin, error)]
        piece.dropped = True
        return [p for p in children if p.vector is None and not p.follows]

    def _afresh(self, document: Document) -> list[Piece]:
        """The whole document planned again, if none of its chunks has been paid for: one plan beats two."""
        before = document.pieces
        if document.truncated or any(p.vector is not None or p.twins or p.follows for p in before):
            return []
        self._ended = True
        for piece in before:
            piece.dropped = True
        whole = Piece(document, Span(0, len(document.text)), document.text, document.tokens, document.key, whole=True)
        children = self._cut(whole)
        if len(children) > 1:
            document.pieces = children
            return children
        for piece in before:
            piece.dropped = False
        return []

    def _cut(self, piece: Piece) -> list[Piece]:
        return [] if self._recut is None else fresh_cut(piece, self.limit, self._recut, self._over_alone)

    def _refused(self, piece: Piece) -> None:
        document = piece.document
        if document.refused_at == self.requests:
            return  # one request, one refusal, however many of the text's chunks were in it
        document.refused_at = self.requests
        document.refusals += 1
        document.sizes.append(piece.tokens)
        if document.refusals > self._budget:
            self._end(piece, exhausted(document, self._budget, self._limits.limit.input_tokens))

    # -- one bad text ------------------------------------------------------------------------------

    def _find_bad(self, call: Call, error: ProviderError) -> None:
        pieces = call.pieces
        named = [pieces[i] for i in error.fault.indices if 0 <= i < len(pieces)]
        if len(pieces) == 1:
            self._bad(pieces[0], call, error)
        elif named and len(named) < len(pieces):
            others = [p for p in call.everything if p not in named]
            self._tests.extend(Call([p]) for p in named)
            self._waiting.extendleft(reversed(others))
        else:
            self._suspect(call, error, pieces)

    def _bad(self, piece: Piece, call: Call, error: ProviderError) -> None:
        piece.alone += 1
        self._refused(piece)
        if error.fault.kind == "bad_values" and piece.alone == 1:
            self._tests.append(Call([piece], group=call.group, rest=call.rest))
            return
        self._end(piece, error)
        if error.fault.kind not in ("bad_values", "empty_input"):
            self._refused_alone += 1
            if self._refused_alone == _SUSPICIOUS and not self._accepted:
                self._tests.appendleft(Call([probe()], probe=error))
        self._waiting.extendleft(reversed(call.aside))

    def _suspect(self, call: Call, error: ProviderError, suspects: list[Piece]) -> None:
        self._test(Group(suspects, call.aside, error))

    def _cleared(self, call: Call) -> None:
        """A test went through, so the offender is among the rest."""
        group = call.group
        if group is not None:
            self._test(Group(call.rest, group.cleared, group.error))

    def _test(self, group: Group) -> None:
        suspects = [p for p in group.suspects if p.wanted]
        if len(suspects) > 1:
            half = len(suspects) // 2
            if group.error.fault.kind == _OVERFLOW and suspects[-1].tokens > 2 * suspects[-2].tokens:
                half = len(suspects) - 1  # they stand in order of size, and one stands out
            self._tests.append(Call(suspects[:half], Group([], group.cleared, group.error), suspects[half:]))
            return
        self._waiting.extendleft(reversed(group.cleared))
        for piece in suspects:
            if group.error.fault.kind == _OVERFLOW:
                self._waiting.extendleft(reversed(self._offender(piece, group.error)))
            else:
                self._tests.append(Call([piece]))
