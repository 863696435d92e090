"""The tools ``remember``, ``recall``, ``query`` and ``forget``."""

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from unabridged.advice import joined
from unabridged.mcp.advice import WORDS
from unabridged.mcp.answers import AnswerResult, Forgotten, Hit, Recollection, RememberResult, Sentence
from unabridged.mcp.convert import EXCERPT, SOURCES, cited, excerpt, facts, told
from unabridged.mcp.place import Place
from unabridged.mcp.reading_tools import Dataset
from unabridged.mcp.tools import Toolbox, request_of
from unabridged.memory import Memory
from unabridged.memory.deletion import Deletion
from unabridged.memory.forgetting import kinds_of
from unabridged.memory.recall import data as recall_data
from unabridged.memory.recall.answer import Answered
from unabridged.memory.recall.data import Degraded, Recalled
from unabridged.memory.recall.excerpt import Excerpt
from unabridged.memory.remember.data import Event, Remembered

__all__ = ["register"]

Session = Annotated[str | None, Field(description="The conversation or run that this belongs to.")]
AsOf = Annotated[str | None, Field(description="What was true then, such as 2024-05-01.")]
LONGEST = 1 << 14  # characters of a query: some pages
_BUDGET = 1500  # tokens that an agent reads of a recall, where nothing else is configured
HitKind = Literal["passage", "summary", "document", "fact", "entity"]
_FORGOTTEN = ("artifacts", "entities", "edges")  # kinds of what the tool lets go of
Rerank = Annotated[bool, Field(description="false: skip the configured reranker, for speed.")]


def register(tools: Toolbox, place: Place) -> None:
    """Add the tools."""

    @tools.adds
    async def remember(
        ctx: Context,
        text: Annotated[str, Field(min_length=1, description="What to keep, in whole sentences; any length.")],
        kind: Annotated[
            Literal["knowledge", "memory"],
            Field(description="memory: about the user or this work; knowledge: all else."),
        ] = "knowledge",
        session_id: Session = None,
        valid_at: Annotated[str | None, Field(description="When it was true, such as 2024-05-01.")] = None,
        source: Annotated[str | None, Field(description="Where it comes from, such as a URL.")] = None,
        metadata: Annotated[dict[str, Any] | None, Field(description='Such as {"user": "alice"}.')] = None,
        idempotency_key: Annotated[
            str | None, Field(description="A word of yours: the same one on a retry stores once.")
        ] = None,
        dataset: Dataset = None,
    ) -> RememberResult:
        """Store a text for good, with the entities and facts in it, so that later conversations can recall it.

        Say who, what and when in the text itself ("Alice moved to Paris in May 2024"), not "she moved". What
        it contradicts is closed, and never lost. A long text may take a while; progress is reported.
        """
        memory = await _in_thread(place.memory, dataset, "write", request_of(ctx))
        given = {"kind": kind, "session_id": session_id, "valid_at": valid_at, "source": source}
        work = partial(memory.remember, text, **given, metadata=metadata, idempotency_key=idempotency_key)
        return await _remembered(ctx, memory, work)

    @tools.reads
    def recall(
        ctx: Context,
        query: Annotated[str, Field(min_length=1, max_length=LONGEST, description="A question, or a few words.")],
        limit: Annotated[int | None, Field(ge=1, le=100, description="Hits at the most; as configured, or 8.")] = None,
        kinds: Annotated[list[HitKind] | None, Field(description="Only these kinds of hits.")] = None,
        session_id: Annotated[str | None, Field(description="Only of this session.")] = None,
        as_of: AsOf = None,
        include_history: Annotated[bool, Field(description="Facts that have ended as well.")] = False,  # noqa: FBT002
        budget_tokens: Annotated[
            int | None, Field(ge=64, le=100_000, description="Room for `context`; as configured, or 1,500.")
        ] = None,
        rerank: Rerank = True,  # noqa: FBT002
        dataset: Dataset = None,
    ) -> Recollection:
        """Find what the memory holds on something: facts, passages, entities, each with its source.

        Use it before you answer anything that may have been said before. `context` is ready to read; no hit
        means that the memory does not hold it. Facts that have ended are left out unless you ask for them.
        """
        memory = place.memory(dataset, "read", request_of(ctx))
        found = memory.recall(
            query,
            limit=limit or memory.defaults.get("limit", 8),
            kinds=kinds,
            session_id=session_id,
            as_of=as_of,
            include_history=include_history,
            budget_tokens=budget_tokens or memory.defaults.get("budget_tokens", _BUDGET),
            rerank=None if rerank else False,
        )
        return _recollection(found)

    @tools.reads
    def query(
        ctx: Context,
        question: Annotated[str, Field(min_length=1, max_length=LONGEST, description="One question, in whole words.")],
        session_id: Annotated[
            str | None, Field(description="The session that asks; the question is kept there.")
        ] = None,
        as_of: AsOf = None,
        rerank: Rerank = True,  # noqa: FBT002
        dataset: Dataset = None,
    ) -> AnswerResult:
        """Answer a question out of the memory alone, every sentence with the passages that it rests on.

        `known` false means that the memory does not hold the answer: say so, do not guess. `known` null means
        that no model has answered: `answer` holds passages to answer from. `recall` lets you read and judge yourself.
        """
        memory = place.memory(dataset, "read", request_of(ctx))
        # Without a chat model the agent itself reads what a model would have been given.
        room = memory.defaults.get("budget_tokens", _BUDGET) if memory.asker is None else None
        given: dict[str, Any] = {"as_of": as_of, "rerank": None if rerank else False, "budget_tokens": room}
        return _answer(memory.query(question, asked_in=session_id, **given))

    @tools.removes
    def forget(
        ctx: Context,
        ids: Annotated[
            list[str] | None, Field(description="Of artifacts, entities or facts, as `recall` and `list` give.")
        ] = None,
        session_id: Annotated[str | None, Field(description="Erase all of this session.")] = None,
        source: Annotated[str | None, Field(description="Erase all that came from here.")] = None,
        metadata: Annotated[
            dict[str, Any] | None, Field(description='Erase all that has this, such as {"user": "alice"}.')
        ] = None,
        erase: Annotated[  # noqa: FBT002
            bool, Field(description="Also take the bytes out of every file, and prove it; slower.")
        ] = False,
        dataset: Dataset = None,
    ) -> Forgotten:
        """Forget artifacts (and all that hangs from them), entities or facts; or erase a session, source or user.

        Facts that other artifacts state as well stay. What a forgotten text had ended is open again. It cannot
        be undone: `show` first what you are about to forget.
        """
        memory = place.memory(dataset, "write", request_of(ctx))
        wide = {"session_id": session_id, "source": source, "metadata": metadata}
        if any(wide.values()) or erase:
            return _erased(memory, list(ids or ()), wide)
        if not ids:
            raise ToolError("give ids of what to forget, or a session_id, source or metadata to erase")
        return _forgotten(forget_all(memory, ids))


async def _in_thread(call: Callable[..., Any], *args: Any) -> Any:
    return await anyio.to_thread.run_sync(partial(call, *args))


async def _remembered(ctx: Context, memory: Memory, work: Callable[..., Any]) -> RememberResult:
    """In a thread, with its progress; a caller that goes away ends it between two steps."""
    cancel = threading.Event()
    token = anyio.lowlevel.current_token()

    def progress(event: Event) -> None:
        """From whichever thread the memory works in."""
        anyio.from_thread.run(ctx.report_progress, event.done, event.total, event.step, token=token)

    try:
        done = await anyio.to_thread.run_sync(partial(work, progress=progress, cancel=cancel), abandon_on_cancel=True)
    except BaseException:
        cancel.set()
        raise
    return await _in_thread(_result, memory, done)


def _result(memory: Memory, done: Remembered) -> RememberResult:
    return RememberResult(
        artifact_id=done.artifact_id,
        kind=done.kind,
        created_at=done.created_at,
        chunks=len(done.chunks or ()),
        entities=[told(each) for each in done.entities],
        facts=facts(memory, done.edges, done.entities),
        ended_facts=facts(memory, done.invalidated_edges, done.entities),
        notes=[*done.notes],
    )


def _notes(degraded: Iterable[Degraded]) -> list[str]:
    return [f"{each.lane}: {joined(each.reason, each.advice, WORDS)}" for each in degraded]


def _hit(hit: recall_data.Hit, place: Excerpt) -> Hit:
    """A hit in brief: its text is in the context, and is not quoted beside itself."""
    sources = [cited(each) for each in hit.evidence[:SOURCES]]
    sources = [each.model_copy(update={"quote": None}) if each.quote == excerpt(hit.text) else each for each in sources]
    said: dict[str, Any] = {"text": str(place), "start": place.start, "end": place.end}
    return Hit(kind=hit.kind, id=hit.id, **said, score=round(hit.score, 4), sources=sources)


def _recollection(found: Recalled) -> Recollection:
    hits = [_hit(each, found.excerpt(each, EXCERPT)) for each in found.hits]
    citations = [*map(cited, found.pack.citations)]
    return Recollection(context=str(found.pack), citations=citations, hits=hits, notes=_notes(found.degraded))


def _answer(found: Answered) -> AnswerResult:
    said = [Sentence(text=each.text, sources=[*map(cited, each.citations)]) for each in found.sentences]
    return AnswerResult(answer=found.answer, known=found.known, sentences=said, notes=_notes(found.degraded))


def forget_all(memory: Memory, ids: list[str]) -> Deletion:
    """Delete artifacts, and withdraw entities and facts, by their ids; nothing where one of them is not there."""
    kinds = kinds_of(memory.store, ids)
    if missing := sum(kinds.get(each) not in _FORGOTTEN for each in dict.fromkeys(ids)):
        are = "is" if missing == 1 else "are"
        raise ToolError(f"{missing} of the ids {are} no artifact, entity or fact of the memory; nothing was forgotten")
    return memory.forget(ids)


def _forgotten(done: Deletion, *, erased: bool = False) -> Forgotten:
    return Forgotten(
        artifacts=[*done.artifacts],
        entities=[*done.entities],
        facts=[*done.edges],
        reopened_facts=[*done.reopened],
        erased=erased,
    )


def _erased(memory: Memory, ids: list[str], wide: dict[str, Any]) -> Forgotten:
    if memory.snapshots():
        raise ToolError("named snapshots hold what is to be erased; a person must drop them first")
    done = memory.erase(**wide, artifacts=ids)
    return _forgotten(done.deletion, erased=done.proof.holds)
