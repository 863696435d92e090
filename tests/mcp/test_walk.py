"""What an agent sees: every tool, template and prompt through the official client, its words counted and read."""

from __future__ import annotations

import json

import pytest

LONG = "\n\n".join(
    f"## Boiler {n}\n\nThe boiler of house {n} is serviced every May by the firm Keller, and its pressure is {n} bar. "
    + "It stands in the cellar behind the stairs. " * 12
    for n in range(40)
)
ALICE = {"name": "Alice", "entityType": "person", "observations": ["likes tea"]}
ACME = {"name": "Acme", "entityType": "organization", "observations": []}
WORKS = {"from": "Alice", "to": "Acme", "relationType": "works_at"}
# Each tool as an agent would call it, in an order in which each finds what it needs.
CALLS = [
    ("remember", {"text": LONG, "source": "boilers.md", "metadata": {"house": "all"}}),
    ("recall", {"query": "When is a boiler serviced?"}),
    ("query", {"question": "When is a boiler serviced?"}),
    ("list", {}),
    ("list", {"what": "artifacts", "limit": 3}),
    ("create_entities", {"entities": [ALICE, ACME]}),
    ("create_relations", {"relations": [WORKS]}),
    ("add_observations", {"observations": [{"entityName": "Alice", "contents": ["has a cat"]}]}),
    ("graph", {"entities": ["Alice"]}),
    ("timeline", {"entity": "alice"}),
    ("read_graph", {}),
    ("search_nodes", {"query": "tea"}),
    ("open_nodes", {"names": ["Acme"]}),
    ("show", {"id": "{entity}"}),
    ("embed", {"texts": ["a text"]}),
    ("chunk_preview", {"text": LONG, "max_tokens": 200, "show": 1}),
    ("delete_observations", {"deletions": [{"entityName": "Alice", "observations": ["has a cat"]}]}),
    ("delete_relations", {"relations": [WORKS]}),
    ("delete_entities", {"entityNames": ["Alice", "Acme"]}),
    ("forget", {"source": "boilers.md"}),
]


def words_of(schema):
    """Every key and value of a schema."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            yield name, value
            yield from words_of(value)
    if isinstance(schema, list):
        for each in schema:
            yield from words_of(each)


async def test_what_an_agent_reads_of_the_tools_is_short_and_says_what_each_argument_is(server, connect) -> None:
    async with connect(server) as client:
        tools = (await client.list_tools()).tools
    told = [json.dumps({"name": t.name, "description": t.description, "schema": t.input_schema}) for t in tools]
    assert sum(map(len, told)) < 17_000, "an agent pays for these words in every conversation"
    for tool in tools:
        assert tool.title, tool.name
        assert tool.description.rstrip()[-1] in ".)`", tool.name
        seen = [*words_of(tool.input_schema)]
        assert not [name for name, value in seen if name == "title" and isinstance(value, str)], tool.name
        assert ("type", "null") not in seen, tool.name
        for name, about in tool.input_schema["properties"].items():
            assert about.get("description") or "items" in about, f"{tool.name}.{name} says nothing of itself"


async def test_every_tool_answers_and_its_text_is_its_answer(transport, connect) -> None:
    """Over stdio and HTTP; the client holds each answer against the tool's own schema."""
    async with connect(transport) as client:
        entity = ""
        for name, given in CALLS:
            asked = {key: value.format(entity=entity) if value == "{entity}" else value for key, value in given.items()}
            done = await client.call_tool(name, asked)
            assert not done.is_error, (name, done.content)
            (text,) = done.content
            assert json.loads(text.text) == done.structured_content, name
            assert "\n" not in text.text, name
            if name == "graph":
                entity = done.structured_content["entities"][0]["id"]
        assert {name for name, _ in CALLS} == {tool.name for tool in (await client.list_tools()).tools}


async def test_a_recall_costs_an_agent_what_it_asks_for(server, connect, call) -> None:
    """Not each text thrice: whole in `context`, begun in the hits, and a place in the sources."""
    async with connect(server) as client:
        await call(client, "remember", text=LONG, source="boilers.md")
        found = await call(client, "recall", query="boiler serviced in May", budget_tokens=500, limit=8)
        assert len(found["hits"]) == 8
        assert all(len(hit["text"]) <= 301 and len(hit["sources"]) <= 3 for hit in found["hits"])
        assert "null" not in json.dumps(found)
        rest = len(json.dumps(found)) - len(found["context"])
        assert len(found["context"]) < 4000
        assert rest < 8000
        shown = await call(client, "show", id=found["hits"][0]["id"])
        assert shown["text"].startswith(found["hits"][0]["text"].removesuffix("…"))
        answer = await call(client, "query", question="boiler serviced in May")
        assert len(answer["answer"]) < 12_000
        documents = await call(client, "list")
        assert [each["source"] for each in documents["items"]] == ["boilers.md"]
        assert not {"embedder", "splitter", "parent_id"} & documents["items"][0].keys()
        parts = await call(client, "list", what="artifacts", limit=100)
        assert {each["role"] for each in parts["items"]} == {"document", "chunk"}


async def test_prompts_say_what_to_do_with_the_tools(transport, connect) -> None:
    async with connect(transport) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        prompts = {each.name: each for each in (await client.list_prompts()).prompts}
        assert set(prompts) == {"answer_from_memory", "keep_this_conversation", "review_memory"}
        for name, prompt in prompts.items():
            assert prompt.title
            assert prompt.description.endswith(".")
            given = {each.name: "the boiler {in} the cellar" for each in prompt.arguments or ()}
            assert all(each.required and each.description for each in prompt.arguments or ())
            (message,) = (await client.get_prompt(name, given)).messages
            said = message.content.text
            assert all(value in said for value in given.values())
            named = {word.strip("`.,") for word in said.split() if word.startswith("`")}
            assert named <= tools, name
            assert named


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("recall", {"query": "x", "as_of": "May"}, "recall: as_of: not a moment in ISO 8601, such as 2024-05-01T12:00:00Z"),
        ("recall", {}, "recall: query: field required"),
        ("recall", {"query": "x", "sesion_id": "s"}, "recall: sesion_id: not known here; known are query, limit"),
        ("remember", {"text": " "}, "remember: text: is empty or blank; give it at least one character that shows"),
        ("show", {"id": "nope"}, "show: nothing of that id is in the memory; ids come from `recall`, `list` and"),
        ("timeline", {"entity": "Nobody"}, "timeline: no entity of that id or name is in the dataset"),
        ("forget", {"ids": ["nope"]}, "forget: 1 of the ids is no artifact, entity or fact of the memory; nothing was"),
        ("create_relations", {"relations": [WORKS]}, "create_relations: Entity with name Alice not found"),
    ],
)  # fmt: skip
async def test_errors_are_sentences_that_begin_with_the_tool(server, connect, refused, tool, given, said) -> None:
    async with connect(server) as client:
        assert (await refused(client, tool, **given)).startswith(said)
