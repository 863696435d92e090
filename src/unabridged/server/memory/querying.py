"""``POST /v1/gb/query`` and ``/recall``, and the graph as people ask for it: timelines, neighbourhoods (SPEC R1-R4)."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AliasChoices, BaseModel, Field

from unabridged.memory.plain import plain
from unabridged.memory.recall.answer import Answered
from unabridged.memory.recall.data import Citation, Degraded, Recalled
from unabridged.server.advice import helps
from unabridged.server.given import Given
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Read, server_of
from unabridged.server.memory.replies import reply
from unabridged.server.memory.work import in_thread
from unabridged.server.saying import read, told

__all__ = ["router"]

router = APIRouter(tags=["recall"])

HitKind = Literal["passage", "summary", "document", "fact", "entity"]
Lane = Literal["vector", "text", "names", "graph"]
Level = Literal["none", "low", "medium", "high"]
LONGEST = 1 << 14  # characters of a query: some pages; what is longer is a text to remember, and slow to search for


def _asked(*names: str) -> Any:
    """What is asked, under either name."""
    known = AliasChoices(*names)
    return Field(min_length=1, max_length=LONGEST, validation_alias=known, examples=["Where does Alice work?"])


class Scope(Given):
    """Which artifacts may answer, and how many hits there are."""

    limit: int | None = Field(default=None, ge=1, le=1000, description="Hits at the most; as configured, or 10.")
    budget_tokens: int | None = Field(default=None, ge=1, le=1_000_000, description="Room of the pack; default 4,000.")
    kinds: list[HitKind] | None = Field(default=None, description="Of hits; default all.")
    kind: str | None = Field(default=None, description="Of artifacts: knowledge or memory.")
    source: str | None = None
    document: str | None = Field(default=None, description="Only of this document.")
    metadata: dict[str, Any] | None = None
    created_since: str | None = None
    created_until: str | None = None
    as_of: str | None = Field(default=None, description="What was true at this moment (ISO 8601).")
    known_at: str | None = Field(default=None, description="What the memory knew at this moment (ISO 8601).")
    include_history: bool = Field(default=False, description="Facts that have ended as well.")
    include_expired: bool = False
    lanes: list[Lane] | None = Field(default=None, description="Ways to search; default all.")
    passes: Literal[1, 2] | None = Field(default=None, description="2: also the other passages of the documents found.")
    rerank: bool = Field(default=True, description="false: not in the order of the configured cross-encoder; quicker.")
    diversity: float | None = Field(default=None, ge=0, le=1, description="How much hits should differ.")
    threshold: float | None = Field(default=None, ge=0, le=1, description="Least score of a hit.")
    recency: float | None = Field(default=None, gt=0, le=1e6, description="Age in days that counts half as much.")
    prefer_session: str | None = Field(default=None, description="Put forward what was said in this session.")

    def options(self, *without: str) -> dict[str, Any]:
        """What the memory takes; what is not given is as it is configured."""
        given = self.model_dump(exclude={*without, "rerank"}, exclude_none=True)
        return given if self.rerank else {**given, "rerank": False}


class RecallRequest(Scope):
    """A query, and where to look."""

    query: str = _asked("query", "question")
    session_id: str | None = Field(default=None, description="Only of this session.")
    explain: bool = Field(default=False, description="Each lane's rank and score of every hit.")


class QueryRequest(Scope):
    """A question, who asks it, and where to look."""

    question: str = _asked("question", "query")
    session_id: str | None = Field(default=None, description="The session that asks: the question is kept there.")
    of_session: str | None = Field(default=None, description="Answer only from this session.")
    model: str | None = Field(default=None, description="The chat model that answers, for this request.")
    reasoning: Level | None = None


class QuerySentence(BaseModel):
    """One sentence of an answer, and the numbers of the citations that it rests on, from 1."""

    text: str
    numbers: list[int]
    citations: list[shapes.Citation]  # type: ignore[valid-type]


class QueryAnswer(BaseModel):
    """An answer in which every sentence cites its sources; `known` false: the memory does not hold it.

    `known` null: no model has answered (none is configured, or it failed: `degraded` says so). `answer` is then the
    passages that were recalled, with their numbers, and `sentences` is empty.
    """

    answer: str
    known: bool | None
    sentences: list[QuerySentence]
    evidence: list[shapes.Edge] = Field(description="The facts that were found, each with its artifact_id.")  # type: ignore[valid-type]
    citations: list[shapes.Citation]  # type: ignore[valid-type]
    degraded: list[shapes.Degraded]  # type: ignore[valid-type]
    dropped: int = Field(description="Sentences left out because their sources did not bear them out.")
    session_id: str | None


@router.post("/query", responses=told(QueryAnswer), operation_id="query")
async def _query(request: Request, memory: Read, given: QueryRequest) -> Response:
    """Answer a question out of the memory: every sentence cites its sources and is held against them."""
    options = given.options("question", "session_id", "of_session")
    work = partial(memory.query, given.question, asked_in=given.session_id, session_id=given.of_session, **options)
    found = await in_thread(server_of(request), work, cancellable=False)
    return reply(request, answer_of(found, given.session_id))


@router.post("/recall", responses=told(shapes.Recalled), operation_id="recall")
def _recall(request: Request, memory: Read, given: RecallRequest) -> Response:
    """What matters for a query, best first: passages, summaries, documents, facts, entities, each with its evidence.

    `pack` holds it ready for a prompt; `degraded` says what could not be searched, and why.
    """
    found = memory.recall(given.query, **given.options("query"))
    return reply(request, {**found.to_dict(), "degraded": _degraded(found.degraded)})


@router.get("/entities/{entity_id}/timeline", responses=read(shapes.Timeline), operation_id="get_entity_timeline")
def _timeline(
    request: Request,
    memory: Read,
    entity_id: Annotated[str, Path(description="The entity's id, or its name.")],
    type: Annotated[str | None, Query(description="Its type, where several have the name.")] = None,  # noqa: A002
    known_at: Annotated[str | None, Query(description="What the memory knew at this moment (ISO 8601).")] = None,
) -> Response:
    """The facts of an entity by when they began, ended ones too, each with its evidence and what ended it."""
    return reply(request, memory.timeline(entity_id, type=type, known_at=known_at).to_dict())


@router.get(
    "/entities/{entity_id}/neighbourhood",
    responses=read(shapes.Neighbourhood),
    operation_id="get_entity_neighbourhood",
)
def _neighbourhood(
    *,
    request: Request,
    memory: Read,
    entity_id: Annotated[str, Path(description="The entity's id, or its name.")],
    depth: Annotated[int, Query(ge=1, le=5, description="Steps from it.")] = 1,
    limit: Annotated[int, Query(ge=1, le=1000, description="Entities at the most.")] = 200,
    as_of: Annotated[str | None, Query(description="What was true at this moment (ISO 8601).")] = None,
    known_at: Annotated[str | None, Query(description="What the memory knew at this moment (ISO 8601).")] = None,
    include_history: Annotated[bool, Query(description="Facts that have ended as well.")] = False,
) -> Response:
    """The entities and facts around an entity, the nearest first."""
    time: dict[str, Any] = {"as_of": as_of, "known_at": known_at, "include_history": include_history}
    return reply(request, memory.neighbourhood(entity_id, depth=depth, limit=limit, **time).to_dict())


def answer_of(found: Answered, session_id: str | None) -> dict[str, Any]:
    """The answer as it is sent: facts as the graph has them, so that each carries its artifact_id (SPEC A25)."""
    return {
        "answer": found.answer,
        "known": found.known,
        "sentences": plain(found.sentences),
        "evidence": _facts(found.recalled),
        "citations": _citations(found.recalled.pack.citations),
        "degraded": _degraded(found.degraded),
        "dropped": found.dropped,
        "session_id": session_id,
    }


def _degraded(lanes: Iterable[Degraded]) -> list[dict[str, Any]]:
    """What did not run, and why; what would help as a request, or as who can do it."""
    return [{**plain(each), "advice": helps(each.advice)} for each in lanes]


def _facts(recalled: Recalled) -> list[Any]:
    return [plain(hit.record) for hit in recalled.hits if hit.kind == "fact" and hit.record is not None]


def _citations(citations: tuple[Citation, ...]) -> list[Any]:
    return [plain(each) for each in citations]
