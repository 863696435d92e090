"""``unabridged recall`` and ``unabridged query``: what the memory knows, with its sources, from the shell."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - typer reads annotations as it runs
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unabridged.advice import joined
from unabridged.cli.advice import WORDS
from unabridged.cli.console import note, number, plural, put, warn
from unabridged.cli.memory import app as memory_app
from unabridged.cli.memory_options import Config, Dataset, Json, Metadata, Model, Uri, chosen_embedder, opened, pairs
from unabridged.cli.memory_print import show, shown
from unabridged.cli.recall_print import answered, cited, data_of, explained, hits

if TYPE_CHECKING:
    from unabridged.memory import Memory

__all__ = ["register"]

ChatModel = Annotated[str | None, typer.Option("--chat", help="The chat model that answers.")]
ChatUrl = Annotated[
    str,
    typer.Option("--chat-url", envvar="OPENAI_BASE_URL", help="Its OpenAI-compatible address; key: OPENAI_API_KEY."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits; 10, or as configured.")
]
Kinds = Annotated[list[str] | None, typer.Option("--kinds", help="passage, summary, document, fact, entity; several.")]
Kind = Annotated[str | None, typer.Option("--kind", help="Only knowledge, or only memory.")]
SessionOf = Annotated[str | None, typer.Option("--session", help="Only of a session.")]
SourceOf = Annotated[str | None, typer.Option("--source", help="Only of a source.")]
AsOf = Annotated[str | None, typer.Option("--as-of", help="What was true then, in ISO 8601.")]
KnownAt = Annotated[str | None, typer.Option("--known-at", help="What the memory knew then.")]
History = Annotated[bool, typer.Option("--history", help="Facts that ended, too.")]
Expired = Annotated[bool, typer.Option("--expired", help="Texts that have run out, too.")]
Lanes = Annotated[list[str] | None, typer.Option("--lane", help="vector, text, names, graph; several.")]
Passes = Annotated[int | None, typer.Option("--passes", min=1, max=2, help="2: go on into the documents found; 1.")]
Budget = Annotated[int | None, typer.Option("--budget", min=1, help="Tokens of the pack.")]
Threshold = Annotated[float | None, typer.Option("--threshold", min=0, max=1, help="The least score; 0 for all.")]
Rerank = Annotated[bool, typer.Option("--rerank/--no-rerank", help="Ask the configured cross-encoder.")]
Diversity = Annotated[float | None, typer.Option("--diversity", min=0, max=1, help="Prefer what says something else.")]


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.command("recall", no_args_is_help=True)(_recall)
    parent.command("query", no_args_is_help=True)(_query)


def _recall(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    limit: Limit = None,
    kinds: Kinds = None,
    kind: Kind = None,
    session: SessionOf = None,
    source: SourceOf = None,
    metadata: Metadata = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    history: History = False,
    expired: Expired = False,
    lane: Lanes = None,
    passes: Passes = None,
    diversity: Diversity = None,
    threshold: Threshold = None,
    budget: Budget = None,
    rerank: Rerank = True,
    pack: Annotated[bool, typer.Option("--pack", help="What a model would be given, within --budget.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Why each hit stands where it does.")] = False,
    config: Config = None,
    model: Model = None,
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Recall what matters for a query, best first, each with its source.

    ```
    unabridged recall "Where does Alice work?" --uri ./memory
    unabridged recall "pricing decisions" --as-of 2024-01-01 --explain
    unabridged recall "why did the boiler fail" --passes 2 --pack --budget 2000
    ```
    """
    given: dict[str, Any] = {"kind": kind, "session_id": session, "source": source, "metadata": pairs(metadata)}
    given |= {"as_of": as_of, "known_at": known_at, "include_history": history, "include_expired": expired}
    given |= {"kinds": kinds, "lanes": lane, "passes": passes, "diversity": diversity, "threshold": threshold}
    given["rerank"] = None if rerank else False
    embedder = chosen_embedder(config, model, default=True)
    with opened(uri, dataset, config=config, read_only=True, embedder=embedder) as memory:
        _configure(memory, config)
        found = memory.recall(query, limit=limit, budget_tokens=budget, explain=explain, **given)
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
    limit: Limit = None,
    kind: Kind = None,
    session: SessionOf = None,
    metadata: Metadata = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    passes: Passes = None,
    budget: Budget = None,
    rerank: Rerank = True,
    config: Config = None,
    model: Model = None,
    chat: ChatModel = None,
    chat_url: ChatUrl = "https://api.openai.com/v1",
    uri: Uri = None,
    dataset: Dataset = "default",
    as_json: Json = False,
) -> None:
    """Answer a question from the memory: every sentence cites its source; or it says that it does not know.

    ```
    unabridged query "Where does Alice work?" --uri ./memory --chat gpt-5-mini
    ```
    """
    given: dict[str, Any] = {"kind": kind, "session_id": session, "metadata": pairs(metadata)}
    given |= {"as_of": as_of, "known_at": known_at, "passes": passes, "rerank": None if rerank else False}
    embedder = chosen_embedder(config, model, default=True)
    options: dict[str, Any] = {"embedder": embedder, "chat": _chat(config, chat, chat_url)}
    with opened(uri, dataset, config=config, **options) as memory:
        _configure(memory, config)
        found = memory.query(question, limit=limit, budget_tokens=budget, **given)
    if as_json:
        show(data_of(found))
        return
    for each in found.degraded:
        warn(f"without {each.lane}: {joined(each.reason, each.advice, WORDS)}")
    answered(found)


def _configure(memory: Memory, config: str | None) -> None:
    """What the section ``recall`` says, for what the command line does not."""
    if config:
        from unabridged.config import load_config
        from unabridged.config.build_recall import recall_defaults

        memory.defaults = recall_defaults(load_config(config))
        memory.own(memory.defaults.get("rerank"))


def _chat(config: str | None, chat: str | None, chat_url: str) -> Any:
    if chat:
        from unabridged.providers.chat import Chat

        return Chat(chat, base_url=chat_url, api_key=os.environ.get("OPENAI_API_KEY"))
    if config:
        from unabridged.config import load_config

        return load_config(config).asker()
    return None


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


@memory_app.command("evaluate", no_args_is_help=True)
def _evaluate(
    golden: Annotated[Path, typer.Argument(help="Questions and what should answer them, as JSON lines.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="The most hits.")] = 10,
    lane: Lanes = None,
    passes: Passes = None,
    config: Config = None,
    model: Model = None,
    uri: Uri = None,
    dataset: Dataset = "default",
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
    embedder = chosen_embedder(config, model, default=True)
    with opened(uri, dataset, config=config, read_only=True, embedder=embedder) as memory:
        _configure(memory, config)
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
