"""POST /v1/gb/query and /recall, timelines and neighbourhoods over HTTP (SPEC R1-R4, A11, A25, cases 43, 44)."""

from __future__ import annotations

import re

import pytest

from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat
from unabridged.testing import ChatRule, ChatServer

STORY = [
    ("Alice Moser works at Acme as an engineer.", "2020-01-01"),
    ("Bob Keller lives in Berlin.", "2020-01-01"),
    ("Alice Moser works at Initech.", "2024-01-01"),
]


def from_the_evidence(seen):
    """An answer that says what the first piece of evidence says."""
    said = re.search(r"^\[1\] .*\n(.+)$", seen.prompt, re.MULTILINE).group(1)
    return {"known": True, "sentences": [{"text": said, "sources": [1]}]}


@pytest.fixture(scope="module")
def knowing(apps):
    """A client whose memory has read a story, and answers from it."""
    with ChatServer([ChatRule(pattern="<evidence>", answer=from_the_evidence)]) as server:
        client = apps("knowing")
        memory = client.app.state.server.memory("default", create=True)
        model = Chat("tiny", base_url=server.url)
        memory.asker = Asker(model, cache=False)
        for text, valid_at in STORY:
            sent = client.post("/v1/gb/remember", json={"text": text, "valid_at": valid_at, "session_id": "told"})
            assert sent.status_code == 200, sent.text
        yield client
        model.close()


def post(client, path, status=200, **given):
    answer = client.post(f"/v1/gb/{path}", json=given)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_r1_r2_a_recall_has_hits_with_evidence_at_byte_ranges(knowing) -> None:
    found = post(knowing, "recall", query="Where does Alice Moser work?", explain=True)
    assert found["hits"]
    assert any("Alice" in hit["text"] for hit in found["hits"])
    assert all(0 <= hit["score"] <= 1 for hit in found["hits"])
    cited = [citation for hit in found["hits"] for citation in hit["evidence"] if citation["quote"]]
    assert cited
    for citation in cited:
        span = {"start": citation["start"], "end": citation["end"]}
        text = knowing.get(f"/v1/gb/artifacts/{citation['artifact_id']}/text", params=span).text
        assert text == citation["quote"]
    assert "[1]" in found["pack"]["text"]
    assert found["pack"]["citations"]


def test_a25_the_facts_of_an_answer_carry_their_artifact(knowing) -> None:
    found = post(knowing, "query", question="Where does Alice Moser work?")
    assert found["known"]
    assert found["evidence"]
    artifacts = {each["id"] for each in knowing.get("/v1/gb/artifacts").json()["items"]}
    assert all(edge["artifact_id"] in artifacts for edge in found["evidence"])
    assert [sentence["numbers"] for sentence in found["sentences"]] == [[1]]
    assert found["sentences"][0]["citations"] == [found["citations"][0]]
    assert found["degraded"] == []
    stages = [each["stage"] for each in knowing.get("/v1/gb/inferences").json()["items"]]
    assert "answer_query" in stages


def test_case_44_what_the_memory_does_not_hold_it_does_not_know(knowing) -> None:
    found = post(knowing, "query", question="Who composed the violin concerto in D major?")
    assert not found["known"]
    assert found["evidence"] == found["sentences"] == []
    assert post(knowing, "recall", query="violin concerto in D major")["hits"] == []


def test_a11_a_question_asked_in_a_session_is_kept_there(knowing) -> None:
    memory = knowing.app.state.server.memory("default")
    post(knowing, "query", question="Where does Bob Keller live?", session_id="asking")
    kept = memory.queries.list("`session_id` = 'asking'")
    assert [each.text for each in kept] == ["Where does Bob Keller live?"]
    found = post(knowing, "query", query="Where does Bob Keller live?", of_session="elsewhere")
    assert not found["known"]


def test_r1_time_is_asked_for(knowing) -> None:
    past = post(knowing, "recall", query="Where does Alice Moser work?", kinds=["fact"], as_of="2021-01-01")
    assert any("Acme" in hit["text"] for hit in past["hits"])
    assert not any("Initech" in hit["text"] for hit in past["hits"])


def test_r4_without_a_chat_model_there_are_passages_and_no_answer_and_that_is_said(client, memory) -> None:
    memory.add("The boiler in the cellar is serviced every May.")
    found = post(client, "query", question="When is the boiler serviced?")
    assert found["known"] is None, "nobody has answered, so nobody says whether the memory knows"
    assert "May" in found["answer"]
    assert found["sentences"] == []
    (why,) = found["degraded"]
    assert (why["lane"], why["reason"]) == (
        "answer",
        "no chat model is configured: these are the passages, and no answer",
    )
    assert "chat in its configuration" in why["advice"]
    nothing = post(client, "query", question="Who composed the violin concerto?")
    assert (nothing["known"], nothing["sentences"]) == (None, []), "nobody was asked"
    assert nothing["degraded"][-1]["reason"].endswith("nothing was found, and nobody was asked")


@pytest.mark.parametrize("path", ["recall", "query"])
@pytest.mark.parametrize(
    ("rerank", "said"),
    [
        ({"provider": "cohere"}, "recall.rerank.apiKey: found none; give it, or set COHERE_API_KEY"),
        ({"provider": "tei", "baseURL": "http://127.0.0.1:9"}, "the cross-encoder failed: upstream error"),
    ],
)
def test_r4_a_reranker_that_cannot_be_had_is_told_of_and_can_be_left_out(apps, monkeypatch, path, rerank, said) -> None:
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    client = apps("reranking", recall={"rerank": rerank})
    asked = {"question" if path == "query" else "query": "When is the boiler serviced?"}
    post(client, "remember", text="The boiler in the cellar is serviced every May.")
    found = post(client, path, **asked)
    assert ("rerank", said) in {(each["lane"], each["reason"]) for each in found["degraded"]}
    assert "May" in str(found)
    without = post(client, path, **asked, rerank=False)
    assert "rerank" not in {each["lane"] for each in without["degraded"]}
    assert "May" in str(without)


def test_r2_a_hit_has_the_place_that_says_most_of_the_query(apps) -> None:
    client = apps("excerpts")
    rest = "Nothing is said of it here. " * 60
    made = post(client, "remember", text=f"{rest}The permit costs 40 francs. {rest}")
    place = post(client, "recall", query="What does the permit cost?", kinds=["passage"])["hits"][0]["excerpt"]
    assert "The permit costs 40 francs." in place["text"]
    assert (place["before"], place["after"], place["artifact_id"]) == (True, True, made["artifact_id"])
    text = client.get(f"/v1/gb/artifacts/{made['artifact_id']}").json()["text"]
    assert text.encode()[place["start"] : place["end"]].decode() == place["text"]


@pytest.mark.parametrize(
    ("path", "given", "said"),
    [
        ("recall", {"query": "  "}, "query: it is empty"),
        ("query", {"question": "  "}, "question: it is empty"),
        ("recall", {"query": "Alice", "kind": "zzz"}, "kind: found 'zzz', expected one of knowledge, memory"),
        ("query", {"question": "Alice", "kind": "zzz"}, "kind: found 'zzz', expected one of knowledge, memory"),
    ],
)
def test_an_empty_query_and_a_kind_that_is_none_are_refused(knowing, path, given, said) -> None:
    answer = knowing.post(f"/v1/gb/{path}", json=given)
    assert answer.status_code == 400
    assert said in answer.text


def test_a_timeline_and_a_neighbourhood(knowing) -> None:
    line = knowing.get("/v1/gb/entities/alice%20moser/timeline").json()
    assert line["entity"]["name"] == "Alice Moser"
    assert [each["other"]["name"] for each in line["periods"]][-1] == "Initech"
    near = knowing.get(f"/v1/gb/entities/{line['entity']['id']}/neighbourhood", params={"include_history": True}).json()
    assert {each["name"] for each in near["entities"]} >= {"Alice Moser", "Acme", "Initech"}
    assert knowing.get("/v1/gb/entities/nobody/timeline").status_code == 404


@pytest.mark.parametrize(
    ("path", "given", "status", "named"),
    [
        ("recall", {"query": "x", "as_of": "then"}, 400, "as_of"),
        ("recall", {"query": "x", "kinds": ["rumour"]}, 422, "kinds"),
        ("recall", {"query": ""}, 422, "query"),
        ("query", {"question": "x", "limit": 0}, 422, "limit"),
        ("query", {}, 422, "question"),
    ],
)
def test_what_is_wrong_is_named(client, path, given, status, named) -> None:
    assert named in post(client, path, status, **given)["detail"]


@pytest.mark.parametrize(
    ("method", "path", "near"),
    [
        ("POST", "erase?datset=team-a", "dataset"),
        ("POST", "remember?datset=team-a", "dataset"),
        ("GET", "artifacts?limt=1", "limit"),
        ("GET", "stats?Dataset=x", "dataset"),
        ("GET", "graph?datset=team-a", "dataset"),
        ("GET", "graph/vectors?methd=pca", "method"),
        ("GET", "preview/folders/0?pth=x", "path"),
        ("POST", "preview/uploads?name=a.md&nam=b.md", "name"),
    ],
)
def test_a_misspelt_parameter_reaches_no_other_dataset(client, method, path, near):
    before = client.get("/v1/gb/stats").json()
    answer = client.request(method, f"/v1/gb/{path}", json={"text": "x", "source": "s1"} if method == "POST" else None)
    assert answer.status_code == 422
    assert f"did you mean {near}?" in answer.json()["detail"]
    assert client.get("/v1/gb/stats").json() == before


@pytest.mark.parametrize("path", ["configuration", "preview", "jobs", "datasets"])
def test_every_route_of_ours_refuses_a_parameter_that_it_does_not_know(client, path):
    answer = client.get(f"/v1/gb/{path}", params={"verbose_output": "1"})
    assert (answer.status_code, answer.json()["param"]) == (422, "query.verbose_output")


def test_every_route_under_v1_gb_is_held_to_its_parameters(client):
    """Those that are added later, too."""
    document = client.get("/openapi.json").json()
    paths = [(path, method) for path, item in document["paths"].items() if path.startswith("/v1/gb") for method in item]
    assert len(paths) > 60
    for path, method in paths:
        answer = client.request(method, path.replace("{", "").replace("}", ""), params={"strange": "1"}, json={})
        assert answer.status_code == 422, (method, path, answer.text)
        assert "query.strange: unknown parameter" in answer.json()["detail"], (method, path)


def test_clients_of_other_protocols_may_send_extras(client):
    asked = {"model": "default", "input": "x"}
    assert client.post("/v1/embeddings?api-version=2024-10-21", json=asked).status_code == 200
    assert client.get("/v1/models?limit=20").status_code == 200
    assert client.get("/api/tags?x=1").status_code == 200
    assert client.get("/health?x=1").status_code == 200


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": True}, "body.threshold: found true or false, expected a number"),
        ({"limit": "5"}, "body.limit: found a string, expected a number"),
        ({"rerank": "false"}, "body.rerank: found a string, expected true or false"),
    ],
)
def test_what_json_has_no_number_for_is_none(client, given, said):
    assert post(client, "recall", 422, query="x", **given)["detail"] == said
    assert post(client, "recall", query="x", limit=5.0)["hits"] is not None


@pytest.mark.parametrize(
    ("path", "given", "said"),
    [
        ("remember", {"text": "x", "chunking": {"sise": 5}}, "unknown field, did you mean size?"),
        ("remember", {"text": "x", "timeseries": [{"name": "n", "values": []}]}, "unknown field, known are name, unit"),
        ("recall", {"query": "x", "sesion_id": "s"}, "unknown field, did you mean session_id?"),
    ],
)
def test_a_field_that_is_not_known_names_the_one_that_was_meant(client, path, given, said):
    answer = post(client, path, 422, **given)
    assert said in str(answer["errors"])
    assert answer["param"].startswith("body.")
