"""Refusals in every wrapping; how long to wait; the message of the error; hostile replies (issue 3.1)."""

import json
import pickle
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unabridged import errors
from unabridged.providers.fault_message import masked
from unabridged.providers.fault_text import read_reply
from unabridged.providers.faults import classify, error_for
from unabridged.types import Fault

DATA = Path(__file__).parents[1] / "data"
MESSAGE = "This model's maximum context length is 512 tokens, however you requested 700 tokens."
WRAPPED = {"error": {"message": MESSAGE, "type": "invalid_request_error", "param": None, "code": None}}


class StatusError(Exception):
    """Shaped like the errors of OpenAI's SDK."""

    def __init__(self, message, *, status_code=None, body=None, response=None):
        super().__init__(message)
        self.status_code, self.body, self.response = status_code, body, response


def client_error():
    error = Exception("An error occurred")
    error.response = {
        "Error": {"Code": "ValidationException", "Message": MESSAGE},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    return error


FORMS = {
    "text": MESSAGE,
    "bytes": MESSAGE.encode(),
    "bytearray": bytearray(MESSAGE.encode()),
    "mapping": WRAPPED,
    "json": json.dumps(WRAPPED),
    "json bytes with a mark": b"\xef\xbb\xbf" + json.dumps(WRAPPED).encode(),
    "json in json": json.dumps({"error": json.dumps(WRAPPED)}),
    "json in json in json": json.dumps({"error": json.dumps({"detail": json.dumps(WRAPPED)})}),
    "a json string": json.dumps(json.dumps(WRAPPED)),
    "a list": [WRAPPED],
    "repr": repr(WRAPPED),
    "an SDK's text": f"Error code: 400 - {WRAPPED!r}",
    "a wrapped SDK's text": f"litellm.BadRequestError: OpenAIException - Error code: 400 - {WRAPPED!r}. Received Model Group=m",
    "cut off": f"Error code: 400 - {WRAPPED!r}"[:-60],
    "repr of a model": f"ValidationError(model='TextDoc', errors=[{{'loc': ('text',), 'msg': {MESSAGE!r}, 'type': 'value_error'}}])",
    "an SDK's error": StatusError(f"Error code: 400 - {WRAPPED!r}", status_code=400, body=WRAPPED),
    "an error with a response": StatusError(
        "", response=httpx.Response(400, json=WRAPPED, request=httpx.Request("POST", "http://h/"))
    ),
    "an AWS error": client_error(),
    "an object": SimpleNamespace(status_code=400, text=json.dumps(WRAPPED)),
    "html": f"<!DOCTYPE html><html><head><title>400</title><style>a{{width:999px}}</style></head><body><p>{MESSAGE}</p></body></html>",
    "xml": f"<?xml version='1.0'?><Error><Code>TooLong</Code><Message>{MESSAGE}</Message></Error>",
}


@pytest.mark.parametrize("form", FORMS)
def test_one_message_in_every_wrapping(form):
    fault = classify(400, FORMS[form])
    assert (fault.kind, fault.limit, fault.actual, fault.unit) == ("input_overflow", 512, 700, "tokens")


WRAPPINGS = {
    "bytes": lambda status, body: body.encode(),
    "mapping": lambda status, body: {"error": {"message": body}},
    "detail": lambda status, body: {"detail": body},
    "json in json": lambda status, body: json.dumps(
        {"error": json.dumps({"error": {"message": body, "code": status}})}
    ),
    "an SDK's text": lambda status, body: f"Error code: {status} - { ({'error': {'message': body, 'type': 'x'}})!r}",
    "an exception": lambda status, body: RuntimeError(body),
    "a proxy's text": lambda status, body: f"litellm.APIError: XException - {body}",
    "a traceback": lambda status, body: (
        f'Traceback (most recent call last):\n  File "/app/x.py", line 512, in embed\n    raise E\nValueError: {body}'
    ),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_wrapping_changes_nothing_in_what_a_reply_means(wrapping):
    texts = [path.read_text(encoding="utf-8") for path in sorted(DATA.glob("provider_errors*.jsonl"))]
    lines = [line for text in texts for line in text.split("\n") if line]
    changed = []
    for row in map(json.loads, lines[::2]):
        status, body = row.get("status"), row["body"]
        if status == 200 or not body.strip() or body.startswith('{"texts"'):
            continue  # an error in a success is told by its form; a bare field's name by standing alone
        plain, wrapped = classify(status, body), classify(status, WRAPPINGS[wrapping](status, body))
        if replace(plain, confidence=1.0, status=None, retry_after=None) != replace(
            wrapped, confidence=1.0, status=None, retry_after=None
        ):
            changed.append((body, plain, wrapped))
    assert changed == []


def test_a_chinese_gateway_that_does_not_send_utf_8():
    fault = classify(400, "输入文本过长：当前 1024 个 token，最大支持 512 个 token".encode("gb18030"))
    assert (fault.kind, fault.limit, fault.actual) == ("input_overflow", 512, 1024)


def test_the_status_is_found_in_the_reply_where_none_is_given():
    assert classify(None, "Error code: 429 - {'error': {'message': 'slow'}}").status == 429
    assert classify(None, StatusError("no", status_code=401)).kind == "auth"
    assert classify("503 Service Unavailable", "").kind == "overloaded"
    assert classify(True, "").status is None


def test_exceptions_of_the_network_are_understood_by_their_class():
    assert classify(None, TimeoutError()).kind == "timeout"
    assert classify(None, httpx.ReadTimeout("")).kind == "timeout"
    assert classify(None, httpx.ConnectError("")).kind == "upstream_error"
    cause = RuntimeError("")
    cause.__cause__ = ConnectionResetError("Connection reset by peer")
    assert classify(None, cause).kind == "upstream_error"


def test_what_a_reply_quotes_of_the_request_is_neither_read_nor_shown():
    quoted = "input too long: 700 tokens, max 512"
    body = {
        "detail": [
            {
                "type": "string_type",
                "loc": ["body", "input", 0],
                "msg": "Input should be a valid string",
                "input": quoted,
            }
        ]
    }
    fault = classify(422, body)
    assert fault.kind == "wrong_shape"
    assert "700" not in str(error_for(fault, body, provider="p"))
    whole = {"error": "unauthorized", "body": {"input": [quoted, "secret text"], "model": "m"}}
    assert classify(401, whole).kind == "auth"
    assert "secret" not in str(error_for(classify(401, whole), whole, provider="p"))


def test_a_field_that_holds_no_text_is_no_overflow():
    body = {
        "detail": [
            {
                "type": "string_too_long",
                "loc": ["body", "user"],
                "msg": "String should have at most 64 characters",
            }
        ]
    }
    assert classify(422, body).kind == "bad_request"
    body["detail"][0]["loc"] = ["body", "input", 4]
    assert (classify(422, body).kind, classify(422, body).indices) == ("input_overflow", (4,))


def test_errors_by_field_as_frameworks_write_them():
    assert classify(400, {"texts": ["Ensure this field has no more than 96 elements."]}).limit == 96
    laravel = {
        "message": "The given data was invalid.",
        "errors": {"input": ["The input may not be greater than 4096 characters."]},
    }
    assert (classify(422, laravel).limit, classify(422, laravel).unit) == (4096, "chars")


def test_named_numbers_fill_what_the_words_leave_open():
    fault = classify(400, {"error": {"message": "the prompt is too long", "n_prompt_tokens": 700, "n_ctx": 512}})
    assert (fault.limit, fault.actual) == (512, 700)


# --- how long to wait


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"RETRY-AFTER": "1m30s"}, 90.0),
        ([(b"retry-after", b"3.5")], 3.5),
        (httpx.Headers({"x-ratelimit-reset-tokens": "6m0s"}), 360.0),
        (
            {
                "x-ratelimit-reset-requests": "17ms",
                "x-ratelimit-reset-tokens": "2s",
                "x-ratelimit-remaining-requests": "0",
            },
            0.017,
        ),
        ({"x-ratelimit-reset-requests": "17ms", "x-ratelimit-reset-tokens": "2s"}, 2.0),
        ({"x-ratelimit-reset": "30"}, 30.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        (None, None),
        (7, None),
    ],
)
def test_headers_that_ask_to_wait(headers, seconds):
    assert classify(429, "slow down", headers).retry_after == (None if seconds is None else pytest.approx(seconds))


def test_a_date_is_counted_from_the_servers_own_clock():
    there = datetime(2020, 1, 1, tzinfo=UTC)
    headers = {
        "retry-after": format_datetime(there + timedelta(seconds=40), usegmt=True),
        "date": format_datetime(there, usegmt=True),
    }
    assert classify(503, "", headers).retry_after == 40.0
    ours = {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)}
    assert classify(503, "", ours).retry_after == pytest.approx(40, abs=2)
    assert classify(503, "", {"retry-after": "Wed, 99 Foo 2020"}).retry_after is None


def test_a_reset_may_be_a_moment_since_1970():
    for scale in (1, 1000):
        reset = str(int((time.time() + 60) * scale))
        assert classify(429, "slow down", {"x-ratelimit-reset": reset}).retry_after == pytest.approx(60, abs=2)


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ("Rate limit reached. Please try again in 176ms.", 0.176),
        ("Please retry after 2 seconds.", 2.0),
        ("Please wait 20 seconds", 20.0),
        ("try again in 1m30s", 90.0),
        ("try again in 1h2m3.5s", 3723.5),
        ("try again in 2 minutes and 5 seconds", 125.0),
        ("Retry-After: 3", 3.0),
        ("请在 20 秒后重试", 20.0),
        ("20秒後にもう一度お試しください。リクエストが多すぎます。", 20.0),
        ("30초 후에 다시 시도해 주세요. 요청이 너무 많습니다.", 30.0),
        ("Zu viele Anfragen. Bitte versuchen Sie es in 20 Sekunden erneut.", 20.0),
        ("Слишком много запросов. Повторите через 10 секунд.", 10.0),
        ({"error": {"message": "slow down", "details": [{"@type": "RetryInfo", "retryDelay": "37s"}]}}, 37.0),
        ({"error": "loading", "estimated_time": 35.5}, 35.5),
        ({"error": "slow down", "retry_after_ms": 1500}, 1.5),
        ("try again later", None),
        ("try again in 999999999 days", None),
    ],
)
def test_words_that_ask_to_wait(body, seconds):
    assert classify(429, body).retry_after == (None if seconds is None else pytest.approx(seconds))


# --- the error


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("input_overflow", errors.Overflow),
        ("request_overflow", errors.Overflow),
        ("batch_count", errors.Overflow),
        ("rate_limit", errors.RateLimited),
        ("quota", errors.RateLimited),
        ("overloaded", errors.RateLimited),
        ("auth", errors.AuthFailed),
        ("model_not_found", errors.ModelNotFound),
        ("bad_reply", errors.BadReply),
        ("bad_values", errors.BadReply),
        ("timeout", errors.ProviderTimeout),
        ("bad_request", errors.ProviderError),
        ("unknown", errors.ProviderError),
    ],
)
def test_each_kind_has_its_error(kind, expected):
    made = error_for(Fault(kind), "no", provider="p")
    assert type(made) is expected
    assert made.fault.kind == kind
    assert made.body == "no"
    assert str(pickle.loads(pickle.dumps(made))) == str(made)


def test_a_message_is_one_short_line_in_the_providers_own_words():
    body = {"error": {"message": "Prompt too long\nvery\tmuch", "code": "1261"}}
    message = str(error_for(classify(400, body), body, provider="zhipu"))
    assert message == "zhipu: a text is over the limit (400): Prompt too long very much"
    long = str(error_for(classify(400, MESSAGE * 200), MESSAGE * 200, provider="p"))
    assert len(long) < 420
    figures = str(error_for(classify(400, "input[7] is too long: 700 tokens, max 512"), "", provider="p"))
    assert "at 7: 700 of 512 tokens" in figures
    many = Fault("input_overflow", "input", 512, unit="tokens", indices=tuple(range(9)))
    assert "at 0, 1, 2, 3, 4 …: 512 tokens" in str(error_for(many, None, provider="p"))


@pytest.mark.parametrize(
    "key",
    [
        "sk-abcdEFGH1234567890",
        "hf_abcdefghijklmnop12",
        "AIzaSyA1234567890abcdefghij",
        "pa-12345678901234567890",
        "0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_keys_never_reach_a_message(key):
    body = f"Incorrect API key provided: {key}."
    assert key not in masked(body)
    assert key not in str(error_for(classify(401, body), body, provider="p"))


# --- hostile replies

HOSTILE = {
    "x": "x",
    "digits": "1",
    "numbers": "12 ",
    "braces": "{",
    "brackets": "[",
    "quotes": "{'",
    "backslashes": "\\",
    "escapes": "\\u00e9",
    "tags": "<html><script",
    "apostrophes": "it's ",
    "keywords": "input exceeds maximum ",
    "indices": "index 1, 2, ",
    "mappings": "{'a': 1} ",
    "addresses": "https://",
    "waits": "try again in ",
    "ligatures": "\ufdfa",
    "classes": "AbcdException ",
    "keys": "sk-",
    "nul": "\0",
}


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_anything_is_read_in_linear_time(piece):
    body = HOSTILE[piece] * (1_000_000 // len(HOSTILE[piece]))
    started = time.process_time()
    error_for(classify(400, body), body, provider="p")
    error_for(classify(400, {"error": {"message": body}}), body, provider="p")
    assert time.process_time() - started < 2.0  # 0.4 s at the most when written


def test_depth_and_breadth_are_bounded():
    assert classify(400, '{"a":' * 100_000).kind == "bad_request"
    nested = MESSAGE
    for _ in range(60):
        nested = {"error": nested}
    assert classify(400, nested).kind == "bad_request"  # deeper than any reply; not an endless walk
    assert classify(400, {str(at): "x y" for at in range(50_000)}).kind == "bad_request"
    assert classify(400, {"limit": 10**400, "message": "input too long"}).kind == "input_overflow"


class Malicious(Exception):
    """Raises whatever is asked of it."""

    @property
    def status_code(self):
        raise ZeroDivisionError

    def __str__(self):
        raise RuntimeError("no")


def test_a_reply_that_raises_is_a_reply():
    assert classify(500, Malicious()).kind == "upstream_error"
    assert read_reply(Malicious()).statements == ["unreadable reply"]


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.binary(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=12) | st.integers(), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)
WORDS = st.lists(
    st.sampled_from(
        [
            "input",
            "too",
            "long",
            "exceeds",
            "maximum",
            "limit",
            "tokens",
            "512",
            "700",
            "max_tokens",
            "429",
            "quota",
            "per",
            "minute",
            "index",
            "3",
            "[1,",
            "8192]",
            "{'a':",
            "(",
            "}",
            '"',
            "'",
            "<",
            ">",
            "超过",
            "最大",
            "トークン",
            "초과",
            "zu",
            "lang",
            "8k",
            "1e9",
            "retry",
            "after",
            "20s",
            "models/x-1.5",
            "\\",
            "\\u",
            "�",
            "%s",
            "\x00",
        ]
    ),
    max_size=40,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    status=st.none() | st.integers() | st.text(max_size=5),
    body=TREES | WORDS | st.binary(max_size=300),
    headers=TREES,
)
def test_no_reply_makes_it_raise_and_every_fault_is_well_formed(status, body, headers):
    fault = classify(status, body, headers)
    assert 0 <= fault.confidence <= 1
    assert fault.limit is None or fault.limit >= 0
    assert fault.retry_after is None or 0 <= fault.retry_after < 1e7
    assert all(at >= 0 for at in fault.indices)
    assert len(str(error_for(fault, body, provider="p"))) < 500
    assert "\n" not in str(error_for(fault, body, provider="p"))


@settings(max_examples=100, deadline=None)
@given(
    limit=st.integers(33, 10**6),
    more=st.integers(1, 10**6),
    order=st.booleans(),
    unit=st.sampled_from(["tokens", "characters", "bytes"]),
)
def test_any_two_sizes_are_told_apart(limit, more, order, unit):
    parts = [f"the maximum is {limit} {unit}", f"the text has {limit + more} {unit}"]
    fault = classify(400, "Input refused: " + "; ".join(parts if order else parts[::-1]))
    assert (fault.kind, fault.limit, fault.actual) == ("input_overflow", limit, limit + more)
    assert fault.unit == {"characters": "chars"}.get(unit, unit)
