"""``POST /v1/gb/remember``: a text with its chunks, entities and facts, each with its source (SPEC A23, A27)."""

import base64
import binascii
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request, Response
from pydantic import Field, WithJsonSchema
from starlette.responses import StreamingResponse

from unabridged.errors import InputError
from unabridged.memory import Memory
from unabridged.memory.images import MAX_IMAGE_BYTES
from unabridged.memory.remember.data import Remembered
from unabridged.server.given import Given, example
from unabridged.server.memory import shapes
from unabridged.server.memory.access import Write, server_of
from unabridged.server.memory.bodies import too_large
from unabridged.server.memory.replies import reply
from unabridged.server.memory.work import EVENTS, events, in_thread, wants_events
from unabridged.server.saying import told

__all__ = ["router"]

router = APIRouter(tags=["remember"])

MOST_CHUNKS = 10_000  # of one request; the largest text of SPEC A16 makes 320 of the default size
_BYTES_A_TOKEN = 4  # of prose

Level = Literal["none", "low", "medium", "high"]
Stage = Literal["extract_graph", "summarize_chunk", "resolve_edges", "link_chunks"]
# Any value comes through, so that a wrong kind is answered as the memory itself does: 400, nothing stored (A3).
Kind = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})]


class Chunking(Given):
    """How a long text is cut."""

    size: int = Field(default=1024, ge=1, le=1_000_000, description="Largest chunk, in tokens.")
    overlap_percent: int = Field(default=20, ge=0, le=90, description="What a chunk repeats of the one before.")
    tokenizer: str | None = Field(default=None, description="What counts: estimate (default), cl100k_base, …")
    method: str | None = Field(default=None, description="A segmenter's name; default: packed paragraphs.")


class TimeSeries(Given):
    """Points that belong to the text, and whether a text is made of them."""

    name: str
    unit: str | None = None
    points: list[tuple[str, float]] = Field(default=[], description="Time in ISO 8601 and value.")
    window: str | float | None = Field(default=None, description="Seconds, or such as 7d, 24h, 30min.")
    observations: bool = Field(default=False, description="Make a text of their statistics, and remember it.")


class ImageGiven(Given):
    """An image that belongs to the text."""

    data: str = Field(description="The file in base64.")
    caption: str | None = None
    revision: str | None = Field(default=None, description="SHA-256 of the text that it was made for.")


class RememberRequest(Given):
    """What to remember, and how. The header `Idempotency-Key` makes it safe to send again."""

    model_config = example(
        text="Alice Moser works at Acme since May 2024.", source="notes.md", metadata={"user": "alice"}
    )

    text: str = Field(description="Stored as it is; at most 1 MiB.", examples=["Alice works at Acme."])
    kind: Kind = Field(default=None, description="knowledge (default) or memory, in any case.")
    session_id: str | None = Field(default=None, description="The run of a user or an agent.")
    valid_at: str | None = Field(default=None, description="When it was true (ISO 8601).")
    reference_time: str | None = Field(default=None, description="The same, under its other name.")
    metadata: dict[str, Any] | None = None
    source: str | None = Field(default=None, description="Its identity outside, such as a URL.")
    source_hash: str | None = None
    provenance: dict[str, Any] | None = Field(default=None, description="Speaker, role, observed_at, …")
    expires_at: str | None = None
    chunking: Chunking | bool | None = None
    extract: bool = Field(default=True, description="Make the graph; needs a chat model.")
    summarize: bool = Field(default=True, description="Summarise the chunks of a long text.")
    defer: bool = Field(default=False, description="Store now, make the graph later.")
    web_search: bool | Annotated[int, Field(ge=0, le=100)] = Field(
        default=False, description="Search the web for key entities; how many."
    )
    timeseries: TimeSeries | list[TimeSeries] | None = None
    image: ImageGiven | None = None
    models: dict[Stage, str] | None = Field(default=None, description="Model of a stage, for this request.")
    reasoning: dict[Stage, Level] | None = Field(default=None, description="Reasoning of a stage; default none.")
    average: Literal["chunks", "summaries"] = "chunks"
    connect: bool = Field(default=False, description="Look for facts that need two distant chunks.")
    supersedes: bool = Field(default=True, description="Whether it may end older facts.")
    trajectory: bool = Field(default=False, description="Say what was done, step by step.")
    dry_run: bool = Field(default=False, description="Only say what it would cost.")
    on_summary_failure: Literal["fail", "keep"] = "fail"


@router.post(
    "/remember",
    responses=told(
        shapes.Remembered,
        text="What was stored; as events: its progress, then that.",
        content={EVENTS: {"schema": {"type": "string"}}},
    ),
    operation_id="remember",
)
async def _remember(
    request: Request,
    memory: Write,
    given: RememberRequest,
    idempotency_key: Annotated[
        str | None, Header(min_length=1, max_length=255, description="The same request is done once.")
    ] = None,
) -> Response:
    """Remember a text: its chunks, summaries, entities and facts, each linked to where it is said.

    With `Accept: text/event-stream` its progress is told: events `progress`, then `notes` (what was not done,
    and why, if anything) and `done` (the answer), or `error` (a problem). With an `Idempotency-Key` the work
    goes on when the caller goes away, and the same request sent again goes on where it stopped, or gives the
    finished answer again; without one, it stops.
    """
    options = options_of(given, memory) | {"idempotency_key": idempotency_key}
    work = partial(memory.remember, given.text, **options)
    if wants_events(request):
        stream = events(server_of(request), work, Remembered.to_dict, keep_on=idempotency_key is not None)
        return StreamingResponse(stream, media_type=EVENTS, headers={"X-Accel-Buffering": "no"})
    done: Remembered = await in_thread(server_of(request), work)
    if done.pending:
        server_of(request).wake(memory.name)
    return reply(request, done.to_dict(), headers=_notes(done))


def options_of(given: RememberRequest, memory: Memory) -> dict[str, Any]:
    """The options of a request, as the memory takes them; what could name a file of the server is refused."""
    size = len(given.text.encode("utf-8", "surrogatepass"))
    if size > memory.max_text_bytes:
        raise too_large(size, memory.max_text_bytes, "text")
    options = given.model_dump(exclude={"text", "image"}, exclude_unset=True)
    if isinstance(given.chunking, Chunking):
        _refuse_crumbs(given.chunking, size)
    options["chunking"] = _chunking(given.chunking) if isinstance(given.chunking, Chunking) else given.chunking
    if given.image is not None:
        options["image"] = {**given.image.model_dump(exclude={"data"}), "data": _image(given.image.data)}
    return options


def _refuse_crumbs(chunking: Chunking, size: int) -> None:
    """Refuse what would cut a text into more chunks than one request may make: each is a commit of its own."""
    each = max(1.0, chunking.size * (1 - chunking.overlap_percent / 100)) * _BYTES_A_TOKEN
    if size / each > MOST_CHUNKS:
        detail = f"would make some {size / each:,.0f} chunks of this text, over the limit of {MOST_CHUNKS:,}"
        raise InputError(f"chunking: size {chunking.size}, overlap {chunking.overlap_percent} % {detail}")


def _notes(done: Remembered) -> dict[str, str]:
    """Beside the answer: what was not done and why; whether it is an answer given again."""
    headers = {"Idempotent-Replayed": "true"} if done.replayed else {}
    if done.notes:
        headers["X-Unabridged-Notes"] = "; ".join(done.notes).encode("ascii", "replace").decode()
    return headers


def _chunking(given: Chunking) -> dict[str, Any]:
    name = given.tokenizer
    if name is not None and (name.endswith(".json") or name.startswith((".", "/", "~")) or "\\" in name):
        raise InputError("chunking.tokenizer: is a path; name one, such as estimate or cl100k_base")
    return given.model_dump(exclude_unset=True)


def _image(given: str) -> bytes:
    if len(given) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        raise too_large(None, MAX_IMAGE_BYTES, "image.data")
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("image.data: not base64") from None
