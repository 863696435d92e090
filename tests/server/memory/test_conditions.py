"""Facts and entities taken back or ended over HTTP, by the cascade that the library has (SPEC A9, A10, R5); and writes
that hold only while a record is what the caller has seen (RFC 9110, 13).
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def story(memory):
    """Alice lived in Berlin, then in Paris, which ended that; two texts say that she knows Bob."""
    with memory.write() as tx:
        first = tx.artifact("Alice lives in Berlin and knows Bob.", valid_at="2020-01-01")
        alice = tx.entity("Alice", "person", artifact=first)
        berlin, bob = tx.entity("Berlin", "place", artifact=first), tx.entity("Bob", "person", artifact=first)
        old = tx.edge(alice, "lives in", berlin, artifact=first)
        knows = tx.edge(alice, "knows", bob, artifact=first)
    with memory.write() as tx:
        second = tx.artifact("Alice moved to Paris; she still knows Bob.", valid_at="2024-01-01")
        paris = tx.entity("Paris", "place", artifact=second)
        new = tx.edge(alice, "lives in", paris, artifact=second)
        tx.contradict(old, new)
        tx.restate(knows, second)
    yield SimpleNamespace(**{k: v.id for k, v in locals().items() if hasattr(v, "id")})
    left = [each.id for each in memory.artifacts.list(limit=1000)]
    if left:
        memory.delete(left)
    if rest := [each.id for each in memory.entities.list(limit=1000)]:
        memory.withdraw(entities=rest)


def seen(client, path):
    """A record and its ETag."""
    answer = client.get(f"/v1/gb/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json(), answer.headers["etag"]


def test_a_retracted_fact_reopens_what_it_had_ended_and_its_texts_stay(client, memory, story) -> None:
    assert seen(client, f"edges/{story.old}")[0]["invalid_at"].startswith("2024-01-01")
    gone = client.delete(f"/v1/gb/edges/{story.new}")
    assert gone.status_code == 200, gone.text
    told = gone.json()
    assert (told["edges"], told["reopened"], told["artifacts"], told["entities"]) == ([story.new], [story.old], [], [])
    assert seen(client, f"edges/{story.old}")[0]["invalid_at"] is None
    assert client.get(f"/v1/gb/edges/{story.new}").status_code == 404
    assert client.get(f"/v1/gb/artifacts/{story.second}").status_code == 200
    assert client.delete(f"/v1/gb/edges/{story.new}").json()["code"] == "not_found"
    memory.verify().raise_if_broken()


def test_an_entity_goes_with_the_facts_at_it(client, memory, story) -> None:
    told = client.delete(f"/v1/gb/entities/{story.bob}").json()
    assert (told["entities"], told["edges"]) == ([story.bob], [story.knows])
    assert client.get(f"/v1/gb/entities/{story.bob}").status_code == 404
    assert client.get(f"/v1/gb/entities/{story.alice}").status_code == 200
    assert client.get(f"/v1/gb/edges/{story.old}").status_code == 200
    memory.verify().raise_if_broken()


def test_several_at_once_or_none(client, memory, story) -> None:
    params = {"id": [story.new, "nobody"]}
    assert client.delete("/v1/gb/edges", params=params).status_code == 404
    assert client.get(f"/v1/gb/edges/{story.new}").status_code == 200
    told = client.delete("/v1/gb/edges", params={"id": [story.new, story.knows]}).json()
    assert set(told["edges"]) == {story.new, story.knows}
    told = client.delete("/v1/gb/entities", params={"id": [story.paris, story.bob]}).json()
    assert set(told["entities"]) == {story.paris, story.bob}
    assert client.delete("/v1/gb/entities").status_code == 422, "nothing named, nothing deleted"
    memory.verify().raise_if_broken()


def test_a_fact_is_ended_by_what_says_so_and_opens_when_that_goes(client, memory, story) -> None:
    path = f"/v1/gb/edges/{story.knows}"
    ended = client.patch(path, json={"text": "Alice and Bob parted.", "invalid_at": "2025-03-01"})
    assert ended.status_code == 200, ended.text
    assert ended.json()["invalid_at"].startswith("2025-03-01")
    assert ended.headers["etag"] == seen(client, f"edges/{story.knows}")[1]
    (said,) = client.get(f"{path}/contradictions").json()
    assert client.get(f"/v1/gb/artifacts/{said['to_id']}").json()["text"] == "Alice and Bob parted."
    assert story.knows not in [each["id"] for each in client.get("/v1/gb/edges").json()["items"]]
    deleted = client.delete(f"/v1/gb/artifacts/{said['to_id']}").json()
    assert deleted["reopened"] == [story.knows]
    assert seen(client, f"edges/{story.knows}")[0]["invalid_at"] is None
    by_one_that_is_there = client.patch(path, json={"artifact_id": story.second})
    assert by_one_that_is_there.json()["invalid_at"] is not None
    memory.verify().raise_if_broken()


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({}, 400, "text, artifact_id: found neither, expected one"),
        ({"invalid_at": "2025-01-01"}, 400, "text, artifact_id: found neither, expected one"),
        ({"text": "a", "artifact_id": "b"}, 400, "text, artifact_id: found both, expected one"),
        ({"text": ""}, 422, "text"),
        ({"text": " "}, 400, "text: blank"),
        ({"artifact_id": "nothing"}, 404, "no artifact of that id"),
        ({"text": "a", "invalid_at": "then"}, 400, "invalid_at: not a moment in ISO 8601"),
        (
            {"text": "a", "invalid_at": "1999-01-01"},
            400,
            "invalid_at: 1999-01-01T00:00:00+00:00 is before the fact begins, 2024-01-01T00:00:00+00:00 (valid_at)",
        ),
        ({"text": "a", "until": "2025-01-01"}, 422, "body.until: unknown field, known are invalid_at, text, artif"),
        ({"text": "a", "valid_at": "2025-01-01"}, 422, "body.valid_at: unknown field, did you mean invalid_at?"),
    ],
)
def test_an_end_that_cannot_be_is_refused_and_nothing_is_stored(client, memory, story, given, status, said) -> None:
    edge = story.new
    before = memory.artifacts.counts().documents
    answer = client.patch(f"/v1/gb/edges/{edge}", json=given)
    assert answer.status_code == status, answer.text
    assert said in answer.text
    assert memory.artifacts.counts().documents == before
    assert seen(client, f"edges/{edge}")[0]["invalid_at"] is None


def test_a_fact_that_has_not_begun_needs_an_end_that_is_said(client, memory) -> None:
    with memory.write() as tx:
        base = tx.artifact("Alice starts at Initech in 2190.")
        ends = [tx.entity(name, "thing", artifact=base) for name in ("Alice", "Initech")]
        edge = tx.edge(ends[0], "starts_at", ends[1], artifact=base, fact="Alice starts.", valid_at="2190-01-01")
    answer = client.patch(f"/v1/gb/edges/{edge.id}", json={"text": "She does not."})
    assert answer.json()["detail"].startswith("invalid_at: not given, and now is before the fact begins, 2190-01-01")
    ended = client.patch(f"/v1/gb/edges/{edge.id}", json={"text": "She does not.", "invalid_at": "2190-01-01"})
    assert ended.status_code == 200, ended.text
    memory.artifacts.get(base.id)
    memory.verify().raise_if_broken()


# -- If-Match --------------------------------------------------------------------------------------------------


def records(client, memory, story):
    """A path for each kind of record that can be changed or deleted."""
    series = memory.series.create("temperature")
    image = memory.images.add(b"GIF89a" + b"\0" * 20, caption="A dot")
    memory.add("said in a session", session_id="a/session")
    return {
        "artifact": f"artifacts/{story.first}",
        "edge": f"edges/{story.new}",
        "entity": f"entities/{story.bob}",
        "series": f"series/{series.id}",
        "image": f"images/{image.id}",
        "session": "sessions/a/session",
    }


@pytest.mark.parametrize("kind", ["artifact", "edge", "entity", "series", "image", "session"])
def test_a_delete_is_done_only_while_the_record_is_what_was_seen(client, memory, story, kind) -> None:
    path = records(client, memory, story)[kind]
    _, etag = seen(client, path)
    for strange in ('"something-else"', f"W/{etag}", ""):
        refused = client.delete(f"/v1/gb/{path}", headers={"if-match": strange})
        assert (refused.status_code, refused.json()["code"]) == (412, "changed"), strange
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.headers["etag"] == etag, "what it would have to be"
    unchanged = client.delete(f"/v1/gb/{path}", headers={"if-none-match": etag})
    assert (unchanged.status_code, unchanged.json()["code"]) == (412, "unchanged")
    assert seen(client, path)[1] == etag, "nothing has changed"
    right = client.delete(f"/v1/gb/{path}", headers={"if-match": f'"older", {etag}'})
    assert right.status_code == 200, right.text
    assert client.get(f"/v1/gb/{path}").status_code == 404
    memory.verify().raise_if_broken()


def test_a_change_that_would_undo_anothers_is_refused(client, story) -> None:
    path = f"/v1/gb/artifacts/{story.first}"
    _, etag = seen(client, f"artifacts/{story.first}")
    mine = client.patch(path, json={"metadata": {"by": "me"}}, headers={"if-match": etag})
    assert mine.status_code == 200
    theirs = client.patch(path, json={"metadata": {"by": "them"}}, headers={"if-match": etag})
    assert theirs.status_code == 412
    record, now = seen(client, f"artifacts/{story.first}")
    assert record["metadata"] == {"by": "me"}
    assert mine.headers["etag"] == now, "a change says what the record is now"
    again = client.patch(path, json={"metadata": {"by": "them"}}, headers={"if-match": now})
    assert again.json()["metadata"] == {"by": "them"}
    assert client.patch(path, json={"metadata": {}}, headers={"if-match": "*"}).status_code == 200


def test_nothing_comes_between_the_look_and_the_write(client, memory, story, monkeypatch) -> None:
    """Another writer changes the record after the request has come in, and before its turn: 412, nothing is lost."""
    _, etag = seen(client, f"artifacts/{story.first}")
    found = type(memory.artifacts).get

    def get(shelf, artifact_id):
        record = found(shelf, artifact_id)
        monkeypatch.undo()
        memory.update(artifact_id, metadata={"by": "another"})
        return record

    monkeypatch.setattr(type(memory.artifacts), "get", get)
    answer = client.patch(
        f"/v1/gb/artifacts/{story.first}", json={"metadata": {"by": "me"}}, headers={"if-match": etag}
    )
    assert answer.status_code == 412
    assert memory.artifacts.get(story.first).metadata == {"by": "another"}
    assert memory.update(story.first, metadata={}).metadata == {}, "the condition was that request's alone"


def test_several_cannot_be_what_one_etag_names(client, story) -> None:
    _, etag = seen(client, f"edges/{story.new}")
    for what, id_ in (("edges", story.new), ("entities", story.bob), ("artifacts", story.first)):
        refused = client.delete(f"/v1/gb/{what}", params={"id": id_}, headers={"if-match": etag})
        assert refused.status_code == 412
        assert client.get(f"/v1/gb/{what}/{id_}").status_code == 200
    assert client.delete("/v1/gb/edges", params={"id": story.new}, headers={"if-match": "*"}).status_code == 200


def test_datasets_are_dropped_only_while_they_are_what_was_seen(client) -> None:
    client.post("/v1/gb/datasets", json={"name": "short-lived"})
    _, etag = seen(client, "datasets/short-lived")
    assert client.delete("/v1/gb/datasets/short-lived", headers={"if-match": '"x"'}).status_code == 412
    assert client.delete("/v1/gb/datasets/short-lived", headers={"if-match": etag}).status_code == 200


READS = [
    "artifacts", "entities", "edges", "links", "sessions", "series", "images", "inferences", "pending", "models", "stats",
    "datasets", "datasets/default", "graph", "graph/vectors",
]  # fmt: skip


@pytest.mark.parametrize("path", READS)
def test_what_a_caller_has_is_not_sent_again(client, story, path) -> None:
    _, etag = seen(client, path)
    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = client.get(f"/v1/gb/{path}", headers={"if-none-match": given})
        assert (again.status_code, again.content) == (304, b""), given
        assert again.headers["etag"] == etag
    assert client.get(f"/v1/gb/{path}", headers={"if-none-match": '"other"'}).status_code == 200
