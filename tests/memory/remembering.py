"""What the tests of remember share: a real chat server on loopback, and a memory that asks it."""

from __future__ import annotations

import contextlib
import re

from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat
from unabridged.testing import ChatServer, Trouble

LONG = "\n\n".join(f"Person{n} works at Company{n}. Person{n} lives in City{n}." for n in range(12))
SMALL = {"size": 72, "overlap_percent": 0}  # 12 paragraphs of 19 tokens: four chunks of three


@contextlib.contextmanager
def asking(place, *, server=None, cache=False, concurrency=8, **options):
    """A memory at a place whose chat is a server's; ``server`` and ``memory`` are closed at the end."""
    own = ChatServer() if server is None else None
    running = own.start() if own is not None else server
    asker = Asker(Chat("tiny", base_url=running.url), cache=cache, concurrency=concurrency)
    try:
        with Memory.open(place, chat=asker, **options) as memory:
            yield memory, running
    finally:
        asker.close()
        if own is not None:
            own.stop()


def stages(server):
    """How many requests of each kind a server answered."""
    found = {"extract": 0, "summarize": 0, "compare": 0}
    for each in server.requests:
        if each.status == 200:
            keys = set((each.schema or {}).get("properties", ()))
            found["extract" if "entities" in keys else "compare" if "decisions" in keys else "summarize"] += 1
    return found


def refuse(server, pattern):
    """Refuse, for good, what is asked about ``pattern``; call what comes back to lift it."""
    body = {"error": {"message": "The request was rejected.", "code": "content_policy_violation"}}
    strikes, on = re.compile(pattern, re.DOTALL), [True]
    when = lambda seen: on[0] and bool(strikes.search(seen.prompt))
    server.trouble(Trouble(status=400, body=body, times=None, when=when))
    return lambda: on.__setitem__(0, False)
