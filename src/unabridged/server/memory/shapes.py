"""What the memory's HTTP API sends, as models for its OpenAPI document: made from the records themselves.

A record is defined once, in ``unabridged.memory``; :func:`shape` reads its fields, so that the document
cannot say anything else than what is sent.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from unabridged.jobs import journal, state
from unabridged.memory import (
    catalog,
    deletion,
    erasure,
    exchange,
    graph,
    records,
    series,
    stats,
    verify,
)
from unabridged.memory.artifacts import Counts
from unabridged.memory.recall import data as recall_data
from unabridged.memory.recall import excerpt as recall_excerpt
from unabridged.memory.recall import timeline
from unabridged.memory.remember import data as remember_data
from unabridged.memory.remember import trajectory

__all__ = ["page_of", "several", "shape"]

_NAMES: Mapping[str, Any] = {  # what the modules import for their types alone
    "dt": dt,
    "Mapping": Mapping,
    "Sequence": Sequence,
    "Counts": Counts,
    "Coverage": stats.Coverage,
    "Deletion": deletion.Deletion,
    "HitKind": recall_data.HitKind,
    "Step": trajectory.Step,
    **{name: getattr(records, name) for name in records.__all__},
}
_CALLED: Mapping[Any, str] = {  # where two modules have the same word, or the API has another one
    catalog.DatasetInfo: "Dataset",
    deletion.Deletion: "Deleted",
    erasure.Erasure: "Erased",
    journal.Counts: "JobCounts",
    series.Stats: "SeriesStatistics",
    state.JobInfo: "Job",
}


@cache
def shape(
    record: Any,
    *,
    more: tuple[tuple[str, Any], ...] = (),
    name: str | None = None,
    only: tuple[str, ...] | None = None,
    without: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
) -> type[BaseModel]:
    """The model of a record's JSON; ``more`` are fields that a reply adds, ``only`` those that it has at all.

    >>> sorted(shape(stats.Coverage).model_json_schema()["properties"])
    ['expected', 'present']
    """
    hints = get_type_hints(record, globalns={**_NAMES, **vars(sys.modules[record.__module__])})
    names = [f.name for f in fields(record) if only is None or f.name in only or f.name in optional]
    names = [field for field in names if field not in without]
    found: dict[str, Any] = dict(_field(field, hints[field]) for field in names)
    found |= dict(_field(field, type_) for field, type_ in more)
    found |= {field: (found[field][0] | None, None) for field in optional}
    return create_model(name or _CALLED.get(record, record.__name__), __doc__=_line(record.__doc__), **found)


def _field(name: str, hint: Any) -> tuple[str, tuple[Any, Any]]:
    """A field of the model, under another name where pydantic has a method of that one."""
    taken = hasattr(BaseModel, name)
    return (f"{name}_", (_told(hint), Field(alias=name))) if taken else (name, (_told(hint), ...))


@cache
def page_of(model: type[BaseModel]) -> type[BaseModel]:
    """A page of records and where the next one begins; ``cursor`` is null on the last page."""
    return create_model(
        f"{model.__name__}Page",
        __doc__=f"A page of {model.__name__} records; ``cursor`` asks for the next one, null at the end.",
        items=(several(model), ...),
        cursor=(str | None, ...),
    )


def several(model: type[BaseModel]) -> Any:
    """A list of records."""
    return list[model]  # type: ignore[valid-type]


def _line(doc: str | None) -> str:
    return (doc or "").strip().split("\n")[0]


def _told(hint: Any) -> Any:
    """A type as JSON has it: records as their models, tuples and sequences as lists."""
    if isinstance(hint, type) and is_dataclass(hint):
        made: Any = shape
        more = (("excerpt", recall_excerpt.Excerpt),)
        return made(hint, without=("record",), more=more) if hint is recall_data.Hit else made(hint)
    origin, inside = get_origin(hint), get_args(hint)
    if origin in {tuple, list, Sequence}:
        return list[_told(inside[0])]  # type: ignore[misc]
    if origin in {dict, Mapping}:
        return dict[str, _told(inside[1])]  # type: ignore[misc]
    if origin in {Union, UnionType}:
        return Union[tuple(map(_told, inside))]  # noqa: UP007 (built from parts)
    return hint


class Removed(BaseModel):
    """The ids that are gone."""

    deleted: list[str]


Artifact = shape(records.Artifact)
ListedArtifact = shape(records.Artifact, more=(("text", str | None),), name="ListedArtifact")
Entity = shape(records.Entity)
Edge = shape(records.Edge)
Link = shape(records.Link)
Session = shape(records.Session)
Series = shape(records.Series)
Image = shape(records.Image)
Model = shape(records.Model)
Inference = shape(records.Inference)
Pending = shape(records.Pending)
Evidence = shape(graph.Evidence)
Contribution = shape(graph.Contribution)
Dataset = shape(catalog.DatasetInfo)
Statistics = shape(stats.Statistics)
Deleted = shape(deletion.Deletion)
Erased = shape(erasure.Erasure)
Manifest = shape(exchange.Manifest)
Remembered = shape(
    remember_data.Remembered,
    only=(
        *("artifact_id", "kind", "session_id", "valid_at", "created_at", "entities", "edges", "invalidated_edges"),
        *("embedded_entities", "embedded_edges", "embedded_chunks", "embedded_summaries"),
    ),
    optional=("chunks", "derived", "series", "image_id", "pending", "trajectory", "estimate"),
)
Job = shape(state.JobInfo, without=("folder", "origin"))
Citation = shape(recall_data.Citation)
Degraded = shape(recall_data.Degraded)
Recalled = shape(recall_data.Recalled)
Timeline = shape(timeline.Timeline)
Neighbourhood = shape(timeline.Neighbourhood)
SeriesStatistics = shape(series.Stats)
Report = shape(verify.Report, more=(("ok", bool),))
