"""The graph lane: what stands near the entities that were hit, by personalised PageRank over a bounded walk.

The walk takes the facts that hold at the moment that is asked about, two steps from the seeds. Rank flows
from the seeds along facts in both directions, and at each step a share of it starts again at them, so what
many short ways lead to comes first, and a hub passes little on to each of its many neighbours.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from unabridged.memory.recall.lanes import Asking, Found, Ranking
from unabridged.memory.where import among, both, either

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["graph_lane", "page_rank", "walk"]

STEPS = 2  # facts between a seed and what it brings: the employer's address, not the address's history
SEEDS = 20
FACTS = 400  # facts a step takes up: a hub of a million is cut there
WIDE = 2000  # the same where the neighbourhood itself is asked for
FRONTIER = 32  # entities from which a step goes on: those that the walk came to on the most ways
RESTART = 0.4  # share of the rank that starts again at the seeds (HippoRAG uses 0.5, PageRank 0.15)
ROUNDS = 20  # 0.6 ** 20 is below 0.0001

Fact = tuple[str, str, str]  # id, source, target
_FACT = ("id", "source_id", "target_id")


def graph_lane(asking: Asking, seeds: Mapping[str, float]) -> Mapping[str, Ranking]:
    """Entities, facts and passages near the seeds (entity id -> weight); scores are shares of the rank."""
    if not seeds or not asking.holdings.edges:
        return {}
    first = dict(sorted(seeds.items(), key=lambda pair: -pair[1])[:SEEDS])
    facts = _near(asking, first)
    if not facts:
        return {}
    rank = page_rank(facts, first)
    flow = _flow(facts, rank)
    best = heapq.nsmallest(asking.few, facts, key=lambda fact: (-flow[fact[0]], fact[0]))
    found: dict[str, Ranking] = {"entity": _best("entities", rank, asking.few // 2)}
    found["fact"] = [Found("edges", flow[fact[0]], facts[fact], fact[0]) for fact in best]
    if "passage" in asking.indexes:
        found["passage"] = _passages(asking, found["fact"])
    return {index: ranking for index, ranking in found.items() if index in asking.indexes}


def walk(asking: Asking, seeds: Iterable[str], *, steps: int = STEPS) -> list[Fact]:
    """The facts within so many steps of the seeds, :data:`WIDE` of each step at the most."""
    found: dict[Fact, int] = {}
    seen: set[str] = set()
    frontier = set(seeds)
    for _ in range(steps):
        found |= _around(asking, frontier, WIDE)
        seen |= frontier
        frontier = {end for fact in found for end in fact[1:]} - seen
    return list(found)


def _near(asking: Asking, seeds: Iterable[str]) -> dict[Fact, int]:
    """The facts near the seeds that rank flows along, with the places where the store keeps them.

    The second step goes on from those that the first came to on the most ways, and not at all from a hub's
    hundreds: each of them gets a hundredth of the hub's rank, and what is beyond them less.
    """
    first = set(seeds)
    found = _around(asking, first, FACTS)
    if len(found) < FACTS:
        ways = Counter(end for fact in found for end in fact[1:] if end not in first)
        found |= _around(asking, {end for end, _ in ways.most_common(FRONTIER)}, FACTS)
    return found


def _around(asking: Asking, ends: Collection[str], most: int) -> dict[Fact, int]:
    """The facts that some entities stand in."""
    where = asking.where("fact")
    if where == "false" or not ends:
        return {}
    if where is None and (kept := asking.holdings.ends) is not None:
        return kept.around(ends, most)
    near = either(among("source_id", ends), among("target_id", ends))
    rows = asking.view.rows("edges", both(near, where), ["_rowid", *_FACT], limit=most).to_pydict()
    return dict(zip(zip(*(rows[name] for name in _FACT), strict=True), rows["_rowid"], strict=True))


def page_rank(facts: Collection[Fact], seeds: Mapping[str, float]) -> dict[str, float]:
    """Personalised PageRank of the entities in some facts; the ranks add up to one.

    >>> rank = page_rank([("f", "a", "b"), ("g", "b", "c")], {"a": 1.0})
    >>> sorted(rank, key=rank.get, reverse=True)
    ['a', 'b', 'c']
    """
    names = list(dict.fromkeys([*seeds, *(end for fact in facts for end in fact[1:])]))
    place = {name: at for at, name in enumerate(names)}
    one = np.array([place[fact[1]] for fact in facts] + [place[fact[2]] for fact in facts], dtype=np.int64)
    other = np.concatenate([one[len(facts) :], one[: len(facts)]])
    degree = np.maximum(np.bincount(one, minlength=len(names)), 1)
    start = np.array([seeds.get(name, 0.0) for name in names])
    start = start / start.sum()
    rank = start
    for _ in range(ROUNDS):
        passed = np.bincount(other, weights=rank[one] / degree[one], minlength=len(names))
        rank = RESTART * start + (1 - RESTART) * passed
        rank = rank / rank.sum()
    return dict(zip(names, rank.tolist(), strict=True))


def _flow(facts: Iterable[Fact], rank: Mapping[str, float]) -> dict[str, float]:
    """How much rank goes over each fact."""
    degree: dict[str, int] = defaultdict(int)
    for _, source, target in facts:
        degree[source] += 1
        degree[target] += 1
    return {id_: rank[source] / degree[source] + rank[target] / degree[target] for id_, source, target in facts}


def _best(table: str, scores: Mapping[str, float], depth: int) -> list[Found]:
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [Found(table, score, id=id_) for id_, score in ordered[:depth]]


def _passages(asking: Asking, facts: Ranking) -> list[Found]:
    """The artifacts that state the facts, by how much rank they carry together."""
    flow = {fact.id or "": fact.score for fact in facts}
    scores: dict[str, float] = defaultdict(float)
    for fact, artifact in _stating(asking, flow):
        scores[artifact] += flow[fact]
    return _best("artifacts", scores, asking.few)


def _stating(asking: Asking, facts: Collection[str]) -> Iterable[tuple[str, str]]:
    """Each of some facts with each artifact that states it."""
    if asking.scope.known is None and (kept := asking.holdings.links) is not None:
        return (told[:2] for told in kept.told(facts))
    where = both(asking.scope.links("edge_artifact"), among("from_id", facts))
    rows: dict[str, list[str]] = asking.view.rows("links", where, ["from_id", "to_id"]).to_pydict()
    return zip(rows["from_id"], rows["to_id"], strict=True)
