"""The write path: chunks a second without latency, a document with it, requests a chunk.

``python -m benchmarks remember [CHUNKS]`` (default 200). Chunks of about 190 tokens yield four entities and
three facts each. *Throughput*: a chat function and an embedder that answer at once, beside the same rows in
commits of their own without the path around them. *Latency*: forty chunks, a real chat server on loopback
that takes a second for every answer, eight calls in flight, and a real embeddings server that counts. The
load of the machine stands beside the rates; CPU time and the ratio to bare commits hold on a busy one too.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from unabridged.embedding.embedder import Embedder
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.memory.remember.plan import Request, planned
from unabridged.providers.chat import Chat
from unabridged.providers.registry import open_provider
from unabridged.testing import ChatServer, LoopbackProvider
from unabridged.testing.understander import read_english

WIDTH = 384
CHUNKING = {"size": 200}


class Still:
    """An embedder that answers at once: no model, no request."""

    concurrency = 8

    def __init__(self) -> None:
        self.calls = 0
        self._rng = np.random.default_rng(0)

    def embed(self, texts: Any) -> Any:
        self.calls += 1
        return self._rng.standard_normal((len(texts), WIDTH)).astype(np.float32)

    def fingerprint(self, role: str = "document") -> str:
        return f"still-{role}"


def document(chunks: int) -> str:
    """A text of about so many chunks of 200 tokens, with 40 of overlap."""
    filler = "And so it went on for a while, with nothing more to be said about any of it here. " * 5
    facts = "Person{0} works at Company{0}. Person{0} lives in City{1}. Company{0} acquired Firm{0}. "
    return "\n\n".join(facts.format(n, n % 50) + filler for n in range(chunks))


def answer(messages: Any, schema: Any = None, **_: Any) -> str:
    """What the fake server would say, without a server."""
    said = messages[-1]["content"]
    if schema is None:
        return "Somebody works somewhere, and lives in a city."
    if "decisions" in schema["properties"]:
        return json.dumps({"decisions": []})
    return json.dumps(read_english(said.split("<text>\n")[1].split("\n</text>")[0]))


def throughput(chunks: int) -> dict[str, Any]:
    """Chunks a second, beside bare commits of the same size."""
    folder = Path(tempfile.mkdtemp(prefix="unabridged-remember-"))
    rates, bare, cpu = [], [], []
    try:
        with Memory.open(folder, embedder=Still(), chat=Asker(answer, cache=False)) as memory:
            memory.remember("Warm works at Up.")
            for run in range(3):
                text = document(chunks).replace("Person", f"Run{run}Person")
                since, used = time.perf_counter(), time.process_time()
                made = memory.remember(text, chunking=CHUNKING)
                assert made.chunks is not None
                cpu.append(1000 * (time.process_time() - used) / len(made.chunks))
                rates.append(len(made.chunks) / (time.perf_counter() - since))
                bare.append(_bare(memory, run, len(made.chunks) // 2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "chunks": len(made.chunks),
        "chunks_per_second": round(statistics.median(rates), 1),
        "best": round(max(rates), 1),
        "cpu_ms_per_chunk": round(min(cpu), 1),
        "load_per_core": round(os.getloadavg()[0] / (os.cpu_count() or 1), 1),
        "bare_commits_per_second": round(statistics.median(bare), 1),
        "of_bare_commits": round(statistics.median(r / b for r, b in zip(rates, bare, strict=True)), 2),
    }


def _bare(memory: Memory, run: int, commits: int) -> float:
    rng = np.random.default_rng(run)
    vector = lambda: rng.standard_normal(WIDTH).astype(np.float32)  # noqa: E731
    since = time.perf_counter()
    for n in range(commits):
        with memory.write() as tx:
            note = tx.artifact(f"Bare {run} {n}", vector=vector())
            tx.artifact(f"Its summary {run} {n}", vector=vector())
            ends = [tx.entity(f"Bare{run} {n} {k}", "thing", artifact=note, vector=vector()) for k in range(4)]
            for end in ends[1:]:
                tx.edge(ends[0], "knows", end, artifact=note, vector=vector())
    return commits / (time.perf_counter() - since)


def latency(chunks: int = 40, seconds: float = 1.0) -> dict[str, Any]:
    """Seconds for a document whose every chat answer takes one."""
    text = document(chunks)
    while len(planned(Request.of(text, {"chunking": CHUNKING}, limit=1 << 20)).chunks) > chunks:
        text = text.rpartition("\n\n")[0]
    folder = Path(tempfile.mkdtemp(prefix="unabridged-remember-"))
    try:
        with (
            ChatServer(latency=seconds) as server,
            LoopbackProvider("openai", dimensions=WIDTH) as loopback,
            Embedder(open_provider("openai", model="m", api_key="k", base_url=loopback.url), cache=False) as embedder,
        ):
            asker = Asker(Chat("tiny", base_url=server.url), cache=False, concurrency=8)
            with Memory.open(folder, embedder=embedder, chat=asker) as memory:
                since = time.perf_counter()
                made = memory.remember(text, chunking=CHUNKING)
                took = time.perf_counter() - since
            asker.close()
            assert made.chunks is not None
            return {
                "chunks": len(made.chunks),
                "chat_calls": server.total,
                "seconds_per_answer": seconds,
                "seconds": round(took, 2),
                "embeddings_requests": loopback.total,
                "in_flight_at_the_most": server.in_flight_max,
            }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(argv: list[str]) -> dict[str, Any]:
    """Measure, and print."""
    found = {"throughput": throughput(int(argv[0]) if argv else 200), "latency": latency()}
    for name, values in found.items():
        print(name, json.dumps(values))
    return found
