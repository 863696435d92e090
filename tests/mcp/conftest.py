"""MCP as clients meet it: a real process on stdio, a real server on a port, and the same server in this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

sys.path.insert(0, str(Path(__file__).parents[1]))

from on_a_port import on_a_port

from unabridged.config import load_config
from unabridged.mcp import create_server
from unabridged.mcp.place import Own
from unabridged.server import ServerSettings, create_app


def _configured(folder, **more):
    settings = {"embedding": {"provider": "hashing", "dimensions": 64, "cache": False}, "dbPath": str(folder / "place")}
    return load_config({**settings, **more})


@pytest.fixture(scope="session")
def configured():
    return _configured


@pytest.fixture(scope="session")
def serving():
    return on_a_port


@pytest.fixture
def own(tmp_path):
    """A place of this process."""
    place = Own(_configured(tmp_path))
    yield place
    place.close()


@pytest.fixture
def server(own):
    return create_server(own)


@pytest.fixture
def address(tmp_path):
    """A whole server without keys, on loopback."""
    settings = ServerSettings(keys_file=str(tmp_path / "keys.json"))
    with on_a_port(create_app(_configured(tmp_path), settings=settings)) as found:
        yield found


@pytest.fixture
def stdio(tmp_path):
    """How a client starts ``unabridged mcp``."""
    script = "from unabridged.cli import main; main()"
    place = str(tmp_path / "place")
    args = ["-c", script, "mcp", "--uri", place, "--model", "hashing"]
    return StdioServerParameters(command=sys.executable, args=args, env={**os.environ})


@pytest.fixture(params=["stdio", "http"])
def transport(request):
    """What the official client connects to: a process, or an address."""
    if request.param == "stdio":
        return request.getfixturevalue("stdio")
    return request.getfixturevalue("address") + "/mcp"


async def _call(client, name, **given):
    """A tool's structured content; a failure is an error here."""
    done = await client.call_tool(name, given)
    assert not done.is_error, done.content[0].text
    return done.structured_content


@pytest.fixture(scope="session")
def call():
    return _call


async def _refused(client, name, **given):
    """What a tool says when it refuses."""
    done = await client.call_tool(name, given)
    assert done.is_error, done.structured_content
    return done.content[0].text


@pytest.fixture(scope="session")
def refused():
    return _refused


@pytest.fixture(scope="session")
def connect():
    return Client
