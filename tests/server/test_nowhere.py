"""What whoever asks for a path, a field or a body that is not there is told (SPEC A23, P4)."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("GET", "/v1/gb/timeline?entity=Alice", "did you mean GET /v1/gb/entities/{entity_id}/timeline?"),
        ("GET", "/v1/gb/artefacts", "did you mean DELETE, GET /v1/gb/artifacts?"),
        ("GET", "/v1/gb/artefacts/some-id", "did you mean DELETE, GET, PATCH /v1/gb/artifacts/{artifact_id}?"),
        ("POST", "/v1/gb/recal", "did you mean POST /v1/gb/recall?"),
        ("GET", "/v1/gb/session", "did you mean GET /v1/gb/sessions?"),
        ("POST", "/v1/embedding", "did you mean POST /v1/embeddings?"),
        ("POST", "/embeddings", "did you mean POST /"),
        ("POST", "/v1/v1/embeddings", "did you mean POST /v1/embeddings?"),
        ("GET", "/v1/gb", "nothing is at this path; GET /openapi.json"),
        ("GET", "/v1/zzzz", "nothing is at this path; GET /openapi.json"),
        ("GET", "/v1/gb/" + "x/" * 3000, "nothing is at this path; GET /openapi.json"),
    ],
)
def test_an_unknown_path_names_the_nearest(client, method, path, said) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 404
    assert said in answer.text
    assert "Alice" not in answer.text


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/responses", "/api/chat", "/v2/rerank", "/v1/images/edits"]
)
def test_who_asks_for_another_kind_of_model_is_told_what_is_served(client, path) -> None:
    answer = client.post(path, json={})
    assert answer.status_code == 404
    assert "this gateway serves embeddings and no other model: POST /v1/embeddings" in answer.text


def test_a_method_that_a_path_does_not_take_names_those_of_all_its_routes(client) -> None:
    answer = client.put("/v1/gb/edges/some-id")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PATCH")
    assert "this path takes DELETE, GET, PATCH" in answer.text
    assert client.get("/v1/embeddings").json()["error"]["message"] == "this path takes POST"
    assert client.post("/").headers["allow"] == client.post("/index.html").headers["allow"] != ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "the body is not valid JSON in UTF-8"),
        (b"\xff", "the body is not valid JSON in UTF-8"),
        (b"", "the body is empty, expected a JSON object"),
        (b"[1]", "body: expected a JSON object"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/gb/remember", "/v1/gb/preview/documents", "/v1/embeddings", "/v2/embed"])
def test_a_body_that_is_none_is_told_in_the_same_words_everywhere(client, path, content, said) -> None:
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    told = answer.json()
    assert answer.status_code in {400, 422}
    assert said == (told.get("detail") or told.get("message") or told["error"]["message"])


def test_a_dataset_in_the_body_is_told_where_it_belongs(client) -> None:
    for path, body in (("query", {"question": "x"}), ("remember", {"text": "x"})):
        answer = client.post(f"/v1/gb/{path}", json={**body, "dataset": "nope"})
        assert answer.status_code == 422
        assert (
            answer.json()["detail"] == "body.dataset: no field of the body: it belongs into the address, as ?dataset=…"
        )
    answer = client.post("/v1/gb/recall?session_id=s", json={"query": "x"})
    assert answer.json()["detail"] == "query.session_id: unknown parameter, it is a field of the body"


def test_no_kinds_are_none_and_not_one_of_that_name(client) -> None:
    detail = client.post("/v1/gb/recall", json={"query": "x", "kinds": []}).json()["detail"]
    assert detail == "kinds: found none, expected some of passage, summary, document, fact, entity"


def test_head_of_an_export_builds_none(client, monkeypatch) -> None:
    from unabridged.memory import Memory

    built = []
    export = Memory.export
    monkeypatch.setattr(Memory, "export", lambda self, *given, **more: built.append(1) or export(self, *given, **more))
    told = client.head("/v1/gb/export")
    assert (told.status_code, told.content, built) == (200, b"", [])
    whole = client.get("/v1/gb/export")
    assert built == [1]
    same = ("content-type", "content-disposition")
    assert [told.headers[name] for name in same] == [whole.headers[name] for name in same]
    assert client.head("/v1/gb/export?dataset=nope").status_code == 404
