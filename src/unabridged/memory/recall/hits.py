"""Candidates become hits: their rows, their kind, what grounds them (SPEC R2)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from unabridged.memory.gather import sliced
from unabridged.memory.recall.data import Citation
from unabridged.memory.records import Artifact, Edge, Entity, Link
from unabridged.memory.schema import columns_of, from_table
from unabridged.memory.settle import fetch
from unabridged.memory.where import among, both, equals

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from unabridged.memory.commits import View
    from unabridged.memory.recall.scope import Scope

__all__ = [
    "Brief",
    "Row",
    "chunked",
    "cited",
    "rows_of",
    "text_of",
    "whole_of",
]

FACTS = 64  # facts that a citation names of its artifact; a register of thousands is asked for by contribution()
SOURCES = 8  # citations of one fact or entity; the oldest, who said it first

Row = tuple[Any, Any]  # a record (of an artifact, the brief of it) and its vector, or None


@dataclass(frozen=True, slots=True)
class Brief:
    """What ranking needs of an artifact; the whole of it is read of those that are chosen."""

    id: str
    text: str
    role: str
    document_id: str | None
    session_id: str | None
    valid_at: dt.datetime | None
    created_at: dt.datetime
    row: int | None = None


_BRIEF = tuple(f.name for f in fields(Brief))[:-1]


def rows_of(view: View, table: str, found: Mapping[str, int | None], where: str | None) -> dict[str, Row]:
    """What is needed to rank some rows, by id: found by their place where that is known, else by id and filter."""
    placed = [row for row in found.values() if row is not None]
    others = [id_ for id_, row in found.items() if row is None]
    rows: dict[str, Row] = {}
    if placed:
        rows |= _read(view, table, _at(placed), found)
    if others and where != "false":
        rows |= _read(view, table, both(among("id", others), where), found)
    return rows


def _at(rows: Iterable[int]) -> str:
    return f"_rowid IN ({', '.join(map(str, rows))})"


def whole_of(view: View, briefs: Sequence[Brief]) -> dict[str, Artifact]:
    """The whole records of some artifacts, by id."""
    places = [each.row for each in briefs if each.row is not None]
    if len(places) < len(briefs):
        return fetch(view, "artifacts", [each.id for each in briefs])
    return {each.id: each for each in view.records("artifacts", _at(places))} if places else {}


def _read(view: View, table: str, where: str | None, found: Mapping[str, int | None]) -> dict[str, Row]:
    vectors = "vector" in view[table].schema.names
    columns = _BRIEF if table == "artifacts" else columns_of(table)
    rows = view.rows(table, where, [*columns, *(["vector"] if vectors else [])])
    held = _vectors(rows) if vectors else [None] * rows.num_rows
    if table == "artifacts":
        values = zip(*(rows[name].to_pylist() for name in _BRIEF), strict=True)
        records: list[Any] = [Brief(**dict(zip(_BRIEF, each, strict=True)), row=found.get(each[0])) for each in values]
    else:
        records = from_table(table, rows)
    return {record.id: (record, vector) for record, vector in zip(records, held, strict=True)}


def _vectors(rows: pa.Table) -> list[Any]:
    column = rows["vector"].combine_chunks()
    width = column.type.list_size
    whole = column.values.to_numpy(zero_copy_only=False).reshape(-1, width)[column.offset : column.offset + len(column)]
    return [None if not valid else row for valid, row in zip(column.is_valid().to_pylist(), whole, strict=True)]


def chunked(view: View, documents: Iterable[str]) -> set[str]:
    """Which of some documents have chunks, and so are whole artifacts and no passages."""
    ids = list(documents)
    if not ids:
        return set()
    where = both(among("parent_id", ids), equals("role", "chunk"))
    return set(view.rows("artifacts", where, ["parent_id"])["parent_id"].to_pylist())


def text_of(record: Artifact | Brief | Edge | Entity) -> str:
    """What a hit says."""
    if isinstance(record, Artifact | Brief):
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
    found: dict[str, tuple[Citation, ...]] = {}
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
    where, most = both(scope.links("edge_artifact"), among("to_id", artifacts)), FACTS * len(artifacts)
    rows = view.rows("links", where, ["from_id", "to_id"], limit=most)
    said: dict[str, list[str]] = defaultdict(list)
    for fact, artifact in zip(rows["from_id"].to_pylist(), rows["to_id"].to_pylist(), strict=True):
        said[artifact].append(fact)
    if not said:
        return {}
    every = sorted({fact for each in said.values() for fact in each})
    holding = set(view.rows("edges", both(among("id", every), scope.edges(view)), ["id"])["id"].to_pylist())
    return {artifact: tuple(sorted(set(each) & holding)[:FACTS]) for artifact, each in said.items()}


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
