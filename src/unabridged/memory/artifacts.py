"""Reading artifacts: by id, in pages, their children, their bytes, their vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import NotFound
from unabridged.memory.gather import identity, sliced, stored_kind
from unabridged.memory.paging import Page, metadata_where, optional, page, span_where
from unabridged.memory.records import Artifact
from unabridged.memory.where import among, batched, both, equals, is_null, not_null

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.commits import Source, View

__all__ = ["Artifacts", "Counts", "vectors_of"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many artifacts there are: chunks without derived ones, summaries on their own (SPEC A5)."""

    documents: int
    chunks: int
    summaries: int
    web_searches: int
    observations: int


def vectors_of(source: Source, table: str, ids: Sequence[str]) -> dict[str, Any]:
    """The stored vectors of some rows, float32, by id; rows without one are left out."""

    def ask(view: View) -> dict[str, Any]:
        if view.settings.get("width") is None:
            return {}
        found: dict[str, Any] = {}
        for part in batched(ids):
            rows = view.rows(table, both(among("id", part), not_null("embedder")), ["id", "vector"])
            for batch in rows.to_batches():
                vectors = np.stack(batch["vector"].to_numpy(zero_copy_only=False)) if batch.num_rows else ()
                found.update(zip(batch["id"].to_pylist(), np.asarray(vectors, dtype=np.float32), strict=True))
        return found

    return source.ask(ask)


class Artifacts:
    """The texts of a memory, and what was derived from them."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def get(self, artifact_id: str) -> Artifact:
        """One artifact; :class:`~unabridged.errors.NotFound` if it is not there."""
        found = self.many([artifact_id])
        if not found:
            raise NotFound("no artifact of that id is in the dataset")
        return found[0]

    def many(self, ids: Sequence[str]) -> list[Artifact]:
        """Those of the ids that are there, in the order asked."""

        def ask(view: View) -> list[Artifact]:
            parts = [view.records("artifacts", among("id", part)) for part in batched(dict.fromkeys(ids))]
            found = {record.id: record for part in parts for record in part}
            return [found[each] for each in ids if each in found]

        return self._source.ask(ask)

    def children(self, artifact: Artifact | str, *, role: str | None = None) -> list[Artifact]:
        """What hangs from an artifact directly: chunks in their order, then what was derived from it."""
        where = both(equals("parent_id", identity(artifact)), *optional(role=role))
        found: Iterable[Artifact] = self._source.ask(lambda view: view.records("artifacts", where))
        return sorted(found, key=lambda a: (not a.is_chunk, a.chunk_index or 0, a.created_at, a.id))

    def chunks(self, document: Artifact | str) -> list[Artifact]:
        """The chunks of a document, in their order."""
        return self.children(document, role="chunk")

    def counts(self, *, session_id: str | None = None) -> Counts:
        """How many there are of each role."""
        names = ("document", "chunk", "summary", "web_search", "observation")
        of = optional(session_id=session_id)
        return self._source.ask(
            lambda view: Counts(*(view["artifacts"].count(both(equals("role", name), *of)) for name in names))
        )

    def slice(self, artifact: Artifact | str, start: int, end: int) -> str:
        """The bytes ``start:end`` of an artifact's UTF-8 text, as text."""
        record = artifact if isinstance(artifact, Artifact) else self.get(artifact)
        return sliced(record.text, start, end)

    def vectors(self, ids: Sequence[str]) -> dict[str, Any]:
        """The stored vectors of some artifacts, float32, by id."""
        return vectors_of(self._source, "artifacts", ids)

    def list(
        self,
        *,
        role: str | None = None,
        kind: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        document: Artifact | str | None = None,
        parent: Artifact | str | None = None,
        series_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_since: Any = None,
        created_until: Any = None,
        valid_since: Any = None,
        valid_until: Any = None,
        pending: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Artifact]:
        """A page of artifacts, oldest first: all, or those that meet every filter given.

        ``metadata`` matches paths and plain values; ``since`` is inclusive, ``until`` exclusive;
        ``pending`` asks for chunks that no graph was made of yet.
        """
        where = both(
            *optional(
                role=role,
                kind=stored_kind(kind),
                session_id=session_id,
                source=source,
                document_id=None if document is None else identity(document),
                parent_id=None if parent is None else identity(parent),
                series_id=series_id,
            ),
            metadata_where(metadata),
            span_where("created_at", created_since, created_until),
            span_where("valid_at", valid_since, valid_until),
            both(equals("role", "chunk"), is_null("processed_at")) if pending else None,
        )
        return self._source.ask(
            lambda view: page(view, "artifacts", where, limit=limit, cursor=cursor, newest_first=newest_first)
        )
