"""What lies in an object store beside the tables: files by their path, through the very store that holds those."""

from __future__ import annotations

import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import NotFound, StoreError
from unabridged.memory.trouble import Gone, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.memory.dataset import Lake

__all__ = ["Objects", "local_files"]


def local_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder; folders that go meanwhile are passed over."""
    for inside, _, names in os.walk(folder):
        yield from (Path(inside, name) for name in names)


class Objects:
    """The files under one address of a place."""

    def __init__(self, lake: Lake, address: str) -> None:
        self._lake = lake
        self._address = address

    @cached_property
    def _session(self) -> Any:
        if not self._lake.fine:
            raise StoreError(f"files cannot be kept in a place of {self._lake.uri.partition('://')[0]}://")
        with told("opening the store"):
            return self._lake.files(self._address)

    @told("writing a file")
    def write(self, path: str, raw: bytes) -> None:
        """One object: whole or not at all."""
        with tempfile.TemporaryDirectory(prefix="unabridged-") as folder:
            file = Path(folder) / "file"
            file.write_bytes(raw)
            self._session.upload_file(str(file), path)

    def read(self, path: str) -> bytes:
        """Its bytes; :class:`~unabridged.errors.NotFound` if it is gone."""
        try:
            with told("reading a file"), tempfile.TemporaryDirectory(prefix="unabridged-") as folder:
                file = Path(folder) / "file"
                self._session.download_file(path, str(file))
                return file.read_bytes()
        except Gone:
            raise NotFound("a file is gone from the dataset's files") from None

    @told("looking for a file")
    def has(self, path: str) -> bool:
        """Whether it is there."""
        return bool(self._session.contains(path))

    def remove(self, path: str) -> None:
        """Remove it; it need not be there."""
        try:
            with told("removing a file"):
                self._session.delete_file(path)
        except Gone:
            return

    @told("listing files")
    def paths(self, under: str | None = None) -> list[str]:
        """The paths of all files, or of those under a folder."""
        return list(self._session.list(under))

    @told("listing files")
    def folders(self) -> list[str]:
        """The names of the folders right under the address."""
        return [each.rstrip("/") for each in self._session.list_with_delimiter(None).common_prefixes]

    def read_all(self, beginning: str) -> Iterator[bytes]:
        """The bytes of every file in the folders whose names have this beginning."""
        for folder in self.folders():
            if folder.startswith(beginning):
                yield from map(self.read, self.paths(folder))

    def remove_all(self) -> None:
        """Remove every file."""
        for path in self.paths():
            self.remove(path)
