"""``kill -9`` at every named step of a remember (case 40): clean, complete with its key, and nothing paid twice.

The servers of the chat model and of the embeddings run here and count; the request runs in a process of its
own, which kills itself at the step. Then the dataset is verified, the same request is made again with its
key, and everything must be as after a request that nobody disturbed: in the store, and on both bills.
"""

import json
import signal
import subprocess
import sys

import pytest

from unabridged.embedding.embedder import Embedder
from unabridged.memory import Memory
from unabridged.providers.registry import open_provider
from unabridged.testing import ChatServer, LoopbackProvider

from .remembering import LONG, SMALL, asking, stages

KNOWN = "Person1 lives in Oslo. Person7 lives in Rome."  # so that chunks one and three have to be compared

VICTIM = """
import os, signal, sys, json, time
from unabridged.embedding.embedder import Embedder
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.memory.remember import draft, facts, journal, store
from unabridged.memory.commits import Store
from unabridged.memory.extraction import extraction
from unabridged.providers.chat import Chat
from unabridged.providers.registry import open_provider

place, cache, chat_url, embed_url, text, chunking, step, nth, when = sys.argv[1:]

def killing(owner, name, nth=int(nth)):
    calls = [0]
    inner = getattr(owner, name)
    def outer(*args, **given):
        calls[0] += 1
        mine = calls[0] == nth
        if mine and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = inner(*args, **given)
        if mine:
            if step == "resolve":
                time.sleep(1.0)  # what other threads have in flight is back: a call that is under way is paid
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, outer)

embedder = Embedder(open_provider("openai", model="m", api_key="k", base_url=embed_url), cache=cache + "/vectors", concurrency=1)
asker = Asker(Chat("tiny", base_url=chat_url), cache=cache + "/answers", concurrency=1)
memory = Memory.open(place, embedder=embedder, chat=asker)
targets = {
    "claim": (journal.Journal, "_claim"),
    "journal": (journal.Journal, "_write"),
    "extract": (extraction, "extract"),
    "summarize": (extraction, "summarize"),
    "write": (Store, "move"),
    "embed": (store, "embed_texts"),
    "resolve": (facts.Facts, "_ask"),
}
killing(*targets[step])
memory.remember(text, chunking=json.loads(chunking), idempotency_key="key", session_id="s")
print("not killed")
"""

# The n-th time that a step is reached; a document of four chunks has five commits: itself, and its chunks.
STEPS = [
    ("claim", 1, "after"),
    ("extract", 3, "before"),
    ("summarize", 4, "after"),
    ("journal", 2, "after"),
    ("write", 1, "before"),
    ("write", 1, "after"),
    ("embed", 1, "after"),
    ("resolve", 1, "after"),
    ("write", 3, "before"),
    ("write", 3, "after"),
    ("write", 5, "after"),
    ("journal", 4, "before"),
    ("journal", 4, "after"),
]


def _state(memory):
    """What is stored, without what differs from run to run."""
    names = {entity.id: entity.name for entity in memory.entities.list(limit=500).items}
    edges = memory.edges.list(include_history=True, limit=500).items
    artifacts = memory.artifacts.list(limit=500).items
    return {
        "artifacts": sorted((a.role, a.chunk_index or 0, a.text) for a in artifacts),
        "entities": sorted(names.values()),
        "edges": sorted((e.fact, e.invalid_at is None) for e in edges),
        "links": sorted((link.type, names.get(link.from_id, "")) for link in memory.links.list()),
        "vectors": {name: (each.expected, each.present) for name, each in memory.stats().vectors.items()},
    }


def _bill(chat, loopback):
    return stages(chat), sorted(text for each in loopback.requests for text in each.texts)


def _remember(memory):
    return memory.remember(LONG, chunking=SMALL, idempotency_key="key", session_id="s")


def _embedder(loopback, cache):
    provider = open_provider("openai", model="m", api_key="k", base_url=loopback.url)
    return Embedder(provider, cache=cache / "vectors", concurrency=1)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a request that nobody disturbs stores, costs and answers."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with (
        ChatServer() as chat,
        LoopbackProvider("openai") as loopback,
        _embedder(loopback, folder) as embedder,
        asking(folder / "m", server=chat, cache=folder / "answers", embedder=embedder, concurrency=1) as (memory, _),
    ):
        memory.remember(KNOWN)
        answer = _remember(memory)
        return _state(memory), _bill(chat, loopback), answer


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("step", "nth", "when"), STEPS, ids=lambda value: str(value))
def test_case_40_killed_at_a_step(tmp_path, undisturbed, step, nth, when):
    state, bill, answer = undisturbed
    place, cache = tmp_path / "memory", tmp_path
    with ChatServer() as chat, LoopbackProvider("openai") as loopback:
        with (
            _embedder(loopback, cache) as embedder,
            asking(place, server=chat, cache=cache / "answers", embedder=embedder, concurrency=1) as (memory, _),
        ):
            memory.remember(KNOWN)
        arguments = (place, cache, chat.url, loopback.url, LONG, json.dumps(SMALL), step, nth, when)
        command = [sys.executable, "-W", "ignore", "-c", VICTIM, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
        with Memory.open(place, read_only=True) as seen:
            seen.verify().raise_if_broken()
        with (
            _embedder(loopback, cache) as embedder,
            asking(place, server=chat, cache=cache / "answers", embedder=embedder, concurrency=1) as (memory, _),
        ):
            made = _remember(memory)
            memory.verify().raise_if_broken()
            assert _state(memory) == state
            assert _bill(chat, loopback) == bill
            told = (len(made.entities), len(made.edges), len(made.chunks), len(made.invalidated_edges))
            assert told == (len(answer.entities), len(answer.edges), len(answer.chunks), len(answer.invalidated_edges))
            counts = ("embedded_entities", "embedded_edges", "embedded_chunks", "embedded_summaries")
            assert [getattr(made, each) for each in counts] == [getattr(answer, each) for each in counts]
            assert _remember(memory).replayed
