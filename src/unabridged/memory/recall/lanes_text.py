"""The text lane: BM25 over artifacts, facts and names; all the words, a phrase, or any of the words.

Whoever says every word comes before those who say one of them often: BM25 shares a word's weight out over
a text's length, so a long memory that says all of a query would stand behind short ones that say a word of it
(SPEC R4: a long document is never penalised for its length; case 43).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.memory.recall.inside import inside
from unabridged.memory.recall.lanes import INDEXES_OF, NOTHING, Asking, Found, Places, Ranking, places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["text_lane"]

_COLUMNS = {"artifacts": "text", "edges": "fact", "entities": "name"}


def text_lane(asking: Asking) -> Mapping[str, Ranking]:
    """The best rows of every index by BM25; scores are BM25's own."""
    if not asking.words.matched:
        return {}
    found = asking.by_role(lambda where, depth, own: _matched(asking, "artifacts", where, depth, own=own))
    for index in ("fact", "entity"):
        if index in asking.indexes and asking.holdings.holds(index):
            table = INDEXES_OF[index][0]
            found[index] = _best(table, _matched(asking, table, asking.where(index), asking.few))
    return found


def _best(table: str, every: Sequence[Places]) -> list[Found]:
    best: dict[int, float] = {}
    for rows, scores in every:
        for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
            best[row] = max(score, best.get(row, score))
    return [Found(table, score, row) for row, score in sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))]


def _matched(asking: Asking, table: str, where: str | None, depth: int, *, own: bool = False) -> list[Places]:
    if where == "false":
        return [NOTHING]
    columns = [_COLUMNS[table]]
    if table == "artifacts" and asking.holdings.lexical:
        columns.append("lexical")
    return [found for column in columns for found in _asked(asking, table, column, where, depth, own=own)]


def _asked(
    asking: Asking, table: str, column: str, where: str | None, depth: int, *, own: bool = False
) -> list[Places]:
    """Any of the words; all of them, where so many say any that some were left out; and each phrase.

    In a search of few rows' own, those that say all of the words are enough: any is ten times as dear.
    """
    words, handle = asking.words, asking.view[table]

    def ask(text: str, depth: int, **how: bool) -> Places:
        return places(handle.match(text, column, depth, where=where, columns=(), **how), "_score")

    every = " ".join(words.terms)
    if own and len(words.terms) > 1 and len((all_of := ask(every, depth, every=True))[0]) >= depth:
        return [all_of]
    found = [ask(words.matched, depth)]
    few = min(depth, asking.depth) if table == "artifacts" else 1  # hardly any name has a query's words
    if len(found[0][0]) < few:
        found.append(inside(asking, table, column, where, min(depth, asking.depth)))
    full = table == "artifacts" and len(found[0][0]) >= min(depth, asking.depth)  # facts and names are all short
    if full and len(words.terms) > 1:
        found.append(ask(every, min(depth, asking.depth), every=True))
    standing = dict.fromkeys([*words.phrases, *words.parted])
    return found + [ask(phrase, min(depth, asking.depth), phrase=True) for phrase in standing]
