"""Limits: the model table, the default for unknown models, and what servers taught us, on disk.

:class:`LearnedLimits` keeps limits per (host, model, unit) with where each came from. They only
tighten, only from confirmed refusals, ignore what cannot be true, and override the table.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from unabridged.providers.knowledge import Knowledge, matching
from unabridged.providers.models import (
    ModelInfo,
    all_models,
    known_model,
    nearest_model,
    unknown_model,
)
from unabridged.types import OVERFLOWS, Limit

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.types import Fault

__all__ = [
    "Learned",
    "LearnedLimits",
    "ModelInfo",
    "ModelLimits",
    "all_models",
    "default_limit",
    "known_limit",
    "known_model",
    "nearest_model",
    "unknown_model",
]

# No model takes less than this many tokens; a smaller figure is a batch size, a dimension, a misreading.
SMALLEST_TOKENS = 32
_FIELDS = tuple(f.name for f in fields(Limit))
_TABLE = """
CREATE TABLE IF NOT EXISTS learned (
  host TEXT NOT NULL, model TEXT NOT NULL, unit TEXT NOT NULL, value INTEGER NOT NULL,
  at REAL NOT NULL, kind TEXT NOT NULL, stated INTEGER, actual INTEGER, excess INTEGER, status INTEGER,
  PRIMARY KEY (host, model, unit));
CREATE TABLE IF NOT EXISTS accepted (
  host TEXT NOT NULL, model TEXT NOT NULL, unit TEXT NOT NULL, value INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (host, model, unit));
"""
_LARGER_ACCEPTED = "SELECT 1 FROM accepted WHERE host = ? AND model = ? AND unit = ? AND value > ?"
_TIGHTEN = """
INSERT INTO learned VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host, model, unit) DO UPDATE SET
  value = excluded.value, at = excluded.at, kind = excluded.kind, stated = excluded.stated,
  actual = excluded.actual, excess = excluded.excess, status = excluded.status
WHERE excluded.value < learned.value
"""
_ACCEPT = """
INSERT INTO accepted VALUES (?, ?, ?, ?, ?) ON CONFLICT (host, model, unit) DO UPDATE SET
  value = excluded.value, at = excluded.at WHERE excluded.value > accepted.value
"""


def default_limit() -> Limit:
    """What is assumed of a model that nothing is known of.

    8,192 tokens is what most current models take, and what a server that takes less says so about; a
    host that is not known gets 32 texts a request (SPEC K4).

    >>> default_limit().input_tokens, default_limit().request_inputs
    (8192, 32)
    """
    return Limit(input_tokens=8192, request_inputs=32)


def known_limit(model: str | None, provider: str | None = None, *, compat: bool = False) -> Limit:
    """The table's limit for a model, or :func:`default_limit`.

    >>> known_limit("gemini-embedding-001", "google-gemini").input_tokens
    2048
    """
    info = known_model(model, provider, compat=compat)
    return default_limit() if info is None else info.limit


@dataclass(frozen=True, slots=True)
class Learned:
    """One learned limit and where it came from: when, and which refusal with which numbers.

    ``unit`` is the field of :class:`~unabridged.types.Limit` that it sets; ``at`` is in seconds since 1970.
    """

    host: str
    model: str
    unit: str
    value: int
    at: float
    kind: str
    stated: int | None = None
    actual: int | None = None
    excess: int | None = None
    status: int | None = None


class LearnedLimits:
    """Learned limits on disk, safe for several threads and processes.

    ``path`` is a file or a folder; by default it stands beside the vector cache.

    >>> import tempfile
    >>> from unabridged.types import Fault
    >>> learned = LearnedLimits(tempfile.mkdtemp())
    >>> learned.learn("localhost:8080", "bge", Fault("input_overflow", "input", 512, 600, unit="tokens"))
    True
    >>> learned.limit("localhost:8080", "bge").input_tokens
    512
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._knowledge = Knowledge(path)
        self._knowledge.prepare(_TABLE)

    @property
    def path(self) -> Path:
        """The file."""
        return self._knowledge.path

    def limit(self, host: str, model: str) -> Limit:
        """Everything learned of one model at one host."""
        rows = self._knowledge.read("SELECT unit, value FROM learned WHERE host = ? AND model = ?", (host, model))
        return Limit(**{unit: value for unit, value in rows if unit in _FIELDS})

    def learn(self, host: str, model: str, fault: Fault) -> bool:
        """Keep what a refusal states, if it can be true; whether something was tightened.

        Refusals without a figure teach nothing here: whoever finds the figure by cutting passes it to
        :meth:`tighten`.
        """
        unit = _unit_of(fault)
        stated = fault.limit
        if stated is None and fault.actual is not None and fault.excess is not None:
            stated = fault.actual - fault.excess
        if unit is None or stated is None:
            return False
        if fault.actual is not None and fault.actual < stated:
            return False  # what was refused is smaller than the limit: the numbers mean something else
        return self.tighten(host, model, Limit(**{unit: stated}), fault)

    def tighten(self, host: str, model: str, limit: Limit, fault: Fault) -> bool:
        """Keep each figure of ``limit`` that is plausible and smaller than what is known."""
        origin = (time.time(), fault.kind, fault.limit, fault.actual, fault.excess, fault.status)
        tightened = False
        with self._knowledge.write() as database:
            for unit in _FIELDS:
                value = getattr(limit, unit)
                if value is None or not _plausible(unit, value):
                    continue
                if database.execute(_LARGER_ACCEPTED, (host, model, unit, value)).fetchone():
                    continue  # more than this has gone through: it is not the limit
                changed = database.execute(_TIGHTEN, (host, model, unit, int(value), *origin))
                tightened = tightened or changed.rowcount > 0
        return tightened

    def succeeded(self, host: str, model: str, sizes: Limit) -> None:
        """Remember the largest sizes, in the provider's own count, that went through."""
        now = time.time()
        with self._knowledge.write() as database:
            for unit in _FIELDS:
                value = getattr(sizes, unit)
                if value:
                    database.execute(_ACCEPT, (host, model, unit, int(value), now))

    def entries(self, host: str | None = None, model: str | None = None) -> list[Learned]:
        """What has been learned, in order of host, model and unit."""
        where, values = matching(host, model)
        rows = self._knowledge.read(f"SELECT * FROM learned{where} ORDER BY host, model, unit", values)  # noqa: S608
        return [Learned(*row) for row in rows]

    def forget(self, host: str | None = None, model: str | None = None) -> int:
        """Drop what was learned of a host, a model, both, or everything; how many limits went."""
        return self._knowledge.drop(("learned", "accepted"), host, model)[0]

    def for_model(self, host: str, model: str) -> ModelLimits:
        """The view of one model at one host that an embedder learns through."""
        return ModelLimits(self, host, model)


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Learned limits of one model at one host: what an embedder loads once and adds to."""

    learned: LearnedLimits
    host: str
    model: str

    def load(self) -> Limit:
        """What has been learned so far."""
        return self.learned.limit(self.host, self.model)

    def learn(self, limit: Limit, fault: Fault) -> None:
        """Keep a tightened limit, and the refusal that it came from."""
        self.learned.tighten(self.host, self.model, limit, fault)


def _unit_of(fault: Fault) -> str | None:
    """Which field of a limit a refusal is about."""
    if fault.kind not in OVERFLOWS:
        return None
    if fault.kind == "batch_count" or fault.unit == "inputs":
        return "request_inputs"
    place = "input" if fault.scope == "input" else "request"
    unit = fault.unit or "tokens"
    if place == "request" and unit == "chars":
        unit = "bytes"  # a character is at least a byte: the figure holds as a bound on bytes
    name = f"{place}_{unit}"
    return name if name in _FIELDS else None


def _plausible(unit: str, value: int) -> bool:
    return value >= (1 if unit == "request_inputs" else SMALLEST_TOKENS)
