"""Packs (SPEC R3): within a budget, no passage twice, overlap merged, sources beside facts, bytes exact."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.memory import Memory
from unabridged.memory.recall.data import Citation
from unabridged.memory.recall.pack import packed
from unabridged.memory.recall.pack_spans import Passage, best_of, merged
from unabridged.memory.recall.words import words_in
from unabridged.text.segmenters import split
from unabridged.text.tokens import Estimate

TEXT = "Über den Fluß führt eine Brücke. 桥很旧。 It was built in 1820. Nobody repairs it. A toll is paid. " * 6


def passage(start, end, rank=0, shown=True, document="d"):
    quote = TEXT.encode()[start:end].decode()
    citation = Citation("c", document, "chunk", "knowledge", 0, end - start, start, end, quote)
    return Passage.of(citation, rank, shown=shown)


def cuts():
    """Byte offsets that cut no character."""
    return [len(TEXT[:n].encode()) for n in range(len(TEXT) + 1)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(1, 200)), min_size=1, max_size=8))
def test_r3_merged_passages_cover_the_same_bytes_once(spans):
    places = cuts()
    given_ = [
        passage(places[a], places[min(len(TEXT), a + n)], rank) for rank, (a, n) in enumerate(spans) if a < len(TEXT)
    ]
    done = merged(given_)
    covered = {at for p in given_ for at in range(*p.place[1:])}
    assert {at for p in done for at in range(*p.place[1:])} == covered
    assert sum(p.place[2] - p.place[1] for p in done) == len(covered)  # nothing twice
    for one in done:
        assert one.quote.encode() == TEXT.encode()[one.place[1] : one.place[2]]
    for one, other in itertools.combinations(done, 2):
        assert one.place[2] < other.place[1] or other.place[2] < one.place[1]  # what touches is one


def test_r3_passages_of_other_documents_are_not_joined():
    assert len(merged([passage(0, 34), passage(0, 34, document="e")])) == 2


def test_r3_a_piece_of_a_passage_is_the_one_that_says_most():
    piece = best_of(passage(0, len(TEXT.encode())), words_in("built in 1820"), 32)
    assert "1820" in piece.quote
    assert Estimate().count(piece.quote) <= 32
    assert TEXT.encode()[piece.place[1] : piece.place[2]].decode() == piece.quote


@pytest.fixture
def town():
    with Memory.open("memory://") as memory:
        text = "\n\n".join(f"Part {n}: the bridge of the town has arch {n} and a keeper." for n in range(30))
        with memory.write() as tx:
            note = tx.artifact(text, source="bridge.md")
            for chunk in split(text, max_tokens=48, overlap_tokens=16):
                tx.chunk(note, chunk)
            fact = tx.artifact("Nora keeps the bridge. She lives by it.", source="nora.md", valid_at="2020-05-01")
            nora = tx.entity("Nora", "person", artifact=fact)
            bridge = tx.entity("bridge", "place", artifact=fact)
            tx.edge(nora, "keeps", bridge, artifact=fact, quote="Nora keeps the bridge")
        yield memory


@pytest.mark.parametrize("budget", [1, 40, 90, 200, 600, 4000])
def test_r3_a_pack_is_within_its_budget_and_its_citations_resolve(town, budget):
    found = town.recall("arch of the bridge of the town, its keeper", limit=30, budget_tokens=budget, threshold=0.1)
    pack = found.pack
    assert Estimate().count(pack.text) == pack.tokens <= budget
    for number, each in enumerate(pack.citations, 1):
        assert town.slice(each.artifact_id, each.start, each.end) == each.quote
        assert each.quote in pack.text
        assert f"[{number}]" in pack.text
    spans = [(c.artifact_id, at) for c in pack.citations for at in range(c.start, c.end)]
    assert len(spans) == len(set(spans))  # no byte twice
    if budget == 4000:
        assert pack.left_out == 0
        assert str(pack) == pack.text


def test_r3_a_facts_source_stands_beside_it_or_is_its_number(town):
    alone = town.recall("Who keeps the bridge?", kinds="fact").pack
    assert alone.text.splitlines()[0] == "- Nora keeps bridge (2020-05-01 – now)"
    assert alone.text.splitlines()[1] == "  [1] nora.md · 2020-05-01: “Nora keeps the bridge”"
    both = town.recall("Nora keeps the bridge", kinds=("fact", "passage"), limit=3).pack
    assert both.text.count("Nora keeps the bridge") == 1
    assert "- Nora keeps bridge (2020-05-01 – now) [1]" in both.text


def test_r3_a_whole_document_comes_whole_where_there_is_room_and_else_its_best_piece(town):
    query = "arch 17 bridge"
    whole = town.recall(query, kinds="document", budget_tokens=4000, threshold=0.1).pack
    assert "Part 0:" in whole.text
    assert "Part 29:" in whole.text
    piece = town.recall(query, kinds="document", budget_tokens=120, threshold=0.1).pack
    assert "arch 17" in piece.text
    assert "Part 0:" not in piece.text


def test_a_pack_of_nothing_is_empty():
    assert packed([], words_in("x"), 10).citations == ()
