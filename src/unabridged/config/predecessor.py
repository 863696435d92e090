"""Settings of memory-lancedb-pro: the keys that mean the same are taken, the others set aside and named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["translated"]

# What it knows and we do not do: capturing and injecting conversations is the host's part of it.
_SET_ASIDE = frozenset(
    {
        "admissionControl",
        "autoCapture",
        "autoRecall",
        "autoRecallExcludeAgents",
        "autoRecallIncludeAgents",
        "autoRecallMaxChars",
        "autoRecallMaxItems",
        "autoRecallMaxQueryLength",
        "autoRecallMinLength",
        "autoRecallMinRepeated",
        "autoRecallPerItemMaxChars",
        "autoRecallTimeoutMs",
        "captureAssistant",
        "decay",
        "enableManagementTools",
        "extractMaxChars",
        "extractMinMessages",
        "extractionThrottle",
        "llm",
        "maxRecallPerTurn",
        "mdMirror",
        "memoryCompaction",
        "memoryReflection",
        "recallMode",
        "scopes",
        "selfImprovement",
        "sessionCompression",
        "sessionMemory",
        "sessionStrategy",
        "smartExtraction",
        "tier",
        "workspaceBoundary",
    }
)
_PROVIDERS = {"openai-compatible": "openai"}


def translated(settings: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The settings in our words, and a note for each that is set aside.

    >>> translated({"autoRecall": True, "dbPath": "memory"})
    ({'dbPath': 'memory'}, ('autoRecall: a setting of memory-lancedb-pro that unabridged does not use',))
    """
    kept = {key: value for key, value in settings.items() if key not in _SET_ASIDE}
    notes = [_note(key) for key in settings if key in _SET_ASIDE]
    embedding = kept.get("embedding")
    if isinstance(embedding, dict):
        kept["embedding"] = _embedding(dict(embedding), notes)
    return kept, tuple(notes)


def _embedding(settings: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """There, ``requestDimensions`` is what is sent, and ``dimensions`` the width of the table."""
    asked = settings.pop("requestDimensions", None)
    if settings.pop("omitDimensions", False) is True and "dimensions" in settings:
        settings.pop("dimensions")
        notes.append("embedding.dimensions: not sent, as embedding.omitDimensions says")
    elif asked is not None:
        settings["dimensions"] = asked
    provider = settings.get("provider")
    if isinstance(provider, str):
        settings["provider"] = _PROVIDERS.get(provider, provider)
    return settings


def _note(key: str) -> str:
    return f"{key}: a setting of memory-lancedb-pro that unabridged does not use"
