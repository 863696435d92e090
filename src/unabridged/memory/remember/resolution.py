"""What a stated fact is to those that are known: new, a duplicate, or one that contradicts (pure).

Exact duplicates first: by what they say to the letter, then by what they come down to (wording.py). What
is left is compared by a model, in one call, and only with facts that could be meant: of the same subject,
or of the same pair of entities, as many as the cap allows. The model answers with numbers; one that it
was not given makes the whole answer worthless.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.memory.remember.wording import Wording, wording
from unabridged.memory.temporal import restated, start
from unabridged.memory.values import normalise

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.records import Edge

__all__ = ["SCHEMA", "Claim", "Comparison", "Untrusted", "Verdict", "candidates", "compare", "restatement"]

PER_FACT = 8  # candidates a fact: what one subject has under one heading, and few enough to be read closely
PER_CALL = 48  # candidates a call: about 1,500 tokens of facts, which small models still tell apart

VERDICTS = ("new", "duplicate", "contradicted")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["decisions"],
    "properties": {
        "decisions": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["fact", "verdict", "known"],
                "properties": {
                    "fact": {"type": "integer"},
                    "verdict": {"type": "string", "enum": list(VERDICTS)},
                    "known": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}
_INSTRUCTION = (
    "You compare new facts with facts that are already known. For each new fact decide:\n"
    "- duplicate: a known fact says the same, whatever the words (active or passive voice, synonyms, $1M and "
    "$1,000,000); name that one in `known`.\n"
    "- contradicted: known facts cannot be true any more, or not at the same time, if the new one is (somebody "
    "lives, works or is married somewhere else now; a value has changed); name each of them in `known`.\n"
    "- new: everything else. Facts that can be true together are new: more than one role, place visited, product "
    "or friend. Leave `known` empty.\n"
    "Use only the numbers given. Answer with one decision for each new fact, as JSON."
)


class Untrusted(ValueError):
    """A comparison's answer that names what it was not given."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A fact that a text states, before it is known what it is to the known ones.

    ``valid_at`` is when it was true from, where text or caller say so; ``began`` that, or now; ``ends`` the end
    that the text gives; ``key`` what it says to the letter.
    """

    source_id: str
    relation: str
    target_id: str
    fact: str = field(repr=False)
    key: str
    began: dt.datetime
    valid_at: dt.datetime | None = None
    ends: dt.datetime | None = None
    vector: Any = field(default=None, repr=False, compare=False)

    @property
    def wording(self) -> Wording:
        """What it comes down to."""
        return wording(self.source_id, self.relation, self.target_id, self.fact)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a claim is: ``new`` (``known`` empty), a ``duplicate`` of one, or one that ``contradicted`` some."""

    kind: str
    known: tuple[str, ...] = ()


NEW = Verdict("new")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One question to a model: claims, and the known facts that each may be compared with."""

    claims: tuple[Claim, ...]
    known: tuple[Edge, ...]
    offered: tuple[frozenset[int], ...]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The question, the same for the same facts whatever their ids."""
        known = [f"{n}. {_line(edge.fact, edge.valid_at, edge.invalid_at)}" for n, edge in enumerate(self.known, 1)]
        new = [
            f"{n}. {_line(claim.fact, claim.valid_at)} (compare with {', '.join(str(k + 1) for k in sorted(offered))})"
            for n, (claim, offered) in enumerate(zip(self.claims, self.offered, strict=True), 1)
        ]
        asked = "\n".join(["Known facts:", *known, "", "New facts:", *new])
        return [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": asked}]

    def read(self, answer: Any) -> list[Verdict]:
        """The verdict on each claim. Raises :class:`Untrusted` for numbers that were not given."""
        decisions = answer.get("decisions") if isinstance(answer, dict) else answer
        if not isinstance(decisions, list):
            raise Untrusted("the comparison's answer has no list of decisions")
        verdicts = [NEW] * len(self.claims)
        seen: set[int] = set()
        for each in decisions:
            at, verdict = self._decision(each)
            if at in seen:
                raise Untrusted("the comparison's answer decides one fact twice")
            seen.add(at)
            verdicts[at] = verdict
        return verdicts

    def _decision(self, each: Any) -> tuple[int, Verdict]:
        at: Any = each.get("fact") if isinstance(each, dict) else None
        kind = each.get("verdict") if isinstance(each, dict) else None
        if not _number(at, len(self.claims)) or kind not in VERDICTS:
            raise Untrusted("the comparison's answer decides on a fact that was not asked about")
        named = each.get("known") or []
        if not isinstance(named, list) or not all(_number(n, len(self.known)) for n in named):
            raise Untrusted("the comparison's answer names a known fact that it was not given")
        places = dict.fromkeys(n - 1 for n in named)
        if not self.offered[at - 1].issuperset(places):
            raise Untrusted("the comparison's answer names a known fact that was not offered for this one")
        if kind == "new":
            return at - 1, NEW
        if not places:
            raise Untrusted("the comparison's answer names no known fact where it must")
        known = tuple(self.known[n].id for n in places)
        return at - 1, Verdict(kind, known[:1] if kind == "duplicate" else known)


def _number(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _line(fact: str, since: dt.datetime | None, until: dt.datetime | None = None) -> str:
    days = [f"since {since:%Y-%m-%d}"] if since else []
    days += [f"until {until:%Y-%m-%d}"] if until else []
    return f"{' '.join(fact.split())} [{', '.join(days)}]" if days else " ".join(fact.split())


def restatement(claim: Claim, known: Iterable[Edge]) -> Edge | None:
    """The known fact that says the same, to the letter or in what it comes down to; no model is asked.

    Only one that holds at the claim's time: what had ended before may well be true again.
    """
    said = None
    for edge in known:
        if restated((edge,), claim.began, claim.ends) is None:
            continue
        if edge.key == claim.key:
            return edge
        if {edge.source_id, edge.target_id} == {claim.source_id, claim.target_id}:
            said = said or claim.wording
            if wording(edge.source_id, edge.relation, edge.target_id, edge.fact) == said:
                return edge
    return None


def candidates(
    claim: Claim, known: Iterable[Edge], vectors: Mapping[str, Any], *, most: int = PER_FACT
) -> tuple[Edge, ...]:
    """The known facts that a claim may be compared with, the likeliest first, at most ``most``.

    Of the same subject, or of the same pair of entities in either direction, and not over before the
    claim began. The same pair and relation come first, then what is nearest by vector (or, where there is
    none, shares most words); of equals the newest.
    """
    open_ = [edge for edge in known if edge.invalid_at is None or edge.invalid_at > claim.began]
    meant = [edge for edge in open_ if edge.source_id == claim.source_id or _pair(edge) == _pair(claim)]
    words = set(normalise(claim.fact).split())

    def likelihood(edge: Edge) -> tuple[int, float, float, str]:
        near = _cosine(claim.vector, vectors.get(edge.id))
        if near is None:
            other = set(normalise(edge.fact).split())
            near = len(words & other) / max(len(words | other), 1)
        keyed = 2 * (_pair(edge) == _pair(claim)) + (normalise(edge.relation) == normalise(claim.relation))
        return keyed, round(near, 4), start(edge).timestamp(), edge.id

    return tuple(sorted(meant, key=likelihood, reverse=True)[:most])


def _pair(statement: Edge | Claim) -> frozenset[str]:
    return frozenset((statement.source_id, statement.target_id))


def _cosine(one: Any, other: Any) -> float | None:
    if one is None or other is None:
        return None
    length = float(np.linalg.norm(one)) * float(np.linalg.norm(other))
    return float(np.dot(one, other)) / length if length else 0.0


def compare(claims: Sequence[Claim], offered: Sequence[Sequence[Edge]], *, most: int = PER_CALL) -> Comparison | None:
    """One question for all claims that have candidates, or ``None`` where there is nothing to compare.

    Over the cap, each claim keeps its likeliest ones: they are taken turn by turn.
    """
    chosen: dict[str, Edge] = {}
    kept: list[list[Edge]] = [[] for _ in claims]
    for rank in range(max(map(len, offered), default=0)):
        for at, edges in enumerate(offered):
            if rank < len(edges) and (edges[rank].id in chosen or len(chosen) < most):
                chosen[edges[rank].id] = edges[rank]
                kept[at].append(edges[rank])
    if not chosen:
        return None
    known = tuple(chosen.values())
    place = {edge.id: n for n, edge in enumerate(known)}
    asked = [(claim, frozenset(place[e.id] for e in edges)) for claim, edges in zip(claims, kept, strict=True) if edges]
    return Comparison(tuple(claim for claim, _ in asked), known, tuple(places for _, places in asked))
