"""How each provider words its refusals: with numbers, without them, with and without an index.

The sentences, in ``refusals.tsv`` beside this file, are those of real replies (public reports and
server sources), because a client must understand what is really said. Their fields are ``{model}``,
``{limit}``, ``{actual}``, ``{excess}``, ``{index}``, ``{wait}`` and ``{key}``; the dialect ``*``
stands for all that have no sentence of their own.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Refusal", "RefusalKind", "wording"]

RefusalKind = Literal[
    "input_tokens",
    "input_chars",
    "input_bytes",
    "request_tokens",
    "request_bytes",
    "batch",
    "rate",
    "auth",
    "model",
    "dimensions",
    "empty",
    "shape",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """One sentence: its status, and the same without numbers or with an index where there is such a form."""

    status: int
    text: str
    bare: str | None = None
    indexed: str | None = None
    code: str | None = None


def wording(dialect: str, kind: RefusalKind) -> Refusal:
    """A dialect's own sentence, or the common one.

    >>> wording("tei", "batch").text.format(actual=91, limit=64)
    'batch size 91 > maximum allowed batch size 64'
    """
    known = _all()
    return known.get((dialect, kind)) or known["*", kind]


@cache
def _all() -> dict[tuple[str, str], Refusal]:
    text = (files("unabridged.testing") / "refusals.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(row["dialect"], row["kind"]): _refusal(row) for row in rows}


def _refusal(row: dict[str, str]) -> Refusal:
    text, bare, indexed = (row[name].replace("\\n", "\n") for name in ("text", "bare", "indexed"))
    return Refusal(int(row["status"]), text, bare or None, indexed or None, row["code"] or None)
