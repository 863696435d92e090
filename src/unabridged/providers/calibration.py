"""How many of a model's tokens one of ours stands for, learned from bills and refusals.

A sample is what we counted and what the provider counted of the same text. Few samples suffice: the
ratio is their weighted median, the safe ratio their weighted 95th percentile, so that one odd bill moves
nothing. Learned per (host, model, script), for a tokenizer may be exact on English and half of the
truth on Chinese (FINDINGS §1).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from unabridged.providers.knowledge import Knowledge, matching

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Calibration", "ModelCounts", "Ratio", "dominant_script", "ratio_of", "script_of"]

_KEPT = 64  # samples a key: enough for a steady percentile, few enough to follow a new model version
_SMALLEST = 64  # counted tokens: below, special tokens and prefixes say more than the text
_LOWEST, _HIGHEST = 0.1, 10.0  # beyond: a count of something else (a whole batch, characters)
# Special tokens around a text ([CLS], [SEP]; at most four in the models of the table).
SPECIAL_TOKENS = 4
_SPREAD = 256  # characters looked at to tell a script
_TABLE = """
CREATE TABLE IF NOT EXISTS samples (
  host TEXT NOT NULL, model TEXT NOT NULL, script TEXT NOT NULL, counted INTEGER NOT NULL,
  actual INTEGER NOT NULL, inputs INTEGER NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS samples_key ON samples (host, model, script);
"""
_ADD = "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?)"
_KEEP_NEWEST = """
DELETE FROM samples WHERE host = ? AND model = ? AND script = ? AND rowid NOT IN (
  SELECT rowid FROM samples WHERE host = ? AND model = ? AND script = ? ORDER BY rowid DESC LIMIT ?)
"""
_OF_MODEL = "SELECT script, counted, actual, inputs FROM samples WHERE host = ? AND model = ? ORDER BY rowid"
# First code point of each block, and its script; a text's script is the one of most of its letters.
_BLOCKS: tuple[tuple[int, str], ...] = (
    (0x0, ""), (0x41, "latin"), (0x5B, ""), (0x61, "latin"), (0x7B, ""), (0xC0, "latin"), (0x2B0, ""),
    (0x370, "greek"), (0x400, "cyrillic"), (0x530, "armenian"), (0x590, "hebrew"), (0x600, "arabic"),
    (0x780, "other"), (0x900, "indic"), (0xE00, "thai"), (0xE80, "other"), (0x1100, "hangul"),
    (0x1200, "other"), (0x1E00, "latin"), (0x2000, ""), (0x3040, "kana"), (0x3100, "han"), (0x3130, "hangul"),
    (0x3190, "han"), (0x31F0, "kana"), (0x3200, ""), (0x3400, "han"), (0xA000, "other"), (0xAC00, "hangul"),
    (0xD7B0, ""), (0xF900, "han"), (0xFB00, ""), (0xFF21, "latin"), (0xFF5B, ""), (0xFF66, "kana"),
    (0xFFA0, ""), (0x1F000, "other"), (0x20000, "han"), (0x33480, "other"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ratio:
    """Provider tokens per token counted here: the middle of the samples, and nearly their highest.

    >>> Ratio(1.1, 1.25, 12).tokens_for(512, prefix_tokens=6)
    401
    """

    middle: float = 1.0
    high: float = 1.0
    samples: int = 0

    def tokens_for(self, limit: int, *, prefix_tokens: int = 0) -> int:
        """How many tokens counted here surely fit a limit, beside special tokens and a prefix."""
        room = limit - SPECIAL_TOKENS - prefix_tokens
        return max(1, math.floor(room / max(self.high, _LOWEST)))

    def estimate(self, counted: int) -> int:
        """How many tokens the provider is likely to count."""
        return math.ceil(round(counted * self.middle, 6))


def ratio_of(samples: Sequence[tuple[int, int, int]]) -> Ratio:
    """The ratio of samples of (counted here, counted there, texts) (pure).

    Special tokens are taken off first; samples weigh by their size; outliers move nothing.

    >>> ratio_of([(1000, 1104, 1)] * 9 + [(1000, 9000, 1)])
    Ratio(middle=1.1, high=1.1, samples=10)
    """
    weighted = sorted(
        ((actual - min(SPECIAL_TOKENS * inputs, actual // 2)) / counted, counted)
        for counted, actual, inputs in samples
        if counted > 0
    )
    if not weighted:
        return Ratio()
    middle = _quantile(weighted, 0.5)
    # What is twice the middle or more is another text, another count, a mistake: not the tail of this one.
    near = [pair for pair in weighted if middle / 2 < pair[0] < middle * 2]
    return Ratio(round(middle, 6), round(_quantile(near, 0.95), 6), len(weighted))


def _quantile(weighted: Sequence[tuple[float, int]], share: float) -> float:
    """The smallest value under which at least this share of the weight lies."""
    total = sum(weight for _, weight in weighted)
    sums = accumulate(weight for _, weight in weighted)
    return next(value for (value, _), below in zip(weighted, sums, strict=True) if below >= share * total)


class Calibration:
    """Samples on disk, in the same file as the learned limits.

    >>> import tempfile
    >>> calibration = Calibration(tempfile.mkdtemp())
    >>> calibration.learn("h", "m", "han", counted=1000, actual=1604)
    True
    >>> calibration.ratio("h", "m", "han").middle
    1.6
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._knowledge = Knowledge(path)
        self._knowledge.prepare(_TABLE)

    def learn(self, host: str, model: str, script: str, *, counted: int, actual: int, inputs: int = 1) -> bool:
        """Keep a sample (a reply's ``usage``, a refusal's actual) if it can be true; whether it was."""
        if counted < _SMALLEST or not counted * _LOWEST <= actual <= counted * _HIGHEST:
            return False
        with self._knowledge.write() as database:
            key = (host, model, script)
            database.execute(_ADD, (*key, counted, actual, inputs, time.time()))
            database.execute(_KEEP_NEWEST, (*key, *key, _KEPT))
        return True

    def ratio(self, host: str, model: str, script: str) -> Ratio:
        """What is known of a script; else the highest of the model's other scripts; else 1."""
        known = self.scripts(host, model)
        return known.get(script) or max(known.values(), key=lambda ratio: ratio.high, default=Ratio())

    def scripts(self, host: str, model: str) -> dict[str, Ratio]:
        """What is known of a model, a script at a time."""
        rows = self._knowledge.read(_OF_MODEL, (host, model))
        return {name: ratio_of([row[1:] for row in rows if row[0] == name]) for name in {row[0] for row in rows}}

    def entries(self, model: str | None = None) -> list[tuple[str, str, str, Ratio]]:
        """Every host, model and script of which something is known, and its ratio."""
        where, values = matching(None, model)
        pairs = self._knowledge.read(f"SELECT DISTINCT host, model FROM samples{where} ORDER BY 1, 2", values)  # noqa: S608 - the clause has placeholders only
        return [(*pair, name, ratio) for pair in pairs for name, ratio in sorted(self.scripts(*pair).items())]

    def for_model(self, host: str, model: str) -> ModelCounts:
        """The view of one model at one host that an embedder learns through."""
        return ModelCounts(self, host, model)

    def forget(self, host: str | None = None, model: str | None = None) -> int:
        """Drop the samples of a host, a model, both, or all; how many went."""
        return self._knowledge.drop(("samples",), host, model)[0]


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """Samples of one model at one host: what an embedder loads once and adds to."""

    calibration: Calibration
    host: str
    model: str

    def load(self) -> dict[str, Ratio]:
        """What is known so far, by script."""
        return self.calibration.scripts(self.host, self.model)

    def learn(self, script: str, counted: int, actual: int, inputs: int) -> None:
        """Keep a sample."""
        self.calibration.learn(self.host, self.model, script, counted=counted, actual=actual, inputs=inputs)


def script_of(text: str) -> str:
    """As :func:`dominant_script`, from a few hundred characters spread over the whole text: cheap enough for all.

    >>> script_of("plain"), script_of("漢字かな交じり文" * 1000)
    ('latin', 'kana')
    """
    if text.isascii():
        return "latin"
    return dominant_script(text[:: max(1, len(text) // _SPREAD)], sample=2 * _SPREAD)


def dominant_script(text: str, *, sample: int = 4_000) -> str:
    """The script of most letters in the head of a text: ``latin``, ``han``, ``kana`` …, or ``none``.

    Japanese is ``kana`` wherever a fifth of its letters are.

    >>> dominant_script("Hello"), dominant_script("自然语言"), dominant_script("入力が長い")
    ('latin', 'han', 'kana')
    """
    counts: dict[str, int] = {}
    for letter in text[:sample]:
        script = _script(ord(letter))
        if script:
            counts[script] = counts.get(script, 0) + 1
    if not counts:
        return "none"
    if counts.get("kana", 0) * 5 >= sum(counts.values()):
        return "kana"
    return max(counts, key=lambda script: counts[script])


@lru_cache(maxsize=8192)
def _script(code: int) -> str:
    low, high = 0, len(_BLOCKS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _BLOCKS[middle][0] <= code else (low, middle)
    return _BLOCKS[low][1]
