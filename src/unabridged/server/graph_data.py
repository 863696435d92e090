"""The graph and the vectors of a memory as columns for a drawing: read once a head, laid out, kept.

A graph of more entities than are drawn keeps those with most facts; what is left out is counted, not hidden.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unabridged.memory.where import among, batched, both, equals
from unabridged.server.layout import arrange, project

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from unabridged.memory import Memory
    from unabridged.memory.commits import View

__all__ = ["Drawings", "cloud_of", "graph_of"]

MOST_EDGES = 20_000  # drawn; more is a grey mass and slow on a phone
_LABEL = 90  # characters of a text beside its point
_KEPT = 8  # drawings of one server


@dataclass(frozen=True, slots=True)
class _Graph:
    """All of a graph: entity rows, and for each edge the positions of its ends in them."""

    entities: pa.Table
    edges: pa.Table
    ends: NDArray[np.int64]


class Drawings:
    """What was drawn lately, by what it shows and the head it was read at; each is made once.

    >>> drawings = Drawings()
    >>> drawings.get("a", lambda: {"n": 1}) is drawings.get("a", dict)
    True
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._mutex = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The drawing of that key, made if it is not kept."""
        with self._mutex:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._mutex:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
            try:
                made = make()
                with self._mutex:
                    self._kept[key] = made
                    while len(self._kept) > _KEPT:
                        self._kept.popitem(last=False)
                return made
            finally:
                with self._mutex:
                    self._making.pop(key, None)


def graph_of(memory: Memory, *, limit: int, types: Sequence[str] = (), around: str | None = None) -> dict[str, Any]:
    """The graph as columns: nodes with their place, edges with their ends and times (milliseconds since 1970).

    ``types`` keeps entities of these types; ``around`` what is within two steps of an entity. ``total`` says
    how much there is, ``shown`` how much of it is here.
    """
    graph = memory.source.ask(lambda view: _read(view, types))
    count = graph.entities.num_rows
    degree = np.bincount(graph.ends.ravel(), minlength=count)
    chosen = _chosen(graph, degree, limit, around)
    place = np.full(count, -1)
    place[chosen] = np.arange(len(chosen))
    ends = place[graph.ends]
    rows = np.flatnonzero((ends >= 0).all(axis=1))
    drawn = rows[:MOST_EDGES]
    spots = arrange(len(chosen), ends[drawn, 0], ends[drawn, 1])
    return {
        "nodes": _nodes(graph.entities.take(pa.array(chosen)), spots, degree[chosen]),
        "edges": _edges(graph.edges.take(pa.array(drawn)), ends[drawn]),
        "total": {"nodes": count, "edges": graph.edges.num_rows},
        "shown": {"nodes": len(chosen), "edges": len(drawn)},
    }


def _read(view: View, types: Sequence[str]) -> _Graph:
    entities = view.rows("entities", among("type", types) if types else None, ["id", "name", "type"])
    columns = ["id", "source_id", "target_id", "relation", "created_at", "valid_at", "invalid_at"]
    edges = view.rows("edges", None, columns)
    ids = entities["id"].combine_chunks()
    ends = [pc.fill_null(pc.index_in(edges[side], value_set=ids), -1).to_numpy() for side in ("source_id", "target_id")]
    both_there = np.flatnonzero((ends[0] >= 0) & (ends[1] >= 0))
    pairs = np.stack(ends, axis=1)[both_there].astype(np.int64)
    return _Graph(entities, edges.take(pa.array(both_there)), pairs)


def _chosen(graph: _Graph, degree: NDArray[np.int64], limit: int, around: str | None) -> NDArray[np.int64]:
    """The rows of the entities to draw: those near ``around``, then those with most facts."""
    if around is None:
        order = np.argsort(-degree, kind="stable")
        return np.sort(order[:limit])
    near = np.zeros(len(degree), bool)
    start = pc.index(graph.entities["id"], around).as_py()
    if start < 0:
        return np.zeros(0, np.int64)
    near[start] = True
    for _ in range(2):
        touched = near[graph.ends].any(axis=1)
        near[graph.ends[touched].ravel()] = True
    found = np.flatnonzero(near)
    best = found[np.argsort(-degree[found] - (found == start) * (degree.max() + 1), kind="stable")]
    return np.sort(best[:limit])


def _nodes(entities: pa.Table, spots: NDArray[np.float64], degree: NDArray[np.int64]) -> dict[str, Any]:
    types, type_of = _coded(entities["type"])
    places = np.round(spots * 1e4).astype(np.int32)
    return {
        "id": entities["id"].to_pylist(),
        "name": [name[:200] for name in entities["name"].to_pylist()],
        "type": type_of,
        "types": types,
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "degree": degree.tolist(),
    }


def _edges(edges: pa.Table, ends: NDArray[np.int64]) -> dict[str, Any]:
    relations, relation = _coded(edges["relation"])
    times = {name: _milliseconds(edges[name]) for name in ("created_at", "valid_at", "invalid_at")}
    return {
        "id": edges["id"].to_pylist(),
        "source": ends[:, 0].tolist(),
        "target": ends[:, 1].tolist(),
        "relation": relation,
        "relations": relations,
        **times,
    }


def _coded(column: pa.ChunkedArray) -> tuple[list[str], list[int]]:
    """The values, the most frequent first, and each row's position among them."""
    counts = pc.value_counts(column).to_pylist() if len(column) else []
    values = [row["values"] for row in sorted(counts, key=lambda row: (-row["counts"], row["values"]))]
    found = pc.index_in(column, value_set=pa.array(values, pa.string())) if values else column
    return values, found.to_pylist()


def _milliseconds(column: pa.ChunkedArray) -> list[int | None]:
    return pc.divide(column.cast(pa.int64()), 1000).to_pylist()


def cloud_of(memory: Memory, table: str, *, limit: int, method: str, role: str | None = None) -> dict[str, Any]:
    """The vectors of a table in two dimensions, evenly sampled where there are more than ``limit``.

    ``share`` says how much of their variance the picture shows (0 … 1).
    """

    def ask(view: View) -> dict[str, Any]:
        fingerprint = view.settings.get("fingerprint")
        if fingerprint is None:
            return _points(pa.table({}), method, 0)
        where = both(equals("embedder", fingerprint), None if role is None else equals("role", role))
        ids = view.rows(table, where, ["id"])["id"].to_pylist()
        wanted = [ids[at] for at in np.linspace(0, len(ids) - 1, min(limit, len(ids))).astype(int)]
        text, group = _SHOWN[table]
        parts = [view.rows(table, among("id", part), ["id", text, group, "vector"]) for part in batched(wanted)]
        rows = pa.concat_tables(parts).rename_columns(["id", "label", "group", "vector"]) if parts else pa.table({})
        return _points(rows, method, len(ids))

    return memory.source.ask(ask)


_SHOWN = {"artifacts": ("text", "role"), "entities": ("name", "type"), "edges": ("fact", "relation")}


def _points(rows: pa.Table, method: str, total: int) -> dict[str, Any]:
    if not rows.num_rows:
        return {"id": [], "label": [], "group": [], "groups": [], "x": [], "y": [], "share": 1.0, "total": total,
                "width": None}  # fmt: skip
    column = rows["vector"].combine_chunks()
    width = column.type.list_size
    vectors = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32).reshape(-1, width)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    spots, share = project(vectors / np.maximum(norms, 1e-12), method)
    spots = np.round(spots / max(float(np.abs(spots).max()), 1e-12) * 1e4).astype(np.int32)
    groups, group = _coded(rows["group"])
    labels = [" ".join(text[: 4 * _LABEL].split())[:_LABEL] for text in rows["label"].to_pylist()]
    return {
        "id": rows["id"].to_pylist(), "label": labels, "group": group, "groups": groups,
        "x": spots[:, 0].tolist(), "y": spots[:, 1].tolist(), "share": round(share, 4), "total": total, "width": width,
    }  # fmt: skip
