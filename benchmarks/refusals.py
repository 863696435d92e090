"""Refusals: what the rules, the learned reader and both get right of wordings that they were not shown.

``python -m benchmarks refusals [learn]``, in an environment that has scikit-learn too. The sets under
``tests/data`` were collected or written, one after the other, by people who had not seen the code. Each is
read with weights learned from all the others. ``rules`` is what today's rules make of a set: they were written
with the sets before ``RULES_KNOW`` at hand, so only what comes after is blind of them. ``learn`` writes the
weights of all sets, which the library uses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.providers import fault_learned as learned
from unabridged.providers.faults import classify, look

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOT = Path(__file__).parents[1]
_WEIGHTS = _ROOT / "src" / "unabridged" / "data" / "fault_weights.npz"
_FILES = (
    "provider_errors",
    "provider_errors_more",
    "provider_errors_other",
    "refusals_lookalikes",
    "refusals_paraphrased",
    "refusals_blind",
)
RULES_KNOW = ("collected", "AB")
STRENGTH = 100.0  # inverse of the regularisation; 30 does a little worse on every set
EPSILON = 0.02  # share of the largest weight below which one is dropped


def main(argv: list[str]) -> dict[str, Any]:
    """Measure each blind set; with ``learn``, learn from all of them afterwards."""
    rows = _rows()
    every = {row["set"] for row in rows}
    print(f"{len(rows)} replies, sets {', '.join(sorted(every))}")
    # The second thought is what is measured here: the rules are asked without it.
    rules = [_by_rules(row) for row in rows]
    table: dict[str, Any] = {}
    for name in sorted(every - set(RULES_KNOW)):
        inside = np.array([row["set"] == name for row in rows])
        likely = _likely(rows, inside)
        truth = [row["kind"] for row, here in zip(rows, inside, strict=True) if here]
        told = [kind for kind, here in zip(rules, inside, strict=True) if here]
        both = [_both(row, kind, each) for row, kind, each in zip(_of(rows, inside), told, likely, strict=True)]
        alone = [max(each, key=each.__getitem__) for each in likely]
        table[name] = {
            "replies": len(truth),
            "rules": _right(told, truth),
            "learned": _right(alone, truth),
            "both": _right(both, truth),
            "overflows": _right(*_overflows(both, truth)),
            "false_overflows": _false(both, truth),
        }
        print(name, table[name])
    total = sum(each["replies"] for each in table.values())
    found: dict[str, Any] = {
        key: round(sum(each[key] * each["replies"] for each in table.values()) / total, 4)
        for key in ("rules", "learned", "both")
    }
    counts = {name: sum(row["set"] == name and row["kind"] in learned.OVERFLOWS for row in rows) for name in table}
    found["overflows"] = round(
        sum(table[n]["overflows"] * count for n, count in counts.items()) / sum(counts.values()), 4
    )
    found |= {"replies": total, "false_overflows": sum(each["false_overflows"] for each in table.values())}
    print("all", found)
    if "learn" in argv:
        _learn(rows)
    return {"learned_from": len(rows), "sets": table, "all": found}


def _rows() -> list[dict[str, Any]]:
    rows = []
    for name in _FILES:
        for line in (_ROOT / "tests" / "data" / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            row["set"] = row.get("set", "AB" if name == "refusals_blind" else "collected")
            row["seen"] = look(row.get("status"), row["body"])
            # What only looks like an overflow has no label but that it is none: it is what the rules say.
            row["kind"] = row.get("kind") or _by_rules(row)
            rows.append(row)
    return rows


def _by_rules(row: dict[str, Any]) -> str:
    kept = learned.second_thought
    try:
        _without(lambda *_: None)
        return classify(row.get("status"), row["body"], row.get("headers")).kind
    finally:
        _without(kept)


def _without(thought: Any) -> None:
    from unabridged.providers import faults

    faults.second_thought = thought


def _likely(rows: Sequence[dict[str, Any]], inside: Any) -> list[dict[Any, float]]:
    kinds, weights, offsets = _fitted(_of(rows, ~inside))
    return [
        dict(zip(kinds, learned.shares(learned.features(row["seen"]), weights, offsets).tolist(), strict=True))
        for row in _of(rows, inside)
    ]


def _fitted(rows: Sequence[dict[str, Any]]) -> tuple[list[str], Any, Any]:
    """Kinds, weights of shape (places, kinds), offsets: a multinomial logistic regression."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    found = [learned.features(row["seen"]) for row in rows]
    at = np.repeat(np.arange(len(rows)), [len(each) for each in found])
    places = np.concatenate([list(each) for each in found])
    values = np.concatenate([list(each.values()) for each in found])
    table = csr_matrix((values, (at, places)), shape=(len(rows), learned.SIZE))
    model = LogisticRegression(C=STRENGTH, max_iter=500).fit(table, [row["kind"] for row in rows])
    packed = _packed(model.coef_.T.astype(np.float32))
    return model.classes_.tolist(), packed[0] * packed[1], model.intercept_.astype(np.float32)


def _packed(weights: Any) -> tuple[Any, Any]:
    """Weights as bytes, and the step of each kind's; the small ones are none."""
    steps = (np.abs(weights).max(axis=0) / 127).astype(np.float32)
    rounded = np.round(weights / steps).astype(np.int8)
    rounded[np.abs(rounded) < EPSILON * 127] = 0
    return rounded, steps


def _learn(rows: Sequence[dict[str, Any]]) -> None:
    kinds, weights, offsets = _fitted(rows)
    rounded, steps = _packed(weights)
    np.savez_compressed(_WEIGHTS, kinds=np.array(kinds), weights=rounded, steps=steps, offsets=offsets)
    print(f"{_WEIGHTS.name}: {_WEIGHTS.stat().st_size // 1024} KiB")


def _both(row: dict[str, Any], rules: Any, likely: dict[Any, float]) -> str:
    if row["seen"].elsewhere or row["seen"].sent_ok or not learned.in_english(row["seen"].text):
        return str(rules)
    told = learned.decided(rules, likely)
    return str(rules) if told is None else told.kind


def _of(rows: Sequence[dict[str, Any]], inside: Any) -> list[dict[str, Any]]:
    return [row for row, here in zip(rows, inside, strict=True) if here]


def _right(found: Sequence[str], truth: Sequence[str]) -> float:
    return round(sum(a == b for a, b in zip(found, truth, strict=True)) / len(truth), 4) if truth else 1.0


def _overflows(found: Sequence[str], truth: Sequence[str]) -> tuple[list[str], list[str]]:
    pairs = [(a, b) for a, b in zip(found, truth, strict=True) if b in learned.OVERFLOWS]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _false(found: Sequence[str], truth: Sequence[str]) -> int:
    pairs = zip(found, truth, strict=True)
    return sum(a in learned.OVERFLOWS and b not in learned.OVERFLOWS for a, b in pairs)
