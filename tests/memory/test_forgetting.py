"""A29: an erasure reaches what the embedder and the chat have kept of a text, chunks included."""

import pytest

from unabridged import Embedder, split
from unabridged.embedding.forgetting import forget
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat
from unabridged.testing import ChatServer
from unabridged.types import Limit

LONG = "Alice works at Acme. " * 40


@pytest.fixture
def embedder(tmp_path):
    with Embedder("hashing", cache=tmp_path / "vectors", limit=Limit(input_tokens=60)) as made:
        yield made


def test_a29_kept_vectors_and_answers_of_an_erased_text_are_forgotten(tmp_path, embedder):
    with ChatServer() as server:
        asker = Asker(Chat("tiny", base_url=server.url), cache=tmp_path / "answers")
        with Memory.open(tmp_path / "m", embedder=embedder, chat=asker) as memory:
            memory.remember(LONG, session_id="s", chunking={"size": 50})
            memory.remember("Bob lives in Bonn.")
            before = (embedder.cache.stats().entries, asker.cache.stats().entries)
            done = memory.erase(session_id="s")
            after = (embedder.cache.stats().entries, asker.cache.stats().entries)
            assert done.proof.holds
            assert done.cached == sum(before) - sum(after)
            assert asker.cache.stats().entries == 1  # Bob's
            assert embedder.cache.get([]) == {}
            sent = server.total
            memory.remember("Bob lives in Bonn.")
            assert server.total == sent  # what stays is still kept
        asker.close()


def test_a29_the_chunks_of_a_long_text_are_forgotten_with_it(embedder):
    embedder.embed([LONG, "short"])
    embedder.embed_query("short")
    entries = embedder.cache.stats().entries
    assert entries > 4
    assert forget(embedder, [LONG]) == entries - 2
    assert forget(embedder, ["short"]) == 2
    assert embedder.cache.stats().entries == 0
    assert len(split(LONG, max_tokens=60)) > 1


def test_without_a_cache_there_is_nothing_to_forget():
    with Embedder("hashing", cache=False) as made:
        assert forget(made, ["x"]) == 0
