"""P1–P7, L3, L6, K4 and cases 46–48: one plugin JSON -> an embedder, or one line that says what is wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from unabridged import load_config
from unabridged.config.explain import masked
from unabridged.config.schema import schema_text
from unabridged.errors import ConfigError

ROOT = Path(__file__).parents[1]
SEED_OFF = """{
  "plugins": { "entries": { "memory-lancedb-pro": { "enabled": true, "config": { "embedding": {
    "apiKey": "${JINA_API_KEY}",
    "model": "jina-embeddings-v5-text-small",
    "chunking": false // no automatic cutting
  } } } } }
}"""
SEED_TUNED = """{
  "plugins": { "entries": { "memory-lancedb-pro": { "enabled": true, "config": { "embedding": {
    "autoChunk": {
      "maxChunkSize": 2000, // characters
      "overlapSize": 500,
      "minChunkSize": 500,
      "semanticSplit": true,
      "maxLinesPerChunk": 100, /* and a trailing comma */
    }
  } } } } }
}"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / "cache"))


def test_P7_nothing_given_is_the_embedded_default() -> None:
    pytest.importorskip("onnxruntime")
    with load_config().embedder() as embedder:
        assert (embedder.provider.name, embedder.limit.input_tokens) == ("local", 254)


def test_P1_the_repositorys_own_manifest_runs_as_it_is() -> None:
    pytest.importorskip("onnxruntime")
    with load_config(ROOT / "plugin.json").embedder() as embedder:
        assert embedder.embed("a text").shape == (384,)


def test_case_48_both_blocks_of_the_seed_load(monkeypatch) -> None:
    monkeypatch.setenv("JINA_API_KEY", "jina_secret")
    off = load_config(SEED_OFF)
    with off.embedder() as embedder:
        assert (embedder.provider.name, embedder.provider.model) == ("jina", "jina-embeddings-v5-text-small")
    tuned = load_config(SEED_TUNED)
    with tuned.embedder(cache=False) as embedder:
        plan = embedder.cutting
        assert (plan.max_size, plan.overlap, plan.minimum, plan.max_lines, plan.unit) == (2000, 500, 500, 100, "chars")


def test_case_47_a_variable_that_is_not_set_names_the_key_and_itself(monkeypatch) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"embedding\.apiKey.*JINA_API_KEY"):
        load_config(SEED_OFF)
    monkeypatch.setenv("JINA_API_KEY", "jina_secret")
    config = load_config(SEED_OFF)
    said = f"{config!r} {config.settings} {json.dumps(masked(config))} {config.explain()!r}"
    assert "jina_secret" not in said
    assert "********" in said


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedding": {"baseUrl": "http://localhost:1"}}, "embedding.baseUrl: unknown key, did you mean baseURL?"),
        ({"embedding": {"apikey": "k"}}, "embedding.apikey: unknown key, did you mean apiKey?"),
        ({"embedding": []}, "embedding: found a list, expected an object"),
        ({"embedding": {"dimensions": "768"}}, "embedding.dimensions: found '768' (a string), expected a whole number"),
        ({"embeding": {}}, "embeding: unknown key, did you mean embedding?"),
    ],
)
def test_case_46_one_line_says_path_found_and_known(settings, message) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(settings)
    assert str(caught.value) == message


def test_L6_contradictions_are_refused_with_the_keys_path() -> None:
    with pytest.raises(ConfigError, match=r"embedding\.autoChunk\.overlapSize"):
        load_config({"embedding": {"autoChunk": {"maxChunkSize": 500, "overlapSize": 600}}})
    with pytest.raises(ConfigError, match=r"embedding\.(chunking|autoChunk)\.overlapSize"):
        load_config({"embedding": {"provider": "hashing", "autoChunk": {"overlapSize": 8000}}}).embedder()


def test_P7_enabled_false_is_refused_with_the_reason() -> None:
    with pytest.raises(ConfigError, match="enabled: false: the plugin is switched off"):
        load_config({"enabled": False})


def test_P7_a_provider_without_its_key_is_named(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        load_config({"embedding": {"model": "openai/text-embedding-3-small"}}).embedder()


def test_P3_defaults_and_escapes_of_variables(monkeypatch) -> None:
    monkeypatch.delenv("NAME", raising=False)
    config = load_config({"embedding": {"provider": "hashing", "model": "${NAME:-fallback}$$x"}})
    assert config.embedding.model == "fallback$x"


def test_P4_several_keys_take_turns() -> None:
    with load_config(
        {"embedding": {"model": "openai/text-embedding-3-small", "apiKey": ["a", "b"]}}
    ).embedder() as made:
        assert len(made._lanes.all) == 2


def test_P5_the_shipped_schema_is_current() -> None:
    assert (files("unabridged") / "data/config.schema.json").read_text("utf-8") == schema_text()


def test_P6_explain_says_the_numbers_and_where_they_come_from() -> None:
    config = load_config(
        {"embedding": {"model": "openai/text-embedding-3-small", "apiKey": "k", "autoChunk": {"overlapSize": 100}}}
    )
    found = {figure.name: figure for figure in config.explain().figures}
    assert found["limit input tokens"].value == 8192
    assert (found["chunk"].value, found["chunk"].unit) == (5734, "tokens")
    assert (found["overlap"].value, found["overlap"].origin) == (100, "given")
    assert found["dimensions"].value == 1536


@pytest.mark.parametrize("text", ["{", "[]", '{"a": }', "{'a': 1}", '{"embedding": {"model": 3}}', "\x00"])
def test_what_is_no_configuration_is_a_config_error(text, tmp_path) -> None:
    path = tmp_path / "plugin.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError):
        load_config(path)
