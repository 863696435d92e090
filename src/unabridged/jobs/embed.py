"""Embedding a shard: texts -> finished rows, and what failed with its true cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard, ShardResult

__all__ = ["run_shard"]


def run_shard(shard: Shard, settings: JobSettings, *, embedder: Embedder | None = None) -> ShardResult:
    """Embed a shard, with this process's own embedder unless one is given. Picklable in and out."""
    raise NotImplementedError
