"""What each framework has of its own: base classes, stored configuration, roles, explicit options."""

from __future__ import annotations

import numpy as np
import pytest

from unabridged import Limit, wrap
from unabridged.errors import ConfigError, Overflow
from unabridged.testing import LoopbackProvider, Trouble, vector_for

LONG = " ".join(f"Sentence number {n} says that {n} is not {n + 1}." for n in range(120))
LIMIT = Limit(input_tokens=300)
MODEL = "text-embedding-3-small"


@pytest.fixture
def server():
    with LoopbackProvider(limit=LIMIT) as provider:
        yield provider


def _unit(vector) -> bool:
    return float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-4)


# -- LangChain -----------------------------------------------------------------------------------------


def test_langchain_class_of_our_own_takes_a_models_name():
    core = pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    from unabridged.adapters.langchain import UnabridgedEmbeddings

    assert core
    embeddings = UnabridgedEmbeddings("hashing", cache=False)
    assert isinstance(embeddings, Embeddings)
    store = InMemoryVectorStore.from_texts([LONG, "short"], embeddings)
    assert store.similarity_search("short", k=1)[0].page_content == "short"


async def test_langchain_queries_and_documents_are_told_apart():
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings

    class Both(Embeddings):
        model = "two-roles"

        def __init__(self):
            self.asked = []

        def embed_documents(self, texts):
            self.asked.append(("document", len(texts)))
            return [[1.0, 0.0] for _ in texts]

        def embed_query(self, text):
            self.asked.append(("query", 1))
            return [0.0, 1.0]

    inner = Both()
    wrapped = wrap(inner, limit=300, cache=False)
    for text in ("short", LONG):
        assert wrapped.embed_query(text) == [0.0, 1.0]
        assert wrapped.embed_documents([text]) == [[1.0, 0.0]]
        assert await wrapped.aembed_query(text) == [0.0, 1.0]
        assert await wrapped.aembed_documents([text]) == [[1.0, 0.0]]
    assert wrapped.asked is inner.asked
    assert {role for role, _ in inner.asked} == {"query", "document"}
    with pytest.raises(AttributeError):
        _ = wrapped.no_such_thing


def test_wrapping_again_changes_the_options_and_does_not_cut_twice():
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import DeterministicFakeEmbedding

    inner = DeterministicFakeEmbedding(size=8)
    twice = wrap(wrap(inner, limit=300, cache=False), limit=100)
    assert twice.inner is inner
    assert twice.options == {"limit": Limit(input_tokens=100), "cache": False}
    assert len(twice.embed_query(LONG)) == 8


async def test_langchain_further_arguments_are_passed_on_in_every_request():
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings

    class Sized(Embeddings):
        sizes: list = []

        def embed_documents(self, texts, chunk_size=None):
            self.sizes.append(chunk_size)
            return [[1.0, 0.0] for _ in texts]

        async def aembed_documents(self, texts, chunk_size=None):
            return self.embed_documents(texts, chunk_size)

        def embed_query(self, text):
            return [0.0, 1.0]

    wrapped = wrap(Sized(), limit=300, cache=False)
    for text in ("short", LONG):
        assert wrapped.embed_documents([text], chunk_size=7) == [[1.0, 0.0]]
        assert await wrapped.aembed_documents([text], 7) == [[1.0, 0.0]]
    assert set(Sized.sizes) == {7}


# -- LlamaIndex ----------------------------------------------------------------------------------------


async def test_llama_index_class_of_our_own_and_queries():
    pytest.importorskip("llama_index.core")
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.embeddings import MockEmbedding

    from unabridged.adapters.llama_index import UnabridgedEmbedding

    embedding = UnabridgedEmbedding("hashing", cache=False)
    assert isinstance(embedding, BaseEmbedding)
    assert embedding.class_name() == "UnabridgedEmbedding"
    assert len(embedding.get_text_embedding_batch(["a", LONG * 10])) == 2
    assert len(await embedding.aget_query_embedding(LONG * 10)) == 256
    assert len(await embedding.aget_text_embedding(LONG * 10)) == 256
    inner = MockEmbedding(embed_dim=4, model_name="mock", embed_batch_size=3)
    again = wrap(wrap(inner, limit=300), limit=100)
    assert again.inner is inner
    assert (again.model_name, again.embed_batch_size) == ("mock", 3)
    assert again.get_query_embedding(LONG) == inner.get_query_embedding("x")
    assert again.get_text_embedding(LONG) == inner.get_text_embedding("x")


# -- Haystack ------------------------------------------------------------------------------------------


def _haystack(server, kind, **given):
    embedders = pytest.importorskip("haystack.components.embedders")
    from haystack.utils import Secret

    if "Document" in kind:
        given = {"progress_bar": False, **given}
    made = getattr(embedders, kind)
    return made(
        api_key=Secret.from_env_var("LOOPBACK_KEY"),
        model=MODEL,
        api_base_url=server.url,
        max_retries=0,
        **given,
    )


def test_haystack_documents_are_replaced_not_changed(server, monkeypatch):
    haystack = pytest.importorskip("haystack")
    monkeypatch.setenv("LOOPBACK_KEY", "k")
    embedder = wrap(_haystack(server, "OpenAIDocumentEmbedder", meta_fields_to_embed=["title"]), limit=300)
    documents = [
        haystack.Document(content="short", meta={"title": "A"}),
        haystack.Document(content=LONG, meta={"title": "B"}),
    ]
    for given in (documents[:1], documents):
        output = embedder.run(documents=given)
        assert [d.embedding for d in given] == [None] * len(given)
        assert [d.id for d in output["documents"]] == [d.id for d in given]
        assert [d.meta for d in output["documents"]] == [d.meta for d in given]
        assert all(_unit(d.embedding) for d in output["documents"])
    assert output["meta"]["usage"]["total_tokens"] > 1000
    assert output["meta"]["unabridged"]["chunked"] == 1
    assert server.texts[0] == "A\nshort", "chosen meta fields are embedded, as ever"
    assert any(text.startswith("B\nSentence number 0") for text in server.texts)


def test_haystack_pipeline_is_stored_and_made_again(server, monkeypatch):
    haystack = pytest.importorskip("haystack")
    monkeypatch.setenv("LOOPBACK_KEY", "k")
    pipeline = haystack.Pipeline()
    pipeline.add_component("texts", wrap(_haystack(server, "OpenAITextEmbedder"), limit=300, cache=False))
    pipeline.add_component("documents", wrap(_haystack(server, "OpenAIDocumentEmbedder"), limit=300))
    again = haystack.Pipeline.loads(pipeline.dumps())
    output = again.run({"texts": {"text": LONG}, "documents": {"documents": [haystack.Document(content=LONG)]}})
    assert _unit(output["texts"]["embedding"])
    assert output["texts"]["embedding"] == pytest.approx(output["documents"]["documents"][0].embedding, abs=1e-5)
    assert server.counts.keys() == {200}


def test_haystack_failures_are_logged_if_that_is_the_components_way(server, monkeypatch):
    haystack = pytest.importorskip("haystack")
    monkeypatch.setenv("LOOPBACK_KEY", "k")
    embedder = wrap(_haystack(server, "OpenAIDocumentEmbedder", raise_on_failure=False), cache=False)
    output = embedder.run(documents=[haystack.Document(content=LONG)])
    assert _unit(output["documents"][0].embedding), "an unknown limit is learned although the component swallows it"
    server.trouble(Trouble(status=404, body={"error": {"message": "no such model"}}, times=None))
    output = embedder.run(documents=[haystack.Document(content="lost")])
    assert output["documents"][0].embedding is None


async def test_haystack_text_embedder_async(server, monkeypatch):
    monkeypatch.setenv("LOOPBACK_KEY", "k")
    embedder = wrap(_haystack(server, "OpenAITextEmbedder"), limit=300, cache=False)
    embedder.warm_up()
    for text in ("short", LONG):
        output = await embedder.run_async(text=text)
        assert _unit(output["embedding"])
    with pytest.raises(TypeError):
        await embedder.run_async(text=None)
    with pytest.raises(TypeError):
        embedder.run(text=None)


# -- Chroma --------------------------------------------------------------------------------------------


def test_chroma_configuration_makes_the_round_trip(server, monkeypatch):
    functions = pytest.importorskip("chromadb.utils.embedding_functions")
    monkeypatch.setenv("LOOPBACK_KEY", "k")
    inner = functions.OpenAIEmbeddingFunction(api_key_env_var="LOOPBACK_KEY", model_name=MODEL, api_base=server.url)
    wrapped = wrap(inner, limit=300, cache=False)
    config = wrapped.get_config()
    again = type(wrapped).build_from_config(config)
    assert again.get_config() == config
    assert again.options == {"limit": LIMIT, "cache": False}
    assert np.allclose(again([LONG]), wrapped([LONG]))
    assert again.default_space() == inner.default_space()
    assert again.supported_spaces() == inner.supported_spaces()
    assert not wrapped.is_legacy()
    assert np.allclose(wrapped.embed_query([LONG])[0], wrapped([LONG])[0], atol=1e-6)


def test_chroma_collection_made_before_us_opens_with_us(server, tmp_path, monkeypatch):
    chromadb = pytest.importorskip("chromadb")
    functions = pytest.importorskip("chromadb.utils.embedding_functions")
    monkeypatch.setenv("LOOPBACK_KEY", "k")
    inner = functions.OpenAIEmbeddingFunction(api_key_env_var="LOOPBACK_KEY", model_name=MODEL, api_base=server.url)
    client = chromadb.PersistentClient(str(tmp_path))
    client.create_collection("old", embedding_function=inner).add(ids=["1"], documents=["short"])
    old = client.get_collection("old", embedding_function=wrap(inner, limit=300, cache=False))
    old.add(ids=["2"], documents=[LONG])
    assert old.query(query_texts=["short"], n_results=1)["ids"] == [["1"]]


def test_chroma_function_of_our_own_takes_a_models_name():
    chromadb = pytest.importorskip("chromadb")
    from unabridged.adapters.chroma import UnabridgedEmbeddingFunction

    function = UnabridgedEmbeddingFunction("hashing", cache=False)
    assert function.name() == "unabridged" == UnabridgedEmbeddingFunction.name()
    assert function.name() != "openai"
    collection = chromadb.EphemeralClient().get_or_create_collection("ours", embedding_function=function)
    collection.add(ids=["1", "2"], documents=["short", LONG * 10])
    assert collection.query(query_texts=["short"], n_results=1)["ids"] == [["1"]]
    again = UnabridgedEmbeddingFunction.build_from_config(function.get_config())
    assert np.allclose(again(["short"]), function(["short"]))
    assert again.default_space() == "cosine"
    assert "cosine" in again.supported_spaces()


# -- LanceDB -------------------------------------------------------------------------------------------


def test_lancedb_function_of_our_own_takes_a_models_name(tmp_path):
    lancedb = pytest.importorskip("lancedb")
    from lancedb.embeddings import get_registry
    from lancedb.pydantic import LanceModel, Vector

    import unabridged.adapters.lancedb  # noqa: F401

    function = get_registry().get("unabridged").create(model="hashing", options={"cache": False})

    class Row(LanceModel):
        text: str = function.SourceField()
        vector: Vector(function.ndims()) = function.VectorField()  # type: ignore[valid-type]

    table = lancedb.connect(str(tmp_path)).create_table("ours", schema=Row)
    table.add([{"text": "short"}, {"text": LONG * 10}])
    again = lancedb.connect(str(tmp_path)).open_table("ours")
    assert again.search("short").limit(1).to_list()[0]["text"] == "short"


def test_lancedb_refusals_without_a_reason_end_in_an_error_not_in_none():
    pytest.importorskip("lancedb")
    pytest.importorskip("openai")
    from lancedb.embeddings import get_registry

    with LoopbackProvider() as server:
        server.trouble(Trouble(status=400, body={"error": {"message": "no"}}, times=None))
        get_registry().set_var("loopback_key", "k")
        inner = get_registry().get("openai").create(name=MODEL, base_url=server.url, api_key="$var:loopback_key")
        assert inner.compute_source_embeddings(["text"]) == [None]
        with pytest.raises(Overflow):
            wrap(inner, cache=False).compute_source_embeddings(["text"])


# -- pydantic-ai ---------------------------------------------------------------------------------------


async def test_pydantic_ai_embedder(server):
    embeddings = pytest.importorskip("pydantic_ai.embeddings")
    openai = pytest.importorskip("openai")
    from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async with openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        model = wrap(OpenAIEmbeddingModel(MODEL, provider=OpenAIProvider(openai_client=client)), limit=300)
        assert model.model_name == MODEL
        assert await model.max_input_tokens() is None
        embedder = embeddings.Embedder(model)
        result = await embedder.embed_documents(["short", LONG])
        assert result[LONG] == result.embeddings[1]
        assert result.usage.input_tokens > 1000
        assert result.provider_details["unabridged"]["chunked"] == 1
        assert (await embedder.embed_query(LONG)).input_type == "query"
        cached = await embedder.embed_query(LONG)
        assert (cached.model_name, cached.provider_name) == (MODEL, "openai")
        assert cached.provider_details["unabridged"]["cached"] == 1
        assert server.counts.keys() == {200}


# -- llm -----------------------------------------------------------------------------------------------


def test_llm_plugin_lists_every_model_once_more(monkeypatch):
    llm = pytest.importorskip("llm")
    from llm.plugins import load_plugins, pm

    from unabridged.adapters import llm as ours

    load_plugins()
    if ours not in pm.get_plugins():
        monkeypatch.setattr(pm, "_unabridged", pm.register(ours), raising=False)
    assert f"unabridged/{MODEL}" in {model.model_id for model in llm.get_embedding_models()}
    assert llm.get_embedding_model("unabridged/3-small").inner.model_id == MODEL
    default = llm.get_embedding_model("unabridged")
    rows = list(default.embed_multi(["short", "second"]))
    assert [len(row) for row in rows] == [384, 384]
    assert default.embed("short") == pytest.approx(rows[0], abs=1e-5)
    pm.unregister(ours)


def test_llm_leaves_binary_data_to_the_model():
    llm = pytest.importorskip("llm")

    class Pictures(llm.EmbeddingModel):
        model_id = "pictures"
        supports_binary = True

        def embed_batch(self, items, *, key=None):
            return ([float(len(item)), 1.0] for item in items)

    model = wrap(Pictures(), limit=300)
    assert model.model_id == "unabridged/pictures"
    assert model.embed(b"1234") == [4.0, 1.0]
    assert model.embed("12345") == [5.0, 1.0]
    assert len(model.embed(LONG)) == 2


# -- mem0 and graphiti ---------------------------------------------------------------------------------


def test_mem0_embedder_keeps_its_configuration(server):
    pytest.importorskip("mem0")
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.base import EmbeddingBase
    from mem0.embeddings.openai import OpenAIEmbedding

    inner = OpenAIEmbedding(BaseEmbedderConfig(model=MODEL, api_key="k", openai_base_url=server.url))
    wrapped = wrap(inner, limit=300, cache=False)
    assert isinstance(wrapped, EmbeddingBase)
    assert wrapped.config is inner.config
    assert wrapped.client is inner.client
    assert wrapped.embed(LONG, "add") == pytest.approx(wrapped.embed_batch([LONG])[0], abs=1e-5)


async def test_graphiti_embedder_takes_what_graphitis_own_take(server):
    pytest.importorskip("graphiti_core")
    openai = pytest.importorskip("openai")
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.embedder.openai import OpenAIEmbedder, OpenAIEmbedderConfig

    async with openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
        inner = OpenAIEmbedder(OpenAIEmbedderConfig(embedding_model=MODEL, embedding_dim=32), client)
        wrapped = wrap(inner, limit=300, cache=False)
        assert isinstance(wrapped, EmbedderClient)
        assert wrapped.config is inner.config
        one = await wrapped.create(LONG)
        assert one == pytest.approx(await wrapped.create([LONG]), abs=1e-5)
        assert one == pytest.approx((await wrapped.create_batch([LONG]))[0], abs=1e-5)
        assert await wrapped.create(["short", "second"]) == pytest.approx(vector_for("short").tolist(), abs=1e-6)


# -- SDKs ----------------------------------------------------------------------------------------------


def test_litellm_arguments_by_position_and_other_formats(server):
    litellm = pytest.importorskip("litellm")
    embedding = wrap(litellm.embedding, limit=300, cache=False)
    given = {"api_base": server.url, "api_key": "k"}
    reply = embedding(f"openai/{MODEL}", [LONG, "short"], **given)
    assert isinstance(reply, litellm.EmbeddingResponse)
    assert reply.data[0]["index"] == 0
    assert reply["usage"]["total_tokens"] > 1000
    assert reply.unabridged["chunked"] == 1
    assert embedding.__name__ == "embedding"
    packed = embedding(f"openai/{MODEL}", ["short"], encoding_format="base64", **given)
    assert isinstance(packed.data[0]["embedding"], str)


def test_litellm_router_is_still_one(server):
    litellm = pytest.importorskip("litellm")
    parameters = {"model": f"openai/{MODEL}", "api_base": server.url, "api_key": "k"}
    router = litellm.Router(model_list=[{"model_name": "ours", "litellm_params": parameters}])
    wrapped = wrap(router, limit=300, cache=False)
    assert isinstance(wrapped, litellm.Router)
    assert wrapped.get_model_names() == router.get_model_names()
    assert wrapped.embedding("ours", [LONG]).unabridged["chunked"] == 1


def test_ollama_older_route_and_explicit_cutting():
    ollama = pytest.importorskip("ollama")
    with LoopbackProvider("ollama", limit=LIMIT) as server:
        client = wrap(ollama.Client(server.root), limit=300, cache=False)
        one = client.embeddings(MODEL, LONG)
        assert isinstance(one, ollama.EmbeddingsResponse)
        assert len(one.embedding) == 32
        assert client.embeddings(model=MODEL, prompt="short").embedding == pytest.approx(
            ollama.Client(server.root).embeddings(MODEL, "short").embedding
        )
        cut = client.embed(MODEL, LONG, truncate=True)
        assert cut.embeddings[0] == pytest.approx(ollama.Client(server.root).embed(MODEL, LONG).embeddings[0])
        whole = client.embed(MODEL, LONG)
        assert whole.embeddings[0] != pytest.approx(cut.embeddings[0])
        assert whole.prompt_eval_count > 1000


def test_a_method_of_a_client_is_wrapped_with_its_client():
    ollama = pytest.importorskip("ollama")
    with LoopbackProvider("ollama", limit=LIMIT) as server:
        embed = wrap(ollama.Client(server.root).embed, limit=300, cache=False)
        assert len(embed(MODEL, [LONG, "a"]).embeddings) == 2
        assert isinstance(wrap(ollama.embed).__self__, ollama.Client)


async def test_ollama_older_route_async():
    ollama = pytest.importorskip("ollama")
    with LoopbackProvider("ollama", limit=LIMIT) as server:
        client = wrap(ollama.AsyncClient(server.root), limit=300, cache=False)
        for text in ("short", LONG):
            assert len((await client.embeddings(MODEL, text)).embedding) == 32


def test_cohere_forms_of_answers():
    cohere = pytest.importorskip("cohere")
    with LoopbackProvider("cohere", limit=LIMIT) as server:
        given = {"model": "embed-english-v3.0", "input_type": "search_document"}
        client = wrap(cohere.ClientV2("k", base_url=server.root), limit=300, cache=False)
        reply = client.embed(texts=["short", LONG], embedding_types=["float"], **given)
        assert reply.texts == ["short", LONG]
        assert reply.meta.billed_units.input_tokens > 1000
        cut = client.embed(texts=[LONG], embedding_types=["float"], truncate="END", **given)
        assert cut.embeddings.float_[0] != pytest.approx(reply.embeddings.float_[1])
        assert server.requests[-1].body["truncate"] == "END"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_voyage_explicit_options_are_the_callers(asynchronous):
    voyageai = pytest.importorskip("voyageai")
    with LoopbackProvider("voyage", limit=LIMIT) as server:
        client = wrap((voyageai.AsyncClient if asynchronous else voyageai.Client)("k", base_url=server.url), limit=300)

        async def embed(*args, **given):
            answer = client.embed(*args, **given)
            return await answer if asynchronous else answer

        cut = await embed([LONG], "voyage-3.5", truncation=True)
        whole = await embed([LONG], "voyage-3.5")
        assert cut.embeddings[0] != pytest.approx(whole.embeddings[0])
        assert whole.total_tokens > 1000
        assert whole.unabridged["chunked"] == 1
        await embed(["short"], "voyage-3.5", output_dtype="int8")
        assert server.requests[-1].body["truncation"] is False


@pytest.mark.parametrize("texts", ["short", LONG, ["short", LONG]], ids=["short", "long", "both"])
def test_google_takes_a_text_or_several(texts):
    genai = pytest.importorskip("google.genai")
    with LoopbackProvider("gemini", limit=LIMIT) as server:
        client = wrap(genai.Client(api_key="k", http_options={"base_url": server.root}), limit=300, cache=False)
        assert isinstance(client, genai.Client)
        reply = client.models.embed_content(
            model="gemini-embedding-001", contents=texts, config={"output_dimensionality": 16}
        )
        assert isinstance(reply, genai.types.EmbedContentResponse)
        assert {len(e.values) for e in reply.embeddings} == {16}
        assert len(reply.embeddings) == (2 if isinstance(texts, list) else 1)


def test_google_client_may_be_dropped_for_its_models():
    genai = pytest.importorskip("google.genai")
    with LoopbackProvider("gemini", limit=LIMIT) as server:
        options = {"base_url": server.root}
        models = wrap(genai.Client(api_key="k", http_options=options), limit=300, cache=False).models
        assert len(models.embed_content(model="gemini-embedding-001", contents=LONG).embeddings) == 1


def test_google_vertex_is_told_not_to_cut():
    genai = pytest.importorskip("google.genai")
    from types import SimpleNamespace

    from unabridged.adapters.google_genai import _cuts, _whole

    vertex = SimpleNamespace(_api_client=SimpleNamespace(vertexai=True))
    assert _whole(vertex, {"model": "m"})["config"] == {"auto_truncate": False}
    config = genai.types.EmbedContentConfig(auto_truncate=True, output_dimensionality=8)
    kept = _whole(vertex, {"config": config})
    assert kept["config"] == {"auto_truncate": True, "output_dimensionality": 8}
    assert _cuts(kept)
    assert _cuts({"config": config})
    assert not _cuts({})


def test_mistral_usage_and_other_types():
    mistral = pytest.importorskip("mistralai.client")
    with LoopbackProvider("mistral", limit=LIMIT) as server:
        server.trouble(Trouble(kind="reverse", times=None))
        client = wrap(mistral.Mistral(api_key="k", server_url=server.root), limit=300, cache=False)
        assert isinstance(client, mistral.Mistral)
        reply = client.embeddings.create(model="mistral-embed", inputs=["a", "b"])
        assert [item.index for item in reply.data] == [0, 1]
        assert reply.data[0].embedding == pytest.approx(vector_for("a").tolist(), abs=1e-6)
        assert client.embeddings.create(model="mistral-embed", inputs=LONG).usage.total_tokens > 1000


# -- txtai ---------------------------------------------------------------------------------------------


def test_txtai_transform_is_a_plain_function():
    import types

    from unabridged.adapters.txtai import transform

    made = transform(lambda texts: [[1.0, float(len(text))] for text in texts], limit=300)
    assert isinstance(made, types.FunctionType)
    rows = made(["short", LONG])
    assert rows.dtype == np.float32
    assert rows[0].tolist() == [1.0, 5.0]


# -- the door ------------------------------------------------------------------------------------------


def test_what_is_not_known_is_told_what_is():
    with pytest.raises(ConfigError, match=r"found a builtins\.dict.*openai\.OpenAI.*functions"):
        wrap({})
    with pytest.raises(ConfigError, match=r"found the class .*LoopbackProvider, expected an instance"):
        wrap(LoopbackProvider)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"conncurrency": 2}, "did you mean 'concurrency'"),
        ({"xyz": 2}, "known are cache, chunking"),
        ({"empty": "skip"}, "one vector for every text"),
        ({"on_error": "report"}, "one vector for every text"),
        ({"pooling": "none"}, "one vector for every text"),
        ({"dimensions": 3}, "on the call"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        wrap(lambda texts: texts, **options)
