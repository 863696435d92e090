"""What a stated fact is to those that are known: rules first, then a model's answer, read with mistrust (cases 35, 38)."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged.memory.records import Edge
from unabridged.memory.remember.resolution import NEW, Claim, Untrusted, candidates, compare, restatement
from unabridged.memory.remember.wording import amounts, wording
from unabridged.memory.values import edge_key

BEGAN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def edge(id_, source, relation, target, fact, **more):
    key = edge_key(source, relation, target, fact)
    return Edge(
        id=id_, source_id=source, relation=relation, target_id=target, fact=fact, key=key, created_at=BEGAN, **more
    )


def claim(source, relation, target, fact, *, began=BEGAN, vector=None):
    return Claim(source, relation, target, fact, edge_key(source, relation, target, fact), began, vector=vector)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("raised $1M", "raised US$1,000,000"),
        ("raised $1.5 million", "raised 1,500,000 dollars"),
        ("raised one million dollars", "raised USD 1000000"),
        ("paid €2bn", "paid 2 billion euros"),
        ("grew 5 percent", "grew 5%"),
        ("has 3,000 people", "has 3000 people"),
        ("has 2K users", "has 2,000 users"),
    ],
)
def test_case_35_amounts_of_one_value_have_one_spelling(one, other):
    assert amounts(one) == amounts(other)


@pytest.mark.parametrize(
    "kept", ["a pool 5m deep", "v1.2.3", "at 10.5 km", "room B2", "1,23 of it", "on 2024-01-02", ""]
)
def test_what_may_be_no_amount_stays(kept):
    assert amounts(kept) == kept


@given(st.text(max_size=80))
def test_amounts_and_wording_take_any_text_and_settle(text):
    assert amounts(amounts(text)) == amounts(text)
    assert wording("a", text, "b", text) == wording("a", text, "b", text)


@pytest.mark.parametrize(
    ("active", "passive"),
    [
        (("acquired", "Acme acquired Beta for $1M"), ("was acquired by", "Beta was acquired by Acme for $1,000,000.")),
        (("owns", "Acme owns Beta"), ("owned by", "Beta is owned by Acme")),
        (("wrote", "Acme wrote Beta"), ("written_by", "Beta was written by Acme")),
        (("acquired", "Acme acquired the Beta"), ("has been acquired by", "The Beta has been acquired by Acme")),
    ],
)
def test_case_35_active_and_passive_are_one_fact(active, passive):
    assert wording("acme", active[0], "beta", active[1]) == wording("beta", passive[0], "acme", passive[1])


def test_who_does_it_to_whom_stays_apart():
    one = wording("acme", "acquired", "beta", "Acme acquired Beta")
    assert one != wording("beta", "acquired", "acme", "Beta acquired Acme")
    assert one != wording("acme", "was acquired by", "beta", "Acme was acquired by Beta")
    assert wording("p", "is CTO of", "a", "P is CTO of A") != wording("p", "was CTO of", "a", "P was CTO of A")
    assert wording("p", "works at", "a", "P works at A") != wording("p", "worked at", "a", "P worked at A")
    assert wording("a", "owns", "b", "A owns B") != wording("b", "was owned by", "a", "B was owned by A")
    assert wording("a", "paid", "b", "A paid B $1M") != wording("a", "paid", "b", "A paid B $2M")


def test_exact_duplicates_need_no_model():
    known = [edge("e1", "acme", "acquired", "beta", "Acme acquired Beta for $1M")]
    assert restatement(claim("acme", "Acquired", "beta", "acme  acquired Beta for $1M"), known).id == "e1"
    said = claim("beta", "was acquired by", "acme", "Beta was acquired by Acme for 1,000,000 dollars")
    assert restatement(said, known).id == "e1"
    assert restatement(claim("acme", "acquired", "beta", "Acme acquired Beta for $2M"), known) is None
    assert restatement(claim("acme", "acquired", "gamma", "Acme acquired Beta for $1M"), known) is None


def test_a_fact_that_was_over_before_is_not_restated():
    over = edge("e1", "a", "lives in", "b", "A lives in B", invalid_at=BEGAN)
    later = claim("a", "lives in", "b", "A lives in B", began=BEGAN + dt.timedelta(days=1))
    assert restatement(later, [over]) is None
    assert candidates(later, [over], {}) == ()


def test_candidates_are_of_the_same_subject_or_pair_the_likeliest_first_and_capped():
    vectors = {f"e{n}": np.array([1.0, n / 10], np.float32) for n in range(20)}
    same = [edge(f"e{n}", "a", "likes", f"t{n}", f"A likes T{n}") for n in range(20)]
    reverse = edge("r", "b", "knows", "a", "B knows A")
    other = edge("o", "c", "knows", "b", "C knows B")
    asked = claim("a", "met", "b", "A met B", vector=np.array([1.0, 0.0], np.float32))
    found = candidates(asked, [*same, reverse, other], vectors, most=4)
    assert [each.id for each in found] == ["r", "e0", "e1", "e2"]
    assert [each.id for each in candidates(claim("a", "likes", "t7", "A likes T7 a lot"), same, {}, most=1)] == ["e7"]


def _comparison():
    known = [edge("e1", "a", "lives in", "b", "A lives in B"), edge("e2", "a", "works at", "c", "A works at C")]
    asked = [
        claim("a", "moved to", "d", "A moved to D"),
        claim("x", "is", "y", "X is Y"),
        claim("a", "eats", "f", "A eats F"),
    ]
    return compare(asked, [known, [], known[:1]])


def test_only_claims_with_candidates_are_asked_about():
    comparison = _comparison()
    assert [each.fact for each in comparison.claims] == ["A moved to D", "A eats F"]
    assert comparison.offered == (frozenset({0, 1}), frozenset({0}))
    said = comparison.messages[-1]["content"]
    assert "1. A lives in B" in said
    assert "2. A eats F (compare with 1)" in said
    assert "e1" not in said
    assert compare([claim("a", "is", "b", "A is B")], [[]]) is None


def test_a_call_has_a_cap_and_each_claim_keeps_its_likeliest():
    edges = [edge(f"e{n}", f"s{n % 3}", "r", "t", f"fact {n}") for n in range(9)]
    asked = [claim(f"s{n}", "r", "u", f"new {n}") for n in range(3)]
    comparison = compare(asked, [edges[n::3] for n in range(3)], most=4)
    assert len(comparison.known) == 4
    assert [len(places) for places in comparison.offered] == [2, 1, 1]


def test_verdicts():
    comparison = _comparison()
    answer = [
        {"fact": 1, "verdict": "contradicted", "known": [1, 2, 1]},
        {"fact": 2, "verdict": "duplicate", "known": [1]},
    ]
    verdicts = comparison.read({"decisions": answer})
    assert [(each.kind, each.known) for each in verdicts] == [("contradicted", ("e1", "e2")), ("duplicate", ("e1",))]
    assert comparison.read({"decisions": []}) == [NEW, NEW]
    assert comparison.read([{"fact": 1, "verdict": "new", "known": None}]) == [NEW, NEW]


@pytest.mark.parametrize(
    "decision",
    [
        {"fact": 3, "verdict": "new", "known": []},
        {"fact": 0, "verdict": "new", "known": []},
        {"fact": True, "verdict": "new", "known": []},
        {"fact": 1, "verdict": "duplicate", "known": [3]},
        {"fact": 1, "verdict": "duplicate", "known": ["e1"]},
        {"fact": 2, "verdict": "contradicted", "known": [2]},
        {"fact": 1, "verdict": "duplicate", "known": []},
        {"fact": 1, "verdict": "same", "known": [1]},
        {"fact": 1, "verdict": "duplicate", "known": "1"},
        "duplicate",
    ],
)
def test_case_38_an_answer_that_names_what_it_was_not_given_is_not_trusted(decision):
    with pytest.raises(Untrusted):
        _comparison().read({"decisions": [decision]})


@pytest.mark.parametrize(
    "answer", [None, {}, "text", {"decisions": {}}, {"decisions": [{"fact": 1, "verdict": "new", "known": []}] * 2}]
)
def test_case_38_an_answer_without_decisions_or_with_two_for_one_is_not_trusted(answer):
    with pytest.raises(Untrusted):
        _comparison().read(answer)
