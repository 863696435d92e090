"""Issue 10, 1: the official SDKs against the gateway, over real HTTP; every answer is the embedder's own vector."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from serving import serving

from unabridged import Embedder, Limit
from unabridged.providers.tei import TeiProvider
from unabridged.testing import LoopbackProvider
from unabridged.types import Request

LONG = "A sentence about nothing in particular, number {}. ".format
TEXT = "".join(map(LONG, range(3000)))  # about 40,000 tokens; the model takes 8,192


@pytest.fixture(scope="module")
def own():
    """The same model without a server."""
    with Embedder("hashing", dimensions=None, cache=False) as plain:
        yield plain


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with serving(
        tmp_path_factory.mktemp("sdks"), {"embedding": {"provider": "hashing", "cache": False}}, keys=["k" * 20]
    ) as served:
        yield served


KEY = "k" * 20
SHAPES = {"a text": "short", "texts": ["short", "b"], "a long text": TEXT, "both": ["short", TEXT, "short"]}


@pytest.mark.parametrize("given", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("form", ["default", "float", "base64"])
def test_the_openai_sdk(gateway, own, given, form) -> None:
    import openai

    with openai.OpenAI(base_url=gateway.url, api_key=KEY) as client:
        options = {} if form == "default" else {"encoding_format": form}
        reply = client.embeddings.create(model="bag-of-words", input=given, **options)
    expected = own.embed([given] if isinstance(given, str) else given)
    rows = [item.embedding for item in reply.data]
    if form == "base64":  # the SDK decodes what it asked for itself, and leaves what the caller asked for
        import base64

        rows = [np.frombuffer(base64.b64decode(row), "<f4") for row in rows]
    assert np.array_equal(np.array(rows, np.float32), expected), "bit for bit"
    assert [item.index for item in reply.data] == list(range(len(expected)))
    assert reply.model == "bag-of-words"
    assert reply.object == "list"


def test_the_openai_sdk_asynchronously_and_with_dimensions(gateway) -> None:
    import openai

    async def ask():
        async with openai.AsyncOpenAI(base_url=gateway.url, api_key=KEY) as client:
            several = [client.embeddings.create(model="bag-of-words", input=f"t{n}", dimensions=16) for n in range(20)]
            return await asyncio.gather(*several)

    replies = asyncio.run(ask())
    with Embedder("hashing", dimensions=16, cache=False) as own:
        for n, reply in enumerate(replies):
            assert np.array_equal(np.float32(reply.data[0].embedding), own.embed(f"t{n}"))


def test_the_openai_sdk_raises_its_own_errors(gateway) -> None:
    import openai

    with openai.OpenAI(base_url=gateway.url, api_key=KEY, max_retries=0) as client:
        with pytest.raises(openai.BadRequestError) as empty:
            client.embeddings.create(model="bag-of-words", input=["a", ""])
        assert empty.value.code == "empty_input"
        assert "text 1 " in empty.value.message
        with pytest.raises(openai.NotFoundError) as unknown:
            client.embeddings.create(model="no-such-model", input="a")
        assert unknown.value.code == "model_not_found"
    with (
        openai.OpenAI(base_url=gateway.url, api_key="wrong", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.embeddings.create(model="bag-of-words", input="a")


def test_the_openai_sdk_lists_models(gateway) -> None:
    import openai

    with openai.OpenAI(base_url=gateway.url, api_key=KEY) as client:
        assert [model.id for model in client.models.list()] == ["bag-of-words", "default"]
        assert client.models.retrieve("bag-of-words").owned_by == "hashing"


def test_the_azure_sdk(gateway, own) -> None:
    import openai

    with openai.AzureOpenAI(azure_endpoint=gateway.root, api_key=KEY, api_version="2024-10-21") as client:
        reply = client.embeddings.create(model="bag-of-words", input="short")
    assert np.array_equal(np.float32(reply.data[0].embedding), own.embed("short"))


def test_the_cohere_sdk(gateway, own) -> None:
    import cohere

    client = cohere.ClientV2(KEY, base_url=gateway.root)
    forms = ["float", "base64", "ubinary", "binary"]
    reply = client.embed(
        texts=["short", TEXT], model="bag-of-words", input_type="search_document", embedding_types=forms
    )
    expected = own.embed(["short", TEXT])
    assert np.array_equal(np.float32(reply.embeddings.float_), expected)
    bits = np.packbits(expected > 0, axis=1)
    assert np.array_equal(np.array(reply.embeddings.ubinary), bits)
    assert np.array_equal(np.array(reply.embeddings.binary), bits.astype(int) - 128)
    assert reply.texts == ["short", TEXT]
    assert reply.meta.billed_units.input_tokens > 0
    with pytest.raises(cohere.BadRequestError, match="int8 is not made here"):
        client.embed(texts=["a"], model="bag-of-words", input_type="search_query", embedding_types=["int8"])
    with pytest.raises(cohere.NotFoundError):
        client.embed(texts=["a"], model="nothing", input_type="search_query", embedding_types=["float"])
    client._client_wrapper.httpx_client.httpx_client.close()


def test_the_ollama_client(gateway, own) -> None:
    import ollama

    client = ollama.Client(gateway.root, headers={"authorization": f"Bearer {KEY}"})
    reply = client.embed("bag-of-words:latest", ["short", TEXT])
    assert np.array_equal(np.float32(reply.embeddings), own.embed(["short", TEXT]))
    assert np.array_equal(np.float32(client.embeddings("bag-of-words", "short").embedding), own.embed("short"))
    assert [model.model for model in client.list().models] == ["bag-of-words", "default"]
    assert client.show("bag-of-words").capabilities == ["embedding"]
    assert list(client.embed("bag-of-words", "").embeddings) == []
    with pytest.raises(ollama.ResponseError) as unknown:
        client.embed("nothing", "a")
    assert unknown.value.status_code == 404
    assert "bag-of-words" in unknown.value.error
    client._client.close()


def test_a_client_of_text_embeddings_inference(gateway, own) -> None:
    provider = TeiProvider(base_url=gateway.root, api_key=KEY)
    reply = provider.send(Request(("short", "b")))
    assert np.allclose(reply.vectors, own.embed(["short", "b"]), atol=1e-6)
    provider.close()


def test_token_ids_as_langchain_sends_them(gateway, own) -> None:
    """LangChain posts ids of cl100k_base to any host (FINDINGS §4), the SDK passes them on."""
    import openai
    import quicktok

    encoding = quicktok.get_encoding("cl100k_base")
    texts = ["short words", "wörter 字 🎉", TEXT[:9000]]
    with openai.OpenAI(base_url=gateway.url, api_key=KEY) as client:
        several = client.embeddings.create(model="bag-of-words", input=[list(encoding.encode(t)) for t in texts])
        alone = client.embeddings.create(model="bag-of-words", input=list(encoding.encode(texts[0])))
    assert np.array_equal(np.float32([item.embedding for item in several.data]), own.embed(texts))
    assert np.array_equal(np.float32(alone.data[0].embedding), own.embed(texts[0]))


def test_our_own_embedder_as_a_client_of_the_gateway(gateway, own) -> None:
    """A gateway is one more host: its errors are classified, its vectors checked."""
    with Embedder(_provider(gateway), cache=False) as through:
        assert np.allclose(through.embed(["short", TEXT]), own.embed(["short", TEXT]), atol=1e-5)


def _provider(gateway):
    from unabridged.providers.openai import OpenAIProvider

    return OpenAIProvider(
        "bag-of-words", base_url=gateway.url, api_key=KEY, limit=Limit(input_tokens=1 << 20, request_inputs=64)
    )


def test_a_real_upstream_over_http_is_asked_within_its_limits(tmp_path) -> None:
    """Case 18 through the gateway: the long text is cut, the others go as they are, all in order."""
    import openai

    with LoopbackProvider(limit=Limit(input_tokens=512), keys=["upstream-key"]) as upstream:
        config = {
            "embedding": {
                "provider": "openai",
                "model": "text-embedding-3-small",
                "apiKey": "upstream-key",
                "baseURL": upstream.url,
                "cache": str(tmp_path / "cache"),
            }
        }
        with serving(tmp_path, config) as served, openai.OpenAI(base_url=served.url, api_key="-") as client:
            texts = ["one", TEXT, "three"]
            reply = client.embeddings.with_raw_response.create(model="text-embedding-3-small", input=texts)
            told, vectors = reply.headers, [np.float32(item.embedding) for item in reply.parse().data]
            assert told["x-unabridged-chunked"] == "1"
            assert int(told["x-unabridged-chunks"]) > 50
            billed = reply.parse().usage.prompt_tokens
            assert billed == sum(seen.tokens for seen in upstream.requests if seen.status == 200)
            from unabridged.testing import vector_for

            assert np.array_equal(vectors[0], vector_for("one"))
            assert np.array_equal(vectors[2], vector_for("three"))
            asked = upstream.total
            again = client.embeddings.with_raw_response.create(model="text-embedding-3-small", input=texts)
            assert again.headers["x-unabridged-cached"] == "3"
            assert upstream.total == asked, "all is known"
            assert again.parse().usage.total_tokens == 0, "case 29: the use of what was sent only"


def test_the_openai_sdk_with_everything_at_once(gateway) -> None:
    """Token ids, base64, a width, a request id of the caller's own, and what the headers say of it."""
    import base64

    import openai
    import quicktok

    encoding = quicktok.get_encoding("cl100k_base")
    ids = [list(encoding.encode(text)) for text in ("short words", TEXT[:50_000])]
    with openai.OpenAI(base_url=gateway.url, api_key=KEY) as client:
        raw = client.embeddings.with_raw_response.create(
            model="bag-of-words",
            input=ids,
            dimensions=32,
            encoding_format="base64",
            user="somebody",
            extra_headers={"x-request-id": "mine-7"},
            extra_body={"input_type": "query"},
        )
        reply = raw.parse()
        again = client.embeddings.with_raw_response.create(
            model="bag-of-words", input=ids, dimensions=32, extra_body={"input_type": "query"}
        )
    with Embedder("hashing", dimensions=32, cache=False) as own:
        expected = own.embed(["short words", TEXT[:50_000]])
    rows = [np.frombuffer(base64.b64decode(item.embedding), "<f4") for item in reply.data]
    assert np.array_equal(np.stack(rows), expected)
    assert raw.headers["x-request-id"] == "mine-7"
    assert reply._request_id == "mine-7", "the SDK shows it with an answer"
    assert raw.headers["x-unabridged-chunked"] == "1"
    assert int(raw.headers["x-unabridged-chunks"]) > 1
    told = {"chunked", "chunks", "cached", "requests"}
    assert {name.removeprefix("x-unabridged-") for name in raw.headers if name.startswith("x-unabridged-")} == told
    assert np.array_equal(np.float32([item.embedding for item in again.parse().data]), expected)


def test_the_openai_sdk_waits_as_it_is_told_and_tries_again(tmp_path) -> None:
    """A limit of the key's own: 429 with retry-after, which the SDK keeps to by itself."""
    import openai

    from unabridged.server.keys import KeyFile

    _, shown = KeyFile(tmp_path / "keys.json").add("slow", requests_per_minute=60)
    with (
        serving(tmp_path, {"embedding": {"provider": "hashing", "cache": False}}) as served,
        openai.OpenAI(base_url=served.url, api_key=shown, max_retries=0) as hasty,
        openai.OpenAI(base_url=served.url, api_key=shown, max_retries=3) as patient,
    ):
        with pytest.raises(openai.RateLimitError) as refused:
            for n in range(90):
                hasty.embeddings.create(model="default", input=f"text {n}")
        assert refused.value.response.headers["retry-after"] == "1"
        assert refused.value.code == "rate_limit_exceeded"
        assert patient.embeddings.create(model="default", input="one more").data


def test_a_body_is_taken_as_it_comes(gateway, own) -> None:
    """Without its length, in small pieces, as a client that streams from a file sends it."""
    import httpx

    def pieces():
        yield b'{"model": "bag-of-words", "input": ["'
        for at in range(0, len(TEXT), 1000):
            yield TEXT[at : at + 1000].encode()
        yield b'"]}'

    async def later():
        for piece in pieces():
            yield piece

    async def ask():
        async with httpx.AsyncClient(timeout=60) as client:
            return await client.post(f"{gateway.url}/embeddings", content=later(), headers=bearer)

    bearer = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    for answer in (
        httpx.post(f"{gateway.url}/embeddings", content=pieces(), headers=bearer, timeout=60),
        asyncio.run(ask()),
    ):
        assert answer.status_code == 200, answer.text
        assert np.array_equal(np.float32(answer.json()["data"][0]["embedding"]), own.embed(TEXT))


def test_the_cohere_sdk_asynchronously_and_with_a_width(gateway) -> None:
    import cohere

    async def ask():
        client = cohere.AsyncClientV2(KEY, base_url=gateway.root)
        options = {"model": "bag-of-words", "input_type": "search_query", "embedding_types": ["float"]}
        replies = await asyncio.gather(
            *(client.embed(texts=[f"t{n}"], output_dimension=16, **options) for n in range(8)),
            client.embed(
                inputs=[{"content": [{"type": "text", "text": "t0"}]}], output_dimension=16, truncate="NONE", **options
            ),
        )
        stranger = cohere.AsyncClientV2("wrong", base_url=gateway.root)
        with pytest.raises(cohere.UnauthorizedError):
            await stranger.embed(texts=["a"], **options)
        for each in (client, stranger):
            await each._client_wrapper.httpx_client.httpx_client.aclose()
        return replies

    *replies, alike = asyncio.run(ask())
    with Embedder("hashing", dimensions=16, cache=False) as own:
        for n, reply in enumerate(replies):
            assert np.array_equal(np.float32(reply.embeddings.float_), own.embed([f"t{n}"]))
    assert alike.embeddings.float_ == replies[0].embeddings.float_


def test_the_ollama_client_asynchronously_and_with_a_width(gateway) -> None:
    import ollama

    async def ask():
        client = ollama.AsyncClient(gateway.root, headers={"authorization": f"Bearer {KEY}"})
        replies = await asyncio.gather(
            *(client.embed("bag-of-words", [f"t{n}", TEXT], dimensions=16, keep_alive="5m") for n in range(4))
        )
        stranger = ollama.AsyncClient(gateway.root)
        with pytest.raises(ollama.ResponseError) as refused:
            await stranger.embed("bag-of-words", "a")
        for each in (client, stranger):
            await each._client.aclose()
        return replies, refused.value.status_code

    replies, refused = asyncio.run(ask())
    assert refused == 401
    with Embedder("hashing", dimensions=16, cache=False) as own:
        for n, reply in enumerate(replies):
            assert np.array_equal(np.float32(reply.embeddings), own.embed([f"t{n}", TEXT]))
