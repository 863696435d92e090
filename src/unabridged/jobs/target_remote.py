"""An output in an object store: made whole in the job's folder, then sent, so that it is there whole or not at all."""

from __future__ import annotations

import itertools
import secrets
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa

from unabridged.errors import ConfigError
from unabridged.jobs.lance import exists, open_table, tables_of, write_table
from unabridged.jobs.places import place_of
from unabridged.jobs.publish import rebatched
from unabridged.jobs.readback import read_back
from unabridged.jobs.sink import FORMATS, ids_file
from unabridged.jobs.target import rows_of, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.jobs.places import Place
    from unabridged.jobs.publish import Feed
    from unabridged.jobs.settings import JobSettings

__all__ = ["RemoteTarget"]

_PIECE = 8 << 20
_VERSION = "version"


class RemoteTarget:
    """A file at a URI; a Lance table is written in its place, in one commit."""

    def __init__(self, settings: JobSettings) -> None:
        self._sink = settings.sink
        self._folder = settings.place / "output"
        self._ending = "." + settings.sink.target.rstrip("/").rpartition(".")[2].lower()
        self._is_lance = self._ending == ".lance"

    def check(self, *, ours: bool) -> None:
        """A known ending, and nothing of somebody else's in the way."""
        if self._ending not in FORMATS:
            raise ConfigError("sink.target", f"found {self._ending!r}, expected one of {', '.join(FORMATS)}")
        if self._sink.force or ours:
            return
        if self.holds(""):
            raise ConfigError(self._sink.target, "exists", advice="replace")

    def holds(self, part: str) -> bool:
        """All of them, if it is there at all."""
        return exists(self._sink.target, self._sink.storage) if self._is_lance else self._place().exists

    def keep(self, folder: Path) -> None:
        """A copy of what is there, for as long as it is replaced; of a Lance table the number of its version."""
        if self._is_lance:
            (folder / _VERSION).write_text(str(open_table(self._sink.target, self._sink.storage).version))
            return
        for place, local in self._files(folder):
            if place.exists:
                _download(place, local)

    def publish(self, feed: Feed, kept: Path) -> str:
        """Make it here, send it, remove it here."""
        if self._is_lance:
            self._lance(feed, kept)
            return self._sink.target
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        try:
            made, old = self._folder / f"out{self._ending}", kept / f"out{self._ending}"
            write_file(made, feed, (lambda: read_back(old, feed.width)) if feed.grows else None)
            for place, local in reversed(self._files(self._folder)):  # the ids first, as on a disk
                _upload(local, place)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        return self._sink.target

    def _lance(self, feed: Feed, kept: Path) -> None:
        old = None
        if feed.grows:
            version = int((kept / _VERSION).read_text())
            table = open_table(self._sink.target, self._sink.storage, version=version)
            old = lambda: tables_of(table)  # noqa: E731
        rows = rebatched(rows_of(feed, old), feed.width)
        first = next(rows, None)
        if first is None:
            return
        made = (batch for each in itertools.chain([first], rows) for batch in each.cast(first.schema).to_batches())
        reader = pa.RecordBatchReader.from_batches(first.schema, made)
        write_table(self._sink.target, reader, feed.fingerprint, self._sink.storage)

    def _place(self) -> Place:
        return place_of(self._sink.target, self._sink.storage)

    def _files(self, folder: Path) -> list[tuple[Place, Path]]:
        local = folder / f"out{self._ending}"
        files = [(self._place(), local)]
        if self._ending == ".npy":
            stem = self._sink.target.removesuffix(".npy")
            files.append((place_of(f"{stem}.ids.jsonl", self._sink.storage), ids_file(local)))
        return files


def _upload(local: Path, place: Place) -> None:
    """Under another name first: what is at the place is whole at every moment."""
    hidden = f"{place.path}.{secrets.token_hex(4)}.part"
    try:
        with local.open("rb") as source, place.system.open_output_stream(hidden) as out:
            shutil.copyfileobj(source, out, _PIECE)
        place.system.move(hidden, place.path)
    except BaseException:
        if place.system.get_file_info(hidden).is_file:
            place.system.delete_file(hidden)
        raise


def _download(place: Place, local: Path) -> None:
    with place.open() as source, local.open("wb") as out:
        shutil.copyfileobj(source, out, _PIECE)
