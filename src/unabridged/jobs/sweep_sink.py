"""A job's output whose vectors are of another model: embedded anew, as a job, and put in its place when it is whole.

The texts come from the output itself where it keeps them, else from the source that they came from. The new
output is written beside the old one and takes its name at the end, so whoever reads is served all the time; the
work is a job with a journal of its own, so it goes on where it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError
from unabridged.jobs.job import run_job
from unabridged.jobs.rows import OWN
from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings
from unabridged.jobs.sink import FINGERPRINT, ids_file

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from unabridged.jobs.settings import Opener
    from unabridged.jobs.state import JobProgress, JobReport

__all__ = ["StaleSink", "find_stale_sink", "sweep_sink"]


@dataclass(frozen=True, slots=True)
class StaleSink:
    """What an output holds. ``stale`` rows are of another fingerprint than the one wanted ("" is none).

    ``columns`` are those that are not the job's own; ``chunked``: it has rows for chunks; ``column``: the vectors
    are a column that was added to somebody's table.
    """

    rows: int
    stale: int
    fingerprints: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    chunked: bool = False
    column: str | None = None

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return self.stale > 0


def find_stale_sink(path: str | Path, opener: Opener, *, column: str = "vector") -> StaleSink:
    """How much of an output (``.parquet``, ``.lance``, ``.jsonl``, ``.npy``) is stale against an embedder."""
    target = Path(path)
    if not target.exists():
        raise ConfigError(str(target), "there is no such output")
    names, counts, added = _read(target, column)
    embedder = opener(cache=False)
    try:
        wanted = embedder.fingerprint("document")
    finally:
        embedder.close()
    own = {*OWN, "fingerprint"} if added is None else {column}
    return StaleSink(
        rows=sum(counts.values()),
        stale=sum(count for name, count in counts.items() if name != wanted),
        fingerprints=dict(counts),
        columns=tuple(name for name in names if name not in own),
        chunked="chunk" in names and added is None,
        column=added,
    )


def sweep_sink(
    path: str | Path,
    opener: Opener,
    *,
    text: str = "text",
    source: SourceSettings | None = None,
    column: str = "vector",
    folder: str | None = None,
    progress: Callable[[JobProgress], None] | None = None,
    cancel: threading.Event | None = None,
    **options: Any,
) -> JobReport | None:
    """Embed an output anew whose vectors are of another model; ``None`` where nothing is stale.

    ``text`` names the column that keeps the texts, ``source`` is where they are where none does. ``options`` are
    further ones of :class:`~unabridged.jobs.settings.JobSettings`. Raises as
    :func:`~unabridged.jobs.job.run_job` does, and :class:`~unabridged.errors.ConfigError` where no text is.
    """
    found = find_stale_sink(path, opener, column=column)
    if not found:
        return None
    if found.column is not None:
        sink = SinkSettings("", format="column", column=column, force=True)
        given = SourceSettings((str(path),), text=text)
    else:
        sink = SinkSettings(str(path), chunk_vectors=found.chunked, force=True)
        given = source or _itself(Path(path), found, text)
    settings = JobSettings(given, sink, opener, name=_name(path, opener), folder=folder, in_place=True, **options)
    return run_job(settings, progress=progress, cancel=cancel)


def _itself(path: Path, found: StaleSink, text: str) -> SourceSettings:
    """The output as its own source."""
    if found.chunked or text not in found.columns or path.suffix.lower() == ".npy":
        why = "has a row for each chunk" if found.chunked else f"has no column {text!r}"
        raise ConfigError(str(path), f"{why}: say where the texts are (source), or what the column is called (text)")
    return SourceSettings((str(path),), text=text, id="id", keep=found.columns)


def _name(path: str | Path, opener: Opener) -> str:
    """One job for an output and a model, which finds itself again."""
    embedder = opener(cache=False)
    try:
        named = f"{Path(path).absolute()}\0{embedder.fingerprint('document')}"
    finally:
        embedder.close()
    return f"sweep-{Path(path).name.split('.')[0]}-{hashlib.sha256(named.encode()).hexdigest()[:8]}"


def _read(path: Path, column: str) -> tuple[list[str], Counter[str], str | None]:
    """Names of columns, rows by fingerprint, and the column that was added to a table, if that is what it is."""
    kind = path.suffix.lower()
    if kind in {".jsonl", ".npy"}:
        return _lines(path if kind == ".jsonl" else ids_file(path))
    schema, rows = _table(path)
    whole = (schema.metadata or {}).get(FINGERPRINT.encode())
    if whole is not None and "id" in schema.names:
        return schema.names, Counter({whole.decode(): rows}), None
    if column not in schema.names:
        raise ConfigError(str(path), f"is no output of a job, and has no column {column!r}")
    own = (schema.field(column).metadata or {}).get(FINGERPRINT.encode(), whole or b"")
    return schema.names, Counter({own.decode(): rows}), column


def _table(path: Path) -> tuple[pa.Schema, int]:
    if path.suffix.lower() == ".lance":
        from unabridged.jobs.lance import open_table

        table = open_table(str(path))
        return table.schema, int(table.count_rows())
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return file.schema_arrow, int(file.metadata.num_rows)
    raise ConfigError(str(path), "is no output that a job writes: .parquet, .lance, .jsonl or .npy")


def _lines(path: Path) -> tuple[list[str], Counter[str], None]:
    names: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for row in _rows(path):
        names.update(dict.fromkeys(row))
        counts[str(row.get("fingerprint", ""))] += 1
    return list(names), counts, None


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)
