"""A text stored at once, without a graph or with one that comes later; and what a request would cost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.embedding.pooling import pool
from unabridged.memory.remember.data import Remembered
from unabridged.memory.vectors import embed_texts

if TYPE_CHECKING:
    from unabridged.memory.memory import Memory
    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.plan import Plan
    from unabridged.memory.remember.run import Run

__all__ = ["estimated", "stored_whole", "vectors_of_version"]

_PROMPT = 900  # tokens of instructions and schema that an extraction sends beside its text
_SUMMARY_PROMPT = 120
_ANSWER = 0.6  # tokens of JSON for each token of prose: two facts a sentence, measured on the worked examples
_SUMMARY = 120  # tokens of two to four sentences


def stored_whole(run: Run, *, waits: bool) -> dict[str, Artifact]:
    """The document and its chunks with their vectors, in one commit; ``waits`` leaves them for a graph later."""
    since, plan, memory = time.monotonic(), run.plan, run.memory
    request, processed = plan.request, None if waits else plan.created_at
    tx = memory.write()
    tx.gathered.created_at = plan.created_at
    vectors = _vectors(run)
    document = tx.artifact(
        request.text,
        id=plan.id,
        kind=request.kind,
        vector=vectors.get(plan.id),
        processed_at=plan.created_at if plan.chunked else processed,
        **request.artifact,
    )
    for unit in plan.units if plan.chunked else ():
        assert unit.chunk is not None  # noqa: S101 - a chunked plan's units are its chunks
        more: dict[str, Any] = {"splitter": request.cutter.name, "processed_at": processed}
        tx.chunk(document, unit.chunk, id=unit.id, vector=vectors.get(unit.id), **more)
    tx.commit(embed=False)
    run.step("store_parent_artifact", "", since=since, chunks=len(plan.chunks))
    run.tell("store", 1, 1)
    return dict(tx.gathered.artifacts)


def _vectors(run: Run) -> dict[str, Any]:
    plan, embedder = run.plan, run.memory.embedder
    if embedder is None:
        return {}
    since = time.monotonic()
    texts = {unit.id: unit.text if unit.chunk is None else unit.chunk.text for unit in plan.units}
    vectors = {id_: run.kept[text] for id_, text in texts.items() if text in run.kept}
    fresh = {id_: text for id_, text in texts.items() if id_ not in vectors}
    if fresh:
        vectors.update(zip(fresh, embed_texts(embedder, list(fresh.values())), strict=True))
    if plan.chunked:
        weights = [max(chunk.tokens - chunk.overlap_tokens, 1) for chunk in plan.chunks]
        vectors[plan.id] = pool(np.stack([vectors[unit.id] for unit in plan.units]), weights)
    run.step("embed", "", since=since, texts=len(texts))
    return vectors


def vectors_of_version(memory: Memory, version: Artifact | None) -> dict[str, Any]:
    """The vectors of an earlier version's chunks and summaries (or of its text), by what was embedded."""
    if version is None or memory.embedder is None:
        return {}
    if memory.settings.get("fingerprint") != memory.embedder.fingerprint("document"):
        return {}
    chunks = memory.artifacts.chunks(version)
    below = [each for chunk in chunks for each in memory.artifacts.children(chunk, role="summary")]
    records = [*chunks, *below] or [version]
    vectors = memory.artifacts.vectors([each.id for each in records])
    return {each.search_text: vectors[each.id] for each in records if each.id in vectors}


def estimated(memory: Memory, plan: Plan) -> Remembered:
    """A dry run: chunks, calls, tokens and what they would cost, before anything is spent or stored."""
    request, asker = plan.request, getattr(memory, "asker", None)
    units, read = len(plan.units), sum(chunk.tokens for chunk in plan.chunks) or plan.tokens
    reads = asker is not None and request.extract
    summaries = units if reads and plan.chunked and request.summarize else 0
    calls = {"extract_graph": units if reads else 0, "summarize_chunk": summaries}
    calls["resolve_edges"] = calls["extract_graph"]  # at the most: only where candidates have to be compared
    tokens_in = {
        "extract_graph": calls["extract_graph"] * _PROMPT + (read if reads else 0),
        "summarize_chunk": summaries * _SUMMARY_PROMPT + (read if summaries else 0),
    }
    tokens_out = {"extract_graph": int(read * _ANSWER) if reads else 0, "summarize_chunk": summaries * _SUMMARY}
    found = {
        "tokens": plan.tokens,
        "chunks": len(plan.chunks),
        "chunk_tokens": [chunk.tokens for chunk in plan.chunks],
        "calls": calls,
        "embedding_requests": units if memory.embedder is not None else 0,
        "tokens_in": sum(tokens_in.values()),
        "tokens_out": sum(tokens_out.values()),
        "cost_usd": _cost(asker, tokens_in, tokens_out),
    }
    return Remembered(
        artifact_id="",
        kind=request.kind,
        created_at=plan.created_at,
        session_id=request.artifact["session_id"],
        valid_at=request.artifact["valid_at"],
        notes=("dry_run: nothing was called or stored; resolve_edges is the most there can be",),
        estimate=found,
    )


def _cost(asker: Any, tokens_in: dict[str, int], tokens_out: dict[str, int]) -> float | None:
    """In US dollars, by the prices of each stage's model; ``None`` where a price is not known."""
    costs = []
    for stage, read in tokens_in.items():
        prices = asker.prices(stage) if asker is not None else (0.0, 0.0)
        if prices is None:
            return None
        costs.append((read * prices[0] + tokens_out[stage] * prices[1]) / 1e6)
    return round(sum(costs), 6)
