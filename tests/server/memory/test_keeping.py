"""Series, images, datasets, erasure, export and import, figures and proofs over HTTP (SPEC A18-A29, R6, case 41)."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
import threading
import time

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def test_series_are_made_read_and_deleted(client) -> None:
    made = client.post("/v1/gb/series", json={"name": "sales", "unit": "EUR"})
    assert made.status_code == 201
    path = f"/v1/gb/series/{made.json()['id']}"
    assert client.post("/v1/gb/series", json={"name": "sales"}).json()["id"] == made.json()["id"]
    points = [["2024-01-01T00:00:00Z", 1], ["2024-01-03T00:00:00Z", 3], ["2024-01-02T00:00:00Z", 2]]
    assert client.post(f"{path}/points", json={"points": points}).json() == {"appended": 3}
    assert [value for _, value in client.get(f"{path}/points").json()["points"]] == [1.0, 2.0, 3.0]
    since = client.get(f"{path}/points", params={"since": "2024-01-02"}).json()["points"]
    assert [value for _, value in since] == [2.0, 3.0]
    assert client.get(f"{path}/stats").json()[0]["stats"]["mean"] == 2.0
    assert len(client.get(f"{path}/stats", params={"window": 86400}).json()) == 3
    refused = client.post(f"{path}/points", json={"points": [["never", 1]]})
    assert (refused.status_code, "time" in refused.json()["detail"]) == (400, True)
    assert client.get("/v1/gb/series").json()["items"][0]["name"] == "sales"
    assert client.delete(path).json() == {"deleted": [made.json()["id"]]}
    assert client.get(path).status_code == 404


def test_images_come_back_and_run_nothing(client) -> None:
    made = client.post("/v1/gb/images", content=PNG, params={"caption": "A dot", "metadata": '{"a": 1}'})
    assert made.status_code == 201
    assert made.json()["media_type"] == "image/png"
    path = f"/v1/gb/images/{made.json()['id']}"
    content = client.get(f"{path}/content")
    assert (content.content, content.headers["content-type"]) == (PNG, "image/png")
    assert client.get(f"{path}/content", headers={"Range": "bytes=0-7"}).content == PNG[:8]
    drawn = client.post("/v1/gb/images", content=SVG).json()
    served = client.get(f"/v1/gb/images/{drawn['id']}/content")
    assert served.headers["content-disposition"].startswith("attachment")
    assert served.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert client.post("/v1/gb/images", content=b"hello").status_code == 400
    assert [each["id"] for each in client.get("/v1/gb/images").json()["items"]] == [made.json()["id"], drawn["id"]]
    for one in (made, drawn):
        key = one["id"] if isinstance(one, dict) else one.json()["id"]
        assert client.delete(f"/v1/gb/images/{key}").json() == {"deleted": [key]}
    assert client.get(path).status_code == 404


def test_a_file_over_the_limit_is_413(client, monkeypatch) -> None:
    from unabridged.server.memory import bodies

    class Sent:
        async def stream(self):
            for _ in range(4):
                yield b"x" * 100

    import asyncio

    with pytest.raises(Exception, match="over the limit of 250") as caught:
        asyncio.run(bodies._reader(250)(Sent()))
    assert caught.value.status == 413


def test_a28_datasets_are_made_listed_and_deleted_whole(client) -> None:
    made = client.post("/v1/gb/datasets", json={"name": "team/x ü"})
    assert made.status_code == 201
    assert client.post("/v1/gb/datasets", json={"name": "team/x ü"}).status_code == 200
    assert "team/x ü" in [each["name"] for each in client.get("/v1/gb/datasets").json()["items"]]
    put = client.post("/v1/gb/remember", params={"dataset": "team/x ü"}, json={"text": "Only here.", "extract": False})
    assert put.status_code == 200
    assert client.get("/v1/gb/artifacts", params={"dataset": "team/x ü"}).json()["items"][0]["text"] == "Only here."
    assert put.json()["artifact_id"] not in client.get("/v1/gb/artifacts").text
    assert client.get("/v1/gb/datasets/team%2Fx%20%C3%BC").json() == made.json()
    assert client.delete("/v1/gb/datasets/team%2Fx%20%C3%BC").json() == made.json()
    assert client.get("/v1/gb/artifacts", params={"dataset": "team/x ü"}).status_code == 404
    assert client.delete("/v1/gb/datasets/team%2Fx%20%C3%BC").status_code == 404
    blank = client.post("/v1/gb/datasets", json={"name": " "})
    assert (blank.status_code, "dataset" in blank.json()["detail"]) == (400, True)


def test_r6_an_export_imported_is_the_same_and_a_bad_one_leaves_nothing(client, memory) -> None:
    memory.images.add(PNG, session_id="s")
    with memory.write() as tx:
        note = tx.artifact("Alice works at Acme.", metadata={"user": "alice"})
        tx.edge(
            tx.entity("Alice", "person", artifact=note),
            "works at",
            tx.entity("Acme", "org", artifact=note),
            artifact=note,
        )
    for form in ("jsonl", "parquet"):
        packed = client.get("/v1/gb/export", params={"format": form})
        assert packed.headers["content-type"] == "application/x-tar"
        with tarfile.open(fileobj=io.BytesIO(packed.content)) as tar:
            manifest = json.load(tar.extractfile("manifest.json"))
        assert manifest["tables"]["edges"]["rows"] == memory.edges.count()
        done = client.post("/v1/gb/import", params={"dataset": form}, content=packed.content)
        assert done.status_code == 201, done.text
        same = client.get("/v1/gb/export", params={"dataset": form, "format": form})
        assert _rows(same.content) == _rows(packed.content)
        assert client.get("/v1/gb/verify", params={"dataset": form}).json()["ok"]
        again = client.post("/v1/gb/import", params={"dataset": form}, content=packed.content)
        assert (again.status_code, again.json()["code"]) == (409, "not_empty")
    for body in (
        b"",
        b"no tar",
        _tar("../evil", b"x"),
        _tar("files/" + "a" * 64 + "/../../x", b"x"),
        _tar("manifest.json", b"{}"),
    ):
        bad = client.post("/v1/gb/import", params={"dataset": "bad"}, content=body)
        assert bad.status_code == 400, bad.text
        assert "bad" not in [each["name"] for each in client.get("/v1/gb/datasets").json()["items"]]


def _rows(raw):
    """The files of an export by name, without the manifest, which says when and where."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        return {
            m.name: tar.extractfile(m).read() for m in tar if m.name != "manifest.json" and m.name.endswith(".jsonl")
        }


def _tar(name, raw):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        about = tarfile.TarInfo(name)
        about.size = len(raw)
        tar.addfile(about, io.BytesIO(raw))
    return made.getvalue()


def test_a_tar_that_says_less_than_it_holds_is_stopped(tmp_path) -> None:
    from unabridged.errors import InputError
    from unabridged.server.memory.archive import unpack

    with pytest.raises(InputError, match="more than 10 bytes"):
        unpack(io.BytesIO(_tar("manifest.json", b"x" * 11)), tmp_path, 10)


def test_a29_case_41_erasing_a_user_is_proven(client, memory) -> None:
    secret = "The passphrase of Mallory is correct horse battery staple, and nobody else's."
    kept = memory.add("Something else entirely, which stays where it is.", metadata={"user": "bob"})
    memory.add(secret, metadata={"user": "mallory"}, session_id="m1")
    done = client.post("/v1/gb/erase", json={"metadata": {"user": "mallory"}})
    assert done.status_code == 200, done.text
    answer = done.json()
    assert len(answer["deletion"]["artifacts"]) == 1
    assert answer["proof"]["ids_found"] == answer["proof"]["passages_found"] == 0
    assert answer["proof"]["files"] > 0
    assert memory.artifacts.get(kept.id)
    assert "correct horse" not in client.get("/v1/gb/artifacts").text
    assert client.post("/v1/gb/erase", json={}).status_code == 400


def test_a29_an_erasure_waits_for_who_is_reading(client, memory) -> None:
    memory.add("Of a session that somebody is just looking at, among others.", session_id="seen")
    reading, done = threading.Event(), []

    def read():
        with memory.pinned() as reader:
            reading.set()
            time.sleep(0.4)
            done.append(len(reader.artifacts.list(session_id="seen")))

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait(10)
    erased = client.delete("/v1/gb/sessions/seen")
    thread.join()
    assert (erased.status_code, done) == (200, [1])
    assert erased.json()["proof"]["passages_found"] == 0


def test_a29_a_session_deleted_is_erased_and_snapshots_are_not_let_go_silently(client, memory) -> None:
    memory.add("Of one session alone, and of no other one at all.", session_id="gone")
    memory.snapshot("before")
    for refused in (
        client.delete("/v1/gb/sessions/gone"),
        client.post("/v1/gb/erase", json={"session_id": "gone"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "snapshots_hold_it")
    done = client.delete("/v1/gb/sessions/gone", params={"drop_snapshots": True}).json()
    assert done["sessions"] == 1
    assert done["proof"]["passages_found"] == 0
    assert client.get("/v1/gb/sessions/gone").status_code == 404
    assert client.delete("/v1/gb/sessions/gone").status_code == 404


def test_a18_inferences_are_listed_summed_and_deleted(client, memory) -> None:
    from unabridged.memory.records import Inference
    from unabridged.memory.values import new_id, now

    model = memory.models.register("tiny", "test")
    rows = [
        Inference(id=new_id(), stage=stage, created_at=now(), model_id=model.id, tokens_in=10, cost=0.5, session_id="s")
        for stage in ("extract_graph", "summarize_chunk", "extract_graph")
    ]
    memory.inferences.append(rows)
    assert len(client.get("/v1/gb/inferences", params={"session_id": "s"}).json()["items"]) == 3
    found = client.get("/v1/gb/inferences", params={"stage": "extract_graph", "limit": 1}).json()
    rest = client.get(
        "/v1/gb/inferences", params={"stage": "extract_graph", "limit": 1, "cursor": found["cursor"]}
    ).json()
    assert [*found["items"], *rest["items"]] == [json.loads(json.dumps(each)) for each in _plain([rows[0], rows[2]])]
    assert client.get("/v1/gb/inferences/cost").json() == {"tokens_in": 30, "tokens_out": 0, "cost": 1.5}
    assert [each["name"] for each in client.get("/v1/gb/models").json()["items"]] == ["tiny"]
    assert client.delete(f"/v1/gb/inferences/{rows[0].id}").json() == {"deleted": [rows[0].id]}
    assert client.get(f"/v1/gb/inferences/{rows[0].id}").status_code == 404


def _plain(records):
    from unabridged.memory.plain import plain

    return plain(records)


def test_a25_figures_and_proofs(client, memory) -> None:
    found = client.get("/v1/gb/stats").json()
    assert set(found["vectors"]) == {
        "documents",
        "chunks",
        "summaries",
        "web_searches",
        "observations",
        "entities",
        "edges",
    }
    assert found["vectors"]["documents"]["expected"] == memory.artifacts.counts().documents
    for method in (client.get, client.post):
        report = method("/v1/gb/verify").json()
        assert report["ok"]
        assert len(report["checks"]) > 10


def test_a15_what_has_no_vector_gets_one(client, memory) -> None:
    memory.add("Stored without an embedder.", embed=False)
    before = client.get("/v1/gb/stats").json()["vectors"]["documents"]
    assert before["expected"] == before["present"] + 1
    assert client.post("/v1/gb/embed").json() == {"embedded": 1}
    memory.embedder, embedder = None, memory.embedder
    refused = client.post("/v1/gb/embed")
    memory.embedder = embedder
    assert (refused.status_code, refused.json()["code"]) == (409, "no_embedder")


def test_an_export_that_fails_leaves_nothing_behind(client, memory, monkeypatch, tmp_path) -> None:
    from unabridged.errors import StoreError

    def full(*_, **__):
        raise StoreError("no room is left")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(memory, "export", full)
    refused = client.get("/v1/gb/export")
    assert (refused.status_code, list(tmp_path.iterdir())) == (503, [])
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert client.get("/v1/gb/export").status_code == 200
    assert list(tmp_path.iterdir()) == []
