"""A loopback server in a process of its own: it prints its base URL, and serves until its input ends.

``--dialect chat`` is a chat server that reads simple English, every other dialect an embeddings server.
"""

from __future__ import annotations

import argparse
import sys

from unabridged.testing import ChatServer, LoopbackProvider, RateLimit
from unabridged.testing.dialects import DIALECTS
from unabridged.types import Limit


def main(arguments: list[str] | None = None) -> None:
    """Start a server as the arguments say, print its URL, and stop at the end of the input."""
    parser = argparse.ArgumentParser(prog="python -m unabridged.testing", description=__doc__)
    parser.add_argument("--dialect", default="openai", choices=["chat", *sorted(DIALECTS)])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dimensions", type=int, default=32)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--input-tokens", type=int, help="the limit of one text")
    parser.add_argument("--request-inputs", type=int, help="texts in one request")
    parser.add_argument("--rate", type=float, help="requests a second")
    given = parser.parse_args(arguments)
    with _server(given) as server:
        print(server.url, flush=True)  # noqa: T201
        for _ in sys.stdin:
            pass


def _server(given: argparse.Namespace) -> LoopbackProvider | ChatServer:
    rate = None if given.rate is None else RateLimit(requests=given.rate)
    if given.dialect == "chat":
        return ChatServer(latency=given.latency, rate=rate, port=given.port)
    return LoopbackProvider(
        given.dialect,
        limit=Limit(input_tokens=given.input_tokens, request_inputs=given.request_inputs),
        dimensions=given.dimensions,
        latency=given.latency,
        rate=rate,
        port=given.port,
        record=False,
    )


if __name__ == "__main__":
    main()
