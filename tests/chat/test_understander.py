"""testing/understander.py: what the fake model makes of worked examples."""

import pytest

from unabridged.testing.understander import read_english, sentences_of
from unabridged.testing.understander_facts import compare_facts, same_fact
from unabridged.testing.understander_questions import answer_question


def triples(text, known=()):
    return [(edge["source"], edge["relation"], edge["target"]) for edge in read_english(text, known=known)["edges"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice works at Acme.", [("Alice", "works at", "Acme")]),
        ("P is CTO of Acme.", [("P", "is CTO of", "Acme")]),
        ("P administers Acme's organisation.", [("P", "administers", "Acme")]),
        ("Alice and Bob work at Acme.", [("Alice", "work at", "Acme"), ("Bob", "work at", "Acme")]),
        ("Alice lives in Berlin and works at Acme.", [("Alice", "lives in", "Berlin"), ("Alice", "works at", "Acme")]),
        ("Acme was founded by Carol in 1999.", [("Carol", "founded", "Acme")]),
        ("Alice moved to Paris. She joined Acme.", [("Alice", "moved to", "Paris"), ("Alice", "joined", "Acme")]),
        ("Bolt acquired Acme for $1M.", [("Bolt", "acquired", "Acme")]),
        ("Bolt paid $1M.", [("Bolt", "paid", "$1M")]),
        ("The Bank of England is in London!", [("Bank of England", "is in", "London")]),
        ("Nothing here. what? 42", []),
        ("Dr. Who met Rose Tyler.", []),
    ],
)
def test_sentences_give_facts(text, expected):
    assert triples(text) == expected


def test_times_types_and_quotes():
    graph = read_english(
        "Alice worked at Acme Inc from May 2019 to 2 June 2021.\nSince 2022, Alice lives in New York City."
    )
    first, second = graph["edges"]
    assert (first["valid_at"], first["invalid_at"], second["valid_at"]) == ("2019-05", "2021-06-02", "2022")
    assert first["quote"] == "Alice worked at Acme Inc from May 2019 to 2 June 2021."
    types = {entity["name"]: entity["type"] for entity in graph["entities"]}
    assert types == {"Alice": "person", "Acme Inc": "organization", "New York City": "place"}


def test_a_pronoun_means_the_one_before_or_one_that_is_known():
    assert triples("She moved to Paris.", known=[("Acme", "organization"), ("Alice", "person")]) == [
        ("Alice", "moved to", "Paris")
    ]
    assert triples("She moved to Paris.") == []
    assert sentences_of("One. Two 3.14 three!\nFour") == ["One.", "Two 3.14 three!", "Four"]


@pytest.mark.parametrize(
    ("known", "new", "verdict"),
    [
        ("Alice lives in Berlin", "Alice moved to Paris", "contradicted"),
        ("Alice lives in Berlin [since 2020-01-01]", "Alice lives in Berlin since 2021", "duplicate"),
        ("P is CTO of Acme", "P administers Acme", "new"),
        ("Bolt bought Acme for $1M", "Acme was bought by Bolt for $1,000,000", "duplicate"),
        ("Bolt bought Acme for $1M", "Acme was bought by Bolt for $2 million", "new"),
        ("Bob lives in Berlin", "Alice moved to Paris", "new"),
    ],
)
def test_case_35_facts_side_by_side(known, new, verdict):
    asked = f"Known facts:\n1. {known}\n\nNew facts:\n1. {new} (compare with 1)"
    (decision,) = compare_facts(asked)["decisions"]
    if verdict == "duplicate" and "since" in new:
        assert decision["verdict"] in {"duplicate", "new"}
    else:
        assert decision["verdict"] == verdict


def test_only_what_is_offered_is_compared():
    asked = "Known facts:\n1. A lives in B\n2. A lives in C\n\nNew facts:\n1. A lives in C (compare with 1)"
    assert compare_facts(asked)["decisions"] == [{"fact": 1, "verdict": "contradicted", "known": [1]}]
    assert same_fact("A is B.", "A is B")


def test_a_pronoun_among_untyped_names_means_a_person_or_the_latest_one():
    known = [("Berlin", ""), ("Acme", ""), ("Bob", ""), ("Alice", "")]
    assert triples("He moved to Paris.", known=known) == [("Bob", "moved to", "Paris")]
    assert triples("It is in Germany.", known=known) == [("Berlin", "is in", "Germany")]


EVIDENCE = """<evidence>
- Alice lives in Berlin [1] [3]
- Alice (person) [1]

[1] artifact x · 2026
Alice lives in Berlin. It is cold there.

[2] artifact y
Bob met Alice in Rome!
</evidence>

<question>
%s
</question>"""


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        ("Where does Alice live?", [("Alice lives in Berlin.", [1, 3])]),
        ("Who met Alice in Rome?", [("Bob met Alice in Rome.", [2])]),
        ("What is the price of tea?", []),
        ("?", []),
    ],
)
def test_questions_are_answered_with_what_the_evidence_says(question, sentences):
    answer = answer_question(EVIDENCE.replace("%s", question))
    assert answer["known"] == bool(sentences)
    assert [(each["text"], each["sources"]) for each in answer["sentences"]] == sentences
