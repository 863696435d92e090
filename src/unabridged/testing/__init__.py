"""For tests, ours and yours: servers for embeddings and chat on 127.0.0.1 that behave and misbehave like real ones.

>>> from unabridged.testing import LoopbackProvider, Trouble
>>> from unabridged.types import Limit
>>> with LoopbackProvider("voyage", limit=Limit(input_tokens=512), latency=0.001) as server:
...     server.url.startswith("http://127.0.0.1:")
True

From another process, for a benchmark: ``python -m unabridged.testing --dialect openai --latency 0.05``.
"""

from unabridged.testing.chat import AskedChat, ChatRule, ChatServer
from unabridged.testing.loopback import LoopbackProvider, Seen
from unabridged.testing.search import FakeSearch
from unabridged.testing.troubles import RateLimit, Trouble
from unabridged.testing.understander import Understander
from unabridged.testing.vectors import vector_for

__all__ = [
    "AskedChat",
    "ChatRule",
    "ChatServer",
    "FakeSearch",
    "LoopbackProvider",
    "RateLimit",
    "Seen",
    "Trouble",
    "Understander",
    "vector_for",
]
