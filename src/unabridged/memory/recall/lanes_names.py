"""The names lane: entities that the query calls by their name or an alias, exactly (SPEC A7's normalisation)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unabridged.memory.recall.lanes import Asking, Found, Ranking
from unabridged.memory.recall.words import function_words, han_forms
from unabridged.memory.values import normalise
from unabridged.memory.where import both, literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["called", "names_lane"]

NAME_WORDS = 6  # words of the longest name that is looked for
NAME_LETTERS = 8  # characters of the longest name in a script without spaces
QUERY_WORDS = 48  # words of a query in which names are looked for: some 270 look-ups in one filter

_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]|[^\s\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]+")
_EDGE = re.compile(r"^[^\w]+|(?:['’]s)?[^\w]*$")


def names_lane(asking: Asking) -> Mapping[str, Ranking]:
    """The entities that the query names, the longest name first; the score is the name's share of the query."""
    if not {"entity", "graph"} & asking.indexes or not asking.holdings.entities:
        return {}
    names = {name for name in called(asking.words.text) if name.encode("utf-8", "ignore").decode() == name}
    where = asking.where("entity")
    if not names or where == "false":
        return {}
    length = max(1, len(normalise(asking.words.text)))
    found: dict[str, Found] = {}
    for name, id_, place in _having(asking, names, where):
        score = len(name) / length
        if id_ not in found or score > found[id_].score:
            found[id_] = Found("entities", score, place, id_)
    return {"entity": sorted(found.values(), key=lambda each: (-each.score, each.id or ""))}


def _having(asking: Asking, names: Collection[str], where: str | None) -> Iterator[tuple[str, str, int]]:
    """Each of some names that an entity has, with the entity's id and place."""
    if where is None and (kept := asking.holdings.names) is not None:
        yield from kept.called(names)
        return
    listed = ", ".join(map(literal, names))
    columns = ["id", "_rowid", "names"]
    rows = asking.view.rows("entities", both(f"array_has_any(`names`, [{listed}])", where), columns)
    for id_, place, known in zip(*(rows[column].to_pylist() for column in columns), strict=True):
        yield from ((name, id_, place) for name in known if name in names)


def called(query: str) -> dict[str, None]:
    """Every name that a query may hold, normalised.

    >>> "acme corp" in called("Where is Acme Corp's office?")
    True
    """
    whole = normalise(query)
    pieces = [(m.start(), m.end()) for m in _PIECE.finditer(whole)][:QUERY_WORDS]
    names: dict[str, None] = {}
    for length in range(NAME_LETTERS, 0, -1):
        for at in range(len(pieces) - length + 1):
            name = whole[pieces[at][0] : pieces[at + length - 1][1]]
            if length <= NAME_WORDS or " " not in name:
                names |= dict.fromkeys(_spelled(name))
    return {name: None for name in names if name not in function_words() or _meant(name, query)}


def _meant(word: str, query: str) -> bool:
    """Whether a function word is written as a name: Al, IT."""
    written = rf"(?<=\s){re.escape(word.capitalize())}\b|\b{re.escape(word.upper())}\b"
    return word == normalise(query) or (len(word) > 1 and re.search(written, query) is not None)


def _spelled(name: str) -> list[str]:
    bare = _EDGE.sub("", name)
    ways = [bare, name] if name != bare else [bare]
    return [way for spelled in ways for way in han_forms(spelled) if way.strip()]
