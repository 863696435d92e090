"""Ollama's shape: ``/api/embed``, the older ``/api/embeddings``, and what its clients ask beforehand."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request  # noqa: TC002 -- FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002

from unabridged.server.gateway.bodies import Asked, read
from unabridged.server.gateway.documented import INPUT, array, asked, object_of, told
from unabridged.server.gateway.embed import Made, embed, opened
from unabridged.server.gateway.inputs import texts_of
from unabridged.server.gateway.replies import listed, sent
from unabridged.server.given import example
from unabridged.server.wire import dumps

__all__ = ["router"]

router = APIRouter(tags=["gateway"])
_TEXT = {"type": "string"}
_VECTOR = array({"type": "number"})
_VERSION = "0.12.0"  # of the protocol as it is spoken here: clients compare
_NEVER = "2026-01-01T00:00:00Z"


class _Common(Asked):
    """What both routes take."""

    model: str = Field(description="A name of /api/tags; `:latest` may follow it.")
    options: dict[str, Any] | None = Field(default=None, description="Accepted, and not used.")
    keep_alive: str | int | float | None = Field(default=None, description="Accepted, and not used.")


class Embed(_Common):
    """`/api/embed`."""

    model_config = example(model="default", input=["A text of any length.", "Another one."])

    input: Any = Field(description="A text, or texts, of any length.", json_schema_extra=INPUT)
    truncate: bool | None = Field(default=None, description="Accepted: nothing is ever cut off here.")
    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = None


class Embeddings(_Common):
    """`/api/embeddings`."""

    model_config = example(model="default", prompt="A text of any length.")

    prompt: str = Field(description="A text of any length.")


class Show(Asked):
    """`/api/show`."""

    model_config = example(model="default")

    model: str | None = Field(default=None, description="A name of /api/tags.")
    name: str | None = Field(default=None, description="The older word for it.")
    verbose: bool | None = None


@router.post(
    "/api/embed",
    openapi_extra=asked(Embed),
    responses=told(object_of(model=_TEXT, embeddings=array(_VECTOR)), "ollama"),
    summary="Embed texts of any length, in Ollama's shape",
)
async def embed_(request: Request) -> Response:
    """The vectors of one or several texts; none for an empty one alone."""
    started = time.perf_counter_ns()
    wanted = await read(request, Embed)
    made = await _made(request, wanted.model, wanted.input, wanted.dimensions)
    told = {"total_duration": time.perf_counter_ns() - started, "load_duration": 0, "prompt_eval_count": made.tokens}
    head = b'{"model":' + dumps(wanted.model) + b',"embeddings":['
    return listed(head, made.rows, lambda _, row: row.vector, b"]," + dumps(told)[1:], made.headers())


@router.post(
    "/api/embeddings",
    openapi_extra=asked(Embeddings),
    responses=told(object_of(embedding=_VECTOR), "ollama"),
    summary="Embed one text, in Ollama's older shape",
)
async def embeddings(request: Request) -> Response:
    """The vector of one text; none for an empty one."""
    wanted = await read(request, Embeddings)
    made = await _made(request, wanted.model, wanted.prompt, None)
    return sent({"embedding": made.rows[0].vector if made.rows else []}, made.headers())


async def _made(request: Request, model: str, given: Any, dimensions: int | None) -> Made:
    server, caller = opened(request)
    embedder = server.embedders.of_width(_plain(model), dimensions)
    if given == [] or (isinstance(given, str) and not given.strip()):
        return Made([])
    return await embed(server, caller, embedder, texts_of(given, embedder), role="document")


@router.get(
    "/api/tags",
    responses=told(object_of(models=array(object_of(name=_TEXT, model=_TEXT))), "ollama"),
    summary="The models, in Ollama's shape",
)
@router.get("/api/ps", include_in_schema=False)
async def tags(request: Request) -> Response:
    """The names of the models that can be asked for."""
    server, _ = opened(request)
    return sent({"models": [_about(server, name) for name in server.embedders.names()]}, {})


@router.post(
    "/api/show",
    openapi_extra=asked(Show),
    responses=told(object_of(model_info={"type": "object"}, capabilities=array(_TEXT)), "ollama"),
    summary="One model, in Ollama's shape",
)
async def show(request: Request) -> Response:
    """What is known of a model."""
    server, _ = opened(request)
    wanted = await read(request, Show)
    embedder = server.embedders(_plain(wanted.model or wanted.name or ""))
    info = {
        "general.architecture": "embedding",
        "embedding.embedding_length": embedder.dimensions,
        "embedding.context_length": embedder.limit.input_tokens,
    }
    return sent({"details": _DETAILS, "model_info": info, "capabilities": ["embedding"], "modified_at": _NEVER}, {})


@router.get("/api/version", responses=told(object_of(version=_TEXT), "ollama"), summary="The protocol's version")
async def version(request: Request) -> Response:
    """What clients compare before they call."""
    opened(request)
    return sent({"version": _VERSION}, {})


_DETAILS = {"format": "", "family": "embedding", "families": ["embedding"], "parameter_size": "", "parent_model": ""}


def _about(server: Any, name: str) -> dict[str, Any]:
    server.embedders(name)
    about = {"name": name, "model": name, "modified_at": _NEVER, "size": 0, "digest": ""}
    return {**about, "details": _DETAILS}


def _plain(model: str) -> str:
    return model.removesuffix(":latest")
