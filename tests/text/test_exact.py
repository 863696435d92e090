"""Exact tokenizers: what a slice costs is told from the whole text's tokens, and is the truth."""

from __future__ import annotations

import random

import pytest

from unabridged.text.packing import cut
from unabridged.text.tokens import as_tokenizer

FRAGMENTS = [
    "word", "It's", " we'll", "\n", "\n\n", " ", "  ", "\t", "3.14", "é", "中文", "…", "foo_bar", "!!", "\r\n", "a", "A",
    " \n ", "'s", "don't", "/", "\u00a0", "🙂", "The end. ", "\n   indented", "x.\n\n\n  y",
]  # fmt: skip


def slices(text: str, rng: random.Random) -> list[tuple[int, int]]:
    made = []
    for _ in range(30):
        start = rng.randrange(len(text) - 1)
        end = rng.randrange(start + 1, len(text) + 1)
        if rng.random() < 0.6:  # as cuts are: after a space or a line
            mark = rng.choice(" \n")
            start = text.rfind(mark, 0, start) + 1
            end = max(start + 1, text.rfind(mark, start, end) + 1)
        made.append((start, end))
    return made


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "llama3", "qwen3"])
def test_what_a_slice_costs_is_what_the_tokenizer_counts(name: str) -> None:
    pytest.importorskip("quicktok", reason="the extra 'tokenizers'")
    rng, told = random.Random(7), 0
    measure = as_tokenizer(name)
    for _ in range(60):
        text = "".join(rng.choice(FRAGMENTS) for _ in range(120))
        costs = measure.measure(text)
        for start, end in slices(text, rng):
            truth = measure.count(text[start:end])
            assert costs.between(start, end) == truth, (text[start - 3 : start], text[start:end], text[end : end + 9])
            if costs.is_sure(start, end):
                told += 1
                assert costs.at(end) - costs.at(start) == truth
    assert told > 50


def test_a_cut_after_spaces_counts_edges_only() -> None:
    pytest.importorskip("quicktok", reason="the extra 'tokenizers'")
    measure = as_tokenizer("cl100k_base")
    text = "Storms seldom reach the harbour, but when they do, every boat is tied twice. " * 400
    costs = measure.measure(text)
    asked: list[str] = []
    object.__setattr__(costs, "recount", lambda piece: asked.append(piece) or measure.count(piece))
    spans = cut(text, max_tokens=100, tokenizer=measure)
    for span in spans:
        assert costs.between(span.start, span.end) == measure.count(text[span.start : span.end])
    assert sum(map(len, asked)) < len(text) / 8
