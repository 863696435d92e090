"""Cases 12–26 over real HTTP: the embedder, the OpenAI dialect, and a loopback server that misbehaves."""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from servers import covered

from unabridged import Embedder, Limit, open_provider
from unabridged.errors import (
    AuthFailed,
    BadReply,
    EmbeddingFailed,
    ModelNotFound,
    ProviderError,
    ProviderTimeout,
)
from unabridged.testing import LoopbackProvider, RateLimit, Trouble, vector_for

_open: list[Embedder] = []


@pytest.fixture(autouse=True)
def _closed():
    yield
    while _open:
        _open.pop().close()


def connect(
    server: LoopbackProvider, *, model: str = "a-model", key: str = "k", limit: Limit | None = None, **options
) -> Embedder:
    provider = open_provider(f"openai/{model}", api_key=key, base_url=server.url)
    return opened(provider, limit=limit or Limit(input_tokens=8192, request_inputs=100), **options)


def opened(provider, **options) -> Embedder:
    options.setdefault("cache", False)
    _open.append(Embedder(provider, **options))
    return _open[-1]


def prose(tokens: int, seed: int = 0) -> str:
    rng = random.Random(seed)
    return " ".join(f"Storm {rng.randrange(10**6)} reached the harbour." for _ in range(tokens // 9))


def right(vector: np.ndarray, text: str) -> bool:
    return bool(np.allclose(vector, vector_for(text), atol=1e-6))


@pytest.mark.parametrize("numbers", [True, False])
def test_case_14_case_15_the_real_limit_is_512(numbers) -> None:
    with LoopbackProvider(limit=Limit(input_tokens=512), numbers=numbers) as server:
        made, text = connect(server), prose(5500)
        one = made.embed_detailed(text)[0]
        assert covered(one.spans, text)
        refused = sum(seen.status == 400 for seen in server.requests)
        assert refused == 1 if numbers else refused <= 2
        assert made.limit.input_tokens == 512
        made.embed(prose(4000, seed=2))
        assert sum(seen.status == 400 for seen in server.requests) == refused


@pytest.mark.parametrize("dialect", ["openai", "voyage", "cohere", "mistral", "jina", "tei", "ollama", "nim", "gemini"])
async def test_every_dialect_takes_texts_of_any_length(dialect) -> None:
    limit = Limit(input_tokens=300, request_inputs=16)
    with LoopbackProvider(dialect, limit=limit) as server:
        provider = open_provider(dialect, model="a-model", api_key="k", base_url=server.url)
        async with Embedder(provider, cache=False, limit=Limit(input_tokens=4096, request_inputs=64)) as made:
            texts = ["short one", prose(1500), "short two"]
            result = await made.aembed_detailed(texts)
            assert [text.status for text in result] == ["ok", "chunked", "ok"]
            cosine = float(result[2].vector @ vector_for("short two")) / float(np.linalg.norm(result[2].vector))
            assert cosine == pytest.approx(float(np.linalg.norm(vector_for("short two"))), abs=1e-4)
            assert made.embed_query(["a query"]).shape == (1, 32)


def test_case_16_a_thousand_dense_texts_are_packed_under_the_cap() -> None:
    limit = Limit(input_tokens=8192, request_inputs=2048, request_tokens=30_000)
    with LoopbackProvider(limit=limit) as server:
        texts = [prose(100, seed=i) for i in range(1000)]
        assert connect(server, limit=limit).embed(texts).shape == (1000, 32)
        assert {seen.status for seen in server.requests} == {200}


@pytest.mark.parametrize("indexed", [True, False])
def test_case_18_one_of_a_hundred(indexed) -> None:
    with LoopbackProvider("mistral", limit=Limit(input_tokens=512), indexed=indexed, numbers=indexed) as server:
        provider = open_provider("mistral", model="a-model", api_key="k", base_url=server.url)
        made = opened(provider, limit=Limit(input_tokens=8192, request_inputs=100))
        texts = [f"text number {i}" for i in range(100)]
        texts[63] = prose(1200)
        result = made.embed_detailed(texts)
        assert [i for i, text in enumerate(result) if text.status == "chunked"] == [63]
        assert len(server.requests) <= 2 + 9


@pytest.mark.parametrize(
    "kind",
    ["duplicate", "gap", "fewer", "more", "empty", "narrow", "nan", "null", "error_in_200", "not_json"],
)
def test_case_19_a_reply_that_cannot_be_trusted_is_an_error_and_nothing_is_cached(kind, tmp_path) -> None:
    with LoopbackProvider(troubles=[Trouble(kind=kind, times=None)]) as server:
        with pytest.raises(ProviderError) as caught:
            connect(server, cache=tmp_path).embed(["one", "two", "three"])
        assert caught.value.fault.kind in (
            "bad_reply",
            "bad_values",
            "upstream_error",
            "bad_request",
            "unknown",
        )
        if kind in ("duplicate", "gap", "fewer", "more", "narrow"):
            assert isinstance(caught.value, BadReply | EmbeddingFailed)
    with LoopbackProvider(port=0) as server:
        made = connect(server, cache=tmp_path)
        made.embed(["one", "two", "three"])
        assert made.cache is not None
        assert len(server.requests) == 1


def test_case_19_a_reply_in_reverse_order_is_put_right() -> None:
    with LoopbackProvider(troubles=[Trouble(kind="reverse", times=None)]) as server:
        vectors = connect(server).embed(["one", "two", "three"])
        assert all(right(v, t) for v, t in zip(vectors, ["one", "two", "three"], strict=True))


@pytest.mark.parametrize("kind", ["hang", "drip"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_case_22_a_server_that_never_answers(kind, way) -> None:
    with LoopbackProvider(troubles=[Trouble(kind=kind, times=None, seconds=0.05)]) as server:
        made = connect(server, timeout=1.0)
        started = time.monotonic()
        with pytest.raises(ProviderTimeout):
            made.embed(["a", "b"]) if way == "sync" else asyncio.run(made.aembed(["a", "b"]))
        assert time.monotonic() - started < 1.3
        ended = time.monotonic() + 3
        while not server.hung_up and time.monotonic() < ended:
            time.sleep(0.02)
        assert server.hung_up, "the connection is closed"


def test_case_23_in_flight_and_retry_after() -> None:
    with LoopbackProvider(latency=0.01) as server:
        connect(server, limit=Limit(input_tokens=512, request_inputs=1), concurrency=5).embed(
            [f"t{i}" for i in range(60)]
        )
        assert server.in_flight_max <= 5
    headers = {"retry-after": "1"}
    with LoopbackProvider(troubles=[Trouble(status=429, body="slow down", headers=headers)]) as server:
        connect(server).embed("text")
        first, second = server.requests
        assert 1.0 <= second.started - first.started < 1.6
    body = "Rate limit reached. Please try again in 176ms."
    with LoopbackProvider(troubles=[Trouble(status=429, body=body)]) as server:
        connect(server).embed("text")
        first, second = server.requests
        assert 0.176 <= second.started - first.started < 0.8


def test_case_24_three_keys_one_revoked() -> None:
    with LoopbackProvider(keys={"one", "three"}) as server:
        keys = [open_provider("openai/a-model", api_key=key, base_url=server.url) for key in ("one", "two", "three")]
        made = opened(keys)
        for i in range(8):
            assert right(made.embed(f"text {i}"), f"text {i}")
        assert sum(seen.status == 401 for seen in server.requests) == 1
        with pytest.raises(AuthFailed):
            opened(keys[1]).embed("text")


def test_case_25_text_is_sent_and_never_token_ids() -> None:
    with LoopbackProvider() as server:
        connect(server, model="text-embedding-3-small").embed([prose(9000), "short"])
        inputs = [seen.body["input"] for seen in server.requests]
        assert all(isinstance(text, str) for one in inputs for text in (one if isinstance(one, list) else [one]))


def test_case_26_a_wrong_model_name_stops_at_once() -> None:
    with LoopbackProvider(models={"another"}) as server, pytest.raises(ModelNotFound):
        connect(server).embed([f"text {i}" for i in range(7077)])
    assert len(server.requests) <= 9


def test_a_storm_of_429_loses_nothing_and_refuses_little() -> None:
    """Twenty a second admitted, 32 threads: shortened here; the benchmark does the whole minute."""
    with LoopbackProvider(rate=RateLimit(requests=20)) as server:
        made = connect(server, concurrency=32)
        started = time.monotonic()
        with ThreadPoolExecutor(32) as pool:
            vectors = list(pool.map(lambda i: made.embed(f"text {i}"), range(120)))
        seconds = time.monotonic() - started
        assert all(right(v, f"text {i}") for i, v in enumerate(vectors))
        refused = sum(seen.status == 429 for seen in server.requests)
        assert refused <= 0.5 * 120
        assert seconds < 2 * (120 - 20) / 20 + 3


def test_faults_of_every_kind_hurt_only_whom_they_must() -> None:
    """Issue: a run with 20 % random faults; every text ok or reported with its true cause."""
    troubles = [
        Trouble(status=500, body="internal error", times=None, share=0.04),
        Trouble(status=503, times=None, share=0.04),
        Trouble(status=429, body="try again in 20ms", times=None, share=0.04),
        Trouble(kind="drop", times=None, share=0.03),
        Trouble(kind="nan", times=None, share=0.03, at=0),
        Trouble(kind="error_in_200", times=None, share=0.02),
        Trouble(
            status=400,
            body="invalid request: poisoned",
            times=None,
            when=lambda seen: any("poison" in t for t in seen.texts),
        ),
    ]
    with LoopbackProvider(limit=Limit(input_tokens=400, request_inputs=32), troubles=troubles, seed=7) as server:
        made = connect(
            server,
            limit=Limit(input_tokens=400, request_inputs=32),
            on_error="report",
            max_requests_per_text=100,
        )
        texts = [f"text {i}" + (" poison" if i % 250 == 3 else "") for i in range(1500)]
        texts[700] = prose(3000)
        result = made.embed_detailed(texts)
        for text, one in zip(texts, result, strict=True):
            if "poison" in text:
                assert one.status == "failed"
            elif one.status == "ok":
                assert right(one.vector, text)
        failed = [one for one in result.failed if "poison" not in texts[one.index]]
        assert len(failed) <= 15
        assert {type(one.error).__name__ for one in failed if not isinstance(one.error, ProviderError)} == set()
        assert result[700].status == "chunked"


def test_case_24_once_every_key_is_refused_the_next_call_fails_at_once_too() -> None:
    with LoopbackProvider(keys=["right"]) as server:
        embedder = connect(server, key="wrong-key")
        for _ in range(2):
            with pytest.raises(AuthFailed):
                embedder.embed(["a", "b"])
        with pytest.raises(AuthFailed):
            asyncio.run(embedder.aembed(["a", "b"]))
        assert server.total == 1
