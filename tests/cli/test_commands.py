"""Issue 2, points 6 and 8: the commands as a user runs them; bad input; nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

LONG = "Storms seldom reach the harbour. But when they do, every boat is tied twice over. " * 2500


def run(*words: str, stdin: bytes | None = None, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    script = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN); from unabridged.cli import main; main()"
    env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    env |= {"UNABRIDGED_CACHE": str(cwd / ".cache"), **variables}
    done = subprocess.run([sys.executable, "-c", script, *words], input=stdin, cwd=cwd, env=env, capture_output=True)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def embed(*words: str, cwd: Path, **options) -> subprocess.CompletedProcess[str]:
    return run("embed", *words, "--model", "hashing", cwd=cwd, **options)


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "docs"
    (made / "sub").mkdir(parents=True)
    (made / "long.md").write_text(LONG, "utf-8")
    (made / "sub" / "短.txt").write_text("一个短文本。", "utf-8")
    (made / "blank.txt").write_text(" \n", "utf-8")
    (made / "image.bin").write_bytes(bytes(range(256)) * 8)
    (made / ".hidden").write_text("secret", "utf-8")
    (made / "loop").symlink_to(made)
    return tmp_path


def test_a_folder_into_parquet(folder) -> None:
    done = embed("docs", "-o", "out.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = {Path(row["id"]).name: row for row in pq.read_table(folder / "out.parquet").to_pylist()}
    assert set(rows) == {"long.md", "短.txt", "blank.txt"}
    assert (rows["long.md"]["status"], rows["短.txt"]["status"], rows["blank.txt"]["status"]) == (
        "chunked",
        "ok",
        "skipped",
    )
    assert len(rows["long.md"]["vector"]) == 256
    assert rows["blank.txt"]["vector"] is None
    for word in ("3 texts", "tokens", "cached", "request", "1 binary", "out.parquet"):
        assert word in done.stderr
    again = embed("docs", "-o", "two.parquet", cwd=folder)
    assert "2 cached, 0 requests" in again.stderr


@pytest.mark.parametrize("name", ["out.npy", "out.jsonl", "out.lance"])
def test_every_format_holds_the_same_vectors(folder, name) -> None:
    assert embed("docs/long.md", "-o", name, cwd=folder).returncode == 0
    assert embed("docs/long.md", "-o", "ref.parquet", cwd=folder).returncode == 0
    truth = np.array(pq.read_table(folder / "ref.parquet")["vector"].to_pylist(), np.float32)
    if name.endswith("npy"):
        found = np.load(folder / name)
    elif name.endswith("jsonl"):
        found = np.array([json.loads(line)["vector"] for line in (folder / name).read_text().splitlines()], np.float32)
    else:
        import lancedb

        table = lancedb.connect(str(folder)).open_table("out")
        found = np.array(table.to_arrow()["vector"].to_pylist(), np.float32)
    assert np.array_equal(found, truth)


def test_chunk_vectors_have_their_place(folder) -> None:
    assert embed("docs/long.md", "-o", "out.parquet", "--chunk-vectors", cwd=folder).returncode == 0
    rows = pq.read_table(folder / "out.parquet").to_pylist()
    chunks = [row for row in rows if row["role"] == "chunk"]
    assert len(chunks) == rows[0]["chunks"] > 1
    assert chunks[0]["start"] == 0
    assert chunks[-1]["end_byte"] == len(LONG)


def test_standard_input_and_text_go_to_standard_output(tmp_path) -> None:
    done = embed("-", "--text", "another", stdin=b"from a pipe", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["id"] for row in rows} == {"-", "text-1"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere.txt",), 2, "nowhere.txt"),
        ((), 2, ""),
        (("--text", "x", "-o", "out.doc"), 2, "out.doc"),
        (("--text", "x", "--max-tokens", "5", "--overlap-tokens", "9"), 2, "overlap"),
    ],
)
def test_bad_input_is_one_line_and_a_code(tmp_path, words, code, message) -> None:
    done = embed(*words, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_model_and_a_missing_key_are_named(tmp_path) -> None:
    done = run("embed", "--text", "x", "--model", "hashin", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    done = run("embed", "--text", "x", "--model", "openai/text-embedding-3-small", cwd=tmp_path)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr


def test_an_output_that_exists_is_not_lost(folder) -> None:
    (folder / "out.parquet").write_text("mine")
    done = embed("docs", "-o", "out.parquet", cwd=folder)
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert (folder / "out.parquet").read_text() == "mine"


def test_unreadable_and_binary_files_hurt_only_themselves(folder) -> None:
    (folder / "docs" / "latin.txt").write_bytes("schön".encode("utf-16-le") + b"\xff")
    done = embed("docs/long.md", "docs/image.bin", "-o", "out.parquet", cwd=folder)
    assert done.returncode == 1
    assert "image.bin" in done.stderr
    rows = pq.read_table(folder / "out.parquet").to_pylist()
    assert [row["status"] for row in rows] == ["chunked", "failed"]


def test_nothing_half_written_is_left_when_it_stops(folder) -> None:
    done = embed("docs/long.md", "docs/image.bin", "-o", "out.parquet", "--on-error", "raise", cwd=folder)
    assert done.returncode != 0
    assert not [p for p in folder.iterdir() if "out" in p.name]


def test_chunk_shows_and_tells(folder) -> None:
    done = run("chunk", "docs/long.md", "--max-tokens", "400", "--overlap-tokens", "40", cwd=folder)
    assert done.returncode == 0
    assert "by paragraph, cap 400 tokens" in done.stdout
    assert "median" in done.stdout
    rows = [
        json.loads(line)
        for line in run("chunk", "docs/long.md", "--json", "--method", "sentence", cwd=folder).stdout.splitlines()
    ]
    assert "".join(row["text"] for row in rows) == LONG
    assert run("chunk", "docs/long.md", "--method", "sentense", cwd=folder).returncode == 2


def test_config_models_and_cache(folder) -> None:
    assert json.loads(run("config", "show", cwd=folder).stdout)["embedding"]
    assert json.loads(run("config", "schema", cwd=folder).stdout)["title"] == "unabridged"
    (folder / "plugin.json").write_text('{"embedding": {"provider": "hashing", "model": "m"}}')
    assert "chunk" in run("config", "explain", "plugin.json", cwd=folder).stdout
    assert "chunk" in json.loads(run("config", "explain", "plugin.json", "--json", cwd=folder).stdout)["figures"]
    assert run("config", "check", "plugin.json", cwd=folder).returncode == 0
    (folder / "bad.json").write_text('{"embedding": {"modle": "m"}}')
    done = run("config", "check", "bad.json", cwd=folder)
    assert (done.returncode, "did you mean model?" in done.stderr) == (2, True)
    assert "8,192" in run("models", "text-embedding-3-small", cwd=folder).stdout
    assert run("models", "--json", cwd=folder).stdout.startswith("[")
    assert "nothing has been learned" in run("models", "--learned", cwd=folder).stdout
    assert "forgot 0 limits" in run("models", "--forget", cwd=folder).stdout
    assert run("models", "no-such-model-at-all", cwd=folder).returncode == 2
    embed("docs", "-o", "out.parquet", cwd=folder)
    assert "vector" in run("cache", "stats", cwd=folder).stdout
    assert "0 damaged" in run("cache", "verify", cwd=folder).stdout
    assert "removed" in run("cache", "clear", "--yes", cwd=folder).stdout


def test_help_and_version_are_quick(tmp_path) -> None:
    assert "unabridged" in run("--version", cwd=tmp_path).stdout
    for command in ("embed", "chunk", "config", "models", "cache"):
        assert "Usage" in run(command, "--help", cwd=tmp_path).stdout
    script = "import sys; import unabridged.cli.app; print({'lancedb', 'onnxruntime', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_reader_that_goes_is_no_error(tmp_path) -> None:
    (tmp_path / "docs").mkdir()
    for n in range(60):
        (tmp_path / "docs" / f"{n}.txt").write_text(f"text {n}")
    script = "from unabridged.cli import main; main()"
    words = [sys.executable, "-c", script, "embed", "docs", "-m", "hashing", "--no-cache", "--quiet"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_full_disk_is_a_fault_in_one_line(tmp_path) -> None:
    script = "from unabridged.cli import main; main()"
    words = [sys.executable, "-c", script, "embed", "--text", "x", "-m", "hashing", "--no-cache"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (4, b"error: No space left on device\n")


def test_names_cannot_command_the_terminal(tmp_path) -> None:
    done = embed("red\x1b[31m.txt", "", cwd=tmp_path)
    assert done.returncode == 2
    assert "empty name" in done.stderr
    done = embed("red\x1b31m.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: red\\x1b31m.txt: there is no such file or folder\n")


def test_a_line_of_json_is_a_line_for_every_reader(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("one\u2028two\x85three", "utf-8")
    done = run("chunk", "a.txt", "--json", cwd=tmp_path)
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["text"] == "one\u2028two\x85three"


def test_a_method_that_is_not_there_is_told_before_any_text_is_sent(tmp_path) -> None:
    done = embed("--text", "x", "--method", "paragraf", cwd=tmp_path)
    assert done.returncode == 2
    assert "paragraph" in done.stderr
    assert done.stdout == ""


def test_S8_a_pdf_is_cut_by_its_pages(tmp_path) -> None:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas").Canvas(str(tmp_path / "two.pdf"))
    for words in ("The first page is about salt.", "The second page is about sand."):
        canvas.drawString(72, 720, words)
        canvas.showPage()
    canvas.save()
    done = run("chunk", "two.pdf", "--method", "page", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["page"] for line in done.stdout.splitlines()] == [1, 2]


def test_S14_several_comparisons_are_drawn_to_files_of_their_own(folder) -> None:
    done = run("chunk", "docs", "--compare", "fixed,sentence", "--plot", "out.svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.glob("*.svg")) == ["out-1.svg", "out-2.svg", "out-3.svg"]
    one = run("chunk", "docs/long.md", "--compare", "fixed,sentence", "--plot", "one.svg", cwd=folder)
    assert one.returncode == 0, one.stderr
    assert (folder / "one.svg").read_text("utf-8").startswith("<svg")
