"""How records lie in the store: Arrow schemas, which columns are indexed, row <-> record.

``TABLES`` move together, under the head. ``OUTSIDE`` stand outside the commit: they are append-only
or small queues, and must outlive a request that fails (DESIGN §5).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from unabridged.errors import InputError
from unabridged.memory.records import (
    Artifact,
    Edge,
    Entity,
    Image,
    Inference,
    Link,
    Model,
    Pending,
    Point,
    QueryRecord,
    RequestRecord,
    Series,
    Session,
    Snapshot,
)
from unabridged.memory.values import metadata_json, metadata_tags, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "INDEXES",
    "OUTSIDE",
    "SCHEMA_VERSION",
    "TABLES",
    "VECTOR_TABLES",
    "Index",
    "arrow_schema",
    "columns_of",
    "from_table",
    "to_table",
    "vector_column",
    "vector_field",
]

SCHEMA_VERSION = 1

TABLES: Mapping[str, type] = {
    "artifacts": Artifact,
    "entities": Entity,
    "edges": Edge,
    "links": Link,
    "sessions": Session,
    "series": Series,
    "images": Image,
}
OUTSIDE: Mapping[str, type] = {
    "points": Point,
    "models": Model,
    "inferences": Inference,
    "pending": Pending,
    "requests": RequestRecord,
    "queries": QueryRecord,
    "snapshots": Snapshot,
}
VECTOR_TABLES = ("artifacts", "entities", "edges", "images")

R = TypeVar("R")

_MOMENT = pa.timestamp("us", tz="UTC")
_TYPES: Mapping[str, pa.DataType] = {
    "str": pa.string(),
    "Role": pa.string(),
    "LinkType": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "dt.datetime": _MOMENT,
    "tuple[str, ...]": pa.list_(pa.string()),
    "Mapping[str, Any]": pa.string(),
}
_JSON = {"metadata", "provenance", "detail", "versions", "settings"}
_EXTRA: Mapping[str, tuple[str, ...]] = {  # computed columns, for filters alone
    "artifacts": ("tags",),
    "entities": ("names", "tags"),
    "edges": ("tags",),
    "sessions": ("tags",),
    "series": ("tags",),
    "images": ("tags",),
}


@dataclass(frozen=True, slots=True)
class Index:
    """An index that a table may have: ``kind`` is btree, bitmap, labels, text or vector."""

    column: str
    kind: str

    @property
    def name(self) -> str:
        """Its name in the store."""
        return f"{self.column}_idx"


def _indexes(**kinds: str) -> tuple[Index, ...]:
    return tuple(Index(column, kind) for kind, columns in kinds.items() for column in columns.split())


INDEXES: Mapping[str, tuple[Index, ...]] = {
    "artifacts": _indexes(
        btree="id parent_id document_id session_id source created_at",
        bitmap="kind role",
        labels="tags",
        text="text lexical",
        vector="vector",
    ),
    "entities": _indexes(btree="id type created_at", labels="names tags", text="name", vector="vector"),
    "edges": _indexes(
        btree="id key source_id target_id artifact_id created_at", labels="tags", text="fact", vector="vector"
    ),
    "links": _indexes(btree="from_id to_id via_id", bitmap="type"),
    "sessions": _indexes(btree="id"),
    "series": _indexes(btree="id name"),
    "images": _indexes(btree="id sha256 artifact_id", vector="vector"),
    "points": _indexes(btree="series_id time"),
    "inferences": _indexes(btree="id artifact_id session_id"),
    "pending": _indexes(btree="id document_id", bitmap="status"),
    "requests": _indexes(btree="id"),
    "queries": _indexes(btree="id session_id"),
    "models": (),
    "snapshots": (),
}


@cache
def arrow_schema(table: str) -> pa.Schema:
    """The columns of a table, its vector column apart (that one comes with the first vector)."""
    record = TABLES.get(table) or OUTSIDE[table]
    columns = [pa.field(f.name, _TYPES[str(f.type).removesuffix(" | None")]) for f in fields(record)]
    extra = [pa.field(name, pa.list_(pa.string())) for name in _EXTRA.get(table, ())]
    return pa.schema([*columns, *extra])


def columns_of(table: str) -> list[str]:
    """The columns that a record is read from: neither its vector nor what exists for filters alone."""
    return [f.name for f in fields(TABLES.get(table) or OUTSIDE[table])]


def vector_field(width: int, kind: str) -> pa.Field:
    """The vector column of a table."""
    return pa.field("vector", pa.list_(pa.float16() if kind == "float16" else pa.float32(), width))


def vector_column(vectors: Sequence[Any], width: int, kind: str) -> pa.FixedSizeListArray:
    """Vectors (or ``None``) as one column; nulls are stored dense, so a column exists only once one is."""
    import numpy as np

    if vectors and all(vector is not None for vector in vectors):
        whole = np.ascontiguousarray(np.stack(vectors), dtype=kind)
        return pa.FixedSizeListArray.from_arrays(pa.array(whole.reshape(-1)), width)
    dense = np.zeros((len(vectors), width), dtype=kind)
    missing = np.zeros(len(vectors), dtype=bool)
    for at, vector in enumerate(vectors):
        if vector is None:
            missing[at] = True
        else:
            dense[at] = vector
    return pa.FixedSizeListArray.from_arrays(pa.array(dense.reshape(-1)), width, mask=pa.array(missing))


def to_table(table: str, records: Sequence[Any]) -> pa.Table:
    """Records as rows, without their vectors."""
    schema = arrow_schema(table)
    names = columns_of(table)
    columns = dict(zip(names, zip(*map(attrgetter(*names), records), strict=True), strict=True)) if records else {}
    return pa.table([_column(field, columns, records) for field in schema], schema=schema)


def _column(field: pa.Field, columns: Mapping[str, Sequence[Any]], records: Sequence[Any]) -> pa.Array:
    values: Iterable[Any] = columns.get(field.name, ())
    if field.name in _TAGS:
        values = map(_TAGS[field.name], records)
    elif field.name in _JSON:
        values = map(metadata_json, values)
    try:
        return pa.array(list(values), field.type)
    except UnicodeEncodeError as error:
        raise InputError(f"{field.name}: a lone surrogate at character {error.start}; it is not text") from None


def _names(entity: Entity) -> list[str]:
    return list(dict.fromkeys(normalise(name) for name in (entity.name, *entity.aliases)))


_TAGS = {"tags": lambda record: metadata_tags(record.metadata), "names": _names}


def from_table(table: str, rows: pa.Table) -> list[Any]:
    """Rows as records; columns that the record does not have are ignored."""
    record = TABLES.get(table) or OUTSIDE[table]
    wanted = [name for name in columns_of(table) if name in rows.column_names]
    columns = [_values(name, rows[name]) for name in wanted]
    return [record(**dict(zip(wanted, row, strict=True))) for row in zip(*columns, strict=True)]


def _values(name: str, column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    if name in _JSON:
        return [json.loads(v) if v else {} for v in values]
    return [tuple(v or ()) for v in values] if name == "aliases" else values
