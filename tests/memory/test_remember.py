"""From a text to sourced facts: A12-A27 and the cases 34, 35, 38, 39, 45, end to end over a real chat server."""

import asyncio
import datetime as dt
import threading

import numpy as np
import pytest

from unabridged.embedding.embedder import Embedder
from unabridged.errors import (
    Cancelled,
    ChatError,
    ConfigError,
    Conflict,
    EmptyText,
    InputError,
    ModelMismatch,
    ProviderError,
    RememberFailed,
    StoreError,
)
from unabridged.memory import AsyncMemory, Memory
from unabridged.providers.registry import open_provider
from unabridged.testing import ChatServer, FakeSearch, LoopbackProvider

from .remembering import LONG, SMALL, asking, refuse, stages


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def memory(place, server, embedder):
    with asking(place, server=server, embedder=embedder) as (opened, _):
        yield opened
        opened.verify().raise_if_broken()


def _links(memory, type_):
    return sorted((link.from_id, link.to_id) for link in memory.links.list(type=type_))


@pytest.mark.parametrize("kind", ["folder", "memory", "lease"])
def test_a26_through_text(kind, place, server, embedder):
    uri = "memory://" if kind == "memory" else place
    with asking(uri, server=server, embedder=embedder, lock="lease" if kind == "lease" else "auto") as (memory, _):
        one, two = (memory.remember("Alice works at Acme") for _ in range(2))
        alice, acme = memory.entities.find("Alice", "person"), memory.entities.find("Acme", "organization")
        (edge,) = memory.edges.list().items
        assert one.artifact_id != two.artifact_id
        assert edge.artifact_id == one.artifact_id
        both = sorted((entity.id, id_) for entity in (alice, acme) for id_ in (one.artifact_id, two.artifact_id))
        assert _links(memory, "entity_artifact") == both
        assert _links(memory, "edge_artifact") == sorted((edge.id, id_) for id_ in (one.artifact_id, two.artifact_id))
        memory.delete(one.artifact_id)
        kept = memory.edges.get(edge.id)
        assert kept.artifact_id is None
        assert (kept.created_at, kept.valid_at, kept.invalid_at) == (edge.created_at, edge.valid_at, None)
        assert _links(memory, "edge_artifact") == [(edge.id, two.artifact_id)]
        memory.delete(two.artifact_id)
        assert (memory.links.list(), memory.entities.count(), memory.edges.count()) == ([], 0, 0)
        memory.verify().raise_if_broken()


def test_a23_response_of_a_short_text(memory):
    made = memory.remember("Alice works at Acme.", kind=" Memory ", session_id="s1", valid_at="2024-05-01")
    found = made.to_dict()
    assert set(found) == {
        "artifact_id", "kind", "session_id", "valid_at", "created_at", "entities", "edges", "invalidated_edges",
        "embedded_entities", "embedded_edges", "embedded_chunks", "embedded_summaries",
    }  # fmt: skip
    assert (found["kind"], found["session_id"], found["valid_at"]) == ("memory", "s1", "2024-05-01T00:00:00+00:00")
    assert [(e["name"], e["type"]) for e in found["entities"]] == [("Alice", "person"), ("Acme", "organization")]
    assert [e["fact"] for e in found["edges"]] == ["Alice works at Acme"]
    assert (found["embedded_entities"], found["embedded_edges"], found["embedded_chunks"]) == (2, 1, 0)
    artifact = memory.artifacts.get(made.artifact_id)
    assert artifact.embedder is not None  # A15: also a text that is not chunked has its vector
    assert artifact.processed_at is not None
    assert memory.evidence(made.edges[0])[0].quote == "Alice works at Acme."


def test_a23_response_and_a24_trajectory_of_a_long_text(memory, server):
    made = memory.remember(LONG, chunking=SMALL, trajectory=True)
    n = len(made.chunks)
    assert n == 4
    assert stages(server) == {"extract": n, "summarize": n, "compare": 0}
    assert len(memory.embedder.calls) == n  # A14: exactly one call a chunk
    assert (made.embedded_chunks, made.embedded_summaries) == (n, n)
    assert (made.embedded_entities, made.embedded_edges) == (36, 24)
    document, chunks = memory.artifacts.get(made.artifact_id), memory.artifacts.chunks(made.artifact_id)
    for told, chunk in zip(made.chunks, chunks, strict=True):
        assert (told.artifact_id, told.index, told.tokens) == (chunk.id, chunk.chunk_index, chunk.tokens)
        assert LONG.encode()[told.start_offset : told.end_offset].decode() == chunk.text
        (summary,) = memory.artifacts.children(chunk)
        assert (summary.id, summary.text, summary.kind) == (
            told.summary.artifact_id,
            told.summary.text,
            "chunk_summary",
        )
        assert summary.inference_id == told.summary.inference_id
        run = memory.inferences.get(summary.inference_id)
        assert (run.stage, run.reasoning, run.artifact_id) == ("summarize_chunk", "none", chunk.id)
        assert memory.models.get(run.model_id).name == told.summary.model
        same = (chunk.kind, chunk.session_id, chunk.valid_at, chunk.created_at)
        assert same == (document.kind, document.session_id, document.valid_at, document.created_at)
        assert chunk.splitter == "packed-2:72:0:estimate"
    of_chunks = {each.artifact_id for each in made.chunks}
    assert {to for _, to in _links(memory, "edge_artifact")} == of_chunks  # A6: links go to the chunks
    assert sum(each.edges for each in made.chunks) >= len(made.edges) == 24
    steps = [step.message for step in made.trajectory]
    label = [f" (chunk {at} of {n})" for at in range(1, n + 1)]
    read = [f"{step}{each}" for each in label for step in ("extract_graph", "summarize_chunk")]
    stored = [f"{step}{each}" for each in label for step in ("candidates", "embed", "store_artifact")]
    assert steps == ["chunk_text", *read, "store_parent_artifact", *stored]


def test_a15_a_long_document_has_the_vector_of_its_chunks_by_their_own_tokens(place, server):
    with Embedder("hashing", cache=False) as embedder, asking(place, server=server, embedder=embedder) as (memory, _):
        made = memory.remember(LONG, chunking={"size": 60, "overlap_percent": 50})
        vectors = memory.artifacts.vectors([made.artifact_id, *(each.artifact_id for each in made.chunks)])
        whole = vectors.pop(made.artifact_id)
        weights = [each.tokens - each.overlap_tokens for each in made.chunks]
        mean = np.average(np.stack([vectors[each.artifact_id] for each in made.chunks]), axis=0, weights=weights)
        assert np.allclose(whole, mean / np.linalg.norm(mean), atol=1e-6)
        again = memory.remember(LONG, chunking=SMALL, average="summaries")  # L11
        ids = [each.summary.artifact_id for each in again.chunks]
        rows = memory.artifacts.vectors(ids)
        weights = [max(each.tokens - each.overlap_tokens, 1) for each in again.chunks]
        mean = np.average(np.stack([rows[id_] for id_ in ids]), axis=0, weights=weights)
        whole = memory.artifacts.vectors([again.artifact_id])[again.artifact_id]
        assert np.allclose(whole, mean / np.linalg.norm(mean), atol=1e-6)


def test_a14_results_do_not_depend_on_how_many_calls_are_in_flight(tmp_path, embedder):
    found = []
    for at, concurrency in enumerate((1, 8)):
        with asking(tmp_path / str(at), embedder=embedder, concurrency=concurrency) as (memory, server):
            made = memory.remember(LONG + "\n\nPerson1 moved to City7.", chunking=SMALL)
            found.append(
                (
                    [(e.name, e.type) for e in made.entities],
                    [(e.fact, e.invalid_at is None) for e in made.edges],
                    [(c.start_offset, c.entities, c.edges, c.summary.text) for c in made.chunks],
                    stages(server),
                )
            )
    assert found[0] == found[1]


def test_a14_one_embeddings_request_a_chunk_over_http(place, server):
    with (
        LoopbackProvider("openai") as loopback,
        Embedder(open_provider("openai", model="m", api_key="k", base_url=loopback.url), cache=False) as embedder,
        asking(place, server=server, embedder=embedder) as (memory, _),
    ):
        made = memory.remember(LONG, chunking=SMALL)
        assert loopback.total == len(made.chunks)
        memory.remember("Alice works at Acme.")
        assert loopback.total == len(made.chunks) + 1


def test_case_34_the_same_name_four_times_is_one_entity(memory):
    for _ in range(4):
        memory.remember("Alice works at DGIA.")
    assert [entity.name for entity in memory.entities.list().items].count("DGIA") == 1
    assert memory.edges.count() == 1


def test_case_35_facts_that_go_together_stay_and_a_move_closes_the_old_home(memory):
    memory.remember("Pia administers Acme.")
    memory.remember("Pia manages Acme.")
    assert memory.edges.count(include_history=False) == 2
    memory.remember("Pia lives in Berlin.", valid_at="2020-01-01")
    made = memory.remember("Pia moved to Paris.", valid_at="2023-06-01")
    (closed,) = made.invalidated_edges
    assert (closed.fact, closed.invalid_at) == ("Pia lives in Berlin", dt.datetime(2023, 6, 1, tzinfo=dt.UTC))
    now = {edge.fact for edge in memory.edges.list().items}
    assert now == {"Pia administers Acme", "Pia manages Acme", "Pia moved to Paris"}
    assert memory.edges.contradictions(closed)[0].to_id == made.artifact_id


def test_a9_a_backdated_fact_closes_itself_not_the_newer_one(memory):
    memory.remember("Pia lives in Paris.", valid_at="2023-06-01")
    made = memory.remember("Pia lives in Berlin.", valid_at="2020-01-01")
    (closed,) = made.invalidated_edges
    assert closed.fact == "Pia lives in Berlin"
    assert closed.invalid_at == dt.datetime(2023, 6, 1, tzinfo=dt.UTC)
    assert [edge.fact for edge in memory.edges.list().items] == ["Pia lives in Paris"]
    assert made.edges[0].invalid_at == closed.invalid_at


def test_a3_what_supersedes_nothing_closes_nothing(memory):
    memory.remember("Pia lives in Berlin.")
    made = memory.remember("Pia moved to Paris.", supersedes=False)
    assert made.invalidated_edges == ()
    assert memory.edges.count(include_history=False) == 2


def test_case_35_active_and_passive_and_amounts_are_one_fact_without_a_call(memory, server):
    memory.remember("Acme acquired Beta for $1M.")
    made = memory.remember("Beta was acquired by Acme for $1,000,000.")
    assert memory.edges.count() == 1
    assert stages(server)["compare"] == 0
    assert sorted(to for _, to in _links(memory, "edge_artifact"))[1] == made.artifact_id


def test_a12_a_chunk_is_resolved_against_the_chunks_before_it(memory, server):
    text = "Pia lives in Berlin.\n\nOtto lives in Rome.\n\nPia moved to Paris."
    made = memory.remember(text, chunking={"size": 8, "overlap_percent": 0})
    assert len(made.chunks) == 3
    assert [edge.fact for edge in made.invalidated_edges] == ["Pia lives in Berlin"]
    assert stages(server)["compare"] == 1
    again = memory.remember(text, chunking={"size": 8, "overlap_percent": 0})
    assert len(again.edges) == 3
    assert memory.edges.count() >= 3


def test_a8_a_fact_in_two_overlapping_chunks_is_one_edge_with_two_links(memory):
    text = "Alice works at Acme. Bob works at Acme. Carol works at Acme. Dora works at Acme."
    made = memory.remember(text, chunking={"size": 18, "overlap_percent": 50})
    shared = [edge for edge in made.edges if len(memory.evidence(edge)) > 1]
    assert shared
    assert sum(each.edges for each in made.chunks) > len(made.edges) == memory.edges.count() == 4


def test_case_38_an_untrusted_comparison_merges_and_closes_nothing(memory, server):
    memory.remember("Pia lives in Berlin.")
    server.rule("New facts:", {"decisions": [{"fact": 1, "verdict": "duplicate", "known": [7]}]})
    made = memory.remember("Pia moved to Paris.")
    assert made.invalidated_edges == ()
    assert memory.edges.count(include_history=False) == 2
    assert "kept as new" in made.notes[0]


@pytest.mark.parametrize("trouble", ["unreadable", "cut off", "500"])
def test_case_38_and_a13_a_failed_extraction_stores_nothing_but_its_account(memory, server, trouble):
    if trouble == "500":
        refuse(server, "Person7")
    else:
        server.rule("<text>.*Person7", "no JSON at all", finish="length" if trouble == "cut off" else None)
    with pytest.raises((ChatError, ProviderError)) as caught:
        memory.remember(LONG, chunking=SMALL)
    assert "nothing was stored" in caught.value.__notes__[-1]
    assert memory.artifacts.counts().documents == 0
    assert memory.embedder.calls == []
    kept = memory.inferences.list()
    assert any(each.status != "ok" for each in kept)
    assert all("Person" not in str(each.detail) for each in kept)


def test_a13_a_chunk_that_fails_later_leaves_the_ones_before_it_whole(memory, server):
    memory.remember("Person7 lives in Oslo.")
    refuse(server, "New facts:")
    with pytest.raises(RememberFailed) as caught:
        memory.remember(LONG, chunking=SMALL)
    failed = caught.value
    assert (failed.chunk, failed.chunks, failed.stored) == (2, 4, 2)
    assert isinstance(failed.__cause__, ProviderError)
    assert "chunk 3 of 4" in str(failed)
    assert len(memory.artifacts.chunks(failed.artifact_id)) == 2
    assert memory.artifacts.counts().summaries == 2
    memory.verify().raise_if_broken()


def test_a13_with_a_key_it_goes_on_there_and_nothing_is_paid_twice(memory, server):
    memory.remember("Person7 lives in Oslo.")
    lift = refuse(server, "New facts:")
    given = {"chunking": SMALL, "idempotency_key": "k", "session_id": "s"}
    with pytest.raises(RememberFailed):
        memory.remember(LONG, **given)
    lift()
    embeds = len(memory.embedder.calls)
    made = memory.remember(LONG, **given)
    assert stages(server) == {"extract": 5, "summarize": 4, "compare": 1}
    assert len(made.chunks) == 4
    assert len(made.edges) == 24
    assert (made.embedded_chunks, made.embedded_summaries, made.embedded_edges) == (4, 4, 24)
    assert made.embedded_entities == 35
    assert memory.artifacts.counts().documents == 2
    assert len(memory.embedder.calls) <= embeds + 2
    assert all(each.summary.text for each in made.chunks)


def test_a13_a_finished_request_is_replayed(memory, server):
    given = {"chunking": SMALL, "idempotency_key": "once", "trajectory": True}
    one, asked = memory.remember(LONG, **given), server.total
    two = memory.remember(LONG, **given)
    assert two.replayed
    assert server.total == asked
    assert two.to_dict() == one.to_dict()
    assert two.edges == one.edges
    with pytest.raises(InputError, match="idempotency_key"):
        memory.remember("Another text.", **given)
    with pytest.raises(InputError, match="idempotency_key"):
        memory.remember(LONG, **{**given, "kind": "memory"})


def test_a13_one_key_is_worked_on_once_at_a_time(memory, server):
    server.rule("<text>", lambda seen: held.wait(20) and {"entities": [], "edges": []}, times=0)
    held, entered, outcome = threading.Event(), threading.Event(), []

    def slow(event):
        entered.set()
        held.wait(20)

    thread = threading.Thread(
        target=lambda: outcome.append(memory.remember("Ada works at Acme.", idempotency_key="k", progress=slow))
    )
    thread.start()
    try:
        assert entered.wait(20)
        with pytest.raises(Conflict, match="under way"):
            memory.remember("Ada works at Acme.", idempotency_key="k")
    finally:
        held.set()
        thread.join()
    assert memory.remember("Ada works at Acme.", idempotency_key="k").artifact_id == outcome[0].artifact_id


def test_a11_sessions_of_known_facts_too(memory):
    memory.remember("Alice works at Acme.", session_id="s1")
    memory.remember("Alice works at Acme.", session_id="s2")
    assert {to for _, to in _links(memory, "edge_session")} == {"s1", "s2"}
    assert len(_links(memory, "entity_session")) == 4


def test_case_45_what_is_given_comes_back_to_the_microsecond(memory):
    at = dt.datetime(2021, 3, 4, 5, 6, 7, 891011, tzinfo=dt.UTC)
    made = memory.remember(
        LONG, chunking=SMALL, reference_time=at, session_id="s9", metadata={"user": "ann", "n": 1.5}, source="u://x"
    )
    for each in (memory.artifacts.get(made.artifact_id), *memory.artifacts.chunks(made.artifact_id)):
        assert (each.valid_at, each.session_id, each.metadata, each.source) == (
            at,
            "s9",
            {"user": "ann", "n": 1.5},
            "u://x",
        )
    assert {edge.valid_at for edge in made.edges} == {at}
    assert len(memory.artifacts.list(metadata={"user": "ann"}, limit=100).items) == 9


def test_case_39_deleting_many_documents_asks_nobody_and_commits_once(memory, server):
    made = [memory.remember(f"Person{n} works at Acme.") for n in range(12)]
    asked, seq = server.total, memory.store.view().head.seq
    memory.delete([each.artifact_id for each in made])
    assert server.total == asked
    assert memory.store.view().head.seq <= seq + 2
    assert memory.edges.count() == 0


def test_a16_a27_what_is_wrong_is_refused_before_anything_is_stored(memory, server):
    wrong = [
        ({"kind": "web_search"}, InputError, "kind"),
        ({"kind": "other"}, InputError, "kind"),
        ({"chunking": {"size": 0}}, ConfigError, "chunking.size"),
        ({"chunking": {"sise": 9}}, ConfigError, "chunking.sise"),
        ({"chunking": {"overlap_percent": 91}}, ConfigError, "overlap_percent"),
        ({"chunking": {"tokenizer": object()}}, ConfigError, "tokenizer"),
        ({"chunking": 7}, ConfigError, "chunking"),
        ({"models": {"extract": "x"}}, InputError, "models.extract"),
        ({"models": {"extract_graph": ""}}, InputError, "models.extract_graph"),
        ({"reasoning": {"extract_graph": "much"}}, InputError, "reasoning.extract_graph"),
        ({"on_summary_failure": "x"}, InputError, "on_summary_failure"),
        ({"average": "x"}, InputError, "average"),
        ({"timeseries": {"points": []}}, InputError, "timeseries"),
        ({"valid_at": "yesterday"}, InputError, "valid_at"),
        ({"web_search": -1}, ConfigError, "web_search"),
        ({"timeseries": {"name": "n", "points": [("2024-01-01", "many")]}}, InputError, "finite number"),
        ({"timeseries": {"name": "n", "points": [7]}}, InputError, "timeseries.points"),
        ({"timeseries": {"name": "n", "points": [{"value": 1, "at": 2}]}}, InputError, "timeseries.points"),
        ({"image": b"no image"}, InputError, "image"),
        ({"image": "/nowhere/image.png"}, InputError, "image.png"),
        ({"image": {"data": b"GIF89a", "captoin": "x"}}, InputError, "image.captoin"),
        ({"image": {"data": b"GIF89a", "caption": " "}}, InputError, "image.caption"),
    ]
    for given, error, words in wrong:
        with pytest.raises(error, match=words):
            memory.remember("Alice works at Acme.", **given)
    with pytest.raises(TypeError, match="sesion_id"):
        memory.remember("Alice works at Acme.", sesion_id="s")
    with pytest.raises(EmptyText, match=r"^text: is empty or blank; give it at least one character that shows$"):
        memory.remember(" \n ")
    memory.max_text_bytes = 100
    with pytest.raises(InputError, match="max_text_bytes"):
        memory.remember("x" * 101)
    assert server.total == 0
    assert memory.artifacts.counts().documents == 0


def test_c1_c8_chunking_is_by_the_tokens_of_the_tokenizer_given(memory):
    class Words:
        name = "words"

        def count(self, text):
            return len(text.split())

    assert memory.remember("Ann knows Bob. " * 10, chunking={"size": 30, "tokenizer": Words()}).chunks is None
    made = memory.remember("Ann knows Bob. " * 10, chunking={"size": 12, "overlap_percent": 25, "tokenizer": Words()})
    assert made.chunks[0].tokens == 12
    assert memory.artifacts.get(made.chunks[0].artifact_id).splitter == "packed-2:12:3:words"
    assert memory.remember("Ann knows Bob. " * 400, chunking=False, extract=False).chunks is None
    assert memory.remember("Ann knows Bob. " * 20, chunking={"size": 40, "method": "sentence"}).chunks


def test_a18_models_and_reasoning_are_a_stages_and_a_requests(memory, server):
    memory.remember(LONG, chunking=SMALL, models={"summarize_chunk": "big"}, reasoning={"summarize_chunk": "low"})
    by_stage = {each.stage: each for each in memory.inferences.list()}
    assert memory.models.get(by_stage["summarize_chunk"].model_id).name == "big"
    assert by_stage["summarize_chunk"].reasoning == "low"
    assert memory.models.get(by_stage["extract_graph"].model_id).name == "tiny"
    assert {each.tokens_in is not None for each in memory.inferences.list()} == {True}


@pytest.mark.parametrize("policy", ["fail", "keep"])
def test_a_failed_summary_fails_the_document_only_where_the_policy_says_so(memory, server, policy):
    refuse(server, r"summar.*Person7")
    if policy == "fail":
        with pytest.raises(ProviderError):
            memory.remember(LONG, chunking=SMALL)
        assert memory.artifacts.counts().documents == 0
        return
    made = memory.remember(LONG, chunking=SMALL, on_summary_failure="keep")
    assert [each.summary is None for each in made.chunks] == [False, False, True, False]
    assert "no summary (chunk 3 of 4)" in made.notes[0]
    assert made.embedded_summaries == 3
    assert len(made.edges) == 24


def test_without_summaries_or_without_a_graph(memory, server):
    made = memory.remember(LONG, chunking=SMALL, summarize=False)
    assert all(each.summary is None for each in made.chunks)
    assert stages(server)["summarize"] == 0
    asked, embeds = server.total, len(memory.embedder.calls)
    plain = memory.remember(LONG, chunking=SMALL, extract=False)
    assert server.total == asked
    assert len(memory.embedder.calls) == embeds + 1
    assert plain.edges == ()
    assert plain.embedded_chunks == 4
    assert plain.notes == ("no graph was made: extraction was switched off",)
    assert memory.artifacts.get(plain.artifact_id).embedder is not None
    assert memory.artifacts.list(pending=True).items == ()


def test_offline_the_text_is_stored_embedded_and_its_declared_facts_read(place, embedder):
    text = "---\ntitle: Alice\n---\n\n- works at: [[Acme]]\n\n" + "Filler text. " * 20 + "\n\n- knows: [[Bob]]\n"
    with Memory.open(place, embedder=embedder) as memory:
        made = memory.remember(text, chunking={"size": 30})
        assert sorted(edge.fact for edge in made.edges) == ["Alice knows Bob", "Alice works at Acme"]
        assert "no chat model" in made.notes[0]
        assert made.embedded_chunks == len(made.chunks) > 1
        told = {edge.fact: memory.evidence(edge)[0].quote for edge in made.edges}
        assert "[[Bob]]" in told["Alice knows Bob"]
        assert memory.artifacts.list(pending=True).items  # a graph can come later
        memory.verify().raise_if_broken()


def test_without_an_embedder_everything_is_stored_and_vectors_filled_in_later(place, server, embedder):
    with asking(place, server=server) as (memory, _):
        made = memory.remember(LONG, chunking=SMALL)
        assert (made.embedded_chunks, made.embedded_edges) == (0, 0)
        memory.embedder = embedder
        assert memory.embed_missing() == 1 + 4 + 4 + 36 + 24
        memory.verify().raise_if_broken()


def test_a_dry_run_says_what_it_would_take_and_does_nothing(memory, server):
    made = memory.remember(LONG, chunking=SMALL, dry_run=True)
    found = made.estimate
    assert (found["chunks"], found["embedding_requests"]) == (4, 4)
    assert found["calls"] == {"extract_graph": 4, "summarize_chunk": 4, "resolve_edges": 4}
    assert found["tokens_in"] > found["tokens"] > 200
    assert found["cost_usd"] is None
    assert server.total == 0
    assert memory.artifacts.counts().documents == 0


def test_progress_tells_each_step_and_cancel_stops_between_two(memory, server):
    seen, stop = [], threading.Event()

    def told(event):
        seen.append((event.step, event.done, event.total))
        if event.step == "store" and event.done == 2:
            stop.set()

    given = {"chunking": SMALL, "idempotency_key": "k"}
    with pytest.raises(Cancelled):
        memory.remember(LONG, progress=told, cancel=stop, **given)
    assert ("chunk", 4, 4) in seen
    assert ("extract", 4, 4) in seen
    assert ("summarize", 4, 4) in seen
    assert ("store", 2, 4) in seen
    assert memory.artifacts.counts().chunks == 2
    assert len(memory.remember(LONG, **given).chunks) == 4
    assert stages(server) == {"extract": 4, "summarize": 4, "compare": 0}
    stop.set()
    with pytest.raises(Cancelled):
        memory.remember("Another text.", cancel=stop)


async def test_async_callers_and_a_cancelled_task(place, server, embedder):
    with asking(place, server=server, embedder=embedder) as (opened, _):
        memory = AsyncMemory(opened)
        made = await memory.remember("Alice works at Acme.")
        assert [edge.fact for edge in made.edges] == ["Alice works at Acme"]
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(
            opened.aremember(LONG, chunking=SMALL, progress=lambda _: loop.call_soon_threadsafe(begun.set))
        )
        await asyncio.wait_for(begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        opened.verify().raise_if_broken()
        assert (await memory.work_pending()).done == 0


def test_a19_web_searches_hang_from_where_their_entity_came(place, server, embedder):
    search = FakeSearch({"Person0": "Person0 works at Initech.", "City": "City1 is near Oslo."})
    with asking(place, server=server, embedder=embedder, websearch=search) as (memory, _):
        made = memory.remember(LONG, chunking=SMALL, web_search=2)
        (found,) = made.derived
        artifact = memory.artifacts.get(found.artifact_id)
        assert (artifact.kind, artifact.query) == ("web_search", "Person0 latest news")
        assert artifact.parent_id == made.chunks[0].artifact_id
        assert artifact.chunk_index is None
        assert search.queries == ["Person0 latest news", "Person1 latest news"]
        assert any(edge.fact == "Person0 works at Initech" for edge in memory.contribution(artifact, whole=False).edges)
        assert len(memory.embedder.calls) == 5  # A14: one for each derived artifact
        memory.delete(made.artifact_id)
        assert memory.artifacts.counts().web_searches == 0
        memory.verify().raise_if_broken()


def test_a19_a_search_that_fails_or_is_not_there_is_noted(place, server, embedder):
    search = FakeSearch(error=ProviderError("down", fault=None))
    with asking(place, server=server, embedder=embedder, websearch=search) as (memory, _):
        made = memory.remember("Alice works at Acme.", web_search=True)
        assert made.derived == ()
        assert "web search failed" in made.notes[0]
    with asking(place, server=server, embedder=embedder) as (memory, _):
        assert "no web search" in memory.remember("Alice works at Acme.", web_search=True).notes[0]


def test_a19_what_fails_after_a_short_text_is_stored_says_so_and_goes_on(place, server, embedder):
    search = FakeSearch({"Bob": "Alice lives in Oslo.", "Alice": "Alice lives in Oslo."})
    with asking(place, server=server, embedder=embedder, websearch=search) as (memory, _):
        memory.remember("Alice lives in Rome.")
        lift = refuse(server, "New facts:")
        given = {"web_search": 1, "idempotency_key": "k"}
        with pytest.raises(RememberFailed, match=r"at a web_search .* its text is stored"):
            memory.remember("Bob knows Alice.", **given)
        lift()
        made = memory.remember("Bob knows Alice.", **given)
        assert len(search.queries) == 1
        assert [edge.fact for edge in made.invalidated_edges] == ["Alice lives in Rome"]
        assert len(made.derived) == 1
        memory.verify().raise_if_broken()


def test_a20_series_are_stored_once_and_observed(memory):
    series = {
        "name": "Sales",
        "unit": "EUR",
        "points": [("2024-01-01", 1), {"time": "2024-01-02", "value": 5}, ("2023-01-01", 9)],
        "window": "7d",
        "observations": True,
    }
    given = {"timeseries": [series], "idempotency_key": "k", "session_id": "s"}
    made = memory.remember("Alice works at Acme.", **given)
    (found,) = made.derived
    artifact = memory.artifacts.get(found.artifact_id)
    assert (artifact.role, artifact.series_id, artifact.parent_id) == ("observation", made.series[0], made.artifact_id)
    assert artifact.text.startswith(
        "Sales has 2 points from 2024-01-01T00:00:00Z to 2024-01-02T00:00:00Z. It rose by 4 EUR"
    )
    assert artifact.query == "Sales from 2024-01-01T00:00:00Z to 2024-01-02T00:00:00Z"
    assert memory.series.get(made.series[0]).artifact_id == made.artifact_id
    assert memory.remember("Alice works at Acme.", **given).replayed
    assert len(memory.series.points(made.series[0])) == 3
    for window, error in (("a while", InputError), (None, None), (86_400, None), (dt.timedelta(days=1), None)):
        again = {"timeseries": {**series, "window": window, "points": []}}
        if error:
            with pytest.raises(error, match="window"):
                memory.remember("Bob works at Acme.", **again)
        else:
            assert memory.remember("Bob works at Acme.", **again).derived


def test_a22_k8_an_image_is_kept_with_its_text_and_linked_to_whom_it_names(memory):
    image = b"GIF89a" + bytes(40)
    given = {"image": {"data": image, "caption": "Alice at the office of Acme"}, "idempotency_key": "k"}
    made = memory.remember("Alice works at Acme. Bob works at Acme.", **given)
    kept = memory.images.get(made.image_id)
    assert memory.images.read(kept) == image
    assert kept.artifact_id == made.artifact_id
    assert kept.embedder is not None
    assert kept.provenance["role"] == "supplemental"
    assert kept.provenance["representation"] == "caption_embedding"
    shown = {memory.entities.get(link.from_id).name for link in memory.links.list(type="entity_image")}
    assert shown == {"Alice", "Acme"}
    with pytest.raises(InputError, match="revision"):
        memory.remember("Carol works at Acme.", image={"data": image, "revision": "of another text"})
    with pytest.raises(InputError, match="image"):
        memory.remember("Carol works at Acme.", image=7)
    memory.embedder.embed_image = lambda raw: np.ones(16, np.float32)
    direct = memory.remember("Carol works at Acme.", image=image)
    assert memory.images.get(direct.image_id).provenance["representation"] == "direct_embedding"


def test_facts_that_need_two_distant_chunks_rest_on_both(memory, server):
    def link(seen):
        names = {
            line.partition(". ")[2]: int(line.partition(". ")[0])
            for line in seen.asked.split("Entities:\n")[1].splitlines()
        }
        one, two = names["Person0 (person)"], names["Person11 (person)"]
        good = {
            "source": one,
            "relation": "preceded",
            "target": two,
            "fact": "Person0 preceded Person11",
            "parts": [1, 4],
        }
        return {
            "facts": [
                good,
                {**good, "target": 999},
                {**good, "parts": [1]},
                {**good, "target": names["Company0 (organization)"]},
            ]
        }

    server.rule("Parts:", link)
    made = memory.remember(LONG, chunking=SMALL, connect=True)
    (edge,) = [edge for edge in memory.edges.list(limit=100).items if edge.relation == "preceded"]
    grounds = {evidence.artifact.id for evidence in memory.evidence(edge)}
    assert grounds == {made.chunks[0].artifact_id, made.chunks[3].artifact_id}
    refuse(server, "Parts:")
    again = memory.remember(LONG, chunking=SMALL, connect=True)
    assert "distant chunks" in again.notes[0]


def test_pronouns_are_told_the_names_of_earlier_chunks(memory, server):
    memory.remember("We met Grace Hopper there.\n\nShe works at Acme.", chunking={"size": 8, "overlap_percent": 0})
    second = next(each for each in server.requests if "She works" in each.asked and each.schema)
    assert "Grace Hopper" in second.prompt.replace("She works at Acme", "")


def test_a18_the_account_that_cannot_be_written_does_not_fail_the_request(memory, monkeypatch):
    def refuse(_rows):
        raise StoreError("no room")

    monkeypatch.setattr(memory.inferences, "append", refuse)
    made = memory.remember(LONG, chunking=SMALL)
    summaries = [memory.artifacts.get(each.summary.artifact_id) for each in made.chunks]
    assert {each.inference_id for each in summaries} == {None}


def test_promise_12_no_text_in_a_message(memory, server):
    refuse(server, "New facts:")
    memory.remember("Zzyzx7 lives in Oslo.")
    with pytest.raises(Exception) as caught:
        memory.remember("Zzyzx7 lives in Bergen.\n\n" + LONG, chunking=SMALL)
    assert "Zzyzx7" not in str(caught.value)


def test_what_the_store_would_refuse_is_refused_before_anything_is_paid(place, server, embedder, make_embedder):
    with asking(place, server=server, embedder=embedder) as (memory, _):
        memory.remember("Alice works at Acme.")
        asked = server.total
    wrong = [
        ({"embedder": embedder, "read_only": True}, StoreError),
        ({"embedder": make_embedder(name="o")}, ModelMismatch),
    ]
    for options, error in wrong:
        with asking(place, server=server, **options) as (memory, _), pytest.raises(error):
            memory.remember("Bob works at Acme.")
    assert server.total == asked


def test_a3_what_supersedes_is_a_setting_by_kind(memory):
    memory.remember("Pia lives in Berlin.")
    by_kind = {"knowledge": False}
    assert memory.remember("Pia moved to Paris.", supersedes=by_kind).invalidated_edges == ()
    made = memory.remember("Pia moved to Rome.", supersedes=by_kind, kind="memory")
    assert len(made.invalidated_edges) == 2


def test_a29_erasure_reaches_the_journal_of_requests_that_failed(memory, server):
    refuse(server, "<text>.*Person7")
    for given in (
        {"metadata": {"user": "ann"}},
        {"source": "u://1"},
        {"session_id": "s"},
        {"metadata": {"user": "bob"}},
    ):
        with pytest.raises(ProviderError):
            memory.remember(LONG, chunking=SMALL, idempotency_key=str(given), **given)
    kept = memory.requests.list()
    assert {each.state for each in kept} == {"failed"}
    assert any(each.detail["drafts"] for each in kept)
    memory.erase(metadata={"user": "ann"})
    memory.erase(source="u://1")
    memory.erase(session_id="s")
    assert [each.detail["of"]["metadata"] for each in memory.requests.list()] == [{"user": "bob"}]


def test_a_journal_keeps_what_was_read_when_a_later_chunk_fails(memory, server):
    lift = refuse(server, "<text>.*Person7")
    given = {"chunking": SMALL, "idempotency_key": "k"}
    with pytest.raises(ProviderError):
        memory.remember(LONG, **given)
    lift()
    read = len(memory.requests.get("k").detail["drafts"])
    memory.remember(LONG, **given)
    found = stages(server)
    assert found["extract"] + found["summarize"] <= 8 + (4 - read)  # a half that was read is read again, no more
    assert memory.edges.count() == 24
    assert "drafts" not in memory.requests.get("k").detail


def test_a_request_of_a_dead_process_is_taken_over_and_a_living_ones_is_not(memory):
    from dataclasses import replace

    from unabridged.memory.processes import me

    memory.remember("Alice works at Acme.", idempotency_key="k")
    row = memory.requests.get("k")
    detail = {name: value for name, value in row.detail.items() if name != "answer"}
    away = {**me(), "host": "another"}
    memory.requests.put([replace(row, state="running", detail={**detail, "owner": away})])
    with pytest.raises(Conflict, match="under way"):
        memory.remember("Alice works at Acme.", idempotency_key="k")
    memory.requests.put([replace(row, state="running", detail={**detail, "owner": {**me(), "pid": 1 << 22}})])
    made = memory.remember("Alice works at Acme.", idempotency_key="k")
    assert made.artifact_id == row.artifact_id
    assert [edge.fact for edge in made.edges] == ["Alice works at Acme"]
    assert (made.embedded_entities, made.embedded_edges) == (2, 1)
    assert memory.artifacts.counts().documents == 1


def test_what_only_its_facts_name_takes_the_type_that_another_chunk_knows(memory, server):
    typed = {
        "entities": [{"name": "Zeta", "type": "planet", "aliases": [], "description": None, "quote": "Zeta"}],
        "edges": [],
    }
    bare = {"source": "Zeta", "relation": "circles", "target": "Sol", "fact": "Zeta circles Sol", "valid_at": None,
            "invalid_at": None, "quote": "Zeta circles Sol"}  # fmt: skip
    server.rule("<text>.*Zeta is there", typed)
    server.rule("<text>.*Zeta circles", {"entities": [], "edges": [bare]})
    memory.remember("Zeta is there now.\n\nZeta circles Sol.", chunking={"size": 8, "overlap_percent": 0})
    assert [each.type for each in memory.entities.named("Zeta")] == ["planet"]


def test_a2_a_fact_that_is_over_is_one_fact_however_often_it_is_told(memory):
    for _ in range(2):
        memory.remember("Alice worked at Acme until 2020.", valid_at="2024-05-01")
        memory.remember("Bob led Acme until 2019.")
        memory.remember("Carol led Acme in 2010.", chunking=SMALL)
    edges = memory.edges.list(include_history=True).items
    assert sorted(edge.fact.split(" until")[0].split(" in ")[0] for edge in edges) == [
        "Alice worked at Acme",
        "Bob led Acme",
        "Carol led Acme",
    ]
    over = next(edge for edge in edges if edge.fact.startswith("Alice"))
    assert over.valid_at is None
    assert over.invalid_at.year in {2020, 2021}
    assert len(memory.evidence(over)) == 2


def test_a_fact_told_again_with_its_end_has_ended(memory, server):
    fact = {"source": "Ada", "relation": "leads", "target": "Acme", "fact": "Ada leads Acme", "quote": "Ada leads Acme"}
    ada = [
        {"name": name, "type": "thing", "aliases": [], "description": None, "quote": name} for name in ("Ada", "Acme")
    ]
    for year in (None, "2021-01-01", "2021-01-01"):
        server.rule("<text>", {"entities": ada, "edges": [{**fact, "valid_at": None, "invalid_at": year}]})
        made = memory.remember("Ada leads Acme", valid_at="2020-01-01")
    (edge,) = memory.edges.list(include_history=True).items
    assert edge.invalid_at == dt.datetime(2021, 1, 1, tzinfo=dt.UTC)
    assert len(memory.evidence(edge)) == 3
    assert made.edges[0].id == edge.id


def test_a18_a_model_that_cannot_be_registered_is_left_open(memory, monkeypatch):
    def refuse(*_):
        raise StoreError("no room")

    monkeypatch.setattr(memory.models, "register", refuse)
    memory.remember("Alice works at Acme.")
    assert [each.model_id for each in memory.inferences.list()] == [None]


def test_k8_the_same_image_again_is_there_once_and_a_large_one_is_refused(place, server):
    with asking(place, server=server) as (memory, _):
        image = b"GIF89a" + bytes(20)
        given = {"image": image, "idempotency_key": "k"}
        monkey = memory.images.add
        memory.images.add = lambda *args, **more: (monkey(*args, **more), 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.remember("Alice works at Acme.", **given)
        memory.images.add = monkey
        made = memory.remember("Alice works at Acme.", **given)
        assert [each.id for each in memory.images.list().items] == [made.image_id]
        with pytest.raises(InputError, match="limit of"):
            memory.remember("Bob works at Acme.", image=b"GIF89a" + bytes(33 << 20))
