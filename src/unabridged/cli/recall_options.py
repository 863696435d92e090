"""The options of ``unabridged recall`` and ``query``: which texts, for what moment, and how to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from unabridged.cli.memory_options import Metadata, pairs

__all__ = ["How", "KnownAt", "Lanes", "Passes", "Which"]

KnownAt = Annotated[str | None, typer.Option("--known-at", help="What the memory knew then, in ISO 8601.")]
Lanes = Annotated[
    list[str] | None, typer.Option("--lane", help="vector, text, names or graph; may be repeated (default: all).")
]
Passes = Annotated[
    int | None, typer.Option("--passes", min=1, max=2, help="2: go on into the documents found (default: 1).")
]


@dataclass(frozen=True, slots=True)
class Which:
    """Which texts may answer, and for what moment."""

    panel: ClassVar[str] = "Which texts, and when"

    kind: Annotated[str | None, typer.Option("--kind", help="Only knowledge, or only memory.")] = None
    session: Annotated[str | None, typer.Option("--session", help="Only of a session.")] = None
    source: Annotated[str | None, typer.Option("--source", help="Only of a source.")] = None
    metadata: Metadata = None
    as_of: Annotated[str | None, typer.Option("--as-of", help="What was true then, in ISO 8601.")] = None
    known_at: KnownAt = None
    history: Annotated[bool, typer.Option("--history", help="Facts that ended, too.")] = False
    expired: Annotated[bool, typer.Option("--expired", help="Texts that have run out, too.")] = False

    def given(self) -> dict[str, Any]:
        """As options of :meth:`unabridged.memory.Memory.recall`."""
        from unabridged.memory.gather import stored_kind

        return {
            "kind": stored_kind(self.kind),
            "session_id": self.session,
            "source": self.source,
            "metadata": pairs(self.metadata),
            "as_of": self.as_of,
            "known_at": self.known_at,
            "include_history": self.history,
            "include_expired": self.expired,
        }


@dataclass(frozen=True, slots=True)
class How:
    """How to look; what is not said is as configured, else as the numbers in the help say."""

    panel: ClassVar[str] = "How to look"

    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits (default: 10).")
    ] = None
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kinds", help="passage, summary, document, fact or entity; may be repeated (default: all)."),
    ] = None
    lane: Lanes = None
    passes: Passes = None
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", min=0, max=1, help="The least score; 0: all (default: 0.5, which another subject reaches)."
        ),
    ] = None
    diversity: Annotated[
        float | None, typer.Option("--diversity", min=0, max=1, help="Prefer what says something else (default: 0).")
    ] = None
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, help="Tokens that a model is given at the most (default: 4,000).")
    ] = None
    rerank: Annotated[bool, typer.Option("--rerank/--no-rerank", help="Ask the configured cross-encoder.")] = True

    def given(self) -> dict[str, Any]:
        """As options of :meth:`unabridged.memory.Memory.recall`."""
        return {
            "limit": self.limit,
            "kinds": self.kinds,
            "lanes": self.lane,
            "passes": self.passes,
            "threshold": self.threshold,
            "diversity": self.diversity,
            "budget_tokens": self.budget,
            "rerank": None if self.rerank else False,
        }
