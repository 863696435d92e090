"""Each dialect against a loopback server that speaks it: vectors, roles, widths, refusals, keys (SPEC K4)."""

from __future__ import annotations

import numpy as np
import pytest

from unabridged.errors import AuthFailed, BadReply, ModelNotFound, Overflow, ProviderError, RateLimited
from unabridged.providers.registry import open_provider
from unabridged.testing import LoopbackProvider, RateLimit, Trouble, vector_for
from unabridged.types import Limit, Request

MODELS = {
    "azure": "a-deployment",
    "bedrock": "cohere.embed-english-v3",
    "cohere": "embed-v4.0",
    "gemini": "gemini-embedding-001",
    "huggingface": "BAAI/bge-small-en-v1.5",
    "jina": "jina-embeddings-v3",
    "llamacpp": "m",
    "mistral": "codestral-embed",
    "nim": "nvidia/nv-embedqa-e5-v5",
    "ollama": "nomic-embed-text",
    "openai": "text-embedding-3-small",
    "siliconflow": "BAAI/bge-m3",
    "tei": None,
    "vertex": "text-embedding-005",
    "vllm": "m",
    "voyage": "voyage-4",
    "watsonx": "ibm/slate",
}
# What a dialect has no place for.
NO_ROLE = {"azure", "huggingface", "llamacpp", "mistral", "ollama", "openai", "siliconflow", "tei", "vllm", "watsonx"}
NO_USAGE = {"bedrock", "gemini", "huggingface", "tei"}
NO_WIDTH = {"huggingface", "watsonx"}
TEXTS = tuple(f"text number {n}" for n in range(5))


def connect(server, dialect, **options):
    if dialect == "vertex":
        options.setdefault("project", "p")
    if dialect == "watsonx":
        options |= {"project": "p", "token_url": server.root}
    options.setdefault("api_key", "key-123456")
    return open_provider(dialect, model=MODELS[dialect], base_url=server.url, **options)


@pytest.fixture(params=sorted(MODELS))
def dialect(request):
    return request.param


def test_k4_every_text_gets_its_own_vector_from_threads_and_from_tasks(dialect):
    async def sent(provider, request):
        try:
            return await provider.asend(request)
        finally:
            await provider.aclose()

    import asyncio

    with LoopbackProvider(dialect, keys=["key-123456"]) as server:
        provider = connect(server, dialect)
        reply = provider.send(Request(TEXTS))
        again = asyncio.run(sent(provider, Request(TEXTS)))
        provider.close()
        assert server.texts == [*TEXTS, *TEXTS]
    assert reply.vectors.dtype == np.float32
    for text, row in zip(TEXTS, reply.vectors, strict=True):
        np.testing.assert_allclose(row, vector_for(text), atol=1e-7)
    assert (again.vectors == reply.vectors).all()
    assert (reply.tokens is None) == (dialect in NO_USAGE)


def test_k4_the_role_reaches_the_server(dialect):
    with LoopbackProvider(dialect) as server:
        provider = connect(server, dialect)
        for role in ("document", "query"):
            provider.send(Request(("a",), role=role))
        provider.close()
        roles = [seen.role for seen in server.requests if seen.texts]
    assert (roles[0] == roles[1] is None) if dialect in NO_ROLE else (roles[0] != roles[1])


def test_k4_the_width_reaches_the_server_and_is_checked(dialect):
    if dialect in NO_WIDTH:
        pytest.skip("this dialect has no parameter for it")
    with LoopbackProvider(dialect) as server:
        provider = connect(server, dialect)
        assert provider.send(Request(("a",), dimensions=8)).vectors.shape == (1, 8)
        assert server.requests[-1].dimensions == 8
        server.trouble(Trouble(kind="narrow"))
        with pytest.raises(BadReply) as caught:
            provider.send(Request(("a",), dimensions=8))
        provider.close()
    assert caught.value.fault.kind == "bad_reply"


def test_no_provider_cuts_silently(dialect):
    """Providers that cut by default are told not to (each one's own switch)."""
    with LoopbackProvider(dialect, limit=Limit(input_tokens=40)) as server:
        provider = connect(server, dialect)
        with pytest.raises(Overflow) as caught:
            provider.send(Request(("short", "word " * 90)))
        provider.close()
    fault = caught.value.fault
    assert (fault.kind, fault.unit) == ("input_overflow", "tokens") or fault.kind == "request_overflow"


@pytest.mark.parametrize("numbers", [True, False])
def test_refusals_are_understood_with_and_without_numbers(dialect, numbers):
    limit = Limit(input_tokens=40, request_inputs=3)
    with LoopbackProvider(dialect, limit=limit, numbers=numbers) as server:
        provider = connect(server, dialect)
        with pytest.raises(Overflow) as caught:
            provider.send(Request(TEXTS))
        assert caught.value.fault.kind == "batch_count"
        with pytest.raises(Overflow) as caught:
            provider.send(Request(("word " * 90,)))
        provider.close()
    if numbers and caught.value.fault.limit is not None:
        assert caught.value.fault.limit == 40


def test_keys_models_and_rates_are_told_apart_and_no_key_is_shown(dialect):
    with LoopbackProvider(dialect, keys=["key-good-1"], models=["none"]) as server:
        provider = connect(server, dialect, api_key="key-revoked-2")
        with pytest.raises(AuthFailed) as caught:
            provider.send(Request(("a",)))
        provider.close()
        assert "key-revoked-2" not in f"{caught.value!r}{caught.value.body!r}{provider!r}"
        if dialect != "tei":  # it serves one model, which is not named
            provider = connect(server, dialect, api_key="key-good-1")
            with pytest.raises(ModelNotFound):
                provider.send(Request(("a",)))
            provider.close()
    with LoopbackProvider(dialect, rate=RateLimit(requests=1, seconds=60, tell="seconds")) as server:
        provider = connect(server, dialect)
        provider.send(Request(("a",)))
        with pytest.raises(RateLimited) as caught:
            provider.send(Request(("a",)))
        provider.close()
    assert 50 < caught.value.fault.retry_after <= 60


@pytest.mark.parametrize(
    "kind", ["fewer", "more", "empty", "nan", "infinite", "null", "zero", "error_in_200", "not_json"]
)
def test_case_19_a_wrong_reply_is_an_error_that_says_which(dialect, kind):
    with LoopbackProvider(dialect, troubles=[Trouble(kind=kind, at=2, times=None)]) as server:
        provider = connect(server, dialect)
        with pytest.raises(ProviderError) as caught:
            provider.send(Request(TEXTS))
        provider.close()
    fault = caught.value.fault
    if kind in {"nan", "infinite", "null", "zero"}:
        assert (fault.kind, fault.indices) == ("bad_values", (2,))
    elif kind == "error_in_200":
        assert fault.kind == "upstream_error"
    else:  # a page under status 200 ("not_json") too: an address of something else, or a proxy's own
        assert fault.kind == "bad_reply"


@pytest.mark.parametrize("dialect", ["openai", "azure", "voyage", "jina", "mistral", "nim", "vllm"])
def test_case_19_order_comes_from_the_index(dialect):
    with LoopbackProvider(dialect, troubles=[Trouble(kind="reverse")]) as server:
        provider = connect(server, dialect)
        vectors = provider.send(Request(TEXTS)).vectors
        for kind in ("duplicate", "gap"):
            server.trouble(Trouble(kind=kind, at=1))
            with pytest.raises(BadReply, match="index"):
                provider.send(Request(TEXTS))
        provider.close()
    np.testing.assert_allclose(vectors, np.stack([vector_for(text) for text in TEXTS]), atol=1e-7)


def test_case_21_ollama_is_told_by_its_replies():
    with LoopbackProvider("ollama", routes=["/api/embeddings"]) as server:
        provider = open_provider("ollama/m", base_url=server.url)
        assert (provider.send(Request(("a",))).vectors[0] == vector_for("a")).all()
        assert provider.limit.request_inputs == 1
        with pytest.raises(Overflow) as caught:
            provider.send(Request(("a", "b")))
        assert (caught.value.fault.kind, caught.value.fault.limit) == ("batch_count", 1)
        assert [seen.path for seen in server.requests] == ["/api/embed", "/api/embeddings"]
        provider.close()
    with LoopbackProvider("ollama") as server:
        provider = open_provider("ollama/m", base_url=server.url + "/v1")
        assert provider.send(Request(("a", "b"))).vectors.shape == (2, 32)
        assert server.requests[0].path == "/v1/embeddings"
        provider.close()
    with LoopbackProvider("ollama", models=["another"]) as server:  # a missing model is no missing route
        provider = open_provider("ollama/m", base_url=server.url)
        with pytest.raises(ModelNotFound):
            provider.send(Request(("a",)))
        assert server.total == 1
        provider.close()


def test_case_25_text_is_sent_as_text(dialect):
    with LoopbackProvider(dialect) as server:
        provider = connect(server, dialect)
        provider.send(Request(("some text",)))
        provider.close()
        assert "some text" in str(server.requests[-1].body)


def test_azure_addresses():
    with LoopbackProvider("azure") as server:
        for base in ("", "/openai/deployments/d", "/openai/v1"):
            provider = open_provider("azure/d", base_url=server.url + base, api_key="key-123456")
            provider.send(Request(("a",)))
            provider.close()
        paths = [seen.path for seen in server.requests]
        assert {seen.headers["api-key"] for seen in server.requests} == {"key-123456"}
    assert paths[0] == paths[1] == "/openai/deployments/d/embeddings?api-version=2024-10-21"
    assert paths[2] == "/openai/v1/embeddings"
    provider = open_provider("azure/d", base_url="http://127.0.0.1:9", ad_token="token-1")
    assert provider.http._headers["authorization"] == "Bearer token-1"


def test_bedrock_titan_takes_one_text_and_signs(monkeypatch):
    with LoopbackProvider("bedrock", dimensions=16) as server:
        provider = open_provider("bedrock/amazon.titan-embed-text-v2:0", base_url=server.url, api_key="key-123456")
        assert provider.limit.request_inputs == 1
        reply = provider.send(Request(("a",), dimensions=8))
        assert (reply.vectors.shape, reply.tokens) == ((1, 8), 1)
        with pytest.raises(Overflow) as caught:
            provider.send(Request(("a", "b")))
        assert caught.value.fault.kind == "batch_count"
        provider.close()
        pytest.importorskip("botocore")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-secret")
        provider = open_provider("bedrock/amazon.titan-embed-text-v2:0", base_url=server.url)
        provider.send(Request(("a",)))
        provider.close()
        assert server.requests[-1].key == "AKIAEXAMPLE"


def test_watsonx_changes_its_key_for_a_token_once():
    with LoopbackProvider("watsonx", keys=["key-123456"]) as server:
        provider = connect(server, "watsonx")
        for _ in range(3):
            provider.send(Request(("a",), timeout=5))
        provider.close()
        assert [seen.path.split("?")[0] for seen in server.requests].count("/identity/token") == 1


def test_tei_is_asked_for_its_limits():
    with LoopbackProvider("tei", limit=Limit(input_tokens=512, request_inputs=32, request_tokens=16384)) as server:
        provider = open_provider("tei", base_url=server.url, prompt_names={"query": "query"}, normalize=False)
        provider.discover()
        assert provider.limit == Limit(input_tokens=512, request_inputs=32, request_tokens=16384)
        assert provider.model == "BAAI/bge-m3"
        provider.send(Request(("a",), role="query"))
        provider.close()
        assert server.requests[-1].role == "query"
        assert server.requests[-1].body["truncate"] is False
    assert provider.settings == {"prompt_name.query": "query", "normalized": "false"}


def test_ollama_options_and_routes_that_were_given_whole():
    with LoopbackProvider("ollama") as server:
        for path in ("/api/embed", "/api/embeddings"):
            provider = open_provider("ollama/m", base_url=server.url + path, num_ctx=4096, keep_alive="5m")
            assert provider.send(Request(("a",))).vectors.shape == (1, 32)
            provider.close()
            body = server.requests[-1].body
            assert server.requests[-1].path == path
            assert (body["options"], body["keep_alive"], body["truncate"]) == ({"num_ctx": 4096}, "5m", False)
        assert provider.settings == {"route": "/api/embeddings"}
        provider = open_provider("ollama/m", base_url=server.url, default_dimensions=8)
        assert provider.send(Request(("a",))).vectors.shape == (1, 8)
        provider.close()


def test_tasks_and_prompts_are_part_of_the_settings():
    settings = open_provider("jina/jina-embeddings-v3", api_key="key-123456").settings
    assert settings["task.query"] == "retrieval.query"
    old = open_provider("jina/jina-embeddings-v2-base-en", api_key="key-123456")
    assert old.settings == {"normalized": "true"}
    gemini = open_provider("gemini/gemini-embedding-001", api_key="key-123456", tasks={"query": "QUESTION_ANSWERING"})
    assert gemini.settings == {"task.query": "QUESTION_ANSWERING"}


@pytest.mark.parametrize("dialect", ["gemini", "vertex"])
def test_k4_google_s_cut_vectors_are_renormalised(dialect):
    with LoopbackProvider(dialect, vector=lambda text, width: [len(text) / 100] * width) as server:
        provider = connect(server, dialect)
        cut = provider.send(Request(("abc",), dimensions=4)).vectors
        whole = provider.send(Request(("abc",))).vectors
        provider.close()
    assert cut.tolist() == [[0.5] * 4]
    np.testing.assert_allclose(whole, 0.03, rtol=1e-6)


def test_vertex_says_where_the_provider_cut():
    body = {
        "predictions": [{"embeddings": {"values": [1.0, 0.5], "statistics": {"truncated": True, "token_count": 9}}}]
    }
    with LoopbackProvider("vertex", troubles=[Trouble(kind="status", status=200, body=body)]) as server:
        provider = connect(server, "vertex")
        reply = provider.send(Request(("a",)))
        provider.close()
    assert (reply.tokens, reply.warnings) == (9, ("input cut by the provider: 0",))


def test_a_silent_cut_is_suspected_where_usage_stands_still():
    with LoopbackProvider("openai", limit=Limit(input_tokens=64), silent=True) as server:
        provider = open_provider("openai/m", base_url=server.url)
        first = provider.send(Request(("a word or two " * 300,)))
        second = provider.send(Request(("other words there " * 900,)))
        short = provider.send(Request(("all of it",)))
        provider.close()
    assert (first.warnings, short.warnings) == ((), ())
    assert second.warnings == ("input cut silently? 64 tokens billed for 16200 characters",)
