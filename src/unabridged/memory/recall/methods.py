"""Recall as calls of a memory: the options are read and checked here, the work is done elsewhere."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unabridged.memory.gather import identity
from unabridged.memory.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from unabridged.memory.recall.answer import Answered
    from unabridged.memory.recall.data import Recalled
    from unabridged.memory.recall.timeline import Neighbourhood, Timeline
    from unabridged.memory.records import Artifact, Entity
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["Recalling"]


class Recalling(Reader):
    """A reader that can be asked questions, too."""

    embedder: EmbedderLike | None = None
    asker: Any = None
    defaults: Mapping[str, Any] = MappingProxyType({})

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        budget_tokens: int | None = None,
        kinds: str | Iterable[str] | None = None,
        kind: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        document: Artifact | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        created_since: Any = None,
        created_until: Any = None,
        as_of: Any = None,
        known_at: Any = None,
        include_history: bool = False,
        include_expired: bool = False,
        lanes: str | Iterable[str] | None = None,
        passes: int | None = None,
        rerank: Any = None,
        diversity: float | None = None,
        threshold: float | None = None,
        recency: float | None = None,
        prefer_session: str | None = None,
        explain: bool = False,
        vector: Any = None,
    ) -> Recalled:
        """What matters for a query, best first, each with its evidence; and a pack of it for a prompt.

        What is not given is as the memory's ``defaults`` say (the section ``recall`` of a configuration sets them).
        ``kinds`` are of hits: ``passage``, ``summary``, ``document``, ``fact``, ``entity`` (all by default).
        ``kind``, ``session_id``, ``source``, ``document``, ``metadata`` and ``created_since`` / ``created_until``
        say which artifacts may answer. ``as_of`` asks what was true then, ``known_at`` what the memory knew then.
        ``as_of`` leaves out facts and artifacts that became true later; what has no ``valid_at`` of its own, as
        most passages, is found whatever it says (``known_at`` and ``created_until`` go by when things were stored).
        ``lanes`` are ``vector``, ``text``, ``names``, ``graph`` (all). ``passes=2`` goes on from the chunks found
        to their documents' other passages. ``rerank`` is a cross-encoder for the best of them
        (:mod:`unabridged.providers.rerank`). ``diversity`` (0 to 1) prefers what says something else.
        ``threshold`` (0 to 1) is the least score of a hit; 0.5 is what a query about something else reaches.
        ``recency`` is the age in days at which a hit's time counts half as much; ``prefer_session`` puts a session
        forward without leaving others out. ``budget_tokens`` bounds the pack (4,000). ``explain`` keeps every
        lane's rank and score of each hit. ``vector`` is the query's own vector, where it is known.

        Without an embedder, or while it is down, the other lanes answer and ``degraded`` says so.

        >>> from unabridged.memory import Memory
        >>> memory = Memory.open("memory://")
        >>> note = memory.add("The boiler is serviced every May.")
        >>> [hit.text for hit in memory.recall("When is the boiler serviced?")]
        ['The boiler is serviced every May.']
        >>> len(memory.recall("violin concertos"))
        0
        """
        from unabridged.memory.recall.recall import recall
        from unabridged.memory.recall.scope import Scope
        from unabridged.memory.recall.settings import Settings

        scope = Scope.of(
            kind=kind,
            session_id=session_id,
            source=source,
            documents=() if document is None else (identity(document),),
            metadata=dict(metadata or {}),
            created_since=created_since,
            created_until=created_until,
            as_of=as_of,
            known_at=known_at,
            include_history=include_history,
            include_expired=include_expired,
        )
        settings = Settings.of(
            self.defaults,
            limit=limit,
            budget_tokens=budget_tokens,
            kinds=kinds,
            lanes=lanes,
            passes=passes,
            rerank=rerank,
            diversity=diversity,
            threshold=threshold,
            recency=recency,
            session=prefer_session,
            explain=explain,
            vector=vector,
        )
        return self.source.ask(lambda view: recall(view, query, scope, settings, embedder=self.embedder))

    def query(
        self,
        question: str,
        *,
        model: str | None = None,
        reasoning: str | None = None,
        asked_in: str | None = None,
        **options: Any,
    ) -> Answered:
        """An answer in which every sentence cites evidence and is held against it; or that the memory does not know.

        ``options`` are those of :meth:`recall`. Without a chat model the answer is the pack. A question asked in a
        session (``asked_in``) is recorded there (SPEC A11).

        >>> from unabridged.memory import Memory
        >>> memory = Memory.open("memory://", chat=lambda messages: '{"known": true, "sentences": '
        ...     '[{"text": "It is serviced every May.", "sources": [1]}]}')
        >>> note = memory.add("The boiler is serviced every May.")
        >>> memory.query("When is the boiler serviced?").answer
        'It is serviced every May. [1]'
        >>> memory.query("Who wrote the violin concerto?").known
        False
        """
        from unabridged.memory.recall.answer import answer

        return answer(self, question, model=model, reasoning=reasoning, asked_in=asked_in, **options)  # type: ignore[arg-type]

    def timeline(self, entity: Entity | str, *, type: str | None = None, known_at: Any = None) -> Timeline:  # noqa: A002
        """The facts of an entity by when they began, ended ones too, each with its evidence and what ended it.

        ``entity`` is an entity, its id, or its name (with ``type`` where several have it).
        """
        from unabridged.memory.recall.timeline import entity_of, timeline
        from unabridged.memory.values import moment

        return timeline(self.source, entity_of(self.source, entity, type), known_at=moment(known_at, "known_at"))

    def neighbourhood(
        self,
        entities: Entity | str | Iterable[Entity | str],
        *,
        depth: int = 1,
        limit: int = 200,
        as_of: Any = None,
        known_at: Any = None,
        include_history: bool = False,
    ) -> Neighbourhood:
        """The entities and facts within ``depth`` steps of some entities (by id or name), the nearest first."""
        from unabridged.memory.recall.scope import Scope
        from unabridged.memory.recall.timeline import entity_of, neighbourhood
        from unabridged.memory.records import Entity

        given = [entities] if isinstance(entities, Entity | str) else list(entities)
        scope = Scope.of(as_of=as_of, known_at=known_at, include_history=include_history)
        seeds = [entity_of(self.source, each) for each in given]
        return neighbourhood(self.source, seeds, scope, depth=depth, limit=limit)
