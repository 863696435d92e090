"""Recall, measured on a user's own questions: before and after a sweep, an index, a change of model (SPEC R8).

A golden query is a question and what should answer it: artifacts, sources, or passages word for word; one that
expects nothing is right when nothing comes back.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import InputError, UnreadableFile
from unabridged.memory.recall.data import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from unabridged.memory.memory import Memory
    from unabridged.memory.recall.data import Hit

__all__ = ["Change", "Evaluation", "Golden", "Outcome", "compare", "evaluate", "index_recall", "read_golden"]


@dataclass(frozen=True, slots=True)
class Golden:
    """A question and what should answer it: any of them; ``options`` are of :meth:`Memory.recall`.

    ``artifacts`` are ids of artifacts or documents, ``sources`` their identities outside, ``quotes`` passages.
    """

    question: str = field(repr=False)
    artifacts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    quotes: tuple[str, ...] = field(default=(), repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def expected(self) -> int:
        """How many things should come back."""
        return len(self.artifacts) + len(self.sources) + len(self.quotes)

    def met(self, hit: Hit) -> set[tuple[str, str]]:
        """What a hit answers of it."""
        found: set[tuple[str, str]] = set()
        for each in hit.evidence:
            found |= {("artifact", id_) for id_ in self.artifacts if id_ in {each.artifact_id, each.document_id}}
            found |= {("source", each.source)} if each.source is not None and each.source in self.sources else set()
            found |= {("quote", quote) for quote in self.quotes if quote in (each.quote or "")}
        return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one question came out: the share of what it expects among the hits, the rank of the first right one."""

    recall: float
    rank: int | None
    gain: float
    hits: int
    milliseconds: float

    @property
    def right(self) -> bool:
        """Whether something right came back, or nothing where nothing is expected."""
        return self.recall > 0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over all questions: recall, share with a right hit, reciprocal rank, discounted gain; times in ms."""

    questions: int
    limit: int
    recall: float
    right: float
    reciprocal_rank: float
    gain: float
    p50: float
    p99: float
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)
    degraded: tuple[str, ...] = ()

    @property
    def misses(self) -> tuple[int, ...]:
        """The places of the questions that nothing right came back for."""
        return tuple(at for at, outcome in enumerate(self.outcomes) if not outcome.right)

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold."""
        found: dict[str, Any] = plain(self)
        return {**found, "misses": list(self.misses)}


@dataclass(frozen=True, slots=True)
class Change:
    """Two evaluations of the same questions: differences of the means, and which questions got better or worse."""

    recall: float
    right: float
    reciprocal_rank: float
    gain: float
    p50: float
    better: tuple[int, ...]
    worse: tuple[int, ...]


def evaluate(memory: Memory, golden: Iterable[Golden], *, limit: int = 10, **options: Any) -> Evaluation:
    """Ask every question; ``options`` are those of :meth:`Memory.recall`, for all of them.

    >>> from unabridged.memory import Memory
    >>> memory = Memory.open("memory://")
    >>> note = memory.add("The boiler is serviced every May.", source="house.md")
    >>> evaluate(memory, [Golden("boiler serviced?", sources=("house.md",)), Golden("violin?")]).right
    1.0
    """
    outcomes, degraded = [], dict[str, None]()
    for each in golden:
        began = time.perf_counter()
        found = memory.recall(each.question, limit=limit, **{**options, **each.options})
        outcomes.append(_outcome(each, found.hits, (time.perf_counter() - began) * 1e3))
        degraded |= {f"{one.lane}: {one.reason}": None for one in found.degraded}
    if not outcomes:
        raise InputError("golden: no questions to ask")
    return Evaluation(
        questions=len(outcomes),
        limit=limit,
        recall=statistics.fmean(each.recall for each in outcomes),
        right=statistics.fmean(each.right for each in outcomes),
        reciprocal_rank=statistics.fmean(1 / each.rank if each.rank else each.recall for each in outcomes),
        gain=statistics.fmean(each.gain for each in outcomes),
        p50=float(np.percentile([each.milliseconds for each in outcomes], 50)),
        p99=float(np.percentile([each.milliseconds for each in outcomes], 99)),
        outcomes=tuple(outcomes),
        degraded=tuple(degraded),
    )


def _outcome(golden: Golden, hits: Sequence[Hit], milliseconds: float) -> Outcome:
    if not golden.expected:
        right = 0.0 if hits else 1.0
        return Outcome(right, None, right, len(hits), milliseconds)
    met: set[tuple[str, str]] = set()
    rank, gain = None, 0.0
    for at, hit in enumerate(hits, 1):
        fresh = golden.met(hit) - met
        if fresh:
            rank = rank or at
            gain += len(fresh) / math.log2(at + 1)
        met |= fresh
    most = sum(1 / math.log2(at + 1) for at in range(1, golden.expected + 1))
    return Outcome(len(met) / golden.expected, rank, min(1.0, gain / most), len(hits), milliseconds)


def compare(before: Evaluation, after: Evaluation) -> Change:
    """What changed between two evaluations of the same questions."""
    if before.questions != after.questions:
        raise InputError(f"compare: {before.questions} questions before, {after.questions} after")
    pairs = list(enumerate(zip(before.outcomes, after.outcomes, strict=True)))
    return Change(
        after.recall - before.recall,
        after.right - before.right,
        after.reciprocal_rank - before.reciprocal_rank,
        after.gain - before.gain,
        after.p50 - before.p50,
        tuple(at for at, (old, new) in pairs if new.gain > old.gain),
        tuple(at for at, (old, new) in pairs if new.gain < old.gain),
    )


def index_recall(memory: Memory, table: str = "artifacts", *, sample: int = 50, k: int = 10, seed: int = 0) -> float:
    """The share of the true ``k`` nearest that the vector index finds, for some of its own rows as queries.

    1.0 where there is no index, for then every search is exact. A self-check: an index that was built for
    other data, or of too few bits, shows here before it shows in answers (FINDINGS §3).
    """

    def ask(view: Any) -> float:
        handle = view[table]
        rows = handle.count()
        if "vector" not in handle.schema.names or not rows:
            return 1.0
        chosen = sorted(np.random.default_rng(seed).choice(rows, min(sample, rows), replace=False).tolist())
        vectors = [each for each in handle.take(chosen)["vector"].to_pylist() if each is not None]
        shares = []
        for vector in vectors:
            query = np.asarray(vector, dtype=np.float32)
            exact = set(handle.nearest(query, k, exact=True)["id"].to_pylist())
            shares.append(len(exact & set(handle.nearest(query, k)["id"].to_pylist())) / max(1, len(exact)))
        return statistics.fmean(shares) if shares else 1.0

    return memory.source.ask(ask)


def read_golden(path: Path) -> list[Golden]:
    """Golden queries from JSON lines: ``{"question": …, "sources": […], "artifacts": […], "quotes": […]}``."""
    known = {"question", "artifacts", "sources", "quotes", "options"}
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            raise UnreadableFile(path, f"line {number} is not JSON") from None
        if not isinstance(row, dict) or not isinstance(row.get("question"), str) or row.keys() - known:
            raise UnreadableFile(path, f"line {number}: expected a question, and any of {', '.join(sorted(known))}")
        lists = {name: tuple(row.get(name, ())) for name in ("artifacts", "sources", "quotes")}
        found.append(Golden(row["question"], **lists, options=row.get("options", {})))
    return found
