"""Somebody else's client as a provider: its own call, its own exceptions, its own retries.

The call goes through the client itself, so that its key, HTTP client, headers and retries are the
caller's. What it raises is read by :func:`~unabridged.providers.faults.classify` and travels as the
``__cause__`` of a :class:`~unabridged.errors.ProviderError`; in the end the caller gets the exception
itself back.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import ProviderError
from unabridged.providers.faults import classify, error_for
from unabridged.providers.limits import known_model
from unabridged.providers.replies import checked, vectors_from
from unabridged.types import Limit, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from unabridged.types import Request, Vectors

    Ask = Callable[["Request"], "Answer"]
    AsyncAsk = Callable[["Request"], Awaitable["Answer"]]

__all__ = [
    "CALL",
    "PATIENCE",
    "Answer",
    "Call",
    "ClientProvider",
    "current",
    "rows_of",
    "sound",
    "table_limit",
    "verified",
]

# The client has already waited and retried by itself: after so many seconds without any success, its
# refusal is final. A stated Retry-After counts twice.
PATIENCE = 30.0
_TRANSIENT = ("rate_limit", "overloaded", "timeout", "upstream_error")


@dataclass(slots=True, eq=False)
class Answer:
    """What a client's call gave: rows of numbers, an array or a tensor; ``indices`` if it numbers them.

    ``sample`` is the client's own answer, where its type is to be given back.
    """

    rows: Any
    tokens: int | None = None
    model: str | None = None
    indices: Sequence[Any] | None = None
    sample: Any = None


@dataclass(slots=True, eq=False)
class Call:
    """One call of the caller's: what it passes to the client beside what makes the vectors."""

    extras: Mapping[str, Any] = field(default_factory=dict)
    succeeded: float = field(default_factory=time.monotonic)
    seen: list[Any] = field(default_factory=list)


CALL: ContextVar[Call] = ContextVar("unabridged_call")


class ClientProvider:
    """One model behind one client. ``ask`` or ``aask`` makes one raw request with it.

    ``limit`` is what the client itself states; without it, the table is asked by model and name.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str,
        host: str = "process",
        ask: Ask | None = None,
        aask: AsyncAsk | None = None,
        limit: Limit | None = None,
        tokenizer: Any = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.host = host
        self.tokenizer = tokenizer
        self.settings = dict(settings or {})
        self.limit = table_limit(name, model) if limit is None else limit
        self._ask = ask
        self._aask = aask
        self.patience = PATIENCE
        self._refusals: dict[tuple[str, ...], ProviderError] = {}

    def send(self, request: Request) -> Reply:
        """Make the client's own call, and check its answer."""
        if self._ask is None:
            raise TypeError(f"{self.name}: this client is async: await its async calls")
        self._replay(request)
        try:
            answer = _within(request.timeout, self._ask, request)
        except Exception as error:
            refusal = self._refused(error)
            if refusal is None:
                raise
            raise refusal from error
        return self._reply(answer, request)

    async def asend(self, request: Request) -> Reply:
        """The same, for async callers; a client that cannot wait is asked in a thread."""
        if self._aask is None:
            return await asyncio.to_thread(self.send, request)
        self._replay(request)
        try:
            answer = await asyncio.wait_for(self._aask(request), request.timeout)
        except Exception as error:
            refusal = self._refused(error)
            if refusal is None:
                raise
            raise refusal from error
        return self._reply(answer, request)

    def close(self) -> None:
        """Nothing: the client is the caller's."""

    async def aclose(self) -> None:
        """Nothing: the client is the caller's."""

    def refusal(self, error: BaseException) -> ProviderError | None:
        """What a client's exception means, or ``None`` for one that is no refusal (a slip in the code)."""
        if isinstance(error, ProviderError):
            return error
        status, body, headers = _parts(error)
        fault = classify(status, body, headers, provider=self.name)
        if fault.kind == "unknown" and status is None:
            kind = _by_type(error)
            if kind is None:
                return None
            fault = replace(fault, kind=kind)
        made = error_for(fault, body, provider=self.name)
        made.__cause__ = error
        return made

    @contextmanager
    def replaying(self, texts: Sequence[str], refusal: ProviderError | None) -> Iterator[None]:
        """The next request of exactly these texts has been refused already: it is not sent again."""
        if refusal is None:
            yield
            return
        key = tuple(texts)
        self._refusals[key] = refusal
        try:
            yield
        finally:
            self._refusals.pop(key, None)

    def _replay(self, request: Request) -> None:
        refusal = self._refusals.pop(request.texts, None) if self._refusals else None
        if refusal is not None:
            raise refusal

    def _refused(self, error: Exception) -> ProviderError | None:
        refusal = self.refusal(error)
        if refusal is not None and refusal.fault.kind in _TRANSIENT:
            patience = max(self.patience, 2 * (refusal.fault.retry_after or 0.0))
            if time.monotonic() - current().succeeded > patience:
                refusal.fault = replace(refusal.fault, kind="quota")  # ends the call; the cause is unchanged
        return refusal

    def _reply(self, answer: Answer, request: Request) -> Reply:
        call = current()
        call.succeeded = time.monotonic()
        if answer.sample is not None:
            call.seen.append(answer.sample)
        vectors = rows_of(answer.rows, len(request.texts), self.name, answer.indices)
        return Reply(vectors, tokens=answer.tokens, model=answer.model)


def rows_of(rows: Any, count: int, name: str, indices: Sequence[Any] | None = None) -> Vectors:
    """Rows of numbers, arrays, base64, or one tensor -> float32 of shape ``(count, width)``, checked."""
    if hasattr(rows, "detach"):
        rows = rows.detach().cpu().float().numpy()
    if isinstance(rows, np.ndarray) and rows.dtype != object:
        return checked(rows, count=count, provider=name)
    listed = [_plain(row) for row in rows]
    numbered = zip(indices if indices is not None else [None] * len(listed), listed, strict=True)
    return vectors_from(numbered, count=count, provider=name)


def _plain(row: Any) -> Any:
    """Arrays, tensors, tuples and numpy's own numbers as a list of Python's."""
    if row is None or isinstance(row, str) or (isinstance(row, list) and row and type(row[0]) in (float, int)):
        return row
    return np.asarray(row).tolist()


def sound(rows: Iterable[Any]) -> bool:
    """Whether each row has a value other than zero, and none that is NaN or infinite: one quick look.

    >>> sound([[0.1, 0.2]]), sound([[0.0, 0.0]]), sound([[float("nan"), 1.0]])
    (True, False, False)
    """
    return all(map(_is_sound, rows))


def verified(rows: Any, texts: Sequence[str], name: str) -> Any:
    """A client's own rows, as they are, if there is one for each text; a blank text may have any."""
    if len(rows) != len(texts) or not sound(row for row, text in zip(rows, texts, strict=True) if text.strip()):
        rows_of(rows, len(texts), name)  # says what is wrong
    return rows


def _is_sound(row: Any) -> bool:
    if isinstance(row, str):
        return True
    if row is None:
        return False
    some = row.any() if hasattr(row, "any") else any(row)
    return bool(some) and math.isfinite(sum(row) if isinstance(row, list) else float(np.sum(np.asarray(row))))


def _within(seconds: float | None, ask: Ask, request: Request) -> Answer:
    """Ask, and wait no longer than so many seconds: a client need not know our deadline."""
    if seconds is None:
        return ask(request)
    future: Future[Answer] = Future()
    context = copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(ask, request))
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(seconds)


def table_limit(name: str, model: str) -> Limit:
    """What is known of a model, with this provider or with any."""
    known = known_model(model, provider=name) or known_model(model)
    return Limit() if known is None else known.limit


def current() -> Call:
    """The call under way; a new one where there is none."""
    return CALL.get(None) or Call()


def _parts(error: BaseException) -> tuple[int | None, Any, Mapping[str, str] | None]:
    """Status, body and headers, under whichever names a client's exception keeps them."""
    reply = getattr(error, "response", None) or getattr(error, "raw_response", None)
    numbers = (getattr(error, name, None) for name in ("status_code", "http_status", "code"))
    status = next((n for n in numbers if type(n) is int), None) or getattr(reply, "status_code", None)
    bodies = (getattr(error, name, None) for name in ("body", "json_body", "http_body", "details"))
    body = next((b for b in bodies if b), None) or getattr(reply, "text", None) or str(error)
    headers = getattr(error, "headers", None) or getattr(reply, "headers", None)
    return status if type(status) is int and status >= 100 else None, body, dict(headers) if headers else None


def _by_type(error: BaseException) -> Any:
    """Time-outs and lost connections say what they are by their class alone."""
    names = " ".join(kind.__name__ for kind in type(error).__mro__).lower()
    if isinstance(error, TimeoutError) or "timeout" in names:
        return "timeout"
    return "upstream_error" if isinstance(error, OSError) or "connect" in names else None
