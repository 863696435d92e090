"""Candidates become hits: their rows, their kind, what grounds them (SPEC R2)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.memory.gather import sliced
from unabridged.memory.recall_data import Citation
from unabridged.memory.records import Artifact, Edge, Entity, Link
from unabridged.memory.schema import columns_of, from_table
from unabridged.memory.settle import fetch
from unabridged.memory.where import among, both, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.commits import View
    from unabridged.memory.recall_scope import Scope

__all__ = ["Row", "chunked", "cited", "rows_of", "text_of"]

SOURCES = 8  # citations of one fact or entity; the oldest, who said it first

Row = tuple[Any, Any]  # a record and its vector, or None


def rows_of(view: View, table: str, ids: Sequence[str], where: str | None) -> dict[str, Row]:
    """Records with their vectors, by id; those that do not pass the filter are left out."""
    if not ids or where == "false":
        return {}
    vectors = "vector" in view[table].schema.names
    columns = [*columns_of(table), *(["vector"] if vectors else [])]
    rows = view.rows(table, both(among("id", ids), where), columns)
    held = rows["vector"].to_pylist() if vectors else [None] * rows.num_rows
    records = from_table(table, rows.drop_columns(["vector"]) if vectors else rows)
    whole = (
        None if v is None or r.embedder is None else np.asarray(v, np.float32)
        for r, v in zip(records, held, strict=True)
    )
    return {record.id: (record, vector) for record, vector in zip(records, whole, strict=True)}


def chunked(view: View, documents: Iterable[str]) -> set[str]:
    """Which of some documents have chunks, and so are whole artifacts and no passages."""
    ids = list(documents)
    if not ids:
        return set()
    where = both(among("parent_id", ids), equals("role", "chunk"))
    return set(view.rows("artifacts", where, ["parent_id"])["parent_id"].to_pylist())


def text_of(record: Artifact | Edge | Entity) -> str:
    """What a hit says."""
    if isinstance(record, Artifact):
        return record.text
    if isinstance(record, Edge):
        return record.fact
    also = f", also {', '.join(record.aliases)}" if record.aliases else ""
    return f"{record.name} ({record.type}{also})" + (f": {record.description}" if record.description else "")


def cited(view: View, records: Sequence[Any], scope: Scope) -> dict[str, tuple[Citation, ...]]:
    """What grounds each record: passages by themselves, summaries by their chunk, the graph by its sources."""
    links = _links(view, [r.id for r in records if not isinstance(r, Artifact)], scope)
    parents = [r.parent_id for r in records if isinstance(r, Artifact) and r.role == "summary" and r.parent_id]
    seen = [r for r in records if isinstance(r, Artifact)]
    wanted = {*parents, *(link.to_id for each in links.values() for link in each)} - {r.id for r in seen}
    known = {r.id: r for r in seen} | _sources(view, wanted, scope)
    facts = _facts(view, known, scope)
    found = {}
    for record in records:
        if isinstance(record, Artifact):
            ground = known.get(record.parent_id or "", record) if record.role == "summary" else record
            found[record.id] = (_citation(ground, facts),)
        else:
            linked = [link for link in links[record.id] if link.to_id in known]
            found[record.id] = tuple(_citation(known[link.to_id], facts, link) for link in linked[:SOURCES])
    return found


def _links(view: View, ids: Sequence[str], scope: Scope) -> dict[str, list[Link]]:
    found: dict[str, list[Link]] = defaultdict(list)
    where = both(among("type", ["edge_artifact", "entity_artifact"]), among("from_id", ids), scope.known)
    for link in view.records("links", where) if ids else ():
        found[link.from_id].append(link)
    for each in found.values():
        each.sort(key=lambda link: (link.created_at, link.to_id))
    return found


def _sources(view: View, ids: Iterable[str], scope: Scope) -> dict[str, Artifact]:
    wanted = sorted(ids)
    if not wanted:
        return {}
    return {a.id: a for a in view.records("artifacts", both(among("id", wanted), scope.artifacts()))}


def _facts(view: View, artifacts: Mapping[str, Artifact], scope: Scope) -> dict[str, tuple[str, ...]]:
    """The facts that each artifact states, and that hold."""
    if not artifacts:
        return {}
    rows = view.rows("links", both(scope.links("edge_artifact"), among("to_id", artifacts)), ["from_id", "to_id"])
    said: dict[str, list[str]] = defaultdict(list)
    for fact, artifact in zip(rows["from_id"].to_pylist(), rows["to_id"].to_pylist(), strict=True):
        said[artifact].append(fact)
    if not said:
        return {}
    every = sorted({fact for each in said.values() for fact in each})
    holding = set(view.rows("edges", both(among("id", every), scope.edges()), ["id"])["id"].to_pylist())
    return {artifact: tuple(sorted(set(each) & holding)) for artifact, each in said.items()}


def _citation(artifact: Artifact, facts: Mapping[str, tuple[str, ...]], link: Link | None = None) -> Citation:
    whole = len(artifact.text.encode("utf-8"))
    start, end = (0, whole) if link is None or link.start is None or link.end is None else (link.start, link.end)
    at = artifact.start_offset if artifact.is_chunk else (0 if artifact.document_id is None else None)
    said = artifact.provenance
    return Citation(
        artifact_id=artifact.id,
        document_id=artifact.document_id or artifact.id,
        artifact_role=artifact.role,
        kind=artifact.kind,
        start=start,
        end=end,
        document_start=None if at is None else at + start,
        document_end=None if at is None else at + end,
        quote=sliced(artifact.text, start, end),
        source=artifact.source,
        session_id=artifact.session_id,
        speaker=_plain(said.get("speaker")),
        role=_plain(said.get("role")),
        valid_at=artifact.valid_at,
        created_at=artifact.created_at,
        expires_at=artifact.expires_at,
        page=artifact.page,
        section=artifact.section,
        facts=facts.get(artifact.id, ()),
        metadata=artifact.metadata,
    )


def _plain(value: Any) -> str | None:
    return None if value is None else str(value)


def documents_of(view: View, ids: Iterable[str]) -> dict[str, Artifact]:
    """Some documents, whole, by id."""
    return fetch(view, "artifacts", ids)
