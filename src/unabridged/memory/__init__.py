"""A memory that keeps its sources: artifacts, entities, facts, and every link between them."""

from unabridged.memory.aio import AsyncMemory
from unabridged.memory.memory import Memory

__all__ = ["AsyncMemory", "Memory"]
