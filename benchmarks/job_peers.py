"""The same rows through this project's job and its peers': Daft, Ray Data with LangChain, LlamaIndex.

``python -m benchmarks job_peers --daft PYTHON --ray PYTHON --llama PYTHON [--rows N]``: each interpreter has that
peer installed. All read one Parquet file and write Parquet; the provider is a loopback server with 50 ms of
latency in a process of its own. Rounds are interleaved, the best of each counts: what else the machine does
only ever adds. Ray Data gets four CPUs on a machine of two, for with two its actors and its writer wait for each
other.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.loopback import server

SCRIPTS = Path(__file__).parent / "job_peers_scripts"
WIDTH = 256
OURS = """
import sys, time
began = time.perf_counter()
from unabridged import Embedder
from unabridged.jobs.job import run_job
from unabridged.jobs.pool import processes
from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings
from unabridged.providers.openai import OpenAIProvider

class Opener:
    def __init__(self, url, width, at_once):
        self.given = url, width, at_once
    def __call__(self, **overrides):
        url, width, at_once = self.given
        provider = OpenAIProvider("text-embedding-3-small", base_url=url, dimensions=width)
        return Embedder(provider, **{"concurrency": at_once, **overrides})

if __name__ == "__main__":
    source, target, url, width = sys.argv[1:5]
    loaded = time.perf_counter()
    report = run_job(
        JobSettings(
            SourceSettings((source,)), SinkSettings(target), Opener(url, int(width), 64),
            folder=target + ".jobs", cache=False,
        ),
    )
    print("SECONDS", loaded - began, time.perf_counter() - loaded)
"""


def rows(folder: Path, count: int) -> Path:
    """Short rows: 5 to 30 words."""
    chance = random.Random(0)
    words = [f"word{n}" for n in range(2000)]
    texts = [" ".join(chance.choices(words, k=chance.randint(5, 30))) for _ in range(count)]
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"text": texts}), path, row_group_size=4096)
    return path


def run(python: str, script: Path, source: Path, folder: Path, url: str) -> dict[str, float]:
    """One job in a process of its own: seconds to load, seconds to work, rows written."""
    target = folder / f"{script.stem}-{time.time_ns()}.parquet"
    command = [python, "-W", "ignore", str(script), str(source), str(target), url, str(WIDTH)]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    whole = time.perf_counter() - began
    line = next((line for line in done.stdout.splitlines() if line.startswith("SECONDS")), None)
    if line is None:
        raise SystemExit(f"{script.name}: {done.stderr[-2000:]}")
    _, load, work = line.split()
    return {"whole": whole, "load": float(load), "work": float(work), "rows": pq.read_table(target).num_rows}


def main(arguments: list[str]) -> dict:
    parser = argparse.ArgumentParser(prog="python -m benchmarks job_peers")
    for name in ("daft", "ray", "llama"):
        parser.add_argument(f"--{name}", help="an interpreter that has it")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name, server("--latency", "0.05", "--dimensions", str(WIDTH)) as url:
        folder = Path(name)
        source = rows(folder, given.rows)
        ours = folder / "unabridged_job.py"
        ours.write_text(OURS)
        jobs = {"unabridged": (sys.executable, ours)}
        for peer in ("daft", "ray", "llama"):
            python = getattr(given, peer)
            if python:
                jobs[peer] = (python, SCRIPTS / f"{peer}_job.py")
        for _ in range(given.rounds):
            for peer, (python, script) in jobs.items():
                found.setdefault(peer, []).append(run(python, script, source, folder, url))
    table = {peer: min(several, key=lambda one: one["work"]) for peer, several in found.items()}
    best = table["unabridged"]["work"]
    result = {}
    print(f"{'':12} {'rows/s':>8} {'work s':>8} {'load s':>8} {'rows':>8}  of ours")
    for peer, one in table.items():
        speed = given.rows / one["work"]
        print(
            f"{peer:12} {speed:8.0f} {one['work']:8.2f} {one['load']:8.2f} {one['rows']:8.0f}  {best / one['work']:.2f}"
        )
        result[peer] = {key: round(value, 2) for key, value in one.items()} | {"rows_per_second": round(speed)}
    print(json.dumps(result))
    load = round(os.getloadavg()[0], 1)
    return {"rows": given.rows, "latency": 0.05, "width": WIDTH, "load_average": load, "peers": result}
