"""Evaluation on one's own questions (SPEC R8)."""

import json

import numpy as np
import pytest

from unabridged.errors import InputError, UnreadableFile
from unabridged.memory import Memory
from unabridged.memory.recall.evaluate import Golden, compare, evaluate, index_recall, read_golden

GOLDEN = [
    Golden("Which month is the boiler serviced in?", sources=("house.md",)),
    Golden("What does the ferry cost?", quotes=("costs nine euros",)),
    Golden("Who sang in Verona?"),
]


@pytest.fixture
def house():
    with Memory.open("memory://") as memory:
        memory.add("The boiler is serviced every May; no other month.", source="house.md")
        memory.add("The ferry costs nine euros.", source="ferry.md")
        yield memory


def test_r8_recall_ranks_and_refusals_are_measured(house):
    found = evaluate(house, GOLDEN)
    assert (found.questions, found.recall, found.right, found.reciprocal_rank, found.gain) == (3, 1.0, 1.0, 1.0, 1.0)
    assert found.misses == ()
    assert found.p99 >= found.p50 > 0
    assert "no vectors" in found.degraded[0]
    assert found.to_dict()["misses"] == []


def test_r8_a_change_is_told_question_by_question(house):
    before = evaluate(house, GOLDEN)
    house.delete(house.artifacts.list(source="ferry.md").items[0])
    house.add("Arias were sung in Verona: who sang there was Ada.")
    after = evaluate(house, GOLDEN)
    change = compare(before, after)
    assert after.misses == (1, 2)
    assert change.worse == (1, 2)
    assert change.better == ()
    assert change.recall == pytest.approx(-2 / 3)
    with pytest.raises(InputError, match="1 questions before, 3 after"):
        compare(evaluate(house, GOLDEN[:1]), after)
    with pytest.raises(InputError, match="no questions"):
        evaluate(house, [])


def test_r8_by_artifact_and_with_options_of_a_question(house):
    note = house.artifacts.list(source="house.md").items[0]
    mine = Golden("boiler serviced", artifacts=(note.id,), options={"source": "ferry.md"})
    assert evaluate(house, [mine]).recall == 0.0
    two = Golden("boiler ferry serviced costs", sources=("house.md", "ferry.md"))
    found = evaluate(house, [two], threshold=0.1).outcomes[0]
    assert (found.recall, found.rank, found.gain) == (1.0, 1, 1.0)
    assert evaluate(house, [two], threshold=0.1, limit=1).outcomes[0].recall == 0.5


def test_r8_golden_queries_are_read_from_lines(tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_text(json.dumps({"question": "q", "sources": ["s"], "options": {"limit": 3}}) + "\n\n")
    assert read_golden(path) == [Golden("q", sources=("s",), options={"limit": 3})]
    for line, said in (
        ("{", "line 1 is not JSON"),
        ('{"asks": 1}', "line 1: expected a question"),
        ('{"question": "q", "soruces": []}', "line 1"),
    ):
        path.write_text(line)
        with pytest.raises(UnreadableFile, match=said):
            read_golden(path)


def test_the_recall_of_an_index_is_checked_against_a_scan(place, monkeypatch):
    monkeypatch.setattr("unabridged.memory.upkeep.VECTORS_PAY", 512)
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((40, 64)).astype(np.float32)
    with Memory.open(place, grace=0.0, upkeep=False) as memory:
        assert index_recall(memory) == 1.0
        with memory.write() as tx:
            for n in range(2000):
                vector = centres[n % 40] + rng.standard_normal(64).astype(np.float32) / 2
                tx.artifact(f"note {n}", vector=vector)
        assert index_recall(memory, sample=5) == 1.0
        memory.optimize()
        assert memory.store.view()["artifacts"].kinds()["vector_idx"] == "IVF_RQ"
        assert index_recall(memory, sample=20) >= 0.95
        late = memory.add("late", vector=centres[3])  # not in the index yet: scanned, and found
        assert late.id in memory.store.view()["artifacts"].nearest(centres[3], 3)["id"].to_pylist()


def test_an_index_of_an_older_kind_is_made_anew(place, monkeypatch):
    monkeypatch.setattr("unabridged.memory.upkeep.VECTORS_PAY", 256)
    monkeypatch.setattr("unabridged.memory.pieces.SHORTENED", 1000)
    rng = np.random.default_rng(1)
    with Memory.open(place, grace=0.0, upkeep=False) as memory:
        for _ in range(2):
            with memory.write() as tx:
                for n in range(600):
                    tx.artifact(f"note {n}", vector=rng.standard_normal(64).astype(np.float32))
            memory.optimize()
        assert memory.store.view()["artifacts"].kinds()["vector_idx"] == "IVF_FLAT"
        monkeypatch.setattr("unabridged.memory.pieces.SHORTENED", 64)
        memory.optimize()
        view = memory.store.view()
        assert view["artifacts"].kinds()["vector_idx"] == "IVF_RQ"
        assert set().union(*view["artifacts"].covered()["vector_idx"]) == {f.id for f in view["artifacts"].fragments()}
        memory.verify().raise_if_broken()
