"""Promises 1, 2 and 4, C3–C7, L2 and K2 on any text: the cutting engine by property tests and cases."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unabridged.errors import CapUnenforceable, ConfigError
from unabridged.text.packing import cut, to_chunks
from unabridged.text.tokens import Characters, Estimate, as_tokenizer

RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FAMILY = "👨‍👩‍👧‍👦"
TEXTS = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="ab1. \n", max_size=900),
    st.text(alphabet="中文。，！\n 　a", max_size=500),
    st.lists(
        st.sampled_from(
            ["e\u0301", FAMILY, "🇩🇪", "👍🏽", "\r\n", " ", "\u1112\u1161\u11ab", "ก็", "क्षि", "\ud800", "\x00"]
        ),
        max_size=120,
    ).map("".join),
    st.lists(
        st.sampled_from(
            ["Dr. No", "3.14", "v1.2.3", "https://a.b/c?d=1.2", "e.g.", "word", "\n\n", "\n", "!", "x" * 50]
        ),
        max_size=120,
    ).map(" ".join),
)


def slow_estimate(text: str) -> int:
    """SPEC C3, word for word."""
    total = 0
    for run in re.finditer(r"[A-Za-z]+|[0-9]+|.", text, re.DOTALL):
        piece = run.group()
        if "A" <= piece[0] <= "z" and piece[0].isalpha():
            total += -(-len(piece) // 4)
        elif "0" <= piece[0] <= "9":
            total += -(-len(piece) // 3)
        else:
            total += not piece.isspace()
    return total


@RELAXED
@given(TEXTS)
def test_C3_the_estimator_counts_by_the_rules(text) -> None:
    estimate = Estimate()
    assert estimate.count(text) == slow_estimate(text)
    costs = estimate.measure(text)
    assert costs.total == slow_estimate(text)
    for budget in {0, 1, costs.total // 2, costs.total}:
        offset = costs.select(budget)
        assert costs.at(offset) <= budget
        assert offset == len(text) or costs.at(offset + 1) > budget


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abcd", 1),
        ("abcde", 2),
        ("123", 1),
        ("1234", 2),
        ("中文", 2),
        ("a b", 2),
        ("...", 3),
        ("é", 1),
        ("\u3000\t\n", 0),
    ],
)
def test_C3_examples(text, tokens) -> None:
    assert Estimate().count(text) == tokens


@RELAXED
@given(
    TEXTS,
    st.integers(4, 60),
    st.integers(0, 30),
    st.integers(0, 20),
    st.booleans(),
    st.none() | st.integers(1, 5),
)
def test_promise_1_2_4_spans_tile_within_the_cap(text, size, overlap, minimum, semantic, max_lines) -> None:
    overlap, minimum = min(overlap, size - 1), min(minimum, size)
    options = {
        "max_tokens": size,
        "overlap_tokens": overlap,
        "min_tokens": minimum,
        "max_lines": max_lines,
        "semantic": semantic,
    }
    spans = cut(text, **options)
    estimate = Estimate()
    if not text.strip():
        assert spans == []
        return
    assert [(s.start, s.end) for s in spans] == [(s.start, s.end) for s in cut(text, **options)], "deterministic"
    before = 0
    for at, span in enumerate(spans):
        piece = text[span.start : span.end]
        assert estimate.count(piece) <= size, "nothing is over"
        assert piece.strip(), "no blank chunk"
        assert not text[before : span.start].strip(), "nothing is lost"
        assert span.end > before
        if at:
            assert span.start > spans[at - 1].start
            # A cut through a run of letters or digits leaves two parts that count one token more.
            assert estimate.count(text[span.start : before]) <= overlap + (overlap > 0)
        before = span.end
    assert not text[before:].strip()


@RELAXED
@given(TEXTS, st.integers(8, 60))
def test_promise_4_never_inside_a_grapheme_or_crlf(text, size) -> None:
    for span in cut(text, max_tokens=size)[:-1]:
        left, right = text[span.end - 1], text[span.end]
        assert not unicodedata.combining(right)
        assert right not in "\u200d\ufe0f🏽"
        assert left != "\u200d"
        assert left + right != "\r\n"


@RELAXED
@given(TEXTS, st.integers(4, 40))
def test_C6_chunks_are_slices_in_characters_and_bytes(text, size) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    chunks = to_chunks(text, cut(text, max_tokens=size, overlap_tokens=size // 4))
    for at, chunk in enumerate(chunks):
        assert chunk.index == at
        assert chunk.text == text[chunk.start : chunk.end]
        assert raw[chunk.start_byte : chunk.end_byte] == chunk.text.encode("utf-8", "surrogatepass")
        assert chunk.tokens == Estimate().count(chunk.text)


@RELAXED
@given(TEXTS, st.integers(2, 40))
def test_several_caps_hold_at_once(text, size) -> None:
    try:
        spans = cut(text, max_tokens=size, max_chars=30, max_bytes=40)
    except CapUnenforceable:
        return
    for span in spans:
        piece = text[span.start : span.end]
        assert len(piece) <= 30
        assert len(piece.encode("utf-8", "surrogatepass")) <= 40
        assert Estimate().count(piece) <= size


@RELAXED
@given(TEXTS, st.integers(5, 60))
def test_K2_stripped_spans(text, size) -> None:
    for span in cut(text, max_tokens=size, strip=True, tokenizer=Characters()):
        piece = text[span.start : span.end]
        assert piece
        assert piece == piece.strip()


def test_case_1_three_thousand_lines() -> None:
    text = "\n".join(f"r{i}" for i in range(3000))
    spans = cut(text, max_tokens=2000, overlap_tokens=300, max_lines=50)
    pieces = [text[s.start : s.end] for s in spans]
    seen = {line for piece in pieces for line in piece.split("\n")}
    assert {f"r{i}" for i in range(3000)} <= seen
    assert len(set(pieces)) == len(pieces)
    assert 55 <= len(pieces) <= 65


def test_case_2_bullets_are_not_cut_small() -> None:
    line = "- a bullet of thirty characters\n"
    text = line * (200_000 // len(line))
    spans = cut(text, max_tokens=5734, overlap_tokens=409, min_tokens=819)
    sizes = [Estimate().count(text[s.start : s.end]) for s in spans]
    assert sum(sizes) / len(sizes) > 0.6 * 5734
    assert spans[0].start == 0
    assert spans[-1].end == len(text)


def test_case_4_an_overlap_of_nearly_the_whole_chunk() -> None:
    text = " ".join(f"word{i}." for i in range(4000))
    spans = cut(text, max_tokens=2000, overlap_tokens=1900)
    assert all(a.end >= b.start for a, b in pairwise(spans))
    with pytest.raises(ConfigError, match="overlap_tokens: found 600, expected less than max_tokens"):
        cut(text, max_tokens=500, overlap_tokens=600)


@pytest.mark.parametrize("cluster", [FAMILY, "🇩🇪", "e\u0301", "👍🏽", "\u1112\u1161\u11ab", "ก็"])
@pytest.mark.parametrize("shift", range(8))
def test_case_5_a_cluster_at_the_cut_stays_whole(cluster, shift) -> None:
    text = "x" * shift + cluster * 40
    for span in cut(text, max_tokens=20, semantic=shift % 2 == 0)[:-1]:
        assert (span.end - shift) % len(cluster) == 0 or span.end <= shift


@pytest.mark.parametrize("unit", ["3.14", "v1.2.3", "https://a.b/c?d=1.2"])
@pytest.mark.parametrize("size", [9, 12, 17, 25])
def test_case_6_no_cut_inside_a_number_or_url(unit, size) -> None:
    if Estimate().count(unit) > size:
        pytest.skip("alone larger than the chunk")
    text = " ".join(f"some words {unit} and" for _ in range(60))
    inside = {i for m in re.finditer(re.escape(unit), text) for i in range(m.start() + 1, m.end())}
    assert not inside & {s.end for s in cut(text, max_tokens=size)}


@pytest.mark.parametrize("abbreviation", ["Dr. No", "e.g. this", "Mr. Jones", "J. R. Smith", "approx. 3.14"])
def test_case_6_an_abbreviation_does_not_end_a_sentence(abbreviation) -> None:
    stop = abbreviation.index(".") + 2
    text = f"We met {abbreviation} here. " * 40
    ends = {s.end % len(f"We met {abbreviation} here. ") for s in cut(text, max_tokens=40)}
    assert 7 + stop not in ends


class Recorder:
    """Counts as the estimator does, and remembers how much it was given."""

    def __init__(self) -> None:
        self.characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return slow_estimate(text)


HOSTILE = {
    "no breaks": "x",
    "all breaks": "\n",
    "blank lines": "\n\n",
    "lines": "a\n",
    "crlf": "ab\r\n",
    "emoji": FAMILY,
    "dots": ".",
    "dots and spaces": ". ",
    "digits": "7",
    "nul": "\x00",
    "marks": "e" + "\u0301" * 9,
    "base64": "QmFzZTY0",
    "cjk": "字",
    "quotes": ')"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_promise_4_the_work_is_linear_on_hostile_text(name) -> None:
    unit = HOSTILE[name]
    text = "start " + unit * (60_000 // len(unit)) + " end"
    given_to = []
    for part in (text[:30_000], text):
        recorder = Recorder()
        spans = cut(part, max_tokens=256, overlap_tokens=25, tokenizer=recorder)
        given_to.append(recorder.characters)
        assert all(slow_estimate(part[s.start : s.end]) <= 256 for s in spans)
    assert given_to[1] <= 2.6 * given_to[0] + 5000, "twice the text, twice the work"
    assert given_to[1] <= 14 * len(text)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "QmFzZTY0+/" * 100_000])
def test_case_7_a_megabyte_without_a_break(text) -> None:
    spans = cut(text, max_tokens=512, overlap_tokens=51)
    assert max(Estimate().count(text[s.start : s.end]) for s in spans) <= 512
    assert spans[-1].end == len(text)
    assert len(spans) < 2 * Estimate().count(text) / (512 - 51) + 2


def test_one_character_over_the_cap_is_an_error() -> None:
    class Heavy:
        def count(self, text: str) -> int:
            return 100 * len(text)

    with pytest.raises(CapUnenforceable):
        cut("abc", max_tokens=50, tokenizer=Heavy())
    with pytest.raises(CapUnenforceable):
        cut("a\U0001f600", max_tokens=50, max_bytes=3)


def test_repeated_text_has_true_offsets() -> None:
    text = "the same words again. " * 300
    for chunk in to_chunks(text, cut(text, max_tokens=30, overlap_tokens=10)):
        assert text[chunk.start : chunk.end] == chunk.text


def test_a_bom_and_crlf_blank_lines_are_seen() -> None:
    text = "\ufeff# Title\r\n\r\n" + "First paragraph here. " * 4 + "\r\n\r\n" + "Second paragraph. " * 4
    ends = [s.end for s in cut(text, max_tokens=30)]
    assert any(text[:end].endswith("\r\n\r\n") for end in ends)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_exact_tokenizers_hold_the_cap_exactly(name) -> None:
    exact = as_tokenizer(name)
    text = "Ein Text, ein Wort: 日本語の文章です。 And English words, too! " * 200
    for span in cut(text, max_tokens=100, overlap_tokens=10, tokenizer=exact):
        assert exact.count(text[span.start : span.end]) <= 100


def test_a_tokenizer_with_truncation_baked_in_is_not_changed() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.enable_truncation(5)
    made.enable_padding(length=8)
    assert as_tokenizer(made).count("a " * 50) == 50
    assert made.truncation["max_length"] == 5
    assert len(made.encode("a").ids) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens: found 0"),
        ({"max_tokens": None}, "max_tokens: found no cap at all"),
        ({"max_tokens": 5, "overlap_tokens": -1}, "overlap_tokens: found -1"),
        ({"max_tokens": 5, "min_tokens": 6}, "min_tokens: found 6, expected at most max_tokens"),
        ({"max_tokens": 5, "max_lines": 0}, "max_lines: found 0"),
        ({"max_tokens": 5, "tokenizer": "klingon"}, "tokenizer: 'klingon' is not known"),
    ],
)
def test_wrong_settings_are_named(options, message) -> None:
    with pytest.raises(ConfigError, match=message):
        cut("text", **options)
