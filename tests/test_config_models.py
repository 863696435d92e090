"""P4, P6, P7, L3, L6, K4: settings -> providers, an embedder, and what they come to."""

from __future__ import annotations

import json

import numpy as np
import pytest

from unabridged import load_config
from unabridged.config.explain import masked
from unabridged.errors import ConfigError, Overflow
from unabridged.server.settings import ServerSettings
from unabridged.server.upstreams import Upstreams
from unabridged.testing import LoopbackProvider
from unabridged.types import Limit

KEYS = ("JINA_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "VOYAGE_API_KEY", "MISTRAL_API_KEY")


@pytest.fixture(autouse=True)
def _clean(tmp_path, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / "cache"))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def built(settings: dict, plugin: str | None = None, **overrides):
    source = {"embedding": settings}
    if plugin is not None:
        source = {"plugins": {"entries": {plugin: {"config": source}}}}
    return load_config(source).embedder(cache=False, **overrides)


@pytest.mark.parametrize(
    ("settings", "provider", "model"),
    [
        ({"provider": "hashing"}, "hashing", "bag-of-words"),
        ({"model": "hashing"}, "hashing", "bag-of-words"),
        ({"model": "hashing/mine"}, "hashing", "mine"),
        ({"provider": "openai/m", "apiKey": "k"}, "openai", "m"),
        ({"provider": "openai", "model": "org/m", "apiKey": "k"}, "openai", "org/m"),
        ({"model": "openai/org/m", "apiKey": "k"}, "openai", "org/m"),
        ({"model": "text-embedding-3-small", "apiKey": "k"}, "openai", "text-embedding-3-small"),
        ({"model": "jina-embeddings-v3", "apiKey": "k"}, "jina", "jina-embeddings-v3"),
        ({"model": "voyage-3.5", "apiKey": "k"}, "voyage", "voyage-3.5"),
        ({"model": "anything", "baseURL": "http://localhost:1234/v1"}, "openai", "anything"),
        ({"model": "BAAI/bge-m3", "baseURL": "http://localhost:1234/v1"}, "openai", "BAAI/bge-m3"),
        ({"model": "m", "baseURL": "https://api.jina.ai/v1", "apiKey": "k"}, "jina", "m"),
        ({"model": "m", "baseURL": "https://openrouter.ai/api/v1", "apiKey": "k"}, "openrouter", "m"),
        ({"provider": "openai", "model": "m", "baseURL": "https://api.jina.ai/v1", "apiKey": "k"}, "openai", "m"),
        ({"provider": "ollama", "model": "nomic-embed-text"}, "ollama", "nomic-embed-text"),
    ],
)
def test_P4_the_provider_is_as_given_or_found(settings, provider, model) -> None:
    with built(settings) as embedder:
        assert (embedder.provider.name, embedder.provider.model) == (provider, model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"model": "text-embeding-3-small"},
            "embedding.provider: the model .* is not known, did you mean text-embedding-3-small",
        ),
        ({"model": "hashingg"}, "embedding.provider: the model 'hashingg' is not known, did you mean hashing"),
        (
            {"model": "nope/x"},
            "embedding.provider: the model 'nope/x' is not known; name its provider, as in openai/NAME",
        ),
        ({"model": "opnai/my-own"}, "embedding.provider: .*did you mean openai/my-own"),
        ({"model": "my-own"}, "embedding.provider: the model .* is not known; name its provider, as in openai/NAME"),
        ({"model": "BAAI/bge-m3"}, "embedding.provider: the model .* is served by .*siliconflow"),
        ({"model": "all-MiniLM-L12-v2"}, "embedding.provider: .*any server that you choose"),
        ({"provider": "opnai", "model": "m"}, "embedding.provider: found 'opnai', did you mean 'openai'"),
        ({"provider": "openai", "apiKey": "k"}, "embedding.model: openai needs the name of a model"),
        ({"provider": "openai", "model": "m"}, "embedding.apiKey: openai needs a key.*OPENAI_API_KEY"),
        ({"provider": "azure", "model": "m", "apiKey": "k"}, "embedding.baseURL: "),
        ({"provider": "hashing", "timeout": 5}, "embedding.timeout: the provider 'hashing' has no such option"),
        ({"provider": "hashing", "options": {"indexd": False}}, "embedding.options.indexd: .*'indexed'"),
        ({"provider": "hashing", "tokenizer": "no-such"}, "embedding.tokenizer: "),
        (
            {"provider": "hashing", "fallbacks": [{"provider": "jina", "model": "m"}]},
            r"embedding.fallbacks\[0\].apiKey: ",
        ),
        ({"model": "openai/m", "apiKey": "k", "taskQuery": "retrieval.query"}, "embedding.taskQuery: .*name of a task"),
    ],
)
def test_P7_what_a_provider_lacks_is_named(settings, message) -> None:
    with pytest.raises(ConfigError, match=message):
        built(settings)


def test_P4_tasks_go_where_the_provider_has_them_and_instructions_before_the_text() -> None:
    tasks = {"taskQuery": "code.query", "taskPassage": "code.passage", "normalized": False}
    with built({"model": "jina-embeddings-v3", "apiKey": "k", **tasks}) as embedder:
        settings = embedder.provider.settings
        assert (settings["task.query"], settings["task.document"]) == ("code.query", "code.passage")
        assert settings["normalized"] == "false"
    words = {"taskQuery": "Instruct: find\nQuery: ", "normalized": True}
    with built({"model": "openai/m", "apiKey": "k", **words}) as embedder:
        assert embedder.provider.settings == {"prompt.query": "Instruct: find\nQuery: "}


def test_P4_keys_rotate_fallbacks_follow_and_headers_travel() -> None:
    with LoopbackProvider(dialect="openai") as server:
        settings = {
            "model": "openai/m",
            "baseURL": server.url,
            "apiKey": ["key-1", "key-2"],
            "headers": {"x-team": "green"},
            "fallbacks": [{"provider": "openai", "model": "m", "baseURL": f"{server.url}/", "apiKey": "key-3"}],
        }
        with built(settings) as embedder:
            embedder.embed(["a", "b"])
        headers = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert headers["authorization"] in ("Bearer key-1", "Bearer key-2")
    assert headers["x-team"] == "green"


def test_L3_numbers_are_characters_under_the_predecessors_id_and_tokens_under_ours() -> None:
    settings = {"provider": "hashing", "autoChunk": {"maxChunkSize": 700}}
    with built(settings, "memory-lancedb-pro") as theirs, built(settings) as ours:
        assert (theirs.cutting.unit, theirs.cutting.max_size, theirs.cutting.overlap) == ("chars", 700, 50)
        assert (ours.cutting.unit, ours.cutting.max_size, ours.cutting.minimum) == ("tokens", 700, 100)
    with built({"provider": "hashing", "autoChunk": {"semanticSplit": False}}, "memory-lancedb-pro") as plan:
        assert (plan.cutting.unit, plan.cutting.semantic, plan.cutting.max_size) == ("tokens", False, 5734)
    with built({**settings, "autoChunk": {"maxChunkSize": 700, "unit": "tokens"}}, "memory-lancedb-pro") as told:
        assert told.cutting.unit == "tokens"


def test_L3_compat_does_as_the_source_documents_it() -> None:
    settings = {"model": "jina-embeddings-v5-text-small", "apiKey": "k", "autoChunk": {"compat": True}}
    config = load_config({"embedding": settings})
    with config.embedder(cache=False) as embedder:
        plan = embedder.cutting
        assert (plan.max_size, plan.overlap, plan.minimum) == (5734, 409, 819)
        assert (plan.unit, plan.max_lines) == ("chars", 50)
    found = {figure.name: (figure.value, figure.origin) for figure in config.explain().figures}
    assert found["pooling"] == ("mean", "compat")
    assert found["limit input tokens"] == (8192, "memory-lancedb-pro")


LONG = "Nothing is lost, nothing is over. " * 400


@pytest.mark.parametrize("off", [{"chunking": False}, {"autoChunk": False}, {"chunking": False, "autoChunk": {}}])
def test_L6_switched_off_the_providers_own_error_comes_back(off) -> None:
    options = {"limit": Limit(input_tokens=64)}
    with built({"provider": "hashing", **off}) as embedder:
        embedder.provider._limit = options["limit"]
        with pytest.raises(Overflow, match="the limit is 64"):
            embedder.embed(LONG)


@pytest.mark.parametrize("name", ["chunking", "autoChunk"])
def test_L6_both_names_take_the_settings(name) -> None:
    with built({"provider": "hashing", name: {"maxChunkSize": 100, "overlapSize": 0}}) as embedder:
        assert embedder.embed_detailed(LONG)[0].chunk_count > 20
    with pytest.raises(
        ConfigError, match=rf"embedding\.{name}\.minChunkSize: found 101, expected at most maxChunkSize"
    ):
        built({"provider": "hashing", name: {"maxChunkSize": 100, "minChunkSize": 101}})


def test_L6_under_two_names_the_keys_add_up_but_none_may_stand_twice() -> None:
    both = {"provider": "hashing", "chunking": {"overlapSize": 9}, "autoChunk": {"maxChunkSize": 100}}
    with built(both) as embedder:
        assert (embedder.cutting.max_size, embedder.cutting.overlap) == (100, 9)
    with pytest.raises(ConfigError, match=r"autoChunk\.maxChunkSize: also given under embedding\.chunking"):
        built({"chunking": {"maxChunkSize": 9}, "autoChunk": {"maxChunkSize": 8}})


def test_P4_limits_and_tokenizers_of_ones_own() -> None:
    settings = {"provider": "hashing", "limit": {"inputTokens": 100, "inputChars": 900}, "maxInputChars": 500}
    with built(settings) as embedder:
        assert (embedder.limit.input_tokens, embedder.limit.input_chars) == (100, 500)
    config = load_config({"embedding": settings})
    found = {figure.name: figure for figure in config.explain().figures}
    assert {found["limit input tokens"].origin, found["limit input chars"].origin} == {"given"}
    assert found["limit request inputs"].origin == "the model's own"


@pytest.mark.parametrize(
    ("cache", "kept"),
    [
        (False, None),
        ({"enabled": False}, None),
        ("folder", "folder"),
        ({"folder": "folder", "maxBytes": 1 << 20}, "folder"),
    ],
)
def test_P4_the_cache_is_off_a_folder_or_more(cache, kept, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with load_config({"embedding": {"provider": "hashing", "cache": cache}}).embedder() as embedder:
        assert (None if embedder.cache is None else str(embedder.cache.folder)) == kept
        assert embedder.cache is None or embedder.cache.size_limit in (1 << 20, 4 << 30)


def test_P4_there_the_width_is_asked_for_under_a_name_of_its_own() -> None:
    theirs = {
        "autoRecall": True,
        "embedding": {
            "provider": "openai-compatible",
            "model": "m",
            "baseURL": "http://localhost:1/v1",
            "dimensions": 768,
            "requestDimensions": 512,
        },
    }
    config = load_config({"plugins": {"entries": {"memory-lancedb-pro": {"config": theirs}}}}, environ={})
    with config.embedder(cache=False) as embedder:
        assert (embedder.provider.name, embedder.dimensions) == ("openai", 512)
    theirs["embedding"]["omitDimensions"] = True
    theirs["embedding"].pop("requestDimensions")
    config = load_config({"plugins": {"entries": {"memory-lancedb-pro": {"config": theirs}}}}, environ={})
    assert config.embedding.dimensions is None
    ours = {"plugins": {"entries": {"unabridged": {"config": {"autoRecall": True}}}}}
    with pytest.raises(ConfigError, match="autoRecall: a key of memory-lancedb-pro, which is not used here"):
        load_config(ours)


def test_P6_every_number_says_where_it_comes_from(tmp_path) -> None:
    path = tmp_path / "plugin.json"
    path.write_text(
        '{"embedding": {\n"model": "text-embedding-3-large",\n"apiKey": "sk-secret",\n"dimensions": 256,\n'
        '"chunking": {"maxChunkSize": 9000,\n"maxLinesPerChunk": 7}}}',
        "utf-8",
    )
    config = load_config(path)
    found = {figure.name: (figure.value, figure.unit, figure.origin) for figure in config.explain().figures}
    assert found["provider"] == ("openai", "", "found from the model")
    assert found["host"] == ("api.openai.com", "", "the provider's own")
    assert found["model"] == ("text-embedding-3-large", "", "plugin.json, line 2")
    assert found["limit input tokens"] == (8192, "", "model table")
    assert found["chunk"] == (8192, "tokens", "the limit, under 9,000 (plugin.json, line 5)")
    assert found["overlap"][1:] == ("tokens", "scaled with the chunk")
    assert found["lines a chunk"] == (7, "", "plugin.json, line 6")
    assert found["dimensions"] == (256, "", "plugin.json, line 4")
    assert "sk-secret" not in repr(config.explain())


def test_P6_learned_limits_unknown_models_and_chunking_off_are_said(tmp_path) -> None:
    config = load_config({"embedding": {"model": "m", "baseURL": "http://localhost:1/v1", "chunking": False}})
    found = {figure.name: figure for figure in config.explain().figures}
    assert found["limit input tokens"].origin == "default for an unknown model"
    assert (found["chunking"].value, found["chunking"].origin) == ("off", "given")
    assert found["dimensions"].origin == "seen with the first vector"
    with LoopbackProvider(dialect="openai", limit=Limit(input_tokens=128)) as server:
        settings = {"model": "m", "provider": "openai", "baseURL": server.url}
        with load_config({"embedding": settings}).embedder() as embedder:
            embedder.embed(LONG)
        found = {figure.name: figure for figure in load_config({"embedding": settings}).explain().figures}
    assert (found["limit input tokens"].value, found["limit input tokens"].origin) == (128, "learned from a refusal")


def test_P6_addresses_and_options_are_masked_too() -> None:
    settings = {
        "provider": "azure",
        "model": "m",
        "apiKey": "sk-secret",
        "baseURL": "https://h/v1?api-version=1&key=sk-secret",
        "options": {"adToken": "sk-secret", "apiVersion": "1"},
    }
    config = load_config({"embedding": settings})
    assert "sk-secret" not in f"{config!r}{config.settings!r}{masked(config)}"
    assert masked(config)["embedding"]["options"] == {"adToken": "********", "apiVersion": "1"}
    assert masked(config)["embedding"]["baseURL"] == "https://h/v1?api-version=1&key=********"


def test_case_47_a_variables_secret_is_masked_wherever_it_stands() -> None:
    written = {
        "embedding": {"provider": "openai", "model": "m-${A_TOKEN}", "apiKey": "x", "baseURL": "https://h/${A_KEY}/v1"},
        "dbPath": "${PLACE}/${A_KEY}",
        "server": {"corsOrigins": ["https://${A_KEY}.example"]},
    }
    config = load_config(written, environ={"A_KEY": "sk-secret-1", "A_TOKEN": "sk-secret-12", "PLACE": "/data"})
    assert "sk-secret" not in f"{config!r}{masked(config)}{config.explain()}"
    assert masked(config)["dbPath"] == "/data/********"
    assert masked(config)["embedding"]["model"] == "m-********"
    assert config.embedding.base_url == "https://h/sk-secret-1/v1"


def test_another_model_keeps_how_and_drops_what_was_the_old_ones() -> None:
    config = load_config(
        {"embedding": {"model": "openai/m", "apiKey": "sk-secret", "pooling": "max", "limit": {"inputTokens": 9}}}
    )
    other = config.with_model(model="hashing", dimensions=32)
    assert (other.embedding.api_key, other.embedding.limit, other.embedding.pooling) == (None, None, "max")
    with other.embedder(cache=False) as embedder:
        assert embedder.embed("x").shape == (32,)
    moved = config.with_model(base_url="http://localhost:9/v1", timeout=3)
    assert (moved.embedding.model, moved.embedding.timeout) == ("openai/m", 3)
    assert moved.embedding.api_key is not None
    assert config.with_model() == config


def test_the_whole_way_from_a_file_to_vectors_is_deterministic() -> None:
    settings = {"provider": "hashing", "dimensions": 64, "autoChunk": {"maxChunkSize": 120}, "pooling": "first"}
    with built(settings) as one, built(settings) as two:
        assert np.array_equal(one.embed(LONG), two.embed(LONG))
        assert one.fingerprint() == two.fingerprint()


def test_a_memory_is_opened_where_the_settings_say(tmp_path) -> None:
    settings = {"dbPath": str(tmp_path / "memory"), "embedding": {"provider": "hashing", "cache": False}}
    with load_config(settings).memory() as memory:
        assert memory is not None
    assert (tmp_path / "memory").is_dir()
    with pytest.raises(ConfigError, match="dbPath: not given"):
        load_config().memory()


@pytest.mark.parametrize(
    ("settings", "build"),
    [
        ({"embedding": {"provider": "${X}", "model": "m"}}, "embedder"),
        ({"embedding": {"provider": "${X}", "model": "m"}}, "explain"),
        ({"embedding": {"model": "${X}"}}, "embedder"),
        ({"embedding": {"model": "hashing", "tokenizer": "${X}"}}, "embedder"),
        ({"embedding": {"fallbacks": [{"provider": "${X}"}]}}, "embedder"),
        ({"chat": {"provider": "${X}", "model": "m"}}, "asker"),
    ],
)
def test_case_47_an_error_quotes_the_variable_and_not_its_value(settings, build) -> None:
    with pytest.raises(ConfigError) as raised:
        getattr(load_config(settings, environ={"X": "sesame-open"}), build)()
    assert "sesame-open" not in str(raised.value)
    assert "'${X}'" in str(raised.value)


# -- the models of a server ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chosen",
    ["large", "default", "hashing", "nomic-embed-text", {"provider": "hashing"}, {"provider": "ollama"}],
)
def test_P7_a_name_of_servers_models_leads_to_a_model(chosen) -> None:
    models = {"large": {"provider": "hashing", "dimensions": 64}, "nomic-*": {"provider": "ollama"}, "any-*": {}}
    load_config({"embedding": {"provider": "hashing"}, "server": {"models": {**models, "x": chosen}}}).check()


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ("larg", "server.models.x: found 'larg', which names no model here, did you mean large? (p.json, line 3)"),
        ("zzz", "server.models.x: found 'zzz', which names no model here; known are default, large (p.json, line 3)"),
        ("x", "server.models.x: found 'x', which leads back to itself (p.json, line 3)"),
        ({"provider": "opnai"}, "server.models.x.provider: found 'opnai', did you mean 'openai'? (p.json, line 3)"),
        ({"provider": "openai"}, "server.models.x.apiKey: openai needs a key: set OPENAI_API_KEY (p.json, line 3)"),
        (
            {"provider": "hashing", "autoChunk": {"overlapSize": 90}, "chunking": {"maxChunkSize": 80}},
            "server.models.x.autoChunk.overlapSize: found 90, expected less than maxChunkSize (80) (p.json, line 3)",
        ),
    ],
)
def test_P7_a_name_that_leads_nowhere_is_refused_with_its_key_and_place(chosen, said, tmp_path) -> None:
    file = tmp_path / "p.json"
    models = json.dumps({"large": {"provider": "hashing"}})[:-1] + f',\n"x": {json.dumps(chosen)}' + "}"
    file.write_text(f'{{"embedding": {{"provider": "hashing"}},\n"server": {{"models": {models}}}}}', "utf-8")
    config = load_config(file)
    with pytest.raises(ConfigError) as caught:
        config.check()
    assert str(caught.value).startswith(said)
    if isinstance(chosen, dict):  # a server that starts says the same
        with pytest.raises(ConfigError) as caught:
            Upstreams(config, ServerSettings.of(config)).open()
        assert str(caught.value).startswith(said)


def test_what_only_an_attempt_tells_has_its_place_in_the_file_too(tmp_path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"embedding": {\n"model": "openai/x"},\n"chat": {"model":\n"m"}}', "utf-8")
    with pytest.raises(ConfigError, match=r"^embedding\.apiKey: .*OPENAI_API_KEY \(p\.json, line 1\)"):
        load_config(file).embedder()
    with pytest.raises(ConfigError, match=r"^chat\.apiKey: .*OPENAI_API_KEY \(p\.json, line 3\)"):
        load_config(file).asker()
    with pytest.raises(ConfigError, match=r"^dbPath: not given; .* \(p\.json\)"):
        load_config(file).memory()
