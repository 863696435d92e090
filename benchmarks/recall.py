"""Recall: speed and the vector lane's recall at a million chunks, and the quality of what is found.

``python -m benchmarks recall PART FOLDER …`` runs one part and keeps the others' last figures:

``scale CORPUS PLACE``    CORPUS as ``recall_corpus.py`` makes it; the dataset is built at PLACE if it is not there
``quality QUESTIONS``     questions.csv with exact answer spans, as in the public chunking evaluation; embedded model
``documents``             Linux documentation by held-out sentences: pooled vectors, chunk vectors, both

Times are milliseconds. ``load`` is the machine's load average before and after: figures taken above the number of
cores are upper bounds, and ``cpu`` (of the whole process, all threads) is what to compare.
"""

from __future__ import annotations

import csv
import json
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.embedding.embedder import Embedder
from unabridged.memory import Memory
from unabridged.text.segmenters import split
from unabridged.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_RESULTS = Path(__file__).parent / "results" / "recall.json"
_KERNEL = Path("/usr/share/doc/linux-doc-6.1/html/_sources")
_NAME = re.compile(r"\b[A-Z][a-zA-Z]{3,}\b")
COMMIT = 40_000  # chunks a commit


def main(arguments: list[str]) -> dict[str, Any]:
    """Run one part."""
    parts: dict[str, Callable[..., dict[str, Any]]] = {"scale": _scale, "quality": _quality, "documents": _by_document}
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
    handle = memory.store.view()["artifacts"]
    vectors, ids = [], []
    for batch in handle.batches("`role` = 'chunk'", ["id", "vector"]):
        vectors.append(batch["vector"].flatten().to_numpy().reshape(len(batch), -1))
        ids += batch["id"].to_pylist()
    near = np.concatenate([part @ queries.T for part in vectors])
    best = np.argpartition(-near, 10, axis=0)[:10].T
    shares = []
    for query, places in zip(queries, best, strict=True):
        got = handle.nearest(query, 10, where="`role` = 'chunk'")["id"].to_pylist()
        shares.append(len({ids[at] for at in places} & set(got)) / 10)
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


# -- quality ---------------------------------------------------------------------------------------------


def _quality(folder: Path) -> dict[str, Any]:
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (folder / f"{row['corpus_id']}.md").is_file()]
    texts = {name: (folder / f"{name}.md").read_text("utf-8") for name in {row["corpus_id"] for row in rows}}
    with tempfile.TemporaryDirectory() as place, Embedder(cache=True) as embedder:  # noqa: SIM117 - the line's length
        with Memory.open(place, embedder=embedder, upkeep=False) as memory:
            for name, text in texts.items():
                memory.add(text, source=name, chunks=split(text, max_tokens=800, tokenizer="characters"))
            memory.optimize()
            found: dict[str, Any] = {"questions": len(rows), "chunk_characters": 800}
            lanes = {"vector": {"lanes": "vector"}, "text": {"lanes": "text"}, "fused": {}}
            for name, options in lanes.items():
                for limit in (5, 10):
                    scores = _answers(memory, rows, texts, limit=limit, threshold=0.0, **options)
                    found[f"{name}_recall_at_{limit}"] = round(float(np.mean(scores)), 4)
            held = _answers(memory, rows, texts, limit=5)
            return found | {"fused_recall_at_5_over_threshold": round(float(np.mean(held)), 4)}


def _answers(memory: Memory, rows: list[Any], texts: dict[str, str], **options: Any) -> list[float]:
    scores = []
    for row in rows:
        text = texts[row["corpus_id"]]
        spans = [(each["start_index"], each["end_index"]) for each in json.loads(row["references"])]
        wanted = {at for a, b in spans for at in range(len(text[:a].encode()), len(text[:b].encode()))}
        got: set[int] = set()
        for hit in memory.recall(row["question"], kinds="passage", **options):
            each = hit.evidence[0]
            if each.source == row["corpus_id"]:
                got |= set(range(each.document_start, each.document_end))
        scores.append(len(wanted & got) / len(wanted))
    return scores


def _by_document(count: int = 150) -> dict[str, Any]:
    """Sentences kept out of long documents, as queries for them; chunk and pooled vectors of the embedded model."""
    rng = np.random.default_rng(0)
    paths = [p for p in sorted(_KERNEL.rglob("*.txt")) if "translations" not in p.parts]
    long = [p for p in paths if 10_000 <= p.stat().st_size <= 18_000]
    chosen = [long[at] for at in rng.permutation(len(long))[:count]]
    queries, ranks = [], {}
    with tempfile.TemporaryDirectory() as place, Embedder(cache=True) as embedder:  # noqa: SIM117 - the line's length
        with Memory.open(place, embedder=embedder, upkeep=False) as memory:
            for path in chosen:
                text, kept = _kept_out(path.read_text("utf-8", "replace"), rng)
                memory.add(text, source=str(path), chunks=split(text, max_tokens=200))
                queries += [(sentence, str(path)) for sentence in kept]
            memory.optimize()
            ways: dict[str, Callable[[str], list[str]]] = {
                "pooled_vectors": lambda sentence: _nearest(memory, embedder, sentence, "document"),
                "chunk_vectors": lambda sentence: _nearest(memory, embedder, sentence, "chunk"),
                "both": lambda sentence: _recalled(memory, sentence, lanes="vector"),
                "all_lanes": lambda sentence: _recalled(memory, sentence),
            }
            for name, way in ways.items():
                ranks[name] = [_rank(way(sentence), source) for sentence, source in queries]
    return {"documents": len(chosen), "queries": len(queries)} | {name: _summary(each) for name, each in ranks.items()}


def _kept_out(text: str, rng: Any) -> tuple[str, list[str]]:
    sentences = [s for s in re.findall(r"[A-Z][^.!?\n]{50,160}[.]", text) if text.count(s) == 1]
    kept = [sentences[at] for at in rng.permutation(len(sentences))[:3]]
    for sentence in kept:
        text = text.replace(sentence, "")
    return text, kept


def _nearest(memory: Memory, embedder: Embedder, sentence: str, role: str) -> list[str]:
    table = memory.store.view()["artifacts"]
    vector = embedder.embed_query(sentence)
    return table.nearest(vector, 50, where=f"`role` = '{role}'", columns=["source"])["source"].to_pylist()


def _recalled(memory: Memory, sentence: str, **options: Any) -> list[str]:
    hits = memory.recall(sentence, kinds="document", limit=20, threshold=0.0, **options)
    return [str(hit.evidence[0].source) for hit in hits]


def _rank(sources: list[str], wanted: str) -> int | None:
    order = list(dict.fromkeys(sources))
    return order.index(wanted) + 1 if wanted in order else None


def _summary(ranks: list[int | None]) -> dict[str, float]:
    found = [1 / rank if rank else 0.0 for rank in ranks]
    return {
        "recall_at_10": round(statistics.fmean(rank is not None and rank <= 10 for rank in ranks), 4),
        "reciprocal_rank": round(statistics.fmean(found), 4),
    }
