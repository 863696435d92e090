"""Batch jobs: what the flow costs beside the model, memory over a long input, resuming, and kills.

* local: rows through the embedded model, beside the same rows straight through its provider, in slices by turns;
* hashing: a million short rows through the hashing provider, all of the way into Parquet;
* loopback: a server that answers after 50 ms, 64 requests in flight, in one process and in two;
* memory: resident memory over a long input of mixed lengths that are cut, its slope, and what that means for 10 GB;
* stream: resident memory over 10 GB of rows of 20 kB, which nobody's disk holds, through the hashing provider;
* resume: a million rows, half of them done: seconds from the start of a process to its first request;
* kills: 50 kills at random moments: output bit for bit, and requests that were made twice.

Wall-clock figures are of a machine that others may use: the load average stands beside them, and CPU figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.loopback import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from unabridged.jobs.settings import JobSettings

_RESULTS = Path(__file__).parent / "results" / "jobs.json"
_PART = 100_000
_WORDS = "storm reached the harbour before boat was tied up for night while keeper of light read old letters".split()  # noqa: SIM905


def main(argv: list[str]) -> dict[str, Any]:
    """Measure; with ``--only`` the other figures stay as they were."""
    parts: dict[str, Callable[[float], dict[str, Any]]] = {
        "local": local,
        "hashing": hashing,
        "loopback": loopback,
        "memory": memory,
        "stream": stream,
        "resume": resume,
        "kills": kills,
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks jobs", description=__doc__)
    parser.add_argument("--only", choices=sorted(parts), action="append")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of rows")
    given = parser.parse_args(argv)
    measured: dict[str, Any] = {}
    for name, part in parts.items():
        if given.only is None or name in given.only:
            with _folder():
                measured[name] = {**part(given.scale), "load_average": round(os.getloadavg()[0], 1)}
            for key, value in measured[name].items():
                print(f"{name:9} {key:40} {value}", flush=True)
    before = json.loads(_RESULTS.read_text("utf-8")) if given.only and _RESULTS.exists() else {}
    return {**before, **measured}


def local(scale: float) -> dict[str, Any]:
    """Shares of the embedded model's own throughput, in slices by turns; 1 is no loss at all."""
    from unabridged.jobs.job import run_job
    from unabridged.providers.registry import open_provider
    from unabridged.types import Request

    rows = int(20_000 * scale)
    slices = max(2, rows // 5000)  # by turns, for what else the machine does; a job's own cost is paid four times
    provider = open_provider("local")
    provider.send(Request(("warm",)))
    wall, cpu = np.zeros(2), np.zeros(2)
    each = rows // slices
    for at in range(slices):
        texts = _texts(each, at * each)
        source = _parquet(f"local{at}.parquet", texts)
        for way in (0, 1) if at % 2 else (1, 0):
            began, spent = time.perf_counter(), time.process_time()
            if way:
                settings = _settings(source, f"local{at}-out.parquet", "local", cache=False)
                assert run_job(settings).counts.done == each
            else:
                for first in range(0, each, 512):
                    provider.send(Request(tuple(texts[first : first + 512])))
            wall[way] += time.perf_counter() - began
            cpu[way] += time.process_time() - spent
    provider.close()
    return {
        "rows": rows,
        "provider_rows_a_second": round(rows / wall[0], 1),
        "job_rows_a_second": round(rows / wall[1], 1),
        "share_by_wall": round(wall[0] / wall[1], 4),
        "share_by_cpu": round(cpu[0] / cpu[1], 4),
    }


def hashing(scale: float) -> dict[str, Any]:
    """Rows a second, all of the way from Parquet into Parquet."""
    from unabridged.jobs.job import run_job

    rows = int(1_000_000 * scale)
    source = _generated("million.parquet", rows)
    began, spent = time.perf_counter(), time.process_time()
    report = run_job(_settings(source, "million-out.parquet", "hashing"))
    wall, cpu = time.perf_counter() - began, time.process_time() - spent
    assert report.counts.done == rows
    return {
        "rows": rows,
        "rows_a_second": round(rows / wall),
        "rows_a_cpu_second": round(rows / cpu),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def loopback(scale: float, latency: float = 0.05, at_once: int = 64) -> dict[str, Any]:
    """Shares of the bound: so many requests in flight, each at least so long on its way."""
    from unabridged.jobs.job import run_job
    from unabridged.jobs.pool import processes

    requests = int(12_800 * scale)
    source = _generated("loopback.parquet", requests)
    bound = requests * latency / at_once
    found: dict[str, Any] = {"requests": requests, "bound_seconds": round(bound, 2)}
    with server("--latency", str(latency)) as url:
        for name, way in (("one_process", None), ("two_processes", processes(2))):
            spec = Remote(url, inputs=1, concurrency=at_once if way is None else at_once // 2)
            settings = _settings(source, f"{name}.parquet", spec, cache=False, block_rows=1024)
            began = time.perf_counter()
            report = run_job(settings) if way is None else run_job(settings, runner=way)
            seconds = time.perf_counter() - began
            assert report.counts.done == requests
            found[f"{name}_seconds"] = round(seconds, 2)
            found[f"{name}_share"] = round(bound / seconds, 3)
    return found


def memory(scale: float) -> dict[str, Any]:
    """Resident memory over a long input of long and short texts, and its slope.

    The provider answers at once, so that gigabytes go through in minutes; all else is as ever: lines are read,
    counted, cut, packed, pooled, staged and written. The slope is that of the second half, when every buffer has
    its size.
    """
    from unabridged.jobs.job import run_job

    path = _written("long.jsonl", int(2000 * scale))
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        rows = sum(1 for _ in file)
    samples: list[tuple[float, float]] = []

    def sample(progress: Any) -> None:
        samples.append((progress.rows / rows * size / 1e9, _resident()))

    began = time.perf_counter()
    report = run_job(_settings(path, "long-out.parquet", Instant(), id=None), progress=sample)
    assert report.counts.rows == rows
    late = [each for each in samples if each[0] > 0.5 * size / 1e9]
    slope = float(np.polyfit([gb for gb, _ in late], [mb for _, mb in late], 1)[0])
    peak = max(mb for _, mb in samples)
    return {
        "input_gb": round(size / 1e9, 3),
        "rows": rows,
        "chunks": report.counts.chunks,
        "seconds": round(time.perf_counter() - began),
        "peak_mb": round(peak),
        "slope_mb_a_gb": round(slope, 2),
        "at_10_gb_mb": round(peak + max(slope, 0) * (10 - size / 1e9)),
    }


def stream(scale: float) -> dict[str, Any]:
    """Resident memory over 10 GB that a generator writes into the job's standard input, and its slope."""
    from unabridged.jobs.job import run_job

    rows = int(500_000 * scale)
    samples: list[tuple[float, float]] = []
    with subprocess.Popen([sys.executable, "-c", _LINES, str(rows)], stdout=subprocess.PIPE) as lines:
        before, sys.stdin = sys.stdin, SimpleNamespace(buffer=lines.stdout)  # type: ignore[assignment]
        began, spent = time.perf_counter(), time.process_time()
        try:
            report = run_job(
                _settings("-", "stream-out.parquet", "hashing", id=None),
                progress=lambda progress: samples.append((progress.rows * _ROW_BYTES / 1e9, _resident())),
            )
        finally:
            sys.stdin = before
    assert report.counts.done == rows
    half = [each for each in samples if each[0] > 0.5 * rows * _ROW_BYTES / 1e9]
    return {
        "input_gb": round(rows * _ROW_BYTES / 1e9, 2),
        "rows": rows,
        "seconds": round(time.perf_counter() - began),
        "cpu_seconds": round(time.process_time() - spent),
        "peak_mb": round(max(mb for _, mb in samples)),
        "slope_mb_a_gb": round(float(np.polyfit([gb for gb, _ in half], [mb for _, mb in half], 1)[0]), 2),
    }


_ROW_BYTES = 20_000
_LINES = f"""
import json, random, sys
words, chance = {_WORDS!r}, random.Random(5)
some = []
while len(some) < 256:
    text = " ".join(chance.choices(words, k=6000))
    some.append(json.dumps({{"text": text[: {_ROW_BYTES} - 22]}})[:-2].encode())
for at in range(int(sys.argv[1])):
    line = some[at % 256] + b"%08d\\"}}\\n" % at
    sys.stdout.buffer.write(line)
"""


def resume(scale: float) -> dict[str, Any]:
    """Seconds to the first request of a job of which half is done, with the start of the program."""
    rows = int(1_000_000 * scale)
    source = _generated("half.parquet", rows)
    arguments = [source, str(Path("half-out.parquet").absolute())]
    first = subprocess.run(
        [sys.executable, "-c", _HALF, *arguments, str(rows // 2)], capture_output=True, text=True, check=True
    )
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", _HALF, *arguments, str(rows * 2)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    seconds = time.perf_counter() - began
    process.kill()
    process.communicate()
    return {"rows": rows, "done_before": int(first.stdout.split()[-1]), "seconds_to_first_request": round(seconds, 2)}


_HALF = """
import sys, threading
from unabridged import Embedder
from unabridged.jobs.job import run_job
from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings
from unabridged.providers.hashing import HashingProvider
from unabridged.errors import JobError
source, sink, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
cancel, first, done = threading.Event(), True, 0
class Telling(HashingProvider):
    def send(self, request):
        global first
        if first:
            print("sending", flush=True)
        first = False
        return super().send(request)
def progress(state):
    global done
    done = state.rows
    if done >= most:
        cancel.set()
opener = lambda **given: Embedder(Telling(), **given)
settings = JobSettings(SourceSettings((source,), id="key"), SinkSettings(sink), opener, folder="jobs")
try:
    run_job(settings, progress=progress, cancel=cancel)
except JobError:
    pass
print(done)
"""


def kills(scale: float, most: int = 50) -> dict[str, Any]:
    """Kills at random moments of the sending: whether the output is the same bit for bit, and what was asked twice."""
    rows, at_once = int(96_000 * scale), 8
    source = _generated("kills.parquet", rows)
    chance = random.Random(9)
    killed = 0
    with server("--latency", "0.02") as url:
        whole = json.loads(_run_worker(source, "whole.parquet", url).communicate()[0].splitlines()[-1])
        while True:
            process = _run_worker(source, "killed.parquet", url)
            assert process.stdout is not None
            if process.stdout.readline().startswith("sending") and killed < most:
                time.sleep(chance.uniform(0.0, 0.4))
                process.send_signal(signal.SIGKILL)
            out, _ = process.communicate()
            if process.returncode == 0:
                break
            killed += 1
    repeated = json.loads(out.splitlines()[-1])["requests"] - whole["requests"]
    return {
        "rows": rows,
        "kills": killed,
        "bit_identical": _digest("whole.parquet") == _digest("killed.parquet"),
        "requests": whole["requests"],
        "requests_repeated": repeated,
        "repeated_a_kill": round(repeated / max(killed, 1), 2),
        "in_flight": at_once,
    }


_WORKER = """
import json, sys
from benchmarks.jobs import Remote, settings_of
from unabridged.jobs.job import run_job
source, sink, url = sys.argv[1:4]
begun = []
def told(**_):
    if not begun:
        begun.append(print("sending", flush=True))
settings = settings_of(source, sink, Remote(url, inputs=16, concurrency=8), cache=False, block_rows=1000)
report = run_job(settings, observer=told)
assert report.status == "done", report
print(json.dumps({"requests": report.requests}))
"""


def _run_worker(source: str, sink: str, url: str) -> subprocess.Popen[str]:
    root = str(Path(__file__).parents[1])
    code = f"import sys\nsys.path.insert(0, {root!r})\n{_WORKER}"
    return subprocess.Popen([sys.executable, "-c", code, source, sink, url], stdout=subprocess.PIPE, text=True)


class Instant:
    """Opens an embedder whose provider answers at once, 256 wide, with a limit of 8,192 tokens."""

    def __call__(self, **overrides: Any) -> Any:
        from unabridged import Embedder, Limit
        from unabridged.providers.hashing import HashingProvider
        from unabridged.types import Reply, Request

        class Answering(HashingProvider):
            name = "instant"

            def send(self, request: Request) -> Reply:
                return Reply(np.full((len(request.texts), 256), 1 / 16, np.float32))

        provider = Answering(limit=Limit(input_tokens=8192, request_inputs=256))
        return Embedder(provider, **{**overrides, "tokenizer": "estimate", "cache": False})


class Remote:
    """Opens an embedder of a loopback server, in whichever process asks."""

    def __init__(self, url: str, *, inputs: int, concurrency: int) -> None:
        self.url, self.inputs, self.concurrency = url, inputs, concurrency

    def __call__(self, **overrides: Any) -> Any:
        from unabridged import Embedder, Limit, open_provider

        provider = open_provider("openai/bench", api_key="k", base_url=self.url)
        limit = Limit(input_tokens=512, request_inputs=self.inputs)
        return Embedder(provider, **{"limit": limit, "concurrency": self.concurrency, **overrides})


def settings_of(source: str, sink: str, embedder: Any, *, id: str | None = "key", **given: Any) -> JobSettings:  # noqa: A002
    from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings

    opener = EmbedderSpec(embedder) if isinstance(embedder, str) else embedder
    return JobSettings(SourceSettings((source,), id=id), SinkSettings(sink), opener, folder="jobs", **given)


_settings = settings_of


def _texts(count: int, start: int = 0) -> list[str]:
    return [f"row {i}: a short text about boats and harbours, number {i * 7}" for i in range(start, start + count)]


def _parquet(name: str, texts: list[str], start: int = 0) -> str:
    pq.write_table(pa.table({"key": [f"k{i}" for i in range(start, start + len(texts))], "text": texts}), name)
    return name


def _generated(name: str, rows: int) -> str:
    writer = None
    for start in range(0, rows, _PART):
        texts = _texts(min(_PART, rows - start), start)
        table = pa.table({"key": [f"k{start + i}" for i in range(len(texts))], "text": texts})
        writer = writer or pq.ParquetWriter(name, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return name


def _written(name: str, megabytes: int) -> str:
    """Lines of mixed lengths: most are short, some are a hundred times as long."""
    chance = random.Random(3)
    with Path(name).open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1_000_000:
            words = chance.choices(_WORDS, k=chance.choice([20, 60, 60, 200, 200, 400, 400, 4000, 20_000]))
            file.write(json.dumps({"text": " ".join(words)}) + "\n")
    return name


def _resident() -> float:
    """Megabytes that this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _digest(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


@contextmanager
def _folder() -> Iterator[None]:
    before, place = Path.cwd(), tempfile.mkdtemp(prefix="unabridged-jobs-")
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(place, ignore_errors=True)
