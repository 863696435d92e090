"""One application over a memory of its own, and a client that speaks to it as a program would."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest
import uvicorn
from starlette.testclient import TestClient

from unabridged.config import load_config
from unabridged.server import ServerSettings, create_app


def _make_app(folder, *, keys=None, **more):
    config = load_config(
        {
            "embedding": {"provider": "hashing", "dimensions": 256, "cache": False},
            "dbPath": str(folder / "place"),
            **more,
        }
    )
    return create_app(config, settings=ServerSettings(keys_file=str(folder / "keys.json"), keys=keys))


@pytest.fixture(scope="module")
def apps(tmp_path_factory):
    """Applications by name, each over a place of its own, closed at the end of the module."""
    clients = []

    def open_one(name="app", **options):
        client = TestClient(_make_app(tmp_path_factory.mktemp(name), **options), base_url="http://127.0.0.1")
        client.__enter__()
        clients.append(client)
        return client

    yield open_one
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def client(apps):
    return apps()


@pytest.fixture(scope="module")
def memory(client):
    """The memory behind the client, to put things in."""
    return client.app.state.server.memory("default", create=True)


@contextlib.contextmanager
def _serving(app):
    """The application under uvicorn, on a free port; its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    until = time.monotonic() + 30
    while not running.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(30)
        listening.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A whole server on a port."""
    with _serving(_make_app(tmp_path_factory.mktemp("served"))) as found:
        yield found


@pytest.fixture(scope="session")
def make_app():
    return _make_app


@pytest.fixture(scope="session")
def serving():
    return _serving
