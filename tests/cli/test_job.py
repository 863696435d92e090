"""Issue 9, part 4: the command line of jobs: run from a file or flags, retry, list, status, show, dry run."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unabridged.cli.app import run
from unabridged.cli.exits import Leave
from unabridged.cli.job import _help
from unabridged.cli.job_progress import JobLine
from unabridged.cli.job_signals import Asked, Ending
from unabridged.errors import JobError
from unabridged.jobs.journal import Counts
from unabridged.jobs.state import JobProgress, JobReport, Lock
from unabridged.testing import LoopbackProvider


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNABRIDGED_JOBS", str(tmp_path / "jobs"))
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNABRIDGED_CONFIG", raising=False)
    rows = [f"row {i} about boats" for i in range(30)]
    pq.write_table(pa.table({"key": [f"k{i}" for i in range(30)], "body": rows}), "rows.parquet")
    return tmp_path


FLAGS = ["rows.parquet", "-o", "out.parquet", "--text-column", "body", "--id", "key", "--model", "hashing"]


def test_a_job_by_flags_says_what_it_did_in_a_line(place, capsys) -> None:
    assert run(["job", "run", *FLAGS, "-k", "body", "-d", "16", "--name", "mine"]) == 0
    out, said = capsys.readouterr()
    assert out == ""
    assert said.startswith("mine: 30 rows, 30 done, 30 chunks, ")
    assert said.rstrip().endswith(f"-> {place / 'out.parquet'}")
    found = pq.read_table("out.parquet")
    assert found["id"].to_pylist() == [f"k{i}" for i in range(30)]
    assert found.schema.field("vector").type.list_size == 16
    assert "body" in found.column_names


def test_a_finished_job_says_that_there_is_nothing_to_do(place, capsys) -> None:
    """What a run says it sent is what it sent, not what runs before it did."""
    flags = [*FLAGS, "--name", "mine", "--price", "2"]
    assert run(["job", "run", *flags]) == 0
    first = capsys.readouterr().err
    assert " tokens sent, 1 request, cost 0.0" in first
    assert "in all" not in first
    assert run(["job", "run", *flags]) == 0
    said = capsys.readouterr().err
    sum_ = re.search(r"cost (0\.0\d+)", first)[1]
    assert said.startswith(
        f"mine: nothing to do: all 30 rows are done, 0 requests (1 in all), cost 0.0000 ({sum_} in all), "
    )
    assert "tokens sent" not in said
    assert run(["job", "run", *flags, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["run"]["requests"], report["requests"], report["tried"]) == (0, 1, 0)
    assert (report["idle"], report["ok"]) == (True, True)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "nothing to do: no row was found, 0 requests"),
        ('{"text": "one"}\n', "nothing to do: its one row is done, 0 requests"),
        (
            '{"text": "one"}\n{"text": 7}\n{"text": ""}\n',
            "nothing to do: 3 rows, 1 done, 1 blank, 1 failed, 0 requests",
        ),
    ],
)
def test_a_job_run_again_counts_what_it_has(place, capsys, lines, said) -> None:
    Path("rows.jsonl").write_text(lines, "utf-8")
    command = ["job", "run", "rows.jsonl", "-o", "out.jsonl", "--model", "hashing", "--name", "mine"]
    first = run(command)
    capsys.readouterr()
    assert run(command) == first
    assert said in capsys.readouterr().err


def test_a_job_file_has_all_of_it_and_the_command_line_wins(place, capsys) -> None:
    Path("job.json").write_text(
        """{
          // comments, as in every configuration
          "embedding": {"provider": "hashing", "dimensions": 12},
          "job": {"source": {"paths": "rows.parquet", "text": "body", "id": "key"}, "sink": "out.jsonl", "name": "filed"},
        }""",
        "utf-8",
    )
    assert run(["job", "run", "job.json", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["id"], report["status"], report["counts"]["done"]) == ("filed", "done", 30)
    assert len(json.loads(Path("out.jsonl").read_text().splitlines()[0])["vector"]) == 12
    assert run(["job", "run", "job.json", "-d", "6", "-o", "other.jsonl", "--name", "other", "-q"]) == 0
    assert len(json.loads(Path("other.jsonl").read_text().splitlines()[0])["vector"]) == 6
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"source": "rows.parquet"}, "job.sink: not given"),
        ({"sink": "out.parquet"}, "job.source: not given"),
        ({"source": 5, "sink": "o.parquet"}, "job.source: found 5"),
        (
            {"source": "rows.parquet", "sink": "o.parquet", "maxCots": 1},
            "job.maxCots: unknown key, did you mean maxCost?",
        ),
        ({"source": "rows.parquet", "sink": "o.parquet", "maxCost": 1}, "max_cost: needs a price"),
    ],
)
def test_a_job_file_that_is_wrong_is_told_by_the_key(place, capsys, job, message) -> None:
    Path("job.json").write_text(json.dumps({"embedding": {"provider": "hashing"}, "job": job}))
    assert run(["job", "run", "job.json"]) == 2
    assert message in capsys.readouterr().err


def test_a_dry_run_counts_and_sends_nothing(place, capsys) -> None:
    assert run(["job", "run", *FLAGS, "--dry-run", "--price", "2"]) == 0
    out = dict(line.rsplit("  ", 1) for line in capsys.readouterr().out.splitlines())
    told = {name.strip(): value for name, value in out.items()}
    assert (told["rows to do"], told["requests"], told["chunks"]) == ("30", "1", "30")
    assert not Path("out.parquet").exists()
    assert run(["job", "run", *FLAGS, "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 30


def test_list_status_and_show(place, capsys) -> None:
    assert run(["job", "list"]) == 0
    assert capsys.readouterr().out == "no jobs here\n"
    run(["job", "run", *FLAGS, "--name", "mine", "-q"])
    assert run(["job", "list"]) == 0
    assert "mine  done" in capsys.readouterr().out
    assert run(["job", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)[0]
    assert (listed["counts"]["done"], listed["rows"], listed["left"], listed["resumable"]) == (30, 30, None, False)
    assert run(["job", "status", "mine"]) == 0
    out = capsys.readouterr().out
    assert "30 of 30" in out
    assert "hashing/bag-of-words" in out
    assert run(["job", "show", "mine"]) == 0
    assert "run 1 " in capsys.readouterr().out
    assert run(["job", "status", "nothing"]) == 2
    assert "there are mine" in capsys.readouterr().err


def test_failed_rows_are_shown_and_retried_by_the_jobs_id(place, capsys) -> None:
    Path("rows.jsonl").write_text('{"text": "good"}\n{"text": 7}\nnot json\n', "utf-8")
    assert run(["job", "run", "rows.jsonl", "-o", "out.jsonl", "--model", "hashing", "--name", "mine"]) == 1
    said = capsys.readouterr().err
    assert "2 rows failed: 'unabridged job show mine' says why" in said
    assert "job retry" not in said  # which would change nothing
    assert "what the source has of them has to be changed there; the same command then embeds them" in said
    assert run(["job", "show", "mine"]) == 0
    out = capsys.readouterr().out
    assert "unreadable: 'text' is a int, expected a string (tried 1 time)" in out
    assert "not JSON" in out
    assert run(["job", "show", "mine", "--json", "--limit", "1"]) == 0
    assert len(json.loads(capsys.readouterr().out)["failures"]) == 1
    assert run(["job", "retry", "mine", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["counts"]["failed"] == 2


def test_what_helps_failed_rows_is_told_by_why_they_failed(place) -> None:
    report = JobReport("mine", "", "failed", None, Counts(5, 2, 0, 3), 0, 0, None, 0.0, None)
    assert _help(report) == "'unabridged job retry mine' tries again"
    assert _help(replace(report, hopeless=1)).startswith(
        "'unabridged job retry mine' tries 2 rows again; of the others,"
    )


def test_a_mended_source_needs_the_same_command_and_no_retry(place, capsys) -> None:
    Path("rows.jsonl").write_text('{"text": "good"}\n{"text": 7}\n', "utf-8")
    command = ["job", "run", "rows.jsonl", "-o", "out.jsonl", "--model", "hashing", "--name", "mine"]
    assert run(command) == 1
    Path("rows.jsonl").write_text('{"text": "good"}\n{"text": "seven"}\n', "utf-8")
    capsys.readouterr()
    assert run(command) == 0
    assert "mine: 2 rows, 2 done, " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "show"])
def test_without_an_id_the_only_job_is_meant_or_all_are_listed(place, capsys, command) -> None:
    assert run(["job", command]) == 0
    assert capsys.readouterr().out == "no jobs here\n"
    run(["job", "run", *FLAGS, "--name", "mine", "-q"])
    assert run(["job", command]) == 0
    alone = capsys.readouterr().out
    assert run(["job", command, "mine"]) == 0
    assert capsys.readouterr().out == alone
    run(["job", "run", *FLAGS[:2], "other.parquet", *FLAGS[3:], "--name", "other", "-q"])
    assert run(["job", command]) == 0
    out, said = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["other", "mine"]
    assert f"'unabridged job {command} ID'" in said
    assert run(["job", command, "--json"]) == 0
    assert [each["id"] for each in json.loads(capsys.readouterr().out)] == ["other", "mine"]
    lock = Lock(Path("jobs/mine"))  # the one that runs
    assert run(["job", command]) == 0
    assert capsys.readouterr().out.startswith("job          mine\n")
    lock.release()


def test_a_command_without_anything_to_read_says_so_in_a_line(place, capsys) -> None:
    for command in (["embed"], ["job", "run"]):
        assert run(command) == 2
        out, said = capsys.readouterr()
        assert out == ""
        assert len(said.splitlines()) == 1
    assert run(["embed"]) == 2
    assert "a file, a folder, a pattern, - or --text TEXT; 'unabridged embed --help'" in capsys.readouterr().err


def test_a_retry_is_the_same_job_wherever_it_is_given(place, capsys, monkeypatch, tmp_path_factory) -> None:
    Path("rows.jsonl").write_text('{"text": "good"}\n{"text": 7}\n', "utf-8")
    run(["job", "run", "rows.jsonl", "-o", "out.jsonl", "--model", "hashing", "--name", "mine", "-q"])
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert run(["job", "retry", "mine", "-q"]) == 1


def test_a_budget_stops_the_job_and_says_how_to_go_on(place, capsys) -> None:
    with LoopbackProvider() as server:
        flags = [*FLAGS[:-1], "openai/bench", "--base-url", server.url, "--no-cache", "--concurrency", "1"]
        import os

        os.environ["OPENAI_API_KEY"] = "k"
        try:
            assert run(["job", "run", *flags, "--max-requests", "1"]) in (0, 1)
        finally:
            del os.environ["OPENAI_API_KEY"]
        assert server.total == 1
    capsys.readouterr()


def test_a_first_run_that_read_nothing_binds_nobody(place, capsys) -> None:
    table = pa.table({"key": ["a", "b"], "words": ["one", "two"]})
    pq.write_table(table, "rows.parquet")
    flags = ["rows.parquet", "-o", "out.parquet", "--model", "hashing", "--name", "mine", "-q", "--id", "key"]
    assert run(["job", "run", *flags, "--text-column", "nope"]) == 2
    assert run(["job", "run", *flags, "--text-column", "words"]) == 0
    assert pq.read_table("out.parquet").num_rows == 2


def test_another_configuration_is_told_and_forked(place, capsys) -> None:
    run(["job", "run", *FLAGS, "--name", "mine", "-q"])
    assert run(["job", "run", *FLAGS, "--name", "mine", "-d", "8"]) == 2
    assert "was begun otherwise (dimensions was 256, is 8" in capsys.readouterr().err
    assert run(["job", "run", *FLAGS, "--name", "mine", "-d", "8", "--on-change", "fork"]) == 0
    assert "mine-2: 30 rows" in capsys.readouterr().err
    assert Path("out-2.parquet").exists()


def test_progress_on_a_terminal_and_a_line_a_minute_in_a_pipe(place, capsys, monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def step(rows: int) -> JobProgress:
        return JobProgress(
            rows, 100, 2, 1, 1000 * rows, rows // 10, 0.5, 1.0, "writing" if rows == 100 else "embedding"
        )

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with JobLine(quiet=False) as line:
        for rows in (10, 50, 100):
            line.step(step(rows))
    monkeypatch.undo()
    assert "50" in terminal.getvalue() or "100" in terminal.getvalue()
    monkeypatch.setattr("unabridged.cli.job_progress._FIRST_LINE", 0.0)
    with JobLine(quiet=False) as line:
        line.step(step(50))
        line.step(step(60))  # a line a minute
    said = capsys.readouterr().err
    assert said.startswith("50 of 100 rows, 5 requests, 50,000 tokens, cost 0.5000, 2 failed")
    assert "60 of" not in said
    for total, about, told in (
        (None, 120, "50 of about 120 rows, "),
        (None, 20, "50 of about 50 rows, "),
        (None, None, "50 rows, "),
    ):
        with JobLine(quiet=False) as line:
            line.step(replace(step(50), total=total, about=about))
        assert capsys.readouterr().err.startswith(told)
    with JobLine(quiet=True) as line:
        line.step(step(50))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--column", "v"], "--column: names the column that the format 'column' adds"),
        (["--encoding", "utf-16"], "--encoding: is for jsonl and csv and files, the source is parquet"),
        (["--hidden"], "--hidden: is for files, the source is parquet"),
        (["--ignore", "*.x"], "--ignore: is for files, the source is parquet"),
        (["--dataset", "d"], "--dataset: found 'd', which is of a memory; none is read or written here"),
        (["--sink-format", "npy"], "--sink-format: found 'npy', but the ending of out.parquet says otherwise"),
        (["-o", "rows.parquet"], "--output: rows.parquet is what is read; write elsewhere"),
        (["-k", "titel"], "rows.parquet: has no column 'titel'; it has key, body"),
    ],
)
def test_an_option_that_cannot_be_meant_is_told_before_anything_is_done(place, capsys, option, said) -> None:
    assert run(["job", "run", *FLAGS, *option]) == 2
    assert said in capsys.readouterr().err
    assert list(Path("jobs").glob("*/journal.sqlite")) == []


def test_what_is_to_be_said_of_the_source_is_said_once_above_the_line(place, capsys, monkeypatch) -> None:
    state = JobProgress(5, 100, 0, 0, 0, 0, None, 1.0, notes=("column 'x' is in none of the first 1,000 lines",))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        with JobLine(quiet=False) as line:
            line.step(state)
            line.step(state)
    assert terminal.getvalue().count("warning: column 'x'") == 1
    Path("rows.csv").write_bytes("text\ncafé\n".encode("cp1252"))
    command = ["job", "run", "rows.csv", "-o", "out.jsonl", "--model", "hashing"]
    for last in ("--dry-run", "--name=mine"):
        assert run([*command, last]) == 0
        assert capsys.readouterr().err.count("warning: rows.csv: not UTF-8, read as Windows-1252") == 1


def test_a_killed_run_is_told_from_a_live_one_and_resumed_by_its_id(place, capsys, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with LoopbackProvider(latency=1.0) as server:
        flags = [*FLAGS[:-1], "openai/bench", "--base-url", server.url, "--no-cache", "--name", "mine"]
        program = "from unabridged.cli import main; main()"
        process = subprocess.Popen([sys.executable, "-c", program, "job", "run", *flags, "-q"])
        try:
            wait_until(lambda: server.total > 0)
            assert run(["job", "list"]) == 0
            assert capsys.readouterr().out.startswith("mine  running      ")
            assert run(["job", "status", "mine"]) == 0
            assert f"running (process {process.pid}, since " in capsys.readouterr().out
            assert run(["job", "run", *flags]) == 2
            assert f"mine: is running in another process ({process.pid}); 'unabridged" in capsys.readouterr().err
        finally:
            process.kill()
            process.wait()
        for name in ("list", "status", "show"):
            assert run(["job", name, *([] if name == "list" else ["mine"])]) == 0
            out = capsys.readouterr().out
            assert re.search(r" at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d.*run the same command to resume", out)
            assert "running" not in out
        assert "run 1 " in out
        assert "interrupted (it ended without a word: killed, asked twice to end, or the machine went down)" in out
        assert run(["job", "report", "mine", "-o", "report.html"]) == 0
        page = Path("report.html").read_text("utf-8")
        assert "run the same command to resume it" in page
        assert ">running<" not in page
        capsys.readouterr()
        assert run(["job", "resume", "mine"]) == 0
        assert "mine: 30 rows, 30 done" in capsys.readouterr().err
        assert run(["job", "show", "mine", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [each["status"] for each in found["runs"]] == ["interrupted", "done"]
        assert found["runs"][0]["began"] <= found["runs"][0]["ended"] <= found["runs"][1]["began"]


@pytest.mark.parametrize(("by", "code"), [(Asked.INTERRUPT, 130), (Asked.TERMINATE, 143)])
def test_what_a_signal_brought_about_is_told_and_anything_else_is_an_error(capsys, by, code) -> None:
    error = JobError("the job was asked to end")
    with pytest.raises(JobError, match="asked to end"):
        Ending().leave(error)
    with pytest.raises(Leave) as caught:
        Ending(by=by).leave(error)
    assert (caught.value.code, capsys.readouterr().err) == (code, "the job was asked to end\n")


def wait_until(true, seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)
