"""What a recall may see: the filters of a query, in time and in scope (SPEC R1, R2).

Artifacts are filtered by themselves. Facts and entities are filtered by what states them: a scope that
few artifacts pass is turned into the facts they state before anything is searched, a wide one is held
against each candidate's sources afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.memory.gather import stored_kind
from unabridged.memory.known import known_where
from unabridged.memory.paging import metadata_where, not_expired, optional, span_where
from unabridged.memory.values import moment, now
from unabridged.memory.where import among, at_most, batched, both, either, equals, is_null

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

    from unabridged.memory.commits import View

__all__ = ["NARROW", "Scope"]

NARROW = 2000  # artifacts up to which a scope is turned into what they state; more are asked one by one


@dataclass(frozen=True, slots=True)
class Scope:
    """The artifacts that a query may see, and the moment it asks about.

    ``as_of`` asks what was true then, ``known_at`` what the memory knew then; ``include_history`` lets facts
    in that have ended, ``include_expired`` artifacts that have run out.
    """

    kind: str | None = None
    session_id: str | None = None
    source: str | None = None
    documents: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    created_since: dt.datetime | None = None
    created_until: dt.datetime | None = None
    as_of: dt.datetime | None = None
    known_at: dt.datetime | None = None
    include_history: bool = False
    include_expired: bool = False
    today: dt.datetime = field(default_factory=now)

    @classmethod
    def of(cls, **given: Any) -> Scope:
        """A scope from what a caller gave: moments may be dates or ISO 8601 strings, kinds in any case."""
        for name in ("as_of", "known_at", "created_since", "created_until"):
            given[name] = moment(given.get(name), name)
        return cls(**{**given, "kind": stored_kind(given.get("kind"))})

    @property
    def at(self) -> dt.datetime:
        """The moment that is asked about."""
        return self.as_of or self.known_at or self.today

    @property
    def restricts(self) -> bool:
        """Whether artifacts are left out for what they are, not for when."""
        given = (self.kind, self.session_id, self.source, self.created_since, self.created_until)
        return bool(self.metadata or self.documents) or any(each is not None for each in given)

    def artifacts(self, *, expiring: bool = True) -> str | None:
        """The filter of artifacts; ``expiring`` says whether any of the dataset ever run out."""
        document = None
        if self.documents:
            document = either(among("document_id", self.documents), among("id", self.documents))
        return both(
            *optional(kind=self.kind, session_id=self.session_id, source=self.source),
            document,
            metadata_where(self.metadata),
            span_where("created_at", self.created_since, self.created_until),
            self.known,
            None if self.as_of is None else either(is_null("valid_at"), at_most("valid_at", self.as_of)),
            not_expired(self.at) if expiring and not self.include_expired else None,
        )

    def edges(self, view: View) -> str | None:
        """The filter of facts by time."""
        how = {"as_of": self.as_of, "known_at": self.known_at, "today": self.today}
        return known_where(view, include_history=self.include_history, **how)

    @property
    def known(self) -> str | None:
        """The filter of what the memory knew at the moment that is asked about."""
        return None if self.known_at is None else at_most("created_at", self.known_at)

    def links(self, kind: str) -> str | None:
        """The filter of the links that say who states something."""
        return both(equals("type", kind), self.known)

    def stated(self, view: View, kind: str) -> list[str] | None:
        """What the scope's artifacts state, by id; ``None`` where they are too many to ask, or all."""
        if not self.restricts:
            return None
        where = self.artifacts()
        ids = view.rows("artifacts", where, ["id"], limit=NARROW + 1)["id"].to_pylist()
        if len(ids) > NARROW:
            return None
        return list(dict.fromkeys(self._linked(view, kind, "to_id", "from_id", ids)))

    def _linked(self, view: View, kind: str, column: str, wanted: str, ids: Iterable[str]) -> list[str]:
        found: list[str] = []
        for part in batched(ids):
            rows = view.rows("links", both(self.links(kind), among(column, part)), [wanted])
            found += rows[wanted].to_pylist()
        return found
