"""Finished rows on disk until the sink takes them: an Arrow file a block, whole or not there."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pyarrow as pa

from unabridged.jobs.disk import on_disk, synced

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Staging"]

_BATCH = 4096


class Staging:
    """A folder of blocks. A file that the journal does not name is debris of a killed process.

    >>> import pathlib, tempfile
    >>> staging = Staging(pathlib.Path(tempfile.mkdtemp()))
    >>> name = staging.write(pa.table({"id": ["a"]}), part=0, first=0)
    >>> staging.read(name).num_rows, staging.sweep([]), staging.sweep([])
    (1, 1, 0)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, table: pa.Table, *, part: int, first: int) -> str:
        """Stage a block, through to the disk; its file's name."""
        name = f"{part:06}-{first:012}-{secrets.token_hex(4)}.arrow"
        hidden, target = self.folder / f".{name}.part", self.folder / name
        try:
            with on_disk(target):
                with pa.OSFile(str(hidden), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table, max_chunksize=_BATCH)
                synced(hidden)
                hidden.replace(target)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise
        return name

    def read(self, name: str) -> pa.Table:
        """A block, mapped rather than read."""
        with pa.memory_map(str(self.folder / name)) as file:
            return pa.ipc.open_file(file).read_all()

    def schema(self, name: str) -> pa.Schema:
        """The columns of a block."""
        with pa.memory_map(str(self.folder / name)) as file:
            return pa.ipc.open_file(file).schema

    def remove(self, names: Iterable[str]) -> None:
        """Blocks that are not needed any more."""
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def sweep(self, known: Iterable[str]) -> int:
        """Remove every file that the journal does not name; how many there were."""
        keep = set(known)
        debris = [path for path in self.folder.iterdir() if path.name not in keep]
        for path in debris:
            path.unlink(missing_ok=True)
        return len(debris)

    @property
    def bytes(self) -> int:
        """How large all blocks are."""
        return sum(path.stat().st_size for path in self.folder.iterdir())
