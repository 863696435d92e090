"""Provider batch APIs: files, states, order, faults, expiry, limits; and that no crash pays twice (issue 9, item 3)."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter

import numpy as np
import pytest

from unabridged import Embedder
from unabridged.errors import (
    AuthFailed,
    ConfigError,
    EmbeddingFailed,
    JobError,
    Overflow,
    ProviderError,
    ProviderTimeout,
    RateLimited,
)
from unabridged.jobs.batch_book import BatchBook, BookedLine
from unabridged.jobs.batches import BatchedOpener, BatchedProvider
from unabridged.providers.batches import BatchItem, BatchLimits, batch_api, batch_discount
from unabridged.providers.registry import open_provider
from unabridged.testing import vector_for
from unabridged.testing.batches import BatchServer, BatchTrouble
from unabridged.types import Limit, Request

MODELS = {"openai": "text-embedding-3-small", "gemini": "gemini-embedding-001", "voyage": "voyage-4"}
QUICK = {"linger": 0.05, "poll": (0.01, 0.05)}
TOGETHER = {"linger": 0.5}  # on a busy machine too, what is asked at once goes in one file
TEXTS = [f"text number {n}" for n in range(40)]


@pytest.fixture(params=sorted(MODELS))
def dialect(request) -> str:
    return request.param


def provider_of(server: BatchServer, **options):
    return open_provider(
        server.dialect, model=MODELS[server.dialect], api_key="key-123456", base_url=server.url, **options
    )


def batched(server: BatchServer, folder, **options) -> BatchedProvider:
    return BatchedProvider(provider_of(server), folder, **{**QUICK, **options})


def vectors_of(texts, width: int = 32):
    return np.stack([vector_for(text, width) for text in texts])


def stages(provider: BatchedProvider) -> list[str]:
    return [one.stage for one in provider.book.batches()]


# What goes over the wire.


def test_an_embedder_by_batches_equals_one_without(dialect, tmp_path) -> None:
    with BatchServer(dialect) as server, Embedder(batched(server, tmp_path, **TOGETHER), cache=False) as embedder:
        result = embedder.embed_detailed([*TEXTS, "a longer text. " * 9000])
        assert np.allclose(result.vectors[:40], vectors_of(TEXTS), atol=1e-6)
        assert result[40].status == "chunked"
        assert len(server.batches) == 1
        assert max(server.paid.values()) == 1
        assert result.usage.tokens > 0


def test_answers_in_any_order_are_told_apart_by_their_ids(dialect, tmp_path) -> None:
    with BatchServer(dialect, shuffled=True) as server, batched(server, tmp_path, **TOGETHER) as provider:
        futures = [provider._submit(Request((text,))) for text in TEXTS]
        replies = [future.result(10) for future in futures]
        assert len(server.batches) == 1
    assert np.array_equal(np.concatenate([r.vectors for r in replies]), vectors_of(TEXTS))


def test_the_files_are_as_the_providers_document_them(tmp_path) -> None:
    lines = {}
    for dialect in MODELS:
        with BatchServer(dialect) as server:
            provider = provider_of(server)
            api = batch_api(provider)
            item = BatchItem("r0", provider.asked(Request(("one", "two"), "document", 16)))
            lines[dialect] = [json.loads(line) for line in api.lines(item)]
            provider.close()
    assert lines["openai"] == [
        {
            "custom_id": "r0",
            "method": "POST",
            "url": "/v1/embeddings",
            "body": {
                "model": "text-embedding-3-small",
                "input": ["one", "two"],
                "dimensions": 16,
                "encoding_format": "base64",
            },
        }
    ]
    assert lines["voyage"] == [{"custom_id": "r0", "body": {"input": ["one", "two"]}}]
    assert [line["key"] for line in lines["gemini"]] == ["r0-0", "r0-1"]
    assert lines["gemini"][1]["request"]["content"] == {"parts": [{"text": "two"}]}
    assert lines["gemini"][1]["request"]["outputDimensionality"] == 16


def test_roles_and_widths_go_in_batches_of_their_own(tmp_path) -> None:
    with BatchServer("voyage") as server, batched(server, tmp_path) as provider:
        asked = [Request(("a",)), Request(("a",), "query"), Request(("a",), dimensions=8)]
        replies = [future.result(10) for future in [provider._submit(one) for one in asked]]
        assert [r.vectors.shape[1] for r in replies] == [32, 32, 8]
        assert len(server.batches) == 3
        assert [b.lines[0][2]["input_type"] for b in server.batches] == ["document", "query", "document"]


def test_a_file_goes_when_it_is_full_by_inputs_requests_or_bytes(tmp_path) -> None:
    for at, limits in enumerate(
        [BatchLimits(100, 10, 10**6), BatchLimits(10, 100, 10**6), BatchLimits(100, 100, 10 * 275)]
    ):
        with BatchServer() as server, batched(server, tmp_path / str(at), limits=limits) as provider:
            futures = [provider._submit(Request((text,))) for text in TEXTS]
            assert np.array_equal(np.concatenate([f.result(10).vectors for f in futures]), vectors_of(TEXTS))
            sizes = [len(batch.lines) for batch in server.batches]
            assert sum(sizes) == 40
            assert max(sizes) <= 10
            assert len(sizes) <= 6


def test_the_limits_and_prices_of_each(dialect) -> None:
    provider = open_provider(dialect, model=MODELS[dialect], api_key="key-123456")
    limits = batch_api(provider).limits
    expected = {"openai": (50_000, 200_000_000), "voyage": (100_000, 1_000_000_000), "gemini": (50_000, 2_000_000_000)}
    assert (limits.inputs, limits.bytes) == expected[dialect]
    assert batch_discount(dialect) == {"openai": 0.5, "gemini": 0.5, "voyage": 0.67}[dialect]
    provider.close()


def test_a_provider_without_a_batch_api_is_refused_by_name(tmp_path) -> None:
    with pytest.raises(ConfigError, match="ollama has no batch API here; known are gemini, openai, voyage"):
        BatchedProvider(open_provider("ollama/nomic-embed-text"), tmp_path)


def test_files_are_deleted_on_the_other_side_once_their_answers_are_here(dialect, tmp_path) -> None:
    with BatchServer(dialect) as server, batched(server, tmp_path) as provider:
        provider.send(Request(("a text",)))
        until(lambda: not server.files)
    with BatchServer(dialect) as server, batched(server, tmp_path / "2", tidy=False) as provider:
        provider.send(Request(("a text",)))
        assert server.files
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".jsonl"] == []


# Faults.


def test_case_18_one_text_over_the_limit_is_cut_and_goes_in_the_next_batch(dialect, tmp_path) -> None:
    message = "This model's maximum context length is 100 tokens, however you requested 300 tokens."

    def refuse(text: str):
        return (400, message) if len(text) > 600 else None

    with BatchServer(dialect, refuse=refuse) as server:
        with Embedder(batched(server, tmp_path), cache=False, limit=Limit(input_tokens=8000)) as embedder:
            result = embedder.embed_detailed([*TEXTS, "words and more words. " * 60])
        assert {text.status for text in result[:40]} == {"ok"}
        assert result[40].status == "chunked"
        assert max(server.paid.values()) == 1
        assert 2 <= len(server.batches) <= 4


def test_a_refused_line_raises_what_it_would_have_raised_alone(dialect, tmp_path) -> None:
    refuse = {"bad": (400, "This model's maximum context length is 100 tokens, however you requested 300 tokens.")}
    with BatchServer(dialect, refuse=refuse.get) as server, batched(server, tmp_path) as provider:
        good, bad = provider._submit(Request(("good",))), provider._submit(Request(("bad",)))
        assert good.result(10).vectors.shape == (1, 32)
        with pytest.raises(Overflow) as caught:
            bad.result(10)
        assert (caught.value.fault.kind, caught.value.fault.limit) == ("input_overflow", 100)


def test_gemini_answers_each_text_by_itself(tmp_path) -> None:
    refuse = {"bad": (400, "invalid argument: text is not supported")}
    with BatchServer("gemini", refuse=refuse.get) as server, batched(server, tmp_path) as provider:
        with pytest.raises(ProviderError) as caught:
            provider.send(Request(("one", "bad", "two")))
        assert caught.value.fault.indices == (1,)
        reply = provider.send(Request(("two", "one")))
        assert np.array_equal(reply.vectors, vectors_of(["two", "one"]))
        assert len(server.batches) == 1
        assert server.paid == {"one": 1, "two": 1}


def test_what_a_batch_did_not_reach_is_sent_again_and_nothing_else(dialect, tmp_path) -> None:
    with BatchServer(dialect, ending=["expired", "completed"], share=0.5) as server:
        with Embedder(batched(server, tmp_path, **TOGETHER), cache=False) as embedder:
            result = embedder.embed_detailed(TEXTS)
        assert np.allclose(result.vectors, vectors_of(TEXTS), atol=1e-6)
        assert len(server.batches) >= 2
        assert server.paid == Counter(TEXTS)


def test_an_expired_request_is_a_time_out(tmp_path) -> None:
    with BatchServer(ending="expired", share=0.0) as server, batched(server, tmp_path) as provider:
        with pytest.raises(ProviderError) as caught:
            provider.send(Request(("a text",)))
        assert caught.value.fault.kind == "timeout"
        assert server.paid.total() == 0


def test_a_cancelled_batch_stops_the_job_and_keeps_what_it_has(dialect, tmp_path) -> None:
    with BatchServer(dialect, ending=["cancelled", "completed"], share=0.5) as server:
        embedder = Embedder(batched(server, tmp_path, **TOGETHER), cache=False, on_error="report")
        with embedder, pytest.raises(JobError, match="was cancelled; what it had answered is kept"):
            embedder.embed_detailed(TEXTS)
        assert len(server.batches) == 1
        with Embedder(batched(server, tmp_path, **TOGETHER), cache=False) as embedder:
            assert np.allclose(embedder.embed(TEXTS), vectors_of(TEXTS), atol=1e-6)
        assert server.paid == Counter(TEXTS)


def test_a_batch_that_fails_as_a_whole_says_why(dialect, tmp_path) -> None:
    with BatchServer(dialect, ending="failed") as server, batched(server, tmp_path) as provider:
        with pytest.raises(ProviderError, match=dialect):
            provider.send(Request(("a text",)))
        until(lambda: stages(provider) == ["collected"])
        assert server.paid.total() == 0


def test_too_much_at_once_goes_in_smaller_files(dialect, tmp_path) -> None:
    with BatchServer(dialect, enqueued=12) as server, batched(server, tmp_path) as provider:
        futures = [provider._submit(Request((text,))) for text in TEXTS]
        vectors = np.concatenate([future.result(20).vectors for future in futures])
        assert np.array_equal(vectors, vectors_of(TEXTS))
        assert server.paid == Counter(TEXTS)


def test_a_single_request_that_is_too_much_fails_and_says_so(tmp_path) -> None:
    with BatchServer(enqueued=1) as server, batched(server, tmp_path, **TOGETHER) as provider:
        with pytest.raises(RateLimited, match="rate limit"):
            provider.send(Request(("one", "two")))
        assert provider.send(Request(("one",))).vectors.shape == (1, 32)


def test_case_19_an_answer_that_is_missing_is_a_bad_reply(dialect, tmp_path) -> None:
    with BatchServer(dialect, lose=1) as server, batched(server, tmp_path, **TOGETHER) as provider:
        futures = [provider._submit(Request((text,))) for text in TEXTS]
        errors = [error for future in futures if (error := future.exception(10)) is not None]
        assert [error.fault.kind for error in errors] == ["bad_reply"]
        assert "no answer for a request of the batch" in str(errors[0])
        assert server.paid.total() == 40


def test_a_wrong_key_is_told_to_all_who_wait(dialect, tmp_path) -> None:
    with BatchServer(dialect, keys=["right-key"]) as server, batched(server, tmp_path) as provider:
        with pytest.raises(AuthFailed) as caught:
            provider.send(Request(("a text",)))
        assert "key-123456" not in str(caught.value)
        assert stages(provider) == ["abandoned"]


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        *((route, "status") for route in ("upload", "check", "download", "delete")),
        ("upload", "lost"),
        ("check", "drop"),
        ("download", "lost"),
    ],
)
def test_a_passing_fault_of_any_call_costs_nothing(route, kind, tmp_path) -> None:
    trouble = BatchTrouble(route=route, kind=kind)
    with BatchServer(troubles=[trouble]) as server, batched(server, tmp_path) as provider:
        assert np.array_equal(provider.send(Request(("a text",))).vectors, vectors_of(["a text"]))
        assert server.paid == {"a text": 1}
        assert len(server.batches) == 1


@pytest.mark.parametrize("kind", ["drop", "lost"])
def test_a_batch_whose_creation_was_not_answered_is_looked_for_first(dialect, kind, tmp_path) -> None:
    troubles = [BatchTrouble(route="create", kind=kind)]
    with BatchServer(dialect, troubles=troubles) as server, batched(server, tmp_path) as provider:
        provider.send(Request(("a text",)))
        assert len(server.batches) == 1
        assert server.paid == {"a text": 1}


def test_an_answer_that_cannot_be_downloaded_any_more_fails_its_requests(tmp_path) -> None:
    troubles = [BatchTrouble(route="download", status=404, body='{"error": {"message": "No such File object"}}')]
    with BatchServer(troubles=troubles) as server, batched(server, tmp_path) as provider:
        with pytest.raises(ProviderError, match="openai"):
            provider.send(Request(("a text",)))
        assert stages(provider) == ["abandoned"]
        provider.send(Request(("another",)))
        assert server.paid == {"a text": 1, "another": 1}


def test_a_file_of_answers_that_is_no_json_is_a_bad_reply(tmp_path) -> None:
    troubles = [BatchTrouble(route="download", status=200, body="<html>")]
    with BatchServer(troubles=troubles) as server, batched(server, tmp_path) as provider:
        error = provider._submit(Request(("a text",))).exception(10)
        assert "line 1 of a file of answers is no JSON object" in str(error)


def test_a_batch_that_never_ends_is_given_up_and_stays_in_the_book(tmp_path) -> None:
    with BatchServer(looks=10**6) as server, batched(server, tmp_path, patience=0.05) as provider:
        with pytest.raises(JobError, match="the next run looks again"):
            provider.send(Request(("a text",)))
        assert stages(provider) == ["created"]


def test_case_22_the_callers_time_out_is_kept(tmp_path) -> None:
    with BatchServer(looks=10**6) as server, batched(server, tmp_path) as provider:
        started = time.monotonic()
        with pytest.raises(ProviderTimeout, match="it goes on"):
            provider.send(Request(("a text",), timeout=0.3))
        assert time.monotonic() - started < 1.0


# Waiting.


def test_one_text_asked_by_many_is_in_one_batch_once(tmp_path) -> None:
    with BatchServer() as server, batched(server, tmp_path, **TOGETHER) as provider:
        futures = [provider._submit(Request(("same", f"own {n}", "same"))) for n in range(20)]
        for n, future in enumerate(futures):
            assert np.array_equal(future.result(10).vectors, vectors_of(["same", f"own {n}", "same"]))
        assert server.paid["same"] == 1
        assert len(server.batches) == 1


def test_case_29_what_is_in_the_book_is_not_asked_for(tmp_path) -> None:
    with BatchServer() as server, batched(server, tmp_path) as provider:
        provider.send(Request(("a",)))
        reply = provider.send(Request(("b", "a", "c")))
        assert np.array_equal(reply.vectors, vectors_of(["b", "a", "c"]))
        assert server.paid == {"a": 1, "b": 1, "c": 1}
        assert provider.book.forget() == 3
        provider.send(Request(("a",)))
        assert server.paid["a"] == 2


def test_promise_8_async_equals_sync(tmp_path) -> None:
    async def embed(server, folder):
        async with Embedder(batched(server, folder), cache=False) as embedder:
            return await embedder.aembed(TEXTS)

    with BatchServer() as server:
        assert np.allclose(asyncio.run(embed(server, tmp_path / "a")), vectors_of(TEXTS), atol=1e-6)
        with Embedder(batched(server, tmp_path / "b"), cache=False) as embedder:
            assert np.allclose(embedder.embed(TEXTS), vectors_of(TEXTS), atol=1e-6)


def test_closing_frees_those_who_wait_and_the_next_one_takes_the_batch_up(dialect, tmp_path) -> None:
    with BatchServer(dialect, looks=10**6) as server:
        provider = batched(server, tmp_path)
        future = provider._submit(Request(tuple(TEXTS)))
        until(lambda: server.batches)
        provider.close()
        with pytest.raises(JobError, match="it goes on"):
            future.result(5)
        server.looks = 0
        with batched(server, tmp_path) as again:
            reply = again.send(Request(tuple(reversed(TEXTS))))
            assert np.array_equal(reply.vectors, vectors_of(reversed(TEXTS)))
            assert stages(again) == ["collected"]
        assert len(server.batches) == 1
        assert server.paid == Counter(TEXTS)


def test_whoever_does_not_want_to_wait_any_more_is_freed_and_the_batch_goes_on(tmp_path) -> None:
    cancel = threading.Event()
    with BatchServer(looks=10**6) as server:
        with batched(server, tmp_path, cancel=cancel) as provider:
            threading.Timer(0.2, cancel.set).start()
            started = time.monotonic()
            with pytest.raises(JobError, match="taken up by the next run"):
                provider.send(Request(("a text",)))
            assert time.monotonic() - started < 5
        server.looks = 0
        with batched(server, tmp_path) as provider:
            provider.send(Request(("a text",)))
        assert server.paid == {"a text": 1}


def test_a_closed_provider_refuses(tmp_path) -> None:
    with BatchServer() as server:
        provider = batched(server, tmp_path)
        provider._dispatcher.close()
        with pytest.raises(JobError, match="ended"):
            provider.send(Request(("a text",)))
        provider.close()


def test_states_can_be_watched(tmp_path) -> None:
    seen = []
    with BatchServer(looks=2) as server, batched(server, tmp_path, watch=seen.append) as provider:
        provider.send(Request(("a text",)))
    assert [state.status for state in seen] == ["running", "running", "running", "done"]
    assert seen[-1].total == 1


def test_a_batch_can_be_cancelled(dialect, tmp_path) -> None:
    with BatchServer(dialect, looks=10**6, share=0.0) as server, batched(server, tmp_path) as provider:
        future = provider._submit(Request(("a text",)))
        until(lambda: server.batches)
        api = batch_api(provider._provider)
        api.cancel(server.batches[0].id)
        with pytest.raises(JobError, match="cancelled"):
            future.result(10)


# The book, and crashes.


def test_a_created_batch_is_found_by_its_key_over_pages(dialect, tmp_path) -> None:
    with BatchServer(dialect, looks=0) as server, batched(server, tmp_path) as provider:
        for n in range(5):
            provider.send(Request((f"text {n}",)))
        api = batch_api(provider._provider)
        for batch in server.batches:
            assert api.find(batch.key).id == batch.id
        assert api.find("no such key") is None


def test_a_batch_booked_but_never_created_is_abandoned_and_its_texts_are_new(dialect, tmp_path) -> None:
    with BatchServer(dialect) as server:
        with batched(server, tmp_path) as first:
            key = first._key(first._provider.asked(Request(("a text",))), "a text")
            for name, stage in (("k1", "prepared"), ("k2", "uploaded")):
                first.book.prepare(name, [BookedLine("r0", "document", None, (key,))], size=1)
                if stage == "uploaded":
                    first.book.move(name, stage, file="file-9999" if dialect != "gemini" else "files/9999")
        with batched(server, tmp_path) as provider:
            assert np.array_equal(provider.send(Request(("a text",))).vectors, vectors_of(["a text"]))
            assert stages(provider) == ["abandoned", "abandoned", "collected"]
        assert server.paid == {"a text": 1}


def test_a_batch_of_another_model_is_left_alone(tmp_path) -> None:
    with BatchServer() as server:
        with batched(server, tmp_path) as provider:
            provider.send(Request(("a text",)))
        other = open_provider("openai", model="text-embedding-3-large", api_key="key-123456", base_url=server.url)
        with BatchedProvider(other, tmp_path, **QUICK) as provider:
            assert provider.book.batches() == []
            provider.send(Request(("a text",)))
        assert server.paid["a text"] == 2


def test_promise_12_the_book_holds_no_text_and_no_key(tmp_path) -> None:
    with BatchServer() as server, batched(server, tmp_path) as provider:
        provider.send(Request(("something very private",)))
        data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"private" not in data
        assert b"key-123456" not in data
        assert "key-123456" not in repr(provider)


def test_a_book_that_cannot_be_written_stops_the_job_with_its_reason(tmp_path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JobError, match="cannot be used"):
        BatchBook(tmp_path / "file", service="a")
    with BatchServer() as server:
        provider = batched(server, tmp_path)
        provider.book._db.execute("DROP TABLE line")
        with pytest.raises(JobError, match="cannot be written"):
            provider.send(Request(("a text",)))
        provider.close()


def test_a_job_by_batches_is_half_the_price_and_else_the_same(dialect, tmp_path, monkeypatch) -> None:
    import pickle

    import pyarrow.parquet as pq

    from unabridged.jobs.job import run_job
    from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings

    monkeypatch.setenv(f"{dialect.upper()}_API_KEY", "key-123456")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    with BatchServer(dialect) as server:
        provider = {"base_url": server.url, "model": MODELS[dialect]}
        spec = Opened(dialect, provider)
        opener = pickle.loads(pickle.dumps(BatchedOpener(spec, str(tmp_path / "book"), QUICK)))
        source, sink = SourceSettings((str(tmp_path / "in.jsonl"),)), SinkSettings(str(tmp_path / "out.parquet"))
        report = run_job(JobSettings(source, sink, opener, folder=str(tmp_path / "jobs"), cache=False, block_rows=10))
        assert (report.status, report.counts.done) == ("done", 40)
        rows = pq.read_table(tmp_path / "out.parquet")
        assert np.allclose(np.stack(rows["vector"].to_numpy()), vectors_of(TEXTS), atol=1e-6)
        assert server.paid == Counter(TEXTS)
        assert len(server.batches) < 4


class Opened:
    """An opener as a configuration makes one."""

    def __init__(self, dialect, options) -> None:
        self.dialect, self.options = dialect, options

    def __call__(self, **overrides):
        return Embedder(open_provider(self.dialect, **self.options), **overrides)


KILLED = textwrap.dedent(
    """
    import sys
    from unabridged import Embedder
    from unabridged.jobs.batches import BatchedProvider
    from unabridged.providers.batches import BatchLimits
    from unabridged.providers.registry import open_provider

    url, folder, model, dialect = sys.argv[1:]
    provider = open_provider(dialect, model=model, api_key="key-123456", base_url=url)
    limits = BatchLimits(1000, 15, 10**6)
    batched = BatchedProvider(provider, folder, linger=0.05, poll=(0.02, 0.05), limits=limits, concurrency=8)
    with Embedder(batched, cache=False) as embedder:
        print(embedder.embed([f"text number {n}" for n in range(40)]).sum(), flush=True)
    """
)


@pytest.mark.parametrize(
    ("dialect", "moment"),
    [
        *(("openai", when) for when in ("upload", "create", "check", "download", "done")),
        ("gemini", "create"),
        ("voyage", "create"),
    ],
)
def test_promise_10_kill_9_at_any_moment_never_pays_twice(moment, dialect, tmp_path) -> None:
    arguments = [sys.executable, "-c", KILLED, "", str(tmp_path), MODELS[dialect], dialect]
    with BatchServer(dialect) as server:
        arguments[3] = server.url
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        if moment == "done":
            process.stdout.readline()
        else:
            until(lambda: server.calls[moment] > 0, 30)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=True)
        expected = float(vectors_of(TEXTS).sum())
        assert float(done.stdout) == pytest.approx(expected, abs=1e-3)
        assert server.paid == Counter(TEXTS)


def until(true, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.003)


def test_no_thread_is_left(tmp_path) -> None:
    with BatchServer() as server, batched(server, tmp_path) as provider:
        provider.send(Request(("a text",)))
    until(lambda: not [t for t in threading.enumerate() if t.name == "unabridged-batches"])


def test_a_request_that_failed_in_part_raises_for_the_embedder_with_the_rest_attached(tmp_path) -> None:
    refuse = {"bad": (400, "the input has characters that are not allowed")}
    with BatchServer(refuse=refuse.get) as server, Embedder(batched(server, tmp_path), cache=False) as embedder:
        with pytest.raises(EmbeddingFailed) as caught:
            embedder.embed([*TEXTS, "bad"])
        assert len(caught.value.result.failed) == 1
        assert server.paid == Counter(TEXTS)
