"""What a request may bring or ask for beside its text: web searches, time series, an image, distant facts."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.advice import cause
from unabridged.errors import UnabridgedError
from unabridged.memory.remember.connect import connect, connected
from unabridged.memory.remember.draft import Draft, drafted
from unabridged.memory.remember.image import remembered_image
from unabridged.memory.remember.plan import Unit, derived_id
from unabridged.memory.remember.series import observation_of, points_of, window_of
from unabridged.memory.series import stats_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.journal import Journal
    from unabridged.memory.remember.run import Run
    from unabridged.memory.remember.store import Outcome

__all__ = ["Extras"]


class Extras:
    """The extras of one request, in the journal where they have to be the same when it goes on."""

    def __init__(self, run: Run, journal: Journal) -> None:
        self.run = run
        self.plan = run.plan
        self.memory = run.memory
        self.journal = journal
        self.series: list[str] = []

    # -- before anything is stored ------------------------------------------------------------------

    def read(self, drafts: dict[int, Draft]) -> list[Unit]:
        """The units of web searches and observations, with their drafts in ``drafts``."""
        more = self.journal.more
        if "web" not in more:
            more["web"] = self._searched(drafts)
        if "observations" not in more:
            more["observations"] = self._observed()
        units = [*map(self._web_unit, more["web"]), *map(self._observation_unit, more["observations"])]
        if self.run.asker is None:
            drafts.update({unit.at: Draft() for unit in units if unit.at not in drafts})
        else:
            drafted(self.run, units, drafts, self.journal.keep)
        if self.plan.request.connect and self.plan.chunked and self.run.asker is not None and "connect" not in more:
            more["connect"] = connect(self.run, drafts)
        return units

    def _next(self, at: int, what: str) -> tuple[int, str]:
        number = len(self.plan.units) + at
        return number, derived_id(self.plan.id, number + 1, what)

    def _web_unit(self, found: Mapping[str, Any]) -> Unit:
        at, id_ = self._next(found["at"], "web_search")
        more = {"query": found["query"], "parent_id": found["parent"], "label": f" (web search {found['at'] + 1})"}
        return Unit(at, id_, "web_search", found["text"], provenance={"sources": found["sources"]}, **more)

    def _observation_unit(self, found: Mapping[str, Any]) -> Unit:
        at, id_ = self._next(len(self.journal.more["web"]) + found["at"], "observation")
        more = {"query": found["query"], "parent_id": self.plan.id, "label": f" (observation {found['at'] + 1})"}
        return Unit(at, id_, "observation", found["text"], **more)

    # -- web searches -------------------------------------------------------------------------------

    def _searched(self, drafts: Mapping[int, Draft]) -> list[dict[str, Any]]:
        """A search for each key entity of the text: those that most facts are about, then the first named."""
        wanted = self.plan.request.web_search
        search = getattr(self.memory, "websearch", None)
        if not wanted:
            return []
        if search is None:
            self.run.note("no web search: the memory was opened without a search provider")
            return []
        chosen = _key_entities(drafts, wanted)
        with ThreadPoolExecutor(max(1, len(chosen)), thread_name_prefix="unabridged-search") as pool:
            replies = list(pool.map(lambda each: self._search(search, each[0]), chosen))
        found: list[dict[str, Any]] = []
        for (name, at), reply in zip(chosen, replies, strict=True):
            if reply is not None and str(reply.text).strip():
                made = {"query": _query(name), "text": str(reply.text), "parent": self.plan.units[at].id}
                found.append({"at": len(found), **made, "sources": _sources(reply)})
        return found

    def _search(self, search: Any, name: str) -> Any:
        self.run.check()
        since = time.monotonic()
        try:
            reply = search.search(_query(name))
        except UnabridgedError as error:
            self.run.note(f"a web search failed and was left out: {cause(error)}")
            return None
        self.run.step("web_search", "", since=since)
        return reply

    # -- time series --------------------------------------------------------------------------------

    def _observed(self) -> list[dict[str, Any]]:
        """A text for each series whose observations are wanted: of its points with the new ones, by rule."""
        found: list[dict[str, Any]] = []
        for given in self.plan.request.timeseries:
            new = points_of(given)
            if given.get("observations"):
                known = self.memory.series.named(given["name"])
                points = sorted([*(self.memory.series.points(known) if known else ()), *new])
                window = window_of(given.get("window"))
                if window is not None and points:
                    points = [point for point in points if points[-1][0] - point[0] < window]
                if points:
                    text, query = observation_of(given, stats_of(points))
                    found.append({"at": len(found), "text": text, "query": query, "name": given["name"]})
        return found

    def keep_series(self, document: Artifact) -> None:
        """The series of the request, anchored to its artifact, and their points: once, however often it is run."""
        for at, given in enumerate(self.plan.request.timeseries):
            session, unit = self.plan.request.artifact["session_id"], given.get("unit")
            series = self.memory.series.create(given["name"], unit=unit, artifact=document, session_id=session)
            self.memory.series.append(series, points_of(given), once=f"{self.plan.id}:{at}")
            self.series.append(series.id)

    def anchored(self, units: Iterable[Unit]) -> list[Unit]:
        """The units with the ids of the series that they observe."""
        names = {given["name"]: id_ for given, id_ in zip(self.plan.request.timeseries, self.series, strict=True)}
        of = [names[each["name"]] for each in self.journal.more.get("observations", ())]
        observed = iter(of)
        return [replace(unit, series=next(observed)) if unit.role == "observation" else unit for unit in units]

    # -- after everything ---------------------------------------------------------------------------

    def finished(self, document: Artifact, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """The last parts: facts between chunks, the image; what the answer says of them."""
        if found := self.journal.more.get("connect"):
            connected(self.run, found, outcomes)
        picture = self.plan.request.image
        image = None if picture is None else remembered_image(self.run, picture, document, outcomes)
        return {"series": tuple(self.series), "image_id": image}


def _key_entities(drafts: Mapping[int, Draft], most: int) -> list[tuple[str, int]]:
    """(name, unit) of the entities that most facts touch, in the unit that names them first."""
    facts: Counter[str] = Counter()
    first: dict[str, tuple[str, int]] = {}
    for at in sorted(drafts):
        draft = drafts[at]
        for entity in draft.entities:
            first.setdefault(entity.id, (entity.name, at))
        for edge in draft.edges:
            facts.update({draft.entities[edge.source].id, draft.entities[edge.target].id})
    ranked = sorted(first, key=lambda id_: -facts[id_])  # sorting is stable: of equals the first named
    return [first[id_] for id_ in ranked[:most]]


def _query(name: str) -> str:
    return f"{name} latest news"


def _sources(reply: Any) -> list[Any]:
    from unabridged.memory.plain import plain

    return [each if isinstance(each, str) else plain(each) for each in getattr(reply, "sources", ())]
