"""What the lanes of a recall share: one query as each of them sees it, and what a lane brings back."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.memory.recall.kept.briefs import Briefs, briefs_of
from unabridged.memory.recall.kept.documents import Documents, documents_of
from unabridged.memory.recall.kept.facts import Ends, ends_of
from unabridged.memory.recall.kept.identities import Identities, identities_of
from unabridged.memory.recall.kept.links import Links, links_of
from unabridged.memory.recall.kept.names import Names, names_of
from unabridged.memory.recall.kept.roles import ROLES, Roles, numbers
from unabridged.memory.where import among, both, equals, not_null

if TYPE_CHECKING:
    from unabridged.memory.commits import View
    from unabridged.memory.recall.scope import Scope
    from unabridged.memory.recall.words import Words

__all__ = [
    "DOCUMENTS",
    "INDEXES_OF",
    "NOTHING",
    "Asking",
    "Found",
    "Holdings",
    "Lane",
    "Places",
    "Ranking",
    "holding",
    "holdings",
    "places",
]

# The logical indexes (SPEC A15), as tables and roles; a document that has chunks is whole, one without is a passage.
INDEXES_OF: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "passage": ("artifacts", ("chunk", "document", "web_search", "observation")),
    "summary": ("artifacts", ("summary",)),
    "document": ("artifacts", ("document",)),
    "fact": ("edges", ()),
    "entity": ("entities", ()),
}


@dataclass(frozen=True, slots=True)
class Found:
    """One row that a lane found, with the lane's own score: higher is better, whatever the unit.

    ``row`` is where the store keeps it, ``id`` its id: a search knows the one, the graph the other.
    """

    table: str
    score: float
    row: int | None = None
    id: str | None = None
    role: str | None = None

    @property
    def key(self) -> int | str:
        """What tells it from other rows of its table."""
        return self.row if self.row is not None else self.id or ""

    def fits(self, index: str, *, whole: bool) -> bool:
        """Whether it is of an index: a document that has chunks is whole, one without is a passage."""
        return self.role != "document" or whole == (index == "document")


Ranking = Sequence[Found]  # best first
Places = tuple[Any, Any]  # of a search: where the rows are, and their scores, both as arrays

DOCUMENTS = 5  # whole artifacts that a lane brings: each may be a mebibyte
DEEP = 1000  # places that one search for several roles brings: at a million, 0.84 of the five nearest documents
NEAR = 200  # the same where facts and entities are asked for, too: there chunks tell of their documents
LARGE = 100_000  # rows of a table that one question does not read
MET = 20_000  # documents that are remembered of a view: 3 MB
NOTHING: Places = (np.empty(0, dtype=np.uint64), np.empty(0))
ARTIFACTS = ("passage", "summary", "document")
GRAPH = frozenset({"fact", "entity"})


@dataclass(frozen=True, slots=True)
class Asking:
    """One query as its lanes see it.

    ``depth`` is how many rows each index of a lane brings, ``few`` how many of them facts and entities.
    """

    view: View
    words: Words
    scope: Scope
    holdings: Holdings
    indexes: frozenset[str]
    vector: Any = field(default=None, repr=False)
    depth: int = 32
    few: int = 32

    def where(self, index: str) -> str | None:
        """The filter of an index's rows; ``"false"`` where nothing can pass it."""
        table, roles = INDEXES_OF[index]
        if table == "artifacts":
            return self.of_roles(roles)
        stated = self.scope.stated(self.view, "edge_artifact" if index == "fact" else "entity_artifact")
        if stated is not None and not stated:
            return "false"
        within = None if stated is None else among("id", stated)
        return both(within, holding(self.view, self.scope) if index == "fact" else None)

    def of_roles(self, roles: Collection[str]) -> str | None:
        """The filter of artifacts in the scope, of some roles."""
        held = self.holdings.roles
        others = any(held[role] and role not in roles for role in held)
        return both(among("role", sorted(roles)) if others else None, self.within)

    @property
    def within(self) -> str | None:
        """The filter that keeps artifacts of the scope, whatever their role; ``None`` where that is all."""
        return self.scope.artifacts(expiring=self.holdings.expiring)

    @property
    def documents(self) -> int:
        """Whole artifacts that a lane brings: few, for each may be a mebibyte, unless they are what is asked for."""
        return max(DOCUMENTS, self.depth // 8) if self.wholes_alone else DOCUMENTS

    @property
    def wholes_alone(self) -> bool:
        """Whether nothing but whole artifacts is asked for, and passages, which tell of them."""
        return self.indexes <= {"document", "passage"}

    def by_role(self, search: Callable[[str | None, int, bool], Sequence[Places]]) -> dict[str, Ranking]:
        """The artifacts' indexes from one search of all of them; those that it leaves short, from one of their own.

        The search is told which it is: where it goes by a filter of few rows, each row it looks at is dear. Documents
        left short are searched for only if they are what is asked for: their chunks tell of them.
        """
        wanted = [each for each in ARTIFACTS if each in self.indexes and self.holdings.holds(each)]
        if not wanted:
            return {}
        deep = NEAR if self.indexes & GRAPH else DEEP
        depth = max(deep, self.depth) if len(wanted) > 1 else self.depth
        every = search(self.of_roles({role for each in wanted for role in INDEXES_OF[each][1]}), depth, False)
        roles = [self.holdings.rows.of(rows) for rows, _ in every]
        found: dict[str, Ranking] = {}
        for index in wanted:
            enough = self.documents if index == "document" else self.depth
            found[index] = _of(INDEXES_OF[index][1], every, roles, enough)
            held = self.holdings.count(INDEXES_OF[index][1])
            told = index == "document" and not self.wholes_alone
            if not told and len(every[0][0]) >= depth and len(found[index]) < min(enough, held):
                own = search(self.of_roles(INDEXES_OF[index][1]), enough, True)
                found[index] = _of(INDEXES_OF[index][1], own, [self.holdings.rows.of(rows) for rows, _ in own], enough)
        return found


def _of(names: Collection[str], every: Sequence[Places], roles: Sequence[Any], enough: int) -> list[Found]:
    """The best rows of some roles: ``enough`` of each of the searches."""
    wanted = numbers(names)
    best: dict[int, Found] = {}
    for (rows, scores), of in zip(every, roles, strict=True):
        here = np.flatnonzero(np.isin(of, wanted))[:enough]
        parts = (rows[here].tolist(), scores[here].tolist(), of[here].tolist())
        for row, score, role in zip(*parts, strict=True):
            if row not in best or score > best[row].score:
                best[row] = Found("artifacts", score, row, role=ROLES[role])
    return sorted(best.values(), key=lambda each: -each.score)


def places(rows: Any, score: str, sign: float = 1.0, above: float = 0.0) -> Places:
    """What a search brought: where the rows are, and ``above`` plus ``sign`` times its own score."""
    return rows["_rowid"].to_numpy(), above + sign * rows[score].to_numpy()


Lane = Callable[[Asking], Mapping[str, Ranking]]  # by logical index


class Holdings:
    """What a view holds, as far as it decides what has to be asked; each fact is looked up once a view."""

    def __init__(self, view: View) -> None:
        self._view: View = weakref.proxy(view)  # a strong one kept alive every view that was ever asked
        self.split: dict[str, bool] = {}
        self.documents: dict[str, int] = {}
        self._briefs: dict[str, Briefs | None] = {}
        self._again = False

    def asked(self) -> None:
        """Count a question: large tables are kept from a dataset's second one on.

        A million rows take half a second to read, which a command that asks once would not get back.
        """
        dataset = self._view.dataset
        with _mutex:
            again = dataset in _questioned
            _questioned.add(dataset)
            first, self._again = again and not self._again, again or self._again
        if first:
            for name in ("names", "ends", "links", "shelf", "identities"):
                if self.__dict__.get(name, ...) is None:
                    self.__dict__.pop(name, None)
            self._briefs = {}

    def _kept(self, table: str) -> bool:
        return self._again or self._view[table].count() <= LARGE

    def met(self, documents: Mapping[str, int], split: Mapping[str, bool]) -> None:
        """Remember where some documents are, and whether they have chunks: each is met by many queries."""
        if len(self.documents) + len(self.split) > MET:
            self.documents, self.split = {}, {}
        self.documents.update(documents)
        self.split.update(split)

    def briefs(self, table: str) -> Briefs | None:
        """Facts or entities, where they are kept in memory."""
        known = self._briefs  # another thread's question may begin them anew
        if table not in known:
            kept = table != "artifacts" and self._kept(table)
            known[table] = briefs_of(self._view[table], table) if kept else None
        return known[table]

    def places(self, ids: Collection[str]) -> dict[str, int]:
        """Where the documents among some ids are, as far as that is known."""
        if self.shelf is not None:
            return self.shelf.places(ids)
        known = self.documents
        return {id_: known[id_] for id_ in ids if id_ in known}

    @cached_property
    def roles(self) -> Mapping[str, int]:
        """Artifacts by role."""
        return {name: self._view["artifacts"].count(equals("role", name)) for name in ROLES}

    @cached_property
    def rows(self) -> Roles:
        """The role of each artifact's row."""
        return Roles(self._view["artifacts"])

    @cached_property
    def ends(self) -> Ends | None:
        """Who stands in which facts, where it is kept in memory."""
        return ends_of(self._view["edges"]) if self._kept("edges") else None

    @cached_property
    def names(self) -> Names | None:
        """Who is called what, where it is kept in memory."""
        return names_of(self._view["entities"]) if self._kept("entities") else None

    @cached_property
    def links(self) -> Links | None:
        """What states which facts and entities, where that is kept in memory."""
        return links_of(self._view["links"]) if self._kept("links") else None

    @cached_property
    def shelf(self) -> Documents | None:
        """Where documents are, and which have chunks, where that is kept in memory."""
        return documents_of(self._view["artifacts"]) if self._kept("artifacts") else None

    @cached_property
    def identities(self) -> Identities | None:
        """Which artifact is where, where that is kept in memory."""
        return identities_of(self._view["artifacts"]) if self._kept("artifacts") else None

    @cached_property
    def expiring(self) -> bool:
        """Whether any artifact ever runs out."""
        return bool(self._view["artifacts"].count(not_null("expires_at")))

    @cached_property
    def ending(self) -> bool:
        """Whether any fact has an end."""
        return bool(self._view["edges"].count(not_null("invalid_at")))

    @cached_property
    def lexical(self) -> bool:
        """Whether any artifact is indexed under other words than its own."""
        return bool(self._view["artifacts"].count(not_null("lexical")))

    @cached_property
    def edges(self) -> int:
        """How many facts there are, ended ones too."""
        return self._view["edges"].count()

    @cached_property
    def entities(self) -> int:
        """How many entities there are."""
        return self._view["entities"].count()

    def count(self, roles: Collection[str]) -> int:
        """How many artifacts have one of the roles."""
        return sum(self.roles[role] for role in roles)

    def holds(self, index: str) -> bool:
        """Whether an index has any rows at all."""
        if index in {"fact", "entity"}:
            return bool(self.edges if index == "fact" else self.entities)
        if index == "document":
            return bool(self.roles["document"] and self.roles["chunk"])
        return bool(self.count(INDEXES_OF[index][1]))


_questioned: set[str] = set()  # datasets that were asked something
_known: weakref.WeakKeyDictionary[View, Holdings] = weakref.WeakKeyDictionary()
_mutex = threading.Lock()


def holdings(view: View) -> Holdings:
    """What a view holds."""
    with _mutex:
        found = _known.get(view)
        if found is None:
            found = _known[view] = Holdings(view)
        return found


def holding(view: View, scope: Scope) -> str | None:
    """The filter of facts by time; none where no fact ever ended: held against each, it is half of a search."""
    today = scope.as_of is None and scope.known_at is None
    return None if today and not holdings(view).ending else scope.edges(view)
