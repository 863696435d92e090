"""The promises of DESIGN §3 that hold for any text, any limit and any batching, by property tests."""

from __future__ import annotations

import asyncio

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import Server, covered

from unabridged import Chunking, Embedder, Limit
from unabridged.errors import ProviderError
from unabridged.types import Fault

ALPHABETS = [
    st.text(max_size=400),
    st.text(alphabet="ab .\n", max_size=1200),
    st.text(alphabet="中文。，\n a", max_size=800),
    st.text(alphabet="👨‍👩‍👧🇩🇪é\u0301x ", max_size=300),
    st.lists(st.sampled_from(["Dr. No", "3.14", "https://a.b/c?d=1.2", "word", "\n\n", ". ", "#"]), max_size=120).map(
        " ".join
    ),
]
TEXTS = st.one_of(ALPHABETS)
LIMITS = st.builds(
    Limit,
    input_tokens=st.integers(32, 200),
    request_inputs=st.integers(1, 20),
    input_chars=st.none() | st.integers(60, 400),
    request_tokens=st.none() | st.integers(200, 900),
)
RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@RELAXED
@given(TEXTS, LIMITS, st.integers(0, 15), st.booleans())
def test_promise_1_2_3_nothing_is_lost_nothing_is_over_and_what_fits_is_untouched(
    text, limit, overlap, announced
) -> None:
    server = Server(limit=limit, announced=announced)
    declared = None if announced else Limit(input_tokens=8192, request_inputs=limit.request_inputs)
    made = Embedder(server, cache=False, chunking=Chunking(overlap_tokens=overlap), limit=declared)
    result = made.embed_detailed([text], chunk_vectors=True) if text.strip() else None
    if result is None:
        assert made.embed(text).shape == (0,)
        return
    one = result[0]
    accepted = [t for r in server.requests if r not in server.refused for t in r.texts]
    assert all(server.tokenizer.count(t) <= limit.input_tokens for t in accepted)
    if one.status == "ok":
        assert accepted == [text]
        assert one.vector.tobytes() == server.truth(text).tobytes()
        return
    assert one.status == "chunked"
    assert covered(one.spans, text)
    for chunk, vector in zip(one.chunks, one.chunk_vectors, strict=True):
        assert text[chunk.start : chunk.end] == chunk.text
        raw = text.encode("utf-8", "surrogatepass")
        assert raw[chunk.start_byte : chunk.end_byte] == chunk.text.encode("utf-8", "surrogatepass")
        assert vector.tobytes() == server.truth(chunk.text).tobytes()
    assert abs(np.linalg.norm(one.vector) - 1) < 1e-4


@RELAXED
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=8), LIMITS, st.integers(1, 4))
def test_promise_8_any_batching_and_any_driver_give_the_same(texts, limit, concurrency) -> None:
    made = Embedder(Server(limit=limit), cache=False, concurrency=concurrency)
    together = made.embed(texts)
    assert np.allclose(together, np.stack([made.embed(t) for t in texts]), atol=1e-5)
    assert np.allclose(together, asyncio.run(made.aembed(texts)), atol=1e-5)


@RELAXED
@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6), LIMITS, st.booleans(), st.booleans())
def test_promise_5_every_retry_shrinks_the_work(texts, limit, numbers, indexed) -> None:
    server = Server(limit=limit, announced=False, numbers=numbers, indexed=indexed)
    made = Embedder(server, cache=False, limit=Limit(input_tokens=8192, request_inputs=20), max_requests_per_text=64)
    result = made.embed_detailed(texts)
    assert len(result) == len(texts)
    seen = [tuple(sorted(r.texts)) for r in server.refused]
    assert len(set(seen)) == len(seen), "no refused request is sent again as it was"


@RELAXED
@given(
    st.lists(st.text("ab .\n字", min_size=1, max_size=200).filter(str.strip), min_size=1, max_size=6),
    st.sampled_from([1, 32, 100, 5000, None]),
    st.sampled_from(["chunk", "truncate"]),
)
def test_promise_5_a_server_that_refuses_everything_is_asked_nothing_twice(texts, stated, policy) -> None:
    def never(server, request):
        return ProviderError("too long", Fault("input_overflow", "input", limit=stated, unit="tokens"))

    server = Server(rules=[never])
    made = Embedder(server, cache=False, limit=Limit(input_tokens=8192), on_error="report", on_overflow=policy)
    assert {one.status for one in made.embed_detailed(texts)} == {"failed"}
    seen = [tuple(sorted(r.texts)) for r in server.refused]
    assert len(set(seen)) == len(seen)


@RELAXED
@given(st.lists(st.sampled_from(["good one", "good two", "bad", "", "worse bad"]), min_size=1, max_size=30))
def test_promise_6_and_7_each_text_has_its_own_outcome(texts) -> None:
    from servers import holds, refuse

    server = Server(rules=[refuse("bad_request", when=holds("bad"))])
    made = Embedder(server, cache=False, on_error="report")
    made.embed("something that goes through")
    result = made.embed_detailed(texts)
    for text, one in zip(texts, result, strict=True):
        assert one.status == ("failed" if "bad" in text or not text else "ok")
        if one.status == "ok":
            assert one.vector.tobytes() == server.truth(text).tobytes()
