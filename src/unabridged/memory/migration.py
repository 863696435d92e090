"""Older datasets, brought forward: tables and columns that a newer schema has are added, nothing is lost.

A dataset that is newer than this library is refused. Migration is one commit, so a reader sees the old
schema or the new one, and a killed migration is begun again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import StoreError
from unabridged.memory.pieces import APPEND_ROWS
from unabridged.memory.schema import (
    INDEXES,
    OUTSIDE,
    SCHEMA_VERSION,
    TABLES,
    VECTOR_TABLES,
    arrow_schema,
    columns_of,
    from_table,
    to_table,
    vector_field,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.memory.commits import Store, Writing
    from unabridged.memory.dataset import Handle

__all__ = ["migrate"]


def migrate(store: Store) -> bool:
    """Bring a dataset to this library's schema; whether there was anything to do."""
    found = int(store.view().settings.get("schema", 0))
    if found > SCHEMA_VERSION:
        raise StoreError(f"the dataset has schema {found}, newer than {SCHEMA_VERSION}: upgrade unabridged")
    if found == SCHEMA_VERSION:
        return False
    if store.read_only:
        raise StoreError(f"the dataset has the older schema {found}, and must be written to once", advice="writable")
    _outside(store)
    store.turn(lambda writing: _forward(store, writing))
    return True


def _forward(store: Store, writing: Writing) -> None:
    if int(writing.head.settings.get("schema", 0)) == SCHEMA_VERSION:
        return  # another process was first
    names = store.place.lake.names()
    for table in TABLES:
        full = f"{store.place.id}.{table}"
        if table not in writing.tables:
            store.dirty = True
            writing.tables[table] = store.place.lake.open(full) if full in names else _made(store, full, table)
        _widen(writing.touch(table), table, writing.head.settings)
    writing.move(settings={**writing.head.settings, "schema": SCHEMA_VERSION})


def _made(store: Store, full: str, table: str) -> Handle:
    handle = store.place.lake.create(full, arrow_schema(table))
    for index in INDEXES[table]:
        if index.kind == "text":
            handle.create_index(index, empty=True)
    return handle


def _widen(handle: Handle, table: str, settings: Mapping[str, Any]) -> None:
    """Add the columns that are missing; those that are computed for filters, with their values."""
    have = set(handle.schema.names)
    wanted = list(arrow_schema(table))
    if table in VECTOR_TABLES and settings.get("width"):
        wanted.append(vector_field(settings["width"], settings["vector_type"]))
    missing = [field for field in wanted if field.name not in have]
    if not missing:
        return
    handle.add_columns(missing)
    computed = [field.name for field in missing if field.name not in {*columns_of(table), "vector"}]
    for batch in handle.batches(rows=APPEND_ROWS) if computed else ():
        rows = to_table(table, from_table(table, pa.Table.from_batches([batch])))
        if rows.num_rows:
            handle.merge(rows.select(["id", *computed]))


def _outside(store: Store) -> None:
    names = store.place.lake.names()
    for table in OUTSIDE:
        if f"{store.place.id}.{table}" not in names:
            store.place.lake.create(f"{store.place.id}.{table}", arrow_schema(table))
        else:
            _widen(store.place.open(table, fenced=False), table, {})
