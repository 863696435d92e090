"""``unabridged remember``: texts, files, folders and addresses into the memory, from the shell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from unabridged.cli.console import note, plural, put
from unabridged.cli.memory_options import Config, Dataset, Json, Metadata, Model, Uri, chosen_embedder, pairs, place
from unabridged.cli.memory_print import show
from unabridged.cli.remember_print import Line, tell_answer, tell_estimate, tell_intakes
from unabridged.errors import InputError, UnreadableFile

if TYPE_CHECKING:
    from unabridged.memory import Memory

__all__ = ["register"]

ChatModel = Annotated[str | None, typer.Option("--chat", help="The chat model that reads entities and facts.")]
ChatUrl = Annotated[
    str,
    typer.Option("--chat-url", envvar="OPENAI_BASE_URL", help="Its OpenAI-compatible address; key: OPENAI_API_KEY."),
]
_OPENAI = "https://api.openai.com/v1"


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.command("remember", no_args_is_help=True)(_remember)
    parent.command("pending")(_pending)


def _remember(
    sources: Annotated[list[str], typer.Argument(help="Files, folders, addresses, - for stdin, or a text itself.")],
    *,
    memory: Uri = None,
    dataset: Dataset = "default",
    kind: Annotated[str | None, typer.Option("--kind", help="knowledge (default) or memory.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="The session it belongs to.")] = None,
    valid_at: Annotated[str | None, typer.Option("--valid-at", help="When it was true, in ISO 8601.")] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="Identity of a text outside; a file has its own.")
    ] = None,
    metadata: Metadata = None,
    size: Annotated[int, typer.Option("--size", min=1, help="Tokens of a chunk at the most.")] = 1024,
    overlap: Annotated[
        int, typer.Option("--overlap", min=0, max=90, help="Percent of a chunk shared with the last.")
    ] = 20,
    extract: Annotated[bool, typer.Option("--extract/--no-extract", help="Read entities and facts.")] = True,
    summarize: Annotated[bool, typer.Option("--summarize/--no-summarize", help="Summarise each chunk.")] = True,
    keep: Annotated[bool, typer.Option("--keep-unsummarized", help="A failed summary does not fail the text.")] = False,
    defer: Annotated[bool, typer.Option("--defer", help="Store now; `unabridged pending` makes the graph.")] = False,
    connect: Annotated[bool, typer.Option("--connect", help="Look for facts that need two distant chunks.")] = False,
    average: Annotated[
        Literal["chunks", "summaries"], typer.Option("--average", help="What a long text's vector is made of.")
    ] = "chunks",
    web_search: Annotated[bool, typer.Option("--web-search", help="Search the web for its key entities.")] = False,
    key: Annotated[str | None, typer.Option("--key", help="Idempotency key: resumed, and paid for once.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="What it would take and cost; nothing is sent.")] = False,
    trajectory: Annotated[bool, typer.Option("--trajectory", help="Show every step.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Fetch from this machine's own networks, too.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    config: Config = None,
    model: Model = None,
    chat: ChatModel = None,
    chat_url: ChatUrl = _OPENAI,
    as_json: Json = False,
) -> None:
    """Remember texts: entities and facts, each with its source. Files come again only where they changed.

    ```
    unabridged remember "Alice works at Acme." --memory ./memory --chat gpt-5-mini
    unabridged remember notes/ report.pdf --config plugin.json --session monday
    cat minutes.txt | unabridged remember - --dry-run
    ```
    """
    given: dict[str, Any] = {
        "kind": kind,
        "session_id": session,
        "valid_at": valid_at,
        "metadata": pairs(metadata),
        "chunking": {"size": size, "overlap_percent": overlap},
        "extract": extract,
        "summarize": summarize,
        "on_summary_failure": "keep" if keep else "fail",
        "defer": defer,
        "connect": connect,
        "average": average,
        "web_search": web_search,
    }
    alone: dict[str, Any] = {"source": source, "idempotency_key": key, "dry_run": dry_run, "trajectory": trajectory}
    found = [_meant(each) for each in sources]
    with _opened(memory, dataset, config, model, chat, chat_url) as opened, Line(quiet=quiet) as line:
        answers: list[Any] = []
        for what, value in found:
            if what == "text" or dry_run:
                text = value if what == "text" else _text(value, what)
                answers.append(opened.remember(text, **given, **alone, progress=line.step))
            else:
                answers.append(opened.ingest(value, **given, private=private, progress=line.step))
    _tell(answers, as_json=as_json)


def _meant(given: str) -> tuple[str, Any]:
    """A text, a path or an address: what exists is a path, and so is what can hardly be a text."""
    if given == "-":
        return "text", sys.stdin.read()
    if given.startswith(("http://", "https://")):
        return "address", given
    if given.strip() and len(given) < 1024 and "\n" not in given and Path(given).exists():
        return "path", Path(given)
    if given.strip() and not any(map(str.isspace, given)) and ("/" in given or Path(given).suffix):
        raise UnreadableFile(given, "no such file; a text is more than one word, or comes through -")
    return "text", given


def _text(value: Any, what: str) -> str:
    from unabridged.text.documents import read_document

    if what == "address" or value.is_dir():
        raise InputError("--dry-run: takes texts and files; name them one by one")
    return read_document(value).text


def _tell(answers: list[Any], *, as_json: bool) -> None:
    if as_json:
        made = [_data(each) for each in answers]
        show(made[0] if len(made) == 1 else made)
    for each in () if as_json else answers:
        if hasattr(each, "intakes"):
            tell_intakes(each)
        elif each.estimate is not None:
            tell_estimate(each)
        else:
            tell_answer(each)
    if any(getattr(each, "failed", ()) for each in answers):
        raise typer.Exit(1)


def _data(answer: Any) -> Any:
    return {**answer.to_dict(), "notes": list(answer.notes)} if hasattr(answer, "to_dict") else answer


def _opened(
    uri: str | None, dataset: str, config: str | None, model: str | None, chat: str | None, chat_url: str
) -> Memory:
    """The memory of the options, with its embedder, chat and web search, as far as they are given."""
    from unabridged.memory import Memory

    options: dict[str, Any] = {"embedder": chosen_embedder(config, model, default=True)}
    if config:
        from unabridged.config import load_config

        loaded = load_config(config)
        options |= {"chat": loaded.asker(), "websearch": loaded.search()}
    if chat:
        import os

        from unabridged.providers.chat import Chat

        options["chat"] = Chat(chat, base_url=chat_url, api_key=os.environ.get("OPENAI_API_KEY"))
    return Memory.open(place(uri, config), dataset=dataset, **options)


def _pending(
    memory: Uri = None,
    dataset: Dataset = "default",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Chunks at the most.")] = 512,
    documents: Annotated[int, typer.Option("--documents", min=1, help="Documents at once.")] = 4,
    watch: Annotated[bool, typer.Option("--watch", help="A pass a minute, until Ctrl-C.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    config: Config = None,
    model: Model = None,
    chat: ChatModel = None,
    chat_url: ChatUrl = _OPENAI,
    as_json: Json = False,
) -> None:
    """Make the graphs that wait: of texts stored with --defer, or when there was no chat model.

    ```
    unabridged pending --memory ./memory --chat gpt-5-mini
    ```
    """
    with _opened(memory, dataset, config, model, chat, chat_url) as opened, Line(quiet=quiet) as line:
        if watch:
            _watch(opened, limit=limit, documents=documents)
            return
        report = opened.work_pending(limit=limit, documents=documents, progress=line.step)
    if as_json:
        show(report)
    else:
        parts = [
            plural(report.done, "graph"),
            f"{report.failed} failed",
            f"{report.waiting} waiting",
            f"{report.held} held",
        ]
        put(f"{', '.join(parts)}\n")
    raise typer.Exit(1 if report.failed or report.held else 0)


def _watch(memory: Memory, **options: Any) -> None:
    import threading

    from unabridged.memory.remember.pending import Dispatcher

    with Dispatcher(memory, told=lambda report: note(str(report)), **options):
        threading.Event().wait()
