"""Embedding a shard: texts -> finished rows, and what failed with its true cause."""

from __future__ import annotations

import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.advice import said
from unabridged.errors import EmptyText, ProviderError
from unabridged.jobs.answers import Answers
from unabridged.jobs.meter import Meter
from unabridged.jobs.rows import finished
from unabridged.jobs.shard import FailedRow, ShardResult
from unabridged.providers.retry import may_retry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unabridged.embedding.embedder import Embedder
    from unabridged.embedding.results import EmbedResult, TextResult
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard

__all__ = ["CHEAP", "HALTED", "KEY_BYTES", "embedder_for", "keys_of", "open_embedder", "run_shard"]

KEY_BYTES = 16
# Models that are asked faster than a disk (hashing 15 µs a text, a static model 100; the cache 54 to write): to
# ask one again costs less than to keep its answers.
CHEAP = frozenset({"hashing", "model2vec"})
# Refusals that the next text would meet as well: there is no use in going on.
_HOPELESS = frozenset({"auth", "quota", "model_not_found", "invalid_dimensions", "wrong_shape", "output_budget"})
_BINS = 40  # powers of two of tokens or chunks

_here: dict[tuple[Any, ...], Embedder] = {}
_lock = threading.Lock()
HALTED = threading.Event()  # in a worker: nothing more may be sent


def run_shard(
    shard: Shard,
    settings: JobSettings,
    *,
    embedder: Embedder | None = None,
    landed: Callable[[int], None] | None = None,
) -> ShardResult:
    """Embed a shard, with this process's own embedder unless one is given. Picklable in and out.

    ``landed`` is told after each answer how many rows have their vectors. What is wrong with one text stands in
    ``failed``; what the next text would meet as well in ``stop``. A full disk raises :class:`OSError`.
    """
    embedder = embedder_for(settings) if embedder is None else embedder
    texts = shard.table["text"].to_pylist()
    given = [at for at, text in enumerate(texts) if text is not None]
    result = embedder.embed_detailed(
        [texts[at] for at in given],
        role=settings.role,
        chunk_vectors=settings.sink.chunk_vectors,
        progress=None if landed is None else lambda progress: landed(progress.texts_done),
    )
    stop = next((t.error for t in result.failed if _hopeless(t.error)), None)
    if stop is not None:
        return ShardResult(shard.part, shard.first, len(shard), usage=result.usage, stop=stop, end=shard.after)
    return _gathered(shard, settings, embedder, texts, given, result)


def _gathered(
    shard: Shard,
    settings: JobSettings,
    embedder: Embedder,
    texts: list[str],
    given: list[int],
    result: EmbedResult,
) -> ShardResult:
    ids = shard.table["id"].to_pylist()
    done = [(at, text) for at, text in zip(given, result, strict=True) if text.vector is not None]
    blank = [at for at, text in zip(given, result, strict=True) if text.status == "skipped"]
    made = [text for _, text in done]
    return ShardResult(
        shard.part,
        shard.first,
        len(shard),
        table=finished(shard, done, chunk_vectors=settings.sink.chunk_vectors, text_as=settings.text_as)
        if done
        else None,
        done=len(done),
        keys=keys_of([ids[at] for at, _ in done], [texts[at] for at, _ in done]),
        failed=_failures(shard, ids, given, result),
        skipped=tuple(shard.row(at) for at in blank),
        usage=result.usage,
        tokens=sum(text.tokens for text in made),
        chunks=sum(text.chunk_count for text in made),
        warned=sum(bool(text.warnings) for text in made),
        warning=next((_said(text.warnings[0]) for text in made if text.warnings), None),
        lengths=_bins([text.tokens for text in made]),
        pieces=_bins([text.chunk_count for text in made]),
        fingerprint=embedder.fingerprint(settings.role),
        width=result.width,
        end=shard.after,
    )


def keys_of(ids: Sequence[str], texts: Sequence[str]) -> bytes:
    """What tells a row from any other, and from itself with another text: 16 bytes each.

    >>> len(keys_of(["a", "b"], ["x", "x"])), keys_of(["a"], ["x"])[8:] == keys_of(["b"], ["x"])[8:]
    (32, True)
    """
    return b"".join(
        blake2b(part.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES // 2).digest()
        for pair in zip(ids, texts, strict=True)
        for part in pair
    )


def _failures(shard: Shard, ids: list[str], given: list[int], result: EmbedResult) -> tuple[FailedRow, ...]:
    unread = [FailedRow(shard.row(at), ids[at], "unreadable", reason) for at, reason in shard.errors]
    refused = [
        _failed(shard.row(at), ids[at], text) for at, text in zip(given, result, strict=True) if text.status == "failed"
    ]
    return tuple(sorted([*unread, *refused], key=lambda row: row.row))


def _failed(row: int, named: str, text: TextResult) -> FailedRow:
    error = text.error
    assert error is not None  # noqa: S101 a failed text has one
    if isinstance(error, ProviderError):
        fault = error.fault
        passing = may_retry(fault) or fault.kind == "bad_reply"
        return FailedRow(row, named, fault.kind, said(error), passing)
    return FailedRow(row, named, "empty" if isinstance(error, EmptyText) else type(error).__name__, said(error))


def _said(warning: str) -> str:
    """A warning without the number that the text had in its call."""
    head, colon, rest = warning.partition(": ")
    return rest if colon and head.startswith("text ") else warning


def _hopeless(error: Exception | None) -> bool:
    return isinstance(error, ProviderError) and error.fault.kind in _HOPELESS


def _bins(numbers: list[int]) -> tuple[int, ...]:
    """How many numbers lie in each power of two: 0, 1, 2 to 3, 4 to 7, and so on."""
    if not numbers:
        return ()
    powers = np.frexp(np.array(numbers, np.float64))[1]
    return tuple(int(n) for n in np.bincount(np.minimum(powers, _BINS)))


def open_embedder(settings: JobSettings, meter: Meter, answers: Answers | None = None) -> Embedder:
    """The job's embedder: its answers kept as they come, its requests metered, one bad text hurting only itself."""
    embedder = settings.embedder(**_overrides(settings))
    cheap = embedder.provider.name in CHEAP
    below = embedder.cache
    if settings.cache == "auto" and cheap and below is not None:
        below.close()
        below = None
    if answers is not None and not cheap:
        answers.below = below
        below = answers  # type: ignore[assignment]
    embedder.through(meter, below)
    return embedder


def _overrides(settings: JobSettings) -> dict[str, Any]:
    given: dict[str, Any] = {"on_error": "report", "empty": "skip"}
    if settings.cache != "auto":
        given["cache"] = settings.cache
    return given


def embedder_for(settings: JobSettings) -> Embedder:
    """This process's embedder for a job, opened once; in a worker it shares the job's folder, if that is here."""
    place = settings.place
    key = (str(place), settings.role, settings.max_requests, settings.max_cost)
    with _lock:
        if key not in _here:
            place.mkdir(parents=True, exist_ok=True)
            meter = Meter(
                place / "requests.log",
                max_requests=settings.max_requests,
                max_cost=settings.max_cost,
                price=settings.price,
                cancel=HALTED,
            )
            _here[key] = open_embedder(settings, meter, Answers(place / "answers"))
        return _here[key]
