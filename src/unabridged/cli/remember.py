"""``unabridged remember``: texts, files, folders and addresses into the memory, from the shell."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from unabridged.cli.console import note, plural, put, warn
from unabridged.cli.exits import SOME_FAILED
from unabridged.cli.groups import grouped
from unabridged.cli.memory_options import Metadata, pairs
from unabridged.cli.memory_print import show
from unabridged.cli.options import Chat, Json  # noqa: TC001 - typer reads annotations as it runs
from unabridged.cli.remember_print import Line, tell_answer, tell_estimate, tell_intakes, tell_notes
from unabridged.cli.where import Where  # noqa: TC001 - the same
from unabridged.errors import InputError, UnreadableFile

if TYPE_CHECKING:
    from unabridged.memory import Memory

__all__ = ["register"]

_NO_FILE = "no such file or folder; a text of one word is given through stdin: echo WORD | unabridged remember -"
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


@dataclass(frozen=True, slots=True)
class _About:
    """What is known of the texts."""

    panel: ClassVar[str] = "About the texts"

    kind: Annotated[str | None, typer.Option("--kind", help="knowledge or memory (default: knowledge).")] = None
    session: Annotated[str | None, typer.Option("--session", help="The session they belong to.")] = None
    valid_at: Annotated[str | None, typer.Option("--valid-at", help="When they were true, in ISO 8601.")] = None
    source: Annotated[
        str | None, typer.Option("--source", help="Identity of a text outside; a file or an address is its own.")
    ] = None
    metadata: Metadata = None

    def given(self) -> dict[str, Any]:
        """As options of :meth:`unabridged.memory.Memory.remember`, looked at before anything is read or sent."""
        from unabridged.memory.gather import checked_kind
        from unabridged.memory.values import moment

        return {
            "kind": checked_kind(self.kind),
            "session_id": self.session,
            "valid_at": moment(self.valid_at, "valid_at"),
            "metadata": pairs(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class _How:
    """What is made of them."""

    panel: ClassVar[str] = "What is made of them"

    max_tokens: Annotated[int, typer.Option("--max-tokens", "--size", min=1, help="Tokens of a chunk at the most.")] = (
        1024
    )
    overlap: Annotated[
        int,
        typer.Option("--overlap-percent", "--overlap", min=0, max=90, help="Percent of a chunk shared with the last."),
    ] = 20
    extract: Annotated[bool, typer.Option("--extract/--no-extract", help="Read entities and facts.")] = True
    summarize: Annotated[bool, typer.Option("--summarize/--no-summarize", help="Summarise each chunk.")] = True
    keep: Annotated[bool, typer.Option("--keep-unsummarized", help="A failed summary does not fail the text.")] = False
    connect: Annotated[bool, typer.Option("--connect", help="Look for facts that need two distant chunks.")] = False
    average: Annotated[
        Literal["chunks", "summaries"], typer.Option("--average", help="What a long text's vector is made of.")
    ] = "chunks"
    web_search: Annotated[
        bool, typer.Option("--web-search", help="Search the web for its key entities; needs --config.")
    ] = False
    defer: Annotated[bool, typer.Option("--defer", help="Store now; `unabridged pending` makes the graph.")] = False

    def given(self) -> dict[str, Any]:
        """As options of :meth:`unabridged.memory.Memory.remember`."""
        return {
            "chunking": {"size": self.max_tokens, "overlap_percent": self.overlap},
            "extract": self.extract,
            "summarize": self.summarize,
            "on_summary_failure": "keep" if self.keep else "fail",
            "defer": self.defer,
            "connect": self.connect,
            "average": self.average,
            "web_search": self.web_search,
        }


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.command("remember", no_args_is_help=True)(grouped(_remember))
    parent.command("pending")(grouped(_pending))


def _remember(
    sources: Annotated[list[str], typer.Argument(help="Files, folders, addresses, - for stdin, or a text itself.")],
    *,
    key: Annotated[
        str | None, typer.Option("--key", help="Of a text: the same again is resumed, and paid for once.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="What it would take and cost; nothing is sent.")] = False,
    trajectory: Annotated[bool, typer.Option("--trajectory", help="Of a text: show every step.")] = False,
    private: Annotated[bool, typer.Option("--private", help="Fetch from this machine's own networks, too.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    about: _About,
    how: _How,
    where: Where,
    chat: Chat,
) -> None:
    """Remember texts: entities and facts, each with its source. Files come again only where they changed.

    ```
    unabridged remember "Alice works at Acme." --memory ./memory --chat gpt-5-mini
    unabridged remember notes/ report.pdf --config plugin.json --session monday
    cat minutes.txt | unabridged remember - --dry-run
    ```
    """
    given = {**about.given(), **how.given()}
    alone: dict[str, Any] = {
        "source": about.source,
        "idempotency_key": key,
        "dry_run": dry_run,
        "trajectory": trajectory,
    }
    found = [_meant(each) for each in sources]
    if not dry_run and any(what != "text" for what, _ in found):
        _pass_over({"--source": about.source, "--key": key, "--trajectory": trajectory})
    with where.opened(chat, searches=True, create=True) as memory, Line(quiet=quiet) as line:
        answers: list[Any] = []
        for what, value in found:
            if what == "text" or dry_run:
                text = value if what == "text" else _text(value, what)
                answers.append(memory.remember(text, **given, **alone, progress=line.step))
            else:
                answers.append(memory.ingest(value, **given, private=private, progress=line.step))
    _tell(answers, as_json=as_json)


def _pass_over(given: dict[str, object]) -> None:
    """Say of what is for a text alone that it has no effect on a file."""
    for option, value in given.items():
        if value:
            warn(f"{option}: has no effect on files and addresses, which are known by themselves")


def _meant(given: str) -> tuple[str, Any]:
    """A text, a path or an address: what exists is a path, and so is what can hardly be a text."""
    if given == "-":
        return "text", sys.stdin.read()
    if given.startswith(("http://", "https://")):
        return "address", given
    if given.strip() and len(given) < 1024 and "\n" not in given and Path(given).exists():
        return "path", Path(given)
    if given.strip() and not any(map(str.isspace, given)) and ("/" in given or Path(given).suffix):
        raise UnreadableFile(given, _NO_FILE)
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
    if not as_json:
        tell_notes(each for each in answers if getattr(each, "estimate", None) is None)
    if any(getattr(each, "failed", ()) for each in answers):
        raise typer.Exit(SOME_FAILED)


def _data(answer: Any) -> Any:
    return {**answer.to_dict(), "notes": list(answer.notes)} if hasattr(answer, "to_dict") else answer


def _pending(
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Chunks at the most.")] = 512,
    documents: Annotated[int, typer.Option("--documents", min=1, help="Documents at once.")] = 4,
    watch: Annotated[bool, typer.Option("--watch", help="A pass a minute, until Ctrl-C.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    where: Where,
    chat: Chat,
) -> None:
    """Make the graphs that wait: of texts stored with --defer, or when there was no chat model.

    ```
    unabridged pending --memory ./memory --chat gpt-5-mini
    ```
    """
    if chat.chat is None and not where.config:
        raise InputError(
            "no chat model is given: --chat MODEL, or a file of --config with the section chat, reads them"
        )
    with where.opened(chat, searches=True) as opened, Line(quiet=quiet) as line:
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
    raise typer.Exit(SOME_FAILED if report.failed or report.held else 0)


def _watch(memory: Memory, **options: Any) -> None:
    import threading

    from unabridged.memory.remember.pending import Dispatcher

    with Dispatcher(memory, told=lambda report: note(str(report)), **options):
        threading.Event().wait()
