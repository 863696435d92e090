"""The section ``retrieval`` of memory-lancedb-pro -> what it says of recalls, and why the rest is not used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic.alias_generators import to_camel

from unabridged.config.model_recall import RecallSection, RerankSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from unabridged.config.jsonc import Path
    from unabridged.config.model import RetrievalSettings

__all__ = ["Mapped", "mapped"]

# Their scores and ours are 0 to 1 and no more alike than that. So what they keep by default is what we keep by
# default, 0 lets all through on both, and between they go in proportion.
_THEIR_LEAST = {"min_score": 0.3, "hard_min_score": 0.35}
_OUR_LEAST = 0.5
_RERANKERS = {"jina": "jina", "siliconflow": "jina", "tei": "tei", "voyage": "voyage"}  # whose shape each speaks
_NOT_USED: Mapping[str, str] = {
    "vector_weight": "what each way of searching found is put together by rank, without weights of yours",
    "bm25_weight": "what each way of searching found is put together by rank, without weights of yours",
    "candidate_pool_size": "each way of searching brings as many candidates as recall.limit needs, 32 at the least",
    "recency_weight": "how much age counts beside the rest is fixed; recall.recency says how fast",
    "filter_noise": "recall.threshold leaves out what a question about something else would find as well",
    "length_norm_anchor": "a long document is not penalised for its length",
    "reinforcement_factor": "how often a memory was recalled does not count",
    "max_half_life_multiplier": "how often a memory was recalled does not count",
}


@dataclass(frozen=True, slots=True)
class Mapped:
    """The section ``recall`` with what ``retrieval`` says in it.

    ``origins``: the key of ``retrieval`` that each key of ``recall`` comes from. A note tells of every key.
    """

    recall: RecallSection
    origins: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def mapped(retrieval: RetrievalSettings | None, recall: RecallSection) -> Mapped:
    """What can be taken over; a key that ``recall`` has itself wins.

    >>> from unabridged.config.model import RetrievalSettings
    >>> found = mapped(RetrievalSettings(hardMinScore=0.35, vectorWeight=0.7), RecallSection())
    >>> found.recall.threshold, [note.partition(";")[0] for note in found.notes]
    (0.5, ['retrieval.vectorWeight: not used', 'retrieval.hardMinScore: used as recall.threshold 0.5'])
    """
    if retrieval is None:
        return Mapped(recall)
    update: dict[str, Any] = {}
    origins: dict[str, Path] = {}
    notes = []
    for one in sorted(_takings(retrieval), key=lambda one: list(type(retrieval).model_fields).index(one.key)):
        at = f"retrieval.{to_camel(one.key)}"
        if one.name is None:
            notes.append(f"{at}: not used; {one.why}")
        elif one.name in recall.model_fields_set:
            notes.append(f"{at}: not used; recall.{one.name} is given, and wins")
        else:
            if one.value is not None:
                update[one.name] = one.value
                origins[one.name] = ("retrieval", to_camel(one.key))
            notes.append(f"{at}: used as recall.{one.name} {one.why}")
    return Mapped(recall.model_copy(update=update), origins, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Taking:
    """What becomes of one key: a value of ``recall`` (``name``), or none, and why."""

    key: str
    name: str | None
    value: Any
    why: str


def _takings(given: RetrievalSettings) -> Iterator[_Taking]:
    names = given.model_fields_set
    for name in names & _NOT_USED.keys():
        yield _Taking(name, None, None, _NOT_USED[name])
    if given.mode is not None:
        lanes = ["vector"] if given.mode == "vector" else None
        yield _Taking("mode", "lanes", lanes, "vector" if lanes else "vector, text, names, graph, which is the default")
    yield from _threshold(given)
    yield from _recency(given)
    yield from _rerank(given)


def _threshold(given: RetrievalSettings) -> Iterator[_Taking]:
    """Both are floors of one result, so the higher one counts."""
    scores = {name: score for name in _THEIR_LEAST if (score := getattr(given, name)) is not None}
    highest = max(scores, key=lambda name: (scores[name], name), default=None)
    for name, score in scores.items():
        if name != highest:
            yield _Taking(name, None, None, f"{to_camel(str(highest))} is no lower, and counts")
            continue
        usual = _THEIR_LEAST[name]
        value = _OUR_LEAST * score / usual
        if score > usual:
            value = _OUR_LEAST + (1 - _OUR_LEAST) * (score - usual) / (1 - usual)
        value = round(value, 3)
        yield _Taking(
            name, "threshold", value, f"{value:g}; {usual:g}, the default there, is {_OUR_LEAST:g}, the default here"
        )


def _recency(given: RetrievalSettings) -> Iterator[_Taking]:
    """Two half-lives there, one here; 0 is off on both."""
    names = ("recency_half_life_days", "time_decay_half_life_days")
    days = {name: value for name in names if (value := getattr(given, name)) is not None}
    chosen = next((name for name, value in days.items() if value), None)
    for name, value in days.items():
        if name == chosen:
            yield _Taking(name, "recency", value, f"{value:g} days")
        elif value == 0:
            yield _Taking(name, None, None, "0 is off, as it is without")
        else:
            yield _Taking(name, None, None, f"there is one half-life here, and {to_camel(str(chosen))} gives it")


def _rerank(given: RetrievalSettings) -> Iterator[_Taking]:
    every = ("rerank", "rerank_provider", "rerank_model", "rerank_endpoint", "rerank_api_key", "rerank_timeout_ms")
    names = [name for name in every if getattr(given, name) is not None]
    why_not = _unranked(given)
    for name in names:
        if why_not is not None:
            yield _Taking(name, None, None, why_not)
        else:
            yield _Taking(name, "rerank", _reranker(given) if name == names[0] else None, _said(name, given))


def _unranked(given: RetrievalSettings) -> str | None:
    """Why no cross-encoder is asked, if none is."""
    provider = given.rerank_provider or "jina"
    if given.rerank == "none":
        return "rerank is none"
    if given.rerank == "lightweight":
        return "hits are ordered by their vectors and words anyway; a cross-encoder can be asked besides"
    if provider not in _RERANKERS:
        known = ", ".join(sorted(_RERANKERS))
        return f"no cross-encoder of {provider!r} is known, so none is asked; known are {known}"
    if provider == "siliconflow" and given.rerank_endpoint is None:
        return "siliconflow needs its rerankEndpoint, so no cross-encoder is asked"
    if given.rerank_api_key is None and provider != "tei" and given.rerank_endpoint is None:
        return "there is no rerankApiKey, so no cross-encoder is asked"
    return None


def _reranker(given: RetrievalSettings) -> RerankSettings:
    where = None if given.rerank_endpoint is None else urlsplit(given.rerank_endpoint)
    query = "" if where is None or not where.query else f"?{where.query}"
    made: dict[str, Any] = {
        "provider": _RERANKERS[given.rerank_provider or "jina"],
        "model": given.rerank_model,
        "apiKey": given.rerank_api_key,
        "baseURL": None if where is None else f"{where.scheme}://{where.netloc}",
        "path": None if where is None or where.path in ("", "/") else f"{where.path}{query}",
        "timeout": None if given.rerank_timeout_ms is None else given.rerank_timeout_ms / 1000,
    }
    return RerankSettings.model_validate({key: value for key, value in made.items() if value is not None})


def _said(name: str, given: RetrievalSettings) -> str:
    """What stands in the section ``recall.rerank``; a key is only said to be there."""
    shape = _RERANKERS[given.rerank_provider or "jina"]
    return {
        "rerank": f"(provider {shape})",
        "rerank_provider": f"(provider {shape})",
        "rerank_model": f"(model {given.rerank_model})",
        "rerank_endpoint": "(baseURL and path)",
        "rerank_api_key": "(apiKey)",
        "rerank_timeout_ms": f"(timeout {(given.rerank_timeout_ms or 0) / 1000:g} seconds)",
    }[name]
