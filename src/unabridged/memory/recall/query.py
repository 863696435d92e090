"""The query's own vector: of the dataset's model, or none and the reason (SPEC R4, A15)."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.advice import cause
from unabridged.errors import InputError
from unabridged.memory.recall.data import Degraded
from unabridged.memory.recall.score import STRANGERS, Calibration, calibrate
from unabridged.memory.vectors import GIVEN, checked_vector

if TYPE_CHECKING:
    from unabridged.memory.commits import View
    from unabridged.memory.vectors import EmbedderLike

__all__ = ["PATIENCE", "Meant", "asked", "calibration_of", "meant"]

PATIENCE = 10.0  # seconds that a recall waits for its query's vector before it goes on without


def asked(query: str, what: str = "query") -> str:
    """What is asked, if it is anything at all."""
    if not isinstance(query, str):
        raise InputError(f"{what}: found {type(query).__name__}, expected a string")
    if not query.strip():
        raise InputError(f"{what}: it is empty; say what to look for, in a few words")
    return query


@dataclass(frozen=True, slots=True)
class Meant:
    """A query's vector and those of the strangers it is held against, or why there is none."""

    vector: Any = None
    strangers: tuple[Any, ...] = ()
    degraded: Degraded | None = None


def meant(
    query: str, view: View, embedder: EmbedderLike | None, *, given: Any = None, patience: float | None = None
) -> Meant:
    """Embed a query, unless its vector is given, or could not be compared with the dataset's."""
    stored, width = view.settings.get("fingerprint"), view.settings.get("width")
    if given is not None and width is not None:
        return Meant(checked_vector(given, width, "vector"))
    if width is None:
        return _without("the dataset holds no vectors", "embedder" if embedder is None else "embed_missing")
    if embedder is None:
        return _without("no embedder is given, and the dataset's vectors need the one that made them", "embedder")
    if stored != embedder.fingerprint("document"):
        given = " (they were given without one)" if stored == GIVEN else ""
        return _without(f"the dataset's vectors are of another model or settings{given}", "reembed")
    known = _known(embedder, stored)
    texts = [query] if known is not None else [query, *STRANGERS]
    answer = _patiently(embedder, texts, PATIENCE if patience is None else patience)
    if isinstance(answer, str):
        return _without(answer)
    vector, *strangers = [checked_vector(each, width, "the query's vector") for each in answer]
    if known is None:
        known = _remember(embedder, stored, tuple(strangers))
    return Meant(vector, known)


def _without(reason: str, advice: str | None = None) -> Meant:
    return Meant(degraded=Degraded("vector", reason, advice))


def _patiently(embedder: EmbedderLike, texts: list[str], patience: float) -> Any:
    """The vectors, or why they did not come: what an embedder of anybody's raises must not keep text from answering."""
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(_embedded(embedder, texts))
        except Exception as error:  # noqa: BLE001
            answer.append(f"the embedder failed: {cause(error)}")

    thread = threading.Thread(target=ask, name="unabridged-query", daemon=True)
    thread.start()
    thread.join(patience)
    return answer[0] if answer else f"the embedder did not answer within {patience:g} s"


def _embedded(embedder: Any, texts: list[str]) -> list[Any]:
    """As queries where the embedder tells them from documents."""
    if hasattr(embedder, "embed_detailed"):
        return list(embedder.embed_query(texts))
    if not hasattr(embedder, "embed_query"):
        return list(np.asarray(embedder.embed(texts)))
    query = np.asarray(embedder.embed_query(texts[0]))
    return [query.reshape(-1), *(np.asarray(embedder.embed(texts[1:])) if texts[1:] else ())]


_strangers: weakref.WeakKeyDictionary[Any, tuple[str, tuple[Any, ...]]] = weakref.WeakKeyDictionary()
_calibrations: dict[tuple[str, str, str, int], Calibration] = {}
_mutex = threading.Lock()


def _known(embedder: Any, fingerprint: str) -> tuple[Any, ...] | None:
    found = _strangers.get(embedder)
    return found[1] if found is not None and found[0] == fingerprint else None


def _remember(embedder: Any, fingerprint: str, strangers: tuple[Any, ...]) -> tuple[Any, ...]:
    _strangers[embedder] = (fingerprint, strangers)
    return strangers


def calibration_of(view: View, table: str, strangers: tuple[Any, ...]) -> Calibration:
    """The calibration of a table's vectors, made anew when it has doubled."""
    rows = view[table].count()
    key = (view.dataset, str(view.settings.get("fingerprint")), table, rows.bit_length())
    with _mutex:
        found = _calibrations.get(key)
    if found is None:
        found = calibrate(view, table, strangers)
        with _mutex:
            _calibrations[key] = found
    return found
