"""A request's answer: put together from what was stored now and before, kept as JSON, and given again (SPEC A23)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.memory.plain import plain
from unabridged.memory.records import Edge, Entity
from unabridged.memory.remember.data import ChunkOutcome, Derived, Remembered, SummaryOutcome
from unabridged.memory.remember.store import Outcome
from unabridged.memory.remember.trajectory import Step
from unabridged.memory.values import moment
from unabridged.memory.where import among, both, equals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.draft import Draft
    from unabridged.memory.remember.plan import Unit
    from unabridged.memory.remember.run import Run

__all__ = ["answered", "kept", "recalled", "revived"]

_COUNTS = ("embedded_entities", "embedded_edges", "embedded_chunks", "embedded_summaries")


def answered(
    run: Run, document: Artifact, outcomes: Sequence[Outcome], drafts: Mapping[int, Draft], **more: Any
) -> Remembered:
    """The answer of a request: entities once for each name and type, edges once, counts summed."""
    outcomes = sorted(outcomes, key=lambda each: each.unit.at)
    entities = {entity.id: entity for each in outcomes for entity in each.entities}
    closed = {edge.id: edge for each in outcomes for edge in each.closed}
    edges = {edge.id: closed.get(edge.id, edge) for each in outcomes for edge in each.edges}
    counts: dict[str, Any] = {name: sum(each.embedded.get(name, 0) for each in outcomes) for name in _COUNTS}
    chunks = [_chunk(each, drafts.get(each.unit.at)) for each in outcomes if each.unit.chunk is not None]
    derived = [
        Derived(
            o.artifact.id, o.artifact.kind, o.artifact.parent_id or "", o.artifact.query or "", o.artifact.series_id
        )
        for o in outcomes
        if o.artifact.is_derived
    ]
    return Remembered(
        artifact_id=document.id,
        kind=document.kind,
        created_at=document.created_at,
        session_id=document.session_id,
        valid_at=document.valid_at,
        entities=tuple(entities.values()),
        edges=tuple(edges.values()),
        invalidated_edges=tuple(closed.values()),
        chunks=tuple(chunks) if run.plan.chunked else None,
        derived=tuple(derived),
        notes=tuple(run.notes),
        **counts,
        **more,
    )


def _chunk(outcome: Outcome, draft: Draft | None) -> ChunkOutcome:
    artifact, summary = outcome.artifact, draft.summary if draft else None
    made = None
    if summary is not None and outcome.unit.summary_id is not None:
        made = SummaryOutcome(
            outcome.unit.summary_id, summary.text, summary.model, summary.reasoning, summary.inference_id
        )
    return ChunkOutcome(
        artifact_id=artifact.id,
        index=artifact.chunk_index or 0,
        tokens=artifact.tokens or 0,
        overlap_tokens=artifact.overlap_tokens or 0,
        start_offset=artifact.start_offset or 0,
        end_offset=artifact.end_offset or 0,
        entities=len(draft.entities if draft else outcome.entities),
        edges=len(draft.edges if draft else outcome.edges),
        summary=made,
    )


def recalled(run: Run, units: Iterable[Unit], artifacts: Mapping[str, Artifact]) -> list[Outcome]:
    """What became of units that an earlier run of the same request stored, as the dataset tells."""
    found: list[Outcome] = []
    counted: set[str] = set()
    for unit in units:
        artifact = artifacts[unit.id]
        made = run.memory.contribution(artifact, whole=False)
        said = both(equals("type", "contradiction"), among("to_id", [unit.id]))
        links = run.memory.store.ask(lambda view, said=said: view.records("links", said))  # type: ignore[misc]
        closed = run.memory.edges.many([link.from_id for link in links])
        new = [entity for entity in made.entities if entity.created_at >= run.plan.created_at]
        embedded = {
            "embedded_entities": sum(bool(e.embedder) and e.id not in counted for e in new),
            "embedded_edges": sum(bool(e.embedder) and e.artifact_id == unit.id for e in made.edges),
            "embedded_chunks": int(unit.chunk is not None and artifact.embedder is not None),
            "embedded_summaries": len([a for a in run.memory.artifacts.many(_ids(unit)) if a.embedder is not None]),
        }
        counted |= {entity.id for entity in new}
        found.append(Outcome(unit, artifact, made.entities, made.edges, tuple(closed), embedded))
    return found


def _ids(unit: Unit) -> list[str]:
    return [unit.summary_id] if unit.summary_id else []


# -- kept and given again ------------------------------------------------------------------------------


def kept(answer: Remembered) -> dict[str, Any]:
    """An answer as JSON, whole."""
    made: dict[str, Any] = plain(answer)
    return made


def revived(answer: Mapping[str, Any]) -> Remembered:
    """The answer that :func:`kept` kept, given again."""
    parts = {
        "entities": tuple(_record(Entity, each) for each in answer["entities"]),
        "edges": tuple(_record(Edge, each) for each in answer["edges"]),
        "invalidated_edges": tuple(_record(Edge, each) for each in answer["invalidated_edges"]),
        "chunks": None if answer["chunks"] is None else tuple(map(_chunk_again, answer["chunks"])),
        "derived": tuple(_record(Derived, each) for each in answer["derived"]),
        "trajectory": tuple(_record(Step, each) for each in answer["trajectory"]),
        "series": tuple(answer["series"]),
        "notes": tuple(answer["notes"]),
    }
    made: Remembered = _record(Remembered, {**answer, **parts, "replayed": True})
    return made


def _chunk_again(kept_: Mapping[str, Any]) -> ChunkOutcome:
    summary = kept_["summary"]
    made: ChunkOutcome = _record(ChunkOutcome, {**kept_, "summary": summary and SummaryOutcome(**summary)})
    return made


def _record(kind: Any, value: Mapping[str, Any]) -> Any:
    """A record of JSON: moments are what is called so."""
    given = dict(value)
    given |= {name: moment(each, name) for name, each in value.items() if name.endswith("_at")}
    given |= {name: tuple(each) for name, each in value.items() if name == "aliases"}
    return kind(**given)
