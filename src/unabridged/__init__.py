"""Embeddings for text of any length, and a memory that keeps its sources.

Wrap the embeddings client you already have, and it never again fails on, or silently cuts, a long text:

>>> import unabridged
>>> vector = unabridged.embed("A book of any length. " * 5000, model="hashing", cache=False)
>>> vector.shape
(256,)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.adapters import wrap
    from unabridged.config import Config, load_config
    from unabridged.embedding.cache import VectorCache
    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.plan import Chunking
    from unabridged.embedding.results import EmbedResult, Progress, TextResult
    from unabridged.errors import ChatError, SegmentFallback
    from unabridged.jobs.job import retry_job, run_job
    from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
    from unabridged.jobs.state import JobReport, list_jobs
    from unabridged.memory import Memory
    from unabridged.memory.asking.asking import Asker
    from unabridged.memory.recall.answer import Answered
    from unabridged.memory.recall.data import Recalled
    from unabridged.memory.remember.data import Remembered
    from unabridged.memory.remember.ingest import Ingested
    from unabridged.providers.chat import Chat
    from unabridged.providers.faults import classify
    from unabridged.providers.registry import open_provider
    from unabridged.text.compare import compare
    from unabridged.text.documents import Block, Document, read_document, read_documents
    from unabridged.text.segmenters import SegmentSpec, register_segmenter, segmenters, split
    from unabridged.text.stats import chunk_stats
    from unabridged.types import Chunk, ChunkSet, Fault, Limit, Provider, Reply, Request, Span, Usage, Vectors

__version__ = "0.1.0"

# Where each public name lives: it is imported when it is first used, so that `import unabridged` is cheap.
_HOMES = {
    "Answered": "unabridged.memory.recall.answer",
    "Asker": "unabridged.memory.asking.asking",
    "Block": "unabridged.text.documents",
    "Chat": "unabridged.providers.chat",
    "ChatError": "unabridged.errors",
    "Chunk": "unabridged.types",
    "ChunkSet": "unabridged.types",
    "Chunking": "unabridged.embedding.plan",
    "Config": "unabridged.config",
    "Document": "unabridged.text.documents",
    "EmbedResult": "unabridged.embedding.results",
    "Embedder": "unabridged.embedding.embedder",
    "EmbedderSpec": "unabridged.jobs.settings",
    "Fault": "unabridged.types",
    "Ingested": "unabridged.memory.remember.ingest",
    "JobReport": "unabridged.jobs.state",
    "JobSettings": "unabridged.jobs.settings",
    "Limit": "unabridged.types",
    "Memory": "unabridged.memory",
    "Progress": "unabridged.embedding.results",
    "Provider": "unabridged.types",
    "Recalled": "unabridged.memory.recall.data",
    "Remembered": "unabridged.memory.remember.data",
    "Reply": "unabridged.types",
    "Request": "unabridged.types",
    "SegmentFallback": "unabridged.errors",
    "SegmentSpec": "unabridged.text.segmenters",
    "SinkSettings": "unabridged.jobs.settings",
    "SourceSettings": "unabridged.jobs.settings",
    "Span": "unabridged.types",
    "TextResult": "unabridged.embedding.results",
    "Usage": "unabridged.types",
    "VectorCache": "unabridged.embedding.cache",
    "chunk_stats": "unabridged.text.stats",
    "classify": "unabridged.providers.faults",
    "compare": "unabridged.text.compare",
    "list_jobs": "unabridged.jobs.state",
    "load_config": "unabridged.config",
    "open_provider": "unabridged.providers.registry",
    "read_document": "unabridged.text.documents",
    "read_documents": "unabridged.text.documents",
    "register_segmenter": "unabridged.text.segmenters",
    "retry_job": "unabridged.jobs.job",
    "run_job": "unabridged.jobs.job",
    "segmenters": "unabridged.text.segmenters",
    "split": "unabridged.text.segmenters",
    "wrap": "unabridged.adapters",
}

__all__ = [
    "Answered",
    "Asker",
    "Block",
    "Chat",
    "ChatError",
    "Chunk",
    "ChunkSet",
    "Chunking",
    "Config",
    "Document",
    "EmbedResult",
    "Embedder",
    "EmbedderSpec",
    "Fault",
    "Ingested",
    "JobReport",
    "JobSettings",
    "Limit",
    "Memory",
    "Progress",
    "Provider",
    "Recalled",
    "Remembered",
    "Reply",
    "Request",
    "SegmentFallback",
    "SegmentSpec",
    "SinkSettings",
    "SourceSettings",
    "Span",
    "TextResult",
    "Usage",
    "VectorCache",
    "chunk_stats",
    "classify",
    "compare",
    "embed",
    "list_jobs",
    "load_config",
    "open_provider",
    "read_document",
    "read_documents",
    "register_segmenter",
    "retry_job",
    "run_job",
    "segmenters",
    "split",
    "wrap",
]


def embed(texts: str | Iterable[str], model: str | None = None, **options: Any) -> Vectors:
    """Texts of any length -> vectors, in one line.

    One text gives shape ``(width,)``, several give ``(n, width)``, float32. ``model`` is a name such as
    ``"openai/text-embedding-3-small"``; none means the embedded default. ``options`` are those of
    :class:`Embedder`, which is better kept and used again when there is more than one call.
    """
    from unabridged.embedding.embedder import Embedder

    with Embedder(model, **options) as embedder:
        return embedder.embed(texts)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'unabridged' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
