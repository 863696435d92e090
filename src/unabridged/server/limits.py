"""What each key may ask for in a minute and in a month, and what it has used.

Buckets fill evenly and hold a minute's worth. Tokens are taken on a guess before the work and corrected to
what the model billed after it. Use is counted by key and month, and outlives the process. Every answer to a key
with limits tells how they stand, in OpenAI's headers.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sqlite3
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from unabridged.errors import UnabridgedError
from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from unabridged.server.auth import Caller
    from unabridged.server.settings import ServerSettings

Row = tuple[str, str, int, int]

__all__ = ["Meters", "Use", "read_use"]

_log = logging.getLogger("unabridged.server")
_TABLE = """CREATE TABLE IF NOT EXISTS use (
  key TEXT NOT NULL, month TEXT NOT NULL, requests INTEGER NOT NULL, tokens INTEGER NOT NULL,
  PRIMARY KEY (key, month))"""
_ADD = """INSERT INTO use VALUES (?, ?, ?, ?) ON CONFLICT (key, month) DO UPDATE SET
  requests = requests + excluded.requests, tokens = tokens + excluded.tokens"""

_CHARS_A_TOKEN = 4  # on a guess, which what is billed corrects


@dataclass(slots=True)
class Use:
    """What a key has used in a month."""

    requests: int = 0
    tokens: int = 0


class _Bucket:
    """Holds a minute's worth, fills evenly. It may go into debt: then it lets nothing in until that is paid."""

    __slots__ = ("_at", "level", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.level = float(limit)
        self._at = time.monotonic()

    def wait(self, cost: float) -> float:
        """Seconds until so much can be taken; 0 if now. More than it holds is let in when it is full."""
        now = time.monotonic()
        self.level = min(self.limit, self.level + (now - self._at) * self.limit / 60)
        self._at = now
        return max(0.0, (min(cost, self.limit) - self.level) * 60 / self.limit)

    def take(self, cost: float) -> None:
        self.level -= cost

    def fresh(self) -> float:
        """Seconds until it is full."""
        return max(0.0, (self.limit - self.level) * 60 / self.limit)


class _Meter:
    """One key's buckets and its use in this month."""

    def __init__(self, requests: int | None, tokens: int | None, month: int | None) -> None:
        self.limits = (requests, tokens, month)
        self.requests = _Bucket(requests) if requests else None
        self.tokens = _Bucket(tokens) if tokens else None
        self.month = month
        self.used = 0


class Meters:
    """The meters of all callers: requests come in on the event loop, tokens of MCP's tools in threads."""

    def __init__(self, settings: ServerSettings, path: Path) -> None:
        self._defaults = settings.limits
        self._path = path
        self._meters: dict[str, _Meter] = {}
        self._new: dict[str, Use] = {}
        self._month = _month()
        self._past = {key: use.tokens for key, use in read_use(path, self._month).items()}
        self._mutex = threading.Lock()

    def enter(self, caller: Caller) -> None:
        """Let one request in, or problem 429."""
        with self._mutex:
            self._use(caller).requests += 1
            _taken("requests", self._meter(caller).requests, 1)

    @contextlib.contextmanager
    def embedding(self, caller: Caller, texts: Sequence[str]) -> Iterator[Use]:
        """Around the embedding of texts, whose bill is put into what it gives; problem 429 where it is too much.

        What was billed counts, also where some texts failed.
        """
        guess = sum(map(len, texts)) // _CHARS_A_TOKEN + len(texts)
        self._reserve(caller, guess)
        billed = Use()
        try:
            yield billed
        except UnabridgedError as error:
            billed.tokens = error.result.usage.tokens if error.result is not None else 0
            raise
        finally:
            self._settle(caller, guess, billed.tokens)

    def _reserve(self, caller: Caller, guess: int) -> None:
        with self._mutex:
            meter = self._meter(caller)
            if meter.month is not None and self._used(caller) >= meter.month:
                raise _used_up(meter.month)
            _taken("tokens", meter.tokens, guess)

    def _settle(self, caller: Caller, guess: int, billed: int) -> None:
        with self._mutex:
            meter = self._meter(caller)
            if meter.tokens is not None:
                meter.tokens.take(billed - guess)
            self._use(caller).tokens += billed

    def told(self, caller: Caller) -> dict[str, str]:
        """How the limits of a minute stand, as headers; empty for a caller without any."""
        with self._mutex:
            meter = self._meter(caller)
            return {**_told("requests", meter.requests), **_told("tokens", meter.tokens)}

    def collect(self) -> list[Row]:
        """What was used since the last time: rows for :meth:`write`, which may be in a thread."""
        with self._mutex:
            new, self._new, month = self._new, {}, self._month
            for key, use in new.items():
                self._past[key] = self._past.get(key, 0) + use.tokens
            if month != _month():
                self._month, self._past = _month(), {}
        return [(key, month, use.requests, use.tokens) for key, use in new.items() if key != "-"]

    def write(self, rows: list[Row]) -> None:
        """Add rows to what is known on disk; a full disk costs a line in the log, not the server."""
        if not rows:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.closing(sqlite3.connect(self._path)) as store, store:
                store.execute("PRAGMA journal_mode=WAL")
                store.execute(_TABLE)
                store.executemany(_ADD, rows)
        except (OSError, sqlite3.Error) as error:
            _log.warning("the use of %d keys could not be written: %s", len(rows), type(error).__name__)

    def _meter(self, caller: Caller) -> _Meter:
        limits = (
            self._limit(caller, "requests_per_minute"),
            self._limit(caller, "tokens_per_minute"),
            self._limit(caller, "tokens_per_month"),
        )
        meter = self._meters.get(caller.id)
        if meter is None or meter.limits != limits:
            meter = self._meters[caller.id] = _Meter(*limits)
        return meter

    def _limit(self, caller: Caller, name: str) -> int | None:
        """The key's own limit, else the server's."""
        own: int | None = getattr(caller.key, name, None)
        return own if own is not None else getattr(self._defaults, name)

    def _use(self, caller: Caller) -> Use:
        found = self._new.get(caller.id)
        if found is None:
            found = self._new[caller.id] = Use()
        return found

    def _used(self, caller: Caller) -> int:
        return self._past.get(caller.id, 0) + self._use(caller).tokens


def read_use(path: Path, month: str | None = None) -> dict[str, Use]:
    """What each key has used in a month (default: this one), by the key's id."""
    if not path.exists():
        return {}
    try:
        with contextlib.closing(sqlite3.connect(path)) as store:
            rows = store.execute("SELECT key, requests, tokens FROM use WHERE month = ?", (month or _month(),))
            return {key: Use(requests, tokens) for key, requests, tokens in rows}
    except sqlite3.Error as error:
        _log.warning("the use of keys could not be read: %s", type(error).__name__)
        return {}


def _month() -> str:
    return datetime.now(UTC).strftime("%Y-%m")


def _taken(what: str, bucket: _Bucket | None, cost: int) -> None:
    """Take so much out of a bucket, or problem 429 that says when it will be there."""
    if bucket is None:
        return
    wait = bucket.wait(cost)
    if wait > 0:
        detail = f"over this key's limit of {bucket.limit} {what} a minute; try again in {math.ceil(wait)} s"
        raise Problem(429, detail, code="rate_limit_exceeded", headers={"retry-after": str(max(1, math.ceil(wait)))})
    bucket.take(cost)


def _used_up(limit: int) -> Problem:
    """No more this month: a client that tries again by itself is told not to (OpenAI's SDKs heed it)."""
    now = datetime.now(UTC)
    first = (now.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=32)).replace(day=1)
    headers = {"retry-after": str(math.ceil((first - now).total_seconds())), "x-should-retry": "false"}
    detail = f"this key has used its {limit} tokens of this month; more from {first:%Y-%m-%d} on (UTC)"
    return Problem(429, detail, code="insufficient_quota", headers=headers)


def _told(what: str, bucket: _Bucket | None) -> dict[str, str]:
    """What OpenAI's answers say of limits."""
    if bucket is None:
        return {}
    bucket.wait(0)  # what has come in since the last request
    return {
        f"x-ratelimit-limit-{what}": str(bucket.limit),
        f"x-ratelimit-remaining-{what}": str(max(0, math.floor(bucket.level))),
        f"x-ratelimit-reset-{what}": f"{bucket.fresh():.3f}s",
    }
