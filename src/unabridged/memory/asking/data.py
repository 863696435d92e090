"""What asking a model gives: answers, and an account of every call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

__all__ = ["STAGES", "Answer", "Asking", "Call", "ModelChoice"]

# What a model is asked for, by the name that settings and inferences use (SPEC A18).
STAGES: Mapping[str, str] = {
    "extract_graph": "entities and facts of a text",
    "summarize_chunk": "a summary of a text",
    "resolve_edges": "whether facts are new, the same, or contradicted",
    "link_chunks": "facts that need two distant chunks",
    "answer_query": "an answer from what was recalled",
    "rerank": "the order of what was recalled",
    "segment": "what a segmenter asks",
}


class ModelChoice(TypedDict, total=False):
    """Which model a call asks, and how hard it is to think; ``cancel`` ends the waiting."""

    model: str | None
    reasoning: str | None
    cancel: threading.Event | None


class Asking(ModelChoice, total=False):
    """How to ask once: the options of :meth:`~unabridged.memory.asking.asking.Asker.ask` and ``aask``.

    ``schema`` is what JSON is to look like; without one the answer is text. ``key`` names the question for the cache,
    in place of its messages; ``about`` is the text that it is about, with which its answers are forgotten; without
    ``keep`` the answer is neither looked for nor kept. ``aliases`` are other names that models give to a key of the
    schema. ``max_tokens`` is the most that an answer may have, ``timeout`` the seconds for the whole call.
    """

    schema: Mapping[str, Any] | None
    key: str | None
    about: str
    keep: bool
    max_tokens: int | None
    aliases: Mapping[str, tuple[str, ...]] | None
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as it is accounted for (SPEC A18): becomes one record of an inference.

    ``model`` is the name that the API reports. ``status`` is ``ok``, ``unreadable``, ``truncated``, ``empty``,
    ``refused``, ``withheld``, or the kind of the fault that ended it. ``cached``: nothing was sent, nothing
    was paid. ``seconds`` are from the first attempt to the answer, ``requests`` how many were sent.
    """

    stage: str
    model: str
    reasoning: str = "none"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    status: str = "ok"
    cached: bool = False
    host: str = ""
    requests: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer: JSON as the schema wants it, or text; and the calls that it took."""

    value: Any = field(repr=False)
    calls: tuple[Call, ...] = ()

    @property
    def text(self) -> str:
        """The answer as text."""
        return self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)

    # What a segmenter's account of its calls reads.
    @property
    def tokens_in(self) -> int:
        """Tokens read, over all calls."""
        return sum(call.tokens_in or 0 for call in self.calls)

    @property
    def tokens_out(self) -> int:
        """Tokens written, over all calls."""
        return sum(call.tokens_out or 0 for call in self.calls)

    @property
    def cost_usd(self) -> float | None:
        """US dollars, over all calls; ``None`` where no price is known."""
        known = [call.cost for call in self.calls if call.cost is not None]
        return sum(known) if known else None

    @property
    def model(self) -> str | None:
        """The model that answered, as its API reports it."""
        return self.calls[-1].model if self.calls else None
