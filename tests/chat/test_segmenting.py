"""An asker as the llm of a segmenter (SPEC S11, S12, S14): the same policy, and an account of what it cost."""

import pytest

from unabridged.testing import ChatRule, ChatServer, Trouble
from unabridged.text.segmenters import split
from unabridged.text.stats import trace_summary

TEXT = "Alice works at Acme. She likes it."
STATEMENTS = {"statements": ["Alice works at Acme.", "Alice likes working at Acme."]}


@pytest.mark.parametrize("shape", ["plain", "think", "fence", "array", "tool_text"])
def test_s12_an_asker_reads_what_the_plain_function_could_not_and_counts_its_cost(ask_at, shape):
    with ChatServer([ChatRule(answer=STATEMENTS)], shape=shape, schema=False, troubles=[Trouble(status=503)]) as server:
        asker = ask_at(server, chat={"prices": (1e6, 0.0)}, cache=True)
        chunks = split(TEXT, "proposition", llm=asker)
        assert [chunk.text for chunk in chunks] == STATEMENTS["statements"]
        assert {chunk.source_text for chunk in chunks} == {TEXT}
        first = trace_summary(chunks)
        assert (first["calls"], first["cost_usd"]) == (1, first["tokens_in"])
        sent = server.total
        again = split(TEXT, "proposition", llm=asker)
        assert (server.total, trace_summary(again)["cost_usd"]) == (sent, 0.0)


def test_s11_a_context_line_by_an_asker_with_the_stages_own_model(ask_at):
    with ChatServer([ChatRule(answer="<think>Hm.</think>About Alice's work.")]) as server:
        asker = ask_at(server, models={"segment": "small"})
        (chunk,) = split(TEXT, "contextual", llm=asker, context_source="llm")
    assert chunk.text == f"[About Alice's work.]\n\n{TEXT}"
    assert server.requests[0].model == "small"


def test_s12_a_batch_that_cannot_be_read_is_kept_as_written_and_its_calls_are_counted(ask_at):
    with ChatServer([ChatRule(answer="No.")]) as server, pytest.warns(UserWarning, match="kept as written"):
        chunks = split(TEXT, "proposition", llm=ask_at(server, chat={"prices": (1e6, 1e6)}))
    (row,) = chunks.trace
    assert (row["ok"], row["cost_usd"]) == (False, row["tokens_in"] + row["tokens_out"])
    assert row["tokens_out"] == 4  # "No." twice
    assert (chunks.extra["batches_kept_as_written"], server.total) == (1, 2)
    assert "".join(chunk.source_text for chunk in chunks).split() == TEXT.split()
