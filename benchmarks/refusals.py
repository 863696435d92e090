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

from unabridged.providers.fault_learned import SIZE, Weights, features, second_thought
from unabridged.providers.fault_wait import header_table
from unabridged.providers.faults import by_rules, look
from unabridged.types import OVERFLOWS

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
    table: dict[str, Any] = {}
    for name in sorted(every - set(RULES_KNOW)):
        inside = np.array([row["set"] == name for row in rows])
        weights, asked = _unpacked(_fitted(_of(rows, ~inside))), _of(rows, inside)
        truth, told = [row["kind"] for row in asked], [row["rules"] for row in asked]
        likely = [weights.likely(row["seen"]) for row in asked]
        alone: list[str] = [max(each, key=each.__getitem__) for each in likely]
        thoughts = [second_thought(row["seen"], row["rules"], weights) for row in asked]
        both = [kind if thought is None else thought.kind for kind, thought in zip(told, thoughts, strict=True)]
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
    counts = {name: sum(row["set"] == name and row["kind"] in OVERFLOWS for row in rows) for name in table}
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
            row["rules"] = by_rules(row["seen"], header_table(row.get("headers"))).kind
            row["kind"] = row.get("kind") or row["rules"]
            rows.append(row)
    return rows


def _fitted(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Weights as they are kept: a multinomial logistic regression, in bytes and the step of each kind's."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    found = [features(row["seen"]) for row in rows]
    at = np.repeat(np.arange(len(rows)), [len(each) for each in found])
    places = np.concatenate([list(each) for each in found])
    values = np.concatenate([list(each.values()) for each in found])
    table = csr_matrix((values, (at, places)), shape=(len(rows), SIZE))
    model = LogisticRegression(C=STRENGTH, max_iter=500).fit(table, [row["kind"] for row in rows])
    weights = model.coef_.T.astype(np.float32)
    steps = (np.abs(weights).max(axis=0) / 127).astype(np.float32)
    rounded = np.round(weights / steps).astype(np.int8)
    rounded[np.abs(rounded) < EPSILON * 127] = 0
    offsets = model.intercept_.astype(np.float32)
    return {"kinds": np.array(model.classes_.tolist()), "weights": rounded, "steps": steps, "offsets": offsets}


def _unpacked(kept: dict[str, Any]) -> Weights:
    return Weights(kept["kinds"].tolist(), kept["weights"] * kept["steps"], kept["offsets"])


def _learn(rows: Sequence[dict[str, Any]]) -> None:
    np.savez_compressed(_WEIGHTS, **_fitted(rows))
    print(f"{_WEIGHTS.name}: {_WEIGHTS.stat().st_size // 1024} KiB")


def _of(rows: Sequence[dict[str, Any]], inside: Any) -> list[dict[str, Any]]:
    return [row for row, here in zip(rows, inside, strict=True) if here]


def _right(found: Sequence[str], truth: Sequence[str]) -> float:
    return round(sum(a == b for a, b in zip(found, truth, strict=True)) / len(truth), 4) if truth else 1.0


def _overflows(found: Sequence[str], truth: Sequence[str]) -> tuple[list[str], list[str]]:
    pairs = [(a, b) for a, b in zip(found, truth, strict=True) if b in OVERFLOWS]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _false(found: Sequence[str], truth: Sequence[str]) -> int:
    pairs = zip(found, truth, strict=True)
    return sum(a in OVERFLOWS and b not in OVERFLOWS for a, b in pairs)
