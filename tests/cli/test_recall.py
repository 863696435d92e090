"""``unabridged recall``, ``query``, ``memory timeline`` and ``memory evaluate``."""

import json
import re

import pytest

from unabridged.cli.app import run
from unabridged.memory import Memory
from unabridged.testing.chat import ChatServer


@pytest.fixture
def uri(tmp_path):
    with Memory.open(tmp_path / "m") as memory, memory.write() as tx:
        note = tx.artifact("Alice works at Acme. " + "She likes hiking in the hills of the north. " * 20, source="a.md")
        alice, acme = tx.entity("Alice", "person", artifact=note), tx.entity("Acme", "org", artifact=note)
        tx.edge(alice, "works at", acme, artifact=note, valid_at="2020-01-01", quote="Alice works at Acme")
    return str(tmp_path / "m")


def test_hits_with_their_sources_that_memory_show_resolves(uri, capsys):
    assert run(["recall", "Where does Alice work?", "--uri", uri, "--explain"]) == 0
    out, err = capsys.readouterr()
    assert "1. " in out
    assert "a.md" in out
    assert "fused" in out
    assert "…" in out  # a long text is shortened for the eye
    assert "without the vector lane" in err
    line = next(each for each in out.splitlines() if "--bytes" in each and "0:19" in each).split()
    assert run(["memory", "show", line[0], "--bytes", line[2], "--uri", uri]) == 0
    assert capsys.readouterr().out == "Alice works at Acme\n"


def test_the_place_that_answers_is_shown_with_its_bytes(tmp_path, capsys):
    where = str(tmp_path / "long")
    rest = "Nothing is said of it here. " * 100
    with Memory.open(where) as memory:
        note = memory.add(f"# A manual\n\n{rest}\n\nThe cost is 40 francs a month.\n\n{rest}")
    assert run(["recall", "What does it cost?", "--memory", where]) == 0
    shown = capsys.readouterr().out
    assert "The cost is 40 francs a month." in shown
    assert "# A manual" not in shown
    line = next(each for each in shown.splitlines() if "--bytes" in each).split()
    assert (line[0], line[3:5]) == (note.id, ["of", f"0:{len(note.text)}"])  # the whole hit
    assert run(["memory", "show", line[0], "--bytes", line[2], "--memory", where]) == 0
    assert "The cost is 40 francs a month." in capsys.readouterr().out


@pytest.mark.parametrize("command", ["recall", "query"])
def test_an_empty_question_is_refused(uri, capsys, command):
    assert run([command, " ", "--uri", uri]) == 2
    assert ": it is empty; say what to look for" in capsys.readouterr().err


def test_as_json_as_a_pack_and_nothing(uri, capsys):
    assert run(["recall", "Alice Acme", "--uri", uri, "--json", "--kinds", "fact"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["hits"][0]["evidence"][0]["quote"] == "Alice works at Acme"
    assert run(["recall", "Alice Acme", "--uri", uri, "--pack", "--budget", "60"]) == 0
    out, err = capsys.readouterr()
    assert "[1]" in out
    assert "tokens, 1 source" in err
    assert run(["recall", "violin concertos", "--uri", uri]) == 0
    assert "nothing above 0.5" in capsys.readouterr().err
    assert run(["recall", "Alice", "--uri", uri, "--lane", "smell"]) == 2
    assert "--lane: found 'smell'" in capsys.readouterr().err


def test_a_question_answered_by_a_chat_model(uri, capsys):
    answer = {"known": True, "sentences": [{"text": "Alice works at Acme.", "sources": [1]}]}
    with ChatServer() as server:
        server.rule("Alice", answer)
        asked = ["query", "Where does Alice work?", "--uri", uri, "--chat", "any", "--chat-url", server.url]
        assert run(asked) == 0
    out = capsys.readouterr().out
    assert out.startswith("Alice works at Acme. [1]\n")
    assert "--bytes" in out
    assert run(["query", "Where does Alice work?", "--uri", uri, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["known"] is None, "nobody has answered"
    assert told["degraded"][-1]["advice"].startswith("--chat MODEL")


def test_without_a_chat_model_the_nearest_sentences_stand_with_their_places(uri, capsys):
    assert run(["query", "Where does Alice work?", "--uri", uri]) == 0
    out, err = capsys.readouterr()
    assert "no chat model is configured: these are the passages, and no answer; --chat MODEL" in err
    assert "Alice works at Acme" in out.splitlines()[0]
    assert len(out) < 600, "not the whole of a text that has twenty sentences"
    places = [line.split() for line in out.splitlines() if "--bytes" in line]
    artifact, _, span = places[-1][:3]
    assert run(["memory", "show", artifact, "--bytes", span, "--uri", uri]) == 0
    assert capsys.readouterr().out.startswith("Alice works at Acme")


def test_where_nothing_is_found_and_nobody_can_be_asked_that_is_said(uri, capsys):
    assert run(["query", "Who composed the violin concerto?", "--uri", uri]) == 0
    out, err = capsys.readouterr()
    assert out == "Nothing near the question was found, and nobody was asked.\n"
    assert "does not know" not in out + err
    assert "--chat MODEL" in err


def test_many_passages_are_five_sentences_and_a_count(tmp_path, capsys):
    with Memory.open(tmp_path / "m") as memory:
        memory.add_many([f"The boiler number {n} is serviced in May." for n in range(8)])
    assert run(["query", "When is the boiler serviced?", "--uri", str(tmp_path / "m")]) == 0
    out = capsys.readouterr().out
    assert len([line for line in out.splitlines() if re.match(r"\d\. ", line)]) == 5
    assert "3 more: `unabridged recall` shows them" in out


def test_a_timeline_and_an_evaluation(uri, tmp_path, capsys):
    assert run(["memory", "timeline", "Alice", "--uri", uri]) == 0
    assert "2020-01-01" in capsys.readouterr().out
    assert run(["memory", "timeline", "Alice", "--uri", uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["periods"]
    golden = tmp_path / "golden.jsonl"
    rows = [{"question": "Where does Alice work?", "sources": ["a.md"]}, {"question": "Alice Acme", "sources": ["b"]}]
    golden.write_text("\n".join(map(json.dumps, rows)))
    assert run(["memory", "evaluate", str(golden), "--uri", uri]) == 0
    out, err = capsys.readouterr()
    assert "2 questions, 10 hits: recall 0.500" in out
    assert "nothing right for question 2" in err
    assert run(["memory", "evaluate", str(golden), "--uri", uri, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["index_recall"] == 1.0
