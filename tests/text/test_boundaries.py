"""C4, C7, promise 4: where paragraphs, sentences, words and graphemes end."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.text import boundaries
from unabridged.text.boundaries import Lines, Marks, Words, lines, paragraphs
from unabridged.text.graphemes import forced_cut, forced_start, grapheme_cut
from unabridged.text.scan import Scan, bits_at, later, spread
from unabridged.text.sentences import Sentences, sentences

BRIEF = settings(max_examples=150, deadline=None)
BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
LINES = st.one_of(
    st.text(alphabet="ab \n\r\t\u3000\x85é", max_size=300),
    st.lists(st.sampled_from(["\n", "\n\n", "\r\n\r\n", " " * 70, "word", "\n \n", "x"]), max_size=60).map("".join),
)


@pytest.mark.parametrize("dense", [False, True])
def test_paragraphs_end_after_blank_lines_by_either_way(dense, monkeypatch) -> None:
    monkeypatch.setattr(boundaries, "_is_dense", lambda _feeds: dense)

    @BRIEF
    @given(LINES)
    def holds(text) -> None:
        expected = [found.end() for found in BLANK_LINE.finditer(text)]
        if not expected or expected[-1] != len(text):
            expected.append(len(text))
        assert paragraphs(text).tolist() == expected

    holds()


@BRIEF
@given(LINES)
def test_lines_start_after_line_feeds(text) -> None:
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    assert lines(text).tolist() == [start for start in starts if start < len(text)]


@BRIEF
@given(st.text(alphabet="aZ9 \n\u2003\u2028\x1c\xa0é中😀\ud800", max_size=400))
def test_a_scan_knows_each_character(text) -> None:
    scan = Scan.of(text, wide=True)
    assert bits_at(scan.spaces).tolist() == [at for at, c in enumerate(text) if c.isspace()]
    assert bits_at(scan.letters).tolist() == [at for at, c in enumerate(text) if c in "aZ"]
    assert bits_at(scan.digits).tolist() == [at for at, c in enumerate(text) if c == "9"]
    assert bits_at(scan.wide).tolist() == [at for at, c in enumerate(text) if c == "中"]


@BRIEF
@given(st.text(alphabet="ab", max_size=500), st.integers(1, 5), st.integers(0, 300))
def test_runs_of_bits_are_followed_however_long(text, step, by) -> None:
    runs = Scan.of(text.replace("b", " ")).letters
    moved = bits_at(later(runs, by)).tolist()
    assert [at for at in moved if at < len(text)] == [
        at + by for at, c in enumerate(text) if c == "a" and at + by < len(text)
    ]
    seeds = runs & ~later(runs, 1)
    expected = [run.start() + k for run in re.finditer("a+", text) for k in range(0, run.end() - run.start(), step)]
    assert bits_at(spread(seeds, runs, step)).tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dr. No met Mrs. Peel.| He left.",
        "It is 3.14, v1.2.3 or 10.5.| See https://a.b/c?d=1.2 for more.| Good.",
        "J. R. R. Tolkien wrote it.| He did.",
        "See e.g. the first, i.e. that one.| Next.",
        "At 5 a.m. he rose.| He ate.",
        "He said “Stop!” and went.| She stayed.",
        "(He worked there.) He left.".replace(") ", ") |"),
        "Really?!| Yes…| No.",
        "Wait... what?| Nothing.",
        "今天很好。|明天呢？|「走吧！」|他说。",
        "これはペンです。|あれは本です。|",
        "هل هذا صحيح؟ |نعم.| حسنا.",
        "यह एक वाक्य है। |दूसरा वाक्य।|",
        "the quick brown fox.| it sleeps.| then wakes.",
        "Acme Inc. and Co. agreed.| Fine.",
        "3.14 ist π, z.B. hier.| Gut.",
        "No. 5 is alive.| Vol. 3 too.",
        "- one\n|- two\n|- three",
        "A wrapped\nsentence goes on.| Then ends.",
    ],
)
def test_C7_and_case_6_sentence_ends(text) -> None:
    plain = text.replace("|", "")
    bars = [found.start() - number for number, found in enumerate(re.finditer(r"\|", text))]
    expected = [at + len(plain[at:]) - len(plain[at:].lstrip()) for at in bars]
    found = [end for end in sentences(plain) if end < len(plain)]
    assert found == [end for end in expected if end < len(plain)]


TEXTS = st.lists(
    st.sampled_from(
        [
            "word ",
            "Dr. ",
            "3.14 ",
            "End. ",
            "Ok! ",
            "\n",
            "- x\n",
            "。",
            "」",
            "中",
            "  ",
            "a\n",
            "?" * 5,
            "x" * 40,
            "\u3000",
        ]
    ),
    max_size=80,
).map("".join)


@BRIEF
@given(TEXTS, st.data())
def test_levels_find_the_same_boundaries_from_anywhere(text, data) -> None:
    low = data.draw(st.integers(0, len(text)))
    high = data.draw(st.integers(low, len(text)))
    everywhere = list(sentences(text))
    sentence_level = Sentences(text)
    for level, ends in (
        (sentence_level, everywhere),
        (Marks(paragraphs(text)), paragraphs(text).tolist()),
        (Lines(text), [found.end() for found in re.finditer("\n", text)]),
    ):
        for _ in range(2):  # the second time from memory
            inside = [end for end in ends if low < end <= high]
            assert level.first(low, high) == (inside[0] if inside else None)
            assert level.last(low, high) == (inside[-1] if inside else None)
            middle = (low + high) // 2
            inside = [end for end in ends if low < end <= middle]
            assert level.first(low, middle) == (inside[0] if inside else None)


@BRIEF
@given(TEXTS, st.data())
def test_words_start_after_white_space(text, data) -> None:
    low = data.draw(st.integers(0, len(text)))
    high = data.draw(st.integers(low, len(text)))
    first, last = Words(text).first(low, high), Words(text).last(low, high)
    starts = [
        at for at in range(low + 1, high + 1) if at < len(text) and text[at - 1].isspace() and not text[at].isspace()
    ]
    assert first == (starts[0] if starts else None)
    if last is not None:
        assert low < last <= high
        assert text[last - 1].isspace()
        assert all(start <= last for start in starts)
    else:
        assert not starts


CLUSTERS = st.lists(
    st.sampled_from(list("ae\u0301👨\u200d👩🇩🇪\r\n한\u1112\u1161\u11abक\u094dषि👍🏽 \ud800\u0600中\ufeff©\ufe0f")),
    min_size=1,
    max_size=40,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(CLUSTERS, st.data())
def test_promise_4_grapheme_boundaries_are_unicodes(text, data) -> None:
    bounds = [0, *(found.end() for found in regex.finditer(r"\X", text))]
    floor = data.draw(st.sampled_from(bounds))
    at = data.draw(st.integers(floor, len(text)))
    assert grapheme_cut(text, at, floor) == max(bound for bound in bounds if bound <= at)
    ceiling = data.draw(st.integers(at, len(text)))
    following = min((bound for bound in bounds if bound >= at), default=len(text))
    if at < ceiling and not any(c in "0123456789.,_:" for c in text):
        assert forced_start(text, at, floor, ceiling) == min(following, ceiling)


def test_a_grapheme_longer_than_the_chunk_is_cut_between_code_points() -> None:
    assert forced_cut("e" + "\u0301" * 50, 10, 0) == 10


@pytest.mark.parametrize("unit", ["3.14159", "1,234,567", "https://a.b/c?d=1.2", "www.example.org/x", "ftp://h/p.q"])
def test_case_6_forced_cuts_go_round_numbers_and_urls(unit) -> None:
    text = f"中{unit}中"
    for at in range(2, len(unit) + 1):
        assert forced_cut(text, at, 0) == 1
        assert forced_start(text, at, 0, len(text)) == len(unit) + 1
    assert forced_cut(text, 3, 1) == 3  # alone larger than the chunk


def test_a_url_longer_than_any_browser_takes_is_cut_like_the_rest() -> None:
    text = "https://a.b/" + "x" * 5000
    assert forced_cut(text, 4000, 0) == 4000
