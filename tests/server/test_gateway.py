"""Issue 10, 1: what the gateway answers, by shape; models by name; what becomes of refusals from upstream."""

from __future__ import annotations

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from serving import client_of, get, post, serving

from unabridged import Embedder
from unabridged.config import load_config
from unabridged.errors import ConfigError
from unabridged.providers.wordpiece import WordPiece
from unabridged.server import ServerSettings
from unabridged.server.upstreams import Upstreams
from unabridged.testing import LoopbackProvider, Trouble

LONG = "Another sentence, and one more. " * 9000


def rows_of(answer: httpx.Response):
    assert answer.status_code == 200, answer.text
    return np.array([item["embedding"] for item in answer.json()["data"]], np.float32)


TOO_LARGE = {
    "error": {
        "message": "Request too large on tokens per min (TPM): Limit 10, Requested 90.",
        "code": "rate_limit_exceeded",
    }
}


def upstream_config(server: LoopbackProvider, folder, **more):
    embedding = {"provider": "openai", "model": "up", "apiKey": "upstream-secret-key", "baseURL": server.url}
    return {"embedding": {**embedding, "cache": str(folder / "cache"), **more}}


# -- one shape after another ---------------------------------------------------------------------------------


def test_floats_and_base64_are_the_same_vectors_to_the_bit(client) -> None:
    with Embedder("hashing", dimensions=64, cache=False) as own:
        expected = own.embed(["a text", LONG])
    floats = client.post("/v1/embeddings", json={"input": ["a text", LONG]})
    packed = client.post("/v1/embeddings", json={"input": ["a text", LONG], "encoding_format": "base64"})
    assert np.array_equal(rows_of(floats), expected)
    raw = [base64.b64decode(item["embedding"]) for item in packed.json()["data"]]
    assert np.array_equal(np.stack([np.frombuffer(row, "<f4") for row in raw]), expected)
    assert floats.headers["x-unabridged-chunked"] == "1"
    assert int(floats.headers["x-unabridged-chunks"]) > 2


def test_what_is_cached_is_said_and_costs_nothing(client) -> None:
    first = client.post("/v1/embeddings", json={"input": ["never seen before", "nor this"]})
    again = client.post("/v1/embeddings", json={"input": ["nor this", "something new", "never seen before"]})
    assert first.headers["x-unabridged-cached"] == "0"
    assert again.headers["x-unabridged-cached"] == "2"
    assert np.array_equal(rows_of(again)[[2, 0]], rows_of(first)), "case 29: right order"
    assert 0 < again.json()["usage"]["prompt_tokens"] < first.json()["usage"]["prompt_tokens"]


def test_without_a_cache_nothing_is_kept_in_memory_either(tmp_path) -> None:
    with serving(tmp_path, {"embedding": {"provider": "hashing", "cache": False}}) as served:
        answers = [post(f"{served.url}/embeddings", json={"input": "a text"}) for _ in range(2)]
        assert [answer.headers["x-unabridged-cached"] for answer in answers] == ["0", "0"]
        assert len(served.state.hot) == 0


def test_erased_texts_leave_the_memory_of_the_server(tmp_path) -> None:
    """SPEC A29: erasure reaches the caches, this one too."""
    from unabridged.embedding.forgetting import forget

    with serving(tmp_path) as served:
        post(f"{served.url}/embeddings", json={"input": "a private text"})
        assert len(served.state.hot) == 1
        assert forget(served.state.embedders(), ["a private text"]) == 1
        assert len(served.state.hot) == 0
        again = post(f"{served.url}/embeddings", json={"input": "a private text"})
        assert again.headers["x-unabridged-cached"] == "0"


def test_a_query_is_another_thing_than_a_document(tmp_path) -> None:
    """Case 27, through the gateway: roles never share an entry."""
    with LoopbackProvider("voyage") as upstream:
        embedding = {"provider": "voyage", "model": "voyage-3.5", "apiKey": "k", "baseURL": upstream.url}
        with serving(tmp_path, {"embedding": {**embedding, "cache": str(tmp_path / "cache")}}) as served:
            for word in ("query", "search_query", "document", None, "retrieval.passage"):
                body = {"input": "a text", **({"input_type": word} if word else {})}
                rows_of(post(f"{served.url}/embeddings", json=body))
            assert [seen.role for seen in upstream.requests] == ["query", "document"]
            wrong = post(f"{served.url}/embeddings", json={"input": "a", "input_type": "poem"})
    assert wrong.status_code == 400
    assert wrong.json()["error"]["param"] == "input_type"


def test_a_large_answer_comes_in_pieces_and_whole(client) -> None:
    texts = [f"text {n}" for n in range(6000)]
    body = {"input": texts, "dimensions": 64}
    with client.stream("POST", "/v1/embeddings", json=body) as answer:
        assert "content-length" not in answer.headers
        data = json.loads(b"".join(answer.iter_bytes()))["data"]
    with Embedder("hashing", dimensions=64, cache=False) as own:
        assert np.array_equal(np.array([item["embedding"] for item in data], np.float32), own.embed(texts))
    assert [item["index"] for item in data] == list(range(6000))


def test_tokens_are_decoded_by_the_models_own_tokenizer(tmp_path) -> None:
    """The embedded model: WordPiece, whose pieces come together again."""
    with serving(tmp_path, {"embedding": {"cache": False}}) as served:
        raw = WordPiece().raw
        ids = [101, *raw.encode("unabridged texts, 3.14 of them").ids, 102]
        by_ids = rows_of(post(f"{served.url}/embeddings", json={"input": ids}))
        by_text = rows_of(post(f"{served.url}/embeddings", json={"input": "unabridged texts, 3.14 of them"}))
        over = post(f"{served.url}/embeddings", json={"input": [[1, 2], [2, 30_522]]})
        unknown = post(f"{served.url}/embeddings", json={"input": "知识就是力量"})
    assert np.allclose(by_ids, by_text, atol=1e-6)
    assert over.status_code == 400
    assert over.json()["error"]["message"].startswith("input[1][1]: the token id is not in the vocabulary of bert")
    assert float(unknown.headers["x-unabridged-unknown"]) > 0.5, "SPEC L14: the share of unknown tokens is reported"


MALFORMED = [
    ({}, "input"),
    ({"input": None}, "input"),
    ({"input": []}, "input"),
    ({"input": 7}, "input"),
    ({"input": {"text": "a"}}, "input"),
    ({"input": ["a", 7]}, "input[1]"),
    ({"input": ["a", []]}, "input[1]"),
    ({"input": ["a", ["b"]]}, "input[1]"),
    ({"input": [1, "a"]}, "input"),
    ({"input": [1, -1]}, "input"),
    ({"input": [1, True]}, "input"),
    ({"input": [1, 1.0]}, "input"),
    ({"input": [10**30]}, "input"),
    ({"input": ["a", ""]}, "input"),
    ({"input": ""}, "input"),
    ({"input": " \n\t"}, "input"),
    ({"input": "a", "model": 5}, "model"),
    ({"input": "a", "model": "gpt-5"}, "model"),
    ({"input": "a", "encoding_format": "int8"}, "encoding_format"),
    ({"input": "a", "dimensions": 0}, "dimensions"),
    ({"input": "a", "dimensions": "16"}, "dimensions"),
    ({"input": "a", "dimensions": 1.5}, "dimensions"),
    ({"input": "a", "dimensions": True}, "dimensions"),
    ({"input": "a", "dimensions": 10**9}, "dimensions"),
    ({"input": "a", "dimension": 16}, "dimensions"),
    ({"input": "a", "user": 5}, "user"),
    ({"input": "a", "output_dtype": "int8"}, "output_dtype"),
    ({"inputt": "a", "model": "default"}, "input"),
    ({"a field with blanks": 5}, "input"),
]


@pytest.mark.parametrize(("body", "param"), MALFORMED)
def test_what_is_wrong_is_named_in_openais_shape(client, body, param) -> None:
    answer = client.post("/v1/embeddings", json=body)
    error = answer.json()["error"]
    assert answer.status_code in (400, 404)
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert error["code"]


def test_a_misspelt_field_names_the_right_one(client) -> None:
    answer = client.post("/v1/embeddings", json={"input": "a", "dimension": 16})
    assert answer.json()["error"]["message"] == "dimension is not known here, did you mean dimensions?"
    answer = client.post("/v1/embeddings", json={"model": "default", "inputt": "a"})
    assert answer.json()["error"]["message"] == "inputt is not known here, did you mean input?"
    answer = client.post("/v1/embeddings", json={"model": "default", "text": "a"})
    assert answer.json()["error"]["message"].startswith(
        "input: field required; a field that is not known here was sent"
    )


def test_fields_of_other_servers_are_passed_over(client) -> None:
    plain = client.post("/v1/embeddings", json={"input": "a"})
    extras = {"metadata": {"a": "b"}, "store": True, "user": "u", "user_id": 5, "users": 3, "a field with blanks": 5}
    answer = client.post("/v1/embeddings", json={"input": "a", **extras})
    assert (answer.status_code, answer.json()["data"]) == (200, plain.json()["data"])


def test_an_unknown_model_is_told_the_names_and_where_they_are_set(client) -> None:
    answer = client.post("/v1/embeddings", json={"model": "text-embedding-3-small", "input": "a"})
    said = answer.json()["error"]["message"]
    assert said.startswith("no such model here; known are bag-of-words, default (server.models")
    listed = [each["id"] for each in client.get("/v1/models").json()["data"]]
    assert listed == ["bag-of-words", "default"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"input": NaN}']
)
@pytest.mark.parametrize(
    "path", ["/v1/embeddings", "/v2/embed", "/api/embed", "/api/embeddings", "/embed", "/api/show"]
)
def test_a_body_that_is_no_object_is_refused_in_the_paths_shape(client, path, content) -> None:
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    body = answer.json()
    assert answer.status_code == 400
    said = {"/v2/embed": body.get("message"), "/v1/embeddings": body.get("error")}.get(path, body.get("error"))
    assert "JSON" in (said["message"] if isinstance(said, dict) else said)


def test_half_of_a_surrogate_pair_is_a_text_too(client) -> None:
    answer = client.post("/v1/embeddings", content=b'{"input": ["a \\ud83d b", "plain"]}')
    assert rows_of(answer).shape == (2, 64)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v2/embed", {"model": "default"}, "texts"),
        ("/v2/embed", {"texts": []}, "texts"),
        ("/v2/embed", {"texts": ["a"], "inputs": []}, "texts"),
        ("/v2/embed", {"texts": ["a"], "images": ["data:"]}, "images"),
        ("/v2/embed", {"texts": ["a"], "embedding_types": ["int8"]}, "int8"),
        ("/v2/embed", {"texts": ["a"], "embedding_types": ["float64"]}, "embedding_types"),
        ("/v2/embed", {"inputs": [{"content": [{"type": "image_url"}]}]}, "inputs"),
        ("/v2/embed", {"inputs": [3]}, "inputs"),
        ("/v2/embed", {"inputs": []}, "inputs"),
        ("/api/embed", {"input": "a"}, "model"),
        ("/api/embed", {"model": "default", "input": ["a", ""]}, "text 1"),
        ("/api/embeddings", {"model": "default", "prompt": 5}, "prompt"),
        ("/api/show", {"model": "nothing"}, "no such model"),
        ("/embed", {"inputs": 5}, "inputs"),
        ("/embed", {"inputs": "a", "prompt_name": "x"}, "prompt_name"),
        ("/embed", {"inputs": "a", "truncation_direction": "Up"}, "truncation_direction"),
    ],
)
def test_other_shapes_refuse_in_their_own_words(client, path, body, said) -> None:
    answer = client.post(path, json=body)
    told = answer.json()
    assert answer.status_code in (400, 404)
    assert said in (told["message"] if path == "/v2/embed" else told["error"])
    if path == "/embed":
        assert told["error_type"] == "validation"


def test_cohere_takes_inputs_of_text_parts(client) -> None:
    parts = [{"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}]
    answer = client.post("/v2/embed", json={"inputs": parts, "input_type": "search_document"})
    plain = client.post("/v2/embed", json={"texts": ["one\ntwo"], "input_type": "search_document"})
    assert answer.json()["embeddings"] == plain.json()["embeddings"]


def test_tei_says_what_it_takes_and_normalises_when_asked(tmp_path) -> None:
    with (
        LoopbackProvider(vector=lambda text, width: [3.0, 4.0] + [0.0] * (width - 2)) as upstream,
        serving(tmp_path, upstream_config(upstream, tmp_path)) as served,
    ):
        unit = post(f"{served.root}/embed", json={"inputs": "a"}).json()
        raw = post(f"{served.root}/embed", json={"inputs": ["a"], "normalize": False}).json()
        info = get(f"{served.root}/info").json()
    assert unit[0][:2] == [pytest.approx(0.6), pytest.approx(0.8)]
    assert raw[0][:2] == [3.0, 4.0]
    assert info["model_id"] == "up"
    assert info["max_input_length"] >= 1 << 20
    assert info["auto_truncate"] is False


def test_ollama_answers_what_its_clients_ask_first(client) -> None:
    assert client.get("/api/version").json()["version"].count(".") == 2
    assert client.get("/api/tags").json()["models"][0]["model"] == "bag-of-words"
    assert client.get("/api/ps").json() == client.get("/api/tags").json()
    shown = client.post("/api/show", json={"name": "bag-of-words:latest"}).json()
    assert shown["model_info"]["embedding.embedding_length"] == 64
    assert client.post("/api/embeddings", json={"model": "default", "prompt": ""}).json() == {"embedding": []}


# -- models by name ------------------------------------------------------------------------------------------


def test_upstreams_by_model_name(tmp_path) -> None:
    with LoopbackProvider(dimensions=8) as one, LoopbackProvider(dimensions=16) as two:
        config = upstream_config(one, tmp_path) | {
            "server": {
                "models": {
                    "large": {"provider": "openai", "baseURL": two.url, "apiKey": "k2", "model": "their-large"},
                    "text-embedding-3-*": {"provider": "openai", "baseURL": two.url, "apiKey": "k2"},
                    "alias": "large",
                    "old-alias": "alias",
                }
            }
        }
        with serving(tmp_path, config) as served:
            widths = {}
            for name in ("up", "default", "openai/up", "large", "alias", "old-alias", "text-embedding-3-small", None):
                body = {"input": f"a text for {name}", **({"model": name} if name else {})}
                answer = post(f"{served.url}/embeddings", json=body)
                widths[name] = rows_of(answer).shape[1]
                assert answer.json()["model"] == (name or "up")
            listed = [model["id"] for model in get(f"{served.url}/models").json()["data"]]
            missing = get(f"{served.url}/models/some/other")
        sent = [seen.body["model"] for seen in two.requests]
    assert widths == {
        "up": 8, "default": 8, "openai/up": 8, None: 8,
        "large": 16, "alias": 16, "old-alias": 16, "text-embedding-3-small": 16,
    }  # fmt: skip
    assert sent == ["their-large"] * 3 + ["text-embedding-3-small"]
    assert listed == ["up", "default", "large", "alias", "old-alias"]
    assert missing.status_code == 404


def test_many_callers_have_more_requests_in_flight_than_one(tmp_path) -> None:
    """A single embedder's eight would be 80 requests a second at 100 ms."""
    with LoopbackProvider(latency=0.3) as upstream:
        with (
            serving(tmp_path, upstream_config(upstream, tmp_path)) as served,
            ThreadPoolExecutor(40) as pool,
            client_of(served) as client,
        ):
            asked = [pool.submit(client.post, "/v1/embeddings", json={"input": f"text {n}"}) for n in range(40)]
            assert {each.result().status_code for each in asked} == {200}
        assert upstream.in_flight_max > 16
        config = load_config(upstream_config(upstream, tmp_path, concurrency=3))
        assert Upstreams(config, ServerSettings.of(config))().concurrency == 3


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"a": "b"}, "server.models.a: found 'b', which names no model here"),
        ({"a": "b", "b": "a"}, "lead back to themselves"),
        ({"a": {"provider": "openai", "model": "m"}}, "needs a key"),
    ],
)
def test_a_wrong_upstream_ends_the_start(models, said, monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = load_config({"embedding": {"provider": "hashing", "cache": False}, "server": {"models": models}})
    with pytest.raises(ConfigError, match=said):
        Upstreams(config, ServerSettings.of(config)).open()


def test_widths_and_patterns_asked_at_random_stay_few(tmp_path) -> None:
    config = {
        "embedding": {"provider": "hashing", "cache": False},
        "server": {"models": {"h-*": {"provider": "hashing", "cache": False}}},
    }
    loaded = load_config(config)
    upstreams = Upstreams(loaded, ServerSettings.of(loaded))
    widths = [upstreams.of_width(None, n).embed("a").shape[0] for n in range(1, 200)]
    assert widths == list(range(1, 200))
    assert len(upstreams._sized) <= 64
    for n in range(64):
        upstreams(f"h-{n}")
    with pytest.raises(Exception, match="too many models of one pattern"):
        upstreams("h-64")


def test_a_width_that_the_table_excludes_is_refused_at_once(tmp_path) -> None:
    with serving(tmp_path, {"embedding": {"cache": False}}) as served:
        answer = post(f"{served.url}/embeddings", json={"input": "a", "dimensions": 100})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "dimensions"
    assert "384" in answer.json()["error"]["message"]


# -- refusals from upstream ----------------------------------------------------------------------------------

QUOTA = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"keys": ["another"]}, 502, "upstream_auth"),
        ({"models": ["another"]}, 404, "model_not_found"),
        ({"troubles": [Trouble(status=429, body=TOO_LARGE, times=None)]}, 413, "request_too_large"),
        ({"troubles": [Trouble(status=429, body=QUOTA, times=None)]}, 429, "insufficient_quota"),
        ({"troubles": [Trouble(kind="duplicate", times=None)]}, 502, "upstream_bad_reply"),
        ({"troubles": [Trouble(kind="hang", times=None)]}, 504, "upstream_timeout"),
        ({"matryoshka": False}, 400, "invalid_dimensions"),
    ],
)
def test_a_refusal_from_upstream_is_told_without_its_words(tmp_path, options, status, code) -> None:
    with LoopbackProvider(**options) as upstream:
        hangs = status == 504
        config = upstream_config(upstream, tmp_path, timeout=0.3 if hangs else 30.0)
        with serving(tmp_path, config, timeout=1.0 if hangs else 60.0) as served:
            body = {"input": "a very private text", **({"dimensions": 8} if "matryoshka" in options else {})}
            answer = post(f"{served.url}/embeddings", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert ("retry-after" in answer.headers) == (code in ("rate_limit_exceeded", "overloaded"))
    for secret in ("upstream-secret", "private", "127.0.0.1", "Traceback"):
        assert secret not in answer.text


LATER = {"error": {"message": "Rate limit reached for requests", "code": "rate_limit_exceeded"}}


def limited(retry_after: str | None) -> Trouble:
    return Trouble(status=429, body=LATER, headers={"retry-after": retry_after} if retry_after else {}, times=None)


@pytest.mark.parametrize(
    ("trouble", "status", "code"),
    [
        (limited("0.2"), 429, "rate_limit_exceeded"),
        (limited(None), 429, "rate_limit_exceeded"),
        (Trouble(status=503, body="overloaded", headers={"retry-after": "2"}, times=None), 503, "overloaded"),
    ],
)
def test_a_refusal_that_outlasts_the_time_is_told_as_what_it_is(tmp_path, trouble, status, code) -> None:
    """The time ran out because the upstream takes no more: 429 and when to come back, not 504."""
    with (
        LoopbackProvider(troubles=[trouble]) as upstream,
        serving(tmp_path, upstream_config(upstream, tmp_path), timeout=1.0) as served,
    ):
        answer = post(f"{served.url}/embeddings", json={"input": "a"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), answer.text
    assert int(answer.headers["retry-after"]) >= 1
    assert error["type"] == {429: "rate_limit_error", 503: "server_error"}[status]


def test_who_is_told_to_come_back_too_late_is_not_kept_waiting(tmp_path) -> None:
    """``retry-after: 40`` of an upstream, and 20 s for a request: the answer comes at once, also to others."""
    with LoopbackProvider(troubles=[limited("40")]) as upstream:
        with serving(tmp_path, upstream_config(upstream, tmp_path), timeout=20.0) as served:
            began = time.monotonic()
            first = post(f"{served.url}/embeddings", json={"input": "a"})
            asked = upstream.total
            second = post(f"{served.url}/embeddings", json={"input": "another"})
            took = time.monotonic() - began
        assert upstream.total == asked, "nobody is asked who has said not to be"
    assert took < 10
    for answer in (first, second):
        assert answer.status_code == 429, answer.text
        assert 25 <= int(answer.headers["retry-after"]) <= 40


def test_the_openai_sdk_hears_of_a_rate_limit_upstream(tmp_path) -> None:
    import openai

    with (
        LoopbackProvider(troubles=[limited("40")]) as upstream,
        serving(tmp_path, upstream_config(upstream, tmp_path), timeout=20.0) as served,
        openai.OpenAI(base_url=served.url, api_key="-", max_retries=0) as client,
        pytest.raises(openai.RateLimitError) as refused,
    ):
        client.embeddings.create(model="up", input="a")
    assert refused.value.code == "rate_limit_exceeded"


@pytest.mark.parametrize("status", [401, 403])
def test_the_key_that_an_upstream_refuses_is_not_the_callers(tmp_path, status) -> None:
    """A 401 would make a caller look for what is wrong with a key that is right."""
    refusal = Trouble(status=status, body={"error": {"message": "Incorrect API key", "code": "x"}}, times=None)
    with (
        LoopbackProvider(troubles=[refusal]) as upstream,
        serving(tmp_path, upstream_config(upstream, tmp_path), keys=["k" * 20]) as served,
    ):
        right = {"authorization": "Bearer " + "k" * 20}
        answer = post(f"{served.url}/embeddings", json={"input": "a"}, headers=right)
        wrong = post(f"{served.url}/embeddings", json={"input": "a"}, headers={"authorization": "Bearer x"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_auth")
    assert "the key that this server has for it" in answer.json()["error"]["message"]
    assert "www-authenticate" not in answer.headers
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "invalid_api_key")


def test_an_upstream_that_is_gone_is_502(tmp_path) -> None:
    with LoopbackProvider() as upstream:
        config = upstream_config(upstream, tmp_path)
    with serving(tmp_path, config, timeout=1.0) as served:
        answer = post(f"{served.url}/embeddings", json={"input": "a"})
    assert answer.status_code in (502, 504)
    assert str(upstream.root) not in answer.text


def test_chunking_off_gives_the_limit_away_and_nothing_else(tmp_path) -> None:
    config = {"embedding": {"provider": "hashing", "cache": False, "chunking": False}}
    with serving(tmp_path, config) as served:
        answer = post(f"{served.url}/embeddings", json={"input": ["a", LONG]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "context_length_exceeded")
    assert "8192 tokens" in error["message"]


@pytest.mark.parametrize("policy", ["error", "skip", "zero"])
def test_an_empty_text_among_others_is_named_by_its_place(tmp_path, policy) -> None:
    """Case 17, through the gateway: also where others are known already."""
    config = {"embedding": {"provider": "hashing", "cache": False, "dimensions": 8, "empty": policy}}
    with serving(tmp_path, config) as served:
        post(f"{served.url}/embeddings", json={"input": ["known"]})
        answer = post(f"{served.url}/embeddings", json={"input": ["known", "new", " ", "known"]})
    if policy == "zero":
        assert not rows_of(answer)[2].any()
    else:
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == "text 2 is empty or blank"
