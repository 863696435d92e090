"""Has the model changed under its name? A few fixed texts tell (SPEC L15).

Their vectors are remembered for each host, model and width. When they have moved, new vectors must not be
mixed with stored ones until somebody says that they may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.errors import ModelMismatch
from unabridged.providers.canaries import CANARY_TEXTS, TOLERANCE, Canaries
from unabridged.providers.retry import acall, call
from unabridged.types import Request

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.types import Provider, Reply

__all__ = ["DriftGuard"]


class DriftGuard:
    """Compares a provider's canary vectors with those remembered; one short request a check."""

    def __init__(self, provider: Provider, *, dimensions: int | None, fingerprint: str, path: Path | None) -> None:
        self._provider = provider
        self._request = Request(tuple(CANARY_TEXTS), dimensions=dimensions)
        self._print = fingerprint
        self._path = path
        self.checked = False

    def check(self, *, confirm: bool = False) -> float:
        """The drift, 0 for a model seen for the first time. Raises :class:`ModelMismatch` if it has moved.

        ``confirm`` remembers the vectors as they are now instead.
        """
        return self._judge(call(lambda: self._provider.send(self._request)), confirm=confirm)

    async def acheck(self, *, confirm: bool = False) -> float:
        """As :meth:`check`, for async callers."""
        return self._judge(await acall(lambda: self._provider.asend(self._request)), confirm=confirm)

    def _judge(self, reply: Reply, *, confirm: bool) -> float:
        host, model = self._provider.host, self._provider.model
        canaries = Canaries(self._path)
        if confirm:
            canaries.remember(host, model, reply.vectors, self._print)
        drift = canaries.check(host, model, reply.vectors, self._print)
        if drift > TOLERANCE:
            raise ModelMismatch(
                f"{model} at {host} answers otherwise than before (drift {drift:.3f}, at most {TOLERANCE}): "
                "new vectors must not be mixed with stored ones",
                advice="confirm_drift",
            )
        self.checked = True
        return drift
