"""SPEC S1-S17 and the promises, for all nine segmenters."""

import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged.errors import CapUnenforceable, ConfigError, SegmentFallback, SettingCorrected
from unabridged.text.documents import Document, read_document
from unabridged.text.segmenters import (
    Segmenter,
    SegmentSpec,
    register_segmenter,
    segment_spec,
    segmenters,
    split,
)
from unabridged.text.segmenters.registry import _REGISTERED
from unabridged.text.stats import chunk_stats, trace_summary

NINE = {"fixed", "paragraph", "sentence", "recursive", "structural", "page", "semantic", "contextual", "proposition"}
KEEPING = sorted(NINE - {"proposition"})
REPORT = """# Annual report

A short opening. It says little.

## Summary

Revenue was 45.2 million dollars in 2024, up from 38.7 million. Dr. Ito led the work. Margins rose.

The second paragraph speaks of costs. Costs fell by 3.14 percent, see https://a.b/c?d=1.2 for more.

## Operations

```python
# not a heading
def run():
    return 1
```

| Year | Sum |
|------|-----|
| 2023 | 38.7 |
| 2024 | 45.2 |

- first item
- second item
  - nested item

Outlook
-------

The year ahead looks calm. 明年的前景很好。销售将增长。 Growth goes on.
"""


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return split(*args, **options)


def uncovered(text, chunks):
    at, lost = 0, ""
    for chunk in chunks:
        lost += text[at : chunk.start]
        at = max(at, chunk.end)
    return (lost + text[at:]).strip()


@pytest.fixture
def paged():
    text = "Page one text.\n\nMore of it.\n\nPage two text."
    from unabridged.text.documents.model import blocks_of
    from unabridged.text.markdown import scan

    return Document(text, blocks_of(text, scan(text), pages=[1, 1, 2]), "pdf", "a.pdf", pages=2)


def test_s1_the_registry_lists_nine_with_their_properties():
    rows = {row.name: row for row in segmenters()}
    assert set(rows) >= NINE
    assert rows["semantic"]["cost"] == "embedding"
    assert rows["proposition"].needs_client
    assert rows["contextual"].calls == "segment.context"
    assert rows["fixed"].provenance == ()
    assert all(row.hypothesis for name, row in rows.items() if name in NINE)
    assert "function" not in dict(rows["page"])
    with pytest.raises(KeyError):
        rows["page"]["function"]
    assert len(rows["page"]) == len(list(rows["page"]))


@pytest.mark.parametrize("method", KEEPING)
@pytest.mark.parametrize("sizes", [{}, {"overlap_tokens": 12, "min_tokens": 8}])
def test_promises_1_2_and_s4_hold_for_every_segmenter_that_keeps_the_text(method, sizes):
    chunks = quiet(REPORT, method, max_tokens=40, embedder="lexical", **sizes)
    assert uncovered(REPORT, chunks) == ""
    assert chunk_stats(chunks).over_cap == 0
    assert len(chunks) > 3
    for at, chunk in enumerate(chunks):
        assert chunk.source_text == REPORT[chunk.start : chunk.end]
        assert REPORT.encode()[chunk.start_byte : chunk.end_byte].decode() == chunk.source_text
        assert chunk.text.endswith(chunk.source_text)
        assert chunk.chunk_id == at + 1


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="ab .\n#`|-1中é\u0301😀=>", max_size=400), st.sampled_from(KEEPING), st.integers(0, 31))
def test_any_text_is_covered_and_capped(text, method, overlap):
    chunks = quiet(text, method, max_tokens=32, overlap_tokens=overlap, embedder="lexical")
    assert uncovered(text, chunks) == ""
    assert all(chunk.tokens <= 32 and chunk.source_text == text[chunk.start : chunk.end] for chunk in chunks)


@pytest.mark.parametrize(
    ("given", "corrected", "to"),
    [
        ({"max_tokens": 100, "overlap_tokens": 500}, "overlap_tokens", 99),
        ({"max_tokens": 1}, "max_tokens", 32),
        ({"max_tokens": 2_000_000}, "max_tokens", 1_000_000),
        ({"max_tokens": 64, "min_tokens": 65}, "min_tokens", 64),
        ({"overlap_tokens": -1}, "overlap_tokens", 0),
    ],
)
def test_s2_a_setting_out_of_range_is_corrected_and_said(given, corrected, to):
    with pytest.warns(SettingCorrected, match=rf"`{corrected}` .* is outside \[.*\]; using {to}\."):
        spec = segment_spec("paragraph", **given)
    assert getattr(spec, corrected) == to
    assert len(spec.warnings) == 1


def test_s2_the_correction_is_worded_as_the_source_has_it():
    with pytest.warns(SettingCorrected) as caught:
        segment_spec("paragraph", max_tokens=100, overlap_tokens=500)
    assert str(caught[0].message) == "`overlap_tokens` 500 is outside [0, 99]; using 99."


def test_s2_what_is_no_number_or_not_a_setting_is_refused_by_name():
    with pytest.raises(ConfigError, match="max_tokens: found a str"):
        split("x", max_tokens="many")
    with pytest.raises(ConfigError, match="did you mean 'prefix_section'"):
        split("x", "structural", prefix_sections=True)
    with pytest.raises(ConfigError, match="did you mean 'paragraph'"):
        split("x", "paragraf")
    with pytest.raises(ConfigError, match="known are"):
        split("x", "paragraph", zzz=1)
    with pytest.raises(ConfigError, match="expected a segmenter's name"):
        segment_spec({"method": 3})
    assert segment_spec(max_tokens=64.0).max_tokens == 64


@pytest.fixture
def registered():
    yield
    for name in set(_REGISTERED) - NINE:
        del _REGISTERED[name]


def test_s3_a_users_segmenter_is_held_to_the_cap(registered, paged):
    register_segmenter("whole", lambda document: [(0, len(document.text))], hypothesis="one")
    chunks = split("word " * 400, "whole", max_tokens=50)
    assert chunks.extra["cap_enforced"] == 1
    assert chunk_stats(chunks).max <= 50
    assert uncovered("word " * 400, chunks) == ""
    register_segmenter("texts", lambda document, spec: ["Page one", "two text."])
    assert [(c.start, c.page) for c in split(paged, "texts")] == [(0, 1), (paged.text.index("two"), 2)]
    assert len(split(paged, lambda document: document.text.split("\n\n"))) == 3


@pytest.mark.parametrize("bad", [[(0, 99)], ["not there"], 7, "text"])
def test_s3_a_users_segmenter_that_gives_nonsense_is_told(bad):
    with pytest.raises(ConfigError):
        split("short", lambda document: bad)


def test_s3_one_character_over_the_cap_is_an_error():
    class Dear:
        name = "dear"

        def count(self, text):
            return 50 * len(text)

    for method in ("paragraph", "fixed", "structural"):
        with pytest.raises(CapUnenforceable):
            split("abc", method, max_tokens=40, tokenizer=Dear())


def test_s4_what_is_not_the_same_for_the_whole_chunk_is_none(paged):
    assert [(c.page, c.block_id) for c in split(paged, max_tokens=1200)] == [(None, None)]
    apart = split("# A\n\n" + "one " * 60 + "\n\n# B\n\n" + "two " * 60, "structural", max_tokens=100)
    assert [c.section for c in apart] == ["A", "B"]
    assert all(c.page is None and c.section is None and c.block_id is None for c in split(paged, "fixed"))


def test_s4_overlap_counts_for_the_place():
    text = "# A\n\n" + "First one here. " * 8 + "\n\n# B\n\n" + "Second one there. " * 8
    plain = split(text, "sentence", max_tokens=40)
    lapped = split(text, "sentence", max_tokens=40, overlap_tokens=15)
    assert {c.section for c in plain} >= {"A", "B"}
    for chunk in lapped:
        if "First" in chunk.text and "Second" in chunk.text:
            assert chunk.section is None


def test_s5_overlap_opens_at_a_sentence_and_not_in_page_or_proposition(paged):
    text = "One is here. Two is here. Three is here. Four is here. Five is here. " * 5
    chunks = split(text, "sentence", max_tokens=40, overlap_tokens=12)
    assert all(c.overlap_tokens <= 12 for c in chunks)
    assert any(c.overlap_tokens for c in chunks)
    assert all(text[c.start - 1] == " " and text[c.start].isupper() for c in chunks if c.overlap_tokens > 4)
    assert all(c.overlap_tokens == 0 for c in split(paged, "page", overlap_tokens=20))


def test_s6_a_small_chunk_is_merged_where_it_fits_but_not_by_fixed_or_across_headings():
    same = lambda texts: [[1.0, 0.0] if "tiny" in t else [0.0, 1.0] for t in texts]  # noqa: E731, RUF100
    text = "Some words. Some words. Tiny tiny. Tiny tiny. " + "Some words. " * 4
    plain = split(text, "semantic", embedder=same, semantic_window=1, semantic_percentile=50)
    merged = split(text, "semantic", embedder=same, semantic_window=1, semantic_percentile=50, min_tokens=30)
    assert (len(plain), len(merged)) == (1, 1) or len(merged) < len(plain)
    heads = "# A\n\nx\n\n# B\n\ny"
    assert len(split(heads, "structural", min_tokens=30)) == 2


def test_s7_structural_opens_each_further_chunk_with_its_heading():
    text = "## Methods\n\n" + "We did one thing. " * 60
    chunks = split(text, "structural", max_tokens=60)
    assert len(chunks) > 3
    assert all(c.text.startswith("## Methods\n\n") and c.section == "Methods" for c in chunks)
    assert all(c.source_text == text[c.start : c.end] for c in chunks)
    bare = split(text, "structural", max_tokens=60, prefix_section=False)
    assert all(not c.text.startswith("#") for c in bare[1:])


def test_s7_a_hash_in_a_fence_is_no_heading_also_in_a_four_tick_fence():
    text = "# A\n\n````md\n```\n# not\n```\n# nor this\n````\n\n# B\n\ntext"
    assert [c.section for c in split(text, "structural")] == ["A", "B"]


def test_s7_plain_headings_are_found():
    text = "1. INTRODUCTION\n\nSome words here.\n\n2. METHODS\n\nOther words here.\n\nCONCLUSION\n\nThe end."
    assert [c.section for c in split(text, "structural")] == ["1. INTRODUCTION", "2. METHODS", "CONCLUSION"]


def test_s7_a_table_that_is_cut_repeats_its_header_and_cuts_between_rows():
    rows = "".join(f"| row {n} | {n * 7} |\n" for n in range(60))
    text = f"# T\n\n| Name | Value |\n|---|---|\n{rows}"
    chunks = split(text, "structural", max_tokens=80)
    assert len(chunks) > 3
    for chunk in chunks[1:]:
        assert chunk.text.startswith("# T\n\n| Name | Value |\n|---|---|\n| row")
        assert chunk.source_text.startswith("| row")
    assert uncovered(text, chunks) == ""


def test_s7_a_fence_is_whole_while_it_fits():
    code = "```py\n" + "x = 1\n\n" * 10 + "```"
    text = "# A\n\n" + "word " * 60 + "\n\n" + code + "\n\n" + "word " * 60
    chunks = split(text, "structural", max_tokens=90)
    assert any(code in c.text for c in chunks)


def test_s8_a_chunk_a_page_and_a_page_over_the_cap_says_so(paged):
    assert [c.page for c in split(paged, "page")] == [1, 2]
    from unabridged.text.documents.model import blocks_of
    from unabridged.text.markdown import scan

    text = "word " * 200 + "\n\nshort"
    long = Document(text, blocks_of(text, scan(text), pages=[1, 2]), "pdf")
    chunks = split(long, "page", max_tokens=50)
    assert chunks.extra["pages_split"] == 1
    assert any("page: 1 over the cap" in said for said in chunks.warnings)
    assert {c.page for c in chunks} == {1, 2}


@pytest.mark.parametrize(
    ("method", "shown"),
    [("page", "page->paragraph"), ("semantic", "semantic->paragraph"), ("proposition", "proposition->sentence")],
)
def test_s13_a_fallback_shows_and_warns_and_travels(method, shown):
    with pytest.warns(SegmentFallback, match=method):
        chunks = split(REPORT, method, max_tokens=60)
    assert chunks.method == shown == chunk_stats(chunks)["method"]
    assert any(said.startswith(method) for said in chunks.warnings)


def test_s9_own_separators_strongest_first():
    text = "a;b;c|d;e;f|" * 30
    chunks = split(text, "recursive", max_tokens=32, separators=["|", ";"])
    assert all(c.text.endswith("|") for c in chunks)
    with pytest.raises(ConfigError, match="separators"):
        split(text, "recursive", separators="|")
    with pytest.raises(ConfigError, match="separators"):
        split(text, "recursive", separators=[1])


def test_s10_semantic_cuts_where_the_words_change_in_batches():
    cats = "The cat sleeps on the mat. The cat drinks milk. The cat hunts mice. The cat purrs softly. "
    rates = "Interest rates rose again. Banks raised rates. Bond rates fell. Rates drive markets. "
    seen = []

    def embed(texts):
        seen.append(len(texts))
        return [[1.0, 0.0] if "cat" in t else [0.0, 1.0] for t in texts]

    chunks = split(cats * 3 + rates * 3, "semantic", embedder=embed)
    assert [("cat" in c.text, "rates" in c.text) for c in chunks] == [(True, False), (False, True)]
    assert chunks.extra["embedding_source"] == "api"
    assert len(seen) == 1
    assert trace_summary(chunks)["calls"] == 1
    assert split(cats + rates, "semantic", embedder="lexical").extra["embedding_source"] == "lexical"
    assert split(cats + rates, "semantic", embedder="lexical") == split(cats + rates, "semantic", embedder="lexical")
    for bad in ({"semantic_window": 0}, {"semantic_percentile": 101}):
        with pytest.raises(ConfigError):
            split(cats, "semantic", embedder="lexical", **bad)
    with pytest.raises(ConfigError, match="embedder"):
        split(cats, "semantic", embedder="lexcal")


def test_s10_s14_at_the_limit_semantic_falls_back():
    with pytest.warns(SegmentFallback, match="max_calls"):
        chunks = split(REPORT, "semantic", embedder=lambda texts: [[1.0]] * len(texts), max_calls=0)
    assert chunks.method == "semantic->paragraph"


def test_s11_metadata_lines_with_room_held_back():
    document = read_document(REPORT, source="reports/annual.md")
    chunks = split(document, "contextual", max_tokens=80)
    assert chunks.extra["context_source"] == "metadata"
    n = len(chunks)
    for at, chunk in enumerate(chunks, 1):
        assert chunk.text.startswith("[Source: annual.md | ")
        assert f"Part {at} of {n}]\n\n" in chunk.text
        assert chunk.text.endswith(chunk.source_text)
        assert chunk.tokens <= 80
    assert any("Section: Operations" in c.text for c in chunks)


def test_s11_a_model_writes_the_line_and_a_failed_call_leaves_none():
    calls = []

    def llm(messages):
        calls.append(messages[0]["content"])
        if len(calls) == 2:
            raise RuntimeError("down")
        return {"text": "This excerpt is about results. " * 20, "tokens_in": 7, "tokens_out": 3, "cost_usd": 0.5}

    with pytest.warns(SegmentFallback, match="1 of"):
        chunks = split(REPORT, "contextual", max_tokens=120, context_source="llm", llm=llm)
    assert chunks.extra["blurbs_missing"] == 1
    assert chunks.method == "contextual"
    assert chunks[1].text == chunks[1].source_text
    assert chunks[0].text.startswith("[This excerpt is about results.")
    assert all(c.tokens <= 120 for c in chunks)
    assert trace_summary(chunks) == {
        "calls": len(chunks), "tokens_in": 7 * (len(chunks) - 1) + chunks.trace[1]["tokens_in"],
        "tokens_out": 3 * (len(chunks) - 1), "cost_usd": 0.5 * (len(chunks) - 1),
    }  # fmt: skip
    assert "down" not in json.dumps(chunks.trace)


def test_s11_s13_without_a_model_the_name_stays_and_the_source_says_metadata():
    with pytest.warns(SegmentFallback):
        chunks = split(REPORT, "contextual", context_source="llm")
    assert (chunks.method, chunks.extra["context_source"]) == ("contextual", "metadata")
    with pytest.raises(ConfigError, match="context_source"):
        split("x", "contextual", context_source="lmm")


@pytest.mark.parametrize("limit", [{"max_calls": 1}, {"max_cost_usd": 0.4}])
def test_s14_limits_end_the_calls(limit):
    llm = lambda prompt: {"text": "A line.", "cost_usd": 0.5}  # noqa: E731, RUF100
    with pytest.warns(SegmentFallback):
        chunks = split(REPORT, "contextual", max_tokens=80, context_source="llm", llm=llm, **limit)
    assert len(chunks.trace) == 1
    assert chunks.extra["blurbs_missing"] == len(chunks) - 1


def test_s12_statements_are_chunks_and_their_source_the_passage():
    def llm(messages, schema):
        assert "statements" in schema["properties"]
        passage = messages[-1]["content"]
        return json.dumps({"statements": [f"It has {len(passage)} characters.", "And 3 more."]})

    chunks = split(REPORT, "proposition", llm=llm, overlap_tokens=50, proposition_batch_tokens=60)
    assert chunks.extra["batches_kept_as_written"] == 0
    assert len(chunks) == 2 * chunks.extra["batches"] > 2
    assert all(c.source_text == REPORT[c.start : c.end] and c.text not in REPORT for c in chunks)
    assert all(c.overlap_tokens == 0 and c.section is None for c in chunks)
    fewer = split(REPORT, "proposition", llm=llm, min_tokens=20, proposition_batch_tokens=60)
    assert len(fewer) < len(chunks)


def test_s12_a_batch_that_fails_is_kept_as_written():
    def llm(messages, options):
        return "" if "Revenue" in messages[-1]["content"] else '```json\n{"statements": ["Said."]}\n```'

    with pytest.warns(SegmentFallback, match="kept as written"):
        chunks = split(REPORT, "proposition", llm=llm, proposition_batch_tokens=60)
    assert chunks.extra["batches_kept_as_written"] == 1
    assert any("Revenue was 45.2" in c.text for c in chunks)
    assert uncovered(REPORT, chunks) == ""
    with pytest.raises(ConfigError, match="proposition_batch_tokens"):
        split("x", "proposition", llm=llm, proposition_batch_tokens=0)


def test_s12_statements_over_the_cap_are_split_with_their_source():
    chunks = split("Short passage.", "proposition", max_tokens=32, llm=lambda messages: ["word " * 100])
    assert len(chunks) > 2
    assert chunk_stats(chunks).over_cap == 0
    assert all(c.source_text == "Short passage." for c in chunks)


def test_s17_a_name_a_mapping_or_a_spec_and_a_text_document_path_or_bytes(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(REPORT, encoding="utf-8")
    wanted = [c.text for c in split(REPORT, "structural", max_tokens=60)]
    spec = SegmentSpec("structural", 60)
    ways = [
        split(REPORT, {"method": "structural", "max_tokens": 60}),
        split(REPORT, spec),
        split(REPORT, {"method": "structural"}, max_tokens=60),
        split(path, segment_spec(spec, prefix_section=True)),
        split(path.read_bytes(), "structural", max_tokens=60),
        split(read_document(path), "structural", max_tokens=60),
    ]
    assert all([c.text for c in way] == wanted for way in ways)
    assert split(str(path)).chunks[0].text == str(path)  # a str is a text, never a file
    assert len(split(" \n ")) == 0
    with pytest.raises(ValueError, match="expected a text"):
        split(3)
    with pytest.raises(ConfigError, match="function"):
        register_segmenter("nothing")
    assert isinstance(segmenters()[0], Segmenter)


def test_l11_overlap_that_follows_the_text_is_wider_at_weak_boundaries():
    strong = "\n\n".join("word new%d " % n * 10 for n in range(12))  # noqa: UP031
    weak = "word " * 300
    for text in (strong, weak, REPORT * 3):
        chunks = split(text, max_tokens=60, overlap_tokens=20, adaptive_overlap=True)
        assert all(c.tokens <= 60 and c.overlap_tokens <= 20 for c in chunks)
        assert uncovered(text, chunks) == ""
    assert max(c.overlap_tokens for c in split(strong, max_tokens=60, overlap_tokens=20, adaptive_overlap=True)) <= 6
    dense = " ".join(f"w{n}" for n in range(600))
    assert max(c.overlap_tokens for c in split(dense, max_tokens=60, overlap_tokens=20, adaptive_overlap=True)) > 10


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_promise_2_with_exact_tokenizers(encoding):
    quicktok = pytest.importorskip("quicktok")
    exact = quicktok.get_encoding(encoding)
    text = (REPORT + "日本語の文章です。とても長い。" * 20) * 3
    for method in KEEPING:
        chunks = quiet(text, method, max_tokens=50, overlap_tokens=10, tokenizer=encoding, embedder="lexical")
        assert all(c.tokens <= 50 for c in chunks), method
        assert max(len(exact.encode(c.text)) for c in chunks) <= 50, method
        assert uncovered(text, chunks) == ""
