"""What is stale by fingerprint (SPEC K6), made new: cut again, embedded again, and nothing else touched.

Staleness is a query, so a sweep that was interrupted goes on where it stopped: documents are changed in
commits of some dozens, each whole or not at all, and old vectors serve every search until the new are there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.settings import default_jobs_folder
from unabridged.jobs.sweep_chunks import Recut, Splitter, draft_recuts, plan_recut
from unabridged.jobs.sweep_vectors import change_embedder
from unabridged.memory.erasure import forget_pending
from unabridged.memory.filling import fill
from unabridged.memory.remember.plan import Cutter
from unabridged.memory.schema import VECTOR_TABLES, columns_of, from_table
from unabridged.memory.vectors import embed_texts, text_for
from unabridged.memory.where import among, batched, both, either, equals, is_null, literal

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping

    from unabridged.memory import Memory
    from unabridged.memory.commits import View
    from unabridged.memory.records import Artifact
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["Stale", "Swept", "find_stale", "sweep"]

_DOCUMENTS = 64  # in one commit, which costs tens of milliseconds whatever it holds
_CHARACTERS = 2_000_000  # of their texts, so that a commit of books stays small
_TOGETHER = 100_000_000  # of texts that are cut anew in the one commit that changes the embedder: it lies in memory


@dataclass(frozen=True, slots=True)
class Stale:
    """What is stale in a memory. ``splitters`` and ``embedders`` count what is there by fingerprint ("" is none).

    ``chunks`` were cut by another splitter, or by an unknown one; ``documents`` have such chunks, or none though
    they may be over the size now; ``vectors`` are of another embedder, ``missing`` rows have none.
    """

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    missing: int = 0
    splitters: Mapping[str, int] = field(default_factory=dict)
    embedders: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.documents or self.vectors or self.missing)


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did: ``kept`` chunks had the same bytes as before, ``summaries`` went with their chunks."""

    documents: int = 0
    chunks: int = 0
    kept: int = 0
    removed: int = 0
    vectors: int = 0
    summaries: int = 0

    def __add__(self, other: Swept) -> Swept:
        """Both together."""
        return Swept(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def find_stale(
    memory: Memory,
    *,
    embedder: EmbedderLike | None = None,
    chunking: Mapping[str, Any] | Splitter | None = None,
) -> Stale:
    """What is stale against an embedder (default: the memory's) and a splitter (default: not asked).

    ``chunking`` is as for ``remember``: ``size``, ``overlap_percent``, ``tokenizer``, ``method``; or an object with
    ``name`` and ``chunks(document)``.

    >>> from unabridged.memory import Memory
    >>> memory = Memory.open("memory://")
    >>> note = memory.add("a short text")
    >>> bool(find_stale(memory, chunking={"size": 64}))
    False
    """
    embedder = embedder or memory.embedder
    splitter = _splitter(chunking)
    view = memory.store.view()
    embedders = _by_embedder(view)
    wanted = "" if embedder is None else embedder.fingerprint("document")
    return Stale(
        documents=0 if splitter is None else sum(1 for _ in _documents(view, splitter)),
        chunks=0 if splitter is None else view["artifacts"].count(_other(splitter.name)),
        vectors=0 if embedder is None else sum(n for name, n in embedders.items() if name not in {"", wanted}),
        missing=0 if embedder is None else embedders.get("", 0),
        splitters=_by(view, "artifacts", "splitter", equals("role", "chunk")),
        embedders=embedders,
    )


def sweep(
    memory: Memory,
    *,
    embedder: EmbedderLike | None = None,
    chunking: Mapping[str, Any] | Splitter | None = None,
    folder: str | Path | None = None,
    limit: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    cancel: threading.Event | None = None,
) -> Swept:
    """Make new what :func:`find_stale` finds; see there for the options.

    Vectors of another embedder are made beside the memory, in ``folder``, and changed all at once, together with
    the documents that are cut anew, ``limit`` of them at the most. ``progress`` gets what is being done, how much is
    done and of how much. Interrupted, by ``cancel`` or by a kill, it goes on when it is called again.

    Raises :class:`~unabridged.errors.ConfigError` where vectors are there and no embedder is, and
    :class:`~unabridged.errors.JobError` when it is cancelled.
    """
    embedder = embedder or memory.embedder
    splitter = _splitter(chunking)
    run = _Run(memory, embedder, splitter, Path(folder or _folder(memory)), progress, cancel)
    made = run.vectors(limit)
    return made + run.documents(None if limit is None else limit - made.documents)


class _Run:
    def __init__(
        self,
        memory: Memory,
        embedder: EmbedderLike | None,
        splitter: Splitter | None,
        folder: Path,
        progress: Callable[[str, int, int], None] | None,
        cancel: threading.Event | None,
    ) -> None:
        self._memory, self._embedder, self._splitter, self._folder = memory, embedder, splitter, folder
        self._progress = progress
        self._cancel = cancel

    def vectors(self, limit: int | None) -> Swept:
        """Change the embedder if it is another one, and fill in what has no vector."""
        if self._embedder is None:
            return Swept()
        stored = self._memory.settings.get("fingerprint")
        if stored is not None and stored != self._embedder.fingerprint("document"):
            return self._other_embedder(self._embedder, limit)
        self._memory.embedder = self._embedder
        return Swept(vectors=fill(self._memory))

    def _other_embedder(self, embedder: EmbedderLike, limit: int | None) -> Swept:
        """All vectors anew, and with them as many documents as fit into one commit: each text is embedded once."""
        total = sum(_by_embedder(self._memory.store.view()).values())
        plans = [] if self._splitter is None else self._together(limit)
        before = self._hanging(plans)
        made, cut = change_embedder(
            self._memory,
            embedder,
            self._folder,
            recuts=plans,
            step=lambda done: self._tell("vectors", done, max(done, total)),
        )
        return Swept(vectors=made) + self._told(plans, cut, before)

    def _together(self, limit: int | None) -> list[Recut]:
        """Plans for the documents that are stale, as far as memory holds them."""
        plans: list[Recut] = []
        for part in self._parts(self._stale(limit)):
            plans += part
            if sum(len(plan.document.text) for plan in plans) >= _TOGETHER:
                break
        return plans

    def documents(self, limit: int | None) -> Swept:
        """Cut anew what another splitter cut."""
        if self._splitter is None:
            return Swept()
        if self._embedder is None and self._memory.settings.get("width") is not None:
            raise ConfigError("embedder", "found none, and the memory has vectors: the new chunks need theirs")
        done, ids = Swept(), self._stale(limit)
        for part in self._parts(ids):
            done += self._change(part)
            self._tell("documents", done.documents, len(ids))
        return done

    def _stale(self, limit: int | None) -> list[str]:
        assert self._splitter is not None  # noqa: S101
        with self._memory.store.pinned() as view:
            return list(_documents(view, self._splitter))[:limit]

    def _parts(self, ids: list[str]) -> Iterator[list[Recut]]:
        """Plans for some dozens of documents at a time."""
        assert self._splitter is not None  # noqa: S101
        plans: list[Recut] = []
        size = 0
        for at in range(0, len(ids), _DOCUMENTS):
            for document, chunks in _read(self._memory.store.view(), ids[at : at + _DOCUMENTS]):
                plan = plan_recut(document, chunks, self._splitter, limit=self._memory.max_text_bytes)
                if plan is None:
                    continue
                plans.append(plan)
                size += len(document.text)
                if len(plans) >= _DOCUMENTS or size >= _CHARACTERS:
                    yield plans
                    plans, size = [], 0
        if plans:
            yield plans

    def _change(self, plans: list[Recut]) -> Swept:
        """Embed what is new of some documents, in one call, and commit them together."""
        texts = {name: text for plan in plans for name, text in plan.texts.items()}
        vectors: dict[str, Any] = {}
        if self._embedder is not None and texts:
            found = embed_texts(self._embedder, list(texts.values()))
            vectors = dict(zip(texts, found, strict=True))
        before = self._hanging(plans)
        print_ = None if self._embedder is None else self._embedder.fingerprint("document")
        changed = self._memory.store.commit(lambda draft: draft_recuts(draft, plans, vectors, print_))
        return Swept(vectors=len(vectors)) + self._told(plans, changed, before)

    def _hanging(self, plans: list[Recut]) -> int:
        """The summaries that go with their chunks."""
        gone = [name for plan in plans for name in plan.gone]
        table = self._memory.store.view()["artifacts"]
        return sum(table.count(both(equals("role", "summary"), among("parent_id", part))) for part in batched(gone))

    def _told(self, plans: list[Recut], changed: int, summaries: int) -> Swept:
        """What was done, when chunks that are gone wait for nothing any more."""
        gone = [name for plan in plans for name in plan.gone]
        forget_pending(self._memory, gone)
        new, kept = (sum(len(getattr(plan, name)) for plan in plans) for name in ("new", "kept"))
        return Swept(changed, new, kept, len(gone), 0, summaries)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)
        if self._cancel is not None and self._cancel.is_set():
            raise JobError(f"the sweep was cancelled after {done:,} of {total:,} {what}; run it again to go on")


def _splitter(given: Mapping[str, Any] | Splitter | None) -> Splitter | None:
    if given is None or (hasattr(given, "chunks") and hasattr(given, "name")):
        return given
    return Cutter.of(given)


def _folder(memory: Memory) -> Path:
    return default_jobs_folder() / f"sweep-{memory.info.id}"


def _other(name: str) -> str:
    """Chunks of another splitter than ``name``, or of an unknown one."""
    return both(equals("role", "chunk"), either(is_null("splitter"), f"`splitter` != {literal(name)}")) or "true"


def _documents(view: View, splitter: Splitter) -> Iterator[str]:
    """The documents that may be cut otherwise now: by their chunks, or by their size."""
    chunked: set[str] = set()
    stale: dict[str, None] = {}
    for batch in view["artifacts"].batches(equals("role", "chunk"), ["parent_id", "splitter"]):
        parents = batch["parent_id"].to_pylist()
        chunked.update(parents)
        made = zip(parents, batch["splitter"].to_pylist(), strict=True)
        stale.update((parent, None) for parent, name in made if name != splitter.name)
    yield from stale
    for batch in view["artifacts"].batches(equals("role", "document"), ["id", "text"]):
        for name, text in zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True):
            if name not in chunked and _may_be_over(text, splitter):
                yield name


def _may_be_over(text: str, splitter: Splitter) -> bool:
    """Whether a text that was never cut is over the size now; its length tells at once that most are not."""
    from unabridged.text.documents.model import Document

    size = getattr(splitter, "size", 1)
    return len(text.encode("utf-8", "surrogatepass")) > size and bool(splitter.chunks(Document(text)))


def _read(view: View, ids: list[str]) -> Iterator[tuple[Artifact, list[Artifact]]]:
    documents = {one.id: one for one in view.records("artifacts", among("id", ids))}
    chunks: dict[str, list[Artifact]] = {}
    for one in view.records("artifacts", both(equals("role", "chunk"), among("parent_id", ids))):
        chunks.setdefault(one.parent_id, []).append(one)
    for name in ids:
        if name in documents:
            yield documents[name], sorted(chunks.get(name, ()), key=lambda one: one.chunk_index or 0)


def _by(view: View, table: str, column: str, where: str | None) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for batch in view[table].batches(where, [column]):
        counts.update(value or "" for value in batch[column].to_pylist())
    return dict(counts)


def _by_embedder(view: View) -> dict[str, int]:
    """Vectors by fingerprint; "" counts rows that have something to embed and no vector."""
    counts: Counter[str] = Counter()
    for table in VECTOR_TABLES:
        held = _by(view, table, "embedder", None)
        held.pop("", None)
        counts.update(held)
        counts[""] += sum(1 for record in _lacking(view, table) if text_for(table, record))
    return {name: count for name, count in counts.items() if count}


def _lacking(view: View, table: str) -> Iterator[Any]:
    import pyarrow as pa

    for batch in view[table].batches(is_null("embedder"), columns_of(table)):
        yield from from_table(table, pa.Table.from_batches([batch]))
