"""POST /v1/gb/remember: the answer of A23, its refusals, its progress, and requests sent twice (SPEC A1-A16, A23, A27)."""

from __future__ import annotations

import base64
import json
import threading
import time

import httpx
import pytest
from starlette.testclient import TestClient

from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat
from unabridged.testing import ChatRule, ChatServer

LONG = "\n\n".join(
    f"Alice works at Acme. Bob lives in Berlin. This is paragraph number {n} of the report." for n in range(40)
)
A23 = {
    "artifact_id", "kind", "session_id", "valid_at", "created_at", "entities", "edges", "invalidated_edges",
    "embedded_entities", "embedded_edges", "embedded_chunks", "embedded_summaries",
}  # fmt: skip
CHUNK = {
    "artifact_id",
    "index",
    "tokens",
    "overlap_tokens",
    "start_offset",
    "end_offset",
    "entities",
    "edges",
    "summary",
}


@pytest.fixture(scope="module")
def chat():
    with ChatServer() as server:
        yield server


@pytest.fixture(scope="module")
def thinking(apps, chat):
    """A client whose memory reads what it is given."""
    client = apps("thinking")
    memory = client.app.state.server.memory("default", create=True)
    model = Chat("tiny", base_url=chat.url)
    memory.asker = Asker(model, cache=False)
    yield client
    model.close()


def send(client, text, *, key=None, accept=None, dataset="default", **given):
    headers = {"Idempotency-Key": key} if key else {}
    headers |= {"Accept": accept} if accept else {}
    return client.post("/v1/gb/remember", params={"dataset": dataset}, json={"text": text, **given}, headers=headers)


def test_a23_a26_the_worked_example(thinking) -> None:
    first = send(thinking, "Alice works at Acme.", session_id="s1", valid_at="2024-05-01T12:00:00.000001Z")
    assert first.status_code == 200
    answer = first.json()
    assert answer.keys() == A23
    assert answer["kind"] == "knowledge"
    assert answer["session_id"] == "s1"
    assert answer["valid_at"] == "2024-05-01T12:00:00.000001+00:00"
    assert {each["name"] for each in answer["entities"]} == {"Alice", "Acme"}
    assert [each["artifact_id"] for each in answer["edges"]] == [answer["artifact_id"]]
    second = send(thinking, "Alice works at Acme.", session_id="s1").json()
    edge = answer["edges"][0]["id"]
    assert [each["id"] for each in second["edges"]] == [edge]
    sources = thinking.get(f"/v1/gb/edges/{edge}/evidence").json()
    assert [each["artifact"]["id"] for each in sources] == [answer["artifact_id"], second["artifact_id"]]
    done = thinking.delete(f"/v1/gb/artifacts/{answer['artifact_id']}").json()
    assert done["artifacts"] == [answer["artifact_id"]]
    assert done["edges"] == []
    left = thinking.get(f"/v1/gb/edges/{edge}").json()
    assert left["artifact_id"] is None
    assert left["created_at"] == answer["edges"][0]["created_at"]
    thinking.delete(f"/v1/gb/artifacts/{second['artifact_id']}")
    assert thinking.get(f"/v1/gb/edges/{edge}").status_code == 404
    assert thinking.get("/v1/gb/entities").json()["items"] == []


def test_a23_a_long_text_is_answered_with_its_chunks_and_summaries(thinking) -> None:
    answer = send(thinking, LONG, chunking={"size": 200, "overlap_percent": 10}).json()
    assert answer.keys() == A23 | {"chunks"}
    assert len(answer["chunks"]) > 3
    raw = LONG.encode()
    for at, chunk in enumerate(answer["chunks"]):
        assert chunk.keys() == CHUNK
        assert chunk["index"] == at
        assert chunk["tokens"] <= 200
        text = thinking.get(f"/v1/gb/artifacts/{chunk['artifact_id']}/text").content
        assert text == raw[chunk["start_offset"] : chunk["end_offset"]]
        assert chunk["summary"].keys() == {"artifact_id", "text", "model", "reasoning", "inference_id"}
        assert (
            thinking.get(f"/v1/gb/inferences/{chunk['summary']['inference_id']}").json()["stage"] == "summarize_chunk"
        )
    assert answer["embedded_chunks"] == answer["embedded_summaries"] == len(answer["chunks"])
    assert answer["chunks"][-1]["end_offset"] == len(raw)


@pytest.mark.parametrize(
    "kind", ["chunk_summary", "web_search", "series_observation", "fact", "knowledge!", 5, ["memory"]]
)
def test_a3_a_wrong_kind_is_400_and_stores_nothing(thinking, kind) -> None:
    before = thinking.get("/v1/gb/stats").json()["seq"]
    refused = send(thinking, "Alice works at Acme.", kind=kind)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert "kind" in refused.json()["detail"]
    assert thinking.get("/v1/gb/stats").json()["seq"] == before


@pytest.mark.parametrize(("kind", "stored"), [("  MEMORY ", "memory"), ("", "knowledge"), (None, "knowledge")])
def test_a3_a_kind_is_trimmed_and_of_any_case(thinking, kind, stored) -> None:
    assert send(thinking, "A note.", kind=kind).json()["kind"] == stored


def test_a16_a_text_over_the_limit_is_413_and_one_at_it_is_not(thinking) -> None:
    over = send(thinking, "é" * ((1 << 19) + 1), extract=False)
    assert over.status_code == 413
    assert over.json()["code"] == "too_large"
    assert "1,048,576" in over.json()["detail"]
    assert send(thinking, "é" * (1 << 19), extract=False, chunking=False).status_code == 200


@pytest.mark.parametrize(
    ("given", "status", "named"),
    [
        ({"text": " \n "}, 400, "blank"),
        ({"text": "x", "valid_at": "yesterday"}, 400, "valid_at"),
        ({"text": "x", "models": {"extract": "m"}}, 422, "models"),
        ({"text": "x", "reasoning": {"extract_graph": "much"}}, 422, "reasoning"),
        ({"text": "x", "chunking": {"tokenizer": "/etc/passwd.json"}}, 400, "path"),
        ({"text": "x", "chunking": {"size": 0}}, 422, "size"),
        ({"text": "x", "chunking": {"tokenizer": "klingon"}}, 400, "klingon"),
        ({"text": "x", "image": {"data": "/etc/hostname"}}, 400, "base64"),
        ({"text": "x", "surprise": 1}, 422, "surprise"),
        ({}, 422, "text"),
    ],
)
def test_what_is_wrong_is_named_and_stores_nothing(thinking, given, status, named) -> None:
    before = thinking.get("/v1/gb/stats").json()["seq"]
    refused = thinking.post("/v1/gb/remember", json=given)
    assert refused.status_code == status, refused.text
    assert named in refused.json()["detail"]
    assert thinking.get("/v1/gb/stats").json()["seq"] == before


def test_a27_an_image_and_a_series_come_with_the_text(thinking) -> None:
    pixel = b"GIF89a" + b"\0" * 20
    series = {
        "name": "sales",
        "points": [["2024-01-01T00:00:00Z", 1], ["2024-01-02T00:00:00Z", 3]],
        "observations": True,
    }
    answer = send(
        thinking,
        "Alice works at Acme.",
        image={"data": base64.b64encode(pixel).decode(), "caption": "Alice"},
        timeseries=series,
    ).json()
    assert thinking.get(f"/v1/gb/images/{answer['image_id']}/content").content == pixel
    points = thinking.get(f"/v1/gb/series/{answer['series'][0]}/points").json()["points"]
    assert [value for _, value in points] == [1.0, 3.0]
    assert [each["kind"] for each in answer["derived"]] == ["series_observation"]


def test_a13_a_key_makes_a_request_safe_to_send_again(thinking, chat) -> None:
    first = send(thinking, "Carol leads Initech.", key="k-1")
    asked = chat.total
    again = send(thinking, "Carol leads Initech.", key="k-1")
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert chat.total == asked
    other = send(thinking, "Another text.", key="k-1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a13_a_later_chunk_that_fails_is_502_and_named_and_its_key_goes_on(apps, chat, monkeypatch) -> None:
    client = apps("failing")
    memory = client.app.state.server.memory("default", create=True)
    model = Chat("tiny", base_url=chat.url)
    memory.asker = Asker(model, cache=False)
    embed, calls = memory.embedder.embed, []

    def third_fails(texts):
        calls.append(len(texts))
        if len(calls) == 3:
            raise_overloaded()
        return embed(texts)

    monkeypatch.setattr(memory, "embedder", _Instead(memory.embedder, third_fails))
    failed = send(client, LONG, key="long", chunking={"size": 200})
    assert failed.status_code == 502, failed.text
    problem = failed.json()
    assert problem["code"] == "chunk_failed"
    assert problem["stored"] == problem["chunk"]
    assert "chunk" in problem["detail"]
    assert "Alice" not in failed.text
    kept = client.get("/v1/gb/artifacts", params={"role": "chunk", "document": problem["artifact_id"]}).json()["items"]
    assert len(kept) == problem["stored"]
    read = chat.total
    done = send(client, LONG, key="long", chunking={"size": 200}).json()
    assert done["artifact_id"] == problem["artifact_id"]
    assert len(done["chunks"]) == problem["chunks"]
    assert chat.total - read <= 1 + problem["chunks"]  # no chunk is read again: at most what compares facts
    assert client.get("/v1/gb/verify").json()["ok"]
    model.close()


class _Instead:
    def __init__(self, embedder, embed):
        self._embedder, self.embed = embedder, embed

    def __getattr__(self, name):
        return getattr(self._embedder, name)


def raise_overloaded():
    from unabridged.errors import RateLimited
    from unabridged.types import Fault

    raise RateLimited("overloaded", Fault("overloaded", status=503))


def test_a13_an_extraction_that_fails_stores_nothing_and_tells_no_secret(apps) -> None:
    rules = [ChatRule(pattern="", answer="no JSON here, and Alice's secret")]
    with ChatServer(rules) as server:
        client = apps("unreadable")
        memory = client.app.state.server.memory("default", create=True)
        model = Chat("tiny", base_url=server.url)
        memory.asker = Asker(model, cache=False)
        refused = send(client, "Alice works at Acme.")
        model.close()
    assert refused.status_code == 502
    assert refused.json()["code"].startswith("answer_")
    assert "secret" not in refused.text
    assert client.get("/v1/gb/artifacts").json()["items"] == []
    assert client.get("/v1/gb/inferences").json()["items"] != []


def stream(client, text, **given):
    """The events of a request, in order."""
    with client.stream(
        "POST", "/v1/gb/remember", json={"text": text, **given}, headers={"Accept": "text/event-stream"}
    ) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        blocks = "".join(answer.iter_text()).split("\n\n")
    events = [block.split("\n") for block in blocks if block.startswith("event: ")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]


def test_a_long_remember_tells_how_far_it_is(thinking) -> None:
    told = stream(thinking, LONG, chunking={"size": 200})
    names = [name for name, _ in told]
    assert names[-1] == "done"
    assert set(names[:-1]) == {"progress"}
    steps = [data["step"] for name, data in told if name == "progress"]
    assert {"extract", "store", "done"} <= set(steps)
    answer = told[-1][1]
    assert answer.keys() == A23 | {"chunks"}
    assert thinking.get(f"/v1/gb/artifacts/{answer['artifact_id']}").status_code == 200


def test_what_goes_wrong_on_the_way_is_an_event(thinking) -> None:
    told = stream(thinking, "x", valid_at="yesterday")
    assert [(name, data["status"]) for name, data in told] == [("error", 400)]


def test_a_memory_without_a_model_stores_and_says_what_it_did_not_do(client) -> None:
    answer = send(client, "Alice works at Acme.")
    assert answer.status_code == 200
    assert answer.json()["entities"] == []
    assert "no chat model" in answer.headers["X-Unabridged-Notes"]
    told = dict(stream(client, "Alice works at Acme."))
    assert "no chat model" in told["notes"][0]
    assert told["done"]["entities"] == []


def test_under_way_the_same_key_is_409_and_a_stopping_server_ends_between_two_steps(apps) -> None:
    with ChatServer(latency=0.4) as server:
        client = apps("slow")
        memory = client.app.state.server.memory("default", create=True)
        model = Chat("tiny", base_url=server.url)
        memory.asker = Asker(model, cache=False, concurrency=1)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(send(client, LONG, key="slow", chunking={"size": 300})))
        thread.start()
        until = time.monotonic() + 20
        while server.total < 2 and time.monotonic() < until:
            time.sleep(0.01)
        busy = send(client, LONG, key="slow", chunking={"size": 300})
        assert (busy.status_code, busy.json()["code"]) == (409, "under_way")
        for cancel in tuple(client.app.state.server._under_way):
            cancel.set()
        thread.join(30)
        model.close()
    assert (answers[0].status_code, answers[0].json()["code"]) == (503, "stopped")


def test_a_fault_on_the_way_is_an_event_that_tells_nothing(thinking, monkeypatch) -> None:
    def broken(*_, **__):
        raise RuntimeError("the text was: Alice works at Acme")

    monkeypatch.setattr(thinking.app.state.server.memory("default"), "remember", broken)
    told = stream(thinking, "Alice works at Acme.")
    assert [(name, data["status"]) for name, data in told] == [("error", 500)]
    assert "Alice" not in json.dumps(told)


def test_a_stream_without_news_is_kept_open(thinking, monkeypatch) -> None:
    from unabridged.server.memory import work

    memory = thinking.app.state.server.memory("default")
    remember = memory.remember
    monkeypatch.setattr(work, "_BEAT", 0.02)
    monkeypatch.setattr(memory, "remember", lambda *args, **given: (time.sleep(0.2), remember(*args, **given))[1])
    with thinking.stream(
        "POST", "/v1/gb/remember", json={"text": "x"}, headers={"Accept": "text/event-stream"}
    ) as answer:
        said = "".join(answer.iter_text())
    assert ": still at it" in said
    assert "event: done" in said


@pytest.mark.parametrize("key", [None, "goes-on"])
def test_who_goes_away_stops_the_work_or_with_a_key_lets_it_go_on(key, tmp_path, make_app, serving) -> None:
    with ChatServer(latency=0.15) as server:
        chat = {"model": "tiny", "baseURL": server.url, "apiKey": "k", "cache": False, "concurrency": 2}
        app = make_app(tmp_path, chat=chat)
        with serving(app) as address:
            url, text = f"{address}/v1/gb", {"text": LONG, "chunking": {"size": 200}}
            headers = {"Accept": "text/event-stream"} | ({"Idempotency-Key": key} if key else {})
            with httpx.Client() as http, http.stream("POST", f"{url}/remember", json=text, headers=headers) as answer:
                next(part for part in answer.iter_text() if "extract" in part)
            if key:
                until = time.monotonic() + 30
                while (
                    again := httpx.post(f"{url}/remember", json=text, headers={"Idempotency-Key": key})
                ).status_code == 409:
                    assert time.monotonic() < until
                    time.sleep(0.1)
                assert again.headers["Idempotent-Replayed"] == "true"
                assert len(again.json()["chunks"]) > 3
            else:
                time.sleep(1.0)
                asked = server.total
                time.sleep(0.6)
                assert server.total == asked
                assert httpx.get(f"{url}/artifacts").json()["items"] == []


def test_k7_what_is_deferred_gets_its_graph_in_the_background(tmp_path, make_app) -> None:
    with ChatServer() as server:
        app = make_app(tmp_path, chat={"model": "tiny", "baseURL": server.url, "apiKey": "k", "cache": False})
        with TestClient(app, base_url="http://127.0.0.1") as client:
            answer = send(client, "Alice works at Acme.", defer=True).json()
            assert (answer["entities"], answer["pending"]) == ([], 1)
            until = time.monotonic() + 20
            while not (found := client.get("/v1/gb/entities").json()["items"]) and time.monotonic() < until:
                time.sleep(0.05)
            assert {each["name"] for each in found} == {"Alice", "Acme"}
            assert client.get("/v1/gb/pending").json()["items"] == []
            made = client.post("/v1/gb/datasets", json={"name": "brief"})
            assert client.delete("/v1/gb/datasets/brief").json() == made.json()


def test_k7_what_waits_is_listed_and_taken_out(client, memory) -> None:
    answer = send(client, "Bob works at Initech.", defer=True, session_id="later").json()
    waiting = client.get("/v1/gb/pending", params={"status": "waiting"}).json()["items"]
    assert [each["document_id"] for each in waiting] == [answer["artifact_id"]]
    key = waiting[0]["id"]
    assert client.delete(f"/v1/gb/pending/{key}").json() == {"deleted": [key]}
    assert client.delete(f"/v1/gb/pending/{key}").status_code == 404
    assert client.get("/v1/gb/pending").json()["items"] == []
