"""``kill -9`` at random moments over every kind of write; after each, the dataset must verify clean.

``python -m benchmarks memory_crash [KILLS]`` (default 200). A worker process adds documents with chunks,
facts and images, closes and deletes facts, updates, snapshots, restores, optimises, purges and imports, in
random order, and says so as it goes; it is killed after a random time, then a reader opens the dataset,
checks every promise, and that nothing acknowledged is missing or back.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from unabridged.memory import Memory

_WORKER = """
import random, sys
import numpy as np
from unabridged.memory import Memory
from unabridged.types import Chunk
place, run = sys.argv[1], int(sys.argv[2])
chance = random.Random(run)
rng = np.random.default_rng(run)
memory = Memory.open(place, grace=2.0)
said = lambda *words: print(*words, flush=True)
said("ready")
def vector():
    return rng.standard_normal(32).astype(np.float32)
def add(n):
    text = f"Run {run} step {n}. A second sentence follows it."
    cut = text.index(". ") + 2
    with memory.write() as tx:
        note = tx.artifact(text, session_id=f"s{chance.randrange(9)}", metadata={"n": n}, vector=vector())
        for at, (a, b) in enumerate(((0, cut), (cut, len(text)))):
            part = tx.chunk(note, Chunk(at, a, b, a, b, text[a:b], 5), vector=vector())
            tx.summary(part, "in short", vector=vector())
        one = tx.entity(f"Person {chance.randrange(30)}", "person", artifact=part, vector=vector())
        two = tx.entity(f"Place {chance.randrange(30)}", "place", artifact=part, vector=vector())
        edge = tx.edge(one, "lives in", two, artifact=part, vector=vector())
        old = memory.edges.list(entity=one.id, limit=3).items if memory.entities.find(one.name, "person") else ()
        for each in old:
            if each.target_id != two.id:
                tx.contradict(each, edge)
    said("added", note.id)
def some():
    page = memory.artifacts.list(role="document", limit=20, newest_first=chance.random() < 0.5).items
    return chance.choice(page) if page else None
def delete(n):
    doomed = some()
    if doomed:
        said("deleting", doomed.id)
        memory.delete(doomed)
        said("deleted", doomed.id)
def update(n):
    note = some()
    if note:
        memory.update(note, metadata={"changed": n})
def image(n):
    shown = memory.images.add(b"GIF89a" + rng.bytes(200), artifact=some())
    if chance.random() < 0.5:
        memory.images.delete([shown])
def series(n):
    made = memory.series.create(f"series {chance.randrange(3)}")
    memory.series.append(made, [("2024-01-01", n)])
def keep(n):
    said("keeping")
    chance.choice([memory.optimize, memory.purge])()
    said("kept")
work = [add] * 8 + [delete] * 3 + [update, image, series]
for n in range(100_000):
    (keep if n % 40 == 39 else chance.choice(work))(n)
    if n % 10 == 0:
        said("step", n)
"""


def main(argv: list[str]) -> dict[str, Any]:
    """Kill and check."""
    kills = int(argv[0]) if argv else 200
    folder = Path(tempfile.mkdtemp(prefix="unabridged-crash-"))
    chance = random.Random(11)
    seen: Counter[str] = Counter()
    added: set[str] = set()
    gone: set[str] = set()
    broken, lost, back = 0, 0, 0
    try:
        for run in range(kills):
            command = [sys.executable, "-W", "ignore", "-c", _WORKER, str(folder), str(run)]
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert worker.stdout is not None
            worker.stdout.readline()
            time.sleep(chance.uniform(0.0, 1.5))
            worker.send_signal(signal.SIGKILL)
            lines = [line.split() for line in worker.communicate()[0].split("\n")[:-1]]
            seen.update(words[0] for words in lines if words)
            added |= {words[1] for words in lines if words[:1] == ["added"]}
            gone |= {words[1] for words in lines if words[:1] == ["deleted"]}
            doubtful = {words[1] for words in lines if words[:1] == ["deleting"]}
            with Memory.open(folder, grace=2.0) as memory:
                report = memory.verify()
                there = {a.id for a in memory.artifacts.many(sorted(added))}
            broken += not report.ok
            lost += len(added - gone - doubtful - there)
            back += len(gone & there)
            gone |= doubtful - there
            added -= gone
            if not report.ok:
                print(run, [c for c in report.checks if not c.ok], flush=True)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {"kills": kills, "broken": broken, "lost": lost, "back": back, "work_seen": dict(seen), "bytes": size}
    print(found)
    return found
