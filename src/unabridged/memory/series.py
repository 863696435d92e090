"""Time series: a row for each in the commit, its points append-only outside it, statistics by window."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import InputError, NotFound
from unabridged.memory.gather import identity
from unabridged.memory.outside import Outside
from unabridged.memory.paging import Page, metadata_where, optional, page, span_where
from unabridged.memory.records import Point, Series, Session
from unabridged.memory.settle import changed_rows, fetch
from unabridged.memory.values import checked_metadata, checked_name, digest, moment, new_id, now
from unabridged.memory.where import among, batched, both, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from unabridged.memory.commits import Draft, Source, Store

__all__ = ["LARGEST", "SeriesShelf", "Stats", "stats_of"]

LARGEST = 1e140  # a point's value at the most: statistics square it, and add up a million such squares


@dataclass(frozen=True, slots=True)
class Stats:
    """What the points of a window say. ``change`` is last less first, ``trend`` the slope of a line a day."""

    count: int
    first: float | None = None
    last: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    deviation: float | None = None
    change: float | None = None
    trend: float | None = None
    since: dt.datetime | None = None
    until: dt.datetime | None = None


class SeriesShelf:
    """The series of a memory."""

    def __init__(self, store: Store, source: Source) -> None:
        self._store = store
        self._source = source
        self._points: Outside[Point] = Outside(store, "points")

    def create(
        self,
        name: str,
        *,
        unit: str | None = None,
        artifact: Any = None,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Series:
        """The series of that name: made, or the one that is there."""
        checked_name(name, "series name")
        if session_id is not None:
            checked_name(session_id, "session_id")
        made = Series(
            id=new_id(),
            name=name,
            created_at=now(),
            unit=unit,
            artifact_id=None if artifact is None else identity(artifact),
            session_id=session_id,
            metadata=checked_metadata(metadata),
        )

        def work(draft: Draft) -> Series:
            known: list[Series] = draft.view.records("series", equals("name", name))
            if known:
                return known[0]
            if made.artifact_id and not fetch(draft.view, "artifacts", [made.artifact_id]):
                raise NotFound("the artifact that should anchor the series is not in the dataset")
            if session_id is not None and not fetch(draft.view, "sessions", [session_id]):
                draft.append("sessions", [Session(id=session_id, created_at=made.created_at)])
            draft.append("series", [made])
            return made

        return self._store.commit(work)

    def get(self, series_id: str) -> Series:
        """One series by id; :class:`~unabridged.errors.NotFound` if it is not there."""
        found = self._source.ask(lambda view: view.records("series", equals("id", series_id)))
        if not found:
            raise NotFound("no series of that id is in the dataset")
        series: Series = found[0]
        return series

    def named(self, name: str) -> Series | None:
        """The series of that name."""
        return next(iter(self._source.ask(lambda view: view.records("series", equals("name", name)))), None)

    def append(self, series: Series | str, points: Iterable[tuple[Any, float]], *, once: str | None = None) -> int:
        """Add (time, value) points; how many. Nothing is ever overwritten.

        ``once`` names the request that adds them: added again under the same name, they are there once.
        """
        key = self.get(identity(series)).id
        rows = [Point(id=new_id(), series_id=key, time=_time(t), value=_value(v)) for t, v in points]
        if once is None:
            self._points.append(rows)
        else:
            self._points.put([replace(row, id=digest(once, key, str(at))[:32]) for at, row in enumerate(rows)])
        return len(rows)

    def points(self, series: Series | str, *, since: Any = None, until: Any = None) -> list[tuple[dt.datetime, float]]:
        """The points of a window (``since`` inclusive, ``until`` exclusive), in time's order."""
        where = both(equals("series_id", identity(series)), span_where("time", since, until))
        return sorted((point.time, point.value) for point in self._points.list(where))

    def stats(self, series: Series | str, *, since: Any = None, until: Any = None) -> Stats:
        """What the points of one window say."""
        return stats_of(self.points(series, since=since, until=until))

    def windows(
        self, series: Series | str, width: dt.timedelta, *, since: Any = None, until: Any = None
    ) -> list[tuple[dt.datetime, Stats]]:
        """The same for each window of a width, aligned to the epoch; windows without a point are left out."""
        if width <= dt.timedelta(0):
            raise InputError("width: a window must be longer than nothing")
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        parts: dict[int, list[tuple[dt.datetime, float]]] = {}
        for point in self.points(series, since=since, until=until):
            parts.setdefault((point[0] - epoch) // width, []).append(point)
        try:
            return [(epoch + at * width, stats_of(points)) for at, points in sorted(parts.items())]
        except OverflowError:
            raise InputError(
                "width: such a window would begin before there are moments; choose a shorter one"
            ) from None

    def delete(self, series: Series | str) -> None:
        """Remove a series and its points; its observations stay, without it (SPEC A20)."""
        key = self.get(identity(series)).id

        def work(draft: Draft) -> None:
            observed = fetch(draft.view, "artifacts", self._observed(draft, key))
            rows = [replace(each, series_id=None) for each in observed.values()]
            draft.merge("artifacts", changed_rows("artifacts", rows, ["series_id"]))
            draft.delete("series", equals("id", key))

        self._store.commit(work)
        self._points.delete(equals("series_id", key))

    def _observed(self, draft: Draft, key: str) -> list[str]:
        found = draft.view.rows("artifacts", equals("series_id", key), ["id"])
        ids: list[str] = found["id"].to_pylist()
        return ids

    def forget(self, series: Iterable[str]) -> None:
        """Remove the points of series whose rows are gone."""
        for part in batched(series):
            self._points.delete(among("series_id", part))

    def sweep(self) -> int:
        """Remove points whose series is gone (a process was killed between the two); how many."""
        rows: pa.Table = self._store.place.open("points", fenced=False).read(None, ["series_id"])
        known = set(self._source.ask(lambda view: view.rows("series", None, ["id"]))["id"].to_pylist())
        orphans = [each for each in rows["series_id"].to_pylist() if each not in known]
        if orphans:
            self._points.delete(among("series_id", dict.fromkeys(orphans)))
        return len(orphans)

    def list(
        self,
        *,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 50,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Series]:
        """A page of series, in the order in which they were made."""
        where = both(*optional(session_id=session_id), metadata_where(metadata))
        return self._source.ask(
            lambda view: page(view, "series", where, limit=limit, cursor=cursor, newest_first=newest_first)
        )


def _time(value: Any) -> dt.datetime:
    time = moment(value, "time")
    if time is None:
        raise InputError("time: a point needs one")
    return time


def _value(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not abs(value) <= LARGEST:
        raise InputError(f"value: a point's value must be a finite number, at most {LARGEST:g}")
    return float(value)


def stats_of(points: list[tuple[dt.datetime, float]]) -> Stats:
    """What some points say, in time's order."""
    if not points:
        return Stats(count=0)
    values = np.array([value for _, value in points])
    days = np.array([(time - points[0][0]).total_seconds() / 86_400 for time, _ in points])
    spread = float(((days - days.mean()) ** 2).sum())
    slope = float(((days - days.mean()) * (values - values.mean())).sum()) / spread if spread else None
    return Stats(
        count=len(points),
        first=points[0][1],
        last=points[-1][1],
        minimum=float(values.min()),
        maximum=float(values.max()),
        mean=float(values.mean()),
        deviation=float(values.std()),
        change=points[-1][1] - points[0][1],
        trend=slope,
        since=points[0][0],
        until=points[-1][0],
    )
