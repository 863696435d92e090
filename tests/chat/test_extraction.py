"""memory/extraction/extraction.py: entities and facts grounded in quotes, summaries, prompts; over real HTTP."""

import datetime as dt
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged.errors import ChatError, InputError
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.memory.extraction.extraction import aextract, asummarize, extract, summarize
from unabridged.memory.extraction.grounding import Ground
from unabridged.memory.extraction.prompts import EXTRACTION_SCHEMA, extraction_messages, summary_messages
from unabridged.memory.extraction.read import UNKNOWN_TYPE, date_of, graph_of
from unabridged.testing import ChatRule, ChatServer


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


def answering(value):
    return Asker(lambda messages: json.dumps(value))


def at(text, found):
    return None if found.start is None else text.encode()[found.start : found.end].decode()


@pytest.fixture(scope="module")
def server():
    with ChatServer() as running:
        yield running


# -- the whole way -------------------------------------------------------------------------------------


def test_a26_the_worked_example(server, ask_at):
    text = "Alice works at Acme."
    found = extract(text, ask_at(server))
    assert [(e.name, e.type, at(text, e)) for e in found.entities] == [
        ("Alice", "person", "Alice"),
        ("Acme", "organization", "Acme"),
    ]
    (edge,) = found.edges
    assert (edge.source, edge.relation, edge.target, edge.fact, at(text, edge)) == (
        0,
        "works at",
        1,
        "Alice works at Acme",
        text,
    )
    assert [(call.stage, call.status) for call in found.calls] == [("extract_graph", "ok")]
    assert found.notes == ()


def test_offsets_are_bytes_of_any_text(server, ask_at):
    text = "Ünïcode — 日本語 😀.\nÉlodie lives in Zürich since 2020."
    found = extract(text, ask_at(server))
    assert [at(text, e) for e in found.entities] == ["Élodie", "Zürich"]
    assert at(text, found.edges[0]) == "Élodie lives in Zürich since 2020."
    assert found.edges[0].valid_at == utc(2020, 1, 1)


def test_pronouns_find_the_known_entities(server, ask_at):
    text = "She moved to Paris."
    found = extract(text, ask_at(server), known=[("Acme", "organization"), ("Alice", "person")])
    assert [(e.name, e.type, at(text, e)) for e in found.entities] == [
        ("Alice", "person", text),
        ("Paris", "place", "Paris"),
    ]
    assert extract(text, ask_at(server)).entities == ()
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            alice = tx.entity("Alice", "person", artifact=tx.artifact("Alice."))
        again = extract(text, ask_at(server), known=[alice, *found.entities])
    assert again.entities[0].name == "Alice"


def test_case_45_the_reference_time_is_told_to_the_microsecond(server, ask_at):
    extract(
        "Alice left.",
        ask_at(server),
        reference_time=dt.datetime(2024, 5, 1, 12, 0, 0, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    )
    assert "Reference time: 2024-05-01T10:00:00.000001+00:00" in server.requests[-1].asked
    with pytest.raises(InputError, match="reference_time"):
        extract("Alice left.", ask_at(server), reference_time="yesterday")


def test_a_retry_is_free_and_what_changes_the_question_is_not(server, ask_at):
    asker, before = ask_at(server, cache=True), server.total
    for _ in range(2):
        extract("Alice works at Acme.", asker)
        summarize("Alice works at Acme.", asker)
        extract("Alice works at Acme.", asker, known=[("Bob", "person")])
        extract("Alice works at Acme.", asker, reference_time=utc(2024, 1, 1))
    assert server.total - before == 4
    assert asker.forget(["Alice works at Acme."]) == 4


def test_a_blank_text_asks_nothing(server, ask_at):
    before = server.total
    assert extract(" \n", ask_at(server)).entities == ()
    assert server.total == before


def test_a18_model_and_reasoning_of_a_call(server, ask_at):
    asker = ask_at(server, models={"extract_graph": "staged"})
    assert extract("Alice left.", asker).calls[0].model == "staged"
    (call,) = extract("Alice left.", asker, model="mine", reasoning="high").calls
    assert (call.model, call.reasoning) == ("mine", "high")
    assert summarize("Alice left.", asker, model="other").calls[0].model == "other"


async def test_tasks_do_the_same(server, ask_at):
    asker, text = ask_at(server), "Alice works at Acme."
    assert (await aextract(text, asker)).edges == extract(text, asker).edges
    assert (await asummarize(text, asker)).text == summarize(text, asker).text == text
    assert (await aextract("", asker)).edges == ()


def test_case_38_an_extraction_that_cannot_be_read_is_an_error_with_its_calls(ask_at):
    with ChatServer([ChatRule(answer="I would rather not.")]) as server, pytest.raises(ChatError) as raised:
        extract("Alice works at Acme.", ask_at(server))
    assert len(raised.value.calls) == 2


# -- summaries -----------------------------------------------------------------------------------------


def test_a17_a_summary_sees_its_text_only_and_has_512_tokens(server, ask_at):
    text = "Alice works at Acme. Bob left in 2021. It cost $1M. More was said."
    found = summarize(text, ask_at(server))
    assert found.text == "Alice works at Acme. Bob left in 2021. It cost $1M."
    seen = server.requests[-1]
    assert (seen.body["max_tokens"], seen.form, seen.asked) == (512, "plain", f"<text>\n{text}\n</text>")
    assert found.calls[0].stage == "summarize_chunk"
    assert text not in repr(found)


@pytest.mark.parametrize(
    "said", ["It is so.", "<think>Hm.</think>It is so.", "Summary: It is so.", "**Summary:** It is so.", "```\nIt is so.\n```",
             '"It is so."', "Here is a summary:\nIt is so."],
)  # fmt: skip
def test_a_summary_is_plain_prose_whatever_is_around_it(said):
    assert summarize("x", Asker(lambda messages: said)).text == "It is so."


def test_a13_an_empty_or_cut_off_summary_is_an_error(ask_at):
    with ChatServer([ChatRule(answer="")]) as server, pytest.raises(ChatError) as raised:
        summarize("Text.", ask_at(server))
    assert raised.value.reason == "empty"
    with ChatServer([ChatRule(answer="So it is.", finish="length")]) as server, pytest.raises(ChatError) as raised:
        summarize("Text.", ask_at(server))
    assert (raised.value.reason, len(raised.value.calls)) == ("truncated", 2)


# -- what a model may say ------------------------------------------------------------------------------


def graph(text, known=(), **value):
    return graph_of({"entities": [], "edges": [], **value}, text, known)


def test_case_37_one_entity_for_a_name_and_type_and_two_for_two_types():
    entities, edges, _ = graph(
        "Washington crossed the Delaware. Washington is a city.",
        entities=[
            {"name": "Washington", "type": "Person", "aliases": ["G. W.", "Washington"]},
            {"name": "washington ", "type": "person", "aliases": ["George"], "description": "a general"},
            {"name": "Washington", "type": "place"},
        ],
        edges=[
            {"source": "Washington (place)", "relation": "is named after", "target": "Washington (person)"},
            {"source": "George", "relation": "visited", "target": "Washington (place)"},
        ],
    )
    assert [(e.name, e.type, e.aliases, e.description) for e in entities] == [
        ("Washington", "person", ("G. W.", "George"), "a general"),
        ("Washington", "place", (), None),
    ]
    assert [(edge.source, edge.target) for edge in edges] == [(1, 0), (0, 1)]


def test_ends_of_facts_by_name_number_known_entity_or_new():
    text = "Alice Smith works at Acme, and Bob knows her. They met Carol."
    entities, edges, _ = graph(
        text,
        known=[("Carol Jones", "person"), "Dave"],
        entities=[
            {"name": "Alice Smith", "type": "person", "aliases": ["Alice"]},
            {"name": "Acme", "type": "organization"},
        ],
        edges=[
            {"source": "0", "relation": "works at", "target": "1"},
            {"source": "Bob", "relation": "knows", "target": "alice"},
            {"source": "Bob", "relation": "met", "target": "carol  jones"},
        ],
    )
    assert [(e.name, e.type) for e in entities] == [
        ("Alice Smith", "person"), ("Acme", "organization"), ("Bob", UNKNOWN_TYPE), ("Carol Jones", "person"),
    ]  # fmt: skip
    assert [(e.source, e.target) for e in edges] == [(0, 1), (2, 0), (2, 3)]
    assert [at(text, e) for e in entities] == ["Alice Smith", "Acme", "Bob", None]
    assert edges[1].fact == "Bob knows Alice Smith"
    assert [at(text, e) for e in edges] == ["Alice Smith works at Acme", "Alice Smith works at Acme, and Bob", None]


def test_case_34_spellings_of_a_type_are_one_type():
    entities, edges, _ = graph(
        "DGIA hired.",
        entities=[{"name": "DGIA", "type": kind} for kind in ("Organization", "organisation", "ORG", "organizations")],
        edges=[{"source": "DGIA (organisation)", "relation": "hired", "target": "Ann"}],
    )
    assert [(e.name, e.type) for e in entities] == [("DGIA", "organization"), ("Ann", UNKNOWN_TYPE)]
    assert (edges[0].source, edges[0].target) == (0, 1)


def test_what_cannot_be_stored_is_left_out_and_said():
    entities, edges, notes = graph(
        "A knows B.",
        entities=[
            {"name": " ", "type": "x"},
            {"name": "A", "type": ""},
            {"name": "x" * 70_000, "type": "y"},
            {"name": None},
        ],
        edges=[
            {"source": "A", "relation": "", "target": "B"},
            {"source": "A", "relation": "knows", "target": None},
            {"source": "A", "relation": "is", "target": "a"},
            {"source": "A", "relation": "knows", "target": "B", "quote": "B knows A"},
            {"source": "A", "relation": "Knows", "target": "B", "fact": "a knows  b"},
            {"source": "A", "relation": "dwarfs", "target": "Zeus"},
        ],
    )
    assert [(e.name, e.type) for e in entities] == [("A", UNKNOWN_TYPE), ("B", UNKNOWN_TYPE), ("Zeus", UNKNOWN_TYPE)]
    assert [(e.relation, e.start) for e in edges] == [("knows", 0), ("dwarfs", None)]
    assert notes == (
        "extraction: 5 of the answer's items without a usable name or relation, left out",
        "extraction: 1 of the answer's items from a thing to itself, left out",
        "extraction: 1 of the answer's items with no quote that the text has, kept without a place",
    )


def test_a_lone_surrogate_of_a_model_is_replaced():
    entities, _, _ = graph("x", entities=[{"name": "A\ud800", "type": "t"}])
    assert entities[0].name == "A?"


@pytest.mark.parametrize(
    ("said", "moment"),
    [
        ("2021", utc(2021, 1, 1)), ("2021-7", utc(2021, 7, 1)), ("2021-07-31", utc(2021, 7, 31)), ("2021-06-31", utc(2021, 6, 30)),
        ("2021-13-01", utc(2021, 12, 1)), ("2021-07-31T10:00:00Z", utc(2021, 7, 31, 10)), ("2021-07-31T10:00:00+02:00", utc(2021, 7, 31, 8)),
        ("2021-07-31 10:00", utc(2021, 7, 31, 10)), ("0000", None), ("", None), (None, None), ("null", None), ("last week", None), (2021, None),
        ("9999-12-31T23:59:59-14:00", None),
    ],
)  # fmt: skip
def test_dates_as_models_write_them(said, moment):
    assert date_of(said) == moment


def test_a_fact_that_ends_before_it_begins_has_no_end():
    _, edges, _ = graph(
        "A knows B.",
        edges=[{"source": "A", "relation": "knows", "target": "B", "valid_at": "2021", "invalid_at": "2020"}],
    )
    assert (edges[0].valid_at, edges[0].invalid_at) == (utc(2021, 1, 1), None)


# -- grounding -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Alice’s firm", "Alice's  firm"),
        ("alice's firm", "Alice's  firm"),
        ('"Alice\'s firm"', "Alice's  firm"),
        ("Alice's firm — Acme", "Alice's  firm – Acme"),
        ("Alice's firm ... Café", "Alice's  firm – Acme\n(est. 1999), and the Café"),
        ("Acme (est. 1999)", "Acme\n(est. 1999)"),
        ("…the Café…", "the Café"),
        ("Alice firm", None),
        ("… …", None),
        ("", None),
        (None, None),
        ("x" * 5000, None),
        ("Café ... Acme", None),
    ],
)
def test_quotes_are_found_as_models_copy_them_and_never_made_up(quote, found):
    text = "Ça! Alice's  firm – Acme\n(est. 1999), and the Café."
    start, end = Ground(text).quote(quote)
    assert (None if start is None else text.encode()[start:end].decode()) == found


@given(st.text(min_size=1, max_size=80), st.data())
def test_a_quote_that_is_a_slice_is_always_found(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end].strip()
    found = Ground(text).quote(quote)
    if not quote:
        assert found == (None, None)
    else:
        raw = text.encode("utf-8", "surrogatepass")
        assert raw[found[0] : found[1]] == quote.encode("utf-8", "surrogatepass")


def test_names_are_found_as_words_first():
    text = "Annapolis is no Anna. 東京都 has 東京."
    assert text.encode()[slice(*Ground(text).mention("Anna", (), None))].decode() == "Anna"
    assert Ground(text).mention("Anna", (), None)[0] == 16
    assert text.encode()[slice(*Ground(text).mention("東京", (), None))].decode() == "東京"
    assert Ground(text).mention("nap", (), None) == (None, None)
    assert Ground(text).mention("Nobody", ("annapolis",), None) == (0, 9)


# -- prompts -------------------------------------------------------------------------------------------


def test_the_schema_is_strict_as_openai_wants_it():
    def check(node):
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
            for each in node["properties"].values():
                check(each)
        elif node.get("type") == "array":
            check(node["items"])

    check(EXTRACTION_SCHEMA)


def test_known_entities_are_shown_once_and_not_without_end():
    known = [("A", "t"), ("A", "t"), *((f"E{n}", "t") for n in range(500))]
    asked = extraction_messages("Text.", known=known)[-1]["content"]
    assert asked.count("- A (t)") == 1
    assert asked.count("\n- ") == 80
    assert "- Bob\n" in extraction_messages("Text.", known=["Bob"])[-1]["content"]
    assert summary_messages("Text.")[-1]["content"] == "<text>\nText.\n</text>"
