"""Time series that come with a text: checked, and put into words by rule (SPEC A20, A27)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError
from unabridged.memory.series import LARGEST
from unabridged.memory.values import checked_name, moment

if TYPE_CHECKING:
    from unabridged.memory.series import Stats

__all__ = ["listed", "observation_of", "points_of", "window_of"]

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)")
_LONGEST = 31_600_000_000.0  # seconds in a thousand years: nobody has an older series, and moments have an end
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def listed(given: Any) -> tuple[Mapping[str, Any], ...]:
    """The series of a request, checked: each has a name, and its points times and finite values."""
    series = (given,) if isinstance(given, Mapping) else tuple(given or ())
    for each in series:
        if not isinstance(each, Mapping) or "name" not in each:
            raise InputError("timeseries: expected objects with name and points")
        checked_name(each["name"], "timeseries.name")
        points_of(each)
        window_of(each.get("window"))
    return series


def points_of(given: Mapping[str, Any]) -> list[tuple[dt.datetime, float]]:
    """The points of a series: ``(time, value)`` each, or an object with both."""
    found = []
    for each in given.get("points", ()):
        if not isinstance(each, Mapping | list | tuple) or len(each) != 2:
            raise InputError("timeseries.points: expected (time, value), or an object with both")
        when, value = (each.get("time"), each.get("value")) if isinstance(each, Mapping) else each
        at = moment(when, "timeseries.points.time")
        if at is None or isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
            raise InputError("timeseries.points: a point needs a time and a finite number")
        found.append((at, float(value)))
    return found


def window_of(given: Any) -> dt.timedelta | None:
    """How much of a series an observation is of: a duration, seconds, or such as ``7d``, ``24h``."""
    if given is None or isinstance(given, dt.timedelta):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        return _duration(given)
    found = _DURATION.fullmatch(str(given).strip())
    if not found:
        raise InputError(f"timeseries.window: found {given!r}, expected seconds, or such as 7d, 24h, 30min")
    return _duration(float(found[1]) * _SECONDS[found[2]])


def _duration(seconds: float) -> dt.timedelta:
    if not 0 < seconds <= _LONGEST:
        raise InputError("timeseries.window: expected more than nothing, and no more than a thousand years")
    return dt.timedelta(seconds=seconds)


def observation_of(given: Mapping[str, Any], stats: Stats) -> tuple[str, str]:
    """The text of an observation, and the query that says which series and window it is of."""
    name, unit = given["name"], f" {given['unit']}" if given.get("unit") else ""
    since, until = stats.since, stats.until
    span = f"from {since:%Y-%m-%dT%H:%M:%SZ} to {until:%Y-%m-%dT%H:%M:%SZ}"
    values = {n: f"{getattr(stats, n):g}{unit}" for n in ("first", "last", "minimum", "maximum", "mean")}
    change = stats.change or 0.0
    way = "rose" if change > 0 else "fell" if change < 0 else "did not change"
    moved = f"It {way} by {abs(change):g}{unit}" if change else "It did not change"
    text = (
        f"{name} has {stats.count} {'point' if stats.count == 1 else 'points'} {span}. "
        f"{moved}, from {values['first']} to {values['last']}. "
        f"Its lowest value was {values['minimum']}, its highest {values['maximum']}, its mean {values['mean']}."
    )
    return text, f"{name} {span}"
