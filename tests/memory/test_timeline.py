"""An entity through time and what stands around it."""

import datetime as dt

import pytest

from unabridged.errors import InputError, NotFound
from unabridged.memory import Memory
from unabridged.memory.recall.lanes_graph import page_rank


@pytest.fixture
def moves():
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            one = tx.artifact("Ben lives in Berlin.", valid_at="2020-01-01", source="a.md")
            ben = tx.entity("Ben", "person", artifact=one, aliases=["Benjamin"])
            old = tx.edge(ben, "lives in", tx.entity("Berlin", "place", artifact=one), artifact=one)
        with memory.write() as tx:
            two = tx.artifact("Ben moved to Paris.", valid_at="2023-06-01", source="b.md")
            paris = tx.entity("Paris", "place", artifact=two)
            new = tx.edge(ben, "lives in", paris, artifact=two)
            tx.contradict(old.id, new)
            tx.edge(paris, "is in", tx.entity("France", "place", artifact=two), artifact=two)
            tx.entity("Paris", "person", artifact=two)
        yield memory, old, new


def test_a_timeline_has_what_held_when_and_what_ended_it(moves):
    memory, old, new = moves
    found = memory.timeline("benjamin")
    assert [each.edge.id for each in found.periods] == [old.id, new.id]
    first, second = found.periods
    assert (first.since.year, first.until.year, second.until) == (2020, 2023, None)
    assert first.closed_by == (new.id,)
    assert first.other.name == "Berlin"
    assert first.evidence[0].source == "a.md"
    assert [each.edge.id for each in found.at(dt.datetime(2021, 1, 1, tzinfo=dt.UTC))] == [old.id]
    assert found.to_dict()["periods"][0]["closed_by"] == [new.id]
    before = first.evidence[0].created_at
    assert [each.edge.id for each in memory.timeline("Ben", known_at=before).periods] == [old.id]
    assert memory.timeline("Ben", known_at=before).periods[0].until is None


def test_a_name_that_several_have_needs_its_type(moves):
    memory, _, new = moves
    with pytest.raises(InputError, match=r"2 entities have this name; give its type \(person, place\)"):
        memory.timeline("Paris")
    assert memory.timeline("Paris", type="place").periods[0].edge.id == new.id
    assert memory.timeline(memory.entities.find("Paris", "place")).entity.type == "place"
    with pytest.raises(NotFound):
        memory.timeline("Nobody")


def test_what_is_known_by_its_name_alone_is_the_one_thing_of_that_name():
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            note = tx.artifact("Alice works at Acme. Alice leads the tunnel.")
            bare, alice = tx.entity("Alice", "unknown", artifact=note), tx.entity("Alice", "person", artifact=note)
            tx.edge(bare, "works at", tx.entity("Acme", "unknown", artifact=note), artifact=note)
            tx.edge(alice, "leads", tx.entity("tunnel", "project", artifact=note), artifact=note)
        found = memory.timeline("Alice")
        assert found.entity.type == "person"
        assert {each.other.name for each in found.periods} == {"Acme", "tunnel"}
        with memory.write() as tx:
            tx.entity("Alice", "ship", artifact=note)
        with pytest.raises(InputError, match="give its type"):
            memory.timeline("Alice")
        assert len(memory.timeline(memory.entities.find("Alice", "person")).periods) == 1


def test_a_neighbourhood_is_what_stands_within_so_many_facts(moves):
    memory, _, _ = moves
    assert [each.name for each in memory.neighbourhood("Ben").entities] == ["Ben", "Paris"]
    wide = memory.neighbourhood("Ben", depth=2)
    assert [each.name for each in wide.entities] == ["Ben", "Paris", "France"]
    assert len(wide.edges) == 2
    assert abs(sum(wide.near.values()) - 1) < 1e-6
    assert "Berlin" in [each.name for each in memory.neighbourhood(["Ben"], include_history=True).entities]
    assert "Berlin" in [each.name for each in memory.neighbourhood(["Ben"], as_of="2021-01-01").entities]
    assert len(memory.neighbourhood("Ben", depth=2, limit=2).entities) == 2
    assert memory.neighbourhood([]).entities == ()
    assert wide.to_dict()["entities"][0]["name"] == "Ben"
    for wrong in ({"depth": 0}, {"depth": 9}, {"limit": 0}):
        with pytest.raises(InputError):
            memory.neighbourhood("Ben", **wrong)


def test_rank_flows_little_through_a_hub():
    facts = [(f"h{n}", "a", f"x{n}") for n in range(50)] + [("s", "b", "y")]
    rank = page_rank(facts, {"a": 1.0, "b": 1.0})
    assert rank["y"] > 5 * rank["x1"]
    assert abs(sum(rank.values()) - 1) < 1e-9
