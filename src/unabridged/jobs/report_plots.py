"""Plots as SVG, drawn from numbers: lines over time, columns by size, bars by name. No script, no library.

Colours and fonts come from the page's style sheet by class, so that a plot follows the reader's light or dark
mode. Every mark has a ``<title>``, which browsers show on hovering and screen readers read.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["bars", "columns", "lines", "nice_ticks", "short"]

_WIDTH, _HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 30
_INNER_WIDTH, _INNER_HEIGHT = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_BAR, _NAMES = 26, 190  # a bar's height, and the room for its name


def lines(
    points: Sequence[tuple[float, float]],
    *,
    label: str,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    breaks: Sequence[float] = (),
) -> str:
    """A line over time with the area below it; ``points`` in order, ``breaks`` are where a new run began.

    >>> lines([(0, 1), (1, 3)], label="rows", x_text=str, y_text=str).count("<circle")
    2
    """
    last = max(x for x, _ in points) or 1.0
    ticks = nice_ticks(max(y for _, y in points))
    top = ticks[-1]

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + _INNER_WIDTH * x / last, _TOP + _INNER_HEIGHT * (1 - y / top)

    drawn = [at(x, y) for x, y in points]
    path = " ".join(f"{'L' if n else 'M'}{x:.1f} {y:.1f}" for n, (x, y) in enumerate(drawn))
    ground = _TOP + _INNER_HEIGHT
    parts = [_grid(ticks, top, y_text)]
    parts += [f'<path class="run" d="M{at(x, 0)[0]:.1f} {_TOP}V{ground}"/>' for x in breaks]
    parts.append(f'<path class="area" d="{path} L{drawn[-1][0]:.1f} {ground} L{drawn[0][0]:.1f} {ground}Z"/>')
    parts.append(f'<path class="line" d="{path}"/>')
    parts += [
        f'<circle class="dot" cx="{dx:.1f}" cy="{dy:.1f}" r="5">{_title(f"{x_text(x)}: {y_text(y)}")}</circle>'
        for (dx, dy), (x, y) in zip(drawn, points, strict=True)
    ]
    for tick in _time_ticks(last):
        parts.append(_text(at(tick, 0)[0], _HEIGHT - 8, x_text(tick), "middle" if tick < 0.97 * last else "end"))
    return _svg(label, parts, _HEIGHT)


def columns(counts: Sequence[tuple[str, int]], *, label: str, unit: str) -> str:
    """Columns in the order given: how many of each size.

    >>> columns([("1", 5), ("2 to 3", 1)], label="lengths", unit="rows").count("<rect")
    2
    """
    ticks = nice_ticks(max(count for _, count in counts))
    top, step = ticks[-1], _INNER_WIDTH / len(counts)
    width = min(step * 0.8, 64)
    parts = [_grid(ticks, top, short)]
    every = math.ceil(len(counts) / 12)
    for n, (name, count) in enumerate(counts):
        height = _INNER_HEIGHT * count / top
        x, y = _LEFT + step * n + (step - width) / 2, _TOP + _INNER_HEIGHT - height
        title = _title(f"{name}: {count:,} {unit}")
        size = f'width="{width:.1f}" height="{height:.1f}"'
        parts.append(f'<rect class="column" x="{x:.1f}" y="{y:.1f}" {size} rx="2">{title}</rect>')
        if n % every == 0:
            parts.append(_text(x + width / 2, _HEIGHT - 8, name.split(" ")[0], "middle"))
    return _svg(label, parts, _HEIGHT)


def bars(counts: Mapping[str, int], *, label: str, unit: str, mark: str = "bad") -> str:
    """Bars by name, the longest first, each with its number beside it.

    >>> bars({"overloaded": 3}, label="failures", unit="rows").count("<rect")
    1
    """
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    room = _WIDTH - _NAMES - 80
    most = ordered[0][1] or 1
    parts = []
    for n, (name, count) in enumerate(ordered):
        y, width = n * _BAR + 4, max(room * count / most, 2)
        parts.append(_text(_NAMES - 8, y + 13, name, "end"))
        title = _title(f"{name}: {count:,} {unit}")
        parts.append(
            f'<rect class="{mark}" x="{_NAMES}" y="{y}" width="{width:.1f}" height="{_BAR - 8}" rx="2">{title}</rect>'
        )
        parts.append(_text(_NAMES + width + 6, y + 13, f"{count:,}", "start"))
    return _svg(label, parts, len(ordered) * _BAR + 4)


def nice_ticks(most: float) -> list[float]:
    """Round numbers from 0 to at least ``most``, four or five of them.

    >>> nice_ticks(870), nice_ticks(3), nice_ticks(0)
    ([0.0, 250.0, 500.0, 750.0, 1000.0], [0.0, 1.0, 2.0, 3.0], [0.0, 1.0])
    """
    if most <= 0:
        return [0.0, 1.0]
    rough = most / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough)
    if float(most).is_integer() and most < 5:
        step = 1.0
    return [step * n for n in range(math.ceil(most / step - 1e-9) + 1)]


def _time_ticks(last: float) -> list[float]:
    """Round moments up to ``last`` seconds: whole minutes and hours where it is long.

    >>> _time_ticks(5.6), _time_ticks(200)
    ([0, 2, 4], [0, 60, 120, 180])
    """
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
    step = next((step for step in steps if last / step <= 5), math.ceil(last / 5 / 14400) * 14400)
    return [step * n for n in range(math.floor(last / step) + 1)]


def short(value: float) -> str:
    """A number for an axis.

    >>> short(1500000), short(12000), short(0.25), short(7)
    ('1.5 M', '12 k', '0.25', '7')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _grid(ticks: Sequence[float], top: float, text: Callable[[float], str]) -> str:
    parts = []
    for tick in ticks:
        y = _TOP + _INNER_HEIGHT * (1 - tick / top)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(_text(_LEFT - 8, y + 4, text(tick), "end"))
    return "".join(parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _svg(label: str, parts: Sequence[str], height: float) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )
