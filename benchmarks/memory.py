"""The memory's ground: bulk loads, small commits, reads, deletion, upkeep, disk; 384-wide vectors.

``python -m benchmarks memory [PART ...]`` runs all parts or some (bulk, small, large, processes) and keeps
the other parts' last figures. Times are milliseconds. ``load`` is the machine's load average at the
beginning and the end of a part: figures taken above the number of cores are upper bounds. ``bare`` is the
same work on raw LanceDB tables, without the protocol: what it costs is the ratio.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.memory import Memory
from unabridged.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 384
_RESULTS = Path(__file__).parent / "results" / "memory.json"
_rng = np.random.default_rng(0)


def _vectors(count: int) -> list[Any]:
    return list(_rng.standard_normal((count, WIDTH), dtype=np.float32))


def _text(n: int) -> str:
    return f"Artifact number {n}, as long as a short paragraph of plain words would be in a note. " * 3


def _median(call: Callable[[int], object], times: int = 40) -> float:
    took = []
    for n in range(times):
        start = time.perf_counter()
        call(n)
        took.append(time.perf_counter() - start)
    return round(statistics.median(took) * 1e3, 2)


def _load_artifacts(memory: Memory, count: int) -> float:
    """Records a second, vectors given."""
    spent = 0.0
    for start in range(0, count, 10_000):
        vectors = _vectors(min(10_000, count - start))
        began = time.perf_counter()
        with memory.write() as tx:
            for n, vector in enumerate(vectors, start):
                tx.artifact(_text(n), session_id=f"s{n % 1000}", metadata={"n": n % 50}, vector=vector)
        spent += time.perf_counter() - began
    return round(count / spent)


def _load_graph(memory: Memory, count: int) -> None:
    """Entities, as many edges, and four times as many links."""
    for start in range(0, count, 10_000):
        vectors = _vectors(20_000)
        with memory.write() as tx:
            note = tx.artifact(f"People {start}")
            people = [
                tx.entity(f"Old {n}", "person", artifact=note, vector=vectors[n - start])
                for n in range(start, start + 10_000)
            ]
            for n, person in enumerate(people):
                tx.edge(person, "follows", people[n - 1], artifact=note, vector=vectors[10_000 + n])


def _commit(memory: Memory, c: int, vectors: list[Any]) -> None:
    """2 artifacts, 8 entities, 8 edges, 40 links."""
    with memory.write() as tx:
        notes = [tx.artifact(f"{_text(c)} {j}", session_id="live", vector=vectors[j]) for j in range(2)]
        people = [
            tx.entity(f"Person {c} {j}", "person", artifact=notes[j % 2], vector=vectors[2 + j]) for j in range(8)
        ]
        for j in range(8):
            tx.edge(people[j], "knows", people[(j + 1) % 8], artifact=notes[j % 2], vector=vectors[10 + j])


def _commits(memory: Memory, count: int) -> dict[str, Any]:
    took, pauses = [], []
    after = memory.store.committed

    def timed(seq: int) -> None:
        began = time.perf_counter()
        after(seq)
        pauses.append((time.perf_counter() - began) * 1e3)

    memory.store.committed = timed
    resident = []
    for c in range(count):
        if c % 500 == 0:
            resident.append(_resident())
        vectors = _vectors(18)
        began = time.perf_counter()
        _commit(memory, c, vectors)
        took.append((time.perf_counter() - began) * 1e3)
    memory.store.committed = after
    net = np.array(took) - np.array(pauses)
    steps = [p for p in pauses if p > 20]
    return {
        "commits": count,
        "median": round(float(np.median(net)), 1),
        "p99": round(float(np.percentile(net, 99)), 1),
        "first_500_median": round(float(np.median(net[:500])), 1),
        "last_500_median": round(float(np.median(net[-500:])), 1),
        "upkeep_steps": len(steps),
        "upkeep_median": round(statistics.median(steps), 1) if steps else 0,
        "upkeep_longest": round(max(pauses), 1),
        "all_in_mean": round(float(np.mean(took)), 1),
        "resident_mb_every_500": [*resident, _resident()],
    }


def _resident() -> int:
    """Megabytes that the process holds; 0 where /proc does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except OSError:
        return 0


def _reads(memory: Memory) -> dict[str, float]:
    ids = [a.id for a in memory.artifacts.list(limit=200)]
    edge = memory.edges.list(limit=1).items
    found = {
        "get": _median(lambda n: memory.artifacts.get(ids[n])),
        "page_of_a_session": _median(lambda n: memory.artifacts.list(session_id=f"s{n}", limit=50)),
        "page_of_a_kind": _median(lambda _: memory.artifacts.list(kind="knowledge", limit=50)),
        "page_by_metadata": _median(lambda n: memory.artifacts.list(metadata={"n": n}, limit=50)),
        "newest_page": _median(lambda _: memory.artifacts.list(limit=50, newest_first=True)),
    }
    if edge:
        found["evidence"] = _median(lambda _: memory.evidence(edge[0]))
        found["entity_by_name"] = _median(lambda n: memory.entities.find(f"Person {n} 0", "person"))
    return found


def _delete_document(memory: Memory) -> float:
    """A document of 200 chunks, each with a summary and facts of its own."""
    took = []
    for turn in range(5):
        text = "".join(f"Chunk {n:05} of document {turn}. " for n in range(200))
        size = len(text) // 200
        with memory.write() as tx:
            document = tx.artifact(text, vector=_vectors(1)[0])
            for n, vector in enumerate(_vectors(200)):
                span = (n * size, (n + 1) * size)
                part = tx.chunk(document, Chunk(n, *span, *span, text[slice(*span)], 7), vector=vector)
                one = tx.entity(f"Thing {turn} {n}", "thing", artifact=part)
                tx.edge(one, "stands in", one, artifact=part, fact=f"thing {turn} {n} stands in its chunk")
        before = memory.store.view().head.seq
        memory.upkeep.automatic = False
        began = time.perf_counter()
        memory.delete(document)
        took.append((time.perf_counter() - began) * 1e3)
        memory.upkeep.automatic = True
        assert memory.store.view().head.seq == before + 1
    return round(statistics.median(took), 1)


def _bare_bulk(folder: Path, count: int) -> float:
    import lancedb
    import pyarrow as pa

    table, spent = None, 0.0
    for start in range(0, count, 10_000):
        vectors = np.stack(_vectors(10_000))
        began = time.perf_counter()
        rows = pa.table(
            {
                "id": [f"{n:032x}" for n in range(start, start + 10_000)],
                "text": [_text(n) for n in range(start, start + 10_000)],
                "session": [f"s{n % 1000}" for n in range(start, start + 10_000)],
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), WIDTH),
            }
        )
        if table is None:
            table = lancedb.connect(str(folder)).create_table("bare", rows)
        else:
            table.add(rows)
        spent += time.perf_counter() - began
    return round(count / spent)


def _bulk(folder: Path) -> dict[str, Any]:
    with Memory.open(folder / "m", upkeep=False) as memory:
        rate = _load_artifacts(memory, 100_000)
        began = time.perf_counter()
        memory.optimize()
        optimised = round(time.perf_counter() - began, 1)
        found = {"records_per_s": rate, "bare_records_per_s": _bare_bulk(folder / "bare", 100_000)}
        found |= {"optimize_s": optimised, "reads": _reads(memory), "delete_200_chunks": _delete_document(memory)}
        began = time.perf_counter()
        report = memory.verify()
        found |= {"verify_s": round(time.perf_counter() - began, 1), "verify_ok": report.ok}
        began = time.perf_counter()
        memory.purge()
        return found | {"purge_s": round(time.perf_counter() - began, 1)}


def _small(folder: Path, count: int = 5000) -> dict[str, Any]:
    """5,000 commits on 1,000 records; then the grace; against the same rows loaded in bulk."""
    with Memory.open(folder / "m") as memory:
        _load_artifacts(memory, 1000)
        found = {"commits": _commits(memory, count)}
        busy = memory.stats()
        time.sleep(memory.store.grace + 15)  # once nothing was written for the grace it tidies up by itself
        after = memory.stats()
        found |= {"reads": _reads(memory), "bytes_at_once": busy.bytes, "bytes_after_grace": after.bytes}
        found["fragments"] = {name: each.fragments for name, each in after.tables.items() if each.rows}
        found["verify_ok"] = memory.verify().ok
        memory.export(folder / "export", format="parquet")
    with Memory.import_(folder / "export", folder / "bulk", upkeep=False) as bulk:
        loaded = bulk.stats()
        found |= {"bytes_of_a_bulk_load": loaded.bytes, "reads_of_a_bulk_load": _reads(bulk)}
    found["disk_ratio"] = round(after.bytes / loaded.bytes, 2)
    found["read_ratios"] = {k: round(found["reads"][k] / v, 2) for k, v in found["reads_of_a_bulk_load"].items()}
    return found


def _large(folder: Path, count: int = 5000) -> dict[str, Any]:
    """1,000,000 records: 600,000 artifacts, 100,000 entities, as many edges, 200,000 links."""
    with Memory.open(folder / "m") as memory:
        rate = _load_artifacts(memory, 600_000)
        _load_graph(memory, 100_000)
        began = time.perf_counter()
        memory.optimize()
        found: dict[str, Any] = {"records_per_s": rate, "optimize_s": round(time.perf_counter() - began, 1)}
        found["records"] = sum(each.rows for each in memory.stats().tables.values())
        found["commits"] = _commits(memory, count)
        found["reads"] = _reads(memory)
        found["delete_200_chunks"] = _delete_document(memory)
        memory.close()
        began = time.perf_counter()
        found["verify_ok"] = memory.verify().ok
        return found | {"verify_s": round(time.perf_counter() - began, 1), "bytes": memory.stats().bytes}


_WRITER = """
import sys
from unabridged.memory import Memory
memory = Memory.open(sys.argv[1])
for n in range(50):
    with memory.write() as tx:
        note = tx.artifact(f"{sys.argv[2]} {n}")
        tx.edge(tx.entity("Alice", "person", artifact=note), "knows",
                tx.entity(f"{sys.argv[2]} {n % 5}", "person", artifact=note), artifact=note)
memory.close()
"""


def _processes(folder: Path) -> dict[str, Any]:
    """8 processes, 50 writes each, on one dataset."""
    with Memory.open(folder) as memory:
        began = time.perf_counter()
        command = [sys.executable, "-W", "ignore", "-c", _WRITER, str(folder)]
        running = [subprocess.Popen([*command, f"p{n}"]) for n in range(8)]
        codes = [process.wait(600) for process in running]
        took = time.perf_counter() - began
        texts, cursor = [], None
        while True:
            page = memory.artifacts.list(limit=1000, cursor=cursor)
            texts += [a.text for a in page]
            cursor = page.cursor
            if cursor is None:
                break
        whole = sorted(texts) == sorted(f"p{who} {n}" for who in range(8) for n in range(50))
        return {"seconds": round(took, 1), "all_there_none_twice": whole and codes == [0] * 8, "ok": memory.verify().ok}


_PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "bulk": _bulk,
    "small": _small,
    "large": _large,
    "processes": _processes,
}


def main(argv: list[str]) -> dict[str, Any]:
    """Run the parts named, or all."""
    found = json.loads(_RESULTS.read_text("utf-8")) if _RESULTS.exists() else {}
    for part in argv or list(_PARTS):
        folder = Path(tempfile.mkdtemp(prefix="unabridged-bench-"))
        before = os.getloadavg()[0]
        try:
            found[part] = _PARTS[part](folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        found[part]["load"] = [round(before, 1), round(os.getloadavg()[0], 1)]
        print(part, json.dumps(found[part], indent=1), flush=True)
    return {"cores": os.cpu_count(), "width": WIDTH, **{k: v for k, v in found.items() if k in _PARTS}}
