"""An export as one file, and back: a tar of the folder that the memory writes, checked by its manifest."""

from __future__ import annotations

import re
import tarfile
from typing import IO, TYPE_CHECKING, BinaryIO

from unabridged.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MEDIA_TYPE", "packed", "unpack"]

MEDIA_TYPE = "application/x-tar"
_PIECE = 1 << 20
# What an export holds: its manifest, a file a table, images by their digests. Nothing else is written to disk.
_EXPECTED = re.compile(r"manifest\.json|[a-z_]{1,40}\.(?:jsonl|parquet)|files/[0-9a-f]{64}")


def packed(folder: Path) -> Iterator[bytes]:
    """The folder as a tar, a piece at a time: never more of it in memory than that."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        about = tarfile.TarInfo(path.relative_to(folder).as_posix())
        about.size, about.mode = path.stat().st_size, 0o600
        yield about.tobuf(tarfile.PAX_FORMAT)
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece
        yield b"\0" * (-about.size % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)


def unpack(archive: BinaryIO, folder: Path, limit: int) -> None:
    """Write what an export holds to ``folder``; :class:`~unabridged.errors.InputError` for anything else.

    ``limit`` is the most bytes that all files together may have.
    """
    left = limit
    try:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            for member in tar:
                if member.isdir():
                    continue
                name = member.name.removeprefix("./")
                if not member.isfile() or not _EXPECTED.fullmatch(name):
                    raise InputError("import: the archive holds what no export has; send one that export gave")
                left -= member.size
                if left < 0:
                    raise InputError(f"import: the archive's files have more than {limit:,} bytes")
                _write(tar.extractfile(member), folder / name)
    except tarfile.TarError:
        raise InputError("import: not a tar archive, or a damaged one") from None


def _write(source: IO[bytes] | None, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while source is not None and (piece := source.read(_PIECE)):
            out.write(piece)
