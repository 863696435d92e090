"""A job from beginning to end: open or resume, embed what is not done, try again what may pass, publish, report."""

from __future__ import annotations

import os
import shutil
import threading
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unabridged.errors import JobError, UnknownTokens
from unabridged.jobs.answers import Answers
from unabridged.jobs.configuration import begun, opened
from unabridged.jobs.embed import KEY_BYTES, open_embedder
from unabridged.jobs.flow import Flow, ThreadRunner
from unabridged.jobs.journal import FILE
from unabridged.jobs.known import Carried, Known, merged
from unabridged.jobs.meter import Meter, Spent, Stopped
from unabridged.jobs.progress import JobProgress, Watch, last_sign
from unabridged.jobs.publish import feed_of
from unabridged.jobs.shards import Gaps, chosen, shards
from unabridged.jobs.source import Part, open_source, rows_in_all
from unabridged.jobs.staging import Staging
from unabridged.jobs.state import REQUESTS, JobReport, Lock, cost_of, hopeless
from unabridged.jobs.target import Target, held, open_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.flow import Runner
    from unabridged.jobs.journal import Journal, PartState
    from unabridged.jobs.meter import Observer
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard, ShardResult
    from unabridged.jobs.source import Source

__all__ = ["retry_job", "run_job"]

_PASSES = 3  # times that rows are tried again whose failure may pass by itself
_GONE = "gone"  # the identity of a part that the source has no more


def run_job(
    settings: JobSettings,
    *,
    progress: Callable[[JobProgress], None] | None = None,
    cancel: threading.Event | None = None,
    runner: Callable[[JobSettings, Embedder, Answers], Runner] = ThreadRunner,
    observer: Observer | None = None,
) -> JobReport:
    """Run a job, or go on with it where it ended, however it ended.

    ``progress`` is called from this thread, about ten times a second; ``cancel`` ends the job once what is under way is
    back; ``runner`` says where shards are embedded; ``observer`` is told of each request.

    Raises what stopped the job: a provider's refusal that the next text would meet as well
    (:class:`~unabridged.errors.AuthFailed`, :class:`~unabridged.errors.ModelNotFound`, …), :class:`OSError` for a full
    disk, :class:`~unabridged.errors.JobError` for another configuration under the same name. Nothing that is
    done is lost, nothing is marked as failed for it: run the job again.

    >>> import tempfile, pathlib
    >>> from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.jsonl").write_text('{"text": "one"}\\n{"text": "two"}\\n')
    >>> source, sink = SourceSettings((str(folder / "in.jsonl"),)), SinkSettings(str(folder / "out.parquet"))
    >>> report = run_job(JobSettings(source, sink, EmbedderSpec("hashing"), folder=str(folder / "jobs")))
    >>> report.status, report.counts.done, report.counts.adds_up
    ('done', 2, True)
    """
    return _run(settings, progress, cancel, runner, observer, retry=False)


def retry_job(
    settings: JobSettings,
    *,
    progress: Callable[[JobProgress], None] | None = None,
    cancel: threading.Event | None = None,
    runner: Callable[[JobSettings, Embedder, Answers], Runner] = ThreadRunner,
    observer: Observer | None = None,
) -> JobReport:
    """Try the rows that failed again, and those alone; else as :func:`run_job`."""
    return _run(settings, progress, cancel, runner, observer, retry=True)


def _run(
    settings: JobSettings,
    progress: Callable[[JobProgress], None] | None,
    cancel: threading.Event | None,
    runner: Callable[[JobSettings, Embedder, Answers], Runner],
    observer: Observer | None,
    *,
    retry: bool,
) -> JobReport:
    source = open_source(settings.reading)
    fresh = not (settings.place / FILE).exists()
    lock = Lock(settings.place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownTokens)  # a line each for a million rows helps nobody
            settings, journal, said = opened(settings)
            with journal:
                target = open_target(settings, journal)
                job = _Job(settings, journal, source, target, progress, cancel or threading.Event(), said)
                return job.run(runner, observer, retry=retry)
    except BaseException:
        if fresh and not begun(settings.place):
            shutil.rmtree(settings.place, ignore_errors=True)  # a job that could not begin leaves no trace
        raise
    finally:
        lock.release()


@dataclass(slots=True, eq=False)
class _Job:
    """One run of a job."""

    settings: JobSettings
    journal: Journal
    source: Source
    target: Target
    progress: Callable[[JobProgress], None] | None
    cancel: threading.Event
    said: tuple[str, ...] = ()
    halt: threading.Event = field(default_factory=threading.Event)
    parts: list[Part] = field(default_factory=list)
    states: dict[int, tuple[Part, PartState]] = field(default_factory=dict)
    total: int | None = None
    about: int | None = None
    retrying: bool = False
    running: Runner | None = None
    carried: dict[tuple[int, int], Carried] = field(default_factory=dict)
    before: Spent = field(default_factory=Spent)
    tried: int = 0
    wrote: bool = False
    began: float = field(default_factory=time.monotonic)
    meter: Meter = field(init=False)
    watch: Watch = field(init=False)
    staging: Staging = field(init=False)

    def run(
        self,
        runner: Callable[[JobSettings, Embedder, Answers], Runner],
        observer: Observer | None,
        *,
        retry: bool,
    ) -> JobReport:
        """Embed, publish, report; whatever happens stands in the journal."""
        settings, place = self.settings, self.settings.place
        self.target.check(ours=bool(self.journal.get("publishing")))
        self.enroll()
        if self.journal.untouched:
            self.said = (*self.said, *getattr(self.source, "hints", ()))
        sign = last_sign(place)
        number = self.journal.begin_run(os.getpid(), seen=None if sign is None else sign.at)
        self.watch = Watch(place, self.progress)
        status, reason = "interrupted", None
        self.staging = Staging(place / "staged")
        self.staging.sweep(block.file for block in self.journal.blocks(unpublished=True) if block.file)
        self.meter = Meter(
            place / REQUESTS,
            max_requests=settings.max_requests,
            max_cost=settings.max_cost,
            price=settings.price,
            cancel=self.halt,
            observer=observer,
        )
        self.before = self.meter.spent
        try:
            self.tick(now=True)
            self.embed(runner, retry=retry)
            status, reason = self.ended()
            self.publish()
        except Stopped as stopped:
            reason = self.meter.reached or str(stopped)  # another process may have met the budget
            if self.cancel.is_set() and self.meter.reached is None:
                raise JobError(f"{reason}; {_resume(settings)}") from None
            status = "stopped"
        except Exception as error:
            status, reason = "stopped", str(error) or type(error).__name__
            error.add_note(f"nothing that is done is lost; {_resume(settings)}")
            raise
        finally:
            self.meter.close()
            self.journal.end_run(number, status, reason)
            self.watch.close(done=status in {"done", "failed"})
        return self.report(status, reason)

    def embed(self, runner: Callable[[JobSettings, Embedder, Answers], Runner], *, retry: bool) -> None:
        """Everything that is not done."""
        with Answers(self.settings.place / "answers") as answers:
            embedder = open_embedder(self.settings, self.meter, answers)
            running = self.running = runner(self.settings, embedder, answers)
            try:
                if retry:
                    self.again(running, passing=False)
                else:
                    self.flow(running, self.fresh())
                    self.finish_parts()
                    for at in range(_PASSES):
                        if not self.again(running, passing=True, wait=2.0**at - 1):
                            break
                if not any(self.journal.failures(passing=True, limit=1)):
                    answers.clear()
            finally:
                self.tick(now=True)
                self.running = None
                running.close()
                embedder.close()

    def enroll(self) -> None:
        """Every part, as it is now."""
        self.parts = list(self.source.parts())
        for part in self.parts:
            state = self.journal.part(part.key, part.identity)
            if not self.holds(state.name) and self.journal.lost(state.number):
                state = self.journal.part(part.key, part.identity)
            self.states[state.number] = part, state
        for gone in self.journal.parts().keys() - {part.key for part in self.parts}:
            self.journal.finish_part(self.journal.part(gone, _GONE).number, 0)
        known = [part.rows if part.rows is not None else state.rows for part, state in self.states.values()]
        guessed = [each.about if rows is None else rows for rows, each in zip(known, self.parts, strict=True)]
        self.total, self.about = rows_in_all(known), rows_in_all(guessed)
        self.journal.set("total", self.total)
        self.journal.set("about", self.about)

    def holds(self, part: str) -> bool:
        """Whether the output has what it had of a part."""
        return held(self.target, part, self.journal, self.settings.place / "kept")

    def fresh(self) -> Iterator[Shard]:
        """The shards that are not done, of every part."""
        for part, state in self.states.values():
            gaps = Gaps(self.journal.spans(state.number, state.generation))
            if state.rows is not None and gaps.covers(state.rows):
                continue
            sizes = {"rows": self.settings.block_rows, "characters": self.settings.block_characters}
            cut = shards(self.source, part, state.number, gaps, **sizes)
            yield from cut if not state.generation else self.changed(state, cut)

    def changed(self, state: PartState, cut: Iterator[Shard]) -> Iterator[Shard]:
        """Of a part that was read before, only what is new or has changed is embedded."""
        there = self.holds(state.name)
        known = Known(self.journal, self.staging, state.number, state.generation, published=there)
        for shard in cut:
            fresh, carried = known.split(shard)
            if carried is not None:
                self.carried[shard.part, shard.first] = carried
            yield fresh

    def finish_parts(self) -> None:
        """All have been read to their ends."""
        for _, state in self.states.values():
            spans = self.journal.spans(state.number, state.generation)
            self.journal.finish_part(state.number, max((after for _, after in spans), default=0))

    def again(self, running: Runner, *, passing: bool, wait: float = 0.0) -> bool:
        """Try rows again that failed; whether there were any."""
        wanted = {number: self.journal.failed_rows(number, passing=passing) for number in self.states}
        if not any(wanted.values()):
            return False
        self.cancel.wait(wait)
        self.retrying = True
        try:
            self.flow(
                running,
                (
                    shard
                    for number, rows in wanted.items()
                    for shard in chosen(self.source, self.states[number][0], number, rows, self.settings.block_rows)
                ),
            )
        finally:
            self.retrying = False
        return True

    def flow(self, running: Runner, waiting: Iterator[Shard]) -> None:
        """Send shards through."""
        Flow(
            running,
            note=self.note,
            tick=self.tick,
            halt=self.halt,
            cancel=self.cancel,
            patience=self.settings.patience,
        ).run(waiting)

    def note(self, shard: Shard, result: ShardResult) -> None:
        """A shard is back: stage it, then note it."""
        self.tried += len(shard)
        generation = self.states[shard.part][1].generation
        carried = None if self.retrying else self.carried.pop((shard.part, shard.first), None)
        if carried is not None:
            result = merged(result, carried)
        if result.fingerprint and self.journal.get("fingerprint") is None:
            self.journal.set("fingerprint", result.fingerprint)
        if result.width and self.journal.get("width") is None:
            self.journal.set("width", result.width)
        if result.warning and self.journal.get("warning") is None:
            self.journal.set("warning", result.warning)
        file = None
        if result.table is not None:
            file = self.staging.write(result.table, part=shard.part, first=shard.first)
        if self.retrying:
            self.journal.retried(result, generation, [shard.row(at) for at in range(len(shard))], file=file)
        else:
            same = 0 if carried is None else len(carried.same) // KEY_BYTES
            self.journal.add_block(result, generation, file=file, same=same)

    def publish(self) -> None:
        """All that is staged, into the sink.

        An output that grows is kept beside the journal for as long as it is replaced: however often that is
        interrupted, it is begun again from the same, and no row is in it twice.
        """
        self.tick("writing", now=True)
        feed = feed_of(self.journal, self.staging)
        if feed is None:
            return
        mark = max((block.id for block in feed.blocks), default=0)
        same = not feed.grows and self.journal.get("written") == mark
        if same and all(self.holds(state.name) for _, state in self.states.values()):
            return  # rows that failed are waited for, and nothing has come since
        kept = self.settings.place / "kept"
        if feed.grows and not self.journal.get("kept"):
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir()
            self.target.keep(kept)
            self.journal.set("kept", True, lasting=True)
        self.journal.set("publishing", True, lasting=True)
        self.journal.set("target", self.target.publish(feed, kept))
        self.journal.set("written", mark)
        self.wrote = True
        if feed.grows or not any(self.journal.failures(limit=1)):
            self.journal.mark_published(block.id for block in feed.blocks)
            self.staging.sweep([])
            shutil.rmtree(kept, ignore_errors=True)

    def ended(self) -> tuple[str, str | None]:
        """How it ended, when all has been read."""
        failed = self.journal.counts().failed
        return ("failed", f"{failed:,} row{'s' if failed > 1 else ''} failed") if failed else ("done", None)

    def tick(self, phase: str = "embedding", *, now: bool = False) -> None:
        """Tell whoever watches, not too often."""
        if not (now or self.watch.due):
            return
        counts, spent = self.journal.counts(), self.meter.spent
        self.watch.tell(
            JobProgress(
                rows=counts.rows + (0 if self.running is None or self.retrying else self.running.landed()),
                total=self.total,
                failed=counts.failed,
                skipped=counts.skipped,
                tokens=spent.tokens,
                requests=spent.requests,
                cost=cost_of(spent.tokens, self.settings.price),
                seconds=time.monotonic() - self.began,
                phase=phase,
                notes=(*self.said, *getattr(self.source, "remarks", ())),
                about=self.about,
            )
        )

    def report(self, status: str, reason: str | None) -> JobReport:
        """What it ended with."""
        counts = self.journal.counts()
        meter = Meter(self.settings.place / REQUESTS)
        spent = meter.spent
        meter.close()
        return JobReport(
            id=self.settings.id,
            folder=str(self.settings.place),
            status=status,
            reason=reason,
            counts=counts,
            tokens=spent.tokens,
            requests=spent.requests,
            cost=cost_of(spent.tokens, self.settings.price),
            seconds=time.monotonic() - self.began,
            target=self.journal.get("target"),
            causes=self.journal.causes(),
            passed_over=dict(getattr(self.source, "passed_over", {})),
            notes=self.notes(counts.warned),
            run=spent - self.before,
            tried=self.tried,
            hopeless=hopeless(self.journal.causes(), readable_later=getattr(self.source, "readable_later", False)),
            wrote=self.wrote,
        )

    def notes(self, warned: int) -> tuple[str, ...]:
        """What is to be said of vectors that are there all the same, and of the source as far as it was read."""
        told = (f"{warned:,} texts, the first: {self.journal.get('warning')}",) if warned else ()
        return (*told, *(getattr(self.source, "notes", ()) if self.tried else ()))


def _resume(settings: JobSettings) -> str:
    return f"run the job again and it goes on ({settings.id})"
