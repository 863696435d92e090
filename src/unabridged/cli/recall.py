"""``unabridged recall`` and ``unabridged query``: what the memory knows, with its sources, from the shell."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations as it runs
from typing import Annotated

import typer

from unabridged.advice import joined
from unabridged.cli.advice import WORDS
from unabridged.cli.console import note, number, plural, put, warn
from unabridged.cli.groups import grouped
from unabridged.cli.memory import app as memory_app
from unabridged.cli.memory_options import Dataset, Uri, opened
from unabridged.cli.memory_print import show, shown
from unabridged.cli.options import Chat, Json  # noqa: TC001 - typer reads annotations as it runs
from unabridged.cli.recall_options import How, KnownAt, Lanes, Passes, Which  # noqa: TC001 - the same
from unabridged.cli.recall_print import answered, cited, data_of, explained, hits, unanswered
from unabridged.cli.where import Where  # noqa: TC001 - the same

__all__ = ["register"]


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.command("recall", no_args_is_help=True)(grouped(_recall))
    parent.command("query", no_args_is_help=True)(grouped(_query))


def _recall(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    pack: Annotated[bool, typer.Option("--pack", help="What a model would be given, within --budget.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Why each hit stands where it does.")] = False,
    as_json: Json = False,
    which: Which,
    how: How,
    where: Where,
) -> None:
    """Recall what matters for a query, best first, each with its source.

    ```
    unabridged recall "Where does Alice work?" --memory ./memory
    unabridged recall "pricing decisions" --as-of 2024-01-01 --explain
    unabridged recall "why did the boiler fail" --passes 2 --pack --budget 2000
    ```
    """
    given = {**which.given(), **how.given()}
    with where.opened(read_only=True) as memory:
        found = memory.recall(query, explain=explain, **given)
    if as_json:
        show(data_of(found))
        return
    for each in found.degraded:
        warn(f"without the {each.lane} lane: {joined(each.reason, each.advice, WORDS)}")
    if pack:
        put(f"{found.pack.text}\n")
        note(f"{number(found.pack.tokens)} tokens, {plural(len(found.pack.citations), 'source')}")
        return
    hits(found)
    if explain:
        explained(found)
    if not found.hits:
        note(
            f"nothing above {found.threshold:g}; {plural(found.below, 'candidate')} below it (--threshold 0 shows them)"
        )


def _query(
    question: Annotated[str, typer.Argument(help="What to ask.")],
    *,
    as_json: Json = False,
    chat: Chat,
    which: Which,
    how: How,
    where: Where,
) -> None:
    """Answer a question from the memory: every sentence cites its source; or it says that it does not know.

    Without a chat model nobody answers: the sentences nearest to the question are shown, each with its source.

    ```
    unabridged query "Where does Alice work?" --memory ./memory --chat gpt-5-mini
    unabridged query "Where does Alice work?" --memory ./memory --chat qwen3 --chat-url http://localhost:11434/v1
    ```
    """
    given = {**which.given(), **how.given()}
    with where.opened(chat) as memory:
        found = memory.query(question, **given)
    if as_json:
        show(data_of(found))
        return
    for each in found.degraded:
        told = joined(each.reason, each.advice, WORDS)
        warn(told if each.lane == "answer" else f"without the {each.lane} lane: {told}")
    unanswered(found) if found.known is None else answered(found)


@memory_app.command("timeline", no_args_is_help=True)
def _timeline(
    entity: Annotated[str, typer.Argument(help="An entity's name, alias or id.")],
    type_: Annotated[str | None, typer.Option("--type", help="Its type, where several have the name.")] = None,
    known_at: KnownAt = None,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Show the facts of an entity by when they began, ended ones too, each with its source.

    ```
    unabridged memory timeline Alice
    ```
    """
    memory = opened(uri, dataset, read_only=True)
    found = memory.timeline(entity, type=type_, known_at=known_at)
    if as_json:
        show(found.to_dict())
        return
    put(f"{shown(found.entity)}\n")
    for each in found.periods:
        put(f"{shown(each.edge)}\n")
        for source in each.evidence[:1]:
            put(f"    {cited(source)}\n")


def _evaluate(
    golden: Annotated[Path, typer.Argument(help="Questions and what should answer them, as JSON lines.")],
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits.")] = 10,
    lane: Lanes = None,
    passes: Passes = None,
    where: Where,
    as_json: Json = False,
) -> None:
    """Ask golden questions and measure what comes back: before and after a sweep, an index, another model.

    Each line: `{"question": "…", "sources": ["notes.md"], "artifacts": ["id"], "quotes": ["word for word"]}`;
    a question that expects nothing is right when nothing comes back.

    ```
    unabridged memory evaluate golden.jsonl --model local
    ```
    """
    from unabridged.memory.recall.evaluate import evaluate, index_recall, read_golden

    questions = read_golden(golden)
    with where.opened(read_only=True) as memory:
        found = evaluate(memory, questions, limit=limit, lanes=lane, passes=passes)
        index = index_recall(memory)
    if as_json:
        show({**found.to_dict(), "index_recall": index})
        return
    for reason in found.degraded:
        warn(reason)
    put(f"{plural(found.questions, 'question')}, {limit} hits: recall {found.recall:.3f}, right {found.right:.3f}, ")
    put(f"reciprocal rank {found.reciprocal_rank:.3f}, gain {found.gain:.3f}; {found.p50:.0f} ms; index {index:.3f}\n")
    for at in found.misses:
        note(f"nothing right for question {at + 1}")


memory_app.command("evaluate", no_args_is_help=True)(grouped(_evaluate))
