"""``unabridged memory …``: every command, as its group and through the program's own error lines."""

import contextlib
import io
import json
import re

import pytest
import typer
from typer.testing import CliRunner

from unabridged.advice import worded
from unabridged.cli.advice import WORDS
from unabridged.cli.app import app as program
from unabridged.cli.memory import app, register
from unabridged.cli.naming import by_option
from unabridged.errors import Cancelled, InputError, NotFound, Taken
from unabridged.memory import Memory


@pytest.fixture
def run(place, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_MEMORY", str(place))
    monkeypatch.delenv("UNABRIDGED_CONFIG", raising=False)
    runner = CliRunner()

    def call(*arguments, code=0, stdin=None):
        done = runner.invoke(app, [str(a) for a in arguments], input=stdin)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return done.stdout

    return call


def data(output):
    return json.loads(output)


def test_a_text_from_adding_to_erasing(run, place, tmp_path):
    assert str(place) in run("init")
    (tmp_path / "notes.md").write_text("# Notes\n\n" + "Alice works at Acme. " * 400, "utf-8")
    (one,) = data(run("add", tmp_path / "notes.md", "--session", "s1", "--metadata", "user=alice", "--json"))
    assert one["source"] == str(tmp_path / "notes.md")
    run("add", "--text", "a memory", "--kind", "Memory", "--valid-at", "2020-02-03", "--metadata", "n=2", "--no-chunk")
    run("add", "-", "--source", "pipe", stdin="from a pipe")
    listed = data(run("list", "--json", "--role", "document"))
    assert [a["metadata"] for a in listed["items"]] == [{"user": "alice"}, {"n": 2}, {}]
    assert listed["items"][1]["valid_at"] == "2020-02-03T00:00:00+00:00"
    assert len(data(run("list", "--json", "--role", "chunk", "--metadata", "user=alice"))["items"]) > 1
    assert "from a pipe" in run("list", "--source", "pipe")
    assert data(run("list", "--json", "--limit", 1))["cursor"]
    assert "notes" in run("list", "--limit", 1).casefold()
    assert run("show", one["id"], "--bytes", "2:7") == "Notes\n"
    assert "Alice works" in run("show", one["id"])
    assert data(run("show", one["id"], "--json"))["entities"] == []
    assert one["id"] in run("list", "sessions") or "s1" in run("list", "sessions")
    gone = data(run("erase", "--metadata", "user=alice", "--yes", "--json"))
    assert (gone["proof"]["passages_found"], gone["proof"]["ids_found"]) == (0, 0)
    assert "found 0" in run("erase", "--source", "pipe", "--yes")
    assert len(data(run("list", "--json"))["items"]) == 1
    with pytest.raises(Cancelled, match="nothing was changed"):
        run("erase", "--session", "s1", stdin="n\n")


def test_facts_and_what_they_rest_on(run, place, say):
    with Memory.open(place) as memory:
        note, (edge,) = say(
            memory, "Alice works at Acme", (("Alice", "person"), "works at", ("Acme", "firm")), session_id="s"
        )
    assert "works at" in run("list", "edges", "--session", "s", "--as-of", "2999-01-01", "--known-at", "2999-01-01")
    assert "Alice" in run("list", "entities", "--type", "person")
    assert note.id in run("show", edge.id)
    assert data(run("show", edge.id, "--json"))["evidence"][0]["artifact"]["id"] == note.id
    assert "Alice" in run("show", edge.source_id)
    assert "works at" in run("list", "edges", "--history")
    assert "works at" in run("show", note.id)
    assert "deleted 1 artifact, 1 fact, 2 entities; 0 facts open again" in run("delete", note.id)
    other = data(run("add", "--text", "x", "--json"))[0]["id"]
    assert data(run("delete", other, "--unsupported", "keep", "--json"))["artifacts"] == [other]


def test_keeping_a_dataset(run, place, tmp_path):
    run("add", "--text", "first")
    said = run("verify")
    assert said.startswith("default, commit 1: sound: all 42 promises hold\n")
    assert re.search(r"^ok      artifacts \(5\) +1$", said, re.MULTILINE)
    assert re.search(r"^ok      chunks: are their parent's bytes +0$", run("verify", "--all"), re.MULTILINE)
    assert data(run("verify", "--json"))["ok"]
    assert "artifacts" in run("stats")
    assert data(run("stats", "--json"))["tables"]["artifacts"]["rows"] == 1
    assert "before" in run("snapshot", "before")
    assert "before" in run("list", "snapshots")
    assert data(run("list", "snapshots", "--json"))[0]["name"] == "before"
    run("add", "--text", "second")
    assert "in the snapshot before: 1 document\n" in run("restore", "before", "--yes")
    assert len(data(run("list", "--json"))["items"]) == 1
    run("snapshot", "before", "--drop")
    run("optimize")
    assert "bytes freed" in run("purge", "--drop-snapshots", "--wait", 1)
    assert "1 file" not in run("export", tmp_path / "backup", "--format", "parquet")
    assert "1 document in copy" in run("import", tmp_path / "backup", "--dataset", "copy")
    assert "copy" in run("list", "datasets")
    assert [d["name"] for d in data(run("list", "datasets", "--json"))] == ["copy", "default"]
    run("drop", "copy", "--yes")
    assert [d["name"] for d in data(run("list", "datasets", "--json"))] == ["default"]
    memory = Memory.open(place)
    memory.images.files.write("0" * 64, b"nobody's")
    memory.store.commit(lambda draft: draft.set(schema=1, kept_unsupported=False))
    memory.store.commit(lambda draft: draft.delete("sessions", "true"))
    memory.add("in a session", session_id="s")
    memory.store.commit(lambda draft: draft.delete("sessions", "true"))
    first, _, broken, example, *_ = run("verify", code=1).split("\n")
    assert re.fullmatch(r"default, commit \d+: broken: 1 of 42 promises do not hold", first)
    assert broken == "BROKEN  artifacts: sessions are there: 1 of 1"
    assert len(example.strip()) == 32


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["add"], InputError, "nothing to add"),
        (["add", "--text", "x", "--metadata", "novalue"], InputError, "KEY=VALUE"),
        (["show", "x" * 32], NotFound, "nothing of that id"),
        (["add", "--text", " "], InputError, "a text is empty or blank; nothing was added"),
        (["add", "--text", "x", "--valid-at", "soon"], InputError, "^--valid-at: not a moment"),
        (["add", "--text", "x", "--kind", "other"], InputError, "^--kind: not one of"),
        (["add", "--text", "x", "--session", " "], InputError, "^--session: is empty"),
        (["list", "--cursor", "nonsense"], InputError, "^--cursor: not one"),
        (["list", "edges", "--known-at", "soon"], InputError, "^--known-at: not a moment"),
        (["list", "sessions", "--session", "s", "--history"], InputError, "filtered by --history, --session$"),
        (["stats", "--dataset", " "], InputError, "^--dataset: is empty"),
        (["snapshot", " "], InputError, "^NAME: is empty"),
        (["erase", "--yes"], InputError, "--session, --source or --metadata"),
        (["end", "x" * 32], InputError, "either --text or --artifact"),
        (["end", "x" * 32, "--text", "over"], NotFound, "no edge of that id"),
        (["withdraw", "x" * 32], NotFound, "are not in the dataset"),
        (["delete", "x" * 32], NotFound, "nothing was deleted"),
        (["show", "x" * 32, "--bytes", "a:b"], InputError, "A:B"),
        (["list", "entities", "--kind", "memory"], InputError, "entities cannot be filtered by --kind"),
        (
            ["stats", "--dataset", "absent"],
            NotFound,
            "no dataset 'absent' is in .*/place; `unabridged memory list datasets",
        ),
        (["drop", "absent", "--yes"], NotFound, "no dataset 'absent' is in .*/place; `unabridged memory list datasets"),
        (["stats", "--memory", "nowhere"], NotFound, "^nowhere: no such folder; `unabridged memory init`"),
        (["restore", "absent", "--yes"], NotFound, "no snapshot"),
        (["export", "."], InputError, "is there already"),
    ],
)
def test_what_is_wrong_is_said(run, arguments, error, said):
    run("init")
    with pytest.raises(error) as raised:
        run(*arguments)
    told = by_option(worded(raised.value, WORDS), typer.main.get_command(program), ["memory", *arguments])
    assert re.search(said, told)


def test_each_kind_of_record_is_shown_and_deleted_by_its_id(run, place, say):
    with Memory.open(place) as memory:
        triple = ("Alice", "person"), "works at", ("Acme", "firm")
        note, (edge,) = say(memory, "Alice works at Acme", triple, session_id="monday")
        image, series = memory.images.add(b"GIF89a" + bytes(64)), memory.series.create("rate")
    for record, said in ((image.id, "image/gif"), (series.id, "rate"), ("monday", "monday"), (edge.id, note.id)):
        assert said in run("show", record)
    assert data(run("show", series.id, "--json"))["name"] == "rate"
    ended = run("end", edge.id, "--text", "Alice left Acme.", "--at", "2999-05-31")
    assert "2999-05-31T00:00:00Z]" in ended
    assert data(run("end", edge.id, "--artifact", note.id, "--json"))["invalid_at"] < "2999"
    assert "withdrew 0 artifacts, 1 fact, 0 entities; 0 facts open again" in run("withdraw", edge.id)
    assert data(run("withdraw", edge.target_id, "--json"))["entities"] == [edge.target_id]
    assert "deleted 0 artifacts, 0 facts, 1 entity, 1 series, 1 image;" in run(
        "delete", image.id, series.id, edge.source_id
    )
    with pytest.raises(InputError, match=r"erased with its texts.*Memory\.erase"):
        run("delete", note.id, "monday")
    assert "deleted 1 artifact," in run("delete", note.id)


def test_what_must_be_confirmed_says_how(run):
    run("init")
    run("snapshot", "one")
    with pytest.raises(Taken, match="a snapshot of that name exists"):
        run("snapshot", "one")
    with pytest.raises(InputError, match="standard input has none: --yes gives it"):
        run("restore", "one", stdin="")
    with pytest.raises(Cancelled, match="it was not confirmed"):
        run("drop", "default", stdin="\n")
    run("restore", "one", stdin="Yes\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["snapshot", "one"], 2, "or drop that one first with `unabridged memory snapshot NAME --drop`"),
        (["purge"], 2, "1 snapshot holds the old versions; drop them with"),
        (["restore", "one"], 2, "--yes gives it"),
        (["delete", "monday"], 2, "`unabridged memory erase --session ID` does that"),
        (["import", "nowhere"], 2, "nowhere: has no manifest.json"),
        (["withdraw", "monday"], 2, "1 id of neither facts nor entities: `delete` takes any"),
        (["add", "--no-chunk", "--text", "x" * 1_100_000], 2, "cut it into several files, or set maxTextBytes"),
    ],
)
def test_the_exit_code_says_who_can_help(run, monkeypatch, capsys, arguments, code, said):
    from unabridged.cli.app import run as program

    run("add", "--text", "x", "--session", "monday")
    run("snapshot", "one")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert program(["memory", *arguments]) == code
    assert said in capsys.readouterr().err


def test_vectors_come_from_the_model_or_the_configuration(run, place, tmp_path, monkeypatch):
    run("add", "--text", "by model", "--model", "hashing")
    plugin = tmp_path / "plugin.json"
    plugin.write_text(json.dumps({"embedding": {"provider": "hashing"}, "dbPath": str(place)}), "utf-8")
    monkeypatch.delenv("UNABRIDGED_MEMORY")
    run("add", "--text", "by configuration", "--config", plugin)
    monkeypatch.setenv("UNABRIDGED_CONFIG", str(plugin))
    stats = data(run("stats", "--json"))
    assert stats["vectors"]["documents"] == {"expected": 2, "present": 2}
    monkeypatch.delenv("UNABRIDGED_CONFIG")
    monkeypatch.setattr("platformdirs.user_data_dir", lambda _name: str(tmp_path / "home"))
    run("init")
    assert (tmp_path / "home" / "memory").is_dir()


def test_commands_open_the_memory_as_the_configuration_has_it(run, place, tmp_path, monkeypatch):
    """With its lock and its store's options: two kinds of lock on one dataset would keep nobody out."""
    plugin = tmp_path / "plugin.json"
    memory = {"lock": "lease", "maxTextBytes": 10, "storageOptions": {"allow_http": "true"}}
    plugin.write_text(json.dumps({"dbPath": str(place), "memory": memory}), "utf-8")
    monkeypatch.delenv("UNABRIDGED_MEMORY")
    monkeypatch.setenv("UNABRIDGED_CONFIG", str(plugin))
    run("init")
    assert list(place.glob("*.leases.lance"))
    run("add", "--text", "ten bytes.")
    with pytest.raises(InputError, match="11 bytes, over the limit of 10 bytes"):
        run("add", "--text", "eleven byte")
    run("verify")
    run("export", tmp_path / "out")
    run("import", tmp_path / "out", "--dataset", "copy")
    run("drop", "copy", "--yes")
    assert "default" in run("list", "datasets")


def test_looking_makes_no_folder(run, tmp_path):
    away = tmp_path / "away"
    for arguments in (["verify"], ["list"], ["stats"], ["drop", "default", "--yes"], ["list", "datasets"]):
        with contextlib.suppress(NotFound):
            run(*arguments, "--memory", away)
    assert not away.exists()


@pytest.mark.parametrize("uri", [None, "", "  ", 3])
def test_a_place_has_a_name(uri, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for asking in (Memory.open, Memory.datasets, lambda place: Memory.drop(place, "default")):
        with pytest.raises(InputError, match="uri: found"):
            asking(uri)
    assert not list(tmp_path.iterdir())


def test_a_model_by_its_name_is_no_embedder():
    with pytest.raises(InputError, match="embedder: found str, expected an Embedder"):
        Memory.open("memory://", embedder="hashing")


def test_a_file_is_no_place(run, tmp_path):
    (tmp_path / "notes.md").write_text("Alice works at Acme.", "utf-8")
    with pytest.raises(InputError, match="found a file, expected a folder"):
        run("init", "--memory", tmp_path / "notes.md")


def test_it_is_mounted_as_memory():
    parent = typer.Typer()
    register(parent)
    done = CliRunner().invoke(parent, ["memory", "stats", "--help"])
    assert done.exit_code == 0
    assert "vectors expected and present" in done.stdout
