"""Which provider, with which key, takes the next request.

Providers of one host and model are keys of one service and take turns; those of other hosts are
fallbacks, used in the order given once every key before them is out. All must serve the same model.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.embedding.pace import Pace
from unabridged.errors import ConfigError, ModelMismatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unabridged.errors import ProviderError
    from unabridged.types import Provider

__all__ = ["Lane", "Lanes"]


@dataclass(slots=True, eq=False)
class Lane:
    """One key of one provider, its gate, why it is out, if it is, and what kept requests waiting last, and when."""

    provider: Any  # what sends: a Provider, or a chat's Speaker; of it only host and model are read here
    rank: int
    pace: Pace
    out: ProviderError | None = field(default=None)
    refusal: tuple[ProviderError, float] | None = field(default=None)


class Lanes:
    """The keys and fallbacks of an embedder, or of a chat (whose fallbacks may be other models). Thread-safe."""

    def __init__(self, providers: Sequence[Any], concurrency: int, *, one_model: bool = True) -> None:
        if not providers:
            raise ConfigError("provider", "found none, expected at least one")
        if concurrency < 1:
            raise ConfigError("concurrency", f"found {concurrency}, expected at least 1")
        if one_model:
            _refuse_other_models(providers)
        hosts = list(dict.fromkeys(p.host for p in providers))
        self.concurrency = concurrency
        self.all = tuple(Lane(p, hosts.index(p.host), Pace(concurrency)) for p in providers)
        self._turn = 0
        self._in_flight = 0
        self._lock = threading.Lock()

    @property
    def first(self) -> Provider:
        """The provider that describes the model."""
        return self.all[0].provider

    def pick(self, tried: frozenset[int] = frozenset()) -> Lane | None:
        """The next lane: the first host that is left, its keys by turns; ``None`` if all are out."""
        left = [lane for at, lane in enumerate(self.all) if lane.out is None and at not in tried]
        left = left or [lane for lane in self.all if lane.out is None]
        if not left:
            return None
        keys = [lane for lane in left if lane.rank == left[0].rank]
        with self._lock:
            self._turn += 1
            return keys[self._turn % len(keys)]

    def enter(self, lane: Lane, ticket: int, now: float) -> float:
        """As :meth:`Pace.enter`, and never more in flight over all lanes than configured."""
        with self._lock:
            if self._in_flight >= self.concurrency:
                return 0.005
            wait = lane.pace.enter(ticket, now)
            self._in_flight += wait == 0.0
            return wait

    def left(self) -> None:
        """A request of any lane is back."""
        with self._lock:
            self._in_flight -= 1

    def refusal(self, since: float) -> tuple[ProviderError, float] | None:
        """What has kept requests waiting since a moment: the last such refusal, and until when it asked to wait."""
        found = [
            (error, at + (error.fault.retry_after or 0.0))
            for error, at in (lane.refusal for lane in self.all if lane.refusal is not None and lane.out is None)
            if at + (error.fault.retry_after or 0.0) >= since
        ]
        return min(found, key=lambda each: each[1], default=None)

    def held(self) -> float:
        """Until when nothing is admitted, whichever lane is asked."""
        return min((lane.pace.held for lane in self.all if lane.out is None), default=0.0)

    def take_out(self, lane: Lane, error: ProviderError) -> bool:
        """A revoked or exhausted key is not used again; whether another one is left."""
        lane.out = error
        return any(other.out is None for other in self.all)


def _refuse_other_models(providers: Sequence[Provider]) -> None:
    names = {_plain(p.model): p.model for p in providers}
    if len(names) > 1:
        raise ModelMismatch(
            f"fallbacks must serve the same model, found {', '.join(sorted(names.values()))}: "
            "vectors of different models cannot be compared"
        )


def _plain(model: str) -> str:
    """A model's name without what hosts put around it.

    >>> _plain("models/BAAI/bge-m3:latest") == _plain("bge-m3")
    True
    """
    return model.lower().rsplit("/", 1)[-1].removesuffix(":latest")
