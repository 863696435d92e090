"""docs/server.md says what there is: every route, every setting with its default, every header."""

from __future__ import annotations

import json
import re
from pathlib import Path

from unabridged.config import load_config
from unabridged.config.model import ServerSection
from unabridged.server import ServerSettings
from unabridged.server.upstreams import Upstreams

TEXT = (Path(__file__).parents[2] / "docs" / "server.md").read_text("utf-8")
SIZES = {"64 MiB": 64 << 20, "512 MiB": 512 << 20}


def test_every_route_of_the_gateway_is_there(client) -> None:
    served = {
        f"{method.upper()} {path}"
        for path, item in client.get("/openapi.json").json()["paths"].items()
        for method in item
        if not path.startswith(("/v1/gb", "/mcp"))
    }
    assert set(re.findall(r"`((?:GET|POST) /[^`]*)`", TEXT)) == served


def test_every_setting_is_there_with_its_default() -> None:
    rows = re.findall(r"^\| (`[a-z].*?`) \| (.*?) \| ", TEXT.partition("## Settings")[2], re.MULTILINE)
    told = {}
    for names, values in rows:
        keys, defaults = re.findall(r"`(\w+)`", names), values.split(", ")
        told |= dict(zip(keys, defaults * len(keys) if len(defaults) < len(keys) else defaults, strict=True))
    fields = {
        field.alias: field.get_default(call_default_factory=True) for field in ServerSection.model_fields.values()
    }
    assert told.keys() == fields.keys()
    for key, value in fields.items():
        said = SIZES.get(told[key], told[key])
        if isinstance(value, int | float):
            assert float(said) == value, key
        elif isinstance(value, str):
            assert said == value, key


def test_every_header_is_there(client) -> None:
    answer = client.post("/v1/embeddings", json={"input": "a"})
    sent = {name for name in answer.headers if name.startswith("x-unabridged")} | {"x-unabridged-unknown"}
    assert set(re.findall(r"`(x-unabridged-\w+)`", TEXT)) == sent


def test_the_example_of_models_by_name_works(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    config = load_config(json.loads(re.search(r"```json\n(.*?)```", TEXT, re.DOTALL)[1]))
    upstreams = Upstreams(config, ServerSettings.of(config))
    names = ("default", "large", "text-embedding-ada-002", "nomic-embed-text")
    found = [f"{upstreams(name).provider.name}/{upstreams(name).model}" for name in names]
    large = "openai/text-embedding-3-large"
    assert found == ["local/all-MiniLM-L6-v2", large, large, "ollama/nomic-embed-text"]
