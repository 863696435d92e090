"""Memory: texts with their chunks, entities, facts and vectors, and where each of them came from."""

from __future__ import annotations

import contextlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from unabridged.errors import InputError, StoreError
from unabridged.memory import erasure, exchange, forgetting, snapshots
from unabridged.memory.asking.asking import asker_of
from unabridged.memory.catalog import Catalog, DatasetInfo, missing, named_place, untouched
from unabridged.memory.commits import Fixed, Source, Store, View
from unabridged.memory.deletion import Deletion, checked_policy, remove, withdraw
from unabridged.memory.filling import refill
from unabridged.memory.gather import identity
from unabridged.memory.images import Images, files_in
from unabridged.memory.migration import migrate
from unabridged.memory.outside import Ledger, Models, Outside
from unabridged.memory.recall.methods import Recalling
from unabridged.memory.records import Artifact, Edge, Entity, Pending, QueryRecord, RequestRecord, Snapshot
from unabridged.memory.remember.methods import Remembering
from unabridged.memory.series import SeriesShelf
from unabridged.memory.stats import Statistics, statistics
from unabridged.memory.upkeep import Upkeep
from unabridged.memory.values import DEFAULT_MAX_TEXT_BYTES
from unabridged.memory.verify import Report, verify
from unabridged.memory.writing import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from unabridged.memory.asking.asking import Asker
    from unabridged.memory.vectors import EmbedderLike
    from unabridged.providers.websearch import SearchProvider
    from unabridged.types import Chunk

__all__ = ["Memory"]

DATASET = "default"
BULK = 10_000  # texts a commit in add_many: large enough that a commit's 10 ms do not count


class Memory(Recalling, Remembering):
    """One dataset of a memory, for any number of threads; other processes may have it open too.

    >>> memory = Memory.open("memory://")
    >>> with memory.write() as tx:
    ...     note = tx.artifact("Alice works at Acme.", session_id="s1")
    ...     alice = tx.entity("Alice", "person", artifact=note)
    ...     acme = tx.entity("Acme", "organization", artifact=note)
    ...     job = tx.edge(alice, "works at", acme, artifact=note, quote="works at Acme")
    >>> [each.quote for each in memory.evidence(job)]
    ['works at Acme']
    >>> memory.delete(note).edges == (job.id,)
    True
    """

    def __init__(
        self,
        catalog: Catalog,
        info: DatasetInfo,
        store: Store,
        *,
        embedder: EmbedderLike | None = None,
        asker: Asker | None = None,
        websearch: SearchProvider | None = None,
        source: Source | None = None,
        max_text_bytes: int = DEFAULT_MAX_TEXT_BYTES,
        unsupported: str = "delete",
        upkeep: bool = True,
    ) -> None:
        super().__init__(source or store)
        self.info = info
        self.store = store
        self.embedder = embedder
        self.asker = asker
        self._owned: list[Any] = []
        self.websearch = websearch
        self.max_text_bytes = max_text_bytes
        self.unsupported = checked_policy(unsupported)
        self.upkeep = Upkeep(store, automatic=upkeep)
        store.committed = self.upkeep.after_commit
        self._catalog = catalog
        self.series = SeriesShelf(store, self.source)
        self.images = Images(store, self.source, files_in(catalog, info))
        self.models = Models(store, "models")
        self.inferences = Ledger(store, "inferences")
        self.pending: Outside[Pending] = Outside(store, "pending")
        self.requests: Outside[RequestRecord] = Outside(store, "requests")
        self.queries: Outside[QueryRecord] = Outside(store, "queries")

    @classmethod
    def open(
        cls,
        uri: str | Path,
        *,
        dataset: str = DATASET,
        embedder: EmbedderLike | None = None,
        chat: Any = None,
        websearch: SearchProvider | None = None,
        create: bool = True,
        read_only: bool = False,
        snapshot: str | None = None,
        max_text_bytes: int = DEFAULT_MAX_TEXT_BYTES,
        unsupported: str = "delete",
        vector_type: str = "float32",
        grace: float = 60.0,
        upkeep: bool = True,
        lock: str = "auto",
        storage_options: Mapping[str, str] | None = None,
    ) -> Memory:
        """Open a dataset by name, made if it is not there.

        ``uri`` is a folder, ``memory://`` or what LanceDB opens (``s3://``, ``gs://``, ``az://``,
        ``db://``). ``embedder`` gives vectors to what is added; without one everything is stored and
        nothing embedded. ``chat`` (a Chat, a function of messages, or an Asker) is what extraction and
        answers ask; ``websearch`` is what web searches ask. ``snapshot`` opens an earlier state,
        read-only. ``unsupported`` says what becomes of facts that lose their last source: ``delete`` or
        ``keep``. ``vector_type`` is
        ``float32`` or ``float16``, for a new dataset. ``grace`` is how many seconds a superseded
        version stays for readers.
        """
        if vector_type not in {"float32", "float16"}:
            raise InputError(f"vector_type: found {vector_type!r}, expected 'float32' or 'float16'")
        if embedder is not None and not hasattr(embedder, "fingerprint"):
            raise InputError(
                f"embedder: found {type(embedder).__name__}, expected an Embedder, such as Embedder('hashing')"
            )
        looking, place = not create or read_only or snapshot is not None, named_place(uri)
        if looking and untouched(place):
            raise missing(dataset)
        catalog = Catalog(place, storage_options=storage_options, lock=lock)
        info = catalog.find(dataset)
        if info is None:
            if looking:
                raise missing(dataset)
            info = catalog.create(dataset, {"vector_type": vector_type})
        store = Store(catalog.place(info), grace=grace, read_only=read_only or snapshot is not None)
        migrate(store)
        source = None if snapshot is None else Fixed(snapshots.view(store, snapshot))
        asker = asker_of(chat)
        memory = cls(
            catalog,
            info,
            store,
            embedder=embedder,
            asker=asker,
            websearch=websearch,
            source=source,
            max_text_bytes=max_text_bytes,
            unsupported=unsupported,
            upkeep=upkeep and not store.read_only,
        )
        return memory if asker is None or asker is chat else memory.own(asker.cache)

    @staticmethod
    def datasets(uri: str | Path, *, storage_options: Mapping[str, str] | None = None) -> list[DatasetInfo]:
        """The datasets of a place, by name."""
        place = named_place(uri)
        return [] if untouched(place) else Catalog(place, storage_options=storage_options).list()

    @staticmethod
    def drop(uri: str | Path, dataset: str, *, storage_options: Mapping[str, str] | None = None) -> None:
        """Delete a dataset whole, with its vectors and files (SPEC A28)."""
        place = named_place(uri)
        if untouched(place):
            raise missing(dataset)
        Catalog(place, storage_options=storage_options).drop(dataset)

    def close(self) -> None:
        """Wait for upkeep that is under way, and close what is the memory's own."""
        self.upkeep.close()
        while self._owned:
            self._owned.pop().close()

    def own(self, *made: Any) -> Self:
        """Close these with the memory: what nobody else has a hand on (an embedder that a configuration made)."""
        self._owned += [each for each in made if each is not None]
        return self

    def __enter__(self) -> Self:
        """The memory itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.info.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The dataset's settings: schema, width, fingerprint, vector type."""
        return self.source.ask(lambda view: view.settings)

    # -- writing --------------------------------------------------------------------------------------

    def write(self, *, embed: bool = True) -> Transaction:
        """A transaction: everything in its block is stored in one commit, or nothing of it."""
        return Transaction(
            self.store,
            embedder=self.embedder if embed else None,
            max_text_bytes=self.max_text_bytes,
            unsupported=self.unsupported,
        )

    def add(
        self,
        text: str,
        *,
        kind: str | None = None,
        session_id: str | None = None,
        valid_at: Any = None,
        metadata: Mapping[str, Any] | None = None,
        source: str | None = None,
        chunks: Iterable[Chunk] = (),
        embed: bool = True,
        **given: Any,
    ) -> Artifact:
        """Store a text as it is, and its chunks, in one commit; the artifact of the text.

        ``chunks`` are those of a splitter (``unabridged.split(text)``). For the rest see
        :meth:`Transaction.artifact`.
        """
        with self.write(embed=embed) as tx:
            options = {"kind": kind, "session_id": session_id, "valid_at": valid_at, "metadata": metadata}
            document = tx.artifact(text, source=source, **options, **given)
            for chunk in chunks:
                tx.chunk(document, chunk)
        return tx.gathered.artifacts[document.id]

    def add_many(self, texts: Iterable[str], *, embed: bool = True, **given: Any) -> list[Artifact]:
        """Store many texts, a commit for each 10,000 of them, with the same options for all."""
        done: list[Artifact] = []
        rest = iter(texts)
        while part := list(islice(rest, BULK)):
            with self.write(embed=embed) as tx:
                for text in part:
                    tx.artifact(text, **given)
            done += tx.gathered.artifacts.values()
        return done

    def update(self, artifact: Artifact | str, **changes: Any) -> Artifact:
        """Change metadata, provenance, source or times of an artifact; never its text."""
        with self.write(embed=False) as tx:
            tx.update(artifact, **changes)
        return self.artifacts.get(identity(artifact))

    def delete(
        self, artifacts: Artifact | str | Iterable[Artifact | str], *, unsupported: str | None = None
    ) -> Deletion:
        """Delete artifacts and what hangs from them, in one commit (SPEC A4, A9, A10)."""
        one = isinstance(artifacts, Artifact | str)
        ids = [identity(each) for each in ([artifacts] if one else artifacts)]  # type: ignore[union-attr]
        policy = checked_policy(unsupported or self.unsupported)
        done = self.store.commit(lambda draft: remove(draft, ids, unsupported=policy))
        erasure.forget_pending(self, done.artifacts)
        if done.reworded and self.embedder is not None:
            refill(self.store, self.embedder, done.reworded)
        if done.images:
            self.images.sweep()
        return done

    def withdraw(self, *, entities: Iterable[Entity | str] = (), edges: Iterable[Edge | str] = ()) -> Deletion:
        """Take entities, with the facts at them, and facts out of the graph; the texts that state them stay.

        As if they had never been read: what a withdrawn fact had ended is open again. One commit, or
        :class:`~unabridged.errors.NotFound`. A fact that was true and is no longer has ended: :meth:`end` it.
        """
        ids = [identity(each) for each in entities], [identity(each) for each in edges]
        return self.store.commit(lambda draft: withdraw(draft, entities=ids[0], edges=ids[1]))

    def end(self, edge: Edge | str, *, at: Any = None, text: str | None = None, artifact: Any = None) -> Edge:
        """Say that a fact ended, ``at`` a moment (default: now); it stays, with its end. The fact as it is then.

        ``text`` says so and is stored, or ``artifact`` does, which is stored already; deleting that opens the fact
        again. One that has ended before then keeps its end.
        """
        return forgetting.end(self, edge, at=at, text=text, artifact=artifact)

    def forget(self, ids: Iterable[str], *, unsupported: str | None = None) -> Deletion:
        """Delete records by their ids, of whatever kind: see :mod:`unabridged.memory.forgetting`."""
        return forgetting.forget(self, ids, unsupported=unsupported)

    def embed_missing(self, *, limit: int | None = None) -> int:
        """Give a vector to everything that has none (stored without an embedder); how many got one."""
        from unabridged.memory.filling import fill

        return fill(self, limit=limit)

    def reembed(self, embedder: EmbedderLike) -> int:
        """Change the dataset to another embedder: every vector anew, seen all at once; how many."""
        from unabridged.memory.filling import reembed

        return reembed(self, embedder)

    # -- erasing --------------------------------------------------------------------------------------

    def erase(
        self,
        *,
        session_id: str | None = None,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        artifacts: Sequence[Artifact | str] = (),
        drop_snapshots: bool = False,
    ) -> erasure.Erasure:
        """Erase a session, a source, a user (by metadata) or artifacts from every table, file and queue (SPEC A29)."""
        return erasure.erase(
            self,
            session_id=session_id,
            source=source,
            metadata=metadata,
            artifacts=[identity(each) for each in artifacts],
            drop_snapshots=drop_snapshots,
        )

    def purge(self, *, drop_snapshots: bool = False, wait: float = 0.0) -> erasure.Purge:
        """Take what was deleted out of every file: old versions, indexes, debris, orphaned images.

        Snapshots and registered readers hold old versions: the former must be dropped (or
        ``drop_snapshots=True``), the latter are waited for, ``wait`` seconds.
        """
        return erasure.purge(self, drop_snapshots=drop_snapshots, wait=wait)

    # -- states ---------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def pinned(self) -> Iterator[Recalling]:
        """A reader of one state, for as long as the block runs, whatever is written meanwhile."""
        with self.store.pinned() as view:
            yield self._view(view)

    def snapshot(self, name: str) -> Snapshot:
        """Give the present state a name, under which it can be opened and restored."""
        return snapshots.take(self.store, name)

    def snapshots(self) -> list[Snapshot]:
        """The named states, oldest first."""
        return snapshots.listed(self.store)

    def drop_snapshot(self, name: str) -> None:
        """Let go of a named state."""
        snapshots.drop(self.store, name)

    def restore(self, name: str) -> None:
        """Make a named state the present one, in one commit; what is newer is no longer current."""
        snapshots.restore(self.store, name)

    def _view(self, view: View) -> Recalling:
        reader = Recalling(Fixed(view))
        reader.embedder, reader.defaults = self.embedder, self.defaults
        return reader

    # -- keeping --------------------------------------------------------------------------------------

    def verify(self) -> Report:
        """Check every promise on the live dataset."""
        return verify(self)

    def stats(self) -> Statistics:
        """Rows, sizes, versions, fragments, indexes, vectors expected and present."""
        return statistics(self)

    def optimize(self) -> None:
        """Do now all the upkeep there is: compact, index, clean up."""
        if self.store.read_only:
            raise StoreError("this memory was opened read-only", advice="writable")
        self.upkeep.thorough()

    def export(self, path: str | Path, *, format: str = "jsonl") -> exchange.Manifest:  # noqa: A002
        """Write the whole dataset, vectors and files included, to a new folder: ``jsonl`` or ``parquet``."""
        return exchange.export(self, Path(path), format)

    @classmethod
    def import_(cls, path: str | Path, uri: str | Path, *, dataset: str = DATASET, **options: Any) -> Memory:
        """Make a dataset of an export; it must not exist, or be empty. An import that fails leaves none behind."""
        manifest = exchange.checked(Path(path))
        before = {each.id for each in cls.datasets(uri, storage_options=options.get("storage_options"))}
        memory = cls.open(uri, dataset=dataset, **options)
        try:
            exchange.import_(memory, Path(path), manifest)
        except BaseException:
            memory.close()
            if memory.info.id not in before and not memory.store.view().head.seq:
                memory._catalog.discard(memory.info)  # noqa: SLF001 - its own class
            raise
        return memory
