"""HTTP under bad conditions: deadlines, cancellation, broken connections, keys, proxies (case 22, promise 12)."""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import ssl
import subprocess
import threading
import time

import numpy as np
import pytest

from unabridged.errors import ConfigError, ProviderError, ProviderTimeout
from unabridged.providers.address import Address, proxy_for
from unabridged.providers.http import Call, HttpHost
from unabridged.providers.openai import OpenAIProvider
from unabridged.providers.remote import HttpProvider
from unabridged.testing import LoopbackProvider, Trouble, vector_for
from unabridged.testing.server import HttpServer
from unabridged.types import Request


def gone(server, count=1):
    """Wait until the server has seen so many clients hang up."""
    until = time.monotonic() + 5
    while server.hung_up < count and time.monotonic() < until:
        time.sleep(0.01)
    return server.hung_up


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_case_22_a_time_out_is_kept_to_a_tenth_and_the_connection_closed(kind):
    with LoopbackProvider(troubles=[Trouble(kind=kind, times=None)]) as server:
        provider = OpenAIProvider("m", base_url=server.url, timeout=30)
        start = time.monotonic()
        with pytest.raises(ProviderTimeout, match=r"within 1\.5 s") as caught:
            provider.send(Request(("a",), timeout=1.5))
        assert 1.35 <= time.monotonic() - start <= 1.7
        assert caught.value.fault.kind == "timeout"
        assert gone(server) == 1
        provider.close()


@pytest.mark.parametrize("kind", ["hang", "drip"])
async def test_case_22_the_same_from_a_task(kind):
    with LoopbackProvider(troubles=[Trouble(kind=kind, times=None)]) as server:
        provider = OpenAIProvider("m", base_url=server.url, timeout=1.5)
        start = time.monotonic()
        with pytest.raises(ProviderTimeout):
            await provider.asend(Request(("a",)))
        assert 1.35 <= time.monotonic() - start <= 1.7
        await asyncio.sleep(0.05)
        assert server.hung_up == 1
        await provider.aclose()


async def test_cancellation_closes_the_connection():
    with LoopbackProvider(troubles=[Trouble(kind="hang")]) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        task = asyncio.create_task(provider.asend(Request(("a",))))
        await asyncio.sleep(0.1)
        assert server.in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)
        assert (server.in_flight, server.hung_up) == (0, 1)
        assert (await provider.asend(Request(("a",)))).vectors.shape == (1, 32)
        await provider.aclose()


def test_no_time_left_sends_nothing():
    with LoopbackProvider() as server:
        provider = OpenAIProvider("m", base_url=server.url)
        with pytest.raises(ProviderTimeout):
            provider.send(Request(("a",), timeout=-1.0))
        assert server.total == 0
        provider.close()


def test_broken_connections_are_upstream_errors_and_name_no_key():
    with LoopbackProvider(troubles=[Trouble(kind="drop")]) as server:
        provider = OpenAIProvider("m", base_url=server.url, api_key="key-secret-7")
        with pytest.raises(ProviderError) as caught:
            provider.send(Request(("a",)))
        assert caught.value.fault.kind == "upstream_error"
        assert (provider.send(Request(("a",))).vectors[0] == vector_for("a")).all()
    for _ in range(2):  # the server is gone, and its connection with it
        with pytest.raises(ProviderError, match="no answer from 127") as caught:
            provider.send(Request(("a",)))
        assert caught.value.fault.kind == "upstream_error"
        assert "secret" not in str(caught.value)
    provider.close()
    with pytest.raises(ProviderError, match="no answer from nowhere") as caught:
        OpenAIProvider("m", base_url="http://nowhere.invalid/v1", proxy="none").send(Request(("a",)))
    assert caught.value.fault.kind == "upstream_error"


async def test_broken_connections_from_a_task():
    with LoopbackProvider(troubles=[Trouble(kind="drop")]) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        with pytest.raises(ProviderError):
            await provider.asend(Request(("a",)))
        await provider.asend(Request(("a",)))
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await provider.asend(Request(("a",)))
        assert caught.value.fault.kind == "upstream_error"
    await provider.aclose()


def test_a_key_that_the_server_echoes_is_blotted_out():
    body = {"error": {"message": "Incorrect API key provided: key-secret-7."}}
    with LoopbackProvider(troubles=[Trouble(kind="status", status=401, body=body)]) as server:
        provider = OpenAIProvider("m", base_url=server.url, api_key=" key-secret-7\n")
        with pytest.raises(ProviderError) as caught:
            provider.send(Request(("a",)))
        assert server.requests[0].headers["authorization"] == "Bearer key-secret-7"
        provider.close()
    assert "key-secret-7" not in f"{caught.value}{caught.value.body}"
    with pytest.raises(ConfigError) as caught:
        OpenAIProvider("m", base_url="http://localhost", api_key="key\x00secret")
    assert "secret" not in str(caught.value)


def test_one_provider_in_many_threads_and_in_one_event_loop_after_another():
    with LoopbackProvider(latency=0.02) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        found = {}

        def work(name):
            found[name] = provider.send(Request((f"text {name}",))).vectors[0]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all((found[n] == vector_for(f"text {n}")).all() for n in range(24))

        async def many():
            replies = await asyncio.gather(*(provider.asend(Request((f"task {n}",))) for n in range(24)))
            return [reply.vectors[0] for reply in replies]

        for _ in range(2):  # each run has a loop of its own, which closes what it opened
            for n, row in enumerate(asyncio.run(many())):
                assert (row == vector_for(f"task {n}")).all()
        assert server.in_flight_max > 12
        time.sleep(0.05)
        assert len(server._server.connections) <= 24
        provider.close()
        time.sleep(0.05)
        assert len(server._server.connections) == 0


def test_the_request_carries_what_was_asked_for():
    with LoopbackProvider() as server:
        provider = OpenAIProvider(
            "m",
            base_url=server.root + "/v1/?tenant=7",
            api_key="key-123456",
            organization="org",
            project="proj",
            headers={"X-Own": "yes"},
            query={"q": "a b"},
            body={"user": "me"},
            prompts={"query": "find: "},
        )
        provider.send(Request(("a 😀 \ud83d",), role="query", dimensions=8))
        provider.close()
        seen = server.requests[0]
    assert seen.path == "/v1/embeddings?tenant=7&q=a+b"
    headers = seen.headers
    assert headers["user-agent"].startswith("unabridged/")
    assert (headers["openai-organization"], headers["openai-project"], headers["x-own"]) == ("org", "proj", "yes")
    assert seen.body == {
        "model": "m",
        "input": ["find: a 😀 \ufffd"],
        "dimensions": 8,
        "encoding_format": "base64",
        "user": "me",
    }
    assert provider.settings == {"prompt.query": "find: ", "body.user": "me"}


def test_base64_is_left_out_for_a_server_that_does_not_know_it():
    with LoopbackProvider(base64=False) as server:
        provider = OpenAIProvider("m", base_url=server.url)
        for _ in range(2):
            np.testing.assert_allclose(provider.send(Request(("a",))).vectors[0], vector_for("a"), atol=1e-7)
        provider.close()
        assert ["encoding_format" in seen.body for seen in server.requests] == [True, False, False]


def test_case_20_refused_dimensions_are_dropped_only_if_they_were_our_default():
    with LoopbackProvider(matryoshka=False) as server:
        for options, asked in (({"dimensions": 8}, None), ({"default_dimensions": 4}, 8)):
            provider = OpenAIProvider("m", base_url=server.url, **options)
            with pytest.raises(ProviderError) as caught:
                provider.send(Request(("a",), dimensions=asked))
            assert caught.value.fault.kind == "invalid_dimensions"
            provider.close()
        assert server.total == 2
        provider = OpenAIProvider("m", base_url=server.url, default_dimensions=8)
        for _ in range(2):
            assert provider.send(Request(("a",))).vectors.shape == (1, 32)
        provider.close()
        assert [seen.dimensions for seen in server.requests[2:]] == [8, None, None]


def serving(status, body, headers):
    return HttpServer(lambda exchange: exchange.reply(status, body, headers))


def test_gzip_redirects_and_pages_that_are_no_answers():
    data = json.dumps({"ok": 1}).encode()
    cases = [
        (200, gzip.compress(data), {"content-encoding": "gzip"}, None),
        (200, b"no gzip", {"content-encoding": "gzip"}, "bad_reply"),
        (200, b'{"a": "\\ud83d"}', {}, None),
        (200, b"", {}, "bad_reply"),
        (308, b"", {"location": "https://elsewhere/v1"}, "bad_request"),
        (200, b'{"error": {"message": "something strange"}}', {}, "upstream_error"),
        (502, b"<html><h1>502 Bad Gateway</h1></html>", {"content-type": "text/html"}, "upstream_error"),
    ]
    for status, body, headers, kind in cases:
        server = serving(status, body, headers)
        server.start()
        host = HttpHost(f"http://127.0.0.1:{server.port}", provider="p")
        if kind is None:
            assert host.call(Call("/x", method="GET")).status == 200
        else:
            with pytest.raises(ProviderError) as caught:
                host.call(Call("/x", body={}))
            assert caught.value.fault.kind == kind, (status, body)
        host.close()
        server.stop()


def test_addresses_are_checked_and_show_no_password():
    for bad in ("localhost:8000", "ftp://x/y", "http://", "http://host:port/x", ""):
        with pytest.raises(ConfigError, match="base_url"):
            Address.parse(bad)
    with pytest.raises(ConfigError) as caught:
        Address.parse("ftp://me:secret@host/x")
    assert "secret" not in str(caught.value)
    address = Address.parse("https://me:p%40ss@[::1]:8443/a b/")
    assert (address.host, address.path, address.is_loopback) == ("[::1]:8443", "/a%20b", True)
    assert address.headers == {"authorization": "Basic bWU6cEBzcw=="}
    assert Address.parse("https://bücher.example").name == "xn--bcher-kva.example"
    assert "secret" not in repr(Address.parse("http://me:secret@host/x?key=secret"))


def test_proxies_come_from_the_environment_but_not_for_this_machine(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pw@proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "internal.example")
    far, near = Address.parse("https://api.example/v1"), Address.parse("http://localhost:11434")
    assert proxy_for(far, "environment") == "http://user:pw@proxy.example:3128"
    assert proxy_for(near, "environment") is None
    assert proxy_for(Address.parse("https://internal.example"), "environment") is None
    assert proxy_for(far, "none") is None
    assert proxy_for(near, "other:1") == "http://other:1"
    with pytest.raises(ConfigError, match="proxy"):
        proxy_for(far, "socks5://x:1")


def test_requests_go_by_way_of_a_proxy(monkeypatch):
    seen = []

    def handle(exchange):
        seen.append((exchange.target, exchange.headers.get("proxy-authorization")))
        exchange.reply(200, b'{"ok": 1}')

    server = HttpServer(handle)
    server.start()
    proxy = f"http://user:pw@127.0.0.1:{server.port}"
    host = HttpHost("http://far.example/v1", provider="p", proxy=proxy)
    assert host.call(Call("/x", body={})).data == {"ok": 1}

    async def once():
        return (await host.acall(Call("/y", body={}))).data

    assert asyncio.run(once()) == {"ok": 1}
    host.close()
    server.stop()
    assert seen == [
        ("http://far.example/v1/x", "Basic dXNlcjpwdw=="),
        ("http://far.example/v1/y", "Basic dXNlcjpwdw=="),
    ]


def test_tls_is_verified_unless_told_not_to(tmp_path):
    with LoopbackProvider() as server:  # speaks no TLS
        url = server.url.replace("http:", "https:")
        for verify in (True, False):
            provider = OpenAIProvider("m", base_url=url, api_key="key-123456", verify=verify, timeout=0.3)
            with pytest.raises(ProviderError):
                provider.send(Request(("a",)))
            with pytest.raises(ProviderError):
                asyncio.run(provider.asend(Request(("a",))))
            provider.close()
    with pytest.raises(ConfigError, match="verify"):
        OpenAIProvider("m", base_url="https://x", verify=str(tmp_path / "none.pem"))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    own, key = folder / "own.pem", folder / "key.pem"
    command = [tool, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(own)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    return str(own), str(key)


def test_tls_is_spoken_and_an_unknown_certificate_refused_for_good(certificate):
    own, key = certificate
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own, key)
    server = HttpServer(lambda exchange: exchange.reply(200, b'{"ok": 1}'), context=context)
    server.start()
    url = f"https://127.0.0.1:{server.port}/v1"

    async def from_task(host):
        try:
            return [(await host.acall(Call("/x", body={}))).data for _ in range(2)]
        finally:
            await host.aclose()

    trusted = ssl.create_default_context(cafile=own)
    for verify in (own, False, trusted):
        host = HttpHost(url, provider="p", verify=verify)
        assert [host.call(Call("/x", body={})).data for _ in range(2)] == [{"ok": 1}] * 2
        assert asyncio.run(from_task(host)) == [{"ok": 1}] * 2
        host.close()
    host = HttpHost(url, provider="p")
    for attempt in (lambda: host.call(Call("/x", body={})), lambda: asyncio.run(from_task(host))):
        with pytest.raises(ProviderError, match="certificate") as caught:
            attempt()
        assert caught.value.fault.kind == "bad_request"
    host.close()
    server.stop()


def test_a_dialect_without_its_methods_says_so():
    class Half(HttpProvider):
        name = "half"
        default_url = "http://localhost:1"
        needs_key = False

    with pytest.raises(NotImplementedError):
        Half("m").send(Request(("a",)))
    with pytest.raises(NotImplementedError):
        Half("m").read(Request(("a",)), None)
    with pytest.raises(ConfigError, match="model"):
        Half()
