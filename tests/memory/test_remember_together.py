"""Several at once (case 42): threads and processes that remember the same things, and writers between two steps."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from unabridged.memory import Memory
from unabridged.testing import ChatServer

from .remembering import asking, stages

OTHER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from unabridged.memory import Memory
from unabridged.memory.asking.asking import Asker
from unabridged.providers.chat import Chat
place, url, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
memory = Memory.open(place, chat=Asker(Chat("tiny", base_url=url), cache=False))
print("ready", flush=True)
sys.stdin.readline()
say = lambda n: memory.remember(f"Alice works at Acme. Other{n} knows Alice.", session_id="other")
with ThreadPoolExecutor(4) as pool:
    list(pool.map(say, range(count)))
memory.close()
"""


@pytest.mark.timeout(200)
def test_case_42_a_hundred_remembers_from_threads_and_two_processes(place):
    with ChatServer() as server, asking(place, server=server) as (memory, _):
        command = [sys.executable, "-W", "ignore", "-c", OTHER, str(place), server.url, "48"]
        other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline().strip() == "ready"
        other.stdin.write("\n")
        other.stdin.flush()
        say = lambda n: memory.remember(f"Alice works at Acme. Mine{n} knows Alice.", session_id="mine")
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(say, range(52)))
        other.communicate(timeout=150)
        assert other.returncode == 0
        assert len({each.artifact_id for each in made}) == 52
        assert memory.artifacts.counts().documents == 100
        edges = memory.edges.list(limit=500).items
        assert len(edges) == 101
        (shared,) = [edge for edge in edges if edge.fact == "Alice works at Acme"]
        assert len(memory.evidence(shared)) == 100
        assert memory.entities.count() == 102
        memory.verify().raise_if_broken()


@pytest.fixture
def pair(place, embedder, make_embedder):
    """A memory that remembers, and another one of the same dataset that writes in between."""
    with (
        ChatServer() as server,
        asking(place, server=server, embedder=embedder) as (memory, _),
        Memory.open(place, embedder=make_embedder()) as other,
    ):
        memory.remember("Pia lives in Berlin.")
        yield memory, other, server
        memory.verify().raise_if_broken()


def _between(server, act):
    """While the first comparison is asked, somebody else acts."""
    once = threading.Event()

    def answer(seen):
        from unabridged.testing.understander_facts import compare_facts

        if not once.is_set():
            once.set()
            act()
        return compare_facts(seen.asked)

    server.rule("New facts:", answer)


def test_facts_stored_meanwhile_at_the_same_entity_are_compared_too(pair):
    memory, other, server = pair

    def act():
        with other.write() as tx:
            note = tx.artifact("Pia lives in Rome.")
            pia, rome = tx.entity("Pia", "person", artifact=note), tx.entity("Rome", "place", artifact=note)
            tx.edge(pia, "lives in", rome, artifact=note, fact="Pia lives in Rome", valid_at="2020-01-01")

    _between(server, act)
    made = memory.remember("Pia moved to Paris.")
    assert stages(server)["compare"] == 2
    assert {edge.fact for edge in made.invalidated_edges} == {"Pia lives in Berlin", "Pia lives in Rome"}
    assert [edge.fact for edge in memory.edges.list().items] == ["Pia moved to Paris"]


def test_the_same_fact_in_other_words_stored_meanwhile_is_found(pair):
    memory, other, server = pair

    def act():
        with other.write() as tx:
            note = tx.artifact("Acme was founded by Pia.")
            acme, pia = tx.entity("Acme", "organization", artifact=note), tx.entity("Pia", "person", artifact=note)
            tx.edge(acme, "was founded by", pia, artifact=note, fact="Acme was founded by Pia")

    _between(server, act)
    made = memory.remember("Pia founded Acme.")
    (edge,) = made.edges
    assert edge.fact == "Acme was founded by Pia"
    assert len(memory.evidence(edge)) == 2


def test_what_was_deleted_meanwhile_is_neither_closed_nor_restated(pair):
    memory, other, server = pair
    first = memory.artifacts.list().items[0]
    _between(server, lambda: other.delete(first))
    made = memory.remember("Pia moved to Paris.")
    assert made.invalidated_edges == ()
    assert [edge.fact for edge in memory.edges.list(include_history=True).items] == ["Pia moved to Paris"]


def test_what_others_write_elsewhere_costs_no_second_comparison(pair):
    memory, other, server = pair
    _between(server, lambda: other.add("Something else."))
    memory.remember("Pia moved to Paris.")
    assert stages(server)["compare"] == 1


@pytest.mark.parametrize("newest", [200, 5])
def test_a_fact_that_many_entities_hold_is_compared_with_the_likeliest_only(pair, monkeypatch, newest):
    memory, other, server = pair
    monkeypatch.setattr("unabridged.memory.remember.facts.NEWEST", newest)
    with other.write() as tx:
        note = tx.artifact("Pia knows many.")
        pia = tx.entity("Pia", "person", artifact=note)
        for n in range(60):
            tx.edge(pia, "knows", tx.entity(f"Friend{n}", "person", artifact=note), artifact=note)
    made = memory.remember("Pia moved to Paris.")
    asked = next(each.asked for each in server.requests if "New facts:" in each.prompt)
    assert asked.count("Pia knows") <= 8
    assert [edge.fact for edge in made.invalidated_edges] in ([], ["Pia lives in Berlin"])
