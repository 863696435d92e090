"""Case 41: what only a deleted text said of an entity that others mention too goes with it."""

import json

import pytest

from unabridged.memory import Memory


def tell(memory, text, **entity):
    with memory.write() as tx:
        note = tx.artifact(text)
        tx.entity("Alice Smith", "person", artifact=note, **entity)
    return note


def only(memory):
    (entity,) = memory.entities.list()
    return entity


def test_case_41_a_description_and_an_alias_of_a_deleted_text_go_with_it(memory, tmp_path):
    secret = tell(
        memory,
        "Alice Smith, the Zebra Queen, breeds zebras in secret.",
        description="breeds zebras",
        aliases=["Zebra Queen"],
    )
    tell(memory, "Alice Smith lives in Paris.", aliases=["Alice"])
    assert (only(memory).description, only(memory).aliases) == ("breeds zebras", ("Zebra Queen", "Alice"))
    memory.delete(secret)
    assert (only(memory).description, only(memory).aliases) == (None, ("Alice",))
    memory.export(tmp_path / "out")
    exported = "".join(path.read_text("utf-8") for path in (tmp_path / "out").glob("*.jsonl"))
    assert "zebra" not in exported.casefold()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["tables"]["entities"]["rows"] == 1


def test_what_another_text_says_as_well_stays(memory):
    first = tell(memory, "Alice Smith is a chemist at Acme.", description="a chemist", aliases=["Ali"])
    tell(memory, "The chemist Alice Smith, or Ali, moved.")
    memory.delete(first)
    assert (only(memory).description, only(memory).aliases) == ("a chemist", ("Ali",))


def test_words_that_the_deleted_text_does_not_have_are_not_its_own(memory):
    told = tell(memory, "Alice Smith was there.", description="somebody from elsewhere")
    tell(memory, "Alice Smith left.")
    memory.delete(told)
    assert only(memory).description == "somebody from elsewhere"


def test_scripts_without_spaces_are_told_apart_by_characters(memory):
    told = tell(memory, "Alice Smith 是秘密化学家。", description="秘密化学家")
    tell(memory, "Alice Smith 住在巴黎。")
    memory.delete(told)
    assert only(memory).description is None


def test_k5_a_text_that_replaces_another_in_the_same_commit_speaks_for_what_stays(memory):
    old = tell(memory, "Alice Smith, the Zebra Queen, is a chemist.", description="a chemist", aliases=["Zebra Queen"])
    with memory.write() as tx:
        new = tx.artifact("Alice Smith is a chemist, called Al.")
        tx.entity("Alice Smith", "person", artifact=new, aliases=["Al"])
        tx.delete([old])
    assert (only(memory).description, only(memory).aliases) == ("a chemist", ("Al",))


@pytest.mark.parametrize("policy", ["delete", "keep"])
def test_an_entity_that_nobody_mentions_any_more_says_nothing_of_what_was_deleted(place, policy):
    with Memory.open(place, unsupported=policy) as memory:
        told = tell(memory, "Alice Smith breeds zebras.", description="breeds zebras")
        memory.delete(told)
        left = list(memory.entities.list())
        assert [entity.description for entity in left] == ([None] if policy == "keep" else [])
        memory.verify().raise_if_broken()
