"""How ``unabridged remember`` shows what it did: in lines for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

from unabridged.advice import joined
from unabridged.cli.advice import WORDS
from unabridged.cli.console import note, number, plural, put

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.memory.remember.data import Event, Remembered
    from unabridged.memory.remember.ingest import Ingested

__all__ = ["Line", "tell_answer", "tell_estimate", "tell_intakes", "tell_notes"]

_SHOWN = 12  # entities and facts of an answer that are named; the rest is counted
_TOLD = {"nothing": "unchanged"}  # outcomes that people read in another word
_STEPS = {"chunk": "cut", "extract": "read", "summarize": "summarised", "store": "stored", "done": "done"}


class Line:
    """One line on a terminal's stderr that says how far a request is; nothing in a pipe."""

    def __init__(self, *, quiet: bool) -> None:
        self._on = not quiet and sys.stderr.isatty()
        self._width = 0

    def step(self, event: Event) -> None:
        """Say how far it is."""
        if self._on:
            said = f"{_STEPS.get(event.step, event.step)} {event.done} of {event.total}"
            sys.stderr.write(f"\r{said.ljust(self._width)}")
            sys.stderr.flush()
            self._width = max(self._width, len(said))

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Wipe it."""
        if self._on and self._width:
            sys.stderr.write(f"\r{' ' * self._width}\r")
            sys.stderr.flush()


def tell_answer(answer: Remembered) -> None:
    """What a text came down to."""
    again = "  (given again)" if answer.replayed else ""
    put(f"{answer.artifact_id}  {answer.kind}{again}\n")
    if answer.chunks is not None:
        put(f"  {plural(len(answer.chunks), 'chunk')}\n")
    _several("entity", "entities", [f"{entity.name} ({entity.type})" for entity in answer.entities])
    _several("fact", "facts", [_fact(edge) for edge in answer.edges])
    _several("fact ended", "facts ended", [_fact(edge) for edge in answer.invalidated_edges])
    _several("derived text", "derived texts", [f"{each.kind}: {each.query}" for each in answer.derived])
    if answer.pending:
        put(f"  {plural(answer.pending, 'graph')} to make: unabridged pending\n")
    for step in answer.trajectory:
        put(f"  {step.message}  {step.seconds:.3f} s\n")


def _fact(edge: Any) -> str:
    since = f" since {edge.valid_at:%Y-%m-%d}" if edge.valid_at else ""
    until = f" until {edge.invalid_at:%Y-%m-%d}" if edge.invalid_at else ""
    return f"{edge.fact}{since}{until}"


def _several(one: str, many: str, said: list[str]) -> None:
    if not said:
        return
    put(f"  {number(len(said))} {one if len(said) == 1 else many}\n")
    for each in said[:_SHOWN]:
        put(f"    {' '.join(each.split())}\n")
    if len(said) > _SHOWN:
        put(f"    … and {number(len(said) - _SHOWN)} more\n")


def tell_estimate(answer: Remembered) -> None:
    """What a text would take."""
    found = answer.estimate or {}
    calls = sum(found["calls"].values())
    cost = "unknown (no prices)" if found["cost_usd"] is None else f"${found['cost_usd']:.4f}"
    put(f"{plural(found['tokens'], 'token')}, {plural(found['chunks'], 'chunk')}\n")
    put(f"at most {plural(calls, 'chat call')}: {found['tokens_in']:,} tokens in, {found['tokens_out']:,} out\n")
    put(f"{plural(found['embedding_requests'], 'embeddings request')}\ncost: {cost}\n")


def tell_intakes(found: Ingested) -> None:
    """What became of each file."""
    for each in found.intakes:
        if each.outcome != "nothing":
            reason = f"  {joined(each.reason, each.advice, WORDS)}" if each.reason else ""
            put(f"{each.outcome:9} {each.artifact_id or '-':32}  {each.source}{reason}\n")
    put(", ".join(f"{count} {_TOLD.get(what, what)}" for what, count in found.counts.items()) + "\n")


def tell_notes(answers: Iterable[Any]) -> None:
    """What was not done, and why: once, of however many texts it is true."""
    every = (each for answer in answers for each in getattr(answer, "intakes", (answer,)))
    for said in dict.fromkeys(said for each in every for said in each.notes):
        note(f"note: {said}")
