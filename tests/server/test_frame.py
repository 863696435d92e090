"""Issue 10, 1 and 5: what every request passes through: bodies, room, browsers, faults; and a stop that finishes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from serving import HASHING, client_of, get, post, serving

from unabridged.config import load_config
from unabridged.errors import ConfigError
from unabridged.server import ServerSettings, create_app
from unabridged.server.problems import Problem
from unabridged.testing import LoopbackProvider

MAIN = "from unabridged.cli import main; main()"


def app_of(tmp_path, **settings):
    return create_app(load_config(HASHING), settings=ServerSettings(keys_file=str(tmp_path / "keys.json"), **settings))


def raw(served, *parts, pause=0.0, timeout=20):
    """What comes back for bytes as they are sent."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=timeout) as line:
        for part in parts:
            line.sendall(part)
            time.sleep(pause)
        got = b""
        while piece := line.recv(65_536):
            got += piece
            if b"content-length" in got.lower() and got.endswith(b"}"):
                break
    return got


def head(served, *lines):
    return "\r\n".join(["POST /v1/embeddings HTTP/1.1", f"host: 127.0.0.1:{served.port}", *lines, "", ""]).encode()


# -- bodies and room -----------------------------------------------------------------------------------------


def test_a_body_over_the_cap_is_refused_before_it_is_sent(tmp_path) -> None:
    with serving(tmp_path, max_body_bytes=10_000) as served:
        got = raw(served, head(served, "content-length: 10001"))
        assert got.startswith(b"HTTP/1.1 413")
        assert b'"code":"body_too_large"' in got
        fits = json.dumps({"input": "x" * 9900}).encode()
        assert post(f"{served.url}/embeddings", content=fits).status_code == 200


def test_a_body_of_unknown_length_is_counted_as_it_comes(tmp_path) -> None:
    with serving(tmp_path, max_body_bytes=10_000) as served:

        def pieces():
            yield b'{"input": "'
            for _ in range(20):
                yield b"x" * 1000
            yield b'"}'

        answer = post(f"{served.url}/embeddings", content=pieces())
        assert answer.status_code == 413
        small = post(f"{served.url}/embeddings", content=iter([b'{"input"', b': "a"}']))
        assert small.status_code == 200
        assert served.state.room.bytes == served.state.room.requests == 0, "everything is given back"


def test_a_pydantic_route_says_413_too(tmp_path) -> None:
    """FastAPI makes 400 of what goes wrong while it reads a body, unless it is one of its own kind."""
    app = app_of(tmp_path, max_body_bytes=1024)

    async def route(body: dict) -> dict:
        return body

    app.post("/v1/gb/test-route")(route)
    app.router.routes.insert(0, app.router.routes.pop())
    from starlette.testclient import TestClient

    with TestClient(app) as client:
        answer = client.post("/v1/gb/test-route", content=iter([b'{"a": "', b"x" * 2000, b'"}']))
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        invalid = client.post("/v1/gb/test-route", json=["a secret"])
        assert (invalid.status_code, invalid.json()["code"]) == (422, "invalid_request")
        assert "secret" not in invalid.text
        assert invalid.json()["errors"][0]["at"] == "body"


def test_a_client_that_pauses_is_told_so(tmp_path) -> None:
    with serving(tmp_path, body_timeout=0.2) as served:
        got = raw(served, head(served, "content-length: 50"), b'{"input":')
        assert got.startswith(b"HTTP/1.1 408")
        assert b"body_timeout" in got


def test_a_large_text_streams_through(tmp_path) -> None:
    """Any text length: 6 MB in one field, in small pieces."""
    text = "Nothing is lost, and nothing is over. " * 160_000
    body = json.dumps({"input": text}).encode()
    with serving(tmp_path) as served:
        pieces = (body[at : at + 60_000] for at in range(0, len(body), 60_000))
        answer = post(f"{served.url}/embeddings", content=pieces)
    assert answer.status_code == 200
    assert int(answer.headers["x-unabridged-chunks"]) > 100


def test_over_so_many_requests_a_caller_is_told_when_to_come_back(tmp_path) -> None:
    with serving(tmp_path, concurrency=2) as served, contextlib.ExitStack() as stack:
        for _ in range(2):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
            slow.sendall(head(served, "content-length: 90"))
        until = time.monotonic() + 20
        while served.state.room.requests < 2 and time.monotonic() < until:
            time.sleep(0.005)
        refused = post(f"{served.url}/embeddings", json={"input": "one more"})
        ready = get(f"{served.root}/ready")
        alive = get(f"{served.root}/health")
        stack.close()
        while served.state.room.requests and time.monotonic() < until:
            time.sleep(0.005)
        after = get(f"{served.root}/ready")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"]["code"] == "overloaded"
    assert (ready.status_code, ready.json()["status"]) == (503, "full")
    assert alive.status_code == after.status_code == 200


def test_over_so_many_bytes_too(tmp_path) -> None:
    with serving(tmp_path, max_buffered_bytes=10_000) as served:
        with socket.create_connection(("127.0.0.1", served.port)) as slow:
            slow.sendall(head(served, "content-length: 9000"))
            until = time.monotonic() + 10
            while served.state.room.bytes < 9000 and time.monotonic() < until:
                time.sleep(0.005)
            refused = post(f"{served.url}/embeddings", json={"input": "x" * 2000})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        until = time.monotonic() + 10
        while served.state.room.bytes and time.monotonic() < until:
            time.sleep(0.005)
        alone = post(f"{served.url}/embeddings", json={"input": "x" * 20_000})
        assert alone.status_code == 200, "alone, any allowed body has room"


# -- browsers ------------------------------------------------------------------------------------------------


def test_every_answer_has_an_id_and_headers_that_browsers_obey(client) -> None:
    for answer in (
        client.get("/health"),
        client.get("/v1/nothing"),
        client.post("/v1/embeddings", json={"input": "a"}),
    ):
        told = answer.headers
        assert len(told["x-request-id"]) == 16
        assert told["x-content-type-options"] == "nosniff"
        assert told["content-security-policy"].startswith("default-src 'none'")
        assert told["x-frame-options"] == "DENY"
        assert told["referrer-policy"] == "no-referrer"
        assert told["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in told
    assert client.get("/health", headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    forged = client.get("/health", headers={"x-request-id": "a b<script>"})
    assert len(forged.headers["x-request-id"]) == 16


def test_other_hosts_and_other_pages_are_strangers(client, gateway) -> None:
    rebound = client.get("/v1/models", headers={"host": f"evil.example:{gateway.port}"})
    assert rebound.status_code == 421
    for host in ("", "127.0.0.1.evil.example", "[::1", "localhost@evil.example"):
        assert client.get("/v1/models", headers={"host": host}).status_code == 421
    for host in ("localhost", f"localhost:{gateway.port}", "127.0.0.1:1", "[::1]:80", "LOCALHOST"):
        assert client.get("/v1/models", headers={"host": host}).status_code == 200
    own = f"127.0.0.1:{gateway.port}"
    assert client.post("/v1/embeddings", json={"input": "a"}, headers={"origin": f"http://{own}"}).status_code == 200
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        answer = client.post("/v1/embeddings", json={"input": "a"}, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_forbidden")


def test_pages_are_let_in_by_name_only(tmp_path) -> None:
    with (
        serving(tmp_path, cors_origins=["https://app.example"]) as served,
        client_of(served) as client,
    ):
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        yes = client.options("/v1/embeddings", headers={"origin": "https://app.example", **asked})
        assert yes.status_code == 204
        assert yes.headers["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in yes.headers["access-control-allow-headers"]
        no = client.options("/v1/embeddings", headers={"origin": "https://other.example", **asked})
        assert no.status_code == 403
        assert "access-control-allow-origin" not in no.headers
        call = client.post("/v1/embeddings", json={"input": "a"}, headers={"origin": "https://app.example"})
        assert call.headers["access-control-allow-origin"] == "https://app.example"
        assert call.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]
        assert call.headers["vary"] == "Origin"
        assert client.options("/v1/embeddings", headers={"origin": "https://app.example"}).status_code == 405


def test_a_websocket_is_closed(tmp_path) -> None:
    said = []

    async def ask():
        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            said.append(message["type"])

        await app_of(tmp_path)({"type": "websocket", "path": "/", "headers": []}, receive, send)

    asyncio.run(ask())
    assert said == ["websocket.close"]


# -- faults --------------------------------------------------------------------------------------------------


def test_a_fault_of_ours_tells_nothing_but_its_id(tmp_path, caplog) -> None:
    app = app_of(tmp_path)

    async def broken() -> None:
        raise RuntimeError("the private text of a caller")

    async def half(request) -> None:
        from starlette.responses import StreamingResponse

        async def pieces():
            yield b"one"
            raise RuntimeError("the private text of a caller")

        return StreamingResponse(pieces())

    app.get("/v1/gb/broken")(broken)
    app.add_route("/v1/gb/half", half)
    for _ in range(2):
        app.router.routes.insert(0, app.router.routes.pop())
    from starlette.testclient import TestClient

    with TestClient(app, raise_server_exceptions=False) as client, caplog.at_level(logging.INFO, "unabridged.server"):
        answer = client.get("/v1/gb/broken")
        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["request_id"] == answer.headers["x-request-id"]
        assert client.get("/v1/gb/half").text == "one"
    logged = caplog.text
    assert "private" not in answer.text + logged
    assert f"request {answer.json()['request_id']} failed: RuntimeError" in logged


def test_the_log_says_who_and_what_kind_never_what(client, caplog) -> None:
    with caplog.at_level(logging.INFO, "unabridged"):
        client.post("/v1/embeddings?private=query", json={"input": "a private text"}, headers={"x-request-id": "r1"})
        client.get("/v1/gb/private-path")
        client.get("/v1/models/private-model")
        client.get("/v1/gb/artifacts/private-id")
        client.get("/v1/gb/artifacts/private-id/text")
        client.get("/health")  # a line is written when its answer is out
    assert "private" not in caplog.text
    assert "POST /v1/embeddings 200" in caplog.text
    assert "GET /v1/models/{model} 404" in caplog.text
    assert "GET /v1/gb/artifacts/{artifact_id} 4" in caplog.text
    assert "GET /v1/gb/artifacts/{artifact_id}/text 4" in caplog.text
    assert "r1" in caplog.text


def test_problems_have_the_shape_of_their_path(client) -> None:
    assert client.get("/v1/embeddings").json()["error"]["code"] == "method_not_allowed"
    assert client.post("/v1/chat/completions", json={}).json()["error"]["code"] == "not_found"
    assert client.get("/v2/nothing").json().keys() == {"id", "message"}
    assert client.get("/api/nothing").json().keys() == {"error"}
    assert client.get("/embed").json() == {"error": "this path takes POST", "error_type": "validation"}
    problem = client.get("/v1/gb/nothing-here")
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.json()["type"] == "urn:unabridged:problem:not_found"
    assert problem.json()["status"] == 404
    assert str(Problem(404, "gone")) == "404 not_found: gone"


def test_the_documentation_is_the_schema_alone(client) -> None:
    schema = client.get("/openapi.json").json()
    assert schema["paths"]["/v1/embeddings"]["post"]["requestBody"]["required"]
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404


def test_a_part_whose_package_is_missing_is_left_out_and_said_so(tmp_path, monkeypatch, caplog) -> None:
    from unabridged.server import app as module

    missing, broken = tmp_path / "part_with_missing_package.py", tmp_path / "part_that_is_broken.py"
    missing.write_text("import a_package_that_nobody_has\n")
    broken.write_text("from unabridged.server import nothing_of_this_name\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(module._parts(["part_with_missing_package"])) == []
    assert "part_with_missing_package is left out: No module named 'a_package_that_nobody_has'" in caplog.text
    with pytest.raises(ImportError, match="nothing_of_this_name"):
        list(module._parts(["part_that_is_broken"]))


# -- start and stop ------------------------------------------------------------------------------------------


def test_what_is_wrong_ends_the_start(tmp_path) -> None:
    config = load_config({"embedding": {"provider": "hashing"}, "server": {"models": {"a": "nothing"}}})
    app = create_app(config, settings=ServerSettings.of(config, keys_file=str(tmp_path / "keys.json")))

    async def start():
        async with app.router.lifespan_context(app):
            raise AssertionError

    with pytest.raises(ConfigError, match=r"server\.models\.a"):
        asyncio.run(start())
    assert isinstance(app.state.server.failed, ConfigError)


def test_long_work_hears_of_the_stop_and_is_waited_for(tmp_path) -> None:
    app = app_of(tmp_path)
    server, said = app.state.server, []

    def work(started):
        with server.under_way() as cancel:
            started.set()
            said.append(cancel.wait(10))
            time.sleep(0.1)
            said.append("recorded")

    async def live():
        async with app.router.lifespan_context(app):
            started = threading.Event()
            thread = threading.Thread(target=work, args=(started,))
            thread.start()
            await asyncio.to_thread(started.wait)
        said.append("closed")
        thread.join()

    asyncio.run(live())
    assert said == [True, "recorded", "closed"]
    with server.under_way() as cancel:
        assert cancel.is_set(), "what begins after the stop hears of it at once"


def test_work_that_does_not_end_is_left_after_the_grace(tmp_path, caplog) -> None:
    app = app_of(tmp_path, stop_grace=0.05)

    async def live():
        async with app.router.lifespan_context(app):
            holding = app.state.server.under_way()
            holding.__enter__()

    asyncio.run(live())
    assert "1 pieces of work unfinished" in caplog.text


def program(tmp_path, *arguments, **environment):
    """``unabridged serve`` in a process of its own, and its port."""
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", *arguments]
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "UNABRIDGED_CACHE": str(tmp_path / "cache"), **environment}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    line = process.stderr.readline()
    assert "serves at" in line, line + process.stderr.read()
    return process, int(line.partition("127.0.0.1:")[2].split()[0])


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_when_what_is_under_way_is_done(tmp_path, kind) -> None:
    with LoopbackProvider(latency=0.8) as upstream:
        config = tmp_path / "plugin.json"
        embedding = {"provider": "openai", "model": "m", "apiKey": "k", "baseURL": upstream.url}
        config.write_text(json.dumps({"embedding": embedding}))
        process, port = program(tmp_path, "--config", str(config))
        answers = []
        body = {"input": "the last text"}
        asking = threading.Thread(
            target=lambda: answers.append(post(f"http://127.0.0.1:{port}/v1/embeddings", json=body))
        )
        asking.start()
        until = time.monotonic() + 20
        while not upstream.in_flight and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(kind)
        asking.join()
        out, err = process.communicate(timeout=30)
        assert answers[0].status_code == 200
        assert process.returncode == 0, err
        assert "stopped" in err
        assert "Traceback" not in out + err
        again, port = program(tmp_path, "--config", str(config))
        known = post(f"http://127.0.0.1:{port}/v1/embeddings", json=body)
        again.terminate()
        again.communicate(timeout=30)
    assert known.headers["x-unabridged-cached"] == "1", "what came last is kept"


def test_serve_with_no_configuration(tmp_path) -> None:
    """The outcome of issue 10, its first door: nothing is given, and texts become vectors."""
    process, port = program(tmp_path)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            assert client.get("/ready").json()["status"] == "ready"
            answer = client.post("/v1/embeddings", json={"input": "Nothing is lost. " * 2000})
            assert len(answer.json()["data"][0]["embedding"]) == 384
            assert int(answer.headers["x-unabridged-chunks"]) > 10
            assert client.get("/v1/models").json()["data"][0]["id"] == "all-MiniLM-L6-v2"
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "needs keys: `unabridged serve keys add NAME`"),
        (["--model", "openai/text-embedding-3-small"], "OPENAI_API_KEY"),
        (["--config", "missing.json"], "missing.json"),
    ],
)
def test_what_keeps_it_from_serving_is_one_line(tmp_path, arguments, said) -> None:
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", *arguments]
    env = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(
        command, env={**env, "XDG_DATA_HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_counts_for_prometheus(tmp_path) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    with serving(tmp_path, keys=["k" * 20]) as served:
        client = client_of(served, headers={"authorization": "Bearer " + "k" * 20})
        with client:
            for texts in (["a", "b"], ["a", "long enough to be cut. " * 3000]):
                client.post("/v1/embeddings", json={"input": texts})
            client.post("/v1/embeddings", json={})
            client.get("/v1/gb/artifacts/private-id")
            told = client.get("/metrics")
            strange = get(f"{served.root}/metrics")
    found = {s.name + str(s.labels): s.value for f in text_string_to_metric_families(told.text) for s in f.samples}
    assert strange.status_code == 401
    assert found["unabridged_texts_total{}"] == 4
    assert found["unabridged_texts_cached_total{}"] == 1
    assert found["unabridged_texts_chunked_total{}"] == 1
    assert found["unabridged_requests_total{'route': '/v1/embeddings', 'status': '200'}"] == 2
    assert found["unabridged_requests_total{'route': '/v1/embeddings', 'status': '400'}"] == 1
    assert found["unabridged_request_seconds_count{'route': '/v1/embeddings'}"] == 3
    assert found["unabridged_requests_in_flight{}"] == 1
    assert "private" not in told.text
