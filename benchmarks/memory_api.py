"""The memory over HTTP and MCP: how long reads, writes and tools take at 100,000 artifacts and 10,000 facts.

A real server on loopback, one caller, one request after another; the embedder is the hashing one, so that what
is measured is the store and the way to it, not a model.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import statistics
import tempfile
import threading
import time

import httpx
import uvicorn

ARTIFACTS, FACTS, ROUNDS = 100_000, 10_000, 15


def main(arguments):
    """Build the place, serve it, ask it."""
    parser = argparse.ArgumentParser(prog="memory_api")
    parser.add_argument("--artifacts", type=int, default=ARTIFACTS)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        from unabridged.config import load_config
        from unabridged.server import ServerSettings, create_app

        embedding = {"provider": "hashing", "dimensions": 256, "cache": False}
        config = load_config({"embedding": embedding, "dbPath": f"{folder}/place"})
        app = create_app(config, settings=ServerSettings(keys_file=f"{folder}/keys.json"))
        artifact, entity, built = built_place(app.state.server.memory("default", create=True), given.artifacts)
        with serving(app) as address:
            found = {**asked(address, artifact, entity), **asyncio.run(tools(address))}
    for name, value in found.items():
        print(f"{name:44} {value:8.1f} ms")
    return {"artifacts": given.artifacts, "facts": FACTS, "built_s": round(built, 1), "p50_ms": found}


def built_place(memory, count):
    """So many artifacts with vectors, a graph over the first of them; one artifact and one entity of it."""
    began = time.perf_counter()
    memory.add_many(f"Text number {at} says something of its own about matter {at % 997}." for at in range(count))
    artifacts = memory.artifacts.list(limit=1000).items
    for part in range(FACTS // 2000):
        with memory.write() as tx:
            entities = [tx.entity(f"E{part}-{at}", "thing", artifact=artifacts[at]) for at in range(1000)]
            for at in range(2000):
                ends = entities[at % 1000], entities[(at * 7 + 1) % 1000]
                tx.edge(ends[0], "is near", ends[1], artifact=artifacts[at % 1000], fact=f"fact {part}-{at}")
    memory.optimize()
    return artifacts[0].id, memory.entities.list(limit=1).items[0].id, time.perf_counter() - began


@contextlib.contextmanager
def serving(app):
    """The application on a free port."""
    listening = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    running.should_exit = True
    thread.join()


def asked(address, artifact, entity):
    """The median of each request, in milliseconds."""
    reads = {
        "GET health": "/health",
        "GET artifacts (page of 50)": "/v1/gb/artifacts",
        "GET artifact": f"/v1/gb/artifacts/{artifact}",
        "GET artifact text, 10 bytes": f"/v1/gb/artifacts/{artifact}/text?start=0&end=10",
        "GET edges of an entity": f"/v1/gb/edges?entity={entity}",
        "GET links (page of 50)": "/v1/gb/links",
        "GET entity timeline": f"/v1/gb/entities/{entity}/timeline",
        "GET stats": "/v1/gb/stats",
    }
    with httpx.Client(base_url=address, timeout=60) as http:
        found = {name: median(lambda path=path: http.get(path)) for name, path in reads.items()}
        tag = http.get(reads["GET artifact"]).headers["etag"]
        headers = {"If-None-Match": tag}
        found["GET artifact, unchanged (304)"] = median(lambda: http.get(reads["GET artifact"], headers=headers))
        query = {"query": "What does text number 4242 say about its matter?"}
        found["POST recall"] = median(lambda: http.post("/v1/gb/recall", json=query))
        text = {"text": "One more text, which nobody reads for facts.", "extract": False}
        found["POST remember (no model)"] = median(lambda: http.post("/v1/gb/remember", json=text))
    return found


async def tools(address):
    """The same for tools, by the official client."""
    from mcp import Client

    asked_for = {"list": {"limit": 20}, "recall": {"query": "text number 4242"}, "graph": {"entities": ["E0-1"]}}
    found = {}
    async with Client(f"{address}/mcp") as client:
        for name, given in asked_for.items():
            times = []
            for _ in range(ROUNDS):
                began = time.perf_counter()
                done = await client.call_tool(name, given)
                times.append((time.perf_counter() - began) * 1000)
                assert not done.is_error, done.content
            found[f"MCP {name}"] = round(statistics.median(times), 1)
    return found


def median(call):
    """Of a few calls, after one that warms up."""
    times = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        answer = call()
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status_code < 400, answer.text
    return round(statistics.median(times[1:]), 1)
