"""How to recall: the options of a query, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError
from unabridged.memory.recall.data import HIT_KINDS, LANES
from unabridged.memory.recall.score import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["DEFAULT_BUDGET", "WEIGHTS", "Settings"]

# What a rank weighs by the lane that gave it. ``words``, the share of the query's words that a text says, is the
# text lane's second opinion; ``chunks`` ranks a document by the best of its chunks (SPEC L16), ``document`` a
# passage by its document, in a second pass (SPEC R7). Measured on 317 public questions (benchmarks/recall.py);
# the optimum is flat.
WEIGHTS: Mapping[str, float] = {
    "vector": 1.0,
    "text": 1.0,
    "words": 0.5,
    "names": 0.5,
    "graph": 0.5,
    "chunks": 1.0,
    "document": 1.5,
    "recency": 0.5,
    "session": 0.5,
}
DEFAULT_BUDGET = 4000  # tokens of a pack: what small models read well, and ten chunks of the default size
LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Settings:
    """How to recall; see :meth:`unabridged.memory.Memory.recall`."""

    limit: int = 10
    budget_tokens: int = DEFAULT_BUDGET
    kinds: tuple[str, ...] = HIT_KINDS
    lanes: tuple[str, ...] = LANES
    passes: int = 1
    rerank: Any = None
    diversity: float = 0.0
    threshold: float = THRESHOLD
    recency: float | None = None
    session: str | None = None
    explain: bool = False
    vector: Any = None

    @classmethod
    def of(cls, defaults: Mapping[str, Any] | None = None, /, **given: Any) -> Settings:
        """Settings from what a caller gave: ``None`` for a default, one name or several; ``rerank=False`` for none.

        >>> Settings.of(kinds="fact", threshold=None).kinds
        ('fact',)
        >>> Settings.of({"limit": 5}).limit, Settings.of({"limit": 5}, limit=7).limit
        (5, 7)
        """
        known = {**(defaults or {}), **{name: value for name, value in given.items() if value is not None}}
        chosen = {name: value for name, value in known.items() if (name, value) != ("rerank", False)}
        for name in ("kinds", "lanes"):
            if name in chosen:
                chosen[name] = (chosen[name],) if isinstance(chosen[name], str) else tuple(chosen[name])
        return cls(**chosen)

    def __post_init__(self) -> None:
        """Refuse what makes no sense, naming it."""
        _whole("limit", self.limit, LIMIT)
        _whole("budget_tokens", self.budget_tokens, None)
        _whole("passes", self.passes, 2)
        for name in ("diversity", "threshold"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{name}: found {value!r}, expected 0 to 1")
        if self.recency is not None and not (isinstance(self.recency, int | float) and self.recency > 0):
            raise InputError(f"recency: found {self.recency!r}, expected days above 0")
        _known("kinds", self.kinds, HIT_KINDS)
        _known("lanes", self.lanes, LANES)


def _whole(name: str, value: Any, most: int | None) -> None:
    if type(value) is not int or value < 1 or (most is not None and value > most):
        raise InputError(f"{name}: found {value!r}, expected {f'1 to {most}' if most else 'a whole number above 0'}")


def _known(name: str, given: Iterable[str], known: Sequence[str]) -> None:
    wrong = [each for each in given if each not in known]
    if wrong or not given:
        found = repr(wrong[0]) if wrong else "none"
        raise InputError(f"{name}: found {found}, expected some of {', '.join(known)}")
