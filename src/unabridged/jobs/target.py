"""Where a job's rows end: a file of any format, here or in an object store; a column of the source; a memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from unabridged.errors import ConfigError
from unabridged.jobs.places import is_remote
from unabridged.jobs.publish import rebatched
from unabridged.jobs.sink import check_target, open_sink

if TYPE_CHECKING:
    from unabridged.jobs.publish import Feed
    from unabridged.jobs.settings import JobSettings

__all__ = ["FileTarget", "Target", "open_target"]

FORMATS = ("parquet", "npy", "jsonl", "lance", "column", "memory")


class Target(Protocol):
    """Takes everything that is finished, at once."""

    def check(self, *, ours: bool) -> None:
        """Raise if it cannot be written, before anything is paid for; ``ours``: what is there, this job wrote."""
        ...

    def publish(self, feed: Feed) -> str:
        """Write it all, whole or not at all; where it is."""
        ...


def open_target(settings: JobSettings) -> Target:
    """The target that settings mean."""
    kind = settings.sink.format
    if kind is not None and kind not in FORMATS:
        raise ConfigError("sink.format", f"found {kind!r}, expected one of {', '.join(FORMATS)}")
    if kind == "column":
        from unabridged.jobs.column import ColumnTarget

        return ColumnTarget(settings)
    if kind == "memory":
        from unabridged.jobs.memory import MemoryTarget

        return MemoryTarget(settings)
    if not settings.sink.target:
        raise ConfigError("sink.target", "found none, expected a file (.parquet, .npy, .jsonl, .lance), or a format")
    if is_remote(settings.sink.target):
        from unabridged.jobs.target_remote import RemoteTarget

        return RemoteTarget(settings)
    return FileTarget(settings)


class FileTarget:
    """A local file; its ending says in which format."""

    def __init__(self, settings: JobSettings) -> None:
        self._sink = settings.sink
        self._path = Path(settings.sink.target)

    def check(self, *, ours: bool) -> None:
        """The folder is there, and nothing of somebody else's is in the way."""
        check_target(self._path, force=self._sink.force or ours)

    def publish(self, feed: Feed) -> str:
        """Through a hidden name beside it."""
        with open_sink(self._path, fingerprint=feed.fingerprint, width=feed.width, force=True) as sink:
            for table in rebatched(feed.tables(), feed.width):
                sink.write(table)
        return str(self._path.absolute())
