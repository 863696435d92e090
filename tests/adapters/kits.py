"""Every client that can be wrapped, on the loopback provider: how it is made, called and read."""

from __future__ import annotations

import importlib
import inspect
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MODEL = "text-embedding-3-small"


@dataclass(frozen=True)
class Kit:
    """``make(server, key)`` gives a client, ``embed(client, texts)`` its own answer (or an awaitable of it),
    ``rows(answer)`` the vectors in it. ``refused`` is the client's own exception for a wrong key;
    ``needs`` the packages."""

    name: str
    needs: tuple[str, ...]
    make: Callable[[Any, str], Any]
    embed: Callable[[Any, list[str]], Any]
    rows: Callable[[Any], Any]
    refused: Callable[[], type[Exception]]
    dialect: str = "openai"
    picklable: bool = False
    cuts: bool = False  # by default it has the server cut silently
    swallows: bool = False  # a bad request is logged, and None is given for its texts
    iterables: bool = True
    marks: tuple[Any, ...] = field(default=())

    async def ask(self, client: Any, texts: Any) -> Any:
        """The client's own answer, however it is called."""
        answer = self.embed(client, texts)
        return await answer if inspect.isawaitable(answer) else answer

    async def vectors(self, client: Any, texts: Any) -> np.ndarray:
        """The vectors of an answer, as an array."""
        return np.array([list(map(float, row)) for row in self.rows(await self.ask(client, texts))])


def named(path: str) -> Callable[[], Any]:
    """A class by its import path, imported when it is asked for."""
    module, _, name = path.rpartition(".")
    return lambda: getattr(importlib.import_module(module), name)


def _data(answer: Any) -> list[Any]:
    return [item["embedding"] if isinstance(item, dict) else item.embedding for item in answer.data]


def _same(answer: Any) -> Any:
    return answer


# -- OpenAI's SDK --------------------------------------------------------------------------------------


def _openai(kind: str) -> Callable[[Any, str], Any]:
    return lambda server, key: named(f"openai.{kind}")()(base_url=server.url, api_key=key, max_retries=0)


def _azure(kind: str) -> Callable[[Any, str], Any]:
    return lambda server, key: named(f"openai.{kind}")()(
        azure_endpoint=server.root, api_key=key, api_version="2024-10-21", max_retries=0
    )


def _create(client: Any, texts: list[str]) -> Any:
    return client.embeddings.create(model=MODEL, input=texts)


# -- functions -----------------------------------------------------------------------------------------


class Post:
    """A function of the user's own: posts texts, gives back lists."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key

    def __call__(self, texts: list[str]) -> list[list[float]]:
        body = {"model": MODEL, "input": texts}
        reply = httpx.post(f"{self.url}/embeddings", json=body, headers={"authorization": f"Bearer {self.key}"})
        reply.raise_for_status()
        return [item["embedding"] for item in reply.json()["data"]]


class AsyncPost(Post):
    async def __call__(self, texts: list[str]) -> list[list[float]]:  # type: ignore[override]
        body = {"model": MODEL, "input": texts}
        async with httpx.AsyncClient() as client:
            headers = {"authorization": f"Bearer {self.key}"}
            reply = await client.post(f"{self.url}/embeddings", json=body, headers=headers)
        reply.raise_for_status()
        return [item["embedding"] for item in reply.json()["data"]]


# -- the frameworks ------------------------------------------------------------------------------------


def _langchain(server: Any, key: str) -> Any:
    return named("langchain_openai.OpenAIEmbeddings")()(
        model=MODEL, base_url=server.url, api_key=key, check_embedding_ctx_length=False, max_retries=0
    )


def _llama_index(server: Any, key: str) -> Any:
    kind = named("llama_index.embeddings.openai.OpenAIEmbedding")()
    return kind(model_name=MODEL, api_base=server.url, api_key=key, max_retries=0, embed_batch_size=100)


def _chroma(server: Any, key: str) -> Any:
    kind = named("chromadb.utils.embedding_functions.OpenAIEmbeddingFunction")()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that keys given directly are not stored
        made = kind(api_key=key, model_name=MODEL, api_base=server.url)
    made.client = made.client.with_options(max_retries=0)
    return made


def _lancedb(server: Any, key: str) -> Any:
    from lancedb.embeddings import get_registry

    get_registry().set_var("loopback_key", key)
    made = (
        get_registry().get("openai").create(name=MODEL, base_url=server.url, api_key="$var:loopback_key", max_retries=0)
    )
    made._openai_client = made._openai_client.with_options(max_retries=0)
    return made


def _haystack(kind: str) -> Callable[[Any, str], Any]:
    def make(server: Any, key: str) -> Any:
        from haystack.utils import Secret

        given = {"progress_bar": False, "raise_on_failure": True} if "Document" in kind else {}
        return named(f"haystack.components.embedders.{kind}")()(
            api_key=Secret.from_token(key), model=MODEL, api_base_url=server.url, max_retries=0, **given
        )

    return make


def _documents(texts: Iterable[str]) -> list[Any]:
    from haystack import Document

    return [Document(content=text) for text in texts]


def _one_by_one(call: Callable[[Any, str], Any]) -> Callable[[Any, list[str]], Any]:
    return lambda client, texts: [call(client, text) for text in texts]


def _litellm(name: str) -> Callable[[Any, str], Any]:
    def make(server: Any, key: str) -> Any:
        import litellm

        litellm.suppress_debug_info = True
        return getattr(litellm, name)

    return make


class _LiteArguments(dict):
    """Where litellm's functions send to; set with each kit's client (functions have no state)."""


LITE = _LiteArguments()


def _lite(client: Any, texts: list[str]) -> Any:
    return client(model=f"openai/{MODEL}", input=texts, max_retries=0, **LITE)


def _litellm_function(name: str) -> Callable[[Any, str], Any]:
    def make(server: Any, key: str) -> Any:
        LITE.update(api_base=server.url, api_key=key)
        return _litellm(name)(server, key)

    return make


def _router(server: Any, key: str) -> Any:
    import litellm

    parameters = {"model": f"openai/{MODEL}", "api_base": server.url, "api_key": key, "max_retries": 0}
    return litellm.Router(model_list=[{"model_name": MODEL, "litellm_params": parameters}], num_retries=0)


def _pydantic_ai(server: Any, key: str) -> Any:
    from openai import AsyncOpenAI
    from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=server.url, api_key=key, max_retries=0)
    return OpenAIEmbeddingModel(MODEL, provider=OpenAIProvider(openai_client=client))


def _llm(server: Any, key: str) -> Any:
    import openai
    from llm.default_plugins import openai_models

    class Loopback(openai_models.OpenAIEmbeddingModel):
        """llm's own model, at a base URL."""

        def embed_batch(self, items: Any, *, key: str | None = None) -> Any:
            client = openai.OpenAI(api_key=self.key, base_url=server.url, max_retries=0)
            found = client.embeddings.create(input=list(items), model=self.openai_model_id).data
            return (item.embedding for item in found)

    made = Loopback("3-small", MODEL)
    made.key = key
    return made


def _mem0(server: Any, key: str) -> Any:
    from mem0.configs.embeddings.base import BaseEmbedderConfig

    config = BaseEmbedderConfig(model=MODEL, api_key=key, openai_base_url=server.url)
    made = named("mem0.embeddings.openai.OpenAIEmbedding")()(config)
    made.client = made.client.with_options(max_retries=0)
    return made


def _graphiti(server: Any, key: str) -> Any:
    from openai import AsyncOpenAI

    config = named("graphiti_core.embedder.openai.OpenAIEmbedderConfig")()(embedding_model=MODEL, embedding_dim=32)
    client = AsyncOpenAI(base_url=server.url, api_key=key, max_retries=0)
    return named("graphiti_core.embedder.openai.OpenAIEmbedder")()(config, client)


def _genai(server: Any, key: str) -> Any:
    from google import genai

    return genai.Client(api_key=key, http_options={"base_url": server.root})


def _mistral(server: Any, key: str) -> Any:
    return named("mistralai.client.Mistral")()(api_key=key, server_url=server.root)


def _ollama(kind: str) -> Callable[[Any, str], Any]:
    return lambda server, key: named(f"ollama.{kind}")()(server.root, headers={"authorization": f"Bearer {key}"})


def _cohere(kind: str) -> Callable[[Any, str], Any]:
    return lambda server, key: named(f"cohere.{kind}")()(key, base_url=server.root)


def _cohere_embed(client: Any, texts: list[str]) -> Any:
    return client.embed(
        texts=texts,
        model="embed-english-v3.0",
        input_type="search_document",
        embedding_types=["float"],
        request_options={"max_retries": 0},
    )


def _voyage(kind: str) -> Callable[[Any, str], Any]:
    return lambda server, key: named(f"voyageai.{kind}")()(key, base_url=server.url)


_OPENAI_AUTH = named("openai.AuthenticationError")

KITS = [
    Kit("openai", ("openai",), _openai("OpenAI"), _create, _data, _OPENAI_AUTH),
    Kit("openai-async", ("openai",), _openai("AsyncOpenAI"), _create, _data, _OPENAI_AUTH),
    Kit("azure", ("openai",), _azure("AzureOpenAI"), _create, _data, _OPENAI_AUTH, "azure"),
    Kit("azure-async", ("openai",), _azure("AsyncAzureOpenAI"), _create, _data, _OPENAI_AUTH, "azure"),
    Kit(
        "function",
        (),
        lambda s, k: Post(s.url, k),
        lambda f, t: f(t),
        _same,
        lambda: httpx.HTTPStatusError,
        picklable=True,
    ),
    Kit(
        "function-async",
        (),
        lambda s, k: AsyncPost(s.url, k),
        lambda f, t: f(t),
        _same,
        lambda: httpx.HTTPStatusError,
        picklable=True,
    ),
    Kit(
        "langchain",
        ("langchain_openai",),
        _langchain,
        lambda c, t: c.embed_documents(t),
        _same,
        _OPENAI_AUTH,
        iterables=False,
    ),
    Kit(
        "langchain-async",
        ("langchain_openai",),
        _langchain,
        lambda c, t: c.aembed_documents(t),
        _same,
        _OPENAI_AUTH,
        iterables=False,
    ),
    Kit(
        "llama_index",
        ("llama_index.embeddings.openai",),
        _llama_index,
        lambda c, t: c.get_text_embedding_batch(t),
        _same,
        _OPENAI_AUTH,
        iterables=False,
    ),
    Kit(
        "llama_index-async",
        ("llama_index.embeddings.openai",),
        _llama_index,
        lambda c, t: c.aget_text_embedding_batch(t),
        _same,
        _OPENAI_AUTH,
        iterables=False,
    ),
    Kit("chroma", ("chromadb",), _chroma, lambda c, t: c(t), _same, _OPENAI_AUTH, iterables=False),
    Kit(
        "lancedb",
        ("lancedb", "openai"),
        _lancedb,
        lambda c, t: c.compute_source_embeddings(t),
        _same,
        _OPENAI_AUTH,
        swallows=True,
    ),
    Kit(
        "haystack-text",
        ("haystack",),
        _haystack("OpenAITextEmbedder"),
        _one_by_one(lambda c, text: c.run(text=text)),
        lambda answers: [answer["embedding"] for answer in answers],
        _OPENAI_AUTH,
    ),
    Kit(
        "haystack-documents",
        ("haystack",),
        _haystack("OpenAIDocumentEmbedder"),
        lambda c, t: c.run(documents=_documents(t)),
        lambda answer: [d.embedding for d in answer["documents"]],
        _OPENAI_AUTH,
    ),
    Kit(
        "haystack-documents-async",
        ("haystack",),
        _haystack("OpenAIDocumentEmbedder"),
        lambda c, t: c.run_async(documents=_documents(t)),
        lambda answer: [d.embedding for d in answer["documents"]],
        _OPENAI_AUTH,
    ),
    Kit(
        "ollama",
        ("ollama",),
        _ollama("Client"),
        lambda c, t: c.embed(MODEL, t),
        lambda a: a.embeddings,
        named("ollama.ResponseError"),
        "ollama",
        cuts=True,
    ),
    Kit(
        "ollama-async",
        ("ollama",),
        _ollama("AsyncClient"),
        lambda c, t: c.embed(MODEL, t),
        lambda a: a.embeddings,
        named("ollama.ResponseError"),
        "ollama",
        cuts=True,
    ),
    Kit(
        "cohere",
        ("cohere",),
        _cohere("ClientV2"),
        _cohere_embed,
        lambda a: a.embeddings.float_,
        named("cohere.UnauthorizedError"),
        "cohere",
        cuts=True,
    ),
    Kit(
        "cohere-async",
        ("cohere",),
        _cohere("AsyncClientV2"),
        _cohere_embed,
        lambda a: a.embeddings.float_,
        named("cohere.UnauthorizedError"),
        "cohere",
        cuts=True,
    ),
    Kit(
        "voyage",
        ("voyageai",),
        _voyage("Client"),
        lambda c, t: c.embed(t, model="voyage-3.5"),
        lambda a: a.embeddings,
        named("voyageai.error.AuthenticationError"),
        "voyage",
        cuts=True,
    ),
    Kit(
        "voyage-async",
        ("voyageai",),
        _voyage("AsyncClient"),
        lambda c, t: c.embed(t, model="voyage-3.5"),
        lambda a: a.embeddings,
        named("voyageai.error.AuthenticationError"),
        "voyage",
        cuts=True,
    ),
    Kit(
        "google_genai",
        ("google.genai",),
        _genai,
        lambda c, t: c.models.embed_content(model="gemini-embedding-001", contents=t),
        lambda a: [e.values for e in a.embeddings],
        named("google.genai.errors.ClientError"),
        "gemini",
    ),
    Kit(
        "google_genai-async",
        ("google.genai",),
        _genai,
        lambda c, t: c.aio.models.embed_content(model="gemini-embedding-001", contents=t),
        lambda a: [e.values for e in a.embeddings],
        named("google.genai.errors.ClientError"),
        "gemini",
    ),
    Kit(
        "mistral",
        ("mistralai",),
        _mistral,
        lambda c, t: c.embeddings.create(model="mistral-embed", inputs=t),
        _data,
        named("mistralai.client.errors.SDKError"),
        "mistral",
    ),
    Kit(
        "mistral-async",
        ("mistralai",),
        _mistral,
        lambda c, t: c.embeddings.create_async(model="mistral-embed", inputs=t),
        _data,
        named("mistralai.client.errors.SDKError"),
        "mistral",
    ),
    Kit("litellm", ("litellm",), _litellm_function("embedding"), _lite, _data, _OPENAI_AUTH, picklable=True),
    Kit(
        "litellm-async",
        ("litellm",),
        _litellm_function("aembedding"),
        _lite,
        _data,
        _OPENAI_AUTH,
        picklable=True,
    ),
    Kit(
        "litellm-router",
        ("litellm",),
        _router,
        lambda c, t: c.embedding(model=MODEL, input=t),
        _data,
        _OPENAI_AUTH,
    ),
    Kit(
        "litellm-router-async",
        ("litellm",),
        _router,
        lambda c, t: c.aembedding(model=MODEL, input=t),
        _data,
        _OPENAI_AUTH,
    ),
    Kit(
        "pydantic_ai",
        ("pydantic_ai", "openai"),
        _pydantic_ai,
        lambda c, t: c.embed(t, input_type="document"),
        lambda a: a.embeddings,
        named("pydantic_ai.exceptions.ModelHTTPError"),
    ),
    Kit("llm", ("llm",), _llm, lambda c, t: list(c.embed_multi(t)), _same, _OPENAI_AUTH),
    Kit("mem0", ("mem0",), _mem0, lambda c, t: c.embed_batch(t), _same, _OPENAI_AUTH, iterables=False),
    Kit(
        "mem0-one",
        ("mem0",),
        _mem0,
        _one_by_one(lambda c, text: c.embed(text, "search")),
        _same,
        _OPENAI_AUTH,
    ),
    Kit("graphiti", ("graphiti_core",), _graphiti, lambda c, t: c.create_batch(t), _same, _OPENAI_AUTH),
]
