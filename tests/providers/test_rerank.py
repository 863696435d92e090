"""Cross-encoders behind HTTP and in this process: three shapes, checked answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from unabridged.errors import BadReply, ConfigError, ProviderError
from unabridged.providers.rerank import HttpReranker, LocalReranker, as_reranker


class _Server:
    def __init__(self):
        self.asked, self.answer, self.status = [], None, 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append((self.path, body, self.headers.get("authorization")))
                raw = json.dumps(outer.answer(body)).encode()
                self.send_response(outer.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    made = _Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def scored(texts, key):
    return [{"index": at, key: len(text) / 10} for at, text in reversed(list(enumerate(texts)))]


@pytest.mark.parametrize(
    ("shape", "path", "answer"),
    [
        ("tei", "/rerank", lambda body: scored(body["texts"], "score")),
        ("cohere", "/v2/rerank", lambda body: {"results": scored(body["documents"], "relevance_score")}),
        ("jina", "/v1/rerank", lambda body: {"results": scored(body["documents"], "relevance_score"), "usage": {}}),
        ("voyage", "/v1/rerank", lambda body: {"data": scored(body["documents"], "relevance_score")}),
    ],
)
def test_each_shape_is_asked_and_read_by_its_index(server, shape, path, answer):
    server.answer = answer
    reranker = HttpReranker(shape, base_url=server.url, api_key="secret-key", model="m")
    assert reranker.rerank("q", ["a", "bbb", "cc"]) == [0.1, 0.3, 0.2]
    asked, body, key = server.asked[0]
    assert (asked, body["query"], key) == (path, "q", "Bearer secret-key")
    assert body.get("model") == (None if shape == "tei" else "m")
    reranker.close()


def test_many_texts_go_in_batches(server):
    server.answer = lambda body: scored(body["texts"], "score")
    reranker = HttpReranker("tei", base_url=server.url, batch_inputs=2)
    assert reranker.rerank("q", ["a", "bb", "ccc", "d", "e"]) == [0.1, 0.2, 0.3, 0.1, 0.1]
    assert len(server.asked) == 3
    reranker.close()


@pytest.mark.parametrize(
    "answer",
    [
        {"results": [{"index": 0, "relevance_score": 0.1}]},
        {"results": [{"index": 0, "relevance_score": 0.1}, {"index": 0, "relevance_score": 0.2}]},
        {"results": [{"index": 0, "relevance_score": 0.1}, {"index": 5, "relevance_score": 0.2}]},
        {"results": [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": "high"}]},
        {"results": [3, 4]},
        {"something": "else"},
    ],
)
def test_an_answer_that_cannot_be_trusted_is_refused(server, answer):
    server.answer = lambda _: answer
    reranker = HttpReranker("jina", base_url=server.url)
    with pytest.raises(ProviderError):
        reranker.rerank("q", ["a", "b"])
    reranker.close()


def test_a_refusal_is_the_providers(server):
    server.answer, server.status = lambda _: {"message": "invalid api token"}, 401
    reranker = HttpReranker("cohere", base_url=server.url, api_key="k" * 10)
    with pytest.raises(ProviderError) as caught:
        reranker.rerank("q", ["a"])
    assert caught.value.fault.kind == "auth"
    reranker.close()


def test_in_this_process_by_pairs_or_by_function():
    class CrossEncoder:
        def predict(self, pairs):
            return [4.0 if query in text else -4.0 for query, text in pairs]

    assert LocalReranker(CrossEncoder()).rerank("b", ["abc", "x"]) == pytest.approx([0.982, 0.018], abs=1e-3)
    with pytest.raises(BadReply):
        LocalReranker(lambda q, texts: [0.5]).rerank("q", ["a", "b"])
    ours = as_reranker(CrossEncoder())
    assert isinstance(ours, LocalReranker)
    assert as_reranker(ours) is ours
    assert as_reranker("tei").shape == "tei"
    with pytest.raises(ConfigError, match="expected a reranker"):
        as_reranker(3)
    with pytest.raises(ConfigError, match="expected one of"):
        as_reranker("bert")


def test_a_key_is_asked_for_by_its_variable(monkeypatch):
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="COHERE_API_KEY"):
        HttpReranker("cohere")
