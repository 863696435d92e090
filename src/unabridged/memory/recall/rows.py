"""What ranking needs of the rows that the lanes found: read once, by their place, and no more than is asked for.

Of a million chunks a hundred rows are ranked for a query and ten are chosen; whole records are read of those ten.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unabridged.memory.recall.kept.identities import IDENTITIES
from unabridged.memory.recall.kept.roles import ROLES
from unabridged.memory.recall.lanes import holdings
from unabridged.memory.schema import columns_of, from_table
from unabridged.memory.where import among, both, equals

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from unabridged.memory.commits import View
    from unabridged.memory.recall.settings import Settings

__all__ = ["Brief", "Rows", "chunked", "named"]

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "artifacts": ("id", "document_id"),
    "edges": ("id", "fact"),
    "entities": ("id", "name", "type", "aliases", "description"),
}
_MOMENTS: Mapping[str, tuple[str, ...]] = {
    "artifacts": ("valid_at", "created_at"),
    "edges": ("valid_at", "created_at", "stated_invalid_at"),
    "entities": ("created_at",),
}


@dataclass(frozen=True, slots=True)
class Brief:
    """What ranking needs of a row. ``text`` is ``None`` while it was not read: that of a whole document may be long.

    ``began`` is the time that recency counts from, ``row`` where the store keeps it.
    """

    table: str
    id: str
    row: int
    role: str | None = None
    text: str | None = field(default=None, repr=False)
    document_id: str | None = None
    session_id: str | None = None
    began: dt.datetime | None = None
    vector: Any = field(default=None, repr=False, compare=False)


class Rows:
    """The rows of one view that a query has met."""

    def __init__(self, view: View, settings: Settings, *, vectors: bool) -> None:
        self._view = view
        self._holdings = holdings(view)
        self._vectors = vectors
        self._moments = settings.recency is not None
        self._sessions = settings.session is not None
        self._placed: dict[str, dict[int, Brief]] = {}
        self._ids: dict[str, dict[str, int]] = {}

    def at(self, table: str, places: Iterable[int], *, texts: bool = True) -> dict[int, Brief]:
        """Some rows by their place; artifacts without their text where it is not asked for."""
        known = self._placed.setdefault(table, {})
        wanted = sorted({place for place in places if place not in known})  # in order: neighbours are read at once
        if wanted:
            read = self._artifacts if table == "artifacts" else partial(self._standing, table)
            self._keep(table, read(wanted, self._columns(table, texts=texts)))
        return known

    def known(self, table: str, ids: Collection[str], where: str | None) -> list[int]:
        """Where the rows of some ids are, as far as that is kept in memory and nothing has to be held against them."""
        if where is not None or not ids:
            return []
        if table == "artifacts":
            return list(self._holdings.places(ids).values())
        kept = self._holdings.names if table == "entities" else None
        return kept.places(ids) if kept is not None else []

    def of(self, table: str, ids: Iterable[str], where: str | None, *, texts: bool = True) -> None:
        """Meet the rows that have some ids and pass a filter."""
        known = self._ids.setdefault(table, {})
        wanted = [id_ for id_ in dict.fromkeys(ids) if id_ not in known]
        if wanted and where != "false":
            columns = ["_rowid", *self._columns(table, texts=texts)]
            self._keep(table, self._view.rows(table, both(among("id", wanted), where), columns))

    def find(self, table: str, key: int | str) -> Brief | None:
        """A row that was met, by its place or its id."""
        place = key if isinstance(key, int) else self._ids.get(table, {}).get(key)
        return None if place is None else self._placed.get(table, {}).get(place)

    def places(self, table: str) -> Mapping[str, int]:
        """Where the rows are that were met, by id."""
        return self._ids.get(table, {})

    def read(self, briefs: Sequence[Brief]) -> dict[str, Brief]:
        """Artifacts with their texts, by id."""
        missing = sorted({each.row for each in briefs if each.text is None})
        if missing:
            texts = self._view["artifacts"].at(missing, ["text"])
            known = self._placed["artifacts"]
            for row, text in zip(texts["_rowid"].to_pylist(), texts["text"].to_pylist(), strict=True):
                known[row] = replace(known[row], text=text)
        return {each.id: self._placed["artifacts"][each.row] for each in briefs}

    def whole(self, briefs: Sequence[Brief]) -> dict[str, Any]:
        """The whole records of some rows of one table, by id."""
        table = briefs[0].table
        rows = self._standing(table, sorted({each.row for each in briefs}), columns_of(table))
        return {record.id: record for record in from_table(table, rows)}

    def _standing(self, table: str, places: Sequence[int], columns: Sequence[str]) -> pa.Table:
        kept = self._holdings.briefs(table)
        return (kept or self._view[table]).at(places, columns)

    def _artifacts(self, places: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Artifacts by places that are in order; who they are is known of many without reading it."""
        kept = self._holdings.identities
        if kept is None:
            return self._view["artifacts"].at(places, columns)
        rest = [name for name in columns if name not in IDENTITIES.columns]
        rows = self._view["artifacts"].at(places, rest) if rest else pa.table({"_rowid": pa.array(places, pa.uint64())})
        for name, values in zip(IDENTITIES.columns, kept.at(rows["_rowid"].to_numpy()), strict=True):
            rows = rows.append_column(name, pa.array(values, pa.string()))
        return rows

    def _columns(self, table: str, *, texts: bool) -> list[str]:
        columns = [*_COLUMNS[table]]
        if table == "artifacts":
            columns += ["text"] if texts else []
            columns += ["session_id"] if self._sessions else []
        columns += _MOMENTS[table] if self._moments else ()
        return columns + (["vector"] if self._vectors and "vector" in self._view[table].schema.names else [])

    def _keep(self, table: str, rows: pa.Table) -> None:
        values = {name: rows[name].to_pylist() for name in rows.column_names if name != "vector"}
        vectors = _vectors(rows) if "vector" in rows.column_names else [None] * rows.num_rows
        texts = _texts(table, values)
        roles = self._roles(values["_rowid"]) if table == "artifacts" else [None] * rows.num_rows
        placed, ids = self._placed.setdefault(table, {}), self._ids.setdefault(table, {})
        documents: dict[str, int] = {}
        for at, (id_, row) in enumerate(zip(values["id"], values["_rowid"], strict=True)):
            document, session = (values[name][at] if name in values else None for name in ("document_id", "session_id"))
            ids[id_] = row
            text = texts[at] if texts[at] is not None or row not in placed else placed[row].text
            if roles[at] == "document":
                documents[id_] = row
            placed[row] = Brief(table, id_, row, roles[at], text, document, session, _began(values, at), vectors[at])
        self._holdings.met(documents, {})

    def _roles(self, places: Sequence[int]) -> list[str]:
        return [ROLES[number] for number in self._holdings.rows.of(np.array(places, dtype=np.uint64))]


def _texts(table: str, values: Mapping[str, list[Any]]) -> Sequence[str | None]:
    if table == "edges":
        return values["fact"]
    if table == "entities":
        return [named(*each) for each in zip(*(values[name] for name in _COLUMNS[table][1:]), strict=True)]
    return values.get("text") or [None] * len(values["id"])


def named(name: str, type_: str, aliases: Sequence[str], description: str | None) -> str:
    """What an entity says."""
    also = f", also {', '.join(aliases)}" if aliases else ""
    return f"{name} ({type_}{also})" + (f": {description}" if description else "")


def _began(values: Mapping[str, list[Any]], at: int) -> dt.datetime | None:
    """When it began, as far as it is known: a fact at the latest when it was told, or had ended."""
    given = values.get("valid_at", ())[at : at + 1]
    if given and given[0] is not None:
        first: dt.datetime = given[0]
        return first
    told = [values[name][at] for name in ("created_at", "stated_invalid_at") if name in values]
    return min((moment for moment in told if moment is not None), default=None)


def _vectors(rows: pa.Table) -> list[Any]:
    column = rows["vector"].combine_chunks()
    width = column.type.list_size
    whole = column.values.to_numpy(zero_copy_only=False).reshape(-1, width)[column.offset : column.offset + len(column)]
    if not column.null_count:
        return list(whole)
    return [None if not valid else row for valid, row in zip(column.is_valid().to_pylist(), whole, strict=True)]


def chunked(view: View, documents: Collection[str]) -> set[str]:
    """Which of some documents have chunks, and so are whole artifacts and no passages."""
    known = holdings(view)
    if known.shelf is not None:
        return known.shelf.chunked(documents)
    split = {id_: known.split.get(id_) for id_ in documents}
    if unknown := [id_ for id_, parts in split.items() if parts is None]:
        where = both(among("parent_id", unknown), equals("role", "chunk"))
        found = set(view.rows("artifacts", where, ["parent_id"])["parent_id"].to_pylist())
        fresh = {id_: id_ in found for id_ in unknown}
        known.met({}, fresh)
        split |= fresh
    return {id_ for id_, parts in split.items() if parts}
