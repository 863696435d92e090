"""Cohere's shape, version 2: ``/v2/embed``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request  # noqa: TC002 -- FastAPI reads it at run time
from starlette.responses import Response  # noqa: TC002

from unabridged.server.gateway.bodies import Asked, read
from unabridged.server.gateway.documented import array, asked, object_of, told
from unabridged.server.gateway.embed import embed, opened
from unabridged.server.gateway.inputs import role_of
from unabridged.server.gateway.replies import listed
from unabridged.server.given import example
from unabridged.server.hot import Warm  # noqa: TC001
from unabridged.server.problems import Problem
from unabridged.server.wire import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["router"]

router = APIRouter(tags=["gateway"])
_ANSWER = object_of(id={"type": "string"}, embeddings={"type": "object"}, texts=array({"type": "string"}))
Form = Literal["float", "base64", "binary", "ubinary", "int8", "uint8"]
_UNMADE = ("int8", "uint8")  # Cohere's own calibration, which nobody else has


class Embed(Asked):
    """Cohere's request, for texts."""

    model_config = example(texts=["A text of any length."], input_type="search_document", embedding_types=["float"])

    texts: Annotated[list[str], Field(min_length=1)] | None = Field(default=None, description="Texts of any length.")
    model: str | None = Field(default=None, description="A name of /v1/models; default: the server's first.")
    input_type: str | None = Field(default=None, description="search_query, search_document, classification, …")
    embedding_types: Annotated[list[Form], Field(min_length=1)] = Field(default=["float"])
    output_dimension: Annotated[int, Field(ge=1, le=65_536)] | None = None
    truncate: Literal["NONE", "START", "END"] = Field(default="END", description="Accepted: nothing is cut off here.")
    max_tokens: int | None = Field(default=None, description="Accepted: nothing is cut off here.")
    priority: int | None = Field(default=None, description="Accepted, and not used.")
    images: Any = Field(default=None, description="Not taken here.")
    inputs: Any = Field(default=None, description="A list of {content: [{type: text, text}]}.")


@router.post(
    "/v2/embed",
    openapi_extra=asked(Embed),
    responses=told(_ANSWER, "cohere"),
    summary="Embed texts of any length, in Cohere's shape",
)
async def embed_v2(request: Request) -> Response:
    """The vectors of texts as floats, base64, or their signs packed into bits."""
    server, caller = opened(request)
    wanted = await read(request, Embed)
    texts = _texts(wanted)
    for form in wanted.embedding_types:
        if form in _UNMADE:
            detail = f"embedding_types: {form} is not made here; float, base64, binary and ubinary are"
            raise Problem(400, detail, code="invalid_value", param="embedding_types")
    embedder = server.embedders.of_width(wanted.model, wanted.output_dimension)
    made = await embed(server, caller, embedder, texts, role=role_of(wanted.input_type, "input_type"))
    head = dumps({"id": request.scope["unabridged.request_id"], "response_type": "embeddings_by_type"})[:-1]
    billed = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": made.tokens}}
    tail = b"}," + dumps({"texts": texts, "meta": billed})[1:]
    forms = list(dict.fromkeys(wanted.embedding_types))
    if len(forms) == 1:
        start = head + b',"embeddings":{' + dumps(forms[0]) + b":["
        return listed(start, made.rows, lambda _, row: _FORMS[forms[0]](row), b"]" + tail, made.headers())
    lists = [dumps(form) + b":" + dumps([_FORMS[form](row) for row in made.rows]) for form in forms]
    return listed(head + b',"embeddings":{' + b",".join(lists), (), lambda _, __: None, tail, made.headers())


def _texts(wanted: Embed) -> list[str]:
    if wanted.images is not None:
        raise Problem(400, "images: only texts are embedded here", code="invalid_value", param="images")
    if wanted.texts is not None and wanted.inputs is None:
        return wanted.texts
    if wanted.inputs is None or wanted.texts is not None:
        raise Problem(400, "texts: expected a list of texts", code="invalid_value", param="texts")
    try:
        return [_joined(one["content"]) for one in wanted.inputs] or _no_inputs()
    except (TypeError, KeyError):
        return _no_inputs()


def _joined(content: list[dict[str, str]]) -> str:
    if not content or any(part["type"] != "text" or not isinstance(part["text"], str) for part in content):
        _no_inputs()
    return "\n".join(part["text"] for part in content)


def _no_inputs() -> Any:
    detail = "inputs: expected [{content: [{type: 'text', text: …}]}]; only texts are embedded here"
    raise Problem(400, detail, code="invalid_value", param="inputs")


def _bits(row: Warm) -> Any:
    return np.packbits(row.vector > 0)


_FORMS: dict[str, Callable[[Warm], Any]] = {
    "float": lambda row: row.vector,
    "base64": lambda row: row.base64,
    "ubinary": _bits,
    # As Cohere has it: the same bytes, moved into the range of signed ones.
    "binary": lambda row: (_bits(row).astype(np.int16) - 128).astype(np.int8),
}
