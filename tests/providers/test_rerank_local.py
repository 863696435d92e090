"""Cross-encoders in this process: sentence-transformers and fastembed, each with a tiny model of random weights."""

import importlib.util
import sys
import types
from importlib.resources import files

import pytest

from unabridged.errors import BadReply, ConfigError, MissingExtra
from unabridged.memory import Memory
from unabridged.providers.rerank import FastEmbedReranker, SentenceTransformersReranker, open_reranker

TEXTS = ["Alice works at Acme.", "The weather in Lisbon is fine.", "Acme is based in Berlin."]
FASTEMBED = "Xenova/ms-marco-MiniLM-L-6-v2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cross-encoder of two layers, 16 wide, whose weights mean nothing."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("cross")
    (place / "vocab.txt").write_text((files("unabridged") / "data/bert_uncased_vocab.txt").read_text("utf-8"), "utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(place / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(place)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(tokenizer), num_labels=1, initializer_range=0.5, **sizes)
    model = transformers.BertForSequenceClassification(config).eval()
    model.save_pretrained(place)
    return place, model, tokenizer


def held(reranker):
    scores = reranker.rerank("Where does Alice work?", TEXTS)
    assert len(scores) == len(TEXTS)
    assert all(0 <= score <= 1 for score in scores)
    assert len(set(scores)) == len(TEXTS)
    assert reranker.rerank("Where does Alice work?", TEXTS[:1])[0] == pytest.approx(scores[0], abs=1e-4)
    assert reranker.rerank("anything", []) == []
    if importlib.util.find_spec("lance") is not None:
        reorders(reranker)
    reranker.close()


def reorders(reranker):
    with Memory.open("memory://") as memory:
        memory.add_many(TEXTS)
        found = memory.recall("Alice Acme works based", rerank=reranker, threshold=0.0)
        assert found.degraded[-1:] == () or found.degraded[-1].lane != "rerank"
        assert {hit.lanes[-1].lane for hit in found} == {"rerank"}
        order = [hit.lanes[-1].score for hit in found]
        assert order == sorted(order, reverse=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library itself
def test_a_cross_encoder_of_sentence_transformers(folder):
    pytest.importorskip("sentence_transformers")
    held(open_reranker("sentence-transformers", model=str(folder[0]), device="cpu", batch_inputs=2))


@pytest.mark.filterwarnings("ignore")  # of torch's exporter
def test_a_cross_encoder_of_fastembed(folder):
    pytest.importorskip("fastembed")
    torch = pytest.importorskip("torch")
    place, model, tokenizer = folder
    (place / "onnx").mkdir()
    inputs = tokenizer([("a", "b c")], return_tensors="pt")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "rows", 1: "tokens"} for name in names} | {"logits": {0: "rows"}}
    try:
        torch.onnx.export(
            model,
            tuple(inputs[name] for name in names),
            place / "onnx" / "model.onnx",
            input_names=names,
            output_names=["logits"],
            dynamic_axes=axes,
            dynamo=False,
        )
    except (ModuleNotFoundError, torch.onnx.OnnxExporterError):
        pytest.skip("onnx is not installed")
    held(open_reranker("fastembed", model=FASTEMBED, specific_model_path=str(place), batch_inputs=2))


@pytest.mark.parametrize(
    ("made", "package", "extra"),
    [
        (SentenceTransformersReranker, "sentence_transformers", "sentence-transformers"),
        (FastEmbedReranker, "fastembed", "fastembed"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, made, package, extra):
    with pytest.raises(ConfigError, match=r"rerank\.model: not given"):
        made()
    find = importlib.util.find_spec
    gone = lambda name, *rest: None if name == package else find(name, *rest)
    monkeypatch.setattr("unabridged.providers.rerank.find_spec", gone)
    with pytest.raises(MissingExtra, match=rf"unabridged\[{extra}\]"):
        made("x/y")


@pytest.mark.parametrize("provider", ["sentence-transformers", "fastembed"])
def test_a_local_model_has_no_address(provider):
    with pytest.raises(ConfigError, match=r"rerank\.base_url: .* runs in this process"):
        open_reranker(provider, model="x/y", base_url="http://localhost:1")


class _Model:
    """What both packages' cross-encoders look like from outside."""

    scores = (2.0, -1.0, 0.25)

    def __init__(self, model, **options):
        self.options = options

    def predict(self, pairs, *, batch_size, show_progress_bar):
        return self.scores[: len(pairs)] if batch_size else None

    def rerank(self, query, texts, *, batch_size):
        yield from self.scores[: len(texts)]


@pytest.mark.parametrize(
    ("provider", "module", "name"),
    [
        ("sentence-transformers", "sentence_transformers", "CrossEncoder"),
        ("fastembed", "fastembed.rerank.cross_encoder", "TextCrossEncoder"),
    ],
)
def test_scores_are_checked_and_become_shares(monkeypatch, provider, module, name):
    for part in ("sentence_transformers", "fastembed", "fastembed.rerank", "fastembed.rerank.cross_encoder"):
        monkeypatch.setitem(sys.modules, part, types.ModuleType(part))
    monkeypatch.setattr(sys.modules[module], name, _Model, raising=False)
    monkeypatch.setattr("unabridged.providers.rerank.find_spec", lambda _: True)
    reranker = open_reranker(provider, model="x/y", device="cpu")
    assert repr(reranker).endswith("('x/y')")
    first, second, third = reranker.rerank("q", TEXTS)
    assert first == pytest.approx(0.8808, abs=1e-4)
    assert second < 0.5 < third < first
    monkeypatch.setattr(_Model, "scores", (1.0, float("nan"), 0.0))
    with pytest.raises(BadReply, match="no numbers"):
        reranker.rerank("q", TEXTS)
    monkeypatch.setattr(_Model, "scores", (1.0,))
    with pytest.raises(BadReply, match="1 scores for 3 texts"):
        reranker.rerank("q", TEXTS)
