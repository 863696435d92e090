"""OpenAI's shape, which most clients speak: ``/v1/embeddings``, ``/v1/models``; and Azure's paths to the same."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.requests import Request  # noqa: TC002 -- FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002

from unabridged.server.gateway.bodies import Asked, read
from unabridged.server.gateway.documented import INPUT, array, asked, object_of, told
from unabridged.server.gateway.embed import embed, opened
from unabridged.server.gateway.inputs import role_of, texts_of
from unabridged.server.gateway.replies import listed, sent
from unabridged.server.given import example
from unabridged.server.hot import Warm  # noqa: TC001
from unabridged.server.wire import dumps

__all__ = ["router"]

router = APIRouter(tags=["gateway"])
_CREATED = 1_700_000_000  # clients want a number; nobody knows when a model was made
_ROW = object_of(object={"const": "embedding"}, index={"type": "integer"}, embedding={"type": ["array", "string"]})
_USAGE = object_of(prompt_tokens={"type": "integer"}, total_tokens={"type": "integer"})
_EMBEDDINGS = object_of(object={"const": "list"}, data=array(_ROW), model={"type": "string"}, usage=_USAGE)
_MODEL = object_of(id={"type": "string"}, object={"const": "model"}, owned_by={"type": "string"})
Width = Annotated[int, Field(ge=1, le=65_536)]


class Embeddings(Asked):
    """OpenAI's request, with what Voyage, Jina, Mistral and NIM add to it."""

    model_config = example(input=["A text of any length.", "Another one."], encoding_format="float")

    input: Any = Field(description="A text, texts or token ids, of any length.", json_schema_extra=INPUT)
    model: str | None = Field(default=None, description="A name of /v1/models; default: the server's first.")
    encoding_format: Literal["float", "base64"] | None = Field(default=None, description="Default: float.")
    dimensions: Width | None = Field(default=None, description="Width to ask for, where the model offers a choice.")
    output_dimension: Width | None = Field(default=None, description="Another word for dimensions.")
    input_type: str | None = Field(default=None, description="query or document (default).")
    task: str | None = Field(default=None, description="Another word for input_type, such as retrieval.query.")
    output_dtype: Literal["float"] | None = Field(default=None, description="No other one is given here.")
    embedding_type: Literal["float"] | None = Field(default=None, description="No other one is given here.")
    user: str | None = Field(default=None, description="Accepted, and not used.")
    truncate: Any = Field(default=None, description="Accepted: nothing is ever cut off here.")
    truncation: bool | None = Field(default=None, description="Accepted: nothing is ever cut off here.")


@router.post(
    "/v1/embeddings",
    openapi_extra=asked(Embeddings),
    responses=told(_EMBEDDINGS, "openai"),
    summary="Embed texts of any length",
)
async def embeddings(request: Request) -> Response:
    """The vectors of one or several texts, in order, in OpenAI's shape.

    Headers say how many texts were cut (`x-unabridged-chunked`), how many were known
    (`x-unabridged-cached`) and how many requests went out. `usage` is what the model billed.
    """
    return await _embeddings(request, None)


@router.post("/openai/deployments/{deployment:path}/embeddings", include_in_schema=False)
async def deployed(request: Request, deployment: Annotated[str, Path(max_length=200)]) -> Response:
    """Azure's path: the model's name stands in it."""
    return await _embeddings(request, deployment)


async def _embeddings(request: Request, deployment: str | None) -> Response:
    server, caller = opened(request)
    wanted = await read(request, Embeddings)
    named = deployment or wanted.model
    embedder = server.embedders.of_width(named, wanted.dimensions or wanted.output_dimension)
    role = role_of(wanted.input_type or wanted.task, "input_type" if wanted.input_type else "task")
    made = await embed(server, caller, embedder, texts_of(wanted.input, embedder), role=role)
    usage = {"prompt_tokens": made.tokens, "total_tokens": made.tokens}
    told = {"model": named or embedder.model, "usage": usage}
    shape = _base64 if wanted.encoding_format == "base64" else _floats
    return listed(b'{"object":"list","data":[', made.rows, shape, b"]," + dumps(told)[1:], made.headers())


def _floats(at: int, row: Warm) -> dict[str, Any]:
    return {"object": "embedding", "index": at, "embedding": row.vector}


def _base64(at: int, row: Warm) -> dict[str, Any]:
    return {"object": "embedding", "index": at, "embedding": row.base64}


@router.get(
    "/v1/models",
    responses=told(object_of(object={"const": "list"}, data=array(_MODEL)), "openai"),
    summary="The models that can be asked for",
)
@router.get("/openai/models", include_in_schema=False)
async def models(request: Request) -> Response:
    """The names of the models; those of patterns are left out."""
    server, _ = opened(request)
    return sent({"object": "list", "data": [_about(server, name) for name in server.embedders.names()]}, {})


@router.get("/v1/models/{model:path}", responses=told(_MODEL, "openai"), summary="One model")
async def model_(request: Request, model: Annotated[str, Path(max_length=200)]) -> Response:
    """What is known of a model: width, and the limit that texts are cut for."""
    server, _ = opened(request)
    return sent(_about(server, model), {})


def _about(server: Any, name: str) -> dict[str, Any]:
    embedder = server.embedders(name)
    return {
        "id": name,
        "object": "model",
        "created": _CREATED,
        "owned_by": embedder.provider.name,
        "dimensions": embedder.dimensions,
        "input_tokens": embedder.limit.input_tokens,
    }
