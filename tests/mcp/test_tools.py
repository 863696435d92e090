"""The memory's own tools: remembered and recalled over a real stdio and a real port, with a model that reads."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys

import pytest
from mcp.client.stdio import StdioServerParameters

from unabridged.mcp import create_server
from unabridged.mcp.place import Own
from unabridged.server import ServerSettings, create_app
from unabridged.testing import ChatRule, ChatServer

TOOLS = {
    "remember", "recall", "query", "list", "show", "forget", "graph", "timeline", "embed", "chunk_preview",
    "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
    "delete_relations", "read_graph", "search_nodes", "open_nodes",
}  # fmt: skip
LONG = "\n\n".join(
    f"Alice Moser works at Acme. Paragraph {n} says no more than that, in a few more words." for n in range(300)
)


def from_the_evidence(seen):
    """An answer that says what the first piece of evidence says."""
    said = re.search(r"^\[1\] .*\n(.+)$", seen.prompt, re.MULTILINE).group(1)
    return {"known": True, "sentences": [{"text": said, "sources": [1]}]}


@pytest.fixture(scope="module")
def chat():
    with ChatServer([ChatRule(pattern="<evidence>", answer=from_the_evidence)]) as server:
        yield server


@pytest.fixture
def settings(chat, tmp_path):
    return {
        "embedding": {"provider": "hashing", "cache": False},
        "chat": {"model": "tiny", "baseURL": chat.url, "apiKey": "sk-of-the-chat-server", "cache": False},
        "dbPath": str(tmp_path / "place"),
    }


@pytest.fixture(params=["stdio", "http"])
def reading(request, settings, tmp_path, configured, serving):
    """A server that has a chat model: as a process, and on a port."""
    if request.param == "stdio":
        path = tmp_path / "config.json"
        path.write_text(json.dumps(settings))
        script = "from unabridged.cli import main; main()"
        args = ["-c", script, "mcp", "--config", str(path)]
        yield StdioServerParameters(command=sys.executable, args=args, env={**os.environ})
        return
    keys = ServerSettings(keys_file=str(tmp_path / "keys.json"))
    with serving(create_app(configured(tmp_path, **settings), settings=keys)) as address:
        yield address + "/mcp"


@pytest.fixture
def thinking(settings, tmp_path, configured):
    """The same in this process."""
    place = Own(configured(tmp_path, **settings))
    yield place
    place.close()


async def test_a_reranker_without_a_key_is_a_note_and_can_be_left_out(
    tmp_path, configured, monkeypatch, connect, call
) -> None:
    monkeypatch.delenv("JINA_API_KEY", raising=False)
    place = Own(configured(tmp_path, recall={"rerank": {"provider": "jina"}}))
    try:
        async with connect(create_server(place)) as client:
            await call(client, "remember", text="The boiler in the cellar is serviced every May.")
            for tool, asked in (("recall", "query"), ("query", "question")):
                found = await call(client, tool, **{asked: "When is the boiler serviced?"})
                (note,) = [each for each in found["notes"] if each.startswith("rerank: ")]
                assert note.endswith("recall.rerank.apiKey: found none; give it, or set JINA_API_KEY")
                found = await call(client, tool, **{asked: "When is the boiler serviced?"}, rerank=False)
                assert not [each for each in found["notes"] if each.startswith("rerank: ")]
                assert "May" in str(found)
    finally:
        place.close()


async def test_every_tool_says_what_it_takes_gives_and_does(server, connect) -> None:
    async with connect(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == TOOLS
    for name, tool in tools.items():
        assert len(tool.description) > 40, name
        assert tool.output_schema["type"] == "object", name
        assert "ctx" not in tool.input_schema["properties"], name
        destructive = name == "forget" or name.startswith("delete_")
        reads = name in {
            "recall",
            "query",
            "list",
            "show",
            "graph",
            "timeline",
            "embed",
            "chunk_preview",
        } or name.startswith(("read_", "search_", "open_"))
        assert tool.annotations.read_only_hint == reads, name
        assert bool(tool.annotations.destructive_hint) == destructive, name


async def test_a_hit_shows_the_place_that_answers_and_where_it_stands(server, connect, call, refused) -> None:
    async with connect(server) as client:
        rest = "Nothing is said of it here. " * 100
        await call(client, "remember", text=f"{rest}The permit costs 40 francs. {rest}")
        (hit, *_) = (await call(client, "recall", query="What does the permit cost?", kinds=["passage"]))["hits"]
        assert "The permit costs 40 francs." in hit["text"]
        shown = await call(client, "show", id=hit["id"], start=hit["start"], end=hit["end"])
        assert shown["text"] in hit["text"]
        assert "it is empty" in await refused(client, "recall", query="  ")
        assert "it is empty" in await refused(client, "query", question="  ")


async def test_a_story_from_remembering_to_forgetting(reading, connect, call, refused) -> None:
    async with connect(reading) as client:
        first = await call(
            client, "remember", text="Alice Moser works at Acme.", session_id="s1", valid_at="2020-01-01"
        )
        assert {each["name"] for each in first["entities"]} == {"Alice Moser", "Acme"}
        assert [each["source"] for each in first["facts"]] == ["Alice Moser"]
        second = await call(
            client, "remember", text="Alice Moser works at Initech.", valid_at="2024-01-01", kind="memory"
        )
        found = await call(client, "recall", query="Where does Alice Moser work?")
        assert "[1]" in found["context"]
        assert found["citations"][0]["artifact_id"] in {first["artifact_id"], second["artifact_id"]}
        assert any("Initech" in hit["text"] for hit in found["hits"])
        assert (await call(client, "recall", query="violin concertos"))["hits"] == []
        answer = await call(client, "query", question="Where does Alice Moser work?", session_id="s2")
        assert answer["known"]
        assert answer["sentences"][0]["sources"][0]["quote"]
        line = await call(client, "timeline", entity="alice moser")
        assert [each["target"] for each in line["facts"]] == ["Acme", "Initech"]
        for each, text in zip(line["facts"], (first, second), strict=True):
            (source,) = each["sources"]
            assert source["artifact_id"] == text["artifact_id"]
            part = await call(client, "show", id=source["artifact_id"], start=source["start"], end=source["end"])
            assert part["text"] == source["quote"]
        near = await call(client, "graph", entities=["Acme"], depth=2, include_history=True)
        assert {each["name"] for each in near["entities"]} == {"Acme", "Alice Moser", "Initech"}
        shown = await call(client, "show", id=first["artifact_id"], start=0, end=11)
        assert (shown["kind"], shown["text"], shown["size"]) == ("artifact", "Alice Moser", 26)
        fact = await call(client, "show", id=first["facts"][0]["id"])
        assert fact["kind"] == "fact"
        assert fact["sources"][0]["artifact_id"] == first["artifact_id"]
        listed = await call(client, "list", session_id="s1")
        assert [each["id"] for each in listed["items"]] == [first["artifact_id"]]
        text = await client.read_resource(f"unabridged://artifacts/{first['artifact_id']}")
        assert text.contents[0].text == "Alice Moser works at Acme."
        part = await client.read_resource(f"unabridged://artifacts/{first['artifact_id']}/bytes/12-20")
        assert part.contents[0].text == "works at"
        gone = await call(client, "forget", ids=[second["artifact_id"]])
        assert gone["artifacts"] == [second["artifact_id"]]
        assert not gone["erased"]
        assert "no artifact" in await refused(client, "forget", ids=[second["artifact_id"]])
        erased = await call(client, "forget", session_id="s1")
        assert erased["erased"]
        assert (await call(client, "list"))["items"] == []


async def test_a_long_text_is_kept_whole_and_its_progress_told(thinking, connect) -> None:
    told = []

    async def heard(progress, total, message):
        told.append((progress, total, message))

    async with connect(create_server(thinking)) as client:
        done = await client.call_tool("remember", {"text": LONG}, progress_callback=heard)
        answer = done.structured_content
        assert answer["chunks"] > 3
        assert {"extract", "store"} <= {message for _, _, message in told}
        shown = (await client.call_tool("show", {"id": answer["artifact_id"]})).structured_content
        read, start = shown["text"], shown["next_start"]
        while start is not None:
            shown = (await client.call_tool("show", {"id": answer["artifact_id"], "start": start})).structured_content
            read, start = read + shown["text"], shown["next_start"]
        assert read == LONG


async def test_what_cannot_be_done_is_said_in_words(server, connect, refused) -> None:
    async with connect(server) as client:
        assert "recall" in await refused(client, "show", id="nothing")
        assert "no entity" in await refused(client, "timeline", entity="Nobody")
        assert "ISO 8601" in await refused(client, "recall", query="x", as_of="then")
        assert "ids" in await refused(client, "forget")
        said = await refused(client, "recall", query="x", dataset="nowhere")
        assert said == "recall: no dataset 'nowhere' is in this place; those that are: default"
        assert "valid" in (await refused(client, "embed", texts=["a text", 3])).lower()
        assert (
            await refused(client, "embed", texts=[])
            == "embed: texts: list should have at least 1 item after validation, not 0"
        )
        assert "session: not known here; known are query" in await refused(client, "recall", query="x", session="s")
        assert "sk-secret" not in await refused(client, "remember", text="x", kind="sk-secret")
        assert not (await client.call_tool("read_graph", {"anything": ""})).is_error
        for uri in (
            "unabridged://artifacts/no",
            "unabridged://artifacts/no/bytes/0-1",
            "unabridged://artifacts/no/bytes/a-b",
            "unabridged://datasets/x/artifacts/no",
            "unabridged://datasets/x/artifacts/no/bytes/0-1",
        ):
            with pytest.raises(Exception, match=r"is in the dataset|is in this place|bytes"):
                await client.read_resource(uri)


async def test_resources_are_texts_and_bytes_of_any_dataset(server, own, connect) -> None:
    note = own.memory("other", "write").add("Éloïse was here.")
    path = f"unabridged://datasets/other/artifacts/{note.id}"
    async with connect(server) as client:
        templates = {each.uri_template for each in (await client.list_resource_templates()).resource_templates}
        assert len(templates) == 4
        assert (await client.read_resource(path)).contents[0].text == "Éloïse was here."
        assert (await client.read_resource(f"{path}/bytes/0-2")).contents[0].text == "É"
        for span, said in (("0-1", "cut a character"), ("5-999", "not within"), ("a-b", "START-END")):
            with pytest.raises(Exception, match=said):
                await client.read_resource(f"{path}/bytes/{span}")


async def test_the_latest_documents_are_resources_a_page_at_a_time(transport, connect, call) -> None:
    """Over stdio and HTTP: what a client shows in its list is what the memory holds, and can be read."""
    async with connect(transport) as client:
        assert (await client.list_resources()).resources == []
        given = [{"name": f"note {n}", "entityType": "note", "observations": []} for n in range(59)]
        await call(client, "create_entities", entities=given)
        made = await call(
            client, "remember", text="The boiler\nis serviced " + "every May, " * 30, source="notes/boiler.md"
        )
        first = await client.list_resources()
        assert len(first.resources) == 50
        latest = first.resources[0]
        assert latest.uri == f"unabridged://artifacts/{made['artifact_id']}"
        assert latest.name == "notes/boiler.md"
        assert latest.title.startswith("The boiler is serviced every May, every May")
        assert (len(latest.title), latest.title[-1], latest.mime_type) == (80, "…", "text/plain")
        assert "knowledge, of 20" in latest.description
        assert latest.size == len((await client.read_resource(latest.uri)).contents[0].text)
        last = await client.list_resources(cursor=first.next_cursor)
        assert last.next_cursor is None
        assert len({each.uri for each in (*first.resources, *last.resources)}) == 60
        with pytest.raises(Exception, match="cursor: not one that a listing gave"):
            await client.list_resources(cursor="nonsense")


async def test_a_server_for_one_dataset_means_it_everywhere(tmp_path, stdio, connect, call) -> None:
    """``unabridged mcp --dataset``: the tools, the nine names, and the resources, until they are told of another."""
    stdio.args += ["--dataset", "work"]
    async with connect(stdio) as client:
        await call(
            client, "create_entities", entities=[{"name": "Acme", "entityType": "firm", "observations": ["busy"]}]
        )
        note = await call(client, "remember", text="Acme ships on Fridays.")
        assert [each["name"] for each in (await call(client, "read_graph"))["entities"]] == ["Acme"]
        assert (await client.list_resources()).resources[0].uri.endswith(note["artifact_id"])
        shown = await client.read_resource(f"unabridged://artifacts/{note['artifact_id']}")
        assert shown.contents[0].text == "Acme ships on Fridays."
        assert {each["name"] for each in (await call(client, "list", what="datasets"))["items"]} == {"work"}
        await call(client, "remember", text="Elsewhere.", dataset="home")
        assert (await call(client, "read_graph", dataset="home"))["entities"] == []
        assert (await call(client, "recall", query="Fridays", dataset="home"))["hits"] == []


async def test_the_dataset_of_a_configuration_is_meant_too(tmp_path, configured, connect, call) -> None:
    place = Own(configured(tmp_path, memory={"dataset": "configured"}))
    async with connect(create_server(place)) as client:
        note = await call(client, "remember", text="Here.")
    assert place.memory("configured", "read").artifacts.get(note["artifact_id"])
    place.close()


async def test_without_a_chat_model_query_gives_passages_and_claims_nothing(server, connect, call) -> None:
    async with connect(server) as client:
        await call(client, "remember", text="The boiler is serviced every May.")
        found = await call(client, "query", question="When is the boiler serviced?")
        assert found["known"] is None
        assert "May" in found["answer"]
        assert found["sentences"] == []
        (said,) = found["notes"]
        assert said.startswith(
            "answer: no chat model is configured: these are the passages, and no answer; use `recall`"
        )
        nothing = await call(client, "query", question="Who composed violin concertos?")
        assert nothing["known"] is None, "nobody was asked"
        assert nothing["answer"].startswith("Nothing near the question was found")


async def test_facts_and_entities_are_listed_by_what_they_are(server, own, connect, call) -> None:
    memory = own.memory("default", "write")
    with memory.write() as tx:
        note = tx.artifact("Alice works at Acme. Bob is there too.")
        alice, acme = tx.entity("Alice", "person", artifact=note), tx.entity("Acme", "organization", artifact=note)
        tx.edge(alice, "works at", acme, artifact=note)
        bob = tx.entity("Bob", "person", artifact=note)
        tx.edge(bob, "works at", acme, artifact=note)
    async with connect(server) as client:
        facts = (await call(client, "list", what="facts", entity="alice"))["items"]
        assert [(each["source"], each["target"]) for each in facts] == [("Alice", "Acme")]
        people = await call(client, "list", what="entities", type="person", limit=1)
        more = await call(client, "list", what="entities", type="person", limit=1, cursor=people["cursor"])
        assert {each["name"] for each in (*people["items"], *more["items"])} == {"Alice", "Bob"}
        around = await call(client, "graph", entities=["Acme"], limit=2)
        assert around["more"]
        shown = await call(client, "show", id=note.id)
        assert {each["name"] for each in shown["entities"]} == {"Alice", "Acme", "Bob"}
        assert len(shown["facts"]) == 2


async def test_entities_of_one_name_are_told_apart(server, own, connect, refused, call) -> None:
    memory = own.memory("default", "write")
    with memory.write() as tx:
        note = tx.artifact("Washington was born long before Washington was built.")
        person = tx.entity("Washington", "person", artifact=note)
        tx.entity("Washington", "place", artifact=note)
    async with connect(server) as client:
        assert "person" in await refused(client, "graph", entities=["washington"])
        assert (await call(client, "graph", entities=[person.id]))["entities"][0]["type"] == "person"
        shown = await call(client, "show", id=person.id)
        assert shown["sources"][0]["artifact_id"] == note.id


async def test_the_shelves_are_listed_and_shown(server, own, connect, call, refused) -> None:
    memory = own.memory("default", "write")
    series = memory.series.create("sales", session_id="s")
    image = memory.images.add(b"GIF89a" + b"\0" * 20, caption="A dot")
    memory.add("x" * 2000, session_id="s")
    async with connect(server) as client:
        assert (await call(client, "list", what="series"))["items"][0]["name"] == "sales"
        assert (await call(client, "list", what="images"))["items"][0]["caption"] == "A dot"
        assert (await call(client, "list", what="sessions"))["items"][0]["id"] == "s"
        assert (await call(client, "list", what="inferences"))["items"] == []
        assert (await call(client, "list", what="datasets"))["items"] == [{"name": "default"}]
        long = (await call(client, "list", what="artifacts"))["items"][0]
        assert (len(long["text"]), long["size"]) == (501, 2000)
        for record, kind in ((series, "series"), (image, "image")):
            assert (await call(client, "show", id=record.id))["kind"] == kind
        assert (await call(client, "show", id="s"))["kind"] == "session"
        memory.snapshot("kept")
        assert "snapshots" in await refused(client, "forget", session_id="s")
        memory.drop_snapshot("kept")
        assert (await call(client, "forget", ids=[], session_id="s"))["erased"]


async def test_entities_and_facts_are_forgotten_and_their_texts_stay(server, own, connect, call) -> None:
    memory = own.memory("default", "write")
    with memory.write() as tx:
        note = tx.artifact("Alice works at Acme, and knows Bob.")
        alice, acme, bob = (tx.entity(name, "thing", artifact=note) for name in ("Alice", "Acme", "Bob"))
        works = tx.edge(alice, "works at", acme, artifact=note)
        knows = tx.edge(alice, "knows", bob, artifact=note)
    async with connect(server) as client:
        assert (await call(client, "forget", ids=[works.id]))["facts"] == [works.id]
        gone = await call(client, "forget", ids=[bob.id])
        assert (gone["entities"], gone["facts"]) == ([bob.id], [knows.id])
    assert {each.name for each in memory.entities.list()} == {"Alice", "Acme"}
    assert memory.artifacts.get(note.id).text.startswith("Alice")
    memory.verify().raise_if_broken()


async def test_texts_are_embedded_and_cut_without_a_memory(server, connect, call) -> None:
    async with connect(server) as client:
        made = await call(client, "embed", texts=["short", "long " * 9000])
        assert [len(vector) for vector in made["vectors"]] == [made["dimensions"]] * 2
        assert made["chunks"][0] == 1 < made["chunks"][1]
        cut = await call(
            client, "chunk_preview", text="# A\n\nOne.\n\n# B\n\nTwo. " * 50, method="structural", max_tokens=64, show=2
        )
        assert cut["chunks"] > len(cut["shown"]) == 2
        assert cut["max_tokens"] <= 64
        assert cut["shown"][0]["section"]


async def test_a_read_only_server_recalls_and_stores_nothing(tmp_path, configured, connect, refused, call) -> None:
    writing = Own(configured(tmp_path))
    writing.memory("default", "write").add("The boiler is serviced every May.")
    writing.close()
    place = Own(configured(tmp_path), read_only=True)
    async with connect(create_server(place)) as client:
        assert (await call(client, "recall", query="When is the boiler serviced?"))["hits"]
        for name, given in (
            ("remember", {"text": "x"}),
            ("forget", {"ids": ["x"]}),
            ("create_entities", {"entities": []}),
        ):
            assert "--read-only" in await refused(client, name, **given)
    place.close()


async def test_over_http_a_key_may_do_what_its_rights_say(tmp_path, configured, serving) -> None:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from unabridged.server.keys import SCOPES, KeyFile

    file = tmp_path / "keys.json"
    keys = {scope: KeyFile(file).add(scope, scopes=(scope,))[1] for scope in ("read", "write", "embed")}
    keys["elsewhere"] = KeyFile(file).add("elsewhere", scopes=SCOPES, datasets=("other",))[1]
    wanted = {
        "read": {"list": True, "create_entities": False, "embed": False},
        "write": {"list": True, "create_entities": True, "embed": False},
        "embed": {"list": False, "create_entities": False, "embed": True},
        "elsewhere": {"list": True, "create_entities": False, "embed": True},
    }
    given = {"list": {"what": "datasets"}, "create_entities": {"entities": []}, "embed": {"texts": ["x"]}}
    with serving(create_app(configured(tmp_path), settings=ServerSettings(keys_file=str(file)))) as address:
        async with httpx2.AsyncClient() as plain:
            assert (await plain.post(f"{address}/mcp", json={})).status_code == 401
        for name, rights in wanted.items():
            bearer = {"Authorization": f"Bearer {keys[name]}"}
            async with (
                httpx2.AsyncClient(headers=bearer) as http,
                Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
            ):
                assert (await client.list_resources()).resources == []
                for tool, allowed in rights.items():
                    done = await client.call_tool(tool, given[tool])
                    assert done.is_error is not allowed, (name, tool, done.content)
                    assert not any(key in str(done) for key in keys.values())


async def test_a_caller_that_goes_away_stops_the_work(tmp_path, configured, settings) -> None:
    from mcp import Client

    with ChatServer(latency=0.3) as slow:
        settings["chat"] |= {"baseURL": slow.url, "concurrency": 1}
        place = Own(configured(tmp_path, **settings))
        async with Client(create_server(place)) as client:
            task = asyncio.create_task(client.call_tool("remember", {"text": LONG}))
            async with asyncio.timeout(20):
                while slow.total < 2:  # noqa: ASYNC110 (another thread counts)
                    await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(1.5)
            asked = slow.total
            await asyncio.sleep(1.0)
            assert slow.total <= asked + 1
        assert place.memory("default", "read").artifacts.counts().documents == 0
        place.close()


def test_without_the_extra_there_is_no_mcp_and_the_command_names_it(tmp_path, configured, monkeypatch, capsys) -> None:
    from starlette.testclient import TestClient

    import unabridged.mcp
    from unabridged.cli.app import run

    monkeypatch.setattr(unabridged.mcp, "find_spec", lambda name: None)
    settings = ServerSettings(keys_file=str(tmp_path / "keys.json"))
    with TestClient(create_app(configured(tmp_path), settings=settings), base_url="http://127.0.0.1") as client:
        assert client.get("/health").status_code == 200
        assert client.post("/mcp", json={}).status_code in {404, 405}
    assert run(["mcp", "--uri", str(tmp_path / "place"), "--model", "hashing"]) != 0
    assert "unabridged[mcp]" in capsys.readouterr().err
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        unabridged.mcp.nothing


def test_the_endpoint_answers_503_while_its_application_does_not_live(tmp_path, configured) -> None:
    from starlette.testclient import TestClient

    settings = ServerSettings(keys_file=str(tmp_path / "keys.json"))
    client = TestClient(create_app(configured(tmp_path), settings=settings), base_url="http://127.0.0.1")
    assert client.post("/mcp", json={}).status_code == 503


def test_what_a_models_server_or_the_store_said_is_no_tools_answer() -> None:
    from unabridged.errors import MissingExtra, NotFound, ProviderError, StoreError
    from unabridged.mcp.tools import sentence
    from unabridged.types import Fault

    refused = ProviderError("https://secret.example said: Alice", Fault("overloaded"))
    assert "secret" not in sentence(refused)
    assert "overloaded" in sentence(refused)
    lost = sentence(StoreError("a lost lease in /srv/place"))
    assert "StoreError" in lost
    assert "/srv" not in lost
    assert "unabridged[local]" in sentence(MissingExtra("onnxruntime", "local"))
    assert sentence(NotFound("not there")) == "not there"
    held = sentence(StoreError("2 snapshots hold what is to be erased", advice="drop_snapshots"))
    assert held == "2 snapshots hold what is to be erased; a person must drop them first"


async def test_a_key_has_its_limits_here_too(tmp_path, configured, serving, connect, call, refused) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from unabridged.server.keys import KeyFile

    file = KeyFile(tmp_path / "keys.json")
    _, shown = file.add("agent", tokens_per_minute=100)
    app = create_app(configured(tmp_path), settings=ServerSettings(keys_file=str(file.path)))
    with serving(app) as address:
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {shown}"}) as http,
            connect(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            await call(client, "embed", texts=["a b c d " * 20])
            said = await refused(client, "embed", texts=["e f g h " * 20])
    assert "over this key's limit of 100 tokens a minute; try again in" in said
