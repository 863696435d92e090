"""Recipes compared on one document and question (SPEC S15)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.errors import ConfigError
from unabridged.text.lexical import words_of
from unabridged.text.segmenters import segment_spec, split
from unabridged.text.segmenters.models import Models, as_chat, as_embed
from unabridged.text.segmenters.split import read_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from unabridged.text.documents.model import Document
    from unabridged.types import Chunk, ChunkSet

__all__ = ["compare", "rank_chunks"]

_READERS = ("retrieve", "all")
_TOP = 5


def compare(
    source: str | Document | bytes | PathLike[str],
    question: str,
    recipes: Mapping[str, Any] | Iterable[Any],
    *,
    tokenizer: str | object | None = None,
    embedder: object = None,
    llm: object = None,
) -> list[dict[str, Any]]:
    """A row a recipe: its segmenter, chunks, which were used, and the answer if an ``llm`` is given.

    A recipe is what ``segment`` takes (a name, a mapping, a spec), or ``{"name", "segment", "read": {"reader":
    "retrieve" | "all", "top_k": 5}}``. The document is read once, and recipes whose segment settings match
    share one segmentation. Chunks are ranked by the embedder's vectors where one is given, else by BM25.

    >>> rows = compare("Revenue rose.\\n\\nCosts fell.", "What was revenue?", ["paragraph", "sentence"])
    >>> [(row["recipe"], row["chunks"], row["chunks_used"]) for row in rows]
    [('paragraph', 1, 1), ('sentence', 1, 1)]
    """
    document = read_source(source)
    made: dict[str, ChunkSet] = {}
    rows = []
    for name, segment, read in _recipes(recipes):
        spec = segment_spec(segment)
        key = json.dumps(
            [spec.method, spec.max_tokens, spec.overlap_tokens, spec.min_tokens, dict(spec.settings)], default=repr
        )
        if key not in made:
            made[key] = split(document, spec, tokenizer=tokenizer, embedder=embedder, llm=llm)
        rows.append(_row(name, made[key], question, read, (embedder, llm)))
    return rows


def _recipes(recipes: Mapping[str, Any] | Iterable[Any]) -> Iterable[tuple[str, Any, Mapping[str, Any]]]:
    pairs = recipes.items() if isinstance(recipes, Mapping) else [(None, recipe) for recipe in recipes]
    for name, recipe in pairs:
        whole = isinstance(recipe, Mapping) and ("segment" in recipe or "read" in recipe)
        segment = recipe.get("segment", "paragraph") if whole else recipe  # type: ignore[union-attr]
        read = recipe.get("read", {}) if whole else {}  # type: ignore[union-attr]
        label = name or (recipe.get("name") if whole else None)  # type: ignore[union-attr]
        yield str(label or segment_spec(segment).method), segment, read


def _row(
    name: str, chunks: ChunkSet, question: str, read: Mapping[str, Any], models: tuple[object, object]
) -> dict[str, Any]:
    reader = read.get("reader", "retrieve")
    if reader not in _READERS:
        raise ConfigError("read.reader", f"found {reader!r}, expected one of {', '.join(_READERS)}")
    embedder, llm = models
    hits = (
        list(range(len(chunks)))
        if reader == "all"
        else rank_chunks(chunks, question, embedder)[: read.get("top_k", _TOP)]
    )
    used = [chunks[at] for at in hits]
    answer = _answer(question, used, llm) if llm is not None else None
    return {
        "recipe": name, "segmenter": chunks.method, "chunks": len(chunks), "reader": reader, "chunks_used": len(used),
        "tokens_used": sum(chunk.tokens for chunk in used), "hits": tuple(chunk.chunk_id for chunk in used),
        "answer": answer, "warnings": chunks.warnings,
    }  # fmt: skip


def rank_chunks(chunks: Sequence[Chunk], question: str, embedder: object = None) -> list[int]:
    """Positions of chunks, the best for the question first: by cosine, or by BM25 without an embedder."""
    texts = [chunk.text for chunk in chunks]
    if not texts:
        return []
    embed = as_embed(embedder)
    if embed is None:
        return np.argsort(-_bm25(texts, question), kind="stable").tolist()
    vectors = np.asarray(embed.vectors([question, *texts]), np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return np.argsort(-(vectors[1:] @ vectors[0]), kind="stable").tolist()


def _bm25(texts: Sequence[str], question: str, k: float = 1.5, b: float = 0.75) -> Any:
    """Okapi BM25 with the usual constants."""
    bags = [Counter(words_of(text)) for text in texts]
    lengths = np.array([max(1, bag.total()) for bag in bags], float)
    scores = np.zeros(len(bags))
    for word in set(words_of(question)):
        counts = np.array([bag[word] for bag in bags], float)
        have = int(np.count_nonzero(counts))
        weight = math.log(1 + (len(bags) - have + 0.5) / (have + 0.5))
        scores += weight * counts * (k + 1) / (counts + k * (1 - b + b * lengths / lengths.mean()))
    return scores


def _answer(question: str, used: Sequence[Chunk], llm: object) -> str:
    passages = "\n\n".join(f"[{chunk.chunk_id}] {chunk.text}" for chunk in used)
    asked = f"Answer from the passages only, naming their numbers.\n\n{passages}\n\nQuestion: {question}"
    return Models(as_chat(llm)).ask("compare.answer", [{"role": "user", "content": asked}])
