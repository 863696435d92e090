"""Recall (SPEC R1-R4, R7, L16): lanes, fusion, thresholds, time, scope, degraded modes; cases 41, 43, 44, 45."""

import datetime as dt

import numpy as np
import pytest

from unabridged.embedding.embedder import Embedder
from unabridged.errors import InputError, ModelMismatch, ProviderError
from unabridged.memory import Memory
from unabridged.memory.recall import recall as recalling
from unabridged.memory.recall.data import HIT_KINDS
from unabridged.text.segmenters import split
from unabridged.types import Fault


@pytest.fixture
def hashing():
    return Embedder("hashing", cache=False)


@pytest.fixture
def known(hashing):
    """A memory of a few people, firms and places."""
    with Memory.open("memory://", embedder=hashing) as memory:
        with memory.write() as tx:
            note = tx.artifact("Alice works at Acme. She likes hiking.", session_id="s1", source="alice.md")
            alice = tx.entity("Alice", "person", artifact=note, aliases=["Al Smith"], quote="Alice")
            acme = tx.entity("Acme", "organization", artifact=note)
            tx.edge(alice, "works at", acme, artifact=note, quote="Alice works at Acme")
            more = tx.artifact("Acme is based in Berlin near the river.", session_id="s2", source="acme.md")
            berlin = tx.entity("Berlin", "place", artifact=more)
            tx.edge(acme, "is based in", berlin, artifact=more, quote="Acme is based in Berlin")
            tx.artifact("The weather in Lisbon is fine today.", session_id="s2")
        yield memory


def test_r1_one_query_reads_passages_facts_and_entities_from_every_lane(known):
    found = known.recall("Where does Alice work?")
    assert {hit.kind for hit in found} >= {"passage", "fact", "entity"}
    fact = next(hit for hit in found if hit.kind == "fact")
    assert fact.text == "Alice works at Acme"
    assert {lane.lane for lane in fact.lanes} == {"vector", "text", "words", "graph"}
    entity = next(hit for hit in found if hit.kind == "entity")
    assert entity.record.name == "Alice"
    assert "names" in {lane.lane for lane in entity.lanes}
    assert found.degraded == ()
    assert all(0 <= hit.score <= 1 and 0 < hit.fused <= 1 for hit in found)
    worth = [hit.score * hit.fused for hit in found if hit.kind != "document"]
    assert worth == sorted(worth, reverse=True)


def test_r1_the_graph_brings_what_no_word_and_no_vector_does(known):
    question = "Which town is Alice's employer in?"
    lexical = known.recall(question, lanes=("text", "vector"), threshold=0.0)
    found = known.recall(question)
    fact = next(hit for hit in found if hit.text == "Acme is based in Berlin")
    assert "graph" in {lane.lane for lane in fact.lanes}
    assert fact.score > next((hit.score for hit in lexical if hit.id == fact.id), 0.0)
    assert "Berlin" in [hit.record.name for hit in found if hit.kind == "entity"]


@pytest.mark.parametrize("name", ["Al Smith", "al  smith", "ALICE", "What about Al Smith's work?"])
def test_r1_exact_names_and_aliases_whatever_their_case(known, name):
    first = known.recall(name, kinds="entity")[0]
    assert first.record.name == "Alice"
    assert "names" in {lane.lane for lane in first.lanes}


@pytest.mark.parametrize("kind", HIT_KINDS)
def test_r1_hits_of_one_kind(known, kind):
    assert {hit.kind for hit in known.recall("Alice works at Acme in Berlin", kinds=kind)} <= {kind}


@pytest.mark.parametrize("lane", ["vector", "text", "names", "graph"])
def test_r1_each_lane_by_itself(known, lane):
    found = known.recall("Where does Alice work?", lanes=lane, threshold=0.0)
    given = {each.lane for hit in found for each in hit.lanes}
    assert given <= {lane, "words"}
    assert bool(found) == (lane != "graph")  # the graph needs the others to start from


def test_r2_every_hit_has_evidence_byte_for_byte(known):
    for query in ("Where does Alice work?", "Acme Berlin"):
        for hit in known.recall(query):
            assert hit.evidence
            for each in hit.evidence:
                assert known.slice(each.artifact_id, each.start, each.end) == each.quote
                assert known.slice(each.document_id, each.document_start, each.document_end) == each.quote
    fact = next(hit for hit in known.recall("Where does Alice work?") if hit.kind == "fact")
    assert fact.evidence[0].quote == "Alice works at Acme"
    assert fact.evidence[0].source == "alice.md"
    assert fact.id in fact.evidence[0].facts


def test_r2_speaker_role_and_expired_artifacts():
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    with Memory.open("memory://") as memory:
        memory.add("The code of the gate is nine.", expires_at=past, provenance={"speaker": "Ann", "role": "user"})
        kept = memory.add("The code of the cellar is seven.", provenance={"speaker": "Bob", "role": "assistant"})
        assert [hit.id for hit in memory.recall("What is the code?")] == [kept.id]
        assert memory.recall("What is the code?")[0].evidence[0].speaker == "Bob"
        assert memory.recall("What is the code?")[0].evidence[0].role == "assistant"
        assert len(memory.recall("What is the code?", include_expired=True)) == 2
        assert len(memory.recall("What is the code?", as_of="2019-01-01")) == 2  # it had not run out then


def test_r2_a_fact_that_rests_on_expired_text_alone_is_left_out(hashing):
    with Memory.open("memory://", embedder=hashing) as memory:
        with memory.write() as tx:
            note = tx.artifact("Ann leads Initech.", expires_at="2020-01-01")
            tx.edge(
                tx.entity("Ann", "person", artifact=note),
                "leads",
                tx.entity("Initech", "org", artifact=note),
                artifact=note,
            )
        assert not memory.recall("Who leads Initech?")
        assert memory.recall("Who leads Initech?", include_expired=True)


def test_case_43_a_memory_of_8000_characters_that_matches_is_the_first_hit(hashing):
    long = " ".join(f"Entry {n} tells of the harbour, the tides and the ferry to the island." for n in range(115))
    long = f"{long[:4000]} The lighthouse keeper's recipe for plum jam needs cloves. {long[4000:]}"
    assert len(long) > 8000
    noise = [f"Note {n}: the recipe, the keeper, the jam." for n in range(60)]
    for chunked in (False, True):
        with Memory.open("memory://", embedder=hashing) as memory:
            memory.add_many(noise)
            made = memory.add(long, chunks=split(long, max_tokens=256) if chunked else ())
            for query in (long, "The lighthouse keeper's recipe for plum jam needs cloves."):
                first = memory.recall(query)[0]
                assert made.id in {first.id, first.evidence[0].document_id}
                assert first.score > 0.9


@pytest.mark.parametrize("given", ["vectors", "no vectors"])
def test_case_44_nothing_of_the_store_and_the_opposite_are_no_hits(hashing, given):
    with Memory.open("memory://", embedder=hashing if given == "vectors" else None) as memory:
        memory.add("The door of the greenhouse is open at night.")
        memory.add("Alice works at Acme as an engineer.")
        memory.add("The heating was switched off in April.")
        for nothing in (
            "zxqv plorb wexing",
            "quantum chromodynamics on the lattice",
            "Who sang at the opera in Verona?",
        ):
            assert len(memory.recall(nothing)) == 0
        for opposite in (
            "The door of the greenhouse is closed at night.",
            "Alice does not work at Acme as an engineer.",
            "The heating was switched on in April.",
        ):
            assert len(memory.recall(opposite)) == 0
            assert memory.recall(opposite, threshold=0.0).hits  # they are there, below it
        assert memory.recall("Is the door of the greenhouse closed at night?")  # the answer to a question may be no
        assert memory.recall("The door of the greenhouse is open at night.")[0].score == 1.0


def test_case_44_a_vector_that_points_away_is_no_hit():
    with Memory.open("memory://") as memory:
        day = np.eye(4)[0] + 0.1
        memory.add("bright", vector=day)
        assert memory.recall("bright", vector=day)[0].score == 1.0
        assert not memory.recall("bright", vector=-day)
        assert memory.recall("gloomy", vector=day, lanes="vector")
        assert not memory.recall("gloomy", vector=-day, lanes="vector")


def test_case_45_time_session_and_metadata_come_back_to_the_microsecond(known):
    moment = dt.datetime(2024, 5, 1, 12, 0, 0, 1, tzinfo=dt.UTC)
    made = known.add("Carol plays chess.", valid_at=moment, session_id="s9", metadata={"user": "carol"}, source="c.md")
    hit = known.recall("Who plays chess?", kinds="passage")[0]
    (evidence,) = hit.evidence
    assert (evidence.valid_at, evidence.session_id, evidence.source) == (moment, "s9", "c.md")
    assert evidence.metadata == {"user": "carol"}
    assert hit.record == known.artifacts.get(made.id)
    assert (
        known.recall("Who plays chess?", kinds="passage").to_dict()["hits"][0]["evidence"][0]["valid_at"]
        == moment.isoformat()
    )


def test_case_41_deleted_text_is_in_no_lane(known):
    doomed = known.artifacts.list(source="alice.md").items[0]
    known.delete(doomed)
    for lanes in (None, "vector", "text"):
        found = known.recall("Alice works at Acme and likes hiking", lanes=lanes, threshold=0.0)
        assert "Alice" not in str(found.to_dict()["hits"])
        assert "hiking" not in found.pack.text


def test_r1_scope_filters_every_kind_of_hit(known):
    known.add("Alice works at Globex.", session_id="s3", metadata={"tenant": "t3"}, source="x.md", kind="memory")
    for scope in ({"session_id": "s3"}, {"metadata": {"tenant": "t3"}}, {"source": "x.md"}, {"kind": "memory"}):
        found = known.recall("Where does Alice work?", **scope)
        assert [hit.text for hit in found] == ["Alice works at Globex."]
    mine = known.recall("Where does Alice work?", session_id="s1")
    assert {hit.kind for hit in mine} == {"passage", "fact", "entity"}
    assert {each.session_id for hit in mine for each in hit.evidence} == {"s1"}
    only = known.recall("Acme", document=known.artifacts.list(source="acme.md").items[0])
    assert {each.source for hit in only for each in hit.evidence} == {"acme.md"}
    assert not known.recall("Alice", created_until="2020-01-01")


def test_r1_a_wide_scope_is_held_against_each_fact(known, monkeypatch):
    monkeypatch.setattr("unabridged.memory.recall.scope.NARROW", 0)
    found = known.recall("Where does Alice work?", session_id="s1")
    assert "Alice works at Acme" in [hit.text for hit in found if hit.kind == "fact"]
    assert {each.session_id for hit in found for each in hit.evidence} == {"s1"}


def test_r1_time_current_as_of_known_at_and_history(hashing):
    with Memory.open("memory://", embedder=hashing) as memory:
        with memory.write() as tx:
            one = tx.artifact("Ben lives in Berlin.", valid_at="2020-01-01")
            ben, berlin = tx.entity("Ben", "person", artifact=one), tx.entity("Berlin", "place", artifact=one)
            old = tx.edge(ben, "lives in", berlin, artifact=one, fact="Ben lives in Berlin")
        before = dt.datetime.now(dt.UTC)
        with memory.write() as tx:
            two = tx.artifact("Ben lives in Paris.", valid_at="2023-06-01")
            new = tx.edge(
                ben, "lives in", tx.entity("Paris", "place", artifact=two), artifact=two, fact="Ben lives in Paris"
            )
            tx.contradict(tx.stored(old) if tx.result else old.id, new)

        def facts(**time):
            return {hit.text for hit in memory.recall("Where does Ben live?", kinds="fact", **time)}

        assert facts() == {"Ben lives in Paris"}
        assert facts(as_of="2021-01-01") == {"Ben lives in Berlin"}
        assert facts(known_at=before) == {"Ben lives in Berlin"}
        assert facts(include_history=True) == {"Ben lives in Berlin", "Ben lives in Paris"}
        passages = memory.recall("Where does Ben live?", kinds="passage", as_of="2021-01-01")
        assert [hit.text for hit in passages] == ["Ben lives in Berlin."]


def test_recency_and_a_preferred_session_reorder_and_leave_nothing_out():
    with Memory.open("memory://") as memory:
        old = memory.add("The rota says: Monday is kitchen duty.", valid_at="2020-01-01", session_id="a")
        new = memory.add("The rota says: Monday is garden duty.", valid_at="2026-01-01", session_id="b")
        assert [hit.id for hit in memory.recall("Monday duty", recency=30.0)] == [new.id, old.id]
        assert [hit.id for hit in memory.recall("Monday duty", prefer_session="a")] == [old.id, new.id]
        assert [hit.id for hit in memory.recall("Monday duty", prefer_session="b")] == [new.id, old.id]
        lanes = {lane.lane for lane in memory.recall("Monday duty", recency=30.0)[0].lanes}
        assert "recency" in lanes


def test_r4_without_an_embedder_text_answers_and_says_so(known, hashing):
    known.embedder = None
    found = known.recall("Where does Alice work?")
    assert [each.lane for each in found.degraded] == ["vector"]
    assert "no embedder" in found.degraded[0].reason
    assert "Alice works at Acme" in [hit.text for hit in found]


class _Down:
    """An embedder of the right model that fails."""

    def __init__(self, inner, error):
        self.inner, self.error = inner, error

    def fingerprint(self, role="document"):
        return self.inner.fingerprint(role)

    def embed(self, texts):
        raise self.error


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ProviderError("no", Fault("timeout")), "timeout"),
        (RuntimeError("a text in it"), "runtime error"),
        (OSError(), "os error"),
    ],
)
def test_r4_an_embedder_that_is_down_is_told_by_the_cause_without_its_words(known, hashing, error, cause):
    known.embedder = _Down(hashing, error)
    found = known.recall("Where does Alice work?")
    assert found.degraded[0].reason.endswith(f"failed: {cause}")
    assert "a text in it" not in found.degraded[0].reason
    assert found.hits


def test_r4_an_embedder_that_hangs_is_not_waited_for(known, hashing, monkeypatch):
    import threading

    gate = threading.Event()
    monkeypatch.setattr("unabridged.memory.recall.query.PATIENCE", 0.05)
    known.embedder = _Down(hashing, None)
    known.embedder.embed = lambda _: gate.wait(5)
    found = known.recall("Where does Alice work?")
    gate.set()
    assert "did not answer" in found.degraded[0].reason
    assert found.hits


def test_r4_vectors_of_another_model_are_never_compared(known):
    known.embedder = Embedder("hashing", dimensions=64, cache=False)
    found = known.recall("Where does Alice work?")
    assert "another model" in found.degraded[0].reason
    assert all(lane.lane != "vector" for hit in found for lane in hit.lanes)
    with pytest.raises(ModelMismatch):
        known.recall("Alice", vector=[1.0, 2.0])


def test_r4_a_memory_without_vectors_says_how_to_get_them(hashing):
    with Memory.open("memory://") as memory:
        memory.add("The boiler is serviced every May.")
        memory.embedder = hashing
        assert memory.recall("boiler").degraded[0].advice == "embed_missing"
        memory.embed_missing()
        assert memory.recall("boiler").degraded == ()


def test_an_embedder_that_tells_queries_from_documents_is_asked_for_a_query(place, embedder):
    with Memory.open(place, embedder=embedder) as memory:
        memory.add("a text")
        asked = []
        embed_query = embedder.embed_query
        embedder.embed_query = lambda text: asked.append(text) or embed_query(text)
        memory.recall("a text")
        memory.recall("a text")
        assert asked == ["a text", "a text"]
        assert len(embedder.calls) == 2  # the text, and once what calibrates


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limit": 0}, "limit: found 0"),
        ({"limit": 1001}, "expected 1 to 1000"),
        ({"budget_tokens": 0}, "budget_tokens"),
        ({"kinds": "facts"}, "kinds: found 'facts'"),
        ({"kinds": ()}, "kinds: found none"),
        ({"lanes": ["vectors"]}, "lanes: found 'vectors'"),
        ({"threshold": 1.5}, "threshold: found 1.5"),
        ({"diversity": True}, "diversity"),
        ({"passes": 3}, "passes: found 3"),
        ({"recency": 0}, "recency"),
        ({"as_of": "yesterday"}, "as_of"),
    ],
)
def test_what_makes_no_sense_is_named(known, given, said):
    with pytest.raises(InputError, match=said):
        known.recall("Alice", **given)


@pytest.mark.parametrize("query", ["?!", "—"])
def test_a_query_without_a_word_finds_nothing(known, query):
    assert len(known.recall(query)) == 0


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_query_is_refused(known, query):
    with pytest.raises(InputError, match=r"^query: it is empty"):
        known.recall(query)
    with pytest.raises(InputError, match=r"^question: it is empty"):
        known.query(query, asked_in="s1")
    assert not known.queries.page()  # nothing was recorded
    with pytest.raises(InputError, match="query: found int"):
        known.recall(3)


def test_r1_a_question_that_is_quoted_stands_behind_what_answers_it():
    rest = " ".join(f"Section {n} says how the manual is printed and bound." for n in range(100))
    with Memory.open("memory://") as memory:
        quoted = memory.add(f"{rest} Try it: unabridged recall 'Who leads the tunnel project?' and see. {rest}")
        answer = memory.add("Mia Keller leads the tunnel project since the spring of 2024.")
        found = memory.recall("Who leads the tunnel project?")
        assert found[0].id == answer.id
        assert all(each.score < 1.0 for each in found if each.id == quoted.id)
        stated = memory.recall("Mia Keller leads the tunnel project since the spring of 2024.")
        assert (stated[0].id, stated[0].score) == (answer.id, 1.0)


def test_r1_kinds_of_artifacts_are_a_closed_set(known):
    for ask in (lambda kind: known.recall("Alice", kind=kind), lambda kind: known.artifacts.list(kind=kind)):
        with pytest.raises(InputError, match="kind: found 'zzz', expected one of knowledge, memory, web_search"):
            ask("zzz")
        with pytest.raises(InputError, match="kind: found 3"):
            ask(3)
        assert ask(" Knowledge ")


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE", 'a "quoted', "x" * 20_000, "né\u202e\x00", "word " * 5000, "\ud800 Alice"]
)
def test_awkward_queries_are_data(known, query):
    known.recall(query)


def test_r7_a_second_pass_goes_into_the_documents_found(hashing):
    parts = [
        "The pump failed on Tuesday because a seal was worn.",
        "It was replaced on Friday by Dana.",
        "Cost: 40 euros.",
    ]
    filler = [f"Minute {n}: nothing else was discussed in the meeting about tulips." for n in range(12)]
    text = "\n\n".join([parts[0], *filler[:6], parts[1], *filler[6:], parts[2]])
    with Memory.open("memory://", embedder=hashing) as memory:
        document = memory.add(text, chunks=split(text, max_tokens=32), source="minutes.md")
        memory.add_many([f"Another pump of house {n} failed on a day." for n in range(80)])
        query = "pump failed Tuesday seal worn"
        once = [hit.text for hit in memory.recall(query, kinds="passage")]
        twice = memory.recall(query, kinds="passage", passes=2)
        assert any("Dana" in hit.text for hit in twice)
        assert not any("Dana" in text for text in once)
        assert twice[0].evidence[0].document_id == document.id
        first = twice[0]
        assert "document" in {lane.lane for lane in first.lanes}
        whole = memory.recall(query, kinds=("document", "passage"), passes=2)
        assert document.id in [hit.id for hit in whole if hit.kind == "document"]


def test_l16_documents_by_their_chunks_beside_their_pooled_vector(hashing):
    with Memory.open("memory://", embedder=hashing) as memory:
        for n in range(6):
            text = "\n\n".join(f"Chapter {n}.{k} speaks of crops, rain and roads in region {n}." for k in range(8))
            if n == 4:
                text += "\n\nThe zeppelin moored at the tower."
            memory.add(text, chunks=split(text, max_tokens=32))
        first = memory.recall("zeppelin moored at the tower", kinds="document")[0]
        assert "zeppelin" in first.text
        lanes = {lane.lane: lane.rank for lane in first.lanes}
        assert lanes["chunks"] == 1
        assert "vector" in lanes


def test_diversity_prefers_what_says_something_else(hashing):
    with Memory.open("memory://", embedder=hashing) as memory:
        memory.add_many([f"The garden needs water in July {'!' * n}" for n in range(1, 5)])
        other = memory.add("Water the garden by hand: the hose leaks.")
        plain = [hit.id for hit in memory.recall("garden water July", limit=2)]
        varied = [hit.id for hit in memory.recall("garden water July", limit=2, diversity=0.7)]
        assert other.id not in plain
        assert other.id in varied
        assert varied[0] == plain[0]


def test_a_cross_encoder_reorders_the_head_and_its_failure_is_said(known):
    def prefers_rivers(_, texts):
        return [float("river" in text) for text in texts]

    found = known.recall("Where does Alice work at Acme?", rerank=prefers_rivers)
    assert "river" in found[0].text
    assert found[0].lanes[-1].lane == "rerank"

    def fails(query, texts):
        raise ProviderError("down", Fault("timeout"))

    broken = known.recall("Where does Alice work at Acme?", rerank=fails)
    assert broken.degraded[-1].lane == "rerank"
    assert [hit.id for hit in broken] == [hit.id for hit in known.recall("Where does Alice work at Acme?")]


def test_a_lane_that_the_store_fails_is_said_and_the_others_answer(known, monkeypatch):
    from unabridged.errors import StoreError

    def broken(_):
        raise StoreError("searching by text: an index is damaged")

    monkeypatch.setattr(recalling, "text_lane", broken)
    found = known.recall("Where does Alice work?")
    assert [each.lane for each in found.degraded] == ["text"]
    assert found.hits


def test_a_state_that_was_cleaned_up_is_asked_again(known, monkeypatch):
    from unabridged.memory.trouble import Gone

    calls = []
    lane = recalling.text_lane

    def once(asking):
        calls.append(1)
        if len(calls) == 1:
            raise Gone("reading: no longer exists")
        return lane(asking)

    monkeypatch.setattr(recalling, "text_lane", once)
    assert known.recall("Where does Alice work?").degraded == ()
    assert len(calls) == 2


def test_a_pinned_reader_and_a_snapshot_recall_their_own_state(place, hashing):
    with Memory.open(place, embedder=hashing) as memory:
        memory.add("The mill was built in 1820.")
        memory.snapshot("then")
        with memory.pinned() as reader:
            memory.add("The mill was restored in 1990.")
            assert len(reader.recall("mill", lanes="text")) == 1
        assert len(memory.recall("mill")) == 2
    with Memory.open(place, embedder=hashing, snapshot="then") as then:
        assert len(then.recall("mill")) == 1


def test_summaries_and_searches_are_grounded_in_what_they_were_made_from(hashing):
    with Memory.open("memory://", embedder=hashing) as memory:
        text = "First, Dana repaired the roof of the barn. Then the storm came."
        with memory.write() as tx:
            note = tx.artifact(text)
            part = tx.chunk(note, split(text)[0])
            tx.summary(part, "Dana repaired a barn before a storm.")
            tx.web_search(note, "Barns are farm buildings for hay.", query="barn")
        summary = memory.recall("Dana repaired barn", kinds="summary")[0]
        assert summary.evidence[0].artifact_id == part.id
        assert summary.evidence[0].quote == text
        web = memory.recall("farm buildings for hay")[0]
        assert (web.kind, web.evidence[0].artifact_role) == ("passage", "web_search")
        assert web.evidence[0].document_start is None
        pack = memory.recall("Dana repaired barn farm buildings hay").pack
        for each in pack.citations:
            assert memory.slice(each.artifact_id, each.start, each.end) == each.quote


def test_async_callers_ask_the_same(known):
    import asyncio

    from unabridged.memory.aio import AsyncMemory

    async def ask():
        memory = AsyncMemory(known)
        found = await memory.recall("Where does Alice work?")
        answered = await memory.query("Where does Alice work?")
        return found, answered, await memory.timeline("Alice")

    found, answered, timeline = asyncio.run(ask())
    assert [hit.id for hit in found] == [hit.id for hit in known.recall("Where does Alice work?")]
    assert answered.recalled.hits == found.hits
    assert timeline.periods[0].edge.fact == "Alice works at Acme"
