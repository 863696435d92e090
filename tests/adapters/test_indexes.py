"""End to end: an index of one 500 KB document and five short ones finds a sentence in the long one's middle.

The space is lexical and exact: every word of these texts has a dimension of its own, so a vector has
something in common with the question only if its words were read. A limit of 8,192 tokens holds.
"""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from unabridged import Limit, wrap
from unabridged.testing import LoopbackProvider

FILLER = [
    "clerks",
    "copied",
    "ledgers",
    "while",
    "carts",
    "crossed",
    "the",
    "market",
    "under",
    "grey",
    "skies",
    "and",
    "dogs",
    "slept",
]
PLANTED = "Seven violet herons nested upon our crooked lighthouse yesterday."
SHORT = [
    "Bread rises slowly near warm ovens.",
    "Trains leave platform nine at noon.",
    "Chess clubs meet on Thursdays.",
    "Cobblers mend boots with waxed thread.",
    "Glaciers retreat a little every summer.",
]
MODEL = "text-embedding-3-small"
WIDTH = 256


def _long() -> str:
    sentences = [" ".join(FILLER[n % 7 :] + FILLER[: n % 5]).capitalize() + "." for n in range(6000)]
    half = len(sentences) // 2
    return " ".join([*sentences[:half], PLANTED, *sentences[half:]])


LONG = _long()
TEXTS = [*SHORT[:3], LONG, *SHORT[3:]]
_VOCABULARY = {
    word: at for at, word in enumerate(dict.fromkeys(re.findall(r"\w+", " ".join([*SHORT, PLANTED, *FILLER]).lower())))
}


def _vector(text: str, width: int) -> np.ndarray:
    made = np.zeros(width, np.float32)
    for word in re.findall(r"\w+", text.lower()):
        if word in _VOCABULARY:
            made[_VOCABULARY[word]] += 1.0
    return made / max(float(np.linalg.norm(made)), 1e-9)


@pytest.fixture(scope="module")
def server():
    assert len(LONG) > 450_000
    assert len(_VOCABULARY) < WIDTH
    limit = Limit(input_tokens=8192, request_inputs=2048, request_tokens=300_000)
    with LoopbackProvider(limit=limit, dimensions=WIDTH, vector=_vector) as provider:
        yield provider
        assert set(provider.counts) <= {200}, "nothing was refused"


@pytest.fixture
def langchain_embeddings(server):
    openai = pytest.importorskip("langchain_openai")
    return wrap(
        openai.OpenAIEmbeddings(model=MODEL, base_url=server.url, api_key="k", check_embedding_ctx_length=False)
    )


def test_langchain_vector_store(langchain_embeddings):
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(langchain_embeddings)
    store.add_texts(TEXTS)
    assert store.similarity_search(PLANTED, k=1)[0].page_content == LONG


async def test_langchain_vector_store_async(langchain_embeddings):
    from langchain_core.vectorstores import InMemoryVectorStore

    store = await InMemoryVectorStore.afrom_texts(TEXTS, langchain_embeddings)
    (found,) = await store.asimilarity_search(PLANTED, k=1)
    assert found.page_content == LONG


def test_langchain_chroma_store(langchain_embeddings):
    chroma = pytest.importorskip("langchain_chroma")
    store = chroma.Chroma("langchain-long", langchain_embeddings)
    store.add_texts(TEXTS)
    assert store.similarity_search(PLANTED, k=1)[0].page_content == LONG


def test_llama_index_index(server):
    llama = pytest.importorskip("llama_index.embeddings.openai")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    embedding = wrap(llama.OpenAIEmbedding(model_name=MODEL, api_base=server.url, api_key="k"))
    index = VectorStoreIndex([TextNode(text=text) for text in TEXTS], embed_model=embedding)
    (found,) = index.as_retriever(similarity_top_k=1).retrieve(PLANTED)
    assert found.node.get_content() == LONG


def test_haystack_pipelines(server):
    haystack = pytest.importorskip("haystack")
    from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack.utils import Secret

    given = {"api_key": Secret.from_token("k"), "model": MODEL, "api_base_url": server.url}
    store = InMemoryDocumentStore()
    indexing = haystack.Pipeline()
    indexing.add_component("embedder", wrap(OpenAIDocumentEmbedder(progress_bar=False, **given)))
    indexing.add_component("writer", DocumentWriter(store))
    indexing.connect("embedder.documents", "writer.documents")
    indexing.run({"embedder": {"documents": [haystack.Document(content=text) for text in TEXTS]}})

    asking = haystack.Pipeline()
    asking.add_component("embedder", wrap(OpenAITextEmbedder(**given)))
    asking.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=1))
    asking.connect("embedder.embedding", "retriever.query_embedding")
    found = asking.run({"embedder": {"text": PLANTED}})["retriever"]["documents"]
    assert found[0].content == LONG


def test_chroma_collection(server, tmp_path):
    chromadb = pytest.importorskip("chromadb")
    functions = pytest.importorskip("chromadb.utils.embedding_functions")
    os.environ["LOOPBACK_KEY"] = "k"
    function = wrap(
        functions.OpenAIEmbeddingFunction(api_key_env_var="LOOPBACK_KEY", model_name=MODEL, api_base=server.url)
    )
    collection = chromadb.PersistentClient(str(tmp_path)).create_collection("long", embedding_function=function)
    collection.add(ids=[str(n) for n in range(6)], documents=TEXTS)
    assert collection.query(query_texts=[PLANTED], n_results=1)["ids"] == [["3"]]

    again = chromadb.PersistentClient(str(tmp_path)).get_collection("long")  # made again from what it stored
    assert again.query(query_texts=[PLANTED], n_results=1)["ids"] == [["3"]]
    again.upsert(ids=["6"], documents=[LONG + " The end."])
    assert again.count() == 7


def test_lancedb_table_survives_reopening(server, tmp_path):
    lancedb = pytest.importorskip("lancedb")
    pytest.importorskip("openai")
    from lancedb.embeddings import get_registry
    from lancedb.pydantic import LanceModel, Vector

    get_registry().set_var("loopback_key", "k")
    function = wrap(
        get_registry().get("openai").create(name=MODEL, dim=WIDTH, base_url=server.url, api_key="$var:loopback_key")
    )

    class Row(LanceModel):
        text: str = function.SourceField()
        vector: Vector(function.ndims()) = function.VectorField()  # type: ignore[valid-type]

    table = lancedb.connect(str(tmp_path)).create_table("long", schema=Row)
    table.add([{"text": text} for text in TEXTS])
    assert table.search(PLANTED).limit(1).to_list()[0]["text"] == LONG

    again = lancedb.connect(str(tmp_path)).open_table("long")
    again.add([{"text": LONG + " The end."}])
    assert again.count_rows() == 7
    assert again.search(PLANTED).limit(1).to_list()[0]["text"].startswith(LONG[:1000])


def test_txtai_index(server):
    txtai = pytest.importorskip("txtai")
    httpx = pytest.importorskip("httpx")
    from unabridged.adapters.txtai import transform

    def embed(texts):
        reply = httpx.post(f"{server.url}/embeddings", json={"model": MODEL, "input": texts})
        return [item["embedding"] for item in reply.raise_for_status().json()["data"]]

    index = txtai.Embeddings(method="external", transform=transform(embed, limit=8192), backend="numpy")
    index.index(TEXTS)
    ((found, score),) = index.search(PLANTED, 1)
    assert TEXTS[found] == LONG
    assert score > 0
