"""providers/chat_json.py: case 38, what models write around, instead of, and short of JSON."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged.memory.extraction.prompts import ALIASES, EXTRACTION_SCHEMA
from unabridged.providers.chat_json import Misfit, fitted, read_answer, without_thought

ALICE = {"name": "Alice", "type": "person", "aliases": [], "description": None, "quote": "Alice"}
ACME = {"name": "Acme", "type": "organization", "aliases": ["ACME"], "description": "a firm", "quote": "Acme"}
EDGE = {
    "source": "Alice", "relation": "works at", "target": "Acme", "fact": 'Alice "works" at Acme {sic} [1].',
    "valid_at": None, "invalid_at": None, "quote": "Alice works at Acme",
}  # fmt: skip
GRAPH = {"entities": [ALICE, ACME], "edges": [EDGE]}
TEXT = json.dumps(GRAPH)


def read(text):
    return read_answer(text, EXTRACTION_SCHEMA, ALIASES)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        json.dumps(GRAPH, indent=2),
        f"\ufeff{TEXT}",
        f"<think>Is it {{this}}? [no]</think>\n{TEXT}",
        f"<think>a</think><think>b</think>{TEXT}",
        f"<Thinking>\nLet me see\n</Thinking>{TEXT}",
        f"it must be {{}}.</think>{TEXT}",
        f"Sure. <think>hm</think> {TEXT}",
        f"<|channel|>analysis<|message|>Hm {{}}.<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}<|return|>",
        f"{TEXT}<|im_end|>",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\nThat is all.",
        f"Here is [the answer] you want:\n{TEXT}\nShall I go on? {{}}",
        TEXT.replace("]", ",]").replace("[,]", "[]"),
        TEXT.replace("}", ",}"),
        repr(GRAPH),
        json.dumps(TEXT),
        json.dumps([GRAPH]),
        json.dumps([ALICE, EDGE, ACME]),
        json.dumps({"answer": GRAPH}),
        json.dumps({"answer": TEXT}),
        json.dumps({"response": {"result": GRAPH}}),
        json.dumps({"knowledge_graph": GRAPH}),
        f'<tool_call>{{"name": "answer", "arguments": {TEXT}}}</tool_call>',
        json.dumps({"name": "answer", "parameters": GRAPH}),
        json.dumps({"type": "object", "properties": GRAPH, "required": ["entities", "edges"]}),
        json.dumps({**GRAPH, "confidence": 0.9}),
        TEXT.replace('"description": null', '"description": "null"', 0),
        f"{TEXT}\n{TEXT}",
    ],
)
def test_case_38_the_graph_is_read_whatever_is_around_it(text):
    assert read(text) == GRAPH


@pytest.mark.parametrize(
    ("value", "entities", "edges"),
    [
        ([ALICE], 1, 0),
        ([EDGE], 0, 1),
        ({"nodes": [{"entity": "Alice", "category": "person"}], "relationships": []}, 1, 0),
        ({"triples": [{"subject": "Alice", "predicate": "works at", "object": "Acme"}]}, 0, 1),
        ({"relations": [{"head": "Alice", "type": "works at", "tail": "Acme"}], "entities": None}, 0, 1),
        ({"entities": ALICE, "edges": []}, 1, 0),
        ({"entities": []}, 0, 0),
        ([], 0, 0),
    ],
)
def test_case_38_bare_arrays_other_names_and_missing_parts(value, entities, edges):
    graph = read(json.dumps(value))
    assert (len(graph["entities"]), len(graph["edges"])) == (entities, edges)
    assert all(row["name"] == "Alice" for row in graph["entities"])
    assert all(
        (row["source"], row["relation"], row["target"]) == ("Alice", "works at", "Acme") for row in graph["edges"]
    )


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(EXTRACTION_SCHEMA),
        json.dumps({"$schema": "x", **EXTRACTION_SCHEMA}),
        json.dumps({"type": "json_schema", "schema": EXTRACTION_SCHEMA}),
        "I cannot do that.",
        "<think>never ends [",
        "",
        "null",
        "42",
        json.dumps([1, 2]),
        json.dumps([EDGE, "and more"]),
        json.dumps({"entities": "none", "edges": 3}),
        json.dumps({"other": 1}),
        json.dumps({"entities": [{"foo": 1}], "edges": []}),
        "{not json}",
        "```json\n```",
    ],
)
def test_case_38_what_is_no_answer_is_a_misfit(text):
    with pytest.raises(Misfit) as raised:
        read(text)
    assert not raised.value.cut
    assert "Alice" not in str(raised.value)


def test_case_38_an_answer_that_is_cut_off_anywhere_is_never_read_in_part():
    for at in range(1, len(TEXT)):
        with pytest.raises(Misfit) as raised:
            read(TEXT[:at])
        assert raised.value.cut, at


@pytest.mark.parametrize(
    "before", ["Here is [the answer] {you} want: ", '{"entities": [], "edges": []} is the form. ', "```json\n"]
)
def test_case_38_nor_is_one_that_is_cut_off_after_prose_or_an_example(before):
    for at in range(2, len(TEXT)):
        with pytest.raises(Misfit) as raised:
            read(before + TEXT[:at])
        assert raised.value.cut, at


def test_case_38_an_example_of_the_form_before_the_answer_is_not_the_answer():
    assert read(f'The form is {{"entities": [], "edges": []}}, so:\n{TEXT}') == GRAPH
    assert read(f"[1] {TEXT} [] ]") == GRAPH


def test_case_38_a_part_of_what_is_no_json_is_no_answer():
    with pytest.raises(Misfit, match="not JSON"):
        read(TEXT.replace('"works at"', "works at"))


def test_case_38_a_cut_array_is_not_read_in_part_either():
    items = json.dumps([ALICE, ACME, EDGE])
    for at in range(1, len(items)):
        with pytest.raises(Misfit):
            read(items[:at])


def test_thoughts_are_left_out_of_prose_and_nothing_else_is():
    assert without_thought("<think>a\n</think>\n\nThe end.") == "The end."
    assert without_thought("a < b and </b> are kept.") == "a < b and </b> are kept."
    assert without_thought("Before. <think>now what") == "Before."
    assert without_thought('{"quote": "the tag </think> ends it"}') == '{"quote": "the tag </think> ends it"}'


def test_values_are_converted_only_where_nothing_is_guessed():
    def one(kind, value, **more):
        return fitted({"v": value}, {"type": "object", "properties": {"v": {"type": kind, **more}}})["v"]

    assert (one("integer", "3"), one("integer", 3.0), one("number", "2.5"), one("string", 7)) == (3, 3, 2.5, "7")
    assert (one("boolean", "yes"), one("boolean", False), one("string", True)) == (True, False, "true")
    assert one("string", " New ", enum=["new", "old"]) == "new"
    assert one(["string", "null"], None) is None
    assert one("array", None) == []
    assert one("array", "a", items={"type": "string"}) == ["a"]
    assert one(["integer", "null"], None) is None
    for kind, value in [
        ("integer", 1.5), ("integer", True), ("number", "x"), ("number", "nan"), ("number", "1e999"), ("integer", None),
        ("boolean", "perhaps"), ("boolean", []), ("string", {}), ("string", None), ("array", 5), ("object", []),
    ]:  # fmt: skip
        with pytest.raises(Misfit, match=r"the answer\.v is no"):
            one(kind, value)
    with pytest.raises(Misfit, match="none of new, old"):
        one("string", "else", enum=["new", "old"])


def test_what_is_missing_is_told_unless_nothing_can_be_meant_but_nothing():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array"}, "c": {"type": "string"}, "d": {"type": ["integer", "null"]}},
        "required": ["a", "b", "c", "d"],
    }  # fmt: skip
    assert fitted({"a": 1}, schema) == {"a": 1, "b": [], "c": "", "d": None}
    with pytest.raises(Misfit, match=r"the answer\.a is missing"):
        fitted({"b": []}, schema)
    chosen = {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"enum": ["p"], "type": "string"}},
        "required": ["y"],
    }
    with pytest.raises(Misfit, match=r"\.y is missing"):
        fitted({"x": "1"}, chosen)
    assert fitted({"any": [1]}, {"type": "object"}) == {"any": [1]}
    assert fitted([1, "x"], {}) == [1, "x"]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 50_000,
        "[" * 50_000,
        '{"a":' * 20_000,
        "{}" * 30_000,
        "[a " * 30_000,
        "[a] " * 30_000,
        '"' * 50_000,
        "<think>" * 9000,
    ],
)
def test_awkward_answers_cost_no_more_than_a_moment(text):
    started = time.thread_time()
    with pytest.raises(Misfit):
        read(text)
    assert time.thread_time() - started < 2.0


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["entities", "edges", "name", "source", "x"]), inner, max_size=3), max_leaves=12),
       st.sampled_from(["%s", "```\n%s\n```", "<think>{</think>%s", "so: %s", "%s…"]))  # fmt: skip
def test_any_value_is_read_or_a_misfit(value, frame):
    try:
        graph = read(frame.replace("%s", json.dumps(value)))
    except Misfit:
        return
    assert set(graph) <= {"entities", "edges"}


@given(st.text(max_size=60))
def test_any_text_is_read_or_a_misfit(text):
    with contextlib.suppress(Misfit):
        read(text)
