"""The OpenAI SDK's own habits: formats, raw responses, copies, token ids, headers, replies that are wrong."""

from __future__ import annotations

import asyncio
import base64
import gc
import multiprocessing
import time

import numpy as np
import pytest

openai = pytest.importorskip("openai")

from unabridged import Limit, wrap
from unabridged.errors import BadReply
from unabridged.testing import LoopbackProvider, Trouble, vector_for

MODEL = "text-embedding-3-small"
LONG = " ".join(f"Sentence number {n} says that {n} is not {n + 1}." for n in range(120))
LIMIT = Limit(input_tokens=300)


@pytest.fixture
def server():
    with LoopbackProvider(limit=LIMIT) as provider:
        yield provider


def client_of(server, **options):
    client = openai.OpenAI(base_url=server.url, api_key="a-key", max_retries=0)
    return wrap(client, limit=300, cache=False, **options)


def test_the_reply_is_the_sdks_with_summed_usage_and_our_report(server):
    reply = client_of(server).embeddings.create(model=MODEL, input=["short", LONG])
    assert isinstance(reply, openai.types.CreateEmbeddingResponse)
    assert [item.index for item in reply.data] == [0, 1]
    assert reply.usage.total_tokens == sum(seen.tokens for seen in server.requests) > 1000
    assert reply.unabridged["texts"] == 2
    assert reply.unabridged["chunked"] == 1
    assert reply.unabridged["chunks"] == len(server.texts)
    assert reply.unabridged["requests"] == server.total
    assert "unabridged" in reply.model_dump()
    assert client_of(server).embeddings.create(model=MODEL, input="short").unabridged["chunked"] == 0


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
def test_encoding_formats_are_as_the_sdk_has_them(server, text):
    client = client_of(server)
    plain = client.embeddings.create(model=MODEL, input=text).data[0].embedding
    floats = client.embeddings.create(model=MODEL, input=text, encoding_format="float").data[0].embedding
    packed = client.embeddings.create(model=MODEL, input=text, encoding_format="base64").data[0].embedding
    assert isinstance(plain, list)
    assert np.allclose(plain, floats)
    assert isinstance(packed, str)
    assert np.allclose(np.frombuffer(base64.b64decode(packed), "<f4"), plain)
    asked = {seen.body.get("encoding_format") for seen in server.requests}
    assert asked == {"base64", "float"}, "what the caller asks for is what the server is asked for"


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
def test_dimensions_are_passed_on(server, text):
    reply = client_of(server).embeddings.create(model=MODEL, input=text, dimensions=16)
    assert len(reply.data[0].embedding) == 16
    assert {seen.dimensions for seen in server.requests} == {16}


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
def test_raw_and_streaming_responses(server, text):
    client = client_of(server)
    expected = client.embeddings.create(model=MODEL, input=text).data[0].embedding
    for resource in (client.embeddings, client.with_options(timeout=9).embeddings):
        raw = resource.with_raw_response.create(model=MODEL, input=text)
        assert raw.http_response.status_code == 200
        assert raw.http_request.method == "POST"
        assert np.allclose(raw.parse().data[0].embedding, expected)
        with resource.with_streaming_response.create(model=MODEL, input=text) as response:
            assert np.allclose(response.parse().data[0].embedding, expected)
    whole = client.with_raw_response.embeddings.create(model=MODEL, input=text)
    assert np.allclose(whole.parse().data[0].embedding, expected)


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
async def test_raw_and_streaming_responses_async(server, text):
    async with openai.AsyncOpenAI(base_url=server.url, api_key="a-key") as bare:
        client = wrap(bare, limit=300, cache=False)
        expected = (await client.embeddings.create(model=MODEL, input=text)).data[0].embedding
        raw = await client.embeddings.with_raw_response.create(model=MODEL, input=text)
        assert np.allclose(raw.parse().data[0].embedding, expected)
        async with client.embeddings.with_streaming_response.create(model=MODEL, input=text) as response:
            assert np.allclose((await response.parse()).data[0].embedding, expected)


def test_headers_queries_and_users_are_passed_on_to_every_request(server):
    client_of(server).embeddings.create(
        model=MODEL,
        input=LONG,
        extra_headers={"x-team": "harbour"},
        extra_query={"v": "2"},
        user="u1",
        timeout=7,
    )
    assert len(server.texts) > 2
    assert {seen.headers["x-team"] for seen in server.requests} == {"harbour"}
    assert all(seen.path.endswith("?v=2") for seen in server.requests)
    assert {seen.body["user"] for seen in server.requests} == {"u1"}
    assert {seen.headers.get("x-stainless-read-timeout", "7") for seen in server.requests} <= {"7", "7.0"}


def test_each_of_two_callers_has_its_own_headers(server):
    """What a call passes on goes with its requests, also when both share worker threads."""
    from concurrent.futures import ThreadPoolExecutor

    client = client_of(server, concurrency=4)
    client.embeddings.create(model=MODEL, input=LONG)

    def call(n):
        text = f"caller {n}: {LONG[n * 30 :]}"
        return client.embeddings.create(model=MODEL, input=text, extra_headers={"x-caller": str(n)})

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(call, range(6)))
    for seen in server.requests:
        callers = {text[7] for text in seen.texts if text.startswith("caller ")}
        assert callers <= {seen.headers.get("x-caller")}


def test_everything_else_is_the_clients_own(server):
    bare = openai.OpenAI(base_url=server.url, api_key="a-key", organization="house")
    client = wrap(bare)
    assert type(client).__name__ == "OpenAI"
    assert isinstance(client, openai.OpenAI)
    assert (client.api_key, client.organization, client.base_url) == ("a-key", "house", bare.base_url)
    assert type(client.chat) is type(bare.chat)
    assert type(client.embeddings).__name__ == "Embeddings"
    assert isinstance(client.embeddings, type(bare.embeddings))


def test_copies_with_options_stay_wrapped_and_change_nothing_else(server):
    client = client_of(server)
    for other in (client.copy(api_key="b-key"), client.with_options(timeout=5), client.copy().copy()):
        assert isinstance(other, openai.OpenAI)
        assert other.embeddings.create(model=MODEL, input=LONG).unabridged["chunked"] == 1
    assert client.api_key == "a-key"
    client.api_key = "c-key"
    client.embeddings.create(model=MODEL, input=LONG)
    assert server.requests[-1].key == "c-key"


def test_a_copy_of_a_wrapped_client_may_be_wrapped_again(server):
    client = client_of(server)
    other = wrap(client.with_options(timeout=3))
    assert other.timeout == 3
    assert other.embeddings.create(model=MODEL, input=LONG).unabridged["chunked"] == 1
    assert wrap(client.embeddings) is client.embeddings
    assert wrap(client.embeddings.create)(model=MODEL, input=LONG).unabridged["chunked"] == 1
    asynchronous = wrap(openai.AsyncOpenAI(base_url=server.url, api_key="a-key"))
    assert wrap(wrap(asynchronous)) is asynchronous


def test_the_client_may_be_dropped_and_the_wrapped_one_too(server):
    bare = openai.OpenAI(base_url=server.url, api_key="a-key")
    wrap(bare, limit=300, cache=False).embeddings.create(model=MODEL, input=LONG)
    gc.collect()
    assert bare.embeddings.create(model=MODEL, input="still there").data
    client = wrap(bare, limit=300, cache=False)
    del bare
    gc.collect()
    assert client.embeddings.create(model=MODEL, input=LONG).data


def test_case_25_token_ids_reach_only_hosts_that_take_them(server):
    quicktok = pytest.importorskip("quicktok")
    encoding = quicktok.get_encoding("cl100k_base")
    client = client_of(server)
    ids = list(encoding.encode("a text as token ids"))
    for given in (ids, [ids], (token for token in ids), np.array(ids)):
        assert client.embeddings.create(model=MODEL, input=given).data[0].embedding == pytest.approx(
            vector_for("a text as token ids").tolist(), abs=1e-6
        )
    long = client.embeddings.create(model=MODEL, input=[list(encoding.encode(LONG)), ids])
    assert long.unabridged["chunked"] == 1
    assert all(isinstance(text, str) for seen in server.requests for text in seen.body["input"])


@pytest.mark.parametrize("text", [["a", "b", "c"], ["a", LONG, "c"]], ids=["short", "long"])
def test_case_19_order_comes_from_the_index(server, text):
    server.trouble(Trouble(kind="reverse", times=None))
    reply = client_of(server).embeddings.create(model=MODEL, input=text)
    assert [item.index for item in reply.data] == [0, 1, 2]
    assert reply.data[0].embedding == pytest.approx(vector_for("a").tolist(), abs=1e-6)
    assert reply.data[2].embedding == pytest.approx(vector_for("c").tolist(), abs=1e-6)


@pytest.mark.parametrize("kind", ["duplicate", "gap", "fewer", "more", "nan", "zero"])
def test_case_19_a_reply_that_cannot_be_trusted_is_an_error(server, kind):
    server.trouble(Trouble(kind=kind, times=None))
    with pytest.raises(BadReply):
        client_of(server).embeddings.create(model=MODEL, input=["a", "b"])


@pytest.mark.parametrize("text", ["short", LONG], ids=["short", "long"])
def test_usage_that_is_missing_is_not_missed(text):
    with LoopbackProvider(limit=LIMIT, usage=False) as server:
        reply = client_of(server).embeddings.create(model=MODEL, input=[text])
    assert len(reply.data) == 1
    if text is LONG:
        assert reply.usage.total_tokens > 1000, "counted here"


def test_a_host_that_ignores_base64_is_understood():
    with LoopbackProvider("mistral", limit=LIMIT) as server:
        bare = openai.OpenAI(base_url=f"{server.root}/v1", api_key="a-key")
        reply = wrap(bare, limit=300, cache=False).embeddings.create(model="mistral-embed", input=["a", LONG])
    assert isinstance(reply.data[1].embedding[0], float)


def test_more_texts_than_a_request_may_hold():
    with LoopbackProvider(limit=Limit(request_inputs=2048)) as server:
        texts = [f"text {n}" for n in range(2500)]
        reply = client_of(server).embeddings.create(model=MODEL, input=texts)
    assert len(reply.data) == 2500
    assert reply.data[2499].embedding == pytest.approx(vector_for("text 2499").tolist(), abs=1e-6)
    assert server.counts == {200: 2}


def test_a_deployment_is_told_its_models_limit(server):
    """Azure names deployments, not models: ``model=`` says which limit is meant."""
    with LoopbackProvider("azure", limit=Limit(input_tokens=512)) as azure:
        bare = openai.AzureOpenAI(azure_endpoint=azure.root, api_key="k", api_version="2024-10-21")
        client = wrap(bare, model="BAAI/bge-large-en-v1.5", cache=False)
        assert client.embeddings.create(model="our-deployment", input=LONG).unabridged["chunked"] == 1
        assert azure.counts.keys() == {200}, "no refusal was needed to know it"


async def test_in_a_running_event_loop_a_sync_client_works_and_an_async_one_does_not_block(server):
    assert client_of(server).embeddings.create(model=MODEL, input=LONG).unabridged["chunked"] == 1
    beats = 0

    async def heart():
        nonlocal beats
        while True:
            await asyncio.sleep(0.002)
            beats += 1

    with LoopbackProvider(limit=LIMIT, latency=0.1) as slow:
        async with openai.AsyncOpenAI(base_url=slow.url, api_key="a-key") as bare:
            beating = asyncio.create_task(heart())
            await wrap(bare, limit=300, cache=False).embeddings.create(model=MODEL, input=[LONG, LONG[9:]])
            beating.cancel()
    assert beats > 5


def _in_child(client, sender):
    reply = client.embeddings.create(model=MODEL, input=LONG)
    sender.send(reply.data[0].embedding)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_a_forked_worker_has_an_embedder_of_its_own(server):
    client = client_of(server, concurrency=4)
    expected = client.embeddings.create(model=MODEL, input=LONG).data[0].embedding
    receiver, sender = multiprocessing.Pipe(duplex=False)
    fresh = client.copy(http_client=openai.DefaultHttpxClient())  # sockets cannot be shared, whoever wraps
    worker = multiprocessing.get_context("fork").Process(target=_in_child, args=(fresh, sender))
    worker.start()
    assert receiver.poll(30)
    assert np.allclose(receiver.recv(), expected)
    worker.join(30)
    assert worker.exitcode == 0


def test_a_blank_text_is_named_in_a_note_on_the_clients_own_exception(server):
    client = client_of(server)
    with pytest.raises(openai.BadRequestError) as refused:
        client.embeddings.create(model=MODEL, input=["fine", ""])
    assert "blank texts at 1" in "".join(refused.value.__notes__)


def test_a_server_that_only_ever_says_429_ends_in_the_clients_own_exception():
    with LoopbackProvider() as server:
        server.trouble(Trouble(status=429, body="slow down", times=None))
        client = client_of(server, patience=0.3)
        with pytest.raises(openai.RateLimitError):
            client.embeddings.create(model=MODEL, input="short")
        assert server.total == 1, "what fits is the client's own call, with its own retries only"
        with pytest.raises(openai.RateLimitError):
            client.embeddings.create(model=MODEL, input=LONG)


def test_a_key_that_is_mended_works_again():
    with LoopbackProvider(keys={"good"}) as server:
        client = wrap(openai.OpenAI(base_url=server.url, api_key="bad", max_retries=0), limit=300, cache=False)
        with pytest.raises(openai.AuthenticationError):
            client.embeddings.create(model=MODEL, input=LONG)
        client.api_key = "good"
        assert client.embeddings.create(model=MODEL, input=LONG).unabridged["chunked"] == 1


def test_a_lost_connection_is_the_clients_own_exception():
    with LoopbackProvider() as server:
        client = client_of(server, patience=0.2)
    with pytest.raises(openai.APIConnectionError):
        client.embeddings.create(model=MODEL, input="short")
    with pytest.raises(openai.APIConnectionError):
        client.embeddings.create(model=MODEL, input=LONG)


def test_a_timeout_of_ours_bounds_the_whole_call():
    with LoopbackProvider(latency=1.5) as server:
        client = client_of(server, timeout=0.3)
        for text in ("short", LONG):
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                client.embeddings.create(model=MODEL, input=text)
            assert time.monotonic() - started < 1.0


async def test_a_timeout_of_ours_bounds_the_whole_call_async():
    with LoopbackProvider(latency=1.5) as server:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="a-key", max_retries=0) as bare:
            client = wrap(bare, limit=300, cache=False, timeout=0.3)
            for text in ("short", LONG):
                with pytest.raises(TimeoutError):
                    await client.embeddings.create(model=MODEL, input=text)
