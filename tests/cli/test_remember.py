"""``unabridged remember`` and ``unabridged pending``, over a real chat server."""

import json

import pytest

from unabridged.cli.app import run
from unabridged.memory import Memory
from unabridged.testing import ChatServer

TEXT = "Alice works at Acme."


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def call(tmp_path, monkeypatch, capfd, server):
    monkeypatch.delenv("UNABRIDGED_CONFIG", raising=False)
    monkeypatch.delenv("UNABRIDGED_MEMORY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def made(*arguments, code=0, chat=True, command="remember"):
        options = [
            "--memory",
            str(tmp_path / "memory"),
            *(["--chat", "tiny", "--chat-url", server.url] if chat else []),
        ]
        assert run([command, *map(str, arguments), *options]) == code
        done = capfd.readouterr()
        return done.out, done.err

    return made


def test_a_text_in_words_and_as_json(call, tmp_path):
    out, err = call(TEXT, "--model", "hashing")
    assert "2 entities" in out
    assert "    Alice (person)" in out
    assert "  1 fact\n    Alice works at Acme\n" in out
    assert err == ""
    out, _ = call(
        TEXT, "--model", "hashing", "--json", "--session", "s", "--metadata", "user=ann", "--valid-at", "2024-01-02"
    )
    made = json.loads(out)
    assert (made["session_id"], made["valid_at"], made["notes"]) == ("s", "2024-01-02T00:00:00+00:00", [])
    with Memory.open(tmp_path / "memory") as memory:
        assert memory.artifacts.get(made["artifact_id"]).metadata == {"user": "ann"}
        assert memory.edges.count() == 1


def test_what_was_not_done_is_told_once_of_several_texts(call, tmp_path):
    (tmp_path / "a.md").write_text("Bob works at Initech.")
    _, err = call(TEXT, "Mia works at Acme.", tmp_path / "a.md", chat=False)
    assert err.count("no chat model") == 1


def test_facts_that_end_steps_and_keys(call):
    call("Pia lives in Berlin.", "--valid-at", "2020-01-01")
    out, _ = call("Pia moved to Paris.", "--key", "k", "--trajectory")
    assert "1 fact ended\n    Pia lives in Berlin since 2020-01-01 until" in out
    assert "store_artifact" in out
    assert "(given again)" in call("Pia moved to Paris.", "--key", "k", "--trajectory")[0]


def test_standard_input_a_long_text_and_a_dry_run(call, monkeypatch, server):
    import io

    long = "\n\n".join(f"Person{n} works at Company{n}." for n in range(40))
    monkeypatch.setattr("sys.stdin", io.StringIO(long))
    out, _ = call("-", "--size", 60, "--overlap", 0)
    assert "chunks" in out
    assert "… and 68 more" in out
    asked = server.total
    out, err = call(long, "--size", 60, "--dry-run")
    assert "chat calls" in out
    assert "unknown (no prices)" in out
    assert "nothing was called or stored" not in err
    assert server.total == asked


def test_files_come_again_only_where_they_changed(call, tmp_path, server):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.md").write_text("Alice works at Acme.")
    (folder / "b.md").write_text("Bob works at Acme.")
    out, _ = call(folder)
    assert out.count("insert ") == 2
    assert out.endswith("2 insert\n")
    asked = server.total
    assert call(folder)[0] == "2 unchanged\n"
    assert server.total == asked
    out, _ = call(folder, "--json")
    assert [each["outcome"] for each in json.loads(out)["intakes"]] == ["nothing", "nothing"]
    out, _ = call(folder / "a.md", "--dry-run")
    assert "0 chunks" in out
    (folder / "c.pdf").write_bytes(b"%PDF-1.7 damaged")
    out, _ = call(folder / "c.pdf", code=1)
    assert "failed" in out


def test_without_a_chat_model_it_says_so(call):
    out, err = call(TEXT, chat=False)
    assert "note: no chat model" in err
    assert out.strip().endswith("knowledge")


def test_deferred_and_worked_off(call, server):
    out, err = call(TEXT, "--defer")
    assert "1 graph to make" in out
    assert "the graph is made later" in err
    assert "unabridged pending" in out
    assert call(command="pending")[0] == "1 graph, 0 failed, 0 waiting, 0 held\n"
    assert json.loads(call("--json", command="pending")[0])["done"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nothing.md"], 2, "no such file"),
        ([TEXT, "--kind", "chunk_summary"], 2, "kind"),
        ([TEXT, "--valid-at", "soon"], 2, "--valid-at: not a moment"),
        ([" "], 2, "empty or blank"),
        ([""], 2, "empty or blank"),
        (["http://127.0.0.1:9/x", "--dry-run"], 2, "--dry-run"),
    ],
)
def test_what_is_wrong_is_one_line(call, arguments, code, words):
    out, err = call(*arguments, code=code)
    assert words in err
    assert err.startswith("error: ")
    assert out == ""


def test_a_chat_model_that_refuses_is_the_providers_fault(call, server):
    server.rule("", "no JSON", times=None)
    _, err = call(TEXT, code=3)
    assert "extract_graph" in err
    assert "nothing was stored" in err


def test_progress_is_a_line_on_a_terminal(call, monkeypatch):
    import sys

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    _, err = call(TEXT)
    assert "read 1 of 1" in err
    assert err.endswith("\r")
    assert call(TEXT, "--quiet")[1] == ""


def test_a_configuration_names_the_models_and_the_place(tmp_path, capfd, monkeypatch, server):
    monkeypatch.delenv("UNABRIDGED_MEMORY", raising=False)
    made = {
        "embedding": {"provider": "hashing", "cache": False},
        "dbPath": str(tmp_path / "memory"),
        "chat": {"model": "tiny", "baseURL": server.url, "cache": False},
    }
    (tmp_path / "plugin.json").write_text(json.dumps(made))
    assert run(["remember", TEXT, "--config", str(tmp_path / "plugin.json")]) == 0
    assert "Alice works at Acme" in capfd.readouterr().out
    with Memory.open(tmp_path / "memory") as memory:
        assert memory.edges.count() == 1
