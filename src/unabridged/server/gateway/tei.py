"""The shape of Text Embeddings Inference: ``/embed`` and ``/info``, for the server's default model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
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

__all__ = ["router"]

router = APIRouter(tags=["gateway"])


class Embed(Asked):
    """Its request."""

    model_config = example(inputs=["A text of any length.", "Another one."])

    inputs: Any = Field(description="A text, texts or token ids, of any length.", json_schema_extra=INPUT)
    model: str | None = Field(default=None, description="A name of /v1/models; TEI itself has one model.")
    normalize: bool = Field(default=True, description="Whether vectors get unit length.")
    truncate: bool | None = Field(default=None, description="Accepted: nothing is ever cut off here.")
    truncation_direction: Literal["Left", "Right", "left", "right"] | None = None
    prompt_name: str | None = Field(default=None, description="query or document (default).")
    dimensions: Annotated[int, Field(ge=1, le=65_536)] | None = None


@router.post(
    "/embed",
    openapi_extra=asked(Embed),
    responses=told(array(array({"type": "number"})), "tei"),
    summary="Embed texts of any length, in TEI's shape",
)
async def embed_(request: Request) -> Response:
    """A list of vectors."""
    server, caller = opened(request)
    wanted = await read(request, Embed)
    embedder = server.embedders.of_width(wanted.model, wanted.dimensions)
    texts = texts_of(wanted.inputs, embedder, "inputs")
    made = await embed(server, caller, embedder, texts, role=role_of(wanted.prompt_name, "prompt_name"))
    shape = _unit if wanted.normalize else _plain
    return listed(b"[", made.rows, lambda _, row: shape(row), b"]", made.headers())


@router.get(
    "/info",
    responses=told(object_of(model_id={"type": "string"}, max_input_length={"type": "integer"}), "tei"),
    summary="The default model, in TEI's shape",
)
async def info(request: Request) -> Response:
    """What its clients ask before they cut texts: here they need not."""
    server, _ = opened(request)
    embedder = server.embedders()
    settings = server.settings
    told = {
        "model_id": embedder.model,
        "model_dtype": "float32",
        "model_type": {"embedding": {"pooling": "mean"}},
        "max_concurrent_requests": settings.concurrency,
        "max_input_length": settings.max_body_bytes,  # no token is shorter than a byte
        "max_batch_tokens": settings.max_body_bytes,
        "max_client_batch_size": settings.max_body_bytes // 4,
        "auto_truncate": False,
        "version": "1.8.0",
    }
    return sent(told, {})


def _plain(row: Warm) -> Any:
    return row.vector


def _unit(row: Warm) -> Any:
    norm = float(np.linalg.norm(row.vector))
    return row.vector if abs(norm - 1) < 1e-3 or norm == 0 else (row.vector / norm).astype(np.float32)
