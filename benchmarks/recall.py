"""Recall: speed and the vector lane's recall at a million chunks, and the quality of what is found.

``python -m benchmarks recall PART FOLDER …`` runs one part and keeps the others' last figures:

``scale CORPUS PLACE``    CORPUS as ``recall_corpus.py`` makes it; the dataset is built at PLACE if it is not there
``quality QUESTIONS``     questions.csv with exact answer spans, as in the public chunking evaluation; embedded model
``faq QUESTIONS``         Python's FAQ, tutorial and how-tos by the FAQ's questions, on which nothing was ever tuned;
                          and what the questions of QUESTIONS find there, which are about something else
``documents``             Linux documentation by held-out sentences: pooled vectors, chunk vectors, both

Times are milliseconds. ``load`` is the machine's load average before and after: figures taken above the number of
cores are upper bounds, and ``cpu`` (of the whole process, all threads) is what to compare.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.recall_quality import by_document, faq, quality
from unabridged.memory import Memory
from unabridged.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RESULTS = Path(__file__).parent / "results" / "recall.json"
_NAME = re.compile(r"\b[A-Z][a-zA-Z]{3,}\b")
COMMIT = 40_000  # chunks a commit


def main(arguments: list[str]) -> dict[str, Any]:
    """Run one part."""
    parts: dict[str, Callable[..., dict[str, Any]]] = {"scale": _scale, "quality": quality}
    parts |= {"documents": by_document, "faq": faq}
    known = json.loads(_RESULTS.read_text("utf-8")) if _RESULTS.is_file() else {}
    part, *folders = arguments
    load = [round(os.getloadavg()[0], 1)]
    found = parts[part](*map(Path, folders))
    found["load"] = [*load, round(os.getloadavg()[0], 1)]
    print(json.dumps({part: found}, indent=2))
    return {**known, "cores": os.cpu_count(), part: {**known.get(part, {}), **found}}


# -- a million chunks -------------------------------------------------------------------------------------


def _scale(corpus: Path, place: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    built = {} if place.is_dir() else _build(corpus, place)
    queries = np.load(corpus / "queries.npy")
    texts = pq.read_table(corpus / "queries.parquet")["text"].to_pylist()
    with Memory.open(place, read_only=True) as memory:
        asked = list(zip(texts, queries, strict=True))
        stats = memory.artifacts.counts()
        found = {"chunks": stats.chunks, "documents": stats.documents, "entities": memory.entities.count()}
        found |= {"facts": memory.edges.count(), **built}
        found["vector_recall_at_10"] = _vector_recall(memory, queries[:200])
        found["fused"] = _latency(memory, asked[:20], asked[20:320])
        found["passages_only"] = _latency(memory, asked[:5], asked[20:220], kinds="passage")
        found["text_only"] = _latency(memory, asked[:5], asked[20:220], lanes="text", kinds="passage")
        return found | {"vector_only": _latency(memory, asked[:5], asked[20:220], lanes="vector", kinds="passage")}


def _build(corpus: Path, place: Path) -> dict[str, float]:
    import pyarrow.parquet as pq

    table = pq.read_table(corpus / "chunks.parquet")
    vectors = np.load(corpus / "vectors.npy", mmap_mode="r")
    documents, texts = table["doc"].to_pylist(), table["text"].to_pylist()
    began = time.perf_counter()
    with Memory.open(place, upkeep=False) as memory:
        tx, waiting = memory.write(), 0
        for rows in _runs(documents):
            _document(tx, [texts[at] for at in rows], vectors[rows[0] : rows[-1] + 1], f"document {documents[rows[0]]}")
            waiting += len(rows)
            if waiting >= COMMIT:
                tx.commit()
                tx, waiting = memory.write(), 0
        tx.commit()
        _graph(memory, texts, vectors)
        loaded = time.perf_counter() - began
        began = time.perf_counter()
        memory.optimize()
        return {"load_s": round(loaded), "optimize_s": round(time.perf_counter() - began)}


def _runs(documents: list[int]) -> Iterator[list[int]]:
    for _, each in groupby(range(len(documents)), key=documents.__getitem__):
        rows = list(each)
        yield from (rows[at : at + 400] for at in range(0, len(rows), 400))


def _document(tx: Any, texts: list[str], vectors: Any, source: str) -> None:
    pooled = np.asarray(vectors).sum(axis=0)
    document = tx.artifact("\n".join(texts), vector=pooled / np.linalg.norm(pooled), source=source)
    at = byte = 0
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        size = len(text.encode())
        chunk = Chunk(number, at, at + len(text), byte, byte + size, text, max(1, len(text) // 4))
        tx.chunk(document, chunk, vector=np.asarray(vector))
        at, byte = at + len(text) + 1, byte + size + 1


def _graph(memory: Memory, texts: list[str], vectors: Any) -> None:
    """The 20,000 commonest capitalised words as entities; every 16th chunk that has two of them states a fact."""
    common = {name for name, _ in Counter(n for t in texts[::4] for n in set(_NAME.findall(t))).most_common(20_000)}
    for start in range(0, len(texts), 160_000):
        with memory.write() as tx:
            note = tx.artifact(f"facts from chunk {start} on", vector=np.asarray(vectors[start]))
            for at in range(start, min(start + 160_000, len(texts)), 16):
                names = [name for name in dict.fromkeys(_NAME.findall(texts[at])) if name in common][:2]
                if len(names) == 2:
                    vector = np.asarray(vectors[at])
                    one, other = (tx.entity(name, "name", artifact=note, vector=vector) for name in names)
                    tx.edge(one, "is named with", other, artifact=note, fact=texts[at][:160], vector=vector)


def _vector_recall(memory: Memory, queries: Any) -> float:
    """The share of the exact ten nearest chunks that a recall by vectors alone, as anybody asks it, has in its ten."""
    vectors, ids = [], []
    for batch in memory.store.view()["artifacts"].batches("`role` = 'chunk'", ["id", "vector"]):
        vectors.append(batch["vector"].flatten().to_numpy().reshape(len(batch), -1))
        ids += batch["id"].to_pylist()
    near = np.concatenate([part @ queries.T for part in vectors])
    best = np.argpartition(-near, 10, axis=0)[:10].T
    how: dict[str, Any] = {"kinds": "passage", "lanes": "vector", "threshold": 0.0, "limit": 10}
    shares = []
    for query, places in zip(queries, best, strict=True):
        got = {hit.id for hit in memory.recall("what is near this vector", vector=query, **how)}
        shares.append(len({ids[at] for at in places} & got) / 10)
    return round(statistics.fmean(shares), 4)


def _latency(memory: Memory, warm: list[Any], asked: list[Any], **options: Any) -> dict[str, Any]:
    for text, vector in warm:
        memory.recall(text, vector=vector, **options)
    took, cpu, parts = [], [], Counter[str]()
    for text, vector in asked:
        began, used = time.perf_counter(), time.process_time()
        found = memory.recall(text, vector=vector, **options)
        took.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
        parts.update(found.timings)
    named = {name: round(total / len(asked), 1) for name, total in parts.items()}
    marks = {f"p{p}": round(float(np.percentile(took, p)), 1) for p in (50, 90, 99)}
    return {**marks, "cpu": round(statistics.median(cpu), 1), "mean_by_part": named}
