"""L2, L8, C4, C5, S5, S6: how units are packed, whatever the units and the caps are."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.errors import CapUnenforceable
from unabridged.text.boundaries import Lines, Words, paragraphs
from unabridged.text.engine import Meter, pack
from unabridged.text.measure import Characters, Utf8Bytes
from unabridged.text.packing import cut, to_chunks
from unabridged.text.sentences import Sentences
from unabridged.text.tokens import Estimate, as_tokenizer
from unabridged.types import Span

BRIEF = settings(max_examples=100, deadline=None)
SENTENCE = "The quick brown fox jumps over the lazy dog. "


def texts(spans, text):
    return [text[span.start : span.end] for span in spans]


def greedy(costs, cap):
    """C4's packing of whole units, written plainly."""
    groups, total = [], cap + 1
    for cost in costs:
        if total + cost > cap:
            groups.append([])
            total = 0
        groups[-1].append(cost)
        total += cost
    return [len(group) for group in groups]


@BRIEF
@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(9, 25))
def test_C4_whole_units_are_packed_greedily_in_order(sizes, cap) -> None:
    text = "".join("x" * (size - 1) + "|" for size in sizes)
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    spans = pack(text, [Meter(Characters().measure(text), cap)], ends)
    assert [text[span.start : span.end].count("|") for span in spans] == greedy(sizes, cap)


def test_C4_a_paragraph_is_cut_only_if_it_alone_is_over_the_cap() -> None:
    small, large = SENTENCE * 3 + "\n\n", SENTENCE * 20 + "\n\n"
    text = small + small + large + small
    spans = cut(text, max_tokens=100)
    inside = [span.end for span in spans if not len(small) * 2 < span.end < len(small) * 2 + len(large)]
    assert set(inside) <= set(paragraphs(text).tolist())
    assert all(piece.rstrip().endswith(".") for piece in texts(spans, text))


def test_C4_pieces_of_what_cannot_be_kept_leave_room_for_the_overlap() -> None:
    text = "word " * 500
    spans = cut(text, max_tokens=100, overlap_tokens=20)
    assert all(Estimate().count(text[before.end : span.end]) <= 80 for before, span in pairwise(spans))


def test_C5_the_overlap_is_whole_units_where_they_fit() -> None:
    text = (SENTENCE * 2 + "\n\n") * 40
    spans = cut(text, max_tokens=100, overlap_tokens=30)
    starts = {0, *paragraphs(text).tolist()}
    assert all(span.start in starts for span in spans)
    assert all(0 < Estimate().count(text[span.start : before.end]) <= 30 for before, span in pairwise(spans))


def test_C5_else_its_last_sentence_or_words() -> None:
    text = "\n\n".join(SENTENCE * 8 for _ in range(20))
    for overlap in (6, 25):
        for before, span in pairwise(cut(text, max_tokens=110, overlap_tokens=overlap)):
            assert span.start < before.end
            assert text[span.start - 1].isspace()
            assert not text[span.start].isspace()
            assert Estimate().count(text[span.start : before.end]) <= overlap


def test_C5_the_overlap_gives_way_to_the_first_new_unit() -> None:
    text = ("x" * 89 + "\n\n") + ("y" * 95 + "\n\n") + ("z" * 50 + "\n\n")
    spans = cut(text, max_tokens=100, overlap_tokens=60, tokenizer="characters")
    assert [span.end for span in spans] == [91, 188, 240]
    assert all(span.end - span.start <= 100 for span in spans)


def test_C5_the_rest_of_a_long_paragraph_does_not_cost_the_overlap() -> None:
    text = SENTENCE * 30
    spans = cut(text, max_tokens=100, overlap_tokens=15)
    assert all(span.start < before.end for before, span in pairwise(spans))


def test_S5_scripts_without_spaces_overlap_by_characters() -> None:
    text = "這是一段沒有任何標點符號也沒有空格的文字" * 40
    spans = cut(text, max_tokens=100, overlap_tokens=20)
    assert all(before.end - span.start == 20 for before, span in pairwise(spans))


def test_L2_new_lines_are_capped_and_overlap_is_not_counted() -> None:
    text = "".join(f"Line {number} of the log.\n" for number in range(300))
    spans = cut(text, max_tokens=1000, overlap_tokens=300, max_lines=10)
    assert len(spans) == 30
    assert all(text[before.end : span.end].count("\n") == 10 for before, span in pairwise(spans))


def test_L2_the_line_cap_comes_before_the_minimum() -> None:
    text = "".join(f"Line {number}.\n" for number in range(60))
    spans = cut(text, max_tokens=1000, min_tokens=900, max_lines=10)
    assert [text[span.start : span.end].count("\n") for span in spans] == [10] * 6


def test_S6_a_small_chunk_is_merged_where_both_fit() -> None:
    text = "aaaa bbbb cccc"
    meter = Meter(Characters().measure(text), 10)
    ends = [5, 10, 14]
    assert pack(text, [Meter(meter.costs, 5)], ends, minimum=0) == [Span(0, 5), Span(5, 10), Span(10, 14)]

    class Uneven:
        """Three units each its own chunk by the sums, but not by the recount."""

        total, fixed = 14, 0
        at = staticmethod(lambda offset: offset * 2)
        many = staticmethod(lambda offsets: offsets * 2)
        select = staticmethod(lambda budget: max(0, min(14, budget // 2)))
        between = staticmethod(lambda start, end: end - start)
        is_sure = staticmethod(lambda start, end: False)

    assert pack(text, [Meter(Uneven(), 10)], ends) == [Span(0, 5), Span(5, 10), Span(10, 14)]
    assert pack(text, [Meter(Uneven(), 10)], ends, minimum=5) == [Span(0, 5), Span(5, 14)]


def test_L8_all_pieces_too_small_the_last_takes_the_rest() -> None:
    text = "One. Two. Three."
    assert cut(text, max_tokens=100, min_tokens=100) == [Span(0, len(text))]


@BRIEF
@given(
    st.text(alphabet="ab 中é.\n", max_size=400),
    st.integers(8, 30),
    st.integers(8, 30),
    st.integers(12, 40),
    st.integers(0, 6),
)
def test_several_caps_and_an_overlap_hold_together(text, tokens, chars, octets, overlap) -> None:
    spans = cut(text, max_tokens=tokens, max_chars=chars, max_bytes=octets, overlap_tokens=overlap, max_lines=3)
    for before, span in pairwise([Span(0, 0), *spans]):
        piece = text[span.start : span.end]
        assert Estimate().count(piece) <= tokens
        assert len(piece) <= chars
        assert Utf8Bytes().count(piece) <= octets
        assert before.end <= span.end
        assert not text[before.end : span.start].strip()


def test_bedrocks_two_limits() -> None:
    text = "word " * 2000 + "extraordinarily" * 500
    spans = cut(text, max_tokens=512, max_chars=2048)
    assert max(span.end - span.start for span in spans) <= 2048
    assert max(Estimate().count(piece) for piece in texts(spans, text)) <= 512


def test_without_a_token_cap_the_overlap_is_still_in_tokens() -> None:
    text = SENTENCE * 50
    spans = cut(text, max_tokens=None, max_chars=300, overlap_tokens=15)
    assert all(0 < Estimate().count(text[span.start : before.end]) <= 15 for before, span in pairwise(spans))


def test_not_semantic_cuts_at_the_cap_only() -> None:
    text = SENTENCE * 50
    spans = cut(text, max_tokens=100, semantic=False)
    assert all(Estimate().count(piece) == 100 for piece in texts(spans[:-1], text))


def test_fixed_windows_with_words_are_what_segmenters_get() -> None:
    text = SENTENCE * 50
    levels = (Sentences(text), Lines(text), Words(text))
    by_words = pack(text, [Meter(Characters().measure(text), 100)], None, levels[2:])
    assert all(text[span.end - 1] == " " for span in by_words)
    by_sentences = pack(text, [Meter(Characters().measure(text), 100)], None, levels)
    assert all(piece.endswith(". ") for piece in texts(by_sentences, text))


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_promise_2_what_a_recount_shortens_still_ends_at_a_boundary(name) -> None:
    random.seed(4)
    words = ["naïve", "Straße", "中文字", "émoji😀", "tokenization", "3.14", "e.g.", "http://a.b/c"]
    text = "".join(" ".join(random.choices(words, k=9)) + ". " for _ in range(400))
    tokenizer = as_tokenizer(name)
    spans = cut(text, max_tokens=90, overlap_tokens=9, tokenizer=tokenizer)
    chunks = to_chunks(text, spans, tokenizer)
    assert max(chunk.tokens for chunk in chunks) <= 90
    assert all(chunk.text.endswith(". ") for chunk in chunks)


@pytest.mark.parametrize("text", ["a" + "\ud800" * 3, "中文", "👨‍👩‍👧‍👦"])
def test_promise_2_one_code_point_over_the_cap(text) -> None:
    with pytest.raises(CapUnenforceable, match="character at"):
        cut(text, max_tokens=2, tokenizer="bytes")
    spans = cut(text, max_tokens=4, tokenizer="bytes")
    assert all(Utf8Bytes().count(piece) <= 4 for piece in texts(spans, text))
    assert "".join(texts(spans, text)) == text


@pytest.mark.parametrize(
    "text",
    ["word" + "\n" * 40, "\n" * 40 + "word", "a" * 9 + " " * 60 + "b" * 9, " \n " * 30 + "x" + " \n " * 30],
)
@pytest.mark.parametrize("tokenizer", ["characters", "bytes", "cl100k_base"])
def test_blank_chunks_are_never_made(text, tokenizer) -> None:
    spans = cut(text, max_tokens=10, tokenizer=tokenizer)
    assert spans
    assert all(piece.strip() for piece in texts(spans, text))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\u3000"])
def test_blank_text_has_no_chunks(text) -> None:
    assert cut(text, max_tokens=5) == []
    assert to_chunks(text, []) == ()


def test_case_10_and_11_unique_tokens_add_up() -> None:
    text = SENTENCE * 200
    for tokenizer in ("estimate", "characters", "cl100k_base"):
        measure = as_tokenizer(tokenizer)
        chunks = to_chunks(text, cut(text, max_tokens=200, overlap_tokens=40, tokenizer=measure), measure)
        unique = sum(chunk.tokens - chunk.overlap_tokens for chunk in chunks)
        assert unique == pytest.approx(measure.count(text), rel=0.02)


def test_prefix_sums_can_be_handed_on() -> None:
    class Once(Estimate):
        calls = 0

        def measure(self, text):
            type(self).calls += 1
            return super().measure(text)

    text = SENTENCE * 100
    costs = Once().measure(text)
    spans = cut(text, max_tokens=50, overlap_tokens=5, tokenizer=Once(), costs=costs)
    assert to_chunks(text, spans, Once(), costs=costs) == to_chunks(text, spans)
    assert Once.calls == 1
