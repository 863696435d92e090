"""The loopback provider, which users' own tests and our benchmarks run against."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from unabridged.errors import ConfigError, Overflow, ProviderError, RateLimited
from unabridged.providers.faults import classify
from unabridged.providers.openai import OpenAIProvider
from unabridged.testing import LoopbackProvider, RateLimit, Trouble, vector_for
from unabridged.testing.dialects import DIALECTS
from unabridged.testing.refusals import wording
from unabridged.testing.troubles import Bucket
from unabridged.types import Limit, Request


def post(url, body, path="/embeddings", **headers):
    """A request by the standard library: the server is not only for our own client."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def test_any_client_may_talk_to_it():
    with LoopbackProvider(dimensions=8) as server:
        answer = post(server.url, {"model": "m", "input": ["a", "b c"]})
        np.testing.assert_allclose(answer["data"][1]["embedding"], vector_for("b c", 8), atol=1e-7)
        assert answer["usage"]["total_tokens"] == 3
        assert post(server.url, {"model": "m", "input": "one text"})["data"][0]["index"] == 0
        for wrong in ({"model": "m", "input": [[1, 2, 3]]}, {"input": None}, b"no json"):  # token ids, for one
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(server.url, wrong)
            assert caught.value.code == 400
            caught.value.close()
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server.url, {}, path="/nothing")
        assert caught.value.code == 404
        caught.value.close()
        assert server.counts == {200: 2, 400: 3, 404: 1}
        assert server.texts == ["a", "b c", "one text"]


def test_vectors_depend_on_the_text_alone():
    assert (vector_for("a") == vector_for("a")).all()
    assert not (vector_for("a") == vector_for("b")).all()
    rows = np.stack([vector_for(str(n), 64) for n in range(50)])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    own = LoopbackProvider(vector=lambda text, width: [float(len(text))] * width)
    with own as server:
        provider = OpenAIProvider("m", base_url=server.url)
        assert provider.send(Request(("abc",))).vectors[0][0] == 3.0
        provider.close()


def test_every_sentence_is_understood_as_what_it_is():
    """The wordings are real ones, so this holds the server and the reader of refusals together."""
    kinds = {
        "input_tokens": {"input_overflow", "request_overflow"},
        "input_chars": {"input_overflow"},
        "request_tokens": {"request_overflow"},
        "batch": {"batch_count"},
        "rate": {"rate_limit", "overloaded"},
        "auth": {"auth"},
        "model": {"model_not_found"},
        "empty": {"empty_input"},
        "dimensions": {"invalid_dimensions"},
    }
    about = {"model": "m", "limit": 512, "actual": 900, "excess": 388, "index": 2, "wait": "1s", "key": "sk-***"}
    for name, dialect in DIALECTS.items():
        for kind, expected in kinds.items():
            refusal = wording(dialect.wording, kind)
            for text in filter(None, (refusal.text, refusal.bare, refusal.indexed)):
                body = dialect.refuse(refusal, text.format(**about))
                fault = classify(refusal.status, body, dialect.headers(refusal), provider=name)
                assert fault.kind in expected, (name, kind, text, fault)


@pytest.mark.parametrize("indexed", [True, False])
def test_limits_of_every_unit(indexed):
    limit = Limit(
        input_tokens=20, input_chars=90, input_bytes=95, request_inputs=3, request_tokens=40, request_bytes=130
    )
    cases = [
        (("a", "b " * 30), "input_overflow"),
        (("b" + " " * 95,), "input_overflow"),
        (("ü" * 10 + " " * 76,), "input_overflow"),
        (("a",) * 4, "batch_count"),
        (("b " * 15,) * 3, "request_overflow"),
        (("bbbb " * 13,) * 3, "request_overflow"),
        (("a", " "), "empty_input"),
    ]
    with LoopbackProvider(limit=limit, indexed=indexed) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        for texts, kind in cases:
            with pytest.raises(ProviderError) as caught:
                provider.send(Request(texts))
            assert caught.value.fault.kind == kind, texts
        with pytest.raises(Overflow) as caught:
            provider.send(Request(("a", "b " * 30)))
        provider.close()
    assert caught.value.fault.indices == ((1,) if indexed else ())


def test_a_silent_server_cuts_and_its_count_stands_still():
    with LoopbackProvider(limit=Limit(input_tokens=4), silent=True, count=lambda text: len(text.split())) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        reply = provider.send(Request(("one two three four five six", "one two")))
        provider.close()
    assert reply.tokens == 6
    assert (reply.vectors[0] == vector_for("one two three four ")).all()
    assert (reply.vectors[1] == vector_for("one two")).all()


@pytest.mark.parametrize("tell", ["seconds", "milliseconds", "date", "body"])
def test_case_23_a_rate_limit_says_when_to_come_back(tell):
    with LoopbackProvider(rate=RateLimit(requests=2, seconds=1.0, tell=tell)) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        for _ in range(2):
            provider.send(Request(("a",)))
        with pytest.raises(RateLimited) as caught:
            provider.send(Request(("a",)))
        wait = caught.value.fault.retry_after
        assert wait is not None
        assert 0 <= wait <= (1.01 if tell in {"seconds", "date"} else 0.51)
        time.sleep(0.55)
        provider.send(Request(("a",)))
        provider.close()


def test_a_request_that_can_never_be_admitted_says_so():
    with LoopbackProvider(rate=RateLimit(tokens=10, seconds=60, tell="nothing")) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        provider.send(Request(("a " * 8,)))
        for size, kind in ((8, "rate_limit"), (11, "rate_limit_impossible")):
            with pytest.raises(RateLimited) as caught:
                provider.send(Request(("a " * size,)))
            assert caught.value.fault.kind == kind
        provider.close()


def test_a_bucket_by_its_clock():
    now = [0.0]
    bucket = Bucket(RateLimit(requests=2, tokens=100, seconds=1.0, burst=2.0), clock=lambda: now[0])
    assert [bucket.take(10) for _ in range(4)] == [0.0] * 4
    assert bucket.take(10) == pytest.approx(0.5)
    now[0] = 0.5
    assert bucket.take(10) == 0.0
    assert bucket.take(500) == float("inf")
    now[0] = 100.0
    assert [bucket.take(10) > 0 for _ in range(5)] == [False] * 4 + [True]


def test_troubles_strike_as_scripted():
    troubles = [
        Trouble(status=500, body={"error": "x"}, times=2, after=1),
        Trouble(status=418, when=lambda seen: "teapot" in seen.texts, times=None),
    ]
    with LoopbackProvider(troubles=troubles) as server:
        provider = OpenAIProvider("m", base_url=server.url)

        def status(text):
            try:
                provider.send(Request((text,)))
            except ProviderError as error:
                return error.fault.status
            return 200

        assert [status(text) for text in ("a", "a", "a", "a", "teapot", "a")] == [200, 500, 500, 200, 418, 200]
        server.trouble(Trouble(status=599, body=b"raw", headers={"x": "y"}))
        assert status("a") == 599
        provider.close()
    shares = []
    for _ in range(2):  # the same seed, the same luck
        with LoopbackProvider(troubles=[Trouble(share=0.3, times=None)], seed=7) as server:
            provider = OpenAIProvider("m", base_url=server.url)
            shares.append([status_of(provider) for _ in range(60)])
            provider.close()
    assert shares[0] == shares[1]
    assert 8 <= shares[0].count(503) <= 30


def status_of(provider):
    try:
        provider.send(Request(("a",)))
    except ProviderError as error:
        return error.fault.status
    return 200


def test_keys_are_revoked_while_it_runs():
    with LoopbackProvider(keys=["key-one-1", "key-two-2"]) as server:
        provider = OpenAIProvider("m", base_url=server.url, api_key="key-one-1")
        assert status_of(provider) == 200
        server.revoke("key-one-1")
        assert status_of(provider) == 401
        provider.close()
        assert [seen.key for seen in server.requests] == ["key-one-1"] * 2


def test_what_it_remembers():
    with LoopbackProvider(latency=lambda seen: 0.1 if "slow" in seen.texts else 0.0) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        threads = [threading.Thread(target=provider.send, args=(Request(("slow",)),)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        provider.send(Request(("quick one",)))
        provider.close()
        assert (server.total, server.in_flight, server.in_flight_max) == (6, 0, 5)
        quick = server.requests[-1]
        assert (quick.status, quick.tokens, quick.texts) == (200, 3, ("quick one",))
        assert quick.ended - quick.started < 0.1 <= server.requests[0].ended - server.requests[0].started
        assert "quick one" not in repr(quick)
    with LoopbackProvider(record=False) as server:
        post(server.url, {"input": ["a"]})
        assert (server.requests, server.total) == ([], 1)


def test_requests_in_pieces_and_in_a_row():
    with LoopbackProvider(dimensions=4) as server:
        body = json.dumps({"input": ["a"]}).encode()
        head = f"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", server._server.port)) as client:
            client.sendall(head[:20])
            time.sleep(0.02)
            client.sendall(head[20:] + body[:3])
            time.sleep(0.02)
            client.sendall(body[3:] + head + body)  # the second one before the first is answered
            received = b""
            while received.count(b'"usage"') < 2:
                received += client.recv(65536)
        assert received.count(b"HTTP/1.1 200 OK") == 2


def test_a_wrong_dialect_and_a_taken_port_are_named():
    with pytest.raises(ConfigError, match="dialect"):
        LoopbackProvider("klingon")
    with LoopbackProvider() as server, pytest.raises(OSError, match="in use"):
        LoopbackProvider(port=server._server.port).start()
    LoopbackProvider().stop()  # never started


def test_from_another_process():
    command = [sys.executable, "-m", "unabridged.testing", "--dimensions", "16", "--rate", "100"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        provider = OpenAIProvider("m", base_url=url)
        assert provider.send(Request(("a",))).vectors.shape == (1, 16)
        provider.close()
        process.stdin.close()
        assert process.wait(10) == 0
