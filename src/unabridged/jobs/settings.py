"""What a job is: where its texts come from, what makes the vectors, where they go. Plain data that travels.

A :class:`JobSettings` can be pickled, so that a shard may run in another process or on another machine; no
key is part of it unless the caller's own opener carries one.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.embedding.embedder import Embedder
    from unabridged.types import Role

__all__ = [
    "EmbedderSpec",
    "JobSettings",
    "Opener",
    "SinkSettings",
    "SourceSettings",
    "default_jobs_folder",
]

# A block is what is read, embedded, staged and noted together: enough for many full requests, little enough
# to hold several of (4,096 vectors of 1,536 are 25 MB; 4 M characters about 1 M tokens).
_BLOCK_ROWS = 4096
_BLOCK_CHARACTERS = 4_000_000
_DATASET = "default"


class Opener(Protocol):
    """Makes an embedder; ``overrides`` are options of :class:`~unabridged.embedding.embedder.Embedder` that win."""

    def __call__(self, **overrides: Any) -> Embedder:
        """Open one, in whichever process asks."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderSpec:
    """An embedder by name and options; ``None`` is the embedded default.

    >>> EmbedderSpec("hashing", {"dimensions": 8})(cache=False).embed("a text").shape
    (8,)
    """

    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, **overrides: Any) -> Embedder:
        """Open it."""
        from unabridged.embedding.embedder import Embedder

        return Embedder(self.model, **{**self.options, **overrides})


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Where texts come from.

    ``paths`` are files, folders, patterns, URIs (``s3://…``), or ``-`` for standard input; ``format`` is told
    from their endings: ``parquet``, ``arrow``, ``jsonl``, ``csv``, ``lance``, ``files`` (each file one text),
    ``memory`` (``paths`` is its place), ``huggingface`` (a folder that ``datasets`` saved). ``text`` and ``id`` name
    columns, ``keep`` those that are carried into the output (``*``: all). Without ``id``, a row's id is its
    place in its file. ``storage`` are options of the file system. ``leave_out`` are files that no folder and no
    pattern means: what the job itself writes.
    """

    paths: tuple[str, ...]
    format: str | None = None
    text: str = "text"
    id: str | None = None
    keep: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    hidden: bool = False
    encoding: str | None = None
    dataset: str = _DATASET
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    leave_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Where vectors go.

    ``target`` is a file by its ending (``.parquet``, ``.npy``, ``.jsonl``, ``.lance``), local or a URI; with
    ``format="memory"`` a memory's place; with ``format="column"`` nothing: the vectors become the column
    ``column`` of the source's own tables (Lance, Parquet). ``chunk_vectors`` adds a row for each chunk.
    """

    target: str = ""
    format: str | None = None
    column: str = "vector"
    chunk_vectors: bool = False
    force: bool = False
    dataset: str = _DATASET
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class JobSettings:
    """One job. ``folder`` is where all jobs are kept, ``name`` this one's (default: from source and target).

    ``price`` is in money for a million tokens, ``max_cost`` in the same money; ``max_requests`` counts those of
    every run of the job. ``cache``: ``auto`` is as the embedder's settings say, except for models that are cheaper
    to ask than a disk. ``on_change`` says what another model, source or sink under the same name is: refused, or
    a new job beside it (``fork``). ``patience`` is how many seconds a provider that answers nothing is waited for.
    ``in_place``: the output may be what is read, and takes its place.
    ``origin`` is what a caller wants to find again in the journal (what the job was begun with); no secrets.
    """

    source: SourceSettings
    sink: SinkSettings
    embedder: Opener = field(default_factory=EmbedderSpec)
    role: Role = "document"
    name: str | None = None
    folder: str | None = None
    price: float | None = None
    max_cost: float | None = None
    max_requests: int | None = None
    cache: bool | str = "auto"
    on_change: Literal["refuse", "fork"] = "refuse"
    patience: float = 600.0
    block_rows: int = _BLOCK_ROWS
    block_characters: int = _BLOCK_CHARACTERS
    workers: int | None = None
    in_place: bool = False
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be, by the name of the setting."""
        for name in ("price", "max_cost", "max_requests", "workers"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(name, f"found {value!r}, expected a number above 0")
        for name in ("block_rows", "block_characters"):
            if getattr(self, name) < 1:
                raise ConfigError(name, f"found {getattr(self, name)!r}, expected at least 1")
        datasets = {self.source.dataset, self.sink.dataset} - {_DATASET}
        if datasets and "memory" not in (self.source.format, self.sink.format):
            raise ConfigError("dataset", f"found {min(datasets)!r}, which is of a memory; none is read or written here")
        if self.max_cost is not None and self.price is None:
            raise ConfigError("max_cost", "needs a price: say what a million tokens cost")

    @property
    def id(self) -> str:
        """The job's name: given, or made of what it reads and writes, so that the same job finds itself again."""
        if self.name is not None:
            return self.name
        named = json.dumps([_places(self.source.paths), self.source.format, *self._aim()], sort_keys=True)
        stem = Path(self.sink.target or self.source.paths[0]).name.split(".")[0] or "job"
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in stem)[:40]
        return f"{safe}-{hashlib.sha256(named.encode()).hexdigest()[:8]}"

    @property
    def place(self) -> Path:
        """The job's own folder: journal, staged rows, answers."""
        return Path(self.folder or default_jobs_folder()) / self.id

    @property
    def reading(self) -> SourceSettings:
        """The source, without what this job writes. Raises where that is all that is to be read."""
        target = self.sink.target
        if self.in_place or not target or "://" in target or self.sink.format in {"column", "memory"}:
            return self.source
        written = Path(os.path.realpath(target))
        if any(path != "-" and os.path.realpath(path) == str(written) for path in self.source.paths):
            raise ConfigError("sink.target", f"{target} is what is read; write elsewhere")
        return replace(self.source, leave_out=(str(written), str(written.with_suffix(".ids.jsonl"))))

    @property
    def text_as(self) -> str | None:
        """The column of the output that keeps the text, if it is kept."""
        source = self.source
        kept = "*" in source.keep or source.text in source.keep or self.sink.format == "memory"
        return source.text if kept else None

    @staticmethod
    def places(paths: tuple[str, ...]) -> list[str]:
        """Paths that mean the same wherever the command is run from."""
        return _places(paths)

    def _aim(self) -> list[Any]:
        sink = self.sink
        return [_places((sink.target,)) if sink.target else [], sink.format, sink.column, sink.dataset]


def default_jobs_folder() -> Path:
    """Where jobs are kept unless told otherwise; ``UNABRIDGED_JOBS`` names another folder."""
    from platformdirs import user_data_dir

    named = os.environ.get("UNABRIDGED_JOBS")
    return Path(named) if named else Path(user_data_dir("unabridged")) / "jobs"


def _places(paths: tuple[str, ...]) -> list[str]:
    """Paths that mean the same wherever the command is run from."""
    return [path if path == "-" or "://" in path else os.path.abspath(path) for path in paths]  # noqa: PTH100
