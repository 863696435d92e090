"""The datasets of a place: found, made, listed and dropped by name.

A name is data: the tables are named by a random id, and a row of the catalog says whose they are. A
dataset exists when its row does, so making one ends with the row and dropping one starts with it; tables
without a row are the debris of a killed process and are swept under the catalog's lock.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import InputError, NotFound, StoreError
from unabridged.memory.commits import Place
from unabridged.memory.dataset import Handle, Lake
from unabridged.memory.head import HEAD_SCHEMA, Head, head_row
from unabridged.memory.lease import LEASE_SCHEMA, LeaseLock, LeaseReaders
from unabridged.memory.lock import FileLock, FileReaders, Lock, Readers, ThreadLock, held
from unabridged.memory.objects import Objects
from unabridged.memory.schema import INDEXES, OUTSIDE, SCHEMA_VERSION, TABLES, arrow_schema
from unabridged.memory.trouble import Gone, told
from unabridged.memory.values import checked_name, new_id, now
from unabridged.memory.where import equals

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Mapping

__all__ = ["Catalog", "DatasetInfo", "files_of", "local_path", "missing", "named_place", "untouched"]

CATALOG = "unabridged_datasets"
LEASES = "unabridged_leases"
FOLDER = "_unabridged"  # beside the tables of a local place: locks, readers, images
_SCHEMA = pa.schema(
    [pa.field("id", pa.string()), pa.field("name", pa.string()), pa.field("created_at", pa.timestamp("us", tz="UTC"))]
)
_OURS = re.compile(r"([0-9a-f]{32})\.\w+")


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A dataset of a place."""

    id: str
    name: str
    created_at: dt.datetime


def named_place(uri: object) -> str:
    """The place as a string. Raises for what names none: a forgotten variable is not a folder called "None".

    >>> named_place(None)
    Traceback (most recent call last):
    unabridged.errors.InputError: uri: found NoneType, expected a folder, memory:// or an address such as s3://bucket/x
    """
    if isinstance(uri, str | os.PathLike) and str(uri).strip():
        return str(uri)
    found = "an empty string" if isinstance(uri, str) else type(uri).__name__
    raise InputError(f"uri: found {found}, expected a folder, memory:// or an address such as s3://bucket/x")


def missing(name: str) -> NotFound:
    """The error for a dataset that is not there."""
    return NotFound(f"no dataset {name[:64]!r} is in this place", advice="list_datasets")


def untouched(uri: str) -> bool:
    """Whether a place is a local folder that is not there: opening it would make it, and looking must not."""
    path = local_path(uri)
    return path is not None and not path.exists()


def local_path(uri: str) -> Path | None:
    """The absolute folder that a URI means, or ``None`` where it is not a local one.

    Windows drive letters are paths, and a bare name is a folder, never a cloud database.

    >>> local_path("s3://bucket/x") is None
    True
    >>> local_path("file:///tmp/x").as_posix()
    '/tmp/x'
    """
    scheme, mark, rest = uri.partition("://")
    if mark and len(scheme) > 1:
        return Path(rest).absolute() if scheme == "file" else None
    return Path(uri).expanduser().absolute()


class Catalog:
    """A place, by its URI: a local folder, ``memory://``, or whatever LanceDB opens.

    ``lock`` is ``"file"`` (the default of a local folder) or ``"lease"`` (the default elsewhere).
    """

    def __init__(self, uri: str, *, storage_options: Mapping[str, str] | None = None, lock: str = "auto") -> None:
        if lock not in {"auto", "file", "lease"}:
            raise StoreError(f"lock: found {lock!r}, expected 'auto', 'file' or 'lease'")
        path = local_path(uri)
        if path is not None and path.exists() and not path.is_dir():
            raise InputError("the memory's place: found a file, expected a folder")
        self.path = path
        self.folder = path / FOLDER if path else None
        if lock == "file" and path is None:
            raise StoreError("lock: 'file' is for local folders; use 'lease' or 'auto' here")
        self.lake = Lake(str(path) if path else uri, storage_options=storage_options)
        self.leases = lock == "lease" or (path is None and not uri.startswith("memory://"))
        self._threads = ThreadLock()

    def find(self, name: str) -> DatasetInfo | None:
        """The dataset of that name, if there is one."""
        return next(iter(self._rows(equals("name", checked_name(name, "dataset")))), None)

    def _rows(self, where: str | None = None) -> list[DatasetInfo]:
        if CATALOG not in self.lake.names():
            return []
        try:
            rows = self.lake.open(CATALOG, fenced=False).read(where)
        except Gone:  # a drop cleaned up between the two calls
            rows = self.lake.open(CATALOG, fenced=False).read(where)
        return [DatasetInfo(**row) for row in rows.to_pylist()]

    def create(self, name: str, settings: Mapping[str, Any]) -> DatasetInfo:
        """Make a dataset, or find the one that somebody else made meanwhile."""
        checked_name(name, "dataset")
        if self.folder:
            with told("making the memory's folder"):
                self.folder.mkdir(parents=True, exist_ok=True)
        with held(self._lock("catalog")):
            self._sweep()
            return self.find(name) or self._make(name, settings)

    def _make(self, name: str, settings: Mapping[str, Any]) -> DatasetInfo:
        info = DatasetInfo(new_id(), name, now())
        versions = {table: self._table(info.id, table) for table in TABLES}
        for table in OUTSIDE:
            self._table(info.id, table)
        if self.leases:
            self._lease(f"{info.id}.leases")
        head = Head(seq=0, versions=versions, at=time.time(), settings={**settings, "schema": SCHEMA_VERSION})
        self.lake.create(f"{info.id}.head", HEAD_SCHEMA).append(head_row(head))
        if self.folder:
            for part in ("readers", "files"):
                (self.folder / info.id / part).mkdir(parents=True, exist_ok=True)
        row = {"id": info.id, "name": info.name, "created_at": info.created_at}
        self._catalog().append(pa.Table.from_pylist([row], schema=_SCHEMA))
        return info

    def _table(self, dataset: str, table: str) -> int:
        """An empty table whose text is read by the right tokenizer from its first row on."""
        handle = self.lake.create(f"{dataset}.{table}", arrow_schema(table))
        for index in INDEXES[table]:
            if index.kind == "text":
                handle.create_index(index, empty=True)
        return handle.version

    def _lease(self, table: str) -> None:
        row = {"id": "writer", "owner": "", "epoch": 0, "until": 0.0, "versions": "{}"}
        rows = [{**row, "id": name} for name in ("writer", "upkeep", "build")]
        self.lake.create(table, LEASE_SCHEMA).append(pa.Table.from_pylist(rows, schema=LEASE_SCHEMA))

    def _catalog(self) -> Handle:
        if CATALOG not in self.lake.names():
            self.lake.create(CATALOG, _SCHEMA)
        return self.lake.open(CATALOG, fenced=False)

    def drop(self, name: str) -> None:
        """Remove a dataset with its vectors and files (SPEC A28)."""
        info = self.find(name)
        if info is None:
            raise missing(name)
        self.discard(info)

    def discard(self, info: DatasetInfo) -> None:
        """The same, of the one that was found: never another one that has its name by now."""
        with held(self._lock("catalog")):
            self._catalog().delete(equals("id", info.id))
            self._sweep()
            self._forget()

    def _sweep(self) -> None:
        """Remove what belongs to no dataset in the catalog; nobody else makes one while the lock is held."""
        known = {info.id for info in self._rows()}
        owners = {table: found.group(1) for table in self.lake.names() if (found := _OURS.fullmatch(table))}
        strays = {table: owner for table, owner in owners.items() if owner not in known}
        if self.lake.fine and not self.folder:
            for owner in set(strays.values()):
                Objects(self.lake, files_of(self.lake, owner)).remove_all()
        for table in strays:
            self.lake.drop(table)
        if self.folder and self.folder.is_dir():
            for folder in self.folder.iterdir():
                if folder.is_dir() and folder.name not in known:
                    shutil.rmtree(folder, ignore_errors=True)

    def _forget(self) -> None:
        """Take the names of dropped datasets out of the catalog's own files."""
        if self.lake.fine:
            catalog = self._catalog()
            if stale := {fragment.id for fragment in catalog.fragments() if fragment.deleted}:
                catalog.compact(stale)
            catalog.clean_older(0.0, unverified=True)

    # -- locks --------------------------------------------------------------------------------------

    def _lock(self, name: str) -> Lock:
        if self.leases:
            if LEASES not in self.lake.names():
                with contextlib.suppress(StoreError):  # somebody else may make it first
                    self._lease(LEASES)
            return LeaseLock(lambda: self.lake.open(LEASES, fenced=False))
        return FileLock(self.folder / f"{name}.lock") if self.folder else self._threads

    def place(self, info: DatasetInfo) -> Place:
        """A dataset's tables, its locks, and the readers that are registered."""
        writer, upkeep, build = (self._guard(info, name) for name in ("writer", "upkeep", "build"))
        loose = ("head", *OUTSIDE, *(["leases"] if self.leases else []))
        outside = None if self.leases else self._guard(info, "outside")
        return Place(self.lake, info.id, info.name, writer, upkeep, build, self._readers(info), outside, loose)

    def _guard(self, info: DatasetInfo, name: str) -> Lock:
        if self.leases:
            return LeaseLock(self._leases(info), name)
        return FileLock(self.folder / info.id / f"{name}.lock") if self.folder else ThreadLock()

    def _leases(self, info: DatasetInfo) -> Callable[[], Handle]:
        return lambda: self.lake.open(f"{info.id}.leases", fenced=False)

    def _readers(self, info: DatasetInfo) -> Readers:
        if self.leases:
            return LeaseReaders(self._leases(info))
        return FileReaders(self.folder / info.id / "readers") if self.folder else _HereReaders()

    def files(self, info: DatasetInfo) -> Path | None:
        """The folder of a local dataset's files."""
        return self.folder / info.id / "files" if self.folder else None

    def list(self) -> list[DatasetInfo]:
        """All datasets, by name."""
        return sorted(self._rows(), key=lambda info: info.name)


def files_of(lake: Lake, dataset: str) -> str:
    """The address of a dataset's files in an object store."""
    return f"{lake.uri.rstrip('/')}/{dataset}.files"


class _HereReaders:
    """The readers of a store inside this process."""

    def __init__(self) -> None:
        self._standing: dict[str, Mapping[str, int]] = {}
        self._mutex = threading.Lock()

    def register(self, versions: Mapping[str, int]) -> str:
        token = new_id()
        with self._mutex:
            self._standing[token] = versions
        return token

    def leave(self, token: str) -> None:
        with self._mutex:
            self._standing.pop(token, None)

    def standing(self) -> list[Mapping[str, int]]:
        with self._mutex:
            return list(self._standing.values())
