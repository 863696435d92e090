"""Markdown's blocks against a CommonMark parser; sections, overlap, stats, plot, compare."""

import xml.etree.ElementTree as ET
from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from unabridged.errors import ConfigError
from unabridged.text.compare import compare, rank_chunks
from unabridged.text.lexical import lexical_vectors
from unabridged.text.markdown import Mark, heading_text, scan
from unabridged.text.overlap import boundary_weakness
from unabridged.text.plot import plot_chunks
from unabridged.text.sections import group_chunks
from unabridged.text.segmenters import split
from unabridged.text.stats import chunk_stats, table, trace_summary

KINDS = {"heading_open": "heading", "fence": "code", "table_open": "table", "hr": "rule"}


def parsed(text):
    """What markdown-it-py makes of the outermost headings, fences, tables and rules: kind, line, level."""
    parser = MarkdownIt("commonmark").enable("table")
    return [
        (KINDS[token.type], token.map[0], int(token.tag[1]) if token.type == "heading_open" else 0)
        for token in parser.parse(text)
        if token.level == 0 and token.type in KINDS
    ]


def scanned(text):
    feeds = [at for at, mark in enumerate(text) if mark == "\n"]
    return [
        (mark.kind, bisect_left(feeds, mark.start), mark.level)
        for mark in scan(text)
        if mark.kind in KINDS.values() and not text[mark.start : mark.end].lstrip().startswith("<")
    ]


LINES = st.sampled_from(
    ["text", "# one", "## two ##", "#no", "```", "````", "~~~ py", "- item", "  more", "    deep", "1. first", "> quote",
     "", "", "a | b", "| x | y |", "|---|---|", "word goes on", "===", "   # three", "* * *", "\ttab"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=9))
def test_blocks_are_those_of_a_commonmark_parser(lines):
    text = "word\n\n" + "\n".join(lines) + "\n"
    assert scanned(text) == parsed(text)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="a \t\n#`~->|=1.<é", max_size=120))
def test_blocks_cover_the_text_in_order(text):
    at = 0
    for mark in scan(text):
        assert mark.start >= at
        assert not text[at : mark.start].strip()
        assert mark.end > mark.start
        at = mark.end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "unit", ["- ", "> ", "|", "`", "1) ", "a|b\n-|-\n", "- a\n", "=\n", "<a ", "\n", "* * * ", "a\n|\n"]
)
def test_scanning_is_linear(unit):
    import time

    def seconds(size):
        start = time.process_time()
        scan(unit * (size // len(unit)))
        return time.process_time() - start

    seconds(10_000)
    assert seconds(400_000) < 0.1 + 30 * max(seconds(40_000), 0.002)


def test_front_matter_bom_and_html_headings():
    text = "\ufeff---\ntitle: x\n---\n<h1 align=center>Name</h1>\n\nbody\n"
    assert [(m.kind, m.level) for m in scan(text)] == [("front_matter", 0), ("heading", 1), ("paragraph", 0)]
    assert [m.kind for m in scan("\ufeff# Title\n")] == ["heading"]
    assert heading_text("<h2>A <b>b</b></h2>", Mark("heading", 0, 19, 2)) == "A b"
    assert heading_text("====\nTop [x](y)\n====", Mark("heading", 0, 20, 1)) == "Top x"


def test_l11_chunks_are_grouped_into_sections_with_weights():
    text = "intro\n\n# A\n\n" + "one " * 30 + "\n\n# B\n\n" + "two " * 30
    chunks = split(text, max_tokens=40, overlap_tokens=8)
    sections = group_chunks(text, chunks.chunks)
    assert [s.title for s in sections] == [None, "A", "B"]
    assert sum(s.weight for s in sections) == len(text)
    assert {at for s in sections for at in s.members} == set(range(len(chunks)))
    plain = "word " * 2000
    many = split(plain, max_tokens=40).chunks
    groups = group_chunks(plain, many)
    assert len(groups) ** 2 == pytest.approx(len(many), rel=0.3)
    assert group_chunks("x", ()) == ()


def test_l11_weakness_grows_from_heading_to_word():
    text = "One.\n\n# Two\n\nthree four"
    values = [boundary_weakness(text, text.index(x)) for x in ("# Two", "three", "four", "our")]
    assert values == sorted(values)
    assert boundary_weakness(text, 0) == 0


def test_s14_stats_and_table_and_trace():
    chunks = split("One. Two. " * 100, "sentence", max_tokens=32)
    row = chunk_stats(chunks)
    assert dict(row)["n"] == len(chunks) == row["n"]
    assert row.total_tokens == sum(c.tokens for c in chunks)
    assert row.min <= row.median <= row.max <= 32
    assert len(row) == 8
    with pytest.raises(KeyError):
        row["none"]
    assert table([row]).splitlines()[0].split() == list(row)
    assert table([]) == ""
    assert chunk_stats(split("")).n == 0
    assert trace_summary(chunks) == {"calls": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": None}


def test_s14_the_plot_is_valid_svg_with_a_bar_a_chunk_and_no_text_of_the_document():
    text = "secret words here. " * 60
    sets = {m: split(text, m, max_tokens=40) for m in ("fixed", "paragraph")}
    picture = plot_chunks(sets, title="a <b> & c")
    root = ET.fromstring(picture)  # noqa: RUF100, S314
    bars = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert len(bars) == sum(map(len, sets.values()))
    assert "secret" not in picture
    ET.fromstring(plot_chunks({}))  # noqa: RUF100, S314


def test_s15_compare_reads_once_and_shares_segmentations():
    text = "Revenue rose by 17 percent.\n\nCosts fell.\n\nThe office moved to Lisbon in May."
    asked = []

    def llm(prompt):
        asked.append(prompt)
        return "It rose [1]."

    calls = []

    def whole(document):
        calls.append(1)
        return [(0, len(document.text))]

    from unabridged.text.segmenters import register_segmenter
    from unabridged.text.segmenters.registry import _REGISTERED

    register_segmenter("whole", whole)
    try:
        rows = compare(
            text,
            "Where did the office move?",
            [
                {"name": "a", "segment": "whole"},
                {"name": "b", "segment": {"method": "whole"}, "read": {"reader": "all"}},
                {"name": "c", "segment": {"method": "sentence", "max_tokens": 32}, "read": {"top_k": 1}},
            ],
            llm=llm,
        )
    finally:
        del _REGISTERED["whole"]
    assert len(calls) == 1
    assert [row["recipe"] for row in rows] == ["a", "b", "c"]
    assert rows[2]["chunks_used"] == 1
    assert rows[0]["answer"] == "It rose [1]."
    assert len(asked) == 3
    with pytest.raises(ConfigError, match="reader"):
        compare(text, "q", {"x": {"segment": "paragraph", "read": {"reader": "none"}}})
    chunks = split(text, lambda document: document.text.split("\n\n"))
    assert rank_chunks(chunks, "the office in Lisbon")[0] == 2
    assert rank_chunks(chunks, "the office in Lisbon", "lexical")[0] == 2
    assert rank_chunks((), "q") == []


def test_lexical_vectors_are_units_and_the_same_every_time():
    one = lexical_vectors(["red apples", ""])
    assert one.shape == (2, 512)
    assert abs(float(one[0] @ one[0]) - 1) < 1e-6
    assert not one[1].any()
    assert (one == lexical_vectors(["red apples", ""])).all()
