"""Is this the job that was begun: another model, source or sink under the same name is refused, or forked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from unabridged.errors import JobError
from unabridged.jobs.journal import FILE, Journal
from unabridged.jobs.places import is_remote

if TYPE_CHECKING:
    from pathlib import Path

    from unabridged.embedding.plan import Cutting
    from unabridged.jobs.settings import JobSettings

__all__ = ["admit", "begun", "configuration_of", "forked", "opened"]


def configuration_of(settings: JobSettings) -> dict[str, Any]:
    """What must stay the same from run to run; keys, addresses of caches and how fast are not part of it."""
    embedder = settings.embedder(on_error="report", empty="skip", cache=False)
    try:
        provider = embedder.provider
        source, sink = settings.source, settings.sink
        return {
            "model": f"{provider.name}/{provider.model}",
            "host": provider.host,
            "fingerprint": embedder.fingerprint(settings.role),
            "dimensions": embedder.dimensions,
            "cutting": _cutting(embedder.cutting),
            "role": settings.role,
            "source": settings.places(source.paths),
            "source.format": source.format,
            "source.text": source.text,
            "source.id": source.id,
            "source.keep": sorted(source.keep),
            "source.ignore": list(source.ignore),
            "source.hidden": source.hidden,
            "source.encoding": source.encoding,
            "source.dataset": source.dataset,
            "sink": settings.places((sink.target,)) if sink.target else [],
            "sink.format": sink.format,
            "sink.column": sink.column,
            "sink.chunk_vectors": sink.chunk_vectors,
            "sink.dataset": sink.dataset,
        }
    finally:
        embedder.close()


def admit(journal: Journal, settings: JobSettings) -> bool:
    """Note the configuration of a new job, or compare it with that of a known one; whether to fork."""
    now, before = configuration_of(settings), journal.get("configuration")
    changed = [] if before is None else [key for key in now if now[key] != before.get(key)]
    if changed and journal.untouched:  # a run that embedded nothing binds nobody
        journal.forget()
        before, changed = None, []
    if not changed:
        if before is None:
            journal.set("configuration", now)
        journal.set("price", settings.price)
        if settings.origin:
            journal.set("origin", dict(settings.origin))
        return False
    if settings.on_change == "fork":
        return True
    said = "; ".join(
        _told(key, before.get(key), now[key]) for key in changed if key != "fingerprint" or len(changed) == 1
    )
    raise JobError(
        f"{settings.id}: was begun otherwise ({said}). Put that back to go on, "
        "or begin another job: --on-change fork, or another --name"
    )


def begun(place: Path) -> bool:
    """Whether a job has come as far as its first run."""
    if not (place / FILE).exists():
        return False
    with Journal(place, read_only=True) as journal:
        return bool(journal.runs())


def opened(settings: JobSettings) -> tuple[JobSettings, Journal]:
    """The journal, if it is of this job; of a fork, if that is what another configuration means."""
    journal = Journal(settings.place)
    try:
        fork = admit(journal, settings)
    except BaseException:
        journal.close()
        raise
    if not fork:
        return settings, journal
    journal.close()
    other = forked(settings)
    journal = Journal(other.place)
    admit(journal, other)
    return other, journal


def _cutting(plan: Cutting | None) -> str:
    return "none" if plan is None else f"{plan.max_size}/{plan.overlap}/{plan.minimum} {plan.unit}"


def _told(key: str, before: Any, now: Any) -> str:
    if key == "fingerprint":
        return "the model's settings, cutting or pooling have changed"
    return f"{key} was {before!r}, is {now!r}"


def forked(settings: JobSettings) -> JobSettings:
    """The same job under the next free name, with an output of its own."""
    base, place = settings.id, settings.place.parent
    number = 2
    while (place / f"{base}-{number}" / FILE).exists() and not _same(settings, f"{base}-{number}", number):
        number += 1
    return _numbered(settings, f"{base}-{number}", number)


def _same(settings: JobSettings, name: str, number: int) -> bool:
    other = _numbered(settings, name, number)
    with Journal(other.place, read_only=True) as journal:
        return bool(journal.get("configuration") == configuration_of(other))


def _numbered(settings: JobSettings, name: str, number: int) -> JobSettings:
    sink = settings.sink
    if sink.format == "column":
        sink = replace(sink, column=f"{sink.column}_{number}")
    elif sink.format != "memory":
        sink = replace(sink, target=_beside(sink.target, number))
    return replace(settings, name=name, sink=sink)


def _beside(target: str, number: int) -> str:
    """The target under a name of its own.

    >>> _beside("s3://bucket/out.parquet", 2)
    's3://bucket/out-2.parquet'
    """
    head, slash, name = target.rpartition("/")
    path = PurePosixPath(name)
    return f"{head}{slash}{path.stem}-{number}{path.suffix}" if is_remote(target) or name else target
