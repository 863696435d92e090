"""Write ``server.log``: about 200 KB of a busy evening on an invented server, the same on every machine.

    python examples/make_log.py            # writes server.log beside this file
    python examples/make_log.py other.log  # writes there

No clock and no random seed of the system: a small generator of our own makes every choice, so that the
file, and with it every vector made of it, can be compared between machines.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 200_000  # bytes
START = datetime(2026, 3, 14, 17, 59, 58, tzinfo=UTC)
PATHS = ("/", "/books", "/books/{n}", "/books/{n}/pages/{m}", "/search?q=tides", "/login", "/cart", "/health")
AGENTS = ("curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64)", "kiosk/2.1", "feed-reader/0.9")
EVENTS = (
    "INFO  cache: shelf {n} warmed, {m} covers",
    "INFO  mail: confirmation for order {n} handed over",
    "WARN  search: the index is {m} s behind the catalogue",
    "WARN  pool: {m} of 40 connections in use",
    "ERROR payment: order {n} refused by the bank, code {m}; the customer was told",
)
TRACE = (
    "ERROR worker {m}: unhandled",
    "Traceback (most recent call last):",
    '  File "/srv/shop/orders.py", line {n}, in close',
    "    total = sum(line.price for line in order.lines)",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
)


class Dice:
    """A linear congruential generator with the constants of Numerical Recipes: small, and the same everywhere."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def roll(self, sides: int) -> int:
        """A number from 0 to ``sides - 1``."""
        self._state = (self._state * 1_664_525 + 1_013_904_223) % 2**32
        return (self._state >> 16) * sides >> 16


def lines(dice: Dice) -> Iterator[str]:
    """The log, without end."""
    now = START
    while True:
        now += timedelta(milliseconds=20 + dice.roll(2400))
        stamp = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        kind = dice.roll(100)
        numbers = {"n": 1 + dice.roll(9000), "m": 1 + dice.roll(60)}
        if kind < 88:
            path = PATHS[dice.roll(len(PATHS))].format(**numbers)
            status = (200, 200, 200, 200, 304, 404, 500)[dice.roll(7)]
            address = f"10.{dice.roll(4)}.{dice.roll(256)}.{1 + dice.roll(254)}"
            agent = AGENTS[dice.roll(len(AGENTS))]
            yield f'{stamp} {address} "GET {path}" {status} {80 + dice.roll(90_000)} {1 + dice.roll(900)}ms "{agent}"'
        elif kind < 99:
            yield f"{stamp} {EVENTS[dice.roll(len(EVENTS))].format(**numbers)}"
        else:
            yield "\n".join([f"{stamp} {TRACE[0]}", *TRACE[1:]]).format(**numbers)


def log(size: int = SIZE) -> str:
    """Whole lines, ``size`` bytes at the most."""
    made, left = [], size
    for line in lines(Dice(1)):
        left -= len(line) + 1
        if left < 0:
            return "\n".join(made) + "\n"
        made.append(line)
    raise AssertionError


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("server.log")
    target.write_text(log(), encoding="utf-8", newline="\n")
    print(f"{target}: {target.stat().st_size:,} bytes")
