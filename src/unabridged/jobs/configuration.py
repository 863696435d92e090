"""Is this the job that was begun: another model, source or sink under the same name is refused, or forked."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from unabridged.errors import JobError
from unabridged.jobs.journal import FILE, Journal
from unabridged.jobs.places import is_remote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from unabridged.embedding.plan import Cutting
    from unabridged.jobs.settings import JobSettings

__all__ = ["admit", "begun", "configuration_of", "foreseen", "forked", "opened"]


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


def admit(journal: Journal, settings: JobSettings) -> str | None:
    """Note the configuration of a new job, or compare it with that of a known one: what has changed, if it binds."""
    now = configuration_of(settings)
    before = _binding(journal, settings.place)
    said = None if before is None else _changes(before, now)
    if said is not None:
        return said
    if before is None:
        if journal.get("configuration") is not None:
            journal.forget()
        journal.set("configuration", now)
    journal.set("price", settings.price)
    if settings.origin:
        journal.set("origin", dict(settings.origin))
    return None


def begun(place: Path) -> bool:
    """Whether a job has come as far as its first run."""
    if not (place / FILE).exists():
        return False
    with Journal(place, read_only=True) as journal:
        return bool(journal.runs())


def opened(settings: JobSettings) -> tuple[JobSettings, Journal, tuple[str, ...]]:
    """The journal, if it is of this job; of a fork, if that is what another configuration means: then it is told."""
    journal = Journal(settings.place)
    try:
        changed = admit(journal, settings)
        other = None if changed is None else _other(settings, changed)
    except BaseException:
        journal.close()
        raise
    if other is None:
        return settings, journal, ()
    journal.close()
    journal = Journal(other.place)
    admit(journal, other)
    return other, journal, (f"{settings.id} was begun otherwise ({changed}): this is {_named(other)}",)


def foreseen(settings: JobSettings) -> JobSettings:
    """The job that a run would open, which may be a fork. Raises as the run would; nothing is written."""
    if not (settings.place / FILE).exists():
        return settings
    with Journal(settings.place, read_only=True) as journal:
        before = _binding(journal, settings.place)
    changed = None if before is None else _changes(before, configuration_of(settings))
    return settings if changed is None else _other(settings, changed)


def _other(settings: JobSettings, changed: str) -> JobSettings:
    """The fork, or a refusal that says what it would be."""
    fork = forked(settings)
    if settings.on_change == "fork":
        return fork
    raise JobError(
        f"{settings.id}: was begun otherwise ({changed}). Put that back to go on, "
        f"or begin another job: --on-change fork ({_named(fork)}), or another --name"
    )


def _named(job: JobSettings) -> str:
    into = f"the column {job.sink.column}" if job.sink.format == "column" else job.sink.target
    return f"{job.id}, into {into}"


def _binding(journal: Journal, place: Path) -> dict[str, Any] | None:
    """The configuration that holds the name: a run that embedded nothing, and paid for nothing, binds nobody."""
    paid = any(path.stat().st_size for path in (place / "answers").glob("*.answers"))
    return None if journal.untouched and not paid else journal.get("configuration")


def _changes(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    changed = [key for key in now if now[key] != before.get(key)]
    told = [key for key in changed if key != "fingerprint"] or changed
    return "; ".join(_told(key, before.get(key), now[key]) for key in told) or None


def _cutting(plan: Cutting | None) -> str:
    return "none" if plan is None else f"{plan.max_size}/{plan.overlap}/{plan.minimum} {plan.unit}"


def _told(key: str, before: Any, now: Any) -> str:
    if key == "fingerprint":
        return "the model's settings, cutting or pooling have changed"
    return f"{key} was {before!r}, is {now!r}"


def forked(settings: JobSettings) -> JobSettings:
    """The same job under the next free name: it writes where it is told to, unless a job of these names does so."""
    taken: list[dict[str, Any]] = []
    names = (f"{settings.id}-{number}" if number > 1 else settings.id for number in itertools.count(1))
    for number, name in enumerate(names, 1):
        other = _numbered(settings, name, number, taken)
        before = None
        if (other.place / FILE).exists():
            with Journal(other.place, read_only=True) as journal:
                before = _binding(journal, other.place)
        if number > 1 and (before is None or before == configuration_of(other)):
            return other
        taken += [] if before is None else [before]
    raise AssertionError


def _numbered(settings: JobSettings, name: str, number: int, taken: Sequence[Mapping[str, Any]]) -> JobSettings:
    sink = settings.sink
    mine = settings.places((sink.target,)) if sink.target else []
    if sink.format == "column" and any(each["sink.column"] == sink.column for each in taken):
        sink = replace(sink, column=f"{sink.column}_{number}")
    elif sink.format not in {"column", "memory"} and any(each["sink"] == mine for each in taken):
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
