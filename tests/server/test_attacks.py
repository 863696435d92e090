"""Requests as nobody polite sends them, over a real socket: each is answered as what it is, and nothing else is done."""

from __future__ import annotations

import gzip
import json
import socket

import pytest
from serving import HASHING, client_of, serving

HOST = b"Host: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("attacks"), {**HASHING, "server": {"maxBodyBytes": 200_000}}) as found:
        yield found


@pytest.fixture(scope="module")
def client(served):
    with client_of(served) as found:
        found.post("/v1/gb/remember", json={"text": "The boiler is serviced every May."}).raise_for_status()
        yield found


def raw(served, data):
    """Whatever comes back to these bytes, until the server hangs up or has said it all."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(data)
        answer = b""
        while b"\r\n\r\n" not in answer and (piece := connection.recv(65_536)):
            answer += piece
        return answer


def status(answer):
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize(
    "path", ["/v1/models", "/api/tags", "/info", "/metrics", "/openapi.json", "/v1/gb/stats", "/v1/gb/artifacts", "/health"]
)  # fmt: skip
def test_head_is_told_what_get_would_be_without_the_body(client, path):
    asked, told = client.get(path), client.head(path)
    assert (told.status_code, told.content) == (asked.status_code, b"")
    assert told.headers["content-type"] == asked.headers["content-type"]
    assert told.headers.get("etag") == asked.headers.get("etag")
    if path != "/metrics":  # which counts this very request
        assert told.headers["content-length"] == asked.headers["content-length"]
    again = client.get("/health")
    assert again.json() == {"status": "ok"}, "nothing of a body was left in the connection"


def test_head_where_nothing_is_to_get_is_refused(client):
    assert client.head("/v1/embeddings").status_code == 405
    assert client.head("/v1/gb/artifacts/none").status_code == 404


@pytest.mark.parametrize("path", ["/v1/gb/recall", "/v1/embeddings", "/mcp", "/v1/gb/preview/uploads?name=a.md"])
def test_a_packed_body_is_refused_and_not_unpacked(client, path):
    bomb = gzip.compress(b"x" * 10_000_000)
    answer = client.post(path, content=bomb, headers={"content-encoding": "gzip", "content-type": "application/json"})
    assert answer.status_code == 415
    assert "without Content-Encoding" in answer.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", None])
def test_json_that_is_not_said_to_be_json_is_told_so(client, kind):
    headers = {} if kind is None else {"content-type": kind}
    answer = client.post("/v1/gb/recall", content=b'{"query":"x"}', headers=headers)
    assert answer.status_code == 415
    assert "Content-Type: application/json" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"query":"\xff\xfe"}', 400, "the body is not valid JSON in UTF-8"),
        (b'{"query":', 422, "JSON"),
        (b"[1]", 422, "body: expected a JSON object"),
        (b'{"text":"x","metadata":' + b'{"a":' * 5000 + b"1" + b"}" * 5001, 400, "not valid JSON"),
    ],
)
def test_a_body_that_is_none_is_told_so(client, body, status, said):
    answer = client.post("/v1/gb/recall", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status, answer.text
    assert said in answer.json()["detail"]


def test_what_is_not_there_and_what_is_not_asked_for_so_is_told_in_words(client):
    assert "GET /openapi.json" in client.get("/v1/nothing").json()["error"]["message"]
    answer = client.put("/v1/gb/stats")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET"


def test_two_hosts_are_one_too_many(served):
    for hosts in (b"Host: 127.0.0.1\r\nHost: evil.example\r\n", b"Host: evil.example\r\nHost: 127.0.0.1\r\n"):
        answer = raw(served, b"GET /v1/models HTTP/1.1\r\n" + hosts + b"\r\n")
        assert status(answer) == 400


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"a" * 100_000 + b"\r\n",
        b"".join(b"X-%d: %s\r\n" % (n, b"a" * 20) for n in range(4000)),
    ],
)
def test_headers_over_their_limit_are_refused_also_in_one_piece(served, head):
    assert status(raw(served, b"GET /v1/models HTTP/1.1\r\n" + HOST + head + b"\r\n")) == 400


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: -5\r\n", b"Content-Length: 5\r\nContent-Length: 6\r\n"],
)  # fmt: skip
def test_a_body_of_two_lengths_is_read_by_none(served, head):
    assert status(raw(served, b"POST /v1/gb/recall HTTP/1.1\r\n" + HOST + head + b"\r\nhello")) == 400


@pytest.mark.parametrize(
    "path", ["/v1/gb/remember", "/v1/embeddings", "/api/embed", "/mcp", "/v1/gb/preview/uploads?name=a.md", "/v1/gb/import?dataset=new"]
)  # fmt: skip
def test_a_chunked_body_over_the_limit_is_cut_short(client, path):
    def endless():
        for _ in range(100):
            yield b"x" * 10_000

    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    assert client.post(path, content=endless(), headers=headers).status_code == 413


@pytest.mark.parametrize("query", ["dataset=default&dataset=other", "limit=1&limit=2", "cursor=&cursor="])
def test_a_parameter_that_is_taken_once_may_not_come_twice(client, query):
    answer = client.get(f"/v1/gb/artifacts?{query}")
    assert answer.status_code == 422
    assert "given 2 times, expected once" in answer.json()["detail"]
    assert client.get("/v1/gb/graph?type=person&type=place").status_code == 200, "this one may be repeated"


@pytest.mark.parametrize(
    "query",
    [
        "source=%27%20OR%201%3D1%20--", "kind=memory", "session_id=%25", "document=%27)", "parent=%00",
        'metadata={"a":"\'"}', 'metadata={"a\'b":1}', 'metadata={"%25":"%25"}',
    ],
)  # fmt: skip
def test_a_filter_is_a_value_whatever_it_looks_like(client, query):
    answer = client.get(f"/v1/gb/artifacts?{query}")
    assert (answer.status_code, answer.json()) == (200, {"items": [], "cursor": None})


def test_a_kind_that_is_none_is_refused_with_those_there_are(client):
    answer = client.get("/v1/gb/artifacts?kind=%27")
    assert answer.status_code == 400
    assert "expected one of" in answer.json()["detail"]


@pytest.mark.parametrize(
    "way", ["../keys.json", "..%2f..%2fkeys.json", "%2e%2e/%2e%2e/keys.json", "%00", "/etc/passwd"]
)
def test_no_path_leads_out(client, way):
    for base in ("/assets/x/", "/v1/gb/preview/folders/0?path=", "/v1/gb/jobs/", "/v1/gb/images/"):
        answer = client.get(base + way)
        assert answer.status_code in {404, 422}, (base, answer.status_code)
        assert "hash" not in answer.text


def test_one_request_makes_no_more_chunks_than_it_may(client):
    """Each is a commit of its own: 200 KB of crumbs would keep a thread for the better part of an hour."""
    for chunking in ({"size": 1}, {"size": 8, "overlap_percent": 90}):
        answer = client.post("/v1/gb/remember", json={"text": "x" * 199_000, "chunking": chunking})
        assert answer.status_code == 400, answer.text
        assert "over the limit of 10,000" in answer.json()["detail"]
    few = {"text": "The boiler is old. " * 20, "chunking": {"size": 20}}
    assert len(client.post("/v1/gb/remember", json=few).json()["chunks"]) > 2


def test_no_address_in_a_body_is_fetched(client):
    """A source is a name, an image its bytes; what a model is called is no place to go to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.3)
        here = f"http://127.0.0.1:{listening.getsockname()[1]}/x.png"
        for given in (
            {"text": here, "source": here, "metadata": {"url": here}},
            {"text": "x", "image": {"data": here}},
            {"text": "x", "chunking": {"size": 8, "tokenizer": here}},
            {"text": "x", "models": {"extract_graph": here}},
        ):
            client.post("/v1/gb/remember", content=json.dumps(given), headers={"content-type": "application/json"})
        client.post("/v1/embeddings", json={"input": here, "model": here})
        client.post("/v1/gb/preview/documents", json={"text": here})
        with pytest.raises(TimeoutError):
            listening.accept()
