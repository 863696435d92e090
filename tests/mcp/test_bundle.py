"""The repository is an Agent Plugins bundle: an independent reader of the format takes all of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from agent_plugins import AgentPluginError, Plugin
from mcp.client.stdio import StdioServerParameters
from typer.main import get_command

from unabridged.cli.app import app
from unabridged.config import load_config

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bundle(tmp_path):
    """The bundle's own files, as a client would unpack them."""
    for name in ("plugin.json", "mcp.json"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "skills", tmp_path / "skills")
    return tmp_path


def test_the_manifest_the_servers_and_the_skills_are_valid(bundle) -> None:
    plugin = Plugin(bundle)
    assert plugin.manifest.name == "unabridged"
    assert {skill.name for skill in plugin.skills} == {"long-term-memory", "long-text-embeddings"}
    assert [*plugin.mcp.servers] == ["unabridged"]
    assert plugin.mcp.issues == ()
    assert all(skill.frontmatter and skill.body.strip() for skill in plugin.skills)


async def test_a_client_that_unpacked_it_can_start_the_server(bundle, connect, call) -> None:
    (bundle / "data").mkdir()
    resolved = Plugin(bundle).mcp.resolve_stdio("unabridged", data_dir=bundle / "data")
    program = StdioServerParameters(
        command=sys.executable, args=["-c", "from unabridged.cli import main; main()", *resolved.args]
    )
    async with connect(program) as client:
        entity = {"name": "Alice", "entityType": "person", "observations": ["likes tea"]}
        assert (await call(client, "create_entities", entities=[entity]))["entities"] == [entity]
    assert (bundle / "data" / "memory").is_dir()


def test_the_reader_would_refuse_what_is_not_valid(bundle) -> None:
    manifest = json.loads((bundle / "plugin.json").read_text())
    (bundle / "plugin.json").write_text(json.dumps({**manifest, "name": "Not A Name"}))
    with pytest.raises((AgentPluginError, ValueError)):
        assert Plugin(bundle).manifest.name


def test_the_server_it_names_is_a_command_of_ours_with_the_options_it_has() -> None:
    server = json.loads((ROOT / "mcp.json").read_text())["mcpServers"]["unabridged"]
    command = get_command(app).commands[server["args"][0]]
    known = {option for parameter in command.params for option in parameter.opts}
    assert server["command"] == "unabridged"
    assert {each for each in server["args"] if each.startswith("--")} <= known


def test_p1_the_manifest_runs_as_it_is(bundle) -> None:
    assert load_config(bundle / "plugin.json").embedding.provider == "local"


@pytest.mark.parametrize("path", sorted((ROOT / "skills").glob("*/SKILL.md")), ids=lambda path: path.parent.name)
async def test_skills_name_only_what_there_is(path, server) -> None:
    text = path.read_text("utf-8")
    tools = {tool.name for tool in await server.list_tools()}
    commands = get_command(app).commands
    named = re.findall(r"`unabridged ([a-z]+)", text)
    assert all(name in commands for name in named)
    ours = {name for name in re.findall(r"`([a-z_]+)`", text) if name in tools}
    assert ours >= (
        {"recall", "remember", "show", "forget", "timeline", "graph", "query"}
        if "memory" in path.parent.name
        else {"embed"}
    )
    front = text.split("---")[1]
    description = re.search(r"^description: (.+)$", front, re.MULTILINE).group(1)
    assert 100 < len(description) <= 1024
    assert "Use it when" in description
