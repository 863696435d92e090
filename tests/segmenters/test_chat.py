"""providers/chat.py against a real server on loopback, and as the llm of a segmenter."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from unabridged.errors import ProviderError
from unabridged.providers.chat import Chat
from unabridged.text.segmenters import split
from unabridged.text.stats import trace_summary


@pytest.fixture
def server():
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append((self.path, self.headers.get("authorization"), body))
            said = {"choices": [{"message": {"content": '{"statements": ["It is so."]}'}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10}, "model": "tiny-1"}  # fmt: skip
            if body["model"] == "broken":
                said = {"choices": []}
            data = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.daemon_threads = True
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        httpd.seen = seen
        yield httpd
        httpd.shutdown()
        thread.join()


def url(server):
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def test_s12_s14_a_chat_model_rewrites_and_its_cost_is_in_the_trace(server):
    chat = Chat("tiny", base_url=url(server), api_key="secret-key-1", prices=(1.0, 2.0))
    chunks = split("Some passage here.", "proposition", llm=chat)
    chat.close()
    assert [c.text for c in chunks] == ["It is so."]
    assert trace_summary(chunks) == {"calls": 1, "tokens_in": 100, "tokens_out": 10, "cost_usd": pytest.approx(0.00012)}
    path, key, body = server.seen[0]
    assert (path, key) == ("/v1/chat/completions", "Bearer secret-key-1")
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["statements"]


def test_a_reply_without_an_answer_is_an_error(server):
    chat = Chat("broken", base_url=url(server))
    with pytest.raises(ProviderError, match="no choices"):
        chat([{"role": "user", "content": "x"}], max_tokens=5)
    chat.close()
    assert server.seen[0][2]["max_tokens"] == 5


async def test_tasks_get_the_same(server):
    chat = Chat("tiny", base_url=url(server))
    reply = await chat.acall([{"role": "user", "content": "x"}])
    await chat.aclose()
    assert (reply.tokens_in, reply.model, reply.finished, reply.cost_usd) == (100, "tiny-1", True, None)
    assert "It is so" not in repr(reply)
