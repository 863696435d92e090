"""L1–L9, promises 3 and 5–8, and the cases of long texts and providers, on a server in this process."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2

import numpy as np
import pytest
from servers import Server, covered, holds, refuse

from unabridged import Chunking, Embedder, Limit
from unabridged.embedding.pieces import Call
from unabridged.embedding.results import Progress
from unabridged.errors import (
    BudgetExhausted,
    ConfigError,
    EmbeddingFailed,
    EmptyText,
    InputError,
    ModelMismatch,
    ProviderError,
    ProviderTimeout,
)
from unabridged.types import Request

WORDS = "storms seldom reach the harbour but when they do every boat is tied twice over. "


def prose(tokens: int, seed: int = 0) -> str:
    """About so many tokens, no two sentences alike."""
    rng = np.random.default_rng(seed)
    words = WORDS.split()
    made, left = [], tokens
    while left > 0:
        sentence = " ".join(rng.choice(words) + str(rng.integers(1000)) for _ in range(8)) + "."
        made.append(sentence.capitalize())
        left -= 25
    return " ".join(made)


def embedder(server: Server, **options) -> Embedder:
    options.setdefault("cache", False)
    return Embedder(server, **options)


# -- L1–L7: long texts ----------------------------------------------------------------------------


def test_L1_L2_a_long_text_is_cut_before_it_is_sent_and_nothing_is_lost() -> None:
    server = Server()
    text = prose(5000)
    result = embedder(server).embed_detailed(text)
    one = result[0]
    assert one.status == "chunked"
    assert not server.refused
    assert covered(one.spans, text)
    assert all(server.tokenizer.count(sent) <= 512 for sent in server.sent)
    assert [chunk.text for chunk in one.chunks] == server.sent
    assert np.linalg.norm(one.vector) == pytest.approx(1, abs=1e-5)


def test_L3_the_plan_comes_from_the_limit() -> None:
    plan = embedder(Server(limit=Limit(input_tokens=8192))).cutting
    assert (plan.max_size, plan.overlap, plan.minimum) == (5734, 409, 819)
    plan = embedder(Server(limit=Limit(input_tokens=2048))).cutting
    assert (plan.max_size, plan.overlap, plan.minimum) == (1433, 102, 204)


def test_L4_the_vector_is_the_mean_weighted_by_unique_tokens() -> None:
    server = Server()
    one = embedder(server).embed_detailed(prose(3000), chunk_vectors=True)[0]
    weights = np.array([chunk.tokens - chunk.overlap_tokens for chunk in one.chunks], float)
    mean = weights @ one.chunk_vectors.astype(np.float64)
    assert np.allclose(one.vector, mean / np.linalg.norm(mean), atol=1e-6)
    plain = embedder(server, pooling="mean").embed(prose(3000))
    flat = one.chunk_vectors.astype(np.float64).mean(axis=0)
    assert np.allclose(plain, flat / np.linalg.norm(flat), atol=1e-6)


def test_case_11_overlap_does_not_count_twice() -> None:
    text = prose(4000)
    server = Server()
    cut = embedder(server, chunking=Chunking(max_tokens=400, overlap_tokens=80)).embed_detailed(
        text, chunk_vectors=True
    )[0]
    unique, before = [], 0
    for chunk in cut.chunks:
        unique.append(server.tokenizer.count(text[max(before, chunk.start) : chunk.end]))
        before = chunk.end
    exact = np.array(unique, float) @ cut.chunk_vectors.astype(np.float64)
    cosine = float(cut.vector @ exact / np.linalg.norm(exact))
    assert cosine > 0.9999
    assert sum(chunk.overlap_tokens for chunk in cut.chunks) > 0


def test_L5_the_second_request_sends_nothing(tmp_path) -> None:
    server, text = Server(), prose(3000)
    with embedder(server, cache=tmp_path) as first:
        fresh = first.embed_detailed(text)[0]
    sent = len(server.requests)
    with embedder(server, cache=tmp_path) as second:
        cached = second.embed_detailed(text)[0]
    assert len(server.requests) == sent
    assert cached.cached
    assert not fresh.cached
    assert cached.vector.tobytes() == fresh.vector.tobytes()
    assert (cached.status, cached.tokens, cached.dispersion) == (fresh.status, fresh.tokens, fresh.dispersion)
    assert cached.chunks == fresh.chunks


def test_L5_a_text_cut_after_a_refusal_is_cached_as_well(tmp_path) -> None:
    server, text = Server(announced=False), prose(3000)
    with embedder(server, cache=tmp_path) as one:
        fresh = one.embed(text)
        sent = len(server.requests)
        assert one.embed(text).tobytes() == fresh.tobytes()
    with embedder(server, cache=tmp_path) as other:
        assert other.embed(text).tobytes() == fresh.tobytes()
    assert len(server.requests) == sent


def test_L6_chunking_off_gives_the_providers_own_error() -> None:
    server = Server()
    with pytest.raises(ProviderError) as caught:
        embedder(server, chunking=False).embed(prose(3000))
    assert caught.value.fault.kind == "input_overflow"
    assert len(server.requests) == 1


def test_L6_an_explicit_size_below_the_limit_triggers_there() -> None:
    server = Server()
    one = embedder(server, chunking=Chunking(max_tokens=100)).embed_detailed(prose(300))[0]
    assert one.status == "chunked"
    assert max(chunk.tokens for chunk in one.chunks) <= 100


def test_L6_characters_hold_beside_the_models_tokens() -> None:
    server = Server(limit=Limit(input_tokens=100, request_inputs=64))
    text = prose(900)
    one = embedder(server, chunking=Chunking(max_tokens=2000, overlap_tokens=500, unit="chars")).embed_detailed(text)[0]
    assert not server.refused
    assert covered(one.spans, text)
    assert all(chunk.end - chunk.start <= 2000 and chunk.tokens <= 100 for chunk in one.chunks)


def test_L6_characters_as_the_unit() -> None:
    server = Server()
    one = embedder(server, chunking=Chunking(max_tokens=300, overlap_tokens=50, unit="chars")).embed_detailed(
        prose(500)
    )[0]
    assert all(chunk.end - chunk.start <= 300 for chunk in one.chunks)
    assert len(one.chunks) > 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"max_tokens": 500, "overlap_tokens": 600},
            r"overlap_tokens: found 600, expected less than max_tokens \(500\)",
        ),
        (
            {"max_tokens": 500, "min_tokens": 501},
            r"min_tokens: found 501, expected at most max_tokens \(500\)",
        ),
        ({"max_tokens": -1}, "max_tokens: found -1, expected a whole number of at least 1"),
        ({"max_lines": 0}, "max_lines: found 0"),
        ({"overlap_tokens": 1.5}, "overlap_tokens: found 1.5"),
        ({"unit": "words"}, "unit: found 'words', expected tokens or chars"),
    ],
)
def test_case_4_contradictions_are_refused_when_configured(settings, message) -> None:
    with pytest.raises(ConfigError, match=message):
        Chunking(**settings)


def test_case_4_an_overlap_of_nearly_the_whole_chunk_works() -> None:
    server, text = Server(limit=Limit(input_tokens=4000)), prose(6000)
    one = embedder(server, chunking=Chunking(max_tokens=2000, overlap_tokens=1900)).embed_detailed(text)[0]
    assert covered(one.spans, text)


def test_overlap_over_the_planned_size_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="overlap_tokens: found 400, expected less than max_tokens"):
        embedder(Server(), chunking=Chunking(overlap_tokens=400))


def test_L7_in_a_batch_only_the_long_ones_are_cut() -> None:
    server = Server()
    result = embedder(server).embed_detailed(["short", prose(2000), "also short"])
    assert [text.status for text in result] == ["ok", "chunked", "ok"]
    assert result[0].vector.tobytes() == server.truth("short").tobytes()
    assert result.vectors.shape == (3, 256)


def test_promise_3_a_text_that_fits_is_untouched() -> None:
    server = Server()
    text = "  A text  that fits,\r\n as it is.\x00 "
    vector = embedder(server).embed(text)
    assert server.sent == [text]
    assert vector.tobytes() == server.truth(text).tobytes()


# -- L8: edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", ["", "  \n\t ", "\u3000"])
def test_L8_a_blank_text_alone_is_an_empty_result_at_once(blank) -> None:
    server = Server()
    made = embedder(server)
    assert made.embed(blank).shape == (0,)
    assert made.embed_detailed(blank)[0].status == "empty"
    assert not server.requests


def test_L8_case_17_a_blank_text_in_a_batch_is_named_and_the_others_are_kept() -> None:
    server = Server()
    with pytest.raises(EmptyText, match="text 1 is empty or blank") as caught:
        embedder(server).embed(["hello world", "", "hi"])
    assert caught.value.indices == (1,)
    assert [text.status for text in caught.value.result] == ["ok", "failed", "ok"]
    assert caught.value.result[2].vector.tobytes() == server.truth("hi").tobytes()
    assert "" not in server.sent
    skipped = embedder(server, empty="skip").embed_detailed(["hello world", "", "hi"])
    assert [text.status for text in skipped] == ["ok", "skipped", "ok"]
    assert skipped.vectors.shape == (2, 256)
    zero = embedder(server, empty="zero").embed(["hello world", "", "hi"])
    assert zero.shape == (3, 256)
    assert not zero[1].any()


def test_no_texts_at_all() -> None:
    made = embedder(Server())
    assert made.embed([]).shape == (0, 256) or made.embed([]).shape == (0, 0)
    assert len(made.embed_detailed([])) == 0


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "found NoneType, expected a text or several"),
        (["a", None], "text 1: found NoneType, expected str"),
        ([b"a"], "text 0: found bytes"),
        (b"abc", "found bytes, expected a text or several"),
        (7, "found int"),
    ],
)
def test_what_is_not_text_is_named(texts, message) -> None:
    with pytest.raises(InputError, match=message):
        embedder(Server()).embed(texts)


def test_generators_arrays_and_tuples_are_texts_too() -> None:
    made, server = embedder(Server()), Server()
    expected = np.stack([server.truth("a"), server.truth("b")])
    for texts in (("a", "b"), (t for t in "ab"), np.array(["a", "b"]), {"a": 1, "b": 2}.keys()):
        assert made.embed(texts).tobytes() == expected.tobytes()


def test_L8_one_piece_that_cannot_be_cut_goes_as_it_is() -> None:
    server = Server(limit=Limit(input_bytes=2, input_tokens=32))
    with pytest.raises(EmbeddingFailed) as caught:
        embedder(server).embed(["ok", "\U0001f9d1"])
    assert caught.value.result[1].error.fault.kind == "input_overflow"


def test_lone_surrogates_and_nul_are_texts() -> None:
    server = Server()
    text = ("\ud800\x00 word " * 600).strip()
    one = embedder(server).embed_detailed(text)[0]
    assert covered(one.spans, text)


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [True, False])
def test_case_14_case_15_the_real_limit_is_learned(numbers) -> None:
    server = Server(announced=False, numbers=numbers)
    made = embedder(server, limit=Limit(input_tokens=8192))
    text = prose(5500)
    one = made.embed_detailed(text)[0]
    assert covered(one.spans, text)
    assert len(server.refused) == 1 if numbers else len(server.refused) <= 2
    assert made.limit.input_tokens == 512
    before = len(server.refused)
    assert made.embed_detailed(prose(5500, seed=1))[0].status == "chunked"
    assert len(server.refused) == before


def test_case_3_chinese_without_numbers_ends_within_twice_an_exact_plan() -> None:
    text = "".join(chr(0x4E00 + (i * 37) % 5000) + ("。" if i % 23 == 22 else "") for i in range(4600))
    exact = Server(limit=Limit(input_tokens=2048))
    embedder(exact).embed(text)
    server = Server(limit=Limit(input_tokens=2048), announced=False, numbers=False)
    one = embedder(server).embed_detailed(text)[0]
    assert covered(one.spans, text)
    assert len(server.requests) <= 2 * len(exact.requests)
    assert len(set(server.sent)) == len(server.sent)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("at", [0, 57, 99])
def test_case_18_one_text_of_a_hundred_is_over(indexed, numbers, at) -> None:
    server = Server(limit=Limit(input_tokens=512), announced=False, indexed=indexed, numbers=numbers)
    texts = [f"text number {i}" for i in range(100)]
    texts[at] = prose(1500)
    ideal = Server(limit=Limit(input_tokens=512, request_inputs=100))
    embedder(ideal).embed(texts)
    made = embedder(server, limit=Limit(input_tokens=8192, request_inputs=100))
    result = made.embed_detailed(texts)
    assert [text.status for text in result] == ["chunked" if i == at else "ok" for i in range(100)]
    assert len(server.requests) - len(ideal.requests) <= ceil(log2(100)) + 2
    assert all(result[i].vector.tobytes() == server.truth(texts[i]).tobytes() for i in range(100) if i != at)


def test_case_18_alike_texts_and_no_index() -> None:
    """The offender does not stand out by its size: it is found by halving."""
    poison = refuse("input_overflow", scope="input", unit="tokens", when=holds("poison"))
    server = Server(rules=[poison], limit=Limit(input_tokens=512, request_inputs=100))
    texts = [f"text number {i}" for i in range(99)] + ["poison number 99"]
    result = embedder(server, on_error="report").embed_detailed(texts)
    assert [text.status for text in result[:99]] == ["ok"] * 99
    assert result[99].status == "failed"
    assert len(server.requests) <= 1 + ceil(log2(100)) + 2


def test_case_16_requests_are_packed_under_the_cap_before_sending() -> None:
    server = Server(limit=Limit(input_tokens=8192, request_inputs=2048, request_tokens=30_000))
    texts = [prose(700, seed=i) for i in range(100)]
    result = embedder(server).embed_detailed(texts)
    assert not server.refused
    assert {text.status for text in result} == {"ok"}
    assert all(sum(map(server.tokenizer.count, r.texts)) <= 30_000 for r in server.requests)
    assert len(server.requests) <= 8


@pytest.mark.parametrize("numbers", [True, False])
def test_a_request_over_a_cap_nobody_stated_is_split_and_the_cap_learned(numbers) -> None:
    limit = Limit(input_tokens=512, request_inputs=10, request_tokens=300)
    server = Server(limit=limit, announced=False, numbers=numbers)
    made = embedder(server, limit=Limit(input_tokens=512))
    texts = [prose(60, seed=i) for i in range(60)]
    result = made.embed_detailed(texts)
    assert {text.status for text in result} == {"ok"}
    refused = len(server.refused)
    made.embed([prose(60, seed=i) for i in range(100, 160)])
    assert len(server.refused) == refused


def test_case_12_quota_is_never_answered_by_cutting() -> None:
    server = Server(rules=[refuse("quota")], announced=False)
    with pytest.raises(ProviderError) as caught:
        embedder(server).embed(prose(3000))
    assert caught.value.fault.kind == "quota"
    assert len(server.requests) == 1


def test_case_13_a_time_out_is_sent_again_as_it_was() -> None:
    server = Server(rules=[refuse("timeout", times=2)])
    text = prose(300)
    assert embedder(server).embed(text).tobytes() == server.truth(text).tobytes()
    assert server.sent == [text] * 3


def test_case_26_a_wrong_model_stops_everything_at_once() -> None:
    server = Server(rules=[refuse("model_not_found")], latency=0.01, limit=Limit(input_tokens=512, request_inputs=10))
    with pytest.raises(ProviderError) as caught:
        embedder(server, concurrency=2).embed([f"text {i}" for i in range(7077)])
    assert caught.value.fault.kind == "model_not_found"
    assert len(server.requests) <= 4


def test_promise_6_one_bad_text_hurts_only_itself() -> None:
    server = Server(rules=[refuse("bad_request", when=holds("poison"))])
    texts = [f"text {i}" for i in range(50)]
    texts[31] = "poison"
    with pytest.raises(EmbeddingFailed, match="1 of 50 texts failed, the first at 31: scripted bad_request") as caught:
        embedder(server).embed(texts)
    result = caught.value.result
    assert [text.index for text in result.failed] == [31]
    assert result.vectors.shape == (49, 256)
    assert isinstance(caught.value.__cause__, ProviderError)


def test_bad_values_are_tried_once_alone() -> None:
    nan = refuse(
        "bad_values",
        when=holds("poison"),
        indices=lambda r: tuple(i for i, t in enumerate(r.texts) if "poison" in t),
    )
    server = Server(rules=[nan])
    result = embedder(server, on_error="report").embed_detailed(["a", "poison", "b"])
    assert [text.status for text in result] == ["ok", "failed", "ok"]
    assert server.sent.count("poison") <= 3
    passing = Server(rules=[refuse("bad_values", when=holds("poison"), times=1)])
    assert embedder(passing).embed(["a", "poison"]).shape == (2, 256)


def test_a_named_fault_inside_a_search_loses_no_text() -> None:
    """A search for one bad text meets another that is named: what the search had set aside still goes out."""
    nan = refuse(
        "bad_values",
        when=holds("hollow"),
        times=1,
        indices=lambda r: tuple(i for i, t in enumerate(r.texts) if "hollow" in t),
    )
    server = Server(rules=[refuse("bad_request", when=holds("poison")), nan])
    texts = [f"text {i}" for i in range(40)]
    texts[2], texts[33] = "hollow", "poison"
    result = embedder(server, on_error="report").embed_detailed(texts)
    assert [text.index for text in result.failed] == [33]


def test_a_request_that_is_bad_as_such_ends_after_two_texts() -> None:
    server = Server(rules=[refuse("bad_request")])
    with pytest.raises(ProviderError):
        embedder(server).embed([f"text {i}" for i in range(64)])
    assert len(server.requests) <= 20


def test_a_probe_that_has_to_wait_ends_nothing() -> None:
    slow = refuse("overloaded", when=holds("probe"), times=2, retry_after=0.01)
    server = Server(rules=[slow, refuse("bad_request", when=holds("bad"))])
    result = embedder(server, on_error="report").embed_detailed(["bad one", "bad two", "good"])
    assert [text.status for text in result] == ["failed", "failed", "ok"]


def test_promise_5_no_request_that_failed_for_good_is_sent_twice() -> None:
    server = Server(rules=[refuse("input_overflow", scope="input", unit="tokens")])
    with pytest.raises(ProviderError):
        embedder(server).embed(prose(5000))
    assert len({request.texts for request in server.requests}) == len(server.requests)
    assert len(server.requests) < 60


def test_promise_5_a_budget_ends_the_worst_case() -> None:
    limits = iter(range(400, 30, -3))
    shrinking = lambda server, request: ProviderError("no", refuse_fault(next(limits)))
    from unabridged.types import Fault

    def refuse_fault(limit: int) -> Fault:
        return Fault("input_overflow", "input", limit=limit, unit="tokens")

    server = Server(rules=[shrinking])
    with pytest.raises(
        BudgetExhausted,
        match=r"text 0: 11 refusals, more than the budget of 10; limit in force: \d+ tokens; sizes tried: \d+, ",
    ):
        embedder(server, max_requests_per_text=10, concurrency=1).embed(prose(2000))


def test_promise_5_errors_without_end_are_given_up() -> None:
    server = Server(rules=[refuse("upstream_error")])
    with pytest.raises(ProviderError) as caught:
        embedder(server).embed("text")
    assert caught.value.fault.kind == "upstream_error"
    assert 2 <= len(server.requests) <= 8


def test_truncating_is_said_and_nothing_else_is_lost() -> None:
    server, text = Server(), prose(3000)
    one = embedder(server, on_overflow="truncate").embed_detailed(text)[0]
    assert one.status == "truncated"
    assert len(server.sent) == 1
    assert text.startswith(server.sent[0])
    assert f"cut off at character {len(server.sent[0])} of {len(text)}" in one.warnings[0]
    late = Server(announced=False)
    one = embedder(late, on_overflow="truncate").embed_detailed(text)[0]
    assert one.status == "truncated"
    assert len(late.refused) == 1


def test_no_number_of_a_fault_is_believed_against_what_went_through() -> None:
    absurd = refuse("input_overflow", scope="input", unit="tokens", limit=3, actual=9, times=1, when=holds("odd"))
    server = Server(rules=[absurd])
    made = embedder(server)
    made.embed(prose(400))
    made.embed_detailed(["odd " * 100])
    assert (made.limit.input_tokens or 512) >= 32


# -- keys and fallbacks ---------------------------------------------------------------------------


def test_case_24_a_revoked_key_is_taken_out_after_its_first_refusal() -> None:
    keys = [Server(), Server(rules=[refuse("auth", status=401)]), Server()]
    made = embedder(keys, concurrency=2)
    for i in range(9):
        made.embed(f"text {i}")
    assert len(keys[1].requests) == 1
    assert len(keys[0].requests) >= 3
    assert len(keys[2].requests) >= 3


def test_quota_fails_over_to_another_host_of_the_same_model() -> None:
    first, second = Server(rules=[refuse("quota")]), Server(host="other")
    made = embedder([first, second])
    text = prose(3000)
    assert made.embed_detailed(text)[0].status == "chunked"
    made.embed("more")
    assert len(first.requests) == 1


def test_a_broken_host_is_left_for_the_next() -> None:
    first, second = Server(rules=[refuse("upstream_error", retry_after=0.0)]), Server(host="other")
    assert embedder([first, second]).embed("text").shape == (256,)
    assert second.requests


def test_when_all_keys_are_out_the_reason_is_the_first_ones() -> None:
    keys = [Server(rules=[refuse("auth")]), Server(rules=[refuse("auth")])]
    with pytest.raises(ProviderError) as caught:
        embedder(keys).embed(["a", "b"])
    assert caught.value.fault.kind == "auth"


def test_fallbacks_of_another_model_are_refused() -> None:
    with pytest.raises(ModelMismatch, match="fallbacks must serve the same model, found a, b"):
        embedder([Server(model="a"), Server(model="b")])


# -- cache and flights ----------------------------------------------------------------------------


def test_case_29_order_and_usage_with_some_cached(tmp_path) -> None:
    server = Server()
    with embedder(server, cache=tmp_path) as made:
        made.embed("a")
        result = made.embed_detailed(["b", "a", "c"])
    assert result.vectors.tobytes() == np.stack([server.truth(t) for t in "bac"]).tobytes()
    assert server.sent == ["a", "b", "c"]
    assert result.usage.cached == 1
    assert result.usage.tokens == 2


def test_case_30_changing_a_result_does_not_change_the_next(tmp_path) -> None:
    server = Server()
    with embedder(server, cache=tmp_path) as made:
        for text in ("short", prose(2000)):
            first = made.embed(text)
            kept = first.copy()
            first[:] = 0
            assert made.embed(text).tobytes() == kept.tobytes()
        twice = made.embed(["x", "x"])
        twice[0, :] = 0
        assert twice[1].any()


def test_case_31_fifty_threads_one_request(tmp_path) -> None:
    server = Server(latency=0.2)
    with embedder(server, cache=tmp_path) as made, ThreadPoolExecutor(50) as pool:
        barrier = threading.Barrier(50)

        def ask() -> bytes:
            barrier.wait()
            return made.embed("one new text").tobytes()

        answers = set(pool.map(lambda _: ask(), range(50)))
    assert len(answers) == 1
    assert len(server.requests) == 1


async def test_case_31_fifty_tasks_one_request() -> None:
    server = Server(latency=0.5)
    made = embedder(server)
    answers = await asyncio.gather(*(made.aembed(["one", "and", "two"]) for _ in range(50)))
    assert len({a.tobytes() for a in answers}) == 1
    assert len(server.requests) == 1


def test_one_flight_fails_and_each_caller_hears_of_it() -> None:
    server = Server(latency=0.05, rules=[refuse("bad_request")])
    made = embedder(server)
    with ThreadPoolExecutor(5) as pool:
        errors = list(pool.map(lambda _: _error(made), range(5)))
    assert {type(e) for e in errors} == {ProviderError}


def _error(made: Embedder) -> Exception | None:
    try:
        made.embed("text")
    except ProviderError as error:
        return error
    return None


def test_case_33_an_edit_sends_only_the_chunks_that_changed(tmp_path) -> None:
    server = Server(limit=Limit(input_tokens=128, request_inputs=64))
    paragraphs = [prose(75, seed=i) for i in range(200)]
    with embedder(server, cache=tmp_path, chunking=Chunking(overlap_tokens=0)) as made:
        first = made.embed_detailed("\n\n".join(paragraphs))[0]
        assert first.chunk_count >= 150
        before = len(server.sent)
        paragraphs[100] = paragraphs[100].replace("0", "zero", 1)
        second = made.embed_detailed("\n\n".join(paragraphs))[0]
    assert second.status == "chunked"
    assert 1 <= len(server.sent) - before <= 6


def test_equal_texts_of_one_call_are_sent_once() -> None:
    server = Server()
    long = prose(1200)
    result = embedder(server).embed_detailed(["a", long, "a", long, "b"])
    assert len(set(server.sent)) == len(server.sent)
    assert result[0].vector.tobytes() == result[2].vector.tobytes()
    assert (result[3].index, result[3].status) == (3, "chunked")


# -- both drivers ---------------------------------------------------------------------------------


async def test_promise_8_sync_equals_async_equals_cached_equals_any_batching(tmp_path) -> None:
    texts = [prose(n * 37, seed=n) for n in range(1, 40)]
    one = embedder(Server()).embed(texts)
    other = await embedder(Server(limit=Limit(input_tokens=512, request_inputs=3)), concurrency=3).aembed(texts)
    assert np.allclose(one, other, atol=1e-6)
    with embedder(Server(), cache=tmp_path) as made:
        assert np.allclose(one, made.embed(texts), atol=1e-6)
        assert np.allclose(one, await made.aembed(texts), atol=1e-6)
    singly = embedder(Server())
    assert np.allclose(one, np.stack([singly.embed(text) for text in texts]), atol=1e-6)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_case_23_never_more_in_flight_than_configured(concurrency) -> None:
    server = Server(latency=0.005, limit=Limit(input_tokens=512, request_inputs=1))
    made = embedder(server, concurrency=concurrency)
    made.embed([f"text {i}" for i in range(176)])
    assert server.most_in_flight <= concurrency
    asyncio.run(_both(made, server, concurrency))


async def _both(made: Embedder, server: Server, concurrency: int) -> None:
    server.most_in_flight = 0
    texts = [f"text {i}" for i in range(100)]
    await asyncio.gather(made.aembed(texts), made.aembed([t + "!" for t in texts]))
    assert server.most_in_flight <= concurrency


@pytest.mark.parametrize("texts", [{"a", "b"}, frozenset("ab")])
def test_texts_without_an_order_are_refused(texts) -> None:
    with pytest.raises(InputError, match="expected texts in an order"):
        embedder(Server()).embed(texts)


def test_a_model_that_pads_gets_texts_of_like_length_together() -> None:
    server = Server(limit=Limit(input_tokens=512, request_inputs=2))
    server.pads = True
    texts = ["one", "one two three four five", "one two", "one two three four"]
    vectors = embedder(server).embed(texts)
    assert [request.texts for request in server.requests] == [(texts[1], texts[3]), (texts[2], texts[0])]
    for text, vector in zip(texts, vectors, strict=True):
        assert vector.tobytes() == server.truth(text).tobytes()


def test_case_23_retry_after_is_obeyed() -> None:
    times: list[float] = []
    note = lambda server, request: times.append(time.monotonic())
    server = Server(rules=[note, refuse("rate_limit", retry_after=0.4, times=1)])
    embedder(server).embed("text")
    assert times[1] - times[0] >= 0.4


def test_case_22_the_callers_time_out_is_kept() -> None:
    server = Server(latency=30)
    started = time.monotonic()
    with pytest.raises(ProviderTimeout):
        asyncio.run(embedder(server, timeout=1.5).aembed(["a", "b"]))
    assert time.monotonic() - started < 1.7


async def test_cancelling_leaves_nothing_in_flight() -> None:
    server = Server(latency=30)
    made = embedder(server)
    task = asyncio.ensure_future(made.aembed(["a", "b"]))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.latency = 0
    assert (await made.aembed(["a", "b"])).shape == (2, 256)
    assert made._lanes.all[0].pace.in_flight == 0


async def test_a_request_that_never_began_gives_its_place_back() -> None:
    made = embedder(Server())
    lane = made._lanes.all[0]
    call = Call([], lane=lane, ticket=lane.pace.ticket())
    assert made._lanes.enter(lane, call.ticket, 0.0) == 0.0
    task = asyncio.ensure_future(made._engine._asend(call, Request(("a",), "document")))
    await made._engine._acancel({task: call})
    assert lane.pace.in_flight == 0


def test_an_error_that_is_no_refusal_comes_out_as_it_is() -> None:
    def broken(server, request):
        raise RuntimeError("a bug in a provider")

    made = embedder(Server(rules=[broken], limit=Limit(input_tokens=512, request_inputs=1)))
    with pytest.raises(RuntimeError, match="a bug"):
        made.embed(["a", "b", "c"])
    ended = time.monotonic() + 5
    while made._lanes.all[0].pace.in_flight and time.monotonic() < ended:
        time.sleep(0.01)
    assert made._lanes.all[0].pace.in_flight == 0


# -- what is told ---------------------------------------------------------------------------------


def test_L9_promise_12_the_log_tells_sizes_and_no_text(caplog) -> None:
    caplog.set_level(logging.DEBUG, "unabridged")
    embedder(Server(announced=False)).embed([prose(2000), "short"])
    embedder(Server()).embed(prose(2000))
    said = [record.getMessage() for record in caplog.records if record.name.startswith("unabridged")]
    assert any("exceeds the limit (512 tokens)" in line for line in said)
    assert any(re.search(r"split into \d chunks", line) for line in said)
    assert any(re.search(r"embedded as \d averaged chunks", line) for line in said)
    assert not any("harbour" in line or "storms" in line for line in said)


def test_progress_counts_up_to_all() -> None:
    seen = []
    server = Server(limit=Limit(input_tokens=512, request_inputs=4))
    embedder(server, concurrency=1).embed_detailed(["a", prose(5000), "b"], progress=seen.append)
    assert [p.tokens_done for p in seen] == sorted(p.tokens_done for p in seen)
    assert seen[-1].tokens_done >= seen[-1].tokens * 0.99
    assert (seen[0].texts, seen[-1].texts_done) == (3, 3)
    assert len(seen) >= 4


@pytest.mark.parametrize("announced", [True, False])
def test_progress_counts_every_text_once_however_it_came_to_its_vector(announced, tmp_path) -> None:
    """Sent, sent twice, cut, cut again after a refusal, found in the cache whole or in part, asked for by others."""
    long = prose(6000)
    texts = ["a", "a", long, prose(3000, seed=3), "", long, "z", prose(300), *(f"text {i}" for i in range(40))]
    limit = Limit(input_tokens=512, request_inputs=3)
    made = embedder(
        Server(limit=limit, announced=announced), cache=str(tmp_path), concurrency=2, empty="skip", on_error="report"
    )
    for given in (["z", prose(3000, seed=3)], texts, [*texts, long + " And a word more."], texts):
        seen: list[Progress] = []
        result = made.embed_detailed(given, progress=seen.append)
        assert not result.failed
        assert (seen[-1].texts, seen[-1].texts_done) == (len(given) - given.count(""),) * 2
        assert [p.texts_done for p in seen] == sorted(p.texts_done for p in seen)
        assert seen[-1].tokens_done >= seen[-1].tokens * 0.99


def test_progress_costs_the_same_for_each_answer_however_many_texts_there_are() -> None:
    """A count over all texts after each answer made a call of n texts cost n times n."""

    def calls(texts: int) -> int:
        made = embedder(Server(limit=Limit(input_tokens=512, request_inputs=1)), concurrency=1)
        seen = 0

        def count(_frame: object, event: str, _value: object) -> None:
            nonlocal seen
            seen += event == "call"

        sys.setprofile(count)
        try:
            made.embed_detailed([f"text {i}" for i in range(texts)], progress=lambda _: None)
        finally:
            sys.setprofile(None)
        return seen

    calls(10)
    assert calls(800) < 10 * calls(100)


def test_L12_the_report_says_when_one_vector_says_little() -> None:
    server = Server(limit=Limit(input_tokens=64, request_inputs=64))
    disjoint = "\n\n".join(" ".join(f"w{i}x{j}" for j in range(14)) for i in range(12))
    one = embedder(server).embed_detailed(disjoint)[0]
    assert one.dispersion < 0.15
    assert "have little in common" in one.warnings[0]
    alike = embedder(server).embed_detailed(WORDS * 40)[0]
    assert alike.dispersion > 0.5
    assert not alike.warnings


def test_L16_max_similarity_finds_what_one_vector_hides() -> None:
    server = Server(limit=Limit(input_tokens=64, request_inputs=64))
    needle = "the quorum of nine unusual giraffes"
    text = prose(3000) + "\n\n" + needle + "\n\n" + prose(3000, seed=1)
    made = embedder(server)
    one = made.embed_detailed(text, chunk_vectors=True)[0]
    query = made.embed_query(needle)
    assert one.max_similarity(query) > float(one.vector @ query) + 0.1
    with pytest.raises(ValueError, match="text 0 has no vectors: failed"):
        embedder(Server(rules=[refuse("bad_request")]), on_error="report").embed_detailed("a")[0].max_similarity(query)


def test_pooling_none_gives_the_chunk_vectors_alone() -> None:
    result = embedder(Server(), pooling="none").embed_detailed(["short", prose(2000)])
    assert result[0].vector is not None
    assert result[1].vector is None
    assert result[1].chunk_vectors.shape == (result[1].chunk_count, 256)


def test_chunk_vectors_of_a_cached_document_send_nothing(tmp_path) -> None:
    server, text = Server(), prose(3000)
    with embedder(server, cache=tmp_path) as made:
        fresh = made.embed_detailed(text, chunk_vectors=True)[0]
        sent = len(server.requests)
        again = made.embed_detailed(text, chunk_vectors=True)[0]
    assert len(server.requests) == sent
    assert again.chunk_vectors.tobytes() == fresh.chunk_vectors.tobytes()


def test_K6_the_fingerprint_tells_settings_apart() -> None:
    server = Server()
    prints = {
        embedder(server).fingerprint(),
        embedder(server).fingerprint("query"),
        embedder(server, pooling="mean").fingerprint(),
        embedder(server, chunking=Chunking(max_tokens=100)).fingerprint(),
        embedder(server, chunking=False).fingerprint(),
        embedder(server, dimensions=64).fingerprint(),
        embedder(Server(model="b")).fingerprint(),
    }
    assert len(prints) == 7
    assert embedder(server).fingerprint() == embedder(Server()).fingerprint()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"empty": "none"}, "empty: found 'none', expected one of error, skip, zero"),
        ({"on_error": "ignore"}, "on_error: found 'ignore'"),
        ({"on_overflow": "cut"}, "on_overflow: found 'cut'"),
        ({"on_unknown": 1}, "on_unknown: found 1"),
        ({"dimensions": 0}, "dimensions: found 0, expected a number above 0"),
        ({"timeout": -1}, "timeout: found -1"),
        ({"concurrency": 0}, "concurrency: found 0, expected at least 1"),
        ({"pooling": "sum"}, "pooling: found 'sum'"),
    ],
)
def test_wrong_options_are_named(options, message) -> None:
    with pytest.raises(ConfigError, match=message):
        embedder(Server(), **options)


def test_no_provider_at_all_is_an_error() -> None:
    with pytest.raises(ConfigError, match="provider: found none"):
        embedder([])


def test_dimensions_are_asked_for() -> None:
    server = Server()
    assert embedder(server, dimensions=64).embed("text").shape == (64,)
    assert server.requests[0].dimensions == 64


async def test_context_managers_close(tmp_path) -> None:
    async with embedder(Server(), cache=tmp_path) as made:
        assert (await made.aembed_query("q")).shape == (256,)
        assert made.dimensions == 256
        assert made.model == "bag-of-words"
        assert made.cache is not None


# -- learned limits and drift ---------------------------------------------------------------------


def test_limits_learned_in_one_process_hold_in_the_next(tmp_path) -> None:
    server = Server(announced=False)
    with embedder(server, cache=tmp_path) as one:
        one.embed(prose(3000))
    refused = len(server.refused)
    with embedder(server, cache=tmp_path) as other:
        assert other.limit.input_tokens == 512
        assert other.embed_detailed(prose(3000, seed=5))[0].status == "chunked"
    assert len(server.refused) == refused


def test_L15_a_model_that_has_changed_is_refused_until_confirmed(tmp_path) -> None:
    with embedder(Server(), cache=tmp_path, on_drift="error") as one:
        one.embed("text")
        one.embed("more")
        assert one.check_drift() == pytest.approx(0, abs=1e-6)

    class Moved(Server):
        def _answer(self, request):
            reply = super()._answer(request)
            return type(reply)(reply.vectors[:, ::-1].copy())

    moved = Moved()
    with embedder(moved, cache=tmp_path, on_drift="error") as changed:
        with pytest.raises(ModelMismatch, match="bag-of-words at process answers otherwise than before"):
            changed.embed("other text")
        with pytest.raises(ModelMismatch):
            asyncio.run(changed.aembed("other text"))
        changed.check_drift(confirm=True)
        assert changed.embed("other text").shape == (256,)
