"""The text lane: BM25 over artifacts, facts and names; all the words, a phrase, or any of the words.

Whoever says every word comes before those who say one of them often: BM25 shares a word's weight out over
a text's length, so a long memory that says all of a query would stand behind short ones that say a word of it
(SPEC R4: a long document is never penalised for its length; case 43).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.lanes import INDEXES_OF, Asking, Found, Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["text_lane"]

_COLUMNS = {"artifacts": "text", "edges": "fact", "entities": "name"}


def text_lane(asking: Asking) -> Mapping[str, Ranking]:
    """The best rows of every index by BM25; scores are BM25's own."""
    if not asking.words.matched:
        return {}
    return {index: _matched(asking, index) for index in sorted(asking.indexes) if asking.holdings.holds(index)}


def _matched(asking: Asking, index: str) -> Ranking:
    table, where = INDEXES_OF[index][0], asking.where(index)
    if where == "false":
        return ()
    best: dict[str, tuple[float, str | None]] = {}
    columns = [_COLUMNS[table]]
    if table == "artifacts" and asking.holdings.lexical:
        columns.append("lexical")
    for column in columns:
        for id_, score, role in _asked(asking, table, column, where):
            best[id_] = max((score, role), best.get(id_, (0.0, role)), key=lambda pair: pair[0])
    ordered = sorted(best.items(), key=lambda pair: (-pair[1][0], pair[0]))
    return [Found(table, id_, score, role) for id_, (score, role) in ordered]


def _asked(asking: Asking, table: str, column: str, where: str | None) -> list[tuple[str, float, str | None]]:
    handle, words, found = asking.view[table], asking.words, []
    columns = ["id", "role"] if table == "artifacts" else ["id"]
    ways = [{"text": words.matched}, *({"text": phrase, "phrase": True} for phrase in words.phrases)]
    if len(words.terms) > 1:
        ways.append({"text": " ".join(words.terms), "every": True})
    for way in ways:
        rows = handle.match(way.pop("text"), column, asking.depth, where=where, columns=columns, **way).to_pydict()
        found += zip(rows["id"], rows["_score"], rows.get("role") or [None] * len(rows["id"]), strict=True)
    return found
