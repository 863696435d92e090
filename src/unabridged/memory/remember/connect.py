"""Facts that need two distant chunks: a second pass, over the summaries, between entities that are known.

One call for each forty chunks. It may name only entities and chunks that it was given, and states only
what no chunk states by itself; each fact is linked to every chunk that it rests on.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from unabridged.advice import cause
from unabridged.errors import UnabridgedError
from unabridged.memory.values import edge_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unabridged.memory.remember.draft import Draft, Found
    from unabridged.memory.remember.run import Run
    from unabridged.memory.remember.store import Outcome

__all__ = ["connect", "connected"]

_WINDOW = 40  # summaries a call: some 5,000 tokens
_ENTITIES = 120  # entities a call: some 1,200 tokens
_INTEGERS = {"type": "array", "items": {"type": "integer"}}
_FACT = {
    "source": {"type": "integer"},
    "relation": {"type": "string"},
    "target": {"type": "integer"},
    "fact": {"type": "string"},
    "parts": _INTEGERS,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["facts"],
    "properties": {
        "facts": {
            "type": "array",
            "items": {"type": "object", "additionalProperties": False, "required": list(_FACT), "properties": _FACT},
        }
    },
}
_INSTRUCTION = (
    "You get the summaries of the parts of one document, in order, and its entities. State the facts that follow "
    "only from two or more parts together, such as who a pronoun or a role in a later part is. Use only the "
    "entities and parts given, by their numbers; name in `parts` every part that a fact rests on (at least two). "
    "State nothing that one part says by itself, and nothing that the parts do not say. Answer as JSON."
)


def connect(run: Run, drafts: Mapping[int, Draft]) -> list[dict[str, Any]]:
    """Ask for the facts between chunks; what fails is left out, and noted."""
    found: list[dict[str, Any]] = []
    units = [unit.at for unit in run.plan.units if unit.at in drafts and drafts[unit.at].summary is not None]
    for begin in range(0, len(units), _WINDOW):
        window = units[begin : begin + _WINDOW]
        entities = list({e.id: e for at in window for e in drafts[at].entities}.values())[:_ENTITIES]
        if len(window) > 1 and len(entities) > 1:
            found += _asked(run, drafts, window, entities)
    return found


def _asked(
    run: Run, drafts: Mapping[int, Draft], window: Sequence[int], entities: Sequence[Found]
) -> Iterator[dict[str, Any]]:
    since = time.monotonic()
    parts = [f"{n}. {drafts[at].summary.text}" for n, at in enumerate(window, 1)]  # type: ignore[union-attr]
    names = [f"{n}. {entity.name} ({entity.type})" for n, entity in enumerate(entities, 1)]
    said = "\n".join(["Parts:", *parts, "", "Entities:", *names])
    try:
        messages = [{"role": "system", "content": _INSTRUCTION}, {"role": "user", "content": said}]
        answer = run.ask("link_chunks", messages, SCHEMA, of=run.plan.id)
    except UnabridgedError as error:
        run.note(f"facts between distant chunks were left out: {cause(error)}")
        return
    run.step("connect_chunks", "", since=since)
    together = [{entity.id for entity in drafts[at].entities} for at in window]
    for each in answer.value.get("facts", ()):
        made = _trusted(each, window, entities)
        ends = made and {made["source"], made["target"]}
        if made and ends and len(ends) == 2 and not any(ends <= chunk for chunk in together):
            yield made


def _trusted(each: Any, window: Sequence[int], entities: Sequence[Found]) -> dict[str, Any] | None:
    """A fact with ids for numbers; ``None`` for one that names what was not given."""
    ends, parts = [each.get("source"), each.get("target")], each.get("parts") or []
    known = all(isinstance(n, int) and 1 <= n <= len(entities) for n in ends)
    if not known or not all(isinstance(n, int) and 1 <= n <= len(window) for n in parts) or len(set(parts)) < 2:
        return None
    if not str(each.get("relation") or "").strip() or not str(each.get("fact") or "").strip():
        return None
    source, target = (entities[n - 1].id for n in ends)
    units = sorted({window[n - 1] for n in parts})
    return {"source": source, "relation": each["relation"], "target": target, "fact": each["fact"], "units": units}


def connected(run: Run, found: Sequence[Mapping[str, Any]], outcomes: Sequence[Outcome]) -> None:
    """Store the facts between chunks, in one commit; those that are stored already gain nothing."""
    artifacts = {outcome.unit.at: outcome.artifact for outcome in outcomes}
    tx = run.memory.write()
    for each in found:
        first, *others = [artifacts[at] for at in each["units"] if at in artifacts]
        tx.gathered.edge(each["source"], each["relation"], each["target"], first, fact=each["fact"])
        key = edge_key(each["source"], each["relation"], each["target"], each["fact"])
        edge = next(edge for edge in tx.gathered.edges.values() if edge.key == key)
        for other in others:
            tx.restate(edge, other)
    tx.commit()
