"""Searches of one table: the nearest by vector, the best by text, and rows read by the place that a search gave.

A search that brings nothing but places and scores is three times as fast as one that brings columns too: each
value of each row is a read of its own. So the lanes of a recall ask for places alone, and what they found
together is read once. Measured at a million rows: the 1,000 nearest 6 ms, with two columns of 64 rows 10 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.memory.trouble import told

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Searches"]

PROBES = 144  # partitions of a vector index looked into, of 256 at a million rows: 0.977 of the exact ten; 112: 0.963
FEWER = 80  # the same of a search for MANY, which looks into more by itself: 0.980
MANY = 200
REFINED = 200  # the nearest by the index's two bits a dimension that are compared by their whole vectors
_OFFSET = 0xFFFF_FFFF  # the half of a row's place that says where in its fragment it is


class Searches:
    """How one table is searched; a part of :class:`~unabridged.memory.dataset.Handle`."""

    _lake: Any

    def _reader(self) -> Any:
        """The table as Lance sees it, at the version that the handle stands at."""
        raise NotImplementedError

    def _searched(self) -> Any:
        """The table as LanceDB reads it, at the same version."""
        raise NotImplementedError

    @told("searching by vector")
    def nearest(
        self,
        vector: Any,
        k: int,
        *,
        where: str | None = None,
        columns: Sequence[str] = ("id",),
        probes: int | None = None,
        refine: int | None = None,
        exact: bool = False,
    ) -> pa.Table:
        """The ``k`` rows nearest by cosine, with ``_distance`` (0 … 2) and their ``_rowid``.

        ``exact`` ignores the index; ``probes`` is the fewest partitions of it that are looked into; ``refine``
        times ``k`` of the nearest by the index, which holds shortened vectors, are compared by their whole ones
        (0: its word is taken, and ``_distance`` is about right).
        """
        names = [*columns, "_distance"]
        if not self._lake.fine:
            query = self._searched().search(vector, vector_column_name="vector").distance_type("cosine")
            query = query.bypass_vector_index() if exact else query
            return _narrowed(query, where, names, k)
        asked = {"column": "vector", "q": vector, "k": k, "metric": "cosine", "use_index": not exact}
        asked["minimum_nprobes"] = probes or (PROBES if k < MANY else FEWER)
        if refine != 0:
            asked["refine_factor"] = refine or -(-REFINED // k)
        how = {"columns": names, "filter": where, "prefilter": True, "with_row_id": True}
        found: pa.Table = self._reader().to_table(nearest=asked, **how)
        return found

    @told("searching by text")
    def match(
        self,
        text: str,
        column: str,
        k: int,
        *,
        where: str | None = None,
        columns: Sequence[str] = ("id",),
        phrase: bool = False,
        every: bool = False,
    ) -> pa.Table:
        """The ``k`` rows that match ``text`` best by BM25, with ``_score``, ``_rowid``; ``every``: all of its words."""
        from lance import query as asking

        how: dict[str, Any] = {} if phrase or not every else {"operator": asking.FullTextOperator.AND}
        kind: Any = asking.PhraseQuery if phrase else asking.MatchQuery
        names = [*columns, "_score"]
        if self._lake.fine:
            how = {"full_text_query": kind(text, column, **how), "limit": k}
            found: pa.Table = self._reader().to_table(
                columns=names, filter=where, prefilter=True, with_row_id=True, **how
            )
            return found
        from lancedb import query as elsewhere

        how = {"operator": elsewhere.FullTextOperator.AND} if how else {}
        kind = elsewhere.PhraseQuery if phrase else elsewhere.MatchQuery
        return _narrowed(self._searched().search(kind(text, column, **how), query_type="fts"), where, names, k)

    @told("reading")
    def at(self, places: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Rows by their ``_rowid``, in the order asked; those that are gone are left out (``_rowid`` tells)."""
        names = [*columns, "_rowid"]
        if self._lake.fine:
            found: pa.Table = self._reader()._take_rows(list(places), names)  # noqa: SLF001 - a filter takes twice as long
            return found
        rows: pa.Table = self._searched().take_row_ids(list(places)).select(list(columns)).with_row_id().to_arrow()
        order = {place: at for at, place in enumerate(rows["_rowid"].to_pylist())}
        return rows.take(pa.array([order[place] for place in places if place in order], pa.int64()))

    @told("reading fragments")
    def files(self) -> dict[int, tuple[str, int]]:
        """By fragment, the file that it begins with and its rows, deleted ones too; of a store without, none.

        What a file holds never changes.
        """
        if not self._lake.fine:
            return {}
        found = ((f.fragment_id, f.metadata) for f in self._reader().get_fragments())
        return {id_: (metadata.files[0].path, metadata.physical_rows) for id_, metadata in found}

    @told("reading fragments")
    def states(self) -> dict[int, str]:
        """By fragment, what tells the rows that it has from those of any other, or of its own at another time.

        Of a file of deletions its random id does: as many other rows may be gone in a copy, or after a restore.
        """
        if not self._lake.fine:
            return {}
        found = ((f.fragment_id, f.metadata) for f in self._reader().get_fragments())
        return {id_: " ".join([*(f.path for f in m.files), _deletions(m.deletion_file)]) for id_, m in found}

    @told("reading")
    def columns(self, fragments: Sequence[int], names: Sequence[str], where: str | None = None) -> pa.Table:
        """Some columns of some fragments, in their order, with each row's ``_rowid``."""
        dataset = self._reader()
        parts = [dataset.get_fragment(fragment) for fragment in fragments]
        how = {"filter": where, "fragments": parts, "with_row_id": True, "scan_in_order": True}
        found: pa.Table = dataset.scanner(columns=list(names), **how).to_table()
        return found

    def column(self, fragment: int, name: str) -> tuple[Any, pa.ChunkedArray]:
        """One column of a fragment, and where in it each value stands."""
        rows = self.columns([fragment], [name])
        return rows["_rowid"].to_numpy() & _OFFSET, rows[name]


def _deletions(file: Any) -> str:
    return "" if file is None else f"{file.read_version} {file.id}"


def _narrowed(query: Any, where: str | None, columns: list[str], k: int) -> pa.Table:
    query = query.where(where, prefilter=True) if where else query
    found: pa.Table = query.select(columns).with_row_id(True).limit(k).to_arrow()
    return found
