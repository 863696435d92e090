"""What the steps of one request share: the memory, the plan, who is told, and the account of model calls."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.errors import Cancelled, StoreError, UnabridgedError
from unabridged.memory.records import Inference
from unabridged.memory.remember.data import Event
from unabridged.memory.values import new_id, now

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unabridged.memory.asking.data import Answer
    from unabridged.memory.memory import Memory
    from unabridged.memory.remember.plan import Plan
    from unabridged.memory.remember.trajectory import Trajectory

__all__ = ["Account", "Run"]


class Account:
    """The calls of models that a request makes, as inferences: kept whatever becomes of the request (SPEC A18)."""

    def __init__(self, memory: Memory, *, session_id: str | None, request_id: str | None) -> None:
        self._memory = memory
        self._of = {"session_id": session_id, "request_id": request_id}
        self._models: dict[tuple[str, str], str] = {}
        self._rows: list[Inference] = []
        self._mutex = threading.Lock()
        self.lost = False

    def add(self, calls: Sequence[Any], artifact_id: str) -> str | None:
        """Note calls made for an artifact; the id of the last one's inference."""
        made = [self._inference(call, artifact_id) for call in calls]
        with self._mutex:
            self._rows += made
        return made[-1].id if made else None

    def _inference(self, call: Any, artifact_id: str) -> Inference:
        detail = {"cached": True} if call.cached else {}
        return Inference(
            id=new_id(),
            stage=call.stage,
            created_at=now(),
            model_id=self._model(call.model, getattr(call, "host", "")),
            reasoning=call.reasoning,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            cost=call.cost,
            seconds=call.seconds,
            status=call.status,
            artifact_id=artifact_id,
            detail=detail,
            **self._of,
        )

    def _model(self, name: str | None, host: str) -> str | None:
        if not name:
            return None
        with self._mutex:
            if (name, host) not in self._models:
                try:
                    self._models[name, host] = self._memory.models.register(name, host or None).id
                except StoreError:
                    self.lost = True
                    return None
            return self._models[name, host]

    def flush(self) -> None:
        """Write what was noted since; where that fails, the request goes on without (SPEC A18)."""
        with self._mutex:
            rows, self._rows = self._rows, []
        if rows:
            try:
                self._memory.inferences.append(rows)
            except StoreError:
                self.lost = True


@dataclass
class Run:
    """One request under way."""

    memory: Memory
    plan: Plan
    account: Account
    trajectory: Trajectory
    told: Callable[[Event], None] | None = None
    cancel: threading.Event | None = None
    notes: list[str] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)  # text -> its vector, of an earlier version

    def check(self) -> None:
        """Raise if the caller asked to stop."""
        if self.cancel is not None and self.cancel.is_set():
            raise Cancelled("remember: stopped as asked; with its idempotency_key the request goes on from here")

    def tell(self, step: str, done: int, total: int, chunk: int | None = None) -> None:
        """Say how far the request is."""
        if self.told is not None:
            self.told(Event(step, done, total, chunk, self.plan.id))

    def step(self, name: str, label: str, *, unit: int = 0, since: float | None = None, **detail: Any) -> None:
        """Note a step of the trajectory."""
        self.trajectory.add(name, f"{name}{label}", unit=unit, since=since, **detail)

    def note(self, said: str) -> None:
        """Something that was not done, and why; once."""
        if said not in self.notes:
            self.notes.append(said)

    def ask(self, stage: str, messages: Sequence[Any], schema: Any, *, of: str) -> Answer:
        """Ask the model of a stage about the request's text; the calls go on the account of ``of``, come what may."""
        request = self.plan.request
        try:
            answer: Answer = self.asker.ask(
                messages,
                stage=stage,
                schema=schema,
                about=request.text,
                model=request.models.get(stage),
                reasoning=request.reasoning.get(stage),
                cancel=self.cancel,
            )
        except UnabridgedError as error:
            self.account.add(error.calls, of)
            raise
        self.account.add(answer.calls, of)
        return answer

    @property
    def asker(self) -> Any:
        """What asks the chat model, or ``None``."""
        return getattr(self.memory, "asker", None)
