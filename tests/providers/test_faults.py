"""Refusals, classified: the given corpus, the collected one, and what only looks like an overflow (issue 3.1)."""

import json
from pathlib import Path

import pytest

from unabridged import classify
from unabridged.types import Fault

DATA = Path(__file__).parents[1] / "data"
OVERFLOWS = ("input_overflow", "request_overflow", "batch_count")
FIELDS = ("kind", "scope", "limit", "actual", "excess", "unit", "indices")


def rows(name):
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def wrong(row, fault):
    """The fields of a fault that are not as the row says."""
    expected = {name: row.get(name) for name in FIELDS} | {"indices": tuple(row.get("indices", ()))}
    found = {name: (expected[name], getattr(fault, name)) for name in FIELDS if getattr(fault, name) != expected[name]}
    if "retry_after" in row and fault.retry_after != pytest.approx(row["retry_after"]):
        found["retry_after"] = (row["retry_after"], fault.retry_after)
    return found


@pytest.mark.parametrize("row", rows("provider_errors.jsonl"), ids=lambda row: f"{row['provider']}-{row['kind']}")
def test_every_reply_of_the_given_corpus_is_understood_in_every_field(row):
    assert wrong(row, classify(row.get("status"), row["body"])) == {}


def test_the_provider_hint_changes_nothing_for_the_worse():
    for row in rows("provider_errors.jsonl"):
        assert classify(row.get("status"), row["body"], provider=row["provider"]) == classify(
            row.get("status"), row["body"]
        )


@pytest.mark.parametrize("part", ["a", "b", "c", "d", "e", "f", "g"])
def test_collected_and_translated_wordings_are_understood_in_every_field(part):
    collected = [row for row in rows("provider_errors_more.jsonl") if row["round"] == part]
    assert len(collected) >= 50
    missed = [(row["body"], bad) for row in collected if (bad := wrong(row, classify(row.get("status"), row["body"])))]
    assert missed == []


def test_nothing_that_only_looks_like_an_overflow_is_taken_for_one():
    others = rows("provider_errors_other.jsonl")
    assert len(others) >= 150
    faults = [(row, classify(row.get("status"), row["body"])) for row in others]
    assert [row["body"] for row, fault in faults if fault.kind in OVERFLOWS] == []
    assert [(row["body"], fault.kind) for row, fault in faults if row["kind"] not in (None, fault.kind)] == []


def test_the_same_holds_whatever_status_comes_with_it():
    # No status makes an overflow of a quota, a rate, a time-out or a wrong key.
    surely_not = [
        row for row in rows("provider_errors_other.jsonl") if row["kind"] in ("quota", "rate_limit", "timeout", "auth")
    ]
    for status in (None, 400, 429, 500):
        assert [
            row["body"]
            for row in surely_not
            if classify(status, row["body"]).kind in ("request_overflow", "batch_count")
        ] == []


def test_case_12_an_exceeded_quota_is_a_quota():
    assert classify(429, "You exceeded your current quota, please check your plan and billing details.").kind == "quota"


def test_case_13_an_exceeded_deadline_is_a_timeout():
    assert classify(500, "context deadline exceeded").kind == "timeout"


def test_case_20_dimensions_that_a_model_refuses():
    body = 'Model "m" does not support matryoshka representation, changing output dimensions will lead to poor results.'
    assert classify(400, body).kind == "invalid_dimensions"


def test_case_26_a_wrong_model_name_is_told_from_a_wrong_address():
    assert (
        classify(404, '{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}').kind
        == "model_not_found"
    )
    assert classify(400, "Model does not exist. Please check it carefully.").kind == "model_not_found"
    assert classify(404, '{"detail":"Not Found"}').kind == "bad_request"


def test_one_status_and_one_code_mean_two_things():
    too_long = classify(413, "{'code': 20042, 'message': 'input must have less than 8192 tokens', 'data': None}")
    too_many = classify(
        413, '{"code":20042,"message":"input batch size 136 > maximum allowed batch size 64","data":null}'
    )
    assert (too_long.kind, too_many.kind) == ("input_overflow", "batch_count")
    each = classify(400, '{"message":"Input id 3 has 9000 tokens, exceeding max 8192 tokens.","code":"3210"}')
    overall = classify(400, '{"message":"Too many tokens overall, split into more batches.","code":"3210"}')
    assert (each.scope, each.indices, overall.scope) == ("input", (3,), "request")


@pytest.mark.parametrize(
    "message",
    [
        "maximum is 512 tokens, got 700",
        "700 tokens given, at most 512 allowed",
        "input of 700 tokens exceeds the limit of 512",
        "limit (512) exceeded: 700 tokens",
        "text-embedding-3-small (v1.5, 2024-05-13): 700 > 512 tokens (trace 8f3e-4400)",
        "token count 700/512",
        "the text has 700 tokens; this model's window is 512",
        "７００ tokens, maximum ５１２",
        "error 400: prompt too long, 700 tokens, model maximum context length: 512",
    ],
)
def test_numbers_are_bound_by_meaning_not_by_position(message):
    fault = classify(400, message)
    assert (fault.kind, fault.limit, fault.actual, fault.unit) == ("input_overflow", 512, 700, "tokens")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("10K", 10_000),
        ("20,000,000", 20_000_000),
        ("8.192", 8192),
        ("8 192", 8192),
        ("1M", 1_000_000),
        ("2万", 20_000),
        ("12288.0", 12_288),
    ],
)
def test_numbers_in_every_notation(written, value):
    assert classify(400, f"input too long: at most {written} tokens").limit == value


def test_bounds_that_are_exclusive():
    span = "batchSize value of 251 but the supported range is from 1 (inclusive) to 251 (exclusive)"
    assert classify(400, f"Unable to submit request because it has a {span}.").limit == 250
    assert classify(400, "input must have strictly less than 512 tokens, got 512").limit == 511
    assert classify(400, "length of input should be in [1, 2049) tokens").limit == 2048


def test_an_excess_is_no_limit():
    for message in (
        "exceeded max context length by 88 tokens",
        "the text is 88 tokens over the limit",
        "Text ist um 88 Token zu lang",
    ):
        fault = classify(400, message)
        assert (fault.kind, fault.excess, fault.limit, fault.actual) == ("input_overflow", 88, None, None)


@pytest.mark.parametrize(
    ("body", "indices"),
    [
        ("Malformed input request: #/texts/4: expected maxLength: 2048, actual: 3000", (4,)),
        ("texts at index 7, 9 are too long", (7, 9)),
        ("Invalid 'input[3]': maximum input length is 8192 tokens.", (3,)),
        (
            {
                "detail": [
                    {
                        "type": "string_too_long",
                        "loc": ["body", "input", 2],
                        "msg": "String should have at most 9000 characters",
                    }
                ]
            },
            (2,),
        ),
        ("the 3rd text has 700 tokens, at most 512 are allowed", (2,)),
        ("第3条文本过长：700 tokens，最大 512 tokens", (2,)),
        ("input 1 (counting from 1) is too long: 700 tokens, max 512", (0,)),
        ("input 700 exceeds 512 tokens", ()),
        ("index-select invalid index 512 with dim size 512.", ()),
        ({"error": {"message": "text too long", "index": 5}}, (5,)),
    ],
)
def test_the_inputs_that_a_reply_names(body, indices):
    fault = classify(400, body)
    assert (fault.kind, fault.indices) == ("input_overflow", indices)


def test_an_impossible_request_is_told_from_one_too_early():
    early = classify(
        429,
        "Rate limit reached on tokens per min (TPM): Limit 6000, Used 5800, Requested 900. Please try again in 7s.",
    )
    never = classify(
        413,
        "Request too large on tokens per minute (TPM): Limit 6000, Requested 7042, please reduce your message size.",
    )
    assert (early.kind, early.limit, early.actual, early.unit) == ("rate_limit", 6000, 900, "tokens/min")
    assert (never.kind, never.limit, never.actual) == ("rate_limit_impossible", 6000, 7042)


def test_a_prompt_that_fits_beside_a_completion_that_does_not_is_no_overflow():
    body = "maximum context length is 16385 tokens. However, you requested 19489 tokens ({} in the messages, 4000 in the completion)."
    assert classify(400, body.format(15489)).kind == "output_budget"
    assert classify(400, body.format(16489)).kind == "input_overflow"


def test_confidence_tells_a_stated_limit_from_a_bare_status():
    sure = classify(
        400, "This model's maximum context length is 512 tokens, however you requested 700 tokens"
    ).confidence
    worded = classify(400, "the input length exceeds the context length").confidence
    bare = classify(500, "").confidence
    looks_only = classify(
        500, "decoding exceeds the available context size. try increasing the context size."
    ).confidence
    assert sure > worded > bare > classify(None, None).confidence
    assert looks_only < worded


def test_an_error_inside_a_success_is_read_by_its_words():
    inside = classify(
        200,
        {
            "object": "error",
            "message": "maximum context length is 512 tokens, you requested 600 tokens",
            "code": 400,
        },
    )
    assert (inside.kind, inside.limit, inside.actual) == ("input_overflow", 512, 600)
    assert classify(200, {"object": "list", "data": []}).kind == "bad_reply"
    assert (
        classify(200, {"error": {"message": "No successful provider responses.", "code": 404}}).kind == "upstream_error"
    )


def test_nothing_known_is_said_to_be_unknown():
    assert classify(None, None) == Fault("unknown", confidence=0.1)
    assert classify(None, "Hello").kind == "unknown"
    assert classify(418, "").kind == "bad_request"
