"""The sections chat, websearch and memory: P4, P5, P6; a configuration opens a memory that asks its chat."""

from __future__ import annotations

import json

import jsonschema
import pytest

from unabridged import load_config
from unabridged.config import json_schema
from unabridged.config.explain import masked
from unabridged.config.model_memory import StageBudgets, StageModels, StageReasoning
from unabridged.errors import ConfigError
from unabridged.memory.asking.asking import STAGES
from unabridged.memory.extraction.extraction import extract
from unabridged.testing import ChatServer

KEYS = ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "BRAVE_API_KEY", "TAVILY_API_KEY")


@pytest.fixture(autouse=True)
def _clean(tmp_path, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / "cache"))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


WHOLE = {
    "embedding": {"provider": "hashing"},
    "dbPath": "memory://",
    "chat": {
        "provider": "openai", "model": "tiny", "apiKey": ["${FIRST}", "second-key"], "baseURL": "http://127.0.0.1:1/v1",
        "headers": {"x-tenant": "tenant-secret"}, "timeout": 9.5, "temperature": None,
        "prices": {"tiny": {"input": 1, "output": 2.5}, "*": {"input": 0, "output": 0}},
        "models": {"extract_graph": "large"}, "reasoning": {"extract_graph": "low"}, "maxTokens": {"summarize_chunk": 99},
        "concurrency": 3, "cache": False, "options": {"seed": 1},
        "fallbacks": [{"model": "other", "provider": "ollama"}],
    },
    "websearch": {"provider": "searxng", "baseURL": "http://localhost:8888", "results": 3, "timeout": 5},
    "memory": {"dataset": "notes", "maxTextBytes": 1000, "unsupported": "keep", "vectorType": "float16", "grace": 1, "upkeep": False, "lock": "auto"},
}  # fmt: skip


def test_the_whole_of_it_opens_a_memory_with_its_chat_and_search():
    config = load_config(WHOLE, environ={"FIRST": "first-key-1"})
    jsonschema.validate(json.loads(json.dumps(WHOLE)), json_schema())
    with config.memory() as memory:
        assert (memory.name, memory.max_text_bytes, memory.unsupported) == ("notes", 1000, "keep")
        asker = memory.asker
        assert (asker.model, asker.host, asker.concurrency, asker.cache) == ("tiny", "127.0.0.1:1", 3, None)
        assert (asker.model_of("extract_graph"), asker.reasoning_of("extract_graph")) == ("large", "low")
        assert (asker.budget_of("summarize_chunk"), asker.prices("rerank"), asker.prices("extract_graph")) == (
            99,
            (1.0, 2.5),
            (0.0, 0.0),
        )
        assert [speaker.host for speaker in asker._speakers] == ["127.0.0.1:1", "127.0.0.1:1", "localhost:11434"]
        assert memory.websearch.results == 3


def test_P4_stages_are_called_as_requests_and_inferences_call_them():
    for section in (StageModels, StageReasoning, StageBudgets):
        assert list(section.model_fields) == list(STAGES)


def test_nothing_said_is_nothing_asked(tmp_path):
    config = load_config({"embedding": {"provider": "hashing"}, "dbPath": str(tmp_path / "m")})
    assert (config.asker(), config.search()) == (None, None)
    with config.memory() as memory:
        assert (memory.asker, memory.websearch, memory.name) == (None, None, "default")
    with pytest.raises(ConfigError, match="dbPath: not given"):
        load_config({}).memory()


def test_a_configured_chat_asks_and_keeps_its_answers(tmp_path):
    with ChatServer(keys={"good-key-1"}) as server:
        settings = {
            "chat": {
                "model": "tiny",
                "baseURL": server.url,
                "apiKey": ["bad-key-1", "good-key-1"],
                "cache": str(tmp_path / "answers"),
            }
        }
        for _ in range(2):
            asker = load_config(settings).asker()
            assert extract("Alice works at Acme.", asker).edges[0].relation == "works at"
            asker.close()
        assert [seen.status for seen in server.requests].count(200) == 1
        assert (tmp_path / "answers").is_dir()


def test_what_a_configuration_made_is_closed_with_the_memory(tmp_path):
    with ChatServer() as server:
        settings = {
            **WHOLE,
            "dbPath": str(tmp_path / "m"),
            "chat": {"model": "tiny", "baseURL": server.url, "cache": str(tmp_path / "a")},
        }
        closed = []
        memory = load_config(settings).memory()
        memory.remember("Alice works at Acme.")
        for made in (memory.embedder, memory.asker, memory.websearch):
            made.close = lambda made=made: closed.append(type(made).__name__)
        memory.close()
        memory.close()
        assert sorted(closed) == ["Asker", "Embedder", "SearxngSearch"]


def test_options_of_the_caller_win(tmp_path):
    config = load_config({**WHOLE, "dbPath": str(tmp_path)}, environ={"FIRST": "first-key-1"})
    with config.memory(chat=None, websearch=None, embedder=None, dataset="other") as memory:
        assert (memory.asker, memory.websearch, memory.embedder, memory.name) == (None, None, None, "other")
    assert config.asker(concurrency=1).concurrency == 1


def test_P6_keys_headers_and_store_options_are_masked():
    settings = {
        **WHOLE,
        "websearch": {"provider": "brave", "apiKey": "brave-key"},
        "memory": {"storageOptions": {"aws_secret": "store-secret"}},
    }
    config = load_config(settings, environ={"FIRST": "first-key-1"})
    shown = json.dumps(masked(config)) + repr(config)
    for secret in ("first-key", "second-key", "tenant-secret", "brave-key", "store-secret"):
        assert secret not in shown
    assert json.loads(json.dumps(masked(config)))["chat"]["model"] == "tiny"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chat": {"baseUrl": "http://x"}}, "chat.baseUrl: unknown key, did you mean baseURL?"),
        ({"chat": {"models": {"extractGraph": "m"}}}, "chat.models.extractGraph: unknown key, did you mean extract_graph?"),
        ({"chat": {"reasoning": {"rerank": "much"}}}, "chat.reasoning.rerank: found 'much' (a string), expected 'none', 'low', 'medium' or 'high'"),
        ({"chat": {"maxTokens": {"rerank": 0}}}, "chat.maxTokens.rerank: found 0, expected at least 1"),
        ({"chat": {"prices": {"m": {"input": 1}}}}, "chat.prices.m.output: not given, and there is no default"),
        ({"chat": {"prices": {"m": {"input": -1, "output": 0}}}}, "chat.prices.m.input: found -1, expected at least 0.0"),
        ({"chat": {"fallbacks": [{"mdel": "x"}]}}, "chat.fallbacks[0].mdel: unknown key, did you mean model?"),
        ({"chat": []}, "chat: found a list, expected an object"),
        ({"chat": {"cache": 3}}, "chat.cache: found 3, expected true, false or a folder"),
        ({"websearch": {}}, "websearch.provider: not given, and there is no default"),
        ({"websearch": {"provider": "bing"}}, "websearch.provider: found 'bing' (a string), expected 'searxng', 'brave' or 'tavily'"),
        ({"websearch": {"provider": "brave", "results": 99}}, "websearch.results: found 99, expected at most 20"),
        ({"memory": {"dataSet": "x"}}, "memory.dataSet: unknown key, did you mean dataset?"),
        ({"memory": {"dbPath": "x"}}, "memory.dbPath: unknown key here, did you mean dbPath?"),
        ({"dataset": "x"}, "dataset: unknown key here, did you mean memory.dataset?"),
        ({"memory": {"vectorType": "int8"}}, "memory.vectorType: found 'int8' (a string), expected 'float32' or 'float16'"),
    ],
)  # fmt: skip
def test_case_46_one_line_says_what_where_and_what_would_be_right(settings, message):
    with pytest.raises(ConfigError) as raised:
        load_config(settings)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("chat", "message"),
    [
        ({}, "chat.model: not given; name the chat model"),
        ({"model": "m"}, "chat.apiKey: not given; give it, or set OPENAI_API_KEY"),
        ({"model": "m", "provider": "openrouter"}, "chat.apiKey: not given; give it, or set OPENROUTER_API_KEY"),
        ({"model": "m", "provider": "mine"}, "chat.provider: found 'mine', known are anthropic, dashscope"),
        (
            {"model": "m", "provider": "ollama", "fallbacks": [{"provider": "vllm"}]},
            "chat.fallbacks[0].model: not given",
        ),
    ],
)
def test_what_only_opening_can_tell(chat, message):
    with pytest.raises(ConfigError) as raised:
        load_config({"chat": chat}).asker()
    assert str(raised.value).startswith(message)


def test_searches_say_under_which_key_something_is_missing():
    for provider, message in (
        ("searxng", "websearch.baseURL: searxng needs"),
        ("tavily", "websearch.apiKey: tavily needs"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_config({"websearch": {"provider": provider}}).search()


def test_an_address_or_a_header_that_no_request_can_use_is_named_with_its_key():
    with pytest.raises(ConfigError, match=r"chat\.headers"):
        load_config({"chat": {"model": "m", "baseURL": "http://localhost:9/v1", "headers": {"x": "a\nb"}}}).asker()


def test_known_hosts_need_no_address_and_local_ones_no_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-outside")
    for chat, host in (({"model": "m"}, "api.openai.com"), ({"model": "m", "provider": "Ollama"}, "localhost:11434"),
                       ({"model": "m", "baseURL": "http://localhost:9/v1"}, "localhost:9")):  # fmt: skip
        asker = load_config({"chat": {**chat, "cache": False}}).asker()
        assert asker.host == host
        asker.close()
