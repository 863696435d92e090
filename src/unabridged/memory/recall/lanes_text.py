"""The text lane: BM25 over artifacts, facts and names; all the words, a phrase, or any of the words.

Whoever says every word comes before those who say one of them often: BM25 shares a word's weight out over
a text's length, so a long memory that says all of a query would stand behind short ones that say a word of it
(SPEC R4: a long document is never penalised for its length; case 43).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.recall.lanes import INDEXES_OF, Asking, Found, Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["text_lane"]

_COLUMNS = {"artifacts": "text", "edges": "fact", "entities": "name"}


def text_lane(asking: Asking) -> Mapping[str, Ranking]:
    """The best rows of every index by BM25; scores are BM25's own."""
    if not asking.words.matched:
        return {}
    found = asking.by_role(lambda where, depth: _matched(asking, "artifacts", where, depth))
    for index in ("fact", "entity"):
        if index in asking.indexes and asking.holdings.holds(index):
            found[index] = _matched(asking, INDEXES_OF[index][0], asking.where(index), asking.depth)
    return found


def _matched(asking: Asking, table: str, where: str | None, depth: int) -> Ranking:
    if where == "false":
        return ()
    columns = [_COLUMNS[table]]
    if table == "artifacts" and asking.holdings.lexical:
        columns.append("lexical")
    best: dict[str, Found] = {}
    for column in columns:
        for found in _asked(asking, table, column, where, depth):
            if found.id not in best or found.score > best[found.id].score:
                best[found.id] = found
    return sorted(best.values(), key=lambda each: (-each.score, each.id))


def _asked(asking: Asking, table: str, column: str, where: str | None, depth: int) -> list[Found]:
    """Any of the words; each phrase; and all of the words, where so many say any that some were left out."""
    words, handle = asking.words, asking.view[table]
    columns = ["id", "role"] if table == "artifacts" else ["id"]

    def ask(text: str, **how: bool) -> list[Found]:
        rows = handle.match(text, column, depth, where=where, columns=columns, **how).to_pydict()
        return Found.all(table, rows, rows["_score"])

    found = ask(words.matched)
    if len(found) >= depth and len(words.terms) > 1:
        found += ask(" ".join(words.terms), every=True)
    for phrase in words.phrases:
        found += ask(phrase, phrase=True)
    return found
