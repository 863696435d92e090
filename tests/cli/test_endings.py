"""Issue 2, points 6 and 8: how a command ends. Exit codes, one line each, nothing half-written, no secret told."""

from __future__ import annotations

import errno
import io
import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from unabridged import Chunking, Embedder
from unabridged.cli.app import run
from unabridged.cli.exits import exit_code
from unabridged.errors import BudgetExhausted, EmbeddingFailed, MissingExtra, ModelMismatch
from unabridged.providers.calibration import Calibration
from unabridged.testing import LoopbackProvider
from unabridged.testing.troubles import Trouble
from unabridged.types import Limit

LONG = "Storms seldom reach the harbour. But when they do, every boat is tied twice over. " * 900


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / ".cache"))
    for name in ("UNABRIDGED_CONFIG", "UNABRIDGED_DEBUG", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def files() -> list[str]:
    return sorted(path.name for path in Path().iterdir() if path.name != ".cache")


def hashing(*words: str) -> int:
    return run(["embed", *words, "--model", "hashing"])


# -- stopped from outside ----------------------------------------------------------------------------


def start(*words: str, **options) -> subprocess.Popen[str]:
    script = "from unabridged.cli import main; main()"
    return subprocess.Popen([sys.executable, "-c", script, *words], stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_the_middle_it_leaves_nothing_half_written(signum, code) -> None:
    Path("book.txt").write_text(LONG, "utf-8")
    Path("out.npy").write_text("mine", "utf-8")
    with LoopbackProvider(latency=20) as server:
        process = start(
            "embed", "book.txt", "-o", "out.npy", "--model", "openai/m", "--base-url", server.url, "--force"
        )
        until = time.monotonic() + 60
        while not server.requests and time.monotonic() < until:
            time.sleep(0.02)
        asked = time.monotonic()
        process.send_signal(signum)
        _, told = process.communicate(timeout=60)
        waited = time.monotonic() - asked
    assert process.returncode == code
    assert waited < 10  # not for the answer that is under way
    assert "Traceback" not in told
    assert Path("out.npy").read_text("utf-8") == "mine"
    assert files() == ["book.txt", "out.npy"]


def test_ctrl_c_while_the_program_is_still_loading_ends_it_in_one_line() -> None:
    # The signal comes by itself from within an import, the first of them and one deep inside another.
    for module in ("unabridged.cli.app", "unabridged.cli.naming"):
        script = (
            "import os, signal, sys\n"
            "class Finder:\n"
            "    def find_spec(self, name, *rest):\n"
            f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Finder())\n"
            "from unabridged.cli import main; main()"
        )
        done = subprocess.run([sys.executable, "-c", script, "cache"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


def test_ctrl_c_that_is_ignored_stays_ignored() -> None:
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import unabridged.cli as cli\n"
        "with cli._leaving_at_once(): os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['unabridged', '--version']\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_has_gone_is_no_fault() -> None:
    for at in range(300):
        Path(f"{at}.txt").write_text(f"text {at}", "utf-8")
    process = start("embed", ".", "--model", "hashing", stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in told


# -- the provider ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keys": {"right"}}, "refused the key"),
        ({"models": {"other"}}, ""),
        ({"troubles": [Trouble(status=503, times=None)]}, ""),
    ],
)
def test_a_provider_that_refuses_everything_ends_the_command_and_keeps_its_secret(options, words, capsys) -> None:
    settings = {"embedding": {"provider": "openai", "model": "m", "apiKey": "sk-secret", "timeout": 5}}
    with LoopbackProvider(**options) as server:
        settings["embedding"]["baseURL"] = server.url
        Path("plugin.json").write_text(json.dumps(settings), "utf-8")
        code = run(["embed", "--text", "one", "--text", "two", "-o", "out.parquet", "--config", "plugin.json"])
    told = capsys.readouterr().err
    assert code == 3
    assert told.startswith("error: openai: ")
    assert "nothing was written" in told
    assert "sk-secret" not in told
    assert files() == ["plugin.json"]


def test_one_text_that_is_refused_hurts_only_itself(capsys) -> None:
    Path("long.txt").write_text(LONG, "utf-8")
    Path("short.txt").write_text("short", "utf-8")
    with LoopbackProvider(limit=Limit(input_tokens=500)) as server:
        words = ["--model", "openai/m", "--base-url", server.url, "--on-overflow", "error"]
        assert run(["embed", "long.txt", "short.txt", "-o", "out.parquet", *words]) == 1
        assert run(["embed", "long.txt", "-o", "never.parquet", *words, "--on-error", "raise"]) == 3
    rows = pq.read_table("out.parquet").to_pylist()
    assert [row["status"] for row in rows] == ["failed", "ok"]
    assert rows[0]["vector"] is None
    told = capsys.readouterr().err
    assert "error: long.txt: " in told
    assert "harbour" not in told


def test_a_file_of_settings_and_the_command_line_go_together(monkeypatch) -> None:
    Path("plugin.json").write_text('{"embedding": {"model": "openai/m", "pooling": "max", "cache": false}}', "utf-8")
    monkeypatch.setenv("UNABRIDGED_CONFIG", "plugin.json")
    assert run(["embed", "--text", "x", "-o", "out.jsonl", "--model", "hashing", "--dimensions", "8"]) == 0
    row = json.loads(Path("out.jsonl").read_text("utf-8"))
    assert len(row["vector"]) == 8
    assert not Path(".cache/cache.db").exists()


def test_queries_and_documents_have_two_fingerprints() -> None:
    assert hashing("--text", "x", "-o", "document.jsonl") == 0
    assert hashing("--text", "x", "-o", "query.jsonl", "--query") == 0
    one, two = (json.loads(Path(f"{name}.jsonl").read_text("utf-8")) for name in ("document", "query"))
    assert one["fingerprint"] != two["fingerprint"]


# -- the texts ---------------------------------------------------------------------------------------


def test_many_bad_files_are_counted_not_listed(capsys) -> None:
    for at in range(8):
        Path(f"{at}.bin").write_bytes(bytes(range(256)))
        Path(f"{at}.txt").write_bytes("caf\xe9 cr\xe8me".encode("latin-1"))
    Path("good.txt").write_text("good", "utf-8")
    names = files()
    assert hashing(*names, "-o", "out.parquet") == 1
    told = capsys.readouterr().err
    assert told.count("a binary file, not text") == 5
    assert told.count("read as Windows-1252") == 5
    assert "… and 3 more failed texts" in told
    assert "… and 3 more warnings" in told
    rows = pq.read_table("out.parquet").to_pylist()
    assert sum("Windows-1252" in str(row["warnings"]) for row in rows) == 8


@pytest.mark.parametrize(
    ("empty", "code", "status"), [("skip", 0, "skipped"), ("zero", 0, "empty"), ("error", 1, "failed")]
)
def test_blank_texts_by_policy(empty, code, status) -> None:
    assert hashing("--text", " \n", "--text", "words", "-o", "out.jsonl", "--empty", empty) == code
    row = json.loads(Path("out.jsonl").read_text("utf-8").splitlines()[0])
    assert row["status"] == status
    assert row["vector"] == ([0.0] * 256 if empty == "zero" else None)
    assert row["error"] in (None, "empty or blank")


@pytest.mark.parametrize("words", [["--text", ""], ["x.bin"]])
def test_without_a_vector_nothing_is_written(words, capsys) -> None:
    Path("x.bin").write_bytes(bytes(range(256)))
    assert hashing(*words, "-o", "out.parquet") == 2
    assert "nothing to write, as no text has a vector" in capsys.readouterr().err
    assert files() == ["x.bin"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--text", "\udcff"], "--text 1: not UTF-8"),
        (["empty-folder"], "empty-folder: no file to read here (skipped: 1 hidden)"),
        (["*.none"], "*.none: no file matches"),
        (["--text", "x", "--encoding", "klingon"], ""),
        (["--text", "x", "--pooling", "median"], "--pooling: found 'median', expected one of weighted, mean"),
        (["--texte", "x"], "there is no option --texte, did you mean --text"),
        (["--text", "x", "-o", "out.parquet", "--max-tokens", "0"], "--max-tokens"),
    ],
)
def test_misuse_is_one_line_with_the_way_out(words, message, capsys) -> None:
    Path("empty-folder").mkdir()
    Path("empty-folder/.hidden").touch()
    code = hashing(*words)
    told = capsys.readouterr().err
    if message:
        assert code == 2
        assert message in told
        assert told.startswith("error: ")
        assert len(told.splitlines()) == 1


def test_an_encoding_that_is_named_is_taken_at_its_word(capsys) -> None:
    Path("汉字.txt").write_bytes("一个短文本。".encode("gb18030"))
    assert hashing("汉字.txt", "-o", "a.jsonl", "--encoding", "gb18030") == 0
    assert json.loads(Path("a.jsonl").read_text("utf-8"))["chars"] == 6
    assert hashing("汉字.txt", "-o", "b.jsonl", "--encoding", "klingon") == 2
    assert "--encoding: found 'klingon'" in capsys.readouterr().err
    assert hashing("汉字.txt", "-o", "b.jsonl") == 2
    assert "--encoding gb18030" in capsys.readouterr().err


def test_a_text_with_a_stray_NUL_is_a_text() -> None:
    Path("nul.txt").write_bytes(b"a line\nand \x00 another\n")
    assert hashing("nul.txt", "-o", "out.jsonl") == 0


def test_batches_are_one_output_and_one_summary(monkeypatch, capsys) -> None:
    monkeypatch.setattr("unabridged.cli.inputs._BATCH_CHARACTERS", 50)
    for at in range(9):
        Path(f"{at}.txt").write_text(f"the text of number {at}", "utf-8")
    assert hashing(".", "-o", "out.parquet") == 0
    assert [row["id"] for row in pq.read_table("out.parquet").to_pylist()] == [f"./{at}.txt" for at in range(9)]
    assert "9 texts, 9 chunks" in capsys.readouterr().err


def test_standard_input_that_is_no_text_is_said(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("汉字".encode("gb18030"))))
    assert hashing("-", "-o", "out.npy") == 2
    assert "error: -: not UTF-8" in capsys.readouterr().err


def test_standard_input_is_read_as_a_file_is(monkeypatch, capsys) -> None:
    for data in (b"\x00\x01\x02" * 99, b"%PDF-1.4 and no more"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert hashing("-", "-o", "out.npy") == 2
    said = capsys.readouterr().err
    assert "error: -: a binary file, not text" in said
    assert "error: -: not a PDF" in said


def test_a_corrected_size_is_said_once(capsys) -> None:
    assert run(["chunk", "--text", LONG, "--max-tokens", "20"]) == 0
    assert capsys.readouterr().err.count("`max_tokens` 20 is outside [32, 1000000]") == 1


@pytest.mark.parametrize("command", [["chunk"], ["chunk", "--model", "local"], ["embed", "-o", "-"]])
@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (["--max-tokens", "0"], "--max-tokens: found '0', expected at least 1"),
        (
            ["--max-tokens", "100", "--overlap-tokens", "500"],
            "--overlap-tokens: found 500, expected less than --max-tokens (100)",
        ),
    ],
)
def test_L6_sizes_that_contradict_each_other_are_refused_by_every_command(command, sizes, said, capsys) -> None:
    assert run([*command, "--text", LONG, *sizes]) == 2
    assert said in capsys.readouterr().err


def test_chunk_shows_what_embed_does(capsys, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = "stone " * 400
    assert run(["chunk", "--text", text, "--model", "local"]) == 0
    said = capsys.readouterr().out
    assert "3 chunks by embed, cap 177 tokens for texts over the limit of 254, as embed does for local" in said
    assert run(["chunk", "--text", text]) == 0
    assert "1 chunk by paragraph, cap 1,200 tokens; --model MODEL shows what embed does" in capsys.readouterr().out
    assert run(["chunk", "--text", text, "--model", "openai/text-embedding-3-small"]) == 0  # no key, no request
    assert (
        "1 chunk by embed, cap 5,734 tokens for texts over the limit of 8,192, as embed does for openai/"
        in capsys.readouterr().out
    )
    assert run(["chunk", "--text", text, "--model", "local", "--max-tokens", "100", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    with Embedder("local", cache=False, chunking=Chunking(max_tokens=100)) as embedder:
        made = embedder.embed_detailed(text)[0].chunks
    assert [(row["start"], row["end"]) for row in rows] == [(chunk.start, chunk.end) for chunk in made]
    assert run(["chunk", "--text", text, "--model", "local", "--compare", "fixed"]) == 2
    assert "--compare has no place beside it" in capsys.readouterr().err


# -- faults of ours, and of the machine --------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "out.jsonl"), "out.jsonl: No space left on device"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (MemoryError(), "out of memory"),
        (TypeError("with the user's text in it"), "TypeError in unabridged/"),
    ],
)
def test_a_fault_is_one_line_without_anyones_text(fault, message, monkeypatch, capsys) -> None:
    def broken(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("unabridged.jobs.sink.open_sink", broken)
    assert hashing("--text", "x", "-o", "out.jsonl") == 4
    told = capsys.readouterr().err
    assert message in told
    assert "user's text" not in told
    assert run(["--debug", "embed", "--text", "x", "-o", "out.jsonl", "--model", "hashing"]) == 4
    assert "Traceback" in capsys.readouterr().err


def test_exit_codes_of_the_other_errors() -> None:
    errors = (BudgetExhausted(""), EmbeddingFailed("", None), MissingExtra("p", "e"), ModelMismatch(""), ValueError())
    assert [exit_code(error) for error in errors] == [1, 1, 2, 3, 4]


@pytest.mark.parametrize("words", [[], ["chunk"], ["config"], ["cache"]])
def test_without_words_the_help_is_shown(words, capsys) -> None:
    assert run(words) == 2
    shown = capsys.readouterr()
    assert "Usage: unabridged" in shown.out
    assert "error" not in shown.err


# -- what is shown -----------------------------------------------------------------------------------


def test_on_a_terminal_a_listing_instead_of_numbers(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Path("long.txt").write_text(LONG, "utf-8")
    assert hashing("long.txt", "--text", "short", "--text", "") == 0
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()[:3]] == ["ok", "skipped", "chunked"]
    assert "-o FILE keeps the vectors" in shown.out
    assert hashing("--text", "short", "-o", "-", "--quiet") == 0
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["vector"]) == 256
    assert shown.err == ""


def test_verbose_tells_the_log_without_the_text(capsys, caplog) -> None:
    Path("long.txt").write_text(LONG, "utf-8")
    assert run(["--verbose", "embed", "long.txt", "-o", "a.npy", "--model", "hashing"]) == 0
    told = capsys.readouterr().err + caplog.text
    assert "exceeds the limit" in told
    assert "harbour" not in told


def test_learned_limits_are_shown_and_forgotten(capsys) -> None:
    Path("long.txt").write_text(LONG, "utf-8")
    with LoopbackProvider(limit=Limit(input_tokens=300)) as server:
        assert run(["embed", "long.txt", "-o", "a.npy", "--model", "openai/m", "--base-url", server.url]) == 0
    capsys.readouterr()
    assert run(["models", "--learned"]) == 0
    shown = capsys.readouterr().out
    assert "input tokens: 300" in shown
    assert "input_overflow" in shown
    assert run(["models", "m", "--learned", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["value"] == 300
    assert run(["models", "m", "--forget"]) == 0
    assert "forgot" in capsys.readouterr().out
    assert run(["models", "--learned"]) == 0
    assert "nothing has been learned" in capsys.readouterr().out


def test_how_a_model_counts_a_script_is_shown_and_forgotten(capsys) -> None:
    Calibration().learn("h", "m", "han", counted=1000, actual=1604)
    assert run(["models", "--learned"]) == 0
    assert "h  m  tokens of han text: 1.60 for one counted here" in capsys.readouterr().out
    assert run(["models", "--learned", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["script"] == "han"
    assert run(["models", "m", "--forget"]) == 0
    assert "1 count" in capsys.readouterr().out
    assert Calibration().entries() == []


def test_a_damaged_cache_is_told_and_mended(monkeypatch, capsys) -> None:
    assert hashing("--text", "one", "--text", "two", "-o", "a.npy") == 0
    with sqlite3.connect(".cache/cache.db") as database:
        database.execute("UPDATE Cache SET value = X'00' WHERE rowid = (SELECT MIN(rowid) FROM Cache)")
    database.close()
    capsys.readouterr()
    assert run(["cache", "verify"]) == 1
    assert "1 vector in order, 1 damaged" in capsys.readouterr().out
    assert run(["cache", "verify", "--repair"]) == 0
    assert "removed 1 vector" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run(["cache", "clear"]) == 130
    assert run(["cache", "stats"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].strip().startswith("1 vector, ")


def test_chunk_goes_on_after_a_file_that_is_none(capsys) -> None:
    Path("x.bin").write_bytes(bytes(range(256)))
    Path("a.txt").write_text("One thought. Another one.", "utf-8")
    assert run(["chunk", "x.bin", "a.txt"]) == 1
    shown = capsys.readouterr()
    assert "a.txt: 1 chunk" in shown.out
    assert "error: x.bin: a binary file" in shown.err


def test_what_a_file_sets_without_effect_is_noted(capsys) -> None:
    theirs = {"autoRecall": True, "embedding": {"provider": "hashing"}}
    host = {"plugins": {"entries": {"memory-lancedb-pro": {"config": theirs}}}}
    Path("plugin.json").write_text(json.dumps(host), "utf-8")
    for command in ("explain", "check"):
        assert run(["config", command, "plugin.json"]) == 0
        shown = capsys.readouterr()
        assert "note: autoRecall: not used; what is put into a conversation" in f"{shown.out}{shown.err}"
    Path("plugin.json").write_text('{"embedding": {"model": "m", "baseURL": "http://localhost:1/v1"}}', "utf-8")
    assert run(["config", "explain", "."]) == 0
    assert "dimensions" in (shown := capsys.readouterr().out)
    assert "–" in shown
