"""memory/extraction/declared.py: facts that a Markdown text declares, read without a model (issue 7, part 6)."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged.memory.extraction.declared import declared


def facts(text, **options):
    found = declared(text, **options)
    return [(found.entities[e.source].name, e.relation, found.entities[e.target].name) for e in found.edges]


def quoted(text, found):
    return [text.encode()[each.start : each.end].decode() for each in found]


NOTE = """---
title: "Élodie Müller"   # who
type: Person
aliases: [Elo, 'E. Müller']
description: A chemist.
tags: [people, work]
date: 2024-05-01
works_at: "[[Acme]]"
employer: Acme Labs
friends:
  - "[[Bob]]"
  - [[Carol|Caz]]
draft: true
url: https://example.org/elodie
born: 1980-01-01
---

# Notes

She has these relations:

- lives in: [[Zürich]] (since 2020-02)
- **leads**: [[Project X#Goals|the project]], [[Project Y]]
- worked at: [[Beta]] (2015 – 2019-06) #job
- knows:: [[Dave]].
- a plain item about [[Eve]]
- note: [[Eve]] is nice
1. not: [[Numbered]]
"""


def test_front_matter_and_lines_give_facts_of_the_title():
    found = declared(NOTE)
    first = found.entities[0]
    assert (first.name, first.type, first.aliases, first.description) == (
        "Élodie Müller",
        "person",
        ("Elo", "E. Müller"),
        "A chemist.",
    )
    assert facts(NOTE) == [
        ("Élodie Müller", "works at", "Acme"),
        ("Élodie Müller", "employer", "Acme Labs"),
        ("Élodie Müller", "friends", "Bob"),
        ("Élodie Müller", "friends", "Carol"),
        ("Élodie Müller", "lives in", "Zürich"),
        ("Élodie Müller", "leads", "Project X"),
        ("Élodie Müller", "leads", "Project Y"),
        ("Élodie Müller", "worked at", "Beta"),
        ("Élodie Müller", "knows", "Dave"),
    ]
    assert (found.calls, found.notes) == ((), ())


def test_places_times_and_shown_names():
    found = declared(NOTE)
    by_name = {entity.name: entity for entity in found.entities}
    assert quoted(NOTE, found.entities) == [entity.name for entity in found.entities]
    assert (by_name["Carol"].aliases, by_name["Project X"].aliases) == (("Caz",), ("the project",))
    said = quoted(NOTE, found.edges)
    assert said[0] == '"[[Acme]]"'
    assert said[4] == "- lives in: [[Zürich]] (since 2020-02)"
    assert said[8] == "- knows:: [[Dave]]."
    times = {e.relation: (e.valid_at, e.invalid_at) for e in found.edges}
    utc = dt.UTC
    assert times["lives in"] == (dt.datetime(2020, 2, 1, tzinfo=utc), None)
    assert times["worked at"] == (dt.datetime(2015, 1, 1, tzinfo=utc), dt.datetime(2019, 6, 1, tzinfo=utc))
    assert times["knows"] == (None, None)


@pytest.mark.parametrize(
    ("when", "began", "ended"),
    [("since 2020", 2020, None), ("from 2019 to 2021", 2019, 2021), ("2019-2021", 2019, 2021), ("until 2021", None, 2021),
     ("2020", 2020, None), ("- 2021", None, 2021), ("with a friend", None, None), ("", None, None)],
)  # fmt: skip
def test_times_in_parentheses(when, began, ended):
    (edge,) = declared(f"# A\n- likes: [[B]] ({when})").edges
    assert (edge.valid_at and edge.valid_at.year, edge.invalid_at and edge.invalid_at.year) == (began, ended)


def test_the_subject_is_the_level_one_heading_above_else_the_first_else_the_name_given():
    text = "# Ann\n- knows: [[Bob]]\n\n## Relations\n- knows: [[Cid]]\n\n# Dan\n* knows: [[Ann]]\n"
    assert facts(text) == [("Ann", "knows", "Bob"), ("Ann", "knows", "Cid"), ("Dan", "knows", "Ann")]
    assert len(declared(text).entities) == 4
    assert facts("Intro.\n\n## **Ann**\n+ knows: [[Bob]]\n") == [("Ann", "knows", "Bob")]
    assert facts("- knows: [[Bob]]\n", name="Ann") == [("Ann", "knows", "Bob")]
    orphan = declared("- knows: [[Bob]]\n- knows: [[Cid]]\n")
    assert (orphan.edges, orphan.entities) == ((), ())
    assert orphan.notes == ("declared: 2 facts have no subject; give the text a title or a heading",)


def test_code_declares_nothing_and_nested_items_do():
    text = "# A\n```\n- x: [[B]]\n```\n\n    - y: [[C]]\n\n- one\n  - z: [[D]]\n  ```yaml\n  - w: [[E]]\n  ```\n- v: [[F]]\n"
    assert facts(text) == [("A", "z", "D"), ("A", "v", "F")]
    assert facts("# A\n- one\n  ~~~\n  - w: [[E]]\n") == []


def test_other_kinds_of_front_matter():
    assert facts('+++\ntitle = "Acme"\nowner = "Bolt Inc"\n+++\nText.') == [("Acme", "owner", "Bolt Inc")]
    assert facts("---\r\nname: 'It''s'\r\nowner: Bolt\r\n---\r\nText.") == [("It's", "owner", "Bolt")]
    assert facts("---\ntitle: Acme\nparts: [ '[[A]]', \"[[B]]\", C ]\n---\n") == [
        ("Acme", "parts", "A"),
        ("Acme", "parts", "B"),
        ("Acme", "parts", "C"),
    ]
    assert facts("---\ntitle: Acme\nparts: [[A]], [[B]]\n---\n") == [("Acme", "parts", "A"), ("Acme", "parts", "B")]
    assert facts("---\ntitle: Acme\nrelations:\n  - owned by: [[Bolt]] (since 2020)\n---\n") == [
        ("Acme", "owned by", "Bolt")
    ]
    assert (
        facts("---\ntitle: Acme\nnote: |\n  a long text, and more of it, over one or two lines of words\n---\n") == []
    )
    assert facts("---\nowner: Bolt\n---\n# Acme\n") == [("Acme", "owner", "Bolt")]
    assert facts("No front matter.\n---\nowner: Bolt\n---\n# Acme\n") == []


def test_what_is_no_name_is_no_fact():
    text = "---\ntitle: A\nn: 3.5\nb: yes\nempty:\nnothing: null\nlink: http://x.y\npath: ./a/b\nfile: a.png\nlong: one two three four five six seven eight nine\nself: A\nmap: {a: b}\n---\n"
    assert facts(text) == []
    assert [e.name for e in declared(text).entities] == ["A"]


def test_the_same_fact_is_one_and_an_empty_text_is_nothing():
    assert facts("---\ntitle: A\nknows: [[B]]\n---\n- Knows: [[B]]\n") == [("A", "knows", "B")]
    assert declared("").entities == ()
    assert declared("Just prose.").notes == ()


def test_a_type_holds_for_the_whole_text():
    found = declared("---\ntitle: Acme\ntype: organization\n---\n# Other\n- part of: [[ACME]]\n- owns: [[Bolt]]\n")
    assert [(e.name, e.type) for e in found.entities] == [("Acme", "organization"), ("Bolt", "unknown")]


@given(st.text(alphabet="-:[]|#ab \n`(2019)*'\"", max_size=120))
def test_any_text_is_read_with_places_that_are_true(text):
    found = declared(text, name="S")
    raw = text.encode()
    for each in (*found.entities, *found.edges):
        assert each.start is None or 0 <= each.start <= each.end <= len(raw)
    for edge in found.edges:
        assert edge.source != edge.target
        assert found.entities[edge.target].name in raw[edge.start : edge.end].decode()
