"""``/v1/gb/preview``: how a document would be cut, by every segmenter, before anything is spent (SPEC S16)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, Literal

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from pydantic import Field

from unabridged.errors import InputError
from unabridged.server.auth import Caller, needs
from unabridged.server.given import Given, example
from unabridged.server.preview_cuts import Recipe, cut, tokenizers
from unabridged.server.preview_files import KINDS
from unabridged.server.preview_shelf import Kept, opened, pasted
from unabridged.server.preview_state import Previews, previews_of
from unabridged.server.problems import Problem
from unabridged.server.saying import told
from unabridged.server.strict import known_parameters
from unabridged.server.wire import dumps
from unabridged.text.exact import without_surrogates
from unabridged.text.segmenters import segmenters

__all__ = ["router"]

MOST_RECIPES = 8


@asynccontextmanager
async def _living(app: FastAPI) -> AsyncIterator[None]:
    """Until the server stops: then the chat model's connections are given back."""
    try:
        yield
    finally:
        found = getattr(app.state, "previews", None)
        if isinstance(found, Previews):
            await run_sync(found.close)


router = APIRouter(
    prefix="/v1/gb/preview",
    tags=["preview"],
    dependencies=[needs("read"), Depends(known_parameters)],
    lifespan=_living,
)


class DocumentSource(Given):
    """A text, or a file by its folder's number and its path there."""

    model_config = example(text="# Boiler\n\nIt is serviced every May. The pressure is 1.5 bar.")

    text: str | None = Field(default=None, description="A text itself.")
    folder: int | None = Field(default=None, ge=0, description="The number of a configured folder.")
    path: str | None = Field(default=None, max_length=4096, description="The file's path in it.")


class CutRecipe(Given):
    """One way to cut: a segmenter, its sizes in tokens, and its own settings."""

    name: str = Field(default="", max_length=200)
    method: str = Field(default="paragraph", max_length=200)
    max_tokens: int | None = None
    overlap_tokens: int | None = None
    min_tokens: int | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    embedder: Literal["lexical", "api"] = "lexical"

    def recipe(self) -> Recipe:
        """As the cutting takes it; what is not given is left to the segmenter."""
        sizes = {name: getattr(self, name) for name in ("max_tokens", "overlap_tokens", "min_tokens")}
        given = {name: value for name, value in sizes.items() if value is not None}
        return Recipe(self.name or self.method, {"method": self.method, **self.settings, **given}, self.embedder)


class Cuts(Given):
    """A document that was opened, the recipes, and what may be spent."""

    model_config = example(document="…", recipes=[{"method": "paragraph", "max_tokens": 200}])

    document: str = Field(max_length=200)
    recipes: list[CutRecipe] = Field(min_length=1, max_length=MOST_RECIPES)
    tokenizer: str = "estimate"
    question: str = Field(default="", max_length=10_000)
    spend: bool = Field(default=False, description="Call models where a recipe needs them; else their price is told.")
    max_calls: int | None = Field(default=None, ge=0)
    max_cost_usd: float | None = Field(default=None, ge=0, description="Blank: the configured limit.")


def _state(request: Request) -> Previews:
    return previews_of(request.app)


State = Annotated[Previews, Depends(_state)]


@router.get("", responses=told(), operation_id="preview_settings")
def _settings(state: State) -> Response:
    """The segmenters with their settings, the tokenizers, the folders that may be read, and the limits."""
    return _json({
        "segmenters": [dict(row) for row in segmenters()],
        "tokenizers": tokenizers(),
        "folders": state.folders.names,
        "kinds": sorted(KINDS),
        "embedder": _model(state.embedder),
        "llm": _model(state.llm),
        "limits": {"bytes": state.max_bytes, "recipes": MOST_RECIPES, "max_cost_usd": state.max_cost_usd},
    })  # fmt: skip


@router.get("/folders/{folder}", responses=told(), operation_id="preview_folder")
def _folder(
    state: State,
    folder: Annotated[int, Path(ge=0, description="The folder's number.")],
    path: Annotated[str, Query(max_length=4096, description="A folder inside it.")] = "",
) -> Response:
    """The files of a configured folder that may be previewed; never hidden ones."""
    entries, more = state.folders.list(folder, path)
    return _json({"entries": [asdict(entry) for entry in entries], "more": more})


@router.post("/documents", status_code=201, responses=told(status=201), operation_id="preview_open")
def _open(state: State, source: DocumentSource) -> Response:
    """Read a text or a file of a configured folder, and keep it for the cuts."""
    if source.text is not None:
        if len(source.text.encode("utf-8", "replace")) > state.max_bytes:
            raise Problem(413, f"the text is over the {state.max_bytes:,} bytes that a preview reads", code="too_large")
        return _kept(state, pasted(source.text))
    if source.folder is None or source.path is None:
        raise InputError("expected a text, or a folder and a path")
    return _kept(state, opened(*state.folders.read(source.folder, source.path, state.max_bytes)))


@router.post(
    "/uploads",
    status_code=201,
    responses=told(status=201),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    operation_id="preview_upload",
)
async def _upload(
    request: Request,
    state: State,
    name: Annotated[
        str,
        Query(
            min_length=1,
            max_length=1024,
            description="The file's name; its ending says what it is.",
            examples=["notes.md"],
        ),
    ],
) -> Response:
    """Read a file that is sent as the request's body, and keep it for the cuts."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > state.max_bytes:
            raise Problem(413, f"the file is over the {state.max_bytes:,} bytes that a preview reads", code="too_large")
    return await run_sync(lambda: _kept(state, opened(name, bytes(data))))


@router.get(
    "/documents/{document}/image",
    response_class=Response,
    responses={
        **told(),
        200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}, "description": "The image."},
    },
    operation_id="preview_image",
)
def _image(state: State, document: str) -> Response:
    """An image that was opened, as it is."""
    kept = state.shelf.get(document)
    if not kept.image:
        raise Problem(404, "this document is no image", code="not_found")
    return Response(kept.image, media_type=kept.media_type)


@router.post("/cuts", responses=told(), operation_id="preview_cut")
def _cut(caller: Annotated[Caller, needs("read")], state: State, asked: Cuts) -> Response:
    """Cut a document by each recipe: chunks, figures and what they would cost; nothing is spent unless asked."""
    if asked.tokenizer not in tokenizers():
        raise InputError(f"tokenizer: not one of {', '.join(tokenizers())}")
    if asked.spend and not caller.may("write"):
        raise Problem(403, "this key may read, and spends nothing", code="insufficient_scope", param="spend")
    kept = state.shelf.get(asked.document)
    tools = state.tools(asked.tokenizer, asked.max_calls, asked.max_cost_usd)
    return _json({
        "results": [
            cut(kept.document, each.recipe(), tools, question=asked.question, spend=asked.spend)
            for each in asked.recipes
        ],
        "limits": {"max_calls": tools.max_calls, "max_cost_usd": tools.max_cost_usd},
    })  # fmt: skip


def _kept(state: Previews, kept: Kept) -> Response:
    text = without_surrogates(kept.document.text)
    return _json({"id": state.shelf.keep(kept), **kept.facts(), "text": text}, status=201)


def _model(paid: Any) -> dict[str, Any] | None:
    return None if paid is None else {"name": paid.name, "prices": paid.prices}


def _json(data: Any, *, status: int = 200) -> Response:
    return Response(dumps(data), status, media_type="application/json", headers={"Cache-Control": "no-store"})
