"""Issue 9, part 2: kill -9, a full disk, signals: nothing is lost, nothing is paid for twice, no row is there twice."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jobkit import Bench, Remote, read_rows, right, texts

from unabridged.embedding.cache import Entry
from unabridged.errors import JobError
from unabridged.jobs.answers import Answers
from unabridged.jobs.job import run_job
from unabridged.jobs.journal import Journal
from unabridged.jobs.settings import JobSettings
from unabridged.jobs.staging import Staging
from unabridged.jobs.state import read_job
from unabridged.testing import LoopbackProvider

_IN_FLIGHT = 4
_PROGRAM = "from unabridged.cli import main; main()"
_SCRIPT = """
import pickle, sys, threading
sys.path.insert(0, sys.argv[1])
from unabridged.jobs.job import run_job
settings = pickle.loads(bytes.fromhex(sys.argv[2]))
print("begun", flush=True)
report = run_job(settings)
print(report.status, report.counts.done, flush=True)
"""


def started(settings: JobSettings) -> subprocess.Popen[str]:
    import pickle

    command = [sys.executable, "-c", _SCRIPT, str(Path(__file__).parent), pickle.dumps(settings).hex()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def given(rows: int) -> dict[str, str]:
    return dict(zip([f"k{i}" for i in range(rows)], texts(rows), strict=True))


@pytest.mark.parametrize(("ending", "most"), [("parquet", 4), ("lance", 1)])
def test_killed_at_random_moments_it_ends_with_the_same_output_and_pays_once(bench: Bench, ending, most) -> None:
    rows, kills = 320, 0
    chance = random.Random(ending)
    with LoopbackProvider(latency=0.02) as server:
        whole = bench.settings(
            bench.parquet(rows), bench.out(f"whole.{ending}"), Remote(server.url, inputs=4), workers=2
        )
        run_job(whole)
        once = server.total
        settings = replace(whole, sink=replace(whole.sink, target=bench.out(f"killed.{ending}")))
        while True:
            process = started(settings)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0.05, 0.5))
            if process.poll() is None and kills < most:
                process.send_signal(signal.SIGKILL)
            out, errors = process.communicate(timeout=60)
            if process.returncode == 0:
                break
            assert process.returncode == -signal.SIGKILL, errors
            kills += 1
        assert out.split() == ["done", str(rows)]
        assert server.total - 2 * once <= kills * _IN_FLIGHT
    found = read_rows(bench.out(f"killed.{ending}"))
    assert found == read_rows(bench.out(f"whole.{ending}"))
    assert right(found, given(rows))
    if ending == "parquet":
        assert digest(bench.out("killed.parquet")) == digest(bench.out("whole.parquet"))
    staged = bench.folder / "jobs" / settings.id / "staged"
    assert list(staged.iterdir()) == []


def test_killed_while_a_grown_output_is_replaced_no_row_is_there_twice(bench: Bench, monkeypatch) -> None:
    rows = [{"key": f"k{i}", "text": text} for i, text in enumerate(texts(60))]
    settings = bench.settings(bench.jsonl(rows), bench.out("out.parquet"))
    run_job(settings)
    bench.jsonl([*rows, {"key": "new", "text": "one more"}])
    real = Journal.mark_published

    def dies(self, blocks):
        raise SystemExit

    monkeypatch.setattr(Journal, "mark_published", dies)  # the file is in its place, the journal does not know
    for _ in range(2):
        with pytest.raises(SystemExit):
            run_job(settings)
    monkeypatch.setattr(Journal, "mark_published", real)
    assert run_job(settings).status == "done"
    assert read_rows(bench.out("out.parquet"))["id"] == [*(row["key"] for row in rows), "new"]


@pytest.mark.parametrize("where", ["staging", "answers", "sink"])
def test_a_full_disk_stops_the_job_and_loses_nothing(bench: Bench, monkeypatch, where) -> None:
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(200), bench.out("out.parquet"), Remote(server.url))
        count = 0
        targets = {
            "staging": ("unabridged.jobs.staging.Staging.write", Staging.write),
            "answers": ("unabridged.jobs.answers._write", None),
            "sink": ("unabridged.jobs.target.write_file", None),
        }
        name, _ = targets[where]
        module, _, attribute = name.rpartition(".")
        from importlib import import_module

        owner = Staging if where == "staging" else import_module(module)
        real = getattr(owner, attribute)

        def full(*args, **kwargs):
            nonlocal count
            count += 1
            if where == "sink" or count > 4:
                raise OSError(errno.ENOSPC, "No space left on device", "the disk")
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, attribute, full)
        with pytest.raises(OSError, match="No space left") as caught:
            run_job(settings)
        assert any("nothing that is done is lost" in line for line in caught.value.__notes__)
        assert not Path(bench.out("out.parquet")).exists()
        found = read_job(settings.folder, settings.id)
        assert (found.status, found.counts.failed) == ("stopped", 0)
        before = len(server.texts)
        monkeypatch.setattr(owner, attribute, real)
        assert run_job(settings).status == "done"
        again = len(server.texts) - 200
        # What came while it could not be kept: those in flight, and those that set out while the first came back.
        assert again <= (64 if where == "answers" else 0)
        assert before
    assert right(read_rows(bench.out("out.parquet")), given(200))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_cleanly_and_it_goes_on(bench: Bench, number) -> None:
    with LoopbackProvider(latency=0.05) as server:
        source, out = bench.parquet(300), bench.out("out.parquet")
        command = [sys.executable, "-c", _PROGRAM, "job", "run", source, "-o", out, "--id", "key"]
        command += ["--model", "openai/bench", "--base-url", server.url, "--no-cache", "--concurrency", "2"]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-of-the-test"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        until = time.monotonic() + 30
        while server.total < 3 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 128 + number, errors
        said = [line for line in errors.splitlines() if " rows, " not in line]  # of its progress
        assert [line.split()[0] for line in said] == ["ending:", "the"], errors
        assert "run the job again and it goes on" in said[1]
        assert "sk-of-the-test" not in errors
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert len(server.texts) == 300
    assert right(read_rows(out), given(300))


def test_answers_survive_their_process_and_a_torn_record_is_asked_anew(tmp_path) -> None:
    keys = [bytes([at]) * 32 for at in range(5)]
    answers = Answers(tmp_path)
    answers.put({key: Entry(np.full(4, at, np.float32), at) for at, key in enumerate(keys)})
    (path,) = tmp_path.glob("*.answers")
    whole = path.read_bytes()
    for cut in (len(whole) - 3, len(whole) // 2, 10):
        path.write_bytes(whole[:cut])
        with Answers(tmp_path) as again:
            found = again.get(keys)
        assert len(found) == cut // (len(whole) // 5)
        assert all(found[key].vector[0] == key[0] for key in found)
    damaged = bytearray(whole)
    damaged[len(whole) // 5 - 2] ^= 255
    path.write_bytes(bytes(damaged))
    with Answers(tmp_path) as again:
        assert keys[0] not in again.get(keys)
        assert len(again.get(keys)) == 4
    answers.close()


def test_segments_of_answers_go_when_no_block_needs_them(tmp_path) -> None:
    with Answers(tmp_path, segment_bytes=64) as answers:
        vectors = iter(range(100))

        def put() -> bytes:
            key = next(vectors).to_bytes(32, "big")
            answers.put({key: Entry(np.ones(16, np.float32))})
            return key

        first = answers.begin()
        kept = put()
        second = answers.begin()
        put()
        put()
        assert len(list(tmp_path.iterdir())) == 3
        answers.end(second)
        assert kept in answers.get([kept])  # the first block may still need it
        answers.end(first)
        assert len(list(tmp_path.iterdir())) == 1
        assert answers.get([kept]) == {}
        answers.clear()
        assert list(tmp_path.iterdir()) == []
        put()
        assert len(list(tmp_path.iterdir())) == 1


def test_a_write_that_fails_half_way_hides_nothing(tmp_path, monkeypatch) -> None:
    real = os.write
    fails = threading.Event()

    def write(handle, data):
        if fails.is_set() and len(data) > 60:
            real(handle, bytes(data[:50]))
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    with Answers(tmp_path) as answers:
        monkeypatch.setattr(os, "write", write)
        answers.put({b"a" * 32: Entry(np.ones(8, np.float32))})
        fails.set()
        with pytest.raises(OSError, match="No space"):
            answers.put({b"b" * 32: Entry(np.ones(8, np.float32))})
        fails.clear()
        answers.put({b"c" * 32: Entry(np.ones(8, np.float32))})
    with Answers(tmp_path) as again:
        assert set(again.get([b"a" * 32, b"b" * 32, b"c" * 32])) == {b"a" * 32, b"c" * 32}


def test_debris_of_a_killed_writer_is_swept(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(40), bench.out("out.parquet"))
    run_job(settings)
    staged = settings.place / "staged"
    (staged / ".000000-000000000000-aa.arrow.part").write_bytes(b"half")
    (staged / "000000-000000000000-bb.arrow").write_bytes(b"never noted")
    assert run_job(settings).status == "done"
    assert list(staged.iterdir()) == []


def test_a_job_whose_process_was_killed_is_not_running(bench: Bench) -> None:
    with LoopbackProvider(latency=0.2) as server:
        settings = bench.settings(bench.parquet(200), bench.out("out.parquet"), Remote(server.url))
        process = started(settings)
        until = time.monotonic() + 30
        while not server.total and time.monotonic() < until:
            time.sleep(0.01)
        assert read_job(settings.folder, settings.id).running
        with pytest.raises(JobError, match="running in another process"):
            run_job(settings)
        process.kill()
        process.communicate()
        found = read_job(settings.folder, settings.id)
        assert (found.running, found.status) == (False, "interrupted")
