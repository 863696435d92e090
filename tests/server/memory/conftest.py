"""One application over a memory of its own, and a client that speaks to it as a program would."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[2]))

from on_a_port import on_a_port

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


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A whole server on a port."""
    with on_a_port(_make_app(tmp_path_factory.mktemp("served"))) as found:
        yield found


@pytest.fixture(scope="session")
def make_app():
    return _make_app


@pytest.fixture(scope="session")
def serving():
    return on_a_port
