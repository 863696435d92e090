"""An application under uvicorn, on a free port of loopback: what programs speak to over real HTTP."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def on_a_port(app: Any, *, grace: int = 5) -> Iterator[str]:
    """Its address, while the block lasts; ``grace`` is the seconds that requests under way get at the end."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=grace)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    until = time.monotonic() + 60
    while not running.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(30)
        listening.close()
