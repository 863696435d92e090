"""The quality of what recall finds, for ``benchmarks.recall``: three sets, and what was chosen on which.

The weights of the fusion were chosen on ``chosen_on``, the questions whose answer stands in the first half of each
public document; ``held_out`` are the others. On Python's FAQ nothing was ever chosen.
"""

from __future__ import annotations

import csv
import json
import re
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.embedding.embedder import Embedder
from unabridged.memory import Memory
from unabridged.text.segmenters import split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KERNEL = Path("/usr/share/doc/linux-doc-6.1/html/_sources")
_PYTHON = Path("/usr/share/doc/python3.11/html/_sources")
_WAYS: dict[str, dict[str, Any]] = {"vector": {"lanes": "vector"}, "text": {"lanes": "text"}, "fused": {}}
_SIZES: dict[str, Any] = {"max_tokens": 800, "tokenizer": "characters"}
_DOCUMENTS = 60  # of the kernel: 0.8 MB, a minute or two of embedding
_STRANGERS = 150


def quality(folder: Path) -> dict[str, Any]:
    """Questions with exact answer spans: the share of their bytes that comes back."""
    rows, texts = _public(folder)
    early = [json.loads(row["references"])[0]["start_index"] < len(texts[row["corpus_id"]]) / 2 for row in rows]
    with tempfile.TemporaryDirectory() as place, Embedder(cache=True) as embedder:  # noqa: SIM117 - the line's length
        with Memory.open(place, embedder=embedder, upkeep=False) as memory:
            _fill(memory, texts)
            found: dict[str, Any] = {"questions": len(rows), "chunk_characters": 800}
            for name, options in _WAYS.items():
                for limit in (5, 10):
                    scores = _answers(memory, rows, texts, limit=limit, threshold=0.0, **options)
                    found |= _halves(f"{name}_recall_at_{limit}", scores, early)
            held = _answers(memory, rows, texts, limit=5)
            return found | _halves("fused_recall_at_5_over_threshold", held, early)


def _halves(name: str, scores: Sequence[float], early: Sequence[bool]) -> dict[str, Any]:
    parts = {"": scores, "_chosen_on": [s for s, e in zip(scores, early, strict=True) if e]}
    parts["_held_out"] = [s for s, e in zip(scores, early, strict=True) if not e]
    return {f"{name}{part}": round(float(np.mean(each)), 4) for part, each in parts.items()}


def _public(folder: Path) -> tuple[list[Any], dict[str, str]]:
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (folder / f"{row['corpus_id']}.md").is_file()]
    return rows, {name: (folder / f"{name}.md").read_text("utf-8") for name in {row["corpus_id"] for row in rows}}


def _fill(memory: Memory, texts: dict[str, str], **sizes: Any) -> None:
    for name, text in texts.items():
        memory.add(text, source=name, chunks=split(text, **(sizes or _SIZES)))
    memory.optimize()


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


# -- Python's FAQ -----------------------------------------------------------------------------------------


def faq(folder: Path) -> dict[str, Any]:
    """The FAQ's questions, taken out of it: whether a passage of the answer is among the hits."""
    texts, questions = _faq()
    strangers = [row["question"] for row in _public(folder)[0]][:: max(1, 317 // _STRANGERS)]
    with tempfile.TemporaryDirectory() as place, Embedder(cache=True) as embedder:  # noqa: SIM117 - the line's length
        with Memory.open(place, embedder=embedder, upkeep=False) as memory:
            _fill(memory, texts)
            found: dict[str, Any] = {"questions": len(questions), "documents": len(texts)}
            for name, options in {**_WAYS, "over_threshold": {"threshold": None}}.items():
                for limit in (5, 10):
                    told = {"threshold": 0.0, **options, "limit": limit, "kinds": "passage"}
                    met = [_within(memory.recall(question, **told), *answer) for question, *answer in questions]
                    found[f"{name}_right_at_{limit}"] = round(statistics.fmean(met), 4)
            hits = [bool(memory.recall(question, kinds="passage", limit=1)) for question in strangers]
            return found | {"strangers": len(strangers), "strangers_with_a_hit": round(statistics.fmean(hits), 4)}


def _faq() -> tuple[dict[str, str], list[tuple[str, str, int, int]]]:
    paths = sorted(path for folder in ("faq", "tutorial", "howto") for path in (_PYTHON / folder).glob("*.txt"))
    texts, questions = {}, []
    for path in paths:
        name, text = f"{path.parent.name}/{path.name}", path.read_text("utf-8", "replace")
        if path.parent.name == "faq":
            text, asked = _without_headings(text)
            questions += [(question, name, start, end) for question, start, end in asked]
        texts[name] = text
    return texts, questions


def _without_headings(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """A text without its headings, and those that ask something with the bytes that answer them."""
    kept, marks = "", []
    parts = re.split(r"(?m)^(\S.*)\n[-=~^*]{4,}\n", text)
    for heading, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        start = len(kept.encode())
        kept += body
        if heading.endswith("?") and len(body.strip()) > 80:
            marks.append((re.sub(r":\w+:|`", "", heading), start, len(kept.encode())))
    return kept, marks


def _within(hits: Any, source: str, start: int, end: int) -> bool:
    """Whether a hit holds at least 60 bytes of the answer, or half of a short one."""
    least = min(60, (end - start) // 2)
    places = [hit.evidence[0] for hit in hits if hit.evidence[0].source == source]
    return any(min(end, each.document_end) - max(start, each.document_start) > least for each in places)


# -- documents --------------------------------------------------------------------------------------------


def by_document() -> dict[str, Any]:
    """Sentences kept out of long documents, as queries for them; chunk and pooled vectors of the embedded model."""
    rng = np.random.default_rng(0)
    paths = [p for p in sorted(_KERNEL.rglob("*.txt")) if "translations" not in p.parts]
    long = [p for p in paths if 10_000 <= p.stat().st_size <= 18_000]
    chosen = [long[at] for at in rng.permutation(len(long))[:_DOCUMENTS]]
    queries, ranks, texts = [], {}, {}
    for path in chosen:
        texts[str(path)], kept = _kept_out(path.read_text("utf-8", "replace"), rng)
        queries += [(sentence, str(path)) for sentence in kept]
    with tempfile.TemporaryDirectory() as place, Embedder(cache=True) as embedder:  # noqa: SIM117 - the line's length
        with Memory.open(place, embedder=embedder, upkeep=False) as memory:
            _fill(memory, texts, max_tokens=200)
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
    return table.nearest(vector, 200, where=f"`role` = '{role}'", columns=["source"])["source"].to_pylist()


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
