"""Settings of memory-lancedb-pro: the keys that mean the same are taken, the others set aside, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.config.jsonc import Path

__all__ = ["OWN_KEYS", "Translated", "is_theirs", "translated"]

# What it knows and we do not do, by the reason.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "when a conversation is captured is up to the host: remember takes what it is given": (
        "admissionControl",
        "autoCapture",
        "captureAssistant",
        "extractMaxChars",
        "extractMinMessages",
        "extractionThrottle",
    ),
    "what is put into a conversation, and when, is up to the host: recall answers when it is asked": (
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
        "maxRecallPerTurn",
        "recallMode",
    ),
    "nothing is forgotten or merged by itself: what a later text contradicts is closed, recall.recency weighs age": (
        "decay",
        "memoryCompaction",
        "sessionCompression",
        "tier",
    ),
    "a memory is divided by datasets (memory.dataset) and sessions": ("scopes", "workspaceBoundary"),
    "there is no such part here": (
        "enableManagementTools",
        "mdMirror",
        "memoryReflection",
        "selfImprovement",
        "sessionMemory",
        "sessionStrategy",
    ),
}
_SET_ASIDE = {key: reason for reason, keys in _REASONS.items() for key in keys}
OWN_KEYS = frozenset(_SET_ASIDE) | {"llm", "retrieval", "smartExtraction"}
_OWN_EMBEDDING_KEYS = ("requestDimensions", "omitDimensions")
_PROVIDERS = {"openai-compatible": "openai"}
_CHAT_KEYS = ("apiKey", "model", "baseURL")


@dataclass(frozen=True, slots=True)
class Translated:
    """Settings in our words, a note for each that was moved or set aside, and where moved ones stand in the file."""

    settings: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()
    moved: Mapping[Path, Path] = field(default_factory=dict)

    def place(self, path: Path) -> Path:
        """Where a key of ours stands in the file."""
        known = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in self.moved), None)
        return path if known is None else (*self.moved[known], *path[len(known) :])


def is_theirs(settings: Mapping[str, Any]) -> bool:
    """Whether settings that stand alone, under nobody's id, are memory-lancedb-pro's: they have a key that only it has.

    >>> is_theirs({"embedding": {}, "autoCapture": True}), is_theirs({"embedding": {}, "dbPath": "m"})
    (True, False)
    """
    embedding = settings.get("embedding")
    inside = isinstance(embedding, dict) and any(key in embedding for key in _OWN_EMBEDDING_KEYS)
    return inside or not OWN_KEYS.isdisjoint(settings)


def translated(settings: Mapping[str, Any]) -> Translated:
    """The settings in our words; their ``retrieval`` stays, for it is checked first.

    >>> found = translated({"autoRecall": True, "dbPath": "memory"})
    >>> found.settings, found.notes[0][:20]
    ({'dbPath': 'memory'}, 'autoRecall: not used')
    """
    kept = {key: value for key, value in settings.items() if key not in _SET_ASIDE}
    notes = [f"{key}: not used; {_SET_ASIDE[key]}" for key in settings if key in _SET_ASIDE]
    embedding = kept.get("embedding")
    if isinstance(embedding, dict):
        kept["embedding"] = _embedding(dict(embedding), notes)
    moved = _chat(kept, notes)
    return Translated(kept, tuple(notes), moved)


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


def _chat(settings: dict[str, Any], notes: list[str]) -> Mapping[Path, Path]:
    """Their ``llm``, which reads facts out of texts, is our ``chat``; where each of its keys stands in the file."""
    extracts = settings.pop("smartExtraction", None)
    llm = settings.pop("llm", None)
    if llm is None:
        if extracts is not None:
            notes.append("smartExtraction: not used; facts are read where there is a chat model (chat)")
        return {}
    why_not = _not_a_chat(llm, extracts, settings)
    if why_not is not None:
        notes.append(f"llm: not used; {why_not}")
        return {}
    chat = {key: llm[key] for key in _CHAT_KEYS if key in llm}
    moved: dict[Path, Path] = {("chat", key): ("llm", key) for key in chat}
    patience = llm.get("timeoutMs")
    if isinstance(patience, int | float) and not isinstance(patience, bool):
        chat["timeout"], moved["chat", "timeout"] = patience / 1000, ("llm", "timeoutMs")
    settings["chat"] = chat
    notes.append(f"llm: used as chat ({', '.join(to[-1] for to in moved.values() if isinstance(to[-1], str))})")
    return {("chat",): ("llm",), **moved}


def _not_a_chat(llm: Any, extracts: Any, settings: Mapping[str, Any]) -> str | None:
    if "chat" in settings:
        return "the section chat is given, and wins"
    if extracts is False:
        return "smartExtraction is false"
    if not isinstance(llm, dict) or "model" not in llm:
        return "it names no model; the section chat takes one"
    if llm.get("auth") == "oauth":
        return "there is no signing in by OAuth; the section chat takes a key (apiKey)"
    return None
