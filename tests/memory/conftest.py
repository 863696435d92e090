"""What the memory's tests share: a small deterministic embedder, and memories in every kind of place."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from unabridged.memory import Memory


class Embedder:
    """Vectors from a digest: equal texts have equal ones, and nothing is loaded or sent."""

    def __init__(self, width=16, name="digest"):
        self.width = width
        self.name = name
        self.calls = []

    def embed(self, texts):
        self.calls.append(list(texts))
        return np.stack([self._one(text) for text in texts])

    def embed_query(self, text):
        return self._one(text)

    def fingerprint(self, role="document"):
        return f"{self.name}-{self.width}-{role}"

    def _one(self, text):
        seed = int.from_bytes(hashlib.sha256(f"{self.name}:{text}".encode()).digest()[:8], "little")
        return np.random.default_rng(seed).standard_normal(self.width).astype(np.float32)


@pytest.fixture(scope="session")
def embedders():
    return Embedder


@pytest.fixture
def make_embedder():
    return Embedder


@pytest.fixture
def embedder():
    return Embedder()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place"


@pytest.fixture
def memory(place):
    with Memory.open(place) as opened:
        yield opened
        opened.verify().raise_if_broken()


@pytest.fixture(params=["folder", "memory", "lease"])
def anywhere(request, place):
    """A memory in a folder, inside this process, and in a folder under a lease as object stores need it."""
    uri = "memory://" if request.param == "memory" else place
    with Memory.open(uri, lock="lease" if request.param == "lease" else "auto") as opened:
        yield opened
        opened.verify().raise_if_broken()


def _say(memory, text, *triples, **given):
    """Store a text and the facts (subject, relation, object) that it states; the artifact and the stored edges."""
    with memory.write() as tx:
        artifact = tx.artifact(text, **given)
        edges = []
        for subject, relation, target in triples:
            one = tx.entity(*subject, artifact=artifact)
            other = tx.entity(*target, artifact=artifact)
            edges.append(tx.edge(one, relation, other, artifact=artifact))
    return tx.gathered.artifacts[artifact.id], [tx.stored(edge) for edge in edges]


@pytest.fixture
def say():
    return _say
