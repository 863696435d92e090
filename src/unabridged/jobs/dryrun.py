"""What a job would do, without doing it: everything runs but the requests, so the counts are those of the real run.

A pretended provider stands behind the real embedder: texts are cut, looked up and packed as they would be, and
answered with nothing. The journal and the caches are read, and not written.
"""

from __future__ import annotations

import threading
import time
import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import UnknownTokens
from unabridged.jobs.answers import SEGMENT_BYTES
from unabridged.jobs.configuration import foreseen
from unabridged.jobs.embed import CHEAP, run_shard
from unabridged.jobs.journal import FILE, Journal
from unabridged.jobs.meter import Meter, Metered
from unabridged.jobs.shards import Gaps, shards
from unabridged.jobs.source import open_source
from unabridged.jobs.target import held, open_target
from unabridged.types import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from unabridged.embedding.cache import Entry, VectorCache
    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard
    from unabridged.jobs.source import Part, Source
    from unabridged.types import Provider, Request

__all__ = ["DryRun", "dry_run"]

_WIDTH = 8  # of vectors that nobody keeps, where the model's own width is not known
_SECONDS_A_REQUEST = 0.5  # a guess for a service that answers a full request
_LOCAL_TOKENS_A_SECOND = 7000.0  # of the embedded model on a core (FINDINGS §5: 56 texts of 128 tokens)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What is left to do: rows, of which some are done before, blank or unreadable; what they need, and cost.

    ``seconds`` is a guess, ``bytes`` the size of the vectors, ``known`` counts rows that the cache answers; ``notes``
    are what is to be said of the source.
    """

    rows: int
    done_before: int
    blank: int
    unreadable: int
    chunked: int
    chunks: int
    tokens: int
    sent_tokens: int
    requests: int
    known: int
    cost: float | None
    seconds: float
    bytes: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def dry_run(settings: JobSettings, *, progress: Callable[[int], None] | None = None) -> DryRun:
    """Count what :func:`~unabridged.jobs.job.run_job` would do now. ``progress`` is told the rows read so far.

    >>> import tempfile, pathlib
    >>> from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.jsonl").write_text('{"text": "one"}\\n{"text": "two"}\\n')
    >>> source, sink = SourceSettings((str(folder / "in.jsonl"),)), SinkSettings(str(folder / "out.parquet"))
    >>> found = dry_run(JobSettings(source, sink, EmbedderSpec("hashing"), folder=str(folder / "jobs")))
    >>> found.rows, found.tokens, found.requests
    (2, 2, 1)
    """
    began = time.monotonic()
    pretended = _Pretended()
    settings = foreseen(settings)
    source = open_source(settings.reading)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownTokens)
        embedder = _opened(settings, pretended)
        try:
            total = _Total()
            for shard in _waiting(settings, source, total):
                result = run_shard(shard, settings, embedder=embedder)
                total.rows += len(shard)
                total.blank += len(result.skipped)
                total.unreadable += sum(row.kind == "unreadable" for row in result.failed)
                total.chunks += result.chunks
                total.chunked += sum(result.pieces[2:])
                total.tokens += result.tokens
                total.known += result.usage.cached
                if progress is not None:
                    progress(total.rows)
            found = _summed(total, pretended, embedder, settings, time.monotonic() - began)
            return replace(found, notes=(*getattr(source, "hints", ()), *getattr(source, "remarks", ())))
        finally:
            embedder.close()


@dataclass(slots=True)
class _Total:
    rows: int = 0
    done_before: int = 0
    blank: int = 0
    unreadable: int = 0
    chunked: int = 0
    chunks: int = 0
    tokens: int = 0
    known: int = 0


def _summed(total: _Total, pretended: _Pretended, embedder: Embedder, settings: JobSettings, planning: float) -> DryRun:
    width = embedder.provider.dimensions if hasattr(embedder.provider, "dimensions") else None
    sent = pretended.tokens
    price = settings.price
    embedded = total.rows - total.blank - total.unreadable
    return DryRun(
        **asdict(total),
        sent_tokens=sent,
        requests=pretended.requests,
        cost=None if price is None else sent * price / 1e6,
        seconds=planning + _waits(embedder, pretended),
        bytes=4 * (width or 1024) * embedded,
    )


def _waits(embedder: Embedder, pretended: _Pretended) -> float:
    provider = embedder.provider
    if provider.name in CHEAP:
        return 0.0
    if provider.host == "process":
        return pretended.tokens / _LOCAL_TOKENS_A_SECOND
    return pretended.requests / embedder.concurrency * _SECONDS_A_REQUEST


def _waiting(settings: JobSettings, source: Source, total: _Total) -> Iterator[Shard]:
    parts = list(source.parts())
    done = _done(settings, parts)
    for part in parts:
        known = done.get(part.key, [])
        total.done_before += sum(after - first for first, after in known)
        yield from shards(source, part, 0, Gaps(known), rows=settings.block_rows, characters=settings.block_characters)


def _done(settings: JobSettings, parts: Iterable[Part]) -> dict[str, list[tuple[int, int]]]:
    """What the journal says is done, of the parts that are as they were, and the output still has."""
    if not (settings.place / FILE).exists():
        return {}
    with Journal(settings.place, read_only=True) as journal:
        target, kept, known = open_target(settings, journal), settings.place / "kept", journal.parts()
        states = [known[part.key] for part in parts if part.key in known and known[part.key].identity == part.identity]
        return {
            each.name: journal.spans(each.number, each.generation, lost=not held(target, each.name, journal, kept))
            for each in states
        }


def _opened(settings: JobSettings, pretended: _Pretended) -> Embedder:
    given: dict[str, Any] = {} if settings.cache == "auto" else {"cache": settings.cache}
    embedder = settings.embedder(on_error="report", empty="skip", **given)
    cache = None if settings.cache == "auto" and embedder.provider.name in CHEAP else embedder.cache
    embedder.through(pretended, _Pretending(cache, settings.place))  # type: ignore[arg-type]
    return embedder


class _Pretending:
    """Answers as the job's own store would: from the cache below, and from what was just asked; it writes nothing.

    What was asked is remembered for as long as the job's answers would be, by their size.
    """

    def __init__(self, cache: VectorCache | None, folder: Path) -> None:
        self.folder = folder if cache is None else cache.folder
        self._cache = cache
        self._fresh: dict[bytes, Entry] = {}
        self._older: dict[bytes, Entry] = {}
        self._size = 0

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Entry]:
        asked = list(keys)
        found = {key: entry for key in asked if (entry := self._fresh.get(key) or self._older.get(key)) is not None}
        if self._cache is not None:
            found |= self._cache.get(key for key in asked if key not in found)
        return found

    def put(self, entries: Mapping[bytes, Entry]) -> None:
        """Remembered, and not written."""
        self._fresh.update(entries)
        self._size += sum(4 * entry.vector.size for entry in entries.values())
        if self._size >= SEGMENT_BYTES:
            self._older, self._fresh, self._size = self._fresh, {}, 0

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()


class _Pretended(Meter):
    """Counts requests, and answers them with a vector that says nothing."""

    def __init__(self) -> None:
        self.requests = self.tokens = 0
        self._mutex = threading.Lock()

    def __call__(self, provider: Provider) -> Provider:
        return _Silent(provider, self)

    def count(self, request: Request) -> None:
        from unabridged.text.tokens import Estimate

        measure = Estimate()
        tokens = sum(measure.count(text) for text in request.texts)
        with self._mutex:
            self.requests += 1
            self.tokens += tokens


class _Silent(Metered):
    """A provider that is not asked."""

    def __init__(self, inner: Provider, pretended: _Pretended) -> None:
        super().__init__(inner, pretended)
        self._pretended = pretended

    def send(self, request: Request) -> Reply:
        self._pretended.count(request)
        width = request.dimensions or getattr(self.inner, "dimensions", None) or _WIDTH
        return Reply(np.full((len(request.texts), width), width**-0.5, np.float32))
