"""What JSON, a calendar or a file system cannot hold is told so, and the rest comes back as it was (A1, case 45)."""

import datetime as dt
import shutil

import pytest

from unabridged.errors import InputError
from unabridged.memory import Memory
from unabridged.memory.dataset import Handle
from unabridged.memory.objects import local_files
from unabridged.memory.trouble import Gone


def nested(levels, inner=1):
    for level in range(levels):
        inner = {"a": inner} if level % 2 == 0 else [inner]
    return inner if isinstance(inner, dict) else {"a": inner}


HARD = {
    "nested": (nested(5000), "nested more than 100 levels deep"),
    "many digits": ({"n": 10**6000}, r"metadata.\*: a number of more than 4,300 digits"),
    "many digits inside": ({"n": [[-(10**4300)]]}, "a number of more than 4,300 digits"),
    "a long key over many values": ({"k" * 100_000: list(range(50_000))}, "keys are too long for so many values"),
}


@pytest.mark.parametrize("name", HARD)
def test_metadata_that_cannot_be_kept_is_refused(name):
    metadata, said = HARD[name]
    with Memory.open("memory://") as memory:
        for ask in (lambda: memory.add("text", metadata=metadata), lambda: memory.artifacts.list(metadata=metadata)):
            with pytest.raises(InputError, match=said):
                ask()
        assert memory.artifacts.counts().documents == 0


@pytest.mark.parametrize("metadata", [nested(90), {"n": 10**4299}, {"k" * 1000: list(range(5000))}, {"": {"": None}}])
def test_case_45_what_can_be_kept_comes_back(metadata):
    with Memory.open("memory://") as memory:
        note = memory.add("text", metadata=metadata)
        assert memory.artifacts.get(note.id).metadata == metadata
        assert [each.id for each in memory.artifacts.list(metadata=metadata)] == [note.id]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_a_moment_outside_the_calendar_is_refused(moment):
    with Memory.open("memory://") as memory, pytest.raises(InputError, match="valid_at: in UTC it lies outside"):
        memory.add("text", valid_at=moment)


def test_a_fact_holds_to_the_microsecond(say):
    """From its beginning, which it includes, to its end, which it does not; known from when it was learned (DESIGN §5)."""
    tick = dt.timedelta(microseconds=1)
    begin, end = (dt.datetime(year, 1, 1, microsecond=1, tzinfo=dt.UTC) for year in (2020, 2021))
    with Memory.open("memory://") as memory:
        with memory.write() as tx:
            note = tx.artifact("Alice worked at Acme", valid_at=begin)
            one, two = (tx.entity(name, "thing", artifact=note) for name in ("Alice", "Acme"))
            tx.edge(one, "works at", two, artifact=note, invalid_at=end)
        (edge,) = memory.edges.list(include_history=True)
        held = {at: len(memory.edges.list(as_of=at)) for at in (begin - tick, begin, end - tick, end)}
        assert list(held.values()) == [0, 1, 1, 0]
        known = [
            len(memory.edges.list(known_at=edge.created_at - lag, include_history=True)) for lag in (tick, 0 * tick)
        ]
        assert known == [0, 1]


@pytest.mark.parametrize("dated", [False, True])
def test_case_35_a_clock_that_was_set_back_turns_no_fact_round(dated):
    """What the memory is told later ends what it knew, unless either has a date of its own."""
    with Memory.open("memory://") as memory:
        found = {}
        for city, ahead in (("Berlin", dt.timedelta(days=1)), ("Paris", dt.timedelta(0))):
            with memory.write() as tx:
                tx.gathered.created_at += ahead
                note = tx.artifact(f"Alice lives in {city}")
                one, two = tx.entity("Alice", "person", artifact=note), tx.entity(city, "city", artifact=note)
                given = {"valid_at": "2020-01-01"} if dated and city == "Paris" else {}
                edge = tx.edge(one, "lives in", two, artifact=note, **given)
                for known in found.values():
                    tx.contradict(known, by=edge)
            found[city] = tx.stored(edge)
        ends = {city: memory.edges.get(edge.id).invalid_at for city, edge in found.items()}
        if dated:  # a backdated fact ends by itself, when the other begins
            assert ends == {"Berlin": None, "Paris": found["Berlin"].created_at}
        else:
            assert ends == {"Berlin": found["Paris"].created_at, "Paris": None}
            assert [edge.id for edge in memory.edges.list()] == [found["Paris"].id]
        memory.verify().raise_if_broken()


# -- files that go while they are counted ---------------------------------------------------------------


def test_folders_that_go_meanwhile_are_passed_over(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name / "in").mkdir(parents=True)
        (tmp_path / name / "in" / "file").write_text("x")
    found = []
    for path in local_files(tmp_path):
        found.append(path.name)
        for name in ("a", "b", "c"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
    assert found == ["file"]
    assert list(local_files(tmp_path / "nowhere")) == []


def test_figures_are_taken_anew_where_a_version_was_cleaned_up(memory, monkeypatch):
    memory.add("text")
    count, failed = Handle.count, []

    def gone_once(self, where=None):
        if not failed:
            failed.append(self)
            raise Gone("counting: not found")
        return count(self, where)

    monkeypatch.setattr(Handle, "count", gone_once)
    assert memory.stats().artifacts.documents == 1
    assert failed
