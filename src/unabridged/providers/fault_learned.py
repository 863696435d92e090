"""A second reader of refusals: weights of words and parts of words, learned from what was collected (pure).

The rules (:mod:`.fault_kinds`) know what words mean, in thirty languages; what people find new words for in
English is read better by counting. So a reply in plain letters is read by both, and where they differ this
reader decides only if it is sure and the rules are not: never in a script in which it has seen little, and with
the most reserve where it would find an overflow. ``python -m benchmarks refusals`` learns the weights and says
what both readers, and each alone, get right of sets that the weights were not learned from.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unabridged.providers.fault_numerals import languages
from unabridged.types import OVERFLOWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from unabridged.providers.fault_seen import Seen
    from unabridged.types import FaultKind

__all__ = ["SIZE", "Opinion", "Weights", "features", "second_thought"]

SIZE = 1 << 14  # weights of a kind; features are hashed into them
_AT_A_LOSS = frozenset(("unknown", "bad_request", "upstream_error"))  # what the rules say where no rule speaks
_LONGEST = 1200  # characters: what is said after them is a trace
_FIGURE = re.compile(r"\d[\d,.]*")
_WORD = re.compile(r"[^\W\d_]+|\d+|<=|>=|[<>=+%]")


class Opinion(NamedTuple):
    """A kind, and how likely it is."""

    kind: FaultKind
    likely: float


class Weights(NamedTuple):
    """What was learned: a weight for each place and kind, shape (:data:`SIZE`, kinds), and one for each kind alone."""

    kinds: list[FaultKind]
    table: NDArray[np.float32]
    offsets: NDArray[np.float32]

    def likely(self, seen: Seen) -> dict[FaultKind, float]:
        """How likely a reply is of each kind; together one."""
        found = features(seen)
        scores = self.offsets + np.fromiter(found.values(), np.float32, len(found)) @ self.table[list(found)]
        risen = np.exp(scores - scores.max())
        return dict(zip(self.kinds, (risen / risen.sum()).tolist(), strict=True))


def second_thought(seen: Seen, kind: FaultKind, learned: Weights | None = None) -> Opinion | None:
    """Another kind than the rules', where this reader is sure of it and they are not."""
    if seen.elsewhere or seen.sent_ok or not _in_english(seen.text):
        return None
    told = _decided(kind, (learned or _kept()).likely(seen))
    return None if told is not None and told.kind in OVERFLOWS and seen.other_matter else told


def _in_english(text: str) -> bool:
    """Whether a reply is in the language of nearly all that was learned from.

    >>> [_in_english(text) for text in ("you sent more than the model takes", "limita este 5000 de tokeni", " ")]
    [True, False, False]
    """
    return text.isascii() and bool(_WORD.search(text)) and languages(text) in ([], ["en"])


def _decided(rules: FaultKind, likely: Mapping[FaultKind, float]) -> Opinion | None:
    """The likeliest kind, if it is to stand in the place of the rules'."""
    best = max(likely, key=likely.__getitem__)
    if rules in _AT_A_LOSS:
        least, most = (0.85 if best in OVERFLOWS else 0.75), 0.15
    elif rules in OVERFLOWS and best in OVERFLOWS:
        least, most = 0.9, 0.04
    else:
        least, most = 0.97, 0.01
    sure = best != rules and likely[best] >= least and likely.get(rules, 0.0) <= most
    return Opinion(best, likely[best]) if sure else None


def features(seen: Seen) -> dict[int, float]:
    """What a reply says, as places of :data:`SIZE` and their weights: runs of words, parts of words, the status."""
    words = _WORD.findall(_FIGURE.sub("0", seen.text[:_LONGEST].casefold()))
    counted = Counter(zlib.crc32(part.encode()) % SIZE for part in _parts(words, seen.status))
    weights = {place: 1 + math.log(count) for place, count in counted.items()}
    norm = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {place: weight / norm for place, weight in weights.items()}


def _parts(words: list[str], status: int | None) -> Iterator[str]:
    for size in (1, 2, 3):
        for at in range(len(words) - size + 1):
            yield f"{size} {' '.join(words[at : at + size])}"
    for word in words:
        edged = f" {word} "
        for size in (3, 4, 5):
            for at in range(len(edged) - size + 1):
                yield f"c{edged[at : at + size]}"
    yield f"s{status}"
    yield f"S{(status or 0) // 100}"


@cache
def _kept() -> Weights:
    with (files("unabridged") / "data" / "fault_weights.npz").open("rb") as file, np.load(file) as kept:
        return Weights(kept["kinds"].tolist(), kept["weights"] * kept["steps"], kept["offsets"])
