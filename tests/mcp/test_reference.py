"""The reference memory server's nine tools, called as its own users call them, over a real stdio and a real port."""

from __future__ import annotations

from unabridged.memory.plain import plain

ALICE = {"name": "Alice", "entityType": "person", "observations": ["likes tea", "lives in Berlin"]}
ACME = {"name": "Acme", "entityType": "organization", "observations": []}
WORKS = {"from": "Alice", "to": "Acme", "relationType": "works_at"}


async def test_a_whole_story_through_the_nine_names(transport, connect, call, refused) -> None:
    async with connect(transport) as client:
        assert await call(client, "create_entities", entities=[ALICE, ACME]) == {"entities": [ALICE, ACME]}
        assert await call(client, "create_entities", entities=[ALICE]) == {"entities": []}
        assert await call(client, "create_relations", relations=[WORKS]) == {"relations": [WORKS]}
        assert await call(client, "create_relations", relations=[WORKS]) == {"relations": []}
        given = [{"entityName": "Alice", "contents": ["likes tea", "sings"]}]
        added = await call(client, "add_observations", observations=given)
        assert added == {"results": [{"entityName": "Alice", "addedObservations": ["sings"]}]}
        whole = await call(client, "read_graph")
        alice = {**ALICE, "observations": ["likes tea", "lives in Berlin", "sings"]}
        assert whole == {"entities": [alice, ACME], "relations": [WORKS], "more": False}
        assert (await call(client, "search_nodes", query="TEA"))["entities"] == [alice]
        assert (await call(client, "search_nodes", query="organ"))["entities"] == [ACME]
        assert (await call(client, "search_nodes", query="sings or dances"))["entities"] == [alice]
        assert (await call(client, "search_nodes", query=" "))["entities"] == whole["entities"]
        assert (await call(client, "search_nodes", query="zebra crossing"))["entities"] == []
        assert (await call(client, "open_nodes", names=["Acme", "Nobody"])) == {
            "entities": [ACME],
            "relations": [WORKS],
            "more": False,
        }
        deletions = [{"entityName": "Alice", "observations": ["likes tea", "never said"]}]
        assert (await call(client, "delete_observations", deletions=deletions))["success"]
        assert (await call(client, "delete_relations", relations=[WORKS]))["success"]
        left = await call(client, "read_graph")
        assert left == {
            "entities": [{**ALICE, "observations": ["lives in Berlin", "sings"]}, ACME],
            "relations": [],
            "more": False,
        }
        assert (await call(client, "delete_entities", entityNames=["Alice", "Nobody"]))[
            "message"
        ] == "1 entities deleted"
        assert (await call(client, "read_graph"))["entities"] == [ACME]
        assert "Zoe" in await refused(
            client, "add_observations", observations=[{"entityName": "Zoe", "contents": ["x"]}]
        )
        assert "not found" in await refused(client, "create_relations", relations=[{**WORKS, "to": "Zoe"}])


async def test_the_nine_names_work_in_any_dataset(transport, connect, call, refused) -> None:
    async with connect(transport) as client:
        if isinstance(transport, str):  # over HTTP a dataset is made by who may
            import httpx2

            async with httpx2.AsyncClient() as plain:
                made = await plain.post(transport.replace("/mcp", "/v1/gb/datasets"), json={"name": "team"})
                assert made.status_code == 201
        there = {"dataset": "team"}
        await call(client, "create_entities", entities=[ALICE, ACME], **there)
        await call(client, "create_relations", relations=[WORKS], **there)
        given = [{"entityName": "Alice", "contents": ["sings"]}]
        await call(client, "add_observations", observations=given, **there)
        whole = await call(client, "read_graph", **there)
        assert whole["relations"] == [WORKS]
        assert whole["entities"][0]["observations"] == [*ALICE["observations"], "sings"]
        assert await call(client, "read_graph") == {"entities": [], "relations": [], "more": False}
        assert (await call(client, "search_nodes", query="sings", **there))["entities"]
        assert (await call(client, "open_nodes", names=["Acme"], **there))["entities"] == [ACME]
        assert not (await call(client, "open_nodes", names=["Acme"]))["entities"]
        gone = [{"entityName": "Alice", "observations": ["sings"]}]
        assert (await call(client, "delete_observations", deletions=gone, **there))[
            "message"
        ] == "1 observations deleted"
        assert (await call(client, "delete_relations", relations=[WORKS], **there))["message"] == "1 relations deleted"
        assert (await call(client, "delete_entities", entityNames=["Alice"], **there))[
            "message"
        ] == "1 entities deleted"
        assert "not known here" in await refused(client, "read_graph", datasets="team"), "a misspelt one is no other"


async def test_promise_11_what_was_made_through_them_has_sources_and_leaves_none_behind(
    server, own, connect, call
) -> None:
    async with connect(server) as client:
        await call(client, "create_entities", entities=[ALICE, ACME])
        await call(client, "create_relations", relations=[WORKS])
        memory = own.memory("default", "read")
        memory.verify().raise_if_broken()
        edge = memory.edges.list().items[0]
        assert [each.artifact.text for each in memory.evidence(edge)] == ["Alice works_at Acme"]
        await call(client, "delete_entities", entityNames=["Alice", "Acme"])
        memory.verify().raise_if_broken()
        assert memory.artifacts.counts().documents == memory.entities.count() == memory.edges.count() == 0
        assert memory.links.list() == []


async def test_what_other_texts_say_shows_and_stays(server, own, connect, call) -> None:
    memory = own.memory("default", "write")
    with memory.write() as tx:
        note = tx.artifact("Alice met Bob in Rome.")
        long = tx.artifact("Alice! " + "There was more to it than that. " * 40)
        alice = tx.entity("Alice", "person", artifact=note)
        bob = tx.entity("Bob", "person", artifact=note)
        tx.edge(alice, "met", bob, artifact=note)
        tx.mention(alice, long, quote="Alice")
    async with connect(server) as client:
        found = await call(client, "open_nodes", names=["Alice"])
        place = f"mentioned in artifact {long.id}, bytes 0:5"
        assert found["entities"][0]["observations"] == ["Alice met Bob in Rome.", place]
        assert found["relations"] == [{"from": "Alice", "to": "Bob", "relationType": "met"}]
        await call(client, "delete_relations", relations=[{"from": "Alice", "to": "Bob", "relationType": "met"}])
        await call(client, "delete_entities", entityNames=["Alice"])
    assert [each.name for each in memory.entities.list()] == ["Bob"]
    assert memory.artifacts.counts().documents == 2
    memory.verify().raise_if_broken()


def test_withdrawing_a_fact_opens_what_it_had_ended(own) -> None:
    from unabridged.memory.deletion import withdraw

    memory = own.memory("default", "write")
    with memory.write() as tx:
        first = tx.artifact("Alice lives in Berlin.", valid_at="2020-01-01")
        alice, berlin = tx.entity("Alice", "person", artifact=first), tx.entity("Berlin", "place", artifact=first)
        old = tx.edge(alice, "lives in", berlin, artifact=first)
    with memory.write() as tx:
        second = tx.artifact("Alice moved to Paris.", valid_at="2024-01-01")
        paris = tx.entity("Paris", "place", artifact=second)
        new = tx.edge(alice, "lives in", paris, artifact=second)
        tx.contradict(old, new)
    assert memory.edges.get(old.id).invalid_at is not None
    done = memory.store.commit(lambda draft: withdraw(draft, edges=[new.id]))
    assert plain(done)["reopened"] == [old.id]
    assert memory.edges.get(old.id).invalid_at is None
    memory.verify().raise_if_broken()
