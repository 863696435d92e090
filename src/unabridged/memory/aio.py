"""The same memory for async callers: each call runs in a thread, so no event loop is ever blocked.

The store does its work outside Python's lock, on threads of its own; a thread that waits for it costs
nothing. What an embedder does for a transaction runs there as well. A call that is cancelled is waited for no
longer; what its thread had begun is done whole or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Self, TypeVar

from unabridged.memory.memory import Memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from unabridged.memory.erasure import Erasure, Purge
    from unabridged.memory.exchange import Manifest
    from unabridged.memory.recall.answer import Answered
    from unabridged.memory.recall.data import Recalled
    from unabridged.memory.recall.timeline import Timeline
    from unabridged.memory.records import Artifact, Snapshot
    from unabridged.memory.remember.data import Remembered
    from unabridged.memory.remember.ingest import Ingested
    from unabridged.memory.remember.pending import PendingReport
    from unabridged.memory.stats import Statistics
    from unabridged.memory.verify import Report
    from unabridged.memory.writing import Transaction

__all__ = ["AsyncMemory"]

T = TypeVar("T")


class AsyncMemory:
    """A :class:`~unabridged.memory.Memory` whose calls are awaited.

    ``memory.sync`` is the memory itself; :meth:`run` awaits any call of it that has no twin here.

    >>> async def example():
    ...     async with await AsyncMemory.open("memory://") as memory:
    ...         note = await memory.add("Alice works at Acme.")
    ...         return (await memory.run(memory.sync.artifacts.get, note.id)).text
    >>> asyncio.run(example())
    'Alice works at Acme.'
    """

    def __init__(self, sync: Memory) -> None:
        self.sync = sync

    @classmethod
    async def open(cls, uri: str | Path, **options: Any) -> AsyncMemory:
        """As :meth:`Memory.open`."""
        return cls(await asyncio.to_thread(lambda: Memory.open(uri, **options)))

    @staticmethod
    async def run(call: Callable[..., T], *args: Any, **options: Any) -> T:
        """Any call of the memory, in a thread."""
        return await asyncio.to_thread(call, *args, **options)

    async def add(self, text: str, **given: Any) -> Artifact:
        """As :meth:`Memory.add`."""
        return await asyncio.to_thread(self.sync.add, text, **given)

    async def add_many(self, texts: Any, **given: Any) -> list[Artifact]:
        """As :meth:`Memory.add_many`."""
        return await asyncio.to_thread(self.sync.add_many, texts, **given)

    async def remember(self, text: str, **given: Any) -> Remembered:
        """As :meth:`Memory.remember`; cancelling the task stops it between two steps."""
        return await self.sync.aremember(text, **given)

    async def ingest(self, what: Any, /, **given: Any) -> Ingested:
        """As :meth:`Memory.ingest`."""
        return await asyncio.to_thread(self.sync.ingest, what, **given)

    async def work_pending(self, **given: Any) -> PendingReport:
        """As :meth:`Memory.work_pending`."""
        return await asyncio.to_thread(self.sync.work_pending, **given)

    @contextlib.asynccontextmanager
    async def write(self, *, embed: bool = True) -> AsyncIterator[Transaction]:
        """As :meth:`Memory.write`: gather in the block, commit in a thread at its end."""
        transaction = self.sync.write(embed=embed)
        yield transaction
        if transaction.result is None:
            await asyncio.to_thread(transaction.commit)

    async def get(self, artifact_id: str) -> Artifact:
        """One artifact by id."""
        return await asyncio.to_thread(self.sync.artifacts.get, artifact_id)

    async def update(self, artifact: Artifact | str, **changes: Any) -> Artifact:
        """As :meth:`Memory.update`."""
        return await asyncio.to_thread(self.sync.update, artifact, **changes)

    async def delete(self, artifacts: Any, **options: Any) -> Any:
        """As :meth:`Memory.delete`."""
        return await asyncio.to_thread(self.sync.delete, artifacts, **options)

    async def withdraw(self, **options: Any) -> Any:
        """As :meth:`Memory.withdraw`."""
        return await asyncio.to_thread(self.sync.withdraw, **options)

    async def end(self, edge: Any, **given: Any) -> Any:
        """As :meth:`Memory.end`."""
        return await asyncio.to_thread(self.sync.end, edge, **given)

    async def forget(self, ids: Any, **options: Any) -> Any:
        """As :meth:`Memory.forget`."""
        return await asyncio.to_thread(self.sync.forget, ids, **options)

    async def erase(self, **options: Any) -> Erasure:
        """As :meth:`Memory.erase`."""
        return await asyncio.to_thread(self.sync.erase, **options)

    async def purge(self, **options: Any) -> Purge:
        """As :meth:`Memory.purge`."""
        return await asyncio.to_thread(self.sync.purge, **options)

    async def evidence(self, subject: Any) -> Any:
        """As :meth:`Memory.evidence`."""
        return await asyncio.to_thread(self.sync.evidence, subject)

    async def embed_missing(self, **options: Any) -> int:
        """As :meth:`Memory.embed_missing`."""
        return await asyncio.to_thread(self.sync.embed_missing, **options)

    async def recall(self, query: str, **options: Any) -> Recalled:
        """As :meth:`Memory.recall`."""
        return await asyncio.to_thread(self.sync.recall, query, **options)

    async def query(self, question: str, **options: Any) -> Answered:
        """As :meth:`Memory.query`."""
        return await asyncio.to_thread(self.sync.query, question, **options)

    async def timeline(self, entity: Any, **options: Any) -> Timeline:
        """As :meth:`Memory.timeline`."""
        return await asyncio.to_thread(self.sync.timeline, entity, **options)

    async def snapshot(self, name: str) -> Snapshot:
        """As :meth:`Memory.snapshot`."""
        return await asyncio.to_thread(self.sync.snapshot, name)

    async def restore(self, name: str) -> None:
        """As :meth:`Memory.restore`."""
        await asyncio.to_thread(self.sync.restore, name)

    async def verify(self) -> Report:
        """As :meth:`Memory.verify`."""
        return await asyncio.to_thread(self.sync.verify)

    async def stats(self) -> Statistics:
        """As :meth:`Memory.stats`."""
        return await asyncio.to_thread(self.sync.stats)

    async def optimize(self) -> None:
        """As :meth:`Memory.optimize`."""
        await asyncio.to_thread(self.sync.optimize)

    async def export(self, path: str | Path, **options: Any) -> Manifest:
        """As :meth:`Memory.export`."""
        return await asyncio.to_thread(self.sync.export, path, **options)

    async def close(self) -> None:
        """As :meth:`Memory.close`."""
        await asyncio.to_thread(self.sync.close)

    async def __aenter__(self) -> Self:
        """The memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()
