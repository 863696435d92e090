"""The graph and the vectors as the page draws them: columns, honest about what is left out."""

from __future__ import annotations

import threading
import time

import httpx
import numpy as np
import pytest
from page_seeding import ENTITIES, FACTS, crowd, tell, vector

from unabridged.memory import Memory
from unabridged.server.graph_data import MOST_EDGES, Drawings, cloud_of, graph_of


@pytest.fixture(scope="module")
def memory():
    with Memory.open("memory://") as made:
        tell(made)
        yield made


def test_every_entity_and_fact_is_there_with_its_place_and_times(memory):
    graph = graph_of(memory, limit=100)
    nodes, edges = graph["nodes"], graph["edges"]
    assert sorted(nodes["name"]) == sorted(name for name, _ in ENTITIES)
    assert graph["shown"] == graph["total"] == {"nodes": len(ENTITIES), "edges": len(FACTS)}
    assert nodes["types"][0] == "person"  # the most frequent first
    told = {
        (nodes["name"][s], edges["relations"][r], nodes["name"][t])
        for s, r, t in zip(edges["source"], edges["relation"], edges["target"], strict=True)
    }
    assert told == {(source, relation, target) for source, relation, target, *_ in FACTS}
    moved = next(
        at for at, end in enumerate(edges["invalid_at"]) if nodes["name"][edges["target"][at]] == "Lyon" and end
    )
    assert edges["invalid_at"][moved] == 1_514_764_800_000  # 2018-01-01
    assert all(abs(x) <= 10_000 and abs(y) <= 10_000 for x, y in zip(nodes["x"], nodes["y"], strict=True))
    assert sum(nodes["degree"]) == 2 * len(FACTS)


def test_what_is_left_out_is_counted_and_those_with_most_facts_stay(memory):
    graph = graph_of(memory, limit=3)
    assert graph["shown"]["nodes"] == 3
    assert graph["total"]["nodes"] == len(ENTITIES)
    assert "Acme" in graph["nodes"]["name"]
    assert max(graph["edges"]["source"] + graph["edges"]["target"]) < 3


def test_types_and_surroundings_narrow_it_down(memory):
    people = graph_of(memory, limit=100, types=["person", "organization"])
    assert set(people["nodes"]["types"]) == {"person", "organization"}
    lyon = memory.entities.find("Lyon", "place")
    near = graph_of(memory, limit=100, around=lyon.id)
    assert "Lyon" in near["nodes"]["name"]
    assert "Brightwater" not in near["nodes"]["name"]  # three steps away
    assert graph_of(memory, limit=100, around="nothing")["nodes"]["id"] == []
    assert graph_of(memory, limit=1, around=lyon.id)["nodes"]["name"] == ["Lyon"]


def test_an_empty_memory_is_an_empty_picture():
    with Memory.open("memory://") as empty:
        graph = graph_of(empty, limit=10)
        assert graph["nodes"]["id"] == graph["edges"]["id"] == []
        assert cloud_of(empty, "artifacts", limit=10, method="pca")["id"] == []


def test_many_edges_have_an_end_that_is_told(monkeypatch, memory):
    monkeypatch.setattr("unabridged.server.graph_data.MOST_EDGES", 4)
    graph = graph_of(memory, limit=100)
    assert len(graph["edges"]["id"]) == graph["shown"]["edges"] == 4
    assert graph["total"]["edges"] == len(FACTS)
    assert MOST_EDGES >= 20_000


@pytest.mark.parametrize(
    ("table", "role", "count"),
    [("entities", None, len(ENTITIES)), ("edges", None, len(FACTS)), ("artifacts", "document", 1)],
)
def test_a_cloud_has_every_vector_with_its_kind(memory, table, role, count):
    cloud = cloud_of(memory, table, limit=100, method="pca", role=role)
    assert len(cloud["id"]) == cloud["total"] == count
    assert cloud["width"] == 32
    assert 0 <= cloud["share"] <= 1
    assert all(cloud["label"])


def test_a_large_cloud_is_sampled_evenly_and_kinds_part():
    rng = np.random.default_rng(0)
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            note = tx.artifact("x", vector=vector(rng))
            for n in range(90):
                tx.entity(f"Entity {n}", f"kind {n % 2}", artifact=note, vector=vector(rng, n % 2))
        cloud = cloud_of(memory, "entities", limit=30, method="pca")
    assert (len(cloud["id"]), cloud["total"]) == (30, 90)
    spots, group = np.stack((cloud["x"], cloud["y"]), axis=1).astype(float), np.array(cloud["group"])
    middles = [spots[group == at].mean(axis=0) for at in (0, 1)]
    assert np.linalg.norm(middles[0] - middles[1]) > np.std(spots[group == 0])


def _fails():
    raise ValueError("no ink")


def test_a_drawing_is_made_once_however_many_ask():
    drawings, made = Drawings(), []

    def make():
        made.append(1)
        time.sleep(0.05)
        return "picture"

    threads = [threading.Thread(target=lambda: drawings.get("a", make)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made == [1]
    with pytest.raises(ValueError, match="no ink"):
        drawings.get("b", _fails)
    assert drawings.get("b", make) == "picture"  # what failed is tried again
    for n in range(20):
        drawings.get(n, make)
    assert drawings.get("a", make) == "picture"
    assert len(made) == 23  # it had to go, and was made again


# -- over HTTP --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(root):
    with httpx.Client(base_url=root, timeout=60) as made:
        yield made


def test_an_unchanged_drawing_is_not_sent_again(client, app):
    first = client.get("/v1/gb/graph", params={"dataset": "crowd"})
    assert first.json()["shown"] == {"nodes": 120, "edges": 200} or first.json()["total"]["nodes"] == 120
    same = client.get("/v1/gb/graph", params={"dataset": "crowd"}, headers={"if-none-match": first.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")
    crowd(app.state.server.memory("crowd"), artifacts=1, entities=1, edges=0)
    again = client.get("/v1/gb/graph", params={"dataset": "crowd"}, headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 200


@pytest.mark.parametrize("query", ["limit=0", "limit=99999999", "limit=x"])
def test_wrong_limits_are_refused(client, query):
    assert client.get(f"/v1/gb/graph?{query}").status_code == 422


def test_clouds_come_by_table_and_role(client):
    chunks = client.get("/v1/gb/graph/vectors", params={"role": "chunk"}).json()
    assert chunks["groups"] == ["chunk"]
    assert client.get("/v1/gb/graph/vectors", params={"table": "edges", "method": "random"}).json()["total"] >= len(
        FACTS
    )
    assert client.get("/v1/gb/graph/vectors", params={"table": "secrets"}).status_code == 422
    assert client.get("/v1/gb/graph", params={"dataset": "nothing"}).status_code == 404


def test_the_configuration_comes_masked(tmp_path, monkeypatch):
    from on_a_port import on_a_port
    from page_serving import application

    app = application(tmp_path, chat={"model": "m", "apiKey": "sk-very-secret-0123456789"})
    with on_a_port(app) as address, httpx.Client(base_url=address) as client:
        told = client.get("/v1/gb/configuration")
    assert told.status_code == 200
    assert "very-secret" not in told.text
    assert told.json()["settings"]["chat"]["apiKey"]
    assert {"provider", "model", "dimensions"} <= {figure["name"] for figure in told.json()["figures"]}
