"""The first half of a request: read every chunk's graph and summary, before anything is stored (SPEC A12, A13).

All chunks at the same time, as many calls in flight as the asker takes, with the result of one after the
other: what one call is told does not depend on another's answer. A failure ends the request with nothing
stored but the account of the calls.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.advice import cause
from unabridged.errors import UnabridgedError
from unabridged.memory.extraction.read import UNKNOWN_TYPE
from unabridged.memory.plain import plain
from unabridged.memory.values import entity_id, moment, normalise

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from unabridged.memory.remember.plan import Unit
    from unabridged.memory.remember.run import Run

__all__ = ["Draft", "Found", "Stated", "Summed", "drafted", "offline"]

_KEEP_EVERY = 2.0  # seconds between two writes of the journal while calls come back
_LISTEN = 0.1  # seconds: how soon a request that waits for calls notices that it was cancelled


@dataclass(frozen=True, slots=True)
class Found:
    """An entity that a text speaks of; ``start`` and ``end`` are bytes of it."""

    name: str
    type: str
    aliases: tuple[str, ...] = ()
    description: str | None = None
    start: int | None = None
    end: int | None = None

    @property
    def id(self) -> str:
        """Its identity in the dataset (SPEC A7)."""
        return entity_id(self.name, self.type)


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact that a text states; ``source`` and ``target`` are places in the entities."""

    source: int
    relation: str
    target: int
    fact: str = field(repr=False)
    valid_at: dt.datetime | None = None
    invalid_at: dt.datetime | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Summed:
    """A chunk's summary, and the inference that wrote it."""

    text: str = field(repr=False)
    model: str | None = None
    reasoning: str = "none"
    inference_id: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What was read of one unit."""

    entities: tuple[Found, ...] = ()
    edges: tuple[Stated, ...] = ()
    summary: Summed | None = None

    def to_dict(self) -> dict[str, Any]:
        """As the journal keeps it."""
        made: dict[str, Any] = plain(self)
        return made

    @classmethod
    def of_dict(cls, kept: Mapping[str, Any]) -> Draft:
        """From the journal."""
        entities = tuple(Found(**{**e, "aliases": tuple(e["aliases"])}) for e in kept["entities"])
        times = ("valid_at", "invalid_at")
        edges = tuple(Stated(**{**e, **{name: moment(e[name], name) for name in times}}) for e in kept["edges"])
        return cls(entities, edges, Summed(**kept["summary"]) if kept["summary"] else None)


def _draft(extraction: Any) -> Draft:
    """What an extraction found, with what cannot be stored left out: a fact that ends before it begins."""
    entities = tuple(
        Found(e.name, e.type, tuple(e.aliases or ()), e.description, e.start, e.end) for e in extraction.entities
    )
    edges = [
        Stated(
            e.source,
            e.relation,
            e.target,
            e.fact or _sentence(e, entities),
            _utc(e.valid_at),
            _utc(e.invalid_at),
            e.start,
            e.end,
        )
        for e in extraction.edges
    ]
    return Draft(entities, tuple(map(_forward, edges)))


def _utc(value: Any) -> dt.datetime | None:
    return moment(value, "time")


def _sentence(edge: Any, entities: Sequence[Found]) -> str:
    return f"{entities[edge.source].name} {edge.relation} {entities[edge.target].name}"


def _forward(edge: Stated) -> Stated:
    backwards = edge.valid_at is not None and edge.invalid_at is not None and edge.invalid_at < edge.valid_at
    return replace(edge, invalid_at=None) if backwards else edge


def drafted(
    run: Run,
    units: Sequence[Unit],
    kept: dict[int, Draft],
    keep: Callable[[], None] = lambda: None,
    *,
    failed: Callable[[Unit, BaseException], None] | None = None,
) -> dict[int, Draft]:
    """Extract and summarise every unit that ``kept`` lacks; ``keep`` is called now and then, as it fills.

    Raises what the first unit in order to fail raised, once what was in flight is back; or goes on with the
    others where ``failed`` is told instead.
    """
    if run.asker is None or not units:
        return kept
    reading = _Reading(run, [unit for unit in units if unit.at not in kept], kept, alone=failed is not None)
    reading.run(keep)
    run.check()  # a call that was called off failed for no reason of its own
    for at, error in sorted(reading.failed.items()):
        if failed is None:
            raise reading.first()
        failed(next(unit for unit in units if unit.at == at), error)
    _retype(kept)
    return kept


def _retype(drafts: dict[int, Draft]) -> None:
    """Give what only its facts name the type that another chunk knows it by: one thing, not two."""
    types: dict[str, str] = {}
    for at in sorted(drafts):
        for entity in drafts[at].entities:
            if entity.type != UNKNOWN_TYPE:
                types.setdefault(normalise(entity.name), entity.type)
    for at, draft in drafts.items():
        entities = tuple(
            replace(e, type=types.get(normalise(e.name), e.type)) if e.type == UNKNOWN_TYPE else e
            for e in draft.entities
        )
        if entities != draft.entities:
            drafts[at] = replace(draft, entities=entities)


class _Reading:
    def __init__(self, run: Run, units: Sequence[Unit], kept: dict[int, Draft], *, alone: bool) -> None:
        self.alone = alone  # whether a failure is its unit's alone
        self.run_ = run
        self.units = units
        self.kept = kept
        self.halves: dict[int, dict[str, Any]] = {unit.at: {} for unit in units}
        self.failed: dict[int, BaseException] = {}
        self.done = {"extract": 0, "summarize": 0}

    def run(self, keep: Callable[[], None]) -> None:
        asker = self.run_.asker
        pool = ThreadPoolExecutor(max_workers=max(1, asker.concurrency), thread_name_prefix="unabridged-read")
        try:
            waiting = dict(self._submitted(pool))
            written = time.monotonic()
            while waiting:
                self._check(waiting)
                done, _ = wait(waiting, timeout=_LISTEN, return_when=FIRST_COMPLETED)
                for future in done:
                    self._landed(waiting.pop(future), future, waiting)
                if done and time.monotonic() - written > _KEEP_EVERY:
                    self._written(keep)
                    written = time.monotonic()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            self._written(keep)

    def first(self) -> BaseException:
        """What the first unit in order to fail raised."""
        at = min(self.failed)
        error = self.failed[at]
        label = next(unit.label for unit in self.units if unit.at == at)
        error.add_note(f"remember: nothing was stored; the call failed{label or ' for the text'}")
        return error

    def _check(self, waiting: Mapping[Future[Any], int]) -> None:
        try:
            self.run_.check()
        except UnabridgedError:
            for future in waiting:
                future.cancel()
            raise

    def _written(self, keep: Callable[[], None]) -> None:
        self.run_.account.flush()
        keep()

    def _submitted(self, pool: ThreadPoolExecutor) -> Iterable[tuple[Future[Any], int]]:
        for unit in self.units:
            yield pool.submit(self._extract, unit), unit.at
            if self._sums(unit):
                yield pool.submit(self._summarize, unit), unit.at

    def _sums(self, unit: Unit) -> bool:
        return unit.summary_id is not None and self.run_.plan.request.summarize

    def _landed(self, at: int, future: Future[Any], waiting: dict[Future[Any], int]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            step, value = future.result()
            self.halves[at][step] = value
            self.done[step] += 1
            total = len(self.units) if step == "extract" else sum(map(self._sums, self.units))
            self.run_.tell(step, self.done[step], total, at if self.run_.plan.chunked else None)
            self._join(at)
            return
        self.failed.setdefault(at, error)
        for other in list(waiting):
            if not self.alone and other.cancel():
                del waiting[other]

    def _join(self, at: int) -> None:
        unit = next(unit for unit in self.units if unit.at == at)
        halves = self.halves[at]
        if "extract" in halves and ("summarize" in halves or not self._sums(unit)):
            self.kept[at] = replace(halves["extract"], summary=halves.get("summarize"))

    # -- in threads ---------------------------------------------------------------------------------

    def _extract(self, unit: Unit) -> tuple[str, Draft]:
        from unabridged.memory.extraction.extraction import extract

        run, since = self.run_, time.monotonic()
        request = run.plan.request
        try:
            found = extract(
                unit.text,
                run.asker,
                reference_time=run.plan.reference,
                known=unit.known,
                model=request.models.get("extract_graph"),
                reasoning=request.reasoning.get("extract_graph"),
                cancel=run.cancel,
            )
        except UnabridgedError as error:
            run.account.add(error.calls, unit.id)
            raise
        run.account.add(found.calls, unit.id)
        for said in found.notes:
            run.note(f"{said}{unit.label}")
        counts = {"entities": len(found.entities), "edges": len(found.edges)}
        run.step("extract_graph", unit.label, unit=unit.at, since=since, **counts)
        return "extract", _draft(found)

    def _summarize(self, unit: Unit) -> tuple[str, Summed | None]:
        from unabridged.memory.extraction.extraction import summarize

        run, since = self.run_, time.monotonic()
        request = run.plan.request
        stage = "summarize_chunk"
        try:
            found = summarize(
                unit.text,
                run.asker,
                model=request.models.get(stage),
                reasoning=request.reasoning.get(stage),
                cancel=run.cancel,
            )
        except UnabridgedError as error:
            run.account.add(error.calls, unit.id)
            if not request.keep_unsummarized:
                raise
            run.note(f"no summary{unit.label}: {cause(error)}")
            return "summarize", None
        inference = run.account.add(found.calls, unit.id)
        last = found.calls[-1] if found.calls else None
        made = Summed(found.text, last.model if last else None, last.reasoning if last else "none", inference)
        run.step(stage, unit.label, unit=unit.at, since=since, model=made.model, reasoning=made.reasoning)
        return "summarize", made


def offline(run: Run, units: Sequence[Unit]) -> dict[int, Draft]:
    """Without a model: what the text itself declares, read by rule, each fact in the unit where it stands."""
    from unabridged.memory.extraction.declared import declared

    found = _draft(declared(run.plan.request.text))
    run.note("no chat model: facts that the text declares were read; other entities, facts and summaries were not")
    return {unit.at: _within(found, unit) for unit in units}


def _within(whole: Draft, unit: Unit) -> Draft:
    """Of what a whole text declares, that which stands in one unit and not in the one before."""
    if unit.chunk is None:
        return whole
    first = unit.chunk.start_byte
    facts = [edge for edge in whole.edges if edge.start is not None and first <= edge.start < unit.chunk.end_byte]
    facts = [edge for edge in facts if edge.end is None or edge.end <= unit.chunk.end_byte]
    alone = [
        e for e in whole.entities if e.start is not None and first <= e.start and (e.end or 0) <= unit.chunk.end_byte
    ]
    used = [whole.entities[at] for edge in facts for at in (edge.source, edge.target)]
    places = {id(entity): at for at, entity in enumerate({id(e): e for e in (*used, *alone)}.values())}
    return Draft(
        tuple(_moved(e, first, unit.chunk.end_byte) for e in {id(e): e for e in (*used, *alone)}.values()),
        tuple(
            replace(
                edge,
                source=places[id(whole.entities[edge.source])],
                target=places[id(whole.entities[edge.target])],
                start=None if edge.start is None else edge.start - first,
                end=None if edge.start is None or edge.end is None else edge.end - first,
            )
            for edge in facts
        ),
    )


def _moved(entity: Found, first: int, last: int) -> Found:
    inside = entity.start is not None and entity.end is not None and first <= entity.start and entity.end <= last
    if not inside:
        return replace(entity, start=None, end=None)
    assert entity.start is not None and entity.end is not None  # noqa: PT018, S101 - looked at above
    return replace(entity, start=entity.start - first, end=entity.end - first)
