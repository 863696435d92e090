"""Reading, listing and deleting over HTTP: the same records as the library gives (SPEC R5, A1-A29, cases 39, 41, 45)."""

from __future__ import annotations

import json

import pytest

from unabridged import split
from unabridged.memory.plain import plain

TEXT = "Alice works at Acme.\n\nÉloïse met Alice in 北京 in May.\n\n" + "More was said of it later on. " * 60


@pytest.fixture(scope="module")
def stored(memory):
    """A document with chunks, a graph, a fact that ended, a session with a slash in its name."""
    with memory.write() as tx:
        document = tx.artifact(
            TEXT, session_id="team/1", metadata={"user": "alice", "n": 10**30}, source="https://x.example/a"
        )
        chunks = [tx.chunk(document, chunk) for chunk in split(TEXT, max_tokens=100)]
        tx.summary(chunks[0], "Alice works at Acme.")
        alice = tx.entity("Alice", "person", artifact=chunks[0], quote="Alice", aliases=["Al"])
        acme = tx.entity("Acme", "organization", artifact=chunks[0], quote="Acme")
        works = tx.edge(alice, "works at", acme, artifact=chunks[0], quote="works at Acme", valid_at="2020-01-01")
    with memory.write() as tx:
        later = tx.artifact("Alice works at Initech now.", session_id="team/2", kind="memory", valid_at="2024-01-01")
        initech = tx.entity("Initech", "organization", artifact=later)
        moved = tx.edge(alice, "works at", initech, artifact=later)
        tx.contradict(works, moved)
    return {"document": document, "chunks": chunks, "alice": alice, "works": works, "later": later, "moved": moved}


def get(client, path, status=200, **params):
    answer = client.get(f"/v1/gb/{path}", params=params)
    assert answer.status_code == status, answer.text
    return answer


def all_of(client, path, limit, **params):
    """Every record of a listing, page by page."""
    items, cursor = [], None
    while True:
        page = get(client, path, limit=limit, **({"cursor": cursor} if cursor else {}), **params).json()
        assert len(page["items"]) <= limit
        items += page["items"]
        cursor = page["cursor"]
        if cursor is None:
            return items


def test_case_45_what_was_given_comes_back_in_every_read(client, memory, stored) -> None:
    document = stored["document"]
    one = get(client, f"artifacts/{document.id}").json()
    assert one == json.loads(json.dumps(plain(memory.artifacts.get(document.id))))
    assert one["metadata"] == {"user": "alice", "n": 10**30}
    listed = get(client, "artifacts", session_id="team/1", role="document").json()["items"]
    assert listed == [one]


@pytest.mark.parametrize("limit", [1, 3, 1000])
@pytest.mark.parametrize("newest", [False, True])
def test_pages_give_every_record_once_in_order(client, memory, stored, limit, newest) -> None:
    found = all_of(client, "artifacts", limit, newest_first=newest)
    assert [each["id"] for each in found] == [
        each.id for each in memory.artifacts.list(limit=1000, newest_first=newest)
    ]
    assert len(found) > 6


@pytest.mark.parametrize("limit", [1, 2, 5, 1000])
def test_pages_of_links_give_every_link_once(client, memory, stored, limit) -> None:
    found = all_of(client, "links", limit)
    key = lambda link: (link["type"], link["from_id"], link["to_id"], link["via_id"])
    assert sorted(map(key, found)) == sorted(key(plain(link)) for link in memory.links.list())
    assert all_of(client, "links", limit, type="contradiction")[0]["via_id"] == stored["moved"].id


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({"role": "document"}, 2),
        ({"kind": "memory"}, 1),
        ({"session_id": "team/2"}, 1),
        ({"source": "https://x.example/a", "role": "summary"}, 1),
        ({"metadata": '{"user": "alice"}', "role": "document"}, 1),
        ({"metadata": '{"user": "bob"}'}, 0),
        ({"valid_since": "2023-01-01"}, 1),
        ({"valid_until": "2023-01-01"}, 0),
        ({"created_until": "2001-01-01"}, 0),
    ],
)
def test_filters_of_artifacts(client, stored, params, count) -> None:
    assert len(get(client, "artifacts", **params).json()["items"]) == count


def test_a_page_ends_early_where_its_texts_are_large_and_says_so(client, memory, monkeypatch) -> None:
    from unabridged.server.memory import artifacts

    monkeypatch.setattr(artifacts, "_STEP", 2)
    monkeypatch.setattr(artifacts, "PAGE_BYTES", 1500)
    page = get(client, "artifacts", limit=1000).json()
    assert 0 < len(page["items"]) < memory.artifacts.counts().chunks
    assert page["cursor"]
    whole = all_of(client, "artifacts", 1000)
    assert len({each["id"] for each in whole}) == len(whole) == len(memory.artifacts.list(limit=1000))
    assert all(each["text"] is None for each in get(client, "artifacts", text=False, limit=1000).json()["items"])


def test_c6_a_text_is_what_was_given_and_so_are_its_bytes(client, stored) -> None:
    path = f"artifacts/{stored['document'].id}/text"
    raw = TEXT.encode()
    whole = get(client, path)
    assert whole.content == raw
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
    assert "sandbox" in whole.headers["content-security-policy"]
    assert whole.headers["x-content-type-options"] == "nosniff"
    for chunk in stored["chunks"]:
        part = get(client, path, start=chunk.start_offset, end=chunk.end_offset).content
        assert part == raw[chunk.start_offset : chunk.end_offset]
    at = raw.index("é".encode()) if "é".encode() in raw else raw.index("É".encode())
    assert "cut a character" in get(client, path, 400, start=0, end=at + 1).json()["detail"]
    assert get(client, path, 400, start=5, end=2).json()["code"] == "invalid_input"
    assert get(client, path, 400, end=10**9).json()["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("given", "status", "span"),
    [
        ("bytes=0-4", 206, (0, 5)),
        ("bytes=5-", 206, (5, None)),
        ("bytes=-7", 206, (-7, None)),
        ("bytes=0-999999", 206, (0, None)),
        ("bytes=999999-", 416, None),
        ("bytes=-0", 416, None),
        ("bytes=9-2", 200, (0, None)),
        ("bytes=a-b", 200, (0, None)),
        ("bytes=0-1,3-4", 200, (0, None)),
        ("lines=1-2", 200, (0, None)),
        ("bytes=" + "9" * 5000 + "-", 200, (0, None)),
    ],
)
def test_ranges_as_http_has_them(client, stored, given, status, span) -> None:
    raw = TEXT.encode()
    answer = client.get(f"/v1/gb/artifacts/{stored['document'].id}/text", headers={"Range": given})
    assert answer.status_code == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(raw)}"
    else:
        assert answer.content == raw[slice(*span)]
    if status == 206:
        assert int(answer.headers["content-range"].split("/")[1]) == len(raw)


def test_etags_spare_a_second_answer_until_something_changes(client, memory, stored) -> None:
    for path in ("artifacts", f"artifacts/{stored['document'].id}/text", "entities", "stats"):
        first = get(client, path)
        tag = first.headers["etag"]
        for sent in (tag, f'"other", W/{tag}', "*"):
            again = client.get(f"/v1/gb/{path}", headers={"If-None-Match": sent})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get(f"/v1/gb/{path}", headers={"If-None-Match": '"other"'}).status_code == 200
    tag = get(client, "entities").headers["etag"]
    with memory.write() as tx:
        tx.entity("Newcomer", "person", artifact=tx.artifact("Newcomer came."))
    assert client.get("/v1/gb/entities", headers={"If-None-Match": tag}).status_code == 200
    old = client.get(
        f"/v1/gb/artifacts/{stored['document'].id}/text", headers={"Range": "bytes=0-4", "If-Range": '"x"'}
    )
    assert (old.status_code, old.content) == (200, TEXT.encode())


def test_the_graph_and_its_sources(client, stored) -> None:
    alice, works = stored["alice"].id, stored["works"].id
    assert get(client, f"entities/{alice}").json()["name"] == "Alice"
    assert [each["id"] for each in get(client, "entities", name="aL").json()["items"]] == [alice]
    assert get(client, "entities", name="Al", type="place").json()["items"] == []
    assert {each["name"] for each in get(client, "entities", type="organization").json()["items"]} >= {
        "Acme",
        "Initech",
    }
    quotes = {each["quote"] for each in get(client, f"entities/{alice}/evidence").json()}
    assert "Alice" in quotes
    current = get(client, "edges", entity=alice).json()["items"]
    assert [each["id"] for each in current] == [stored["moved"].id]
    assert [each["id"] for each in get(client, "edges", entity=alice, as_of="2021-01-01").json()["items"]] == [works]
    assert len(get(client, "edges", entity=alice, include_history=True).json()["items"]) == 2
    assert get(client, f"edges/{works}").json()["invalid_at"] == "2024-01-01T00:00:00+00:00"
    assert get(client, f"edges/{works}/evidence").json()[0]["quote"] == "works at Acme"
    assert get(client, f"edges/{works}/contradictions").json()[0]["via_id"] == stored["moved"].id
    made = get(client, f"artifacts/{stored['document'].id}/contribution").json()
    assert {each["name"] for each in made["entities"]} == {"Alice", "Acme"}
    children = get(client, f"artifacts/{stored['document'].id}/children").json()
    assert [each["chunk_index"] for each in children] == [*range(len(stored["chunks"]))]


def test_sessions_by_names_that_hold_slashes(client, stored) -> None:
    assert {each["id"] for each in get(client, "sessions").json()["items"]} >= {"team/1", "team/2"}
    assert client.get("/v1/gb/sessions/team%2F1").json()["id"] == "team/1"
    assert client.get("/v1/gb/sessions/team/9").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["artifacts/no", "artifacts/no/text", "artifacts/no/children", "artifacts/no/contribution", "entities/no",
     "entities/no/evidence", "edges/no", "edges/no/evidence", "edges/no/contradictions", "sessions/no", "series/no",
     "series/no/points", "series/no/stats", "images/no", "images/no/content", "inferences/no", "datasets/no", "nothing"],
)  # fmt: skip
def test_what_is_not_there_is_404_as_a_problem(client, path) -> None:
    answer = get(client, path, 404)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 404


@pytest.mark.parametrize("path", ["artifacts", "edges", "stats", "links", "series", "images", "export"])
def test_a_dataset_that_is_not_there_is_404(client, path) -> None:
    assert get(client, path, 404, dataset="nowhere").json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "params", "named"),
    [
        ("artifacts", {"cursor": "x"}, "cursor"),
        ("links", {"cursor": "WyJ4Il0="}, "cursor"),
        ("artifacts", {"metadata": "[1]"}, "metadata"),
        ("artifacts", {"metadata": "{"}, "metadata"),
        ("artifacts", {"created_since": "soon"}, "created_since"),
        ("edges", {"as_of": "later"}, "as_of"),
    ],
)
def test_a_filter_that_cannot_be_taken_is_400_and_named(client, path, params, named) -> None:
    assert named in get(client, path, 400, **params).json()["detail"]


def test_changes_of_an_artifact_never_of_its_text(client, memory) -> None:
    note = memory.add("A note.", metadata={"a": 1})
    changed = client.patch(
        f"/v1/gb/artifacts/{note.id}", json={"metadata": {"b": 2}, "expires_at": "2030-01-01T00:00:00Z"}
    )
    assert changed.json()["metadata"] == {"b": 2}
    assert changed.json()["expires_at"] == "2030-01-01T00:00:00+00:00"
    refused = client.patch(f"/v1/gb/artifacts/{note.id}", json={"text": "Another."})
    assert (refused.status_code, "text" in refused.json()["detail"]) == (400, True)
    assert client.patch("/v1/gb/artifacts/no", json={"metadata": {}}).status_code == 404


def test_case_39_many_are_deleted_in_one_commit_or_none(client, memory) -> None:
    notes = memory.add_many(f"Note number {n}." for n in range(85))
    seq = get(client, "stats").json()["seq"]
    ids = [note.id for note in notes]
    missing = client.delete("/v1/gb/artifacts", params={"id": [*ids, "no"]})
    assert missing.status_code == 404
    assert memory.artifacts.many(ids) == notes
    done = client.delete("/v1/gb/artifacts", params={"id": ids})
    assert len(done.json()["artifacts"]) == 85
    assert memory.artifacts.many(ids) == []
    assert get(client, "stats").json()["seq"] <= seq + 3
