"""The write path as the memory's own methods; each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

if TYPE_CHECKING:
    from unabridged.memory.memory import Memory
    from unabridged.memory.remember.data import Options, Remembered
    from unabridged.memory.remember.ingest import Ingested
    from unabridged.memory.remember.pending import PendingReport

__all__ = ["Remembering"]


class Remembering:
    """A part of :class:`~unabridged.memory.Memory`."""

    def remember(self, text: str, **given: Unpack[Options]) -> Remembered:
        """A text with its chunks, entities and facts, each with its source (SPEC A12).

        For the options see :class:`~unabridged.memory.remember.data.Options`. Entities, facts and summaries
        need a chat model (``Memory.open(…, chat=…)``); without one the text is stored, embedded and searchable,
        and the answer's ``notes`` say so. Raises what refused a call, with nothing stored;
        :class:`~unabridged.errors.RememberFailed` once a part of a long text is.

        >>> from unabridged.memory import Memory
        >>> memory = Memory.open("memory://")
        >>> made = memory.remember("- knows: [[Bob]]", source="alice.md")
        >>> memory.artifacts.get(made.artifact_id).text
        '- knows: [[Bob]]'
        """
        from unabridged.memory.remember.remember import remember

        return remember(cast("Memory", self), text, given)

    async def aremember(self, text: str, **given: Unpack[Options]) -> Remembered:
        """As :meth:`remember`, for async callers; cancelling the task stops it between two steps."""
        from unabridged.memory.remember.remember import aremember

        return await aremember(cast("Memory", self), text, given)

    def ingest(self, what: Any, /, **given: Any) -> Ingested:
        """Files, folders, addresses or bytes, each under its identity: only changes are work (SPEC K1, K5).

        See :func:`~unabridged.memory.remember.ingest.ingest`; other options are those of :meth:`remember`.
        """
        from unabridged.memory.remember.ingest import ingest

        return ingest(cast("Memory", self), what, **given)

    def work_pending(self, **given: Any) -> PendingReport:
        """Make the graphs that wait (``defer=True``): see :func:`~unabridged.memory.remember.pending.work_pending`."""
        from unabridged.memory.remember.pending import work_pending

        return work_pending(cast("Memory", self), **given)
