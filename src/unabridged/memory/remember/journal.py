"""How far a request with an idempotency key came: resumed after a crash, replayed once it is done (SPEC A13).

One row outside the commit, written before anything is stored: who works at it, the identities that it
will store under, and what was read of its text so far. Whether a chunk is stored is asked of the dataset
itself, so nothing here has to be in step with a commit.
"""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from unabridged.errors import Conflict, InputError
from unabridged.memory.lock import held
from unabridged.memory.processes import alive, me
from unabridged.memory.records import RequestRecord
from unabridged.memory.remember.draft import Draft
from unabridged.memory.values import moment, new_id, now
from unabridged.memory.where import equals

if TYPE_CHECKING:
    import datetime as dt
    from types import TracebackType

    from unabridged.memory.memory import Memory
    from unabridged.memory.remember.plan import Request

__all__ = ["Journal"]

_SIGN = 30.0  # seconds between two signs of life
_under_way: set[tuple[str, str]] = set()  # (dataset, key) of this process
_mutex = threading.Lock()


@dataclass
class Journal:
    """The journal of one request; without a key it keeps nothing.

    ``drafts`` are what was read of the text, by unit; ``more`` what else has to be the same when it goes on.
    """

    memory: Memory
    request: Request
    id: str = field(default_factory=new_id)
    created_at: dt.datetime = field(default_factory=now)
    drafts: dict[int, Draft] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    answer: Any = None
    _row: RequestRecord | None = None
    _signed: float = 0.0

    @property
    def _name(self) -> tuple[str, str]:
        return self.memory.store.place.id, self.request.key or ""

    def __enter__(self) -> Self:
        """Take the request on. Raises :class:`Conflict` while another process or thread is at it."""
        if self.request.key is None:
            return self
        with _mutex:
            if self._name in _under_way:
                raise Conflict("idempotency_key: a request with this key is under way; ask again when it is done")
            _under_way.add(self._name)
        try:
            with held(self.memory.store.place.lock):
                self._claim(self.request.key)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of it; after an error it is as far as it came."""
        if self.request.key is None:
            return
        try:
            if error is not None and self._row is not None and self.answer is None:
                with contextlib.suppress(Exception):  # the error itself says more than one while noting it
                    self._write("failed")
        finally:
            self._leave()

    def _leave(self) -> None:
        with _mutex:
            _under_way.discard(self._name)

    def _claim(self, key: str) -> None:
        found = self.memory.requests.list(equals("id", key), limit=1)
        if found:
            self._take_over(found[0])
        self._row = RequestRecord(
            id=key,
            state="running",
            created_at=self.created_at,
            artifact_id=self.id,
            session_id=self.request.artifact["session_id"],
        )
        if self.answer is None:
            self._write("running", fresh=not found)

    def _take_over(self, row: RequestRecord) -> None:
        detail = row.detail
        if detail.get("digest") != self.request.digest:
            raise InputError("idempotency_key: belongs to another request; the same key asks for the same again")
        if row.state == "done":
            self.answer = detail["answer"]
            return
        if row.state == "running" and alive(detail.get("owner") or {}, row.updated_at):
            raise Conflict("idempotency_key: a request with this key is under way; ask again when it is done")
        self.id = str(row.artifact_id)
        self.created_at = moment(detail["created_at"], "created_at") or self.created_at
        self.drafts = {int(at): Draft.of_dict(kept) for at, kept in (detail.get("drafts") or {}).items()}
        self.more = dict(detail.get("more") or {})

    # -- as it goes -----------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write down what was read so far."""
        if self._row is not None:
            self._write("running")

    def sign(self) -> None:
        """A sign of life, now and then."""
        if self._row is not None and time.monotonic() - self._signed > _SIGN:
            self._write("running")

    def done(self, answer: Any) -> None:
        """The request is done: its answer is kept, what was read of the text is not."""
        self.answer = answer
        if self._row is not None:
            self._write("done")

    def _write(self, state: str, *, fresh: bool = False) -> None:
        assert self._row is not None  # noqa: S101 - asked for only with a key
        given = {name: self.request.artifact[name] for name in ("source", "metadata")}  # what it can be erased by
        detail: dict[str, Any] = {"digest": self.request.digest, "created_at": self.created_at.isoformat(), "of": given}
        if state == "done":
            detail["answer"] = self.answer
        else:
            detail |= {"owner": me(), "more": self.more, "drafts": {at: d.to_dict() for at, d in self.drafts.items()}}
        row = replace(self._row, state=state, updated_at=now(), detail=detail)
        (self.memory.requests.append if fresh else self.memory.requests.put)([row])
        self._signed = time.monotonic()
