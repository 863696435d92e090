"""A transaction: gather artifacts, entities, edges and links, then commit them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from unabridged.errors import StoreError
from unabridged.memory.deletion import remove
from unabridged.memory.filling import lay, refill
from unabridged.memory.gather import Contradiction, Gathered, Quote, identity
from unabridged.memory.records import Artifact, Edge, Entity, Session
from unabridged.memory.settle import Settled, settle
from unabridged.memory.values import checked_name, moment
from unabridged.memory.vectors import GIVEN, EmbedderLike, admit, embed_gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from unabridged.memory.commits import Draft, Store, View
    from unabridged.types import Chunk

__all__ = ["Transaction"]

R = TypeVar("R", Entity, Edge)


class Transaction:
    """Everything that one commit stores; nothing is seen of it before :meth:`commit`.

    As a context manager it commits at the end of the block, and not at all if the block raises.
    Records that it returns have their final ids, but an edge may turn out to restate a stored one:
    :meth:`stored` gives what the dataset holds.
    """

    def __init__(
        self,
        store: Store,
        *,
        embedder: EmbedderLike | None,
        max_text_bytes: int,
        unsupported: str,
    ) -> None:
        self._fingerprint = checked_name(embedder.fingerprint("document") if embedder else GIVEN, "fingerprint")
        self.gathered = Gathered(max_text_bytes, self._fingerprint)
        self.result: Settled | None = None
        self._store = store
        self._embedder = embedder
        self._unsupported = unsupported

    # -- artifacts ----------------------------------------------------------------------------------

    def artifact(self, text: str, *, kind: str | None = None, vector: Any = None, **given: Any) -> Artifact:
        """A text as it was received: stored as it is, to the byte.

        ``kind`` is ``knowledge`` (default) or ``memory``. Also: ``session_id``, ``valid_at``,
        ``metadata``, ``source`` (its identity outside), ``source_hash``, ``provenance``,
        ``expires_at``, ``lexical``, ``tokens``, ``splitter``, ``processed_at``.
        """
        return self.gathered.document(text, kind=kind, vector=vector, **given)

    def chunk(self, parent: Artifact, chunk: Chunk, *, vector: Any = None, **given: Any) -> Artifact:
        """A piece of a document, as a splitter made it; its text is its parent's bytes, exactly."""
        return self.gathered.chunk(parent, chunk, vector, **given)

    def summary(
        self, chunk: Artifact, text: str, *, inference_id: str | None = None, vector: Any = None, **given: Any
    ) -> Artifact:
        """What a model said a chunk says."""
        return self.gathered.derived(chunk, "chunk_summary", text, vector, inference_id=inference_id, **given)

    def web_search(self, parent: Artifact, text: str, *, query: str, vector: Any = None, **given: Any) -> Artifact:
        """What a search for an entity of ``parent`` found."""
        return self.gathered.derived(parent, "web_search", text, vector, query=query, **given)

    def observation(
        self, parent: Artifact, text: str, *, query: str, series_id: str, vector: Any = None, **given: Any
    ) -> Artifact:
        """A text made from the statistics of a series, over the window that ``query`` names."""
        return self.gathered.derived(
            parent, "series_observation", text, vector, query=query, series_id=series_id, **given
        )

    def update(self, artifact: Artifact | str, **changes: Any) -> None:
        """Change metadata, provenance, source or times of an artifact; never its text."""
        self.gathered.update(artifact, changes)

    def delete(self, artifacts: Iterable[Artifact | str]) -> None:
        """Remove artifacts in the same commit; what the new ones support as well stays as it is."""
        self.gathered.delete(artifacts)

    def give_vector(self, artifact: Artifact | str, vector: Any) -> None:
        """A vector for an artifact that is stored without one, such as a document's made of its chunks'."""
        self.gathered.late[identity(artifact)] = vector

    # -- the graph ----------------------------------------------------------------------------------

    def entity(
        self,
        name: str,
        type: str,  # noqa: A002
        *,
        artifact: Artifact | str,
        aliases: Iterable[str] = (),
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        quote: Quote = None,
        vector: Any = None,
    ) -> Entity:
        """A thing that ``artifact`` mentions, in ``quote`` (a passage of it, or its bytes)."""
        return self.gathered.entity(
            name,
            type,
            artifact,
            aliases=aliases,
            description=description,
            metadata=dict(metadata or {}),
            quote=quote,
            vector=vector,
        )

    def edge(
        self,
        source: Entity | str,
        relation: str,
        target: Entity | str,
        *,
        artifact: Artifact | str,
        fact: str | None = None,
        valid_at: Any = None,
        invalid_at: Any = None,
        metadata: Mapping[str, Any] | None = None,
        quote: Quote = None,
        vector: Any = None,
    ) -> Edge:
        """A fact that ``artifact`` states; ``valid_at`` defaults to the artifact's."""
        return self.gathered.edge(
            source,
            relation,
            target,
            artifact,
            fact=fact,
            valid_at=valid_at,
            invalid_at=invalid_at,
            metadata=dict(metadata or {}),
            quote=quote,
            vector=vector,
        )

    def mention(self, entity: Entity | str, artifact: Artifact | str, *, quote: Quote = None) -> None:
        """``artifact`` mentions an entity that is known."""
        self.gathered.mention(entity, artifact, quote)

    def restate(self, edge: Edge | str, artifact: Artifact | str, *, quote: Quote = None) -> None:
        """``artifact`` states a fact that is known: one more source, and nothing else changes (SPEC A8)."""
        self.gathered.state(edge, artifact, quote)
        if isinstance(edge, Edge):
            for entity in (edge.source_id, edge.target_id):
                self.gathered.mention(entity, artifact)

    def contradict(self, edge: Edge | str, by: Edge) -> None:
        """The new fact ``by`` contradicts a known one: the older of the two ends (SPEC A9)."""
        self.gathered.contradictions.append(Contradiction(identity(edge), by.artifact_id or "", by=by.id))

    def close(self, edge: Edge | str, artifact: Artifact | str, *, at: Any = None) -> None:
        """``artifact`` says that a fact ended, at ``at``, and states no other in its place."""
        self.gathered.contradictions.append(Contradiction(identity(edge), identity(artifact), at=moment(at, "at")))

    def session(self, session_id: str, metadata: Mapping[str, Any] | None = None) -> Session:
        """A session, with metadata of its own."""
        return self.gathered.session(session_id, metadata)

    def show(self, entity: Entity | str, image: Any) -> None:
        """An image shows an entity."""
        self.gathered.shown[identity(entity), identity(image)] = None

    # -- the commit ---------------------------------------------------------------------------------

    def commit(self, *, embed: bool = True, guard: Callable[[View], None] | None = None) -> Settled:
        """Embed what has no vector, then store everything at once.

        ``embed=False`` where all vectors came with their records. ``guard`` looks at the state that the commit
        would follow, under the writer's lock; what it raises is raised here, and nothing is stored.
        """
        if self.result is not None:
            raise StoreError("this transaction is committed; begin another one")
        if embed and self._embedder is not None:
            self._store.ask(lambda view: embed_gathered(self.gathered, view, self._embedder))  # type: ignore[arg-type]

        def work(draft: Draft) -> Settled:
            if guard is not None:
                guard(draft.view)
            admit(draft, self.gathered, self._fingerprint)
            done = settle(draft, self.gathered)
            if self.gathered.late:
                lay(draft, "artifacts", self.gathered.late, self._fingerprint)
            if self.gathered.deletions:
                fresh = [link for records, _ in draft.appended.get("links", ()) for link in records]
                done.deleted = remove(
                    draft,
                    self.gathered.deletions,
                    unsupported=self._unsupported,
                    fresh=fresh,
                    closed=done.closed,
                    entities=done.entities,
                    texts={each.id: each.text for each in self.gathered.artifacts.values()},
                )
            return done

        self.result = done = self._store.commit(work)
        if self._embedder is not None and done.deleted is not None and done.deleted.reworded:
            refill(self._store, self._embedder, done.deleted.reworded)
        return done

    def stored(self, record: R) -> R:
        """What the dataset holds for a record of this transaction."""
        if self.result is None:
            raise StoreError("not committed yet: ask after the block")
        found = self.result.entities.get(record.id) or self.result.edges.get(record.id)
        return record if found is None else found  # type: ignore[return-value]

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, unless the block failed."""
        if error is None and self.result is None:
            self.commit()
