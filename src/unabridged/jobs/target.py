"""Where a job's rows end: a file of any format, here or in an object store; a column of the source; a memory."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from unabridged.errors import ConfigError
from unabridged.jobs.places import is_remote
from unabridged.jobs.publish import rebatched, unified, widened
from unabridged.jobs.readback import read_back, without
from unabridged.jobs.settings import SinkSettings
from unabridged.jobs.sink import check_target, ids_file, open_sink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from unabridged.jobs.journal import Journal
    from unabridged.jobs.publish import Feed
    from unabridged.jobs.settings import JobSettings

__all__ = ["FileTarget", "Target", "held", "open_target", "rows_of", "write_file"]

FORMATS = ("parquet", "npy", "jsonl", "lance", "column", "memory")


class Target(Protocol):
    """Takes everything that is finished, at once."""

    def check(self, *, ours: bool) -> None:
        """Raise if it cannot be written, before anything is paid for; ``ours``: what is there, this job wrote."""
        ...

    def holds(self, part: str) -> bool:
        """Whether the rows of a part that the journal calls published are still in it."""
        ...

    def keep(self, folder: Path) -> None:
        """Keep what is there in a folder for as long as it is replaced, so that this may be interrupted."""
        ...

    def publish(self, feed: Feed, kept: Path) -> str:
        """Write it all, whole or not at all; where it is. ``kept`` is the folder of :meth:`keep`, if it was asked."""
        ...


def open_target(settings: JobSettings, journal: Journal) -> Target:
    """The target that settings mean."""
    kind = settings.sink.format
    if kind is not None and kind not in FORMATS:
        raise ConfigError("sink.format", f"found {kind!r}, expected one of {', '.join(FORMATS)}")
    if kind == "column":
        from unabridged.jobs.column import ColumnTarget

        return ColumnTarget(settings, journal)
    _refuse_foreign(settings)
    if not settings.sink.target:
        raise ConfigError("sink.target", "found none, expected a file (.parquet, .npy, .jsonl, .lance), or a format")
    if kind == "memory":
        from unabridged.jobs.memory import MemoryTarget

        return MemoryTarget(settings)
    if is_remote(settings.sink.target):
        from unabridged.jobs.target_remote import RemoteTarget

        return RemoteTarget(settings)
    return FileTarget(settings)


def _refuse_foreign(settings: JobSettings) -> None:
    """Raise for a setting that says nothing to this target: who gives one expects something of it."""
    sink = settings.sink
    if sink.column != SinkSettings().column:
        raise ConfigError(
            "sink.column", "names the column that the format 'column' adds to the source; here none is added"
        )
    ending = Path(sink.target).suffix.lower().removeprefix(".")
    if sink.format is not None and sink.format not in (ending, "memory"):
        raise ConfigError("sink.format", f"found {sink.format!r}, but the ending of {sink.target} says otherwise")


class FileTarget:
    """A local file; its ending says in which format."""

    def __init__(self, settings: JobSettings) -> None:
        self._sink = settings.sink
        self._path = Path(settings.sink.target)

    def check(self, *, ours: bool) -> None:
        """The folder is there, and nothing of somebody else's is in the way."""
        check_target(self._path, force=self._sink.force or ours)

    def holds(self, part: str) -> bool:
        """All of them, if it is there at all."""
        return self._path.exists()

    def keep(self, folder: Path) -> None:
        """Links to what is there: a replaced file lives on under them."""
        for path in (self._path, ids_file(self._path)):
            if path.is_dir():
                shutil.copytree(path, folder / path.name, copy_function=_link)
            elif path.exists():
                _link(str(path), str(folder / path.name))

    def publish(self, feed: Feed, kept: Path) -> str:
        """Through a hidden name beside it."""
        old = kept / self._path.name
        write_file(self._path, feed, (lambda: read_back(old, feed.width)) if feed.grows else None)
        return str(self._path.absolute())


def held(target: Target, part: str, journal: Journal, kept: Path) -> bool:
    """Whether what the journal calls published of a part is in the output, or kept while the output is replaced."""
    return (bool(journal.get("kept")) and kept.is_dir() and any(kept.iterdir())) or target.holds(part)


def write_file(path: Path, feed: Feed, old: Callable[[], Iterator[pa.Table]] | None) -> None:
    """A file of everything finished: what ``old`` has and is still true, then what is new."""
    with open_sink(path, fingerprint=feed.fingerprint, width=feed.width, force=True) as sink:
        for table in rebatched(rows_of(feed, old), feed.width):
            sink.write(table)


def rows_of(feed: Feed, old: Callable[[], Iterator[pa.Table]] | None) -> Iterator[pa.Table]:
    """Every row of an output: those of ``old`` that are not dead, then those of the feed, with one schema."""
    if old is None:
        yield from feed.tables()
        return
    first = [*itertools.islice(without(old(), feed.dead), 1), *itertools.islice(feed.tables(), 1)]
    if not first:  # nothing is left of what was there
        yield from (table.slice(0, 0).replace_schema_metadata(None) for table in itertools.islice(old(), 1))
        return
    schema = unified([table.schema for table in first])
    for table in itertools.chain(without(old(), feed.dead), feed.tables()):
        yield widened(table, schema)


def _link(old: str, new: str) -> None:
    """A second name for a file; a copy where the disk knows none, or it is another disk."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)
