"""A server under uvicorn on loopback, in a thread: what SDKs speak to over real HTTP."""

from __future__ import annotations

import contextlib
import threading
from functools import partial

import httpx

from unabridged.config import load_config
from unabridged.server import ServerSettings, create_app
from unabridged.server.run import Stopping, listen

# A machine that does many things at once may need longer than httpx's five seconds.
PATIENCE = 60.0
get, post = partial(httpx.get, timeout=PATIENCE), partial(httpx.post, timeout=PATIENCE)
HASHING = {"embedding": {"provider": "hashing", "dimensions": 64, "cache": False}}


class Served:
    """A running server: its address, and the application behind it."""

    def __init__(self, app, port, stopping):
        self.app = app
        self.state = app.state.server
        self.port = port
        self.root = f"http://127.0.0.1:{port}"
        self.url = f"{self.root}/v1"
        self.stopping = stopping


def client_of(served, **options):
    """A client with as much patience."""
    return httpx.Client(base_url=served.root, timeout=PATIENCE, **options)


@contextlib.contextmanager
def serving(folder, config=None, **settings):
    """Serve a configuration until the block ends; nothing of the user's own is touched."""
    cached = {"embedding": {**HASHING["embedding"], "cache": str(folder / "cache")}}
    loaded = load_config({"dbPath": str(folder / "memory"), **(cached if config is None else config)})
    given = {"port": 0, "keys_file": str(folder / "keys.json"), "stop_grace": 5.0, **settings}
    chosen = ServerSettings.of(loaded, **given)
    app = create_app(loaded, settings=chosen)
    socket = listen(chosen)
    stopping = Stopping(app, chosen)
    ready = threading.Event()
    app.state.server.started = ready.set
    thread = threading.Thread(target=stopping.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        assert ready.wait(60), "the server did not start"
        yield Served(app, socket.getsockname()[1], stopping)
    finally:
        stopping.should_exit = True
        thread.join(30)
        socket.close()
