"""What can be watched of a job: Prometheus metrics and OpenTelemetry spans, without a text or a key (promise 12)."""

from __future__ import annotations

import builtins
import json
import urllib.request

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from unabridged import Embedder
from unabridged.errors import AuthFailed, ConfigError, MissingExtra
from unabridged.jobs.job import run_job
from unabridged.jobs.metrics import Metrics, observers
from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings
from unabridged.jobs.telemetry import Spans
from unabridged.providers.openai import OpenAIProvider
from unabridged.testing import LoopbackProvider, Trouble

TEXTS = [f"private row {n}" for n in range(30)]


def settings_of(tmp_path, server) -> JobSettings:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in [*TEXTS, " "]))

    def opener(**overrides):
        return Embedder(OpenAIProvider("m", base_url=server.url, api_key="key-123456"), **overrides)

    source, sink = SourceSettings((str(tmp_path / "in.jsonl"),)), SinkSettings(str(tmp_path / "out.parquet"))
    return JobSettings(source, sink, opener, folder=str(tmp_path / "jobs"), cache=False, price=0.02, block_rows=10)


@pytest.fixture
def watched():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter, provider


def test_metrics_and_spans_say_what_the_server_saw(tmp_path, watched) -> None:
    exporter, provider = watched
    registry = CollectorRegistry()
    metrics = Metrics("job", model="openai/m", registry=registry)
    spans = Spans("job", model="openai/m", provider=provider)
    with LoopbackProvider(troubles=[Trouble(status=503, times=1)]) as server:
        with spans.run():
            report = run_job(
                settings_of(tmp_path, server), observer=observers(metrics, None, spans), progress=metrics.progress
            )
            spans.report(report)
        assert metrics.value("unabridged_requests_total", outcome="ok") == server.total - 1
        assert metrics.value("unabridged_requests_total", outcome="upstream_error") == 1
        assert metrics.value("unabridged_texts_total") == 30
        assert metrics.value("unabridged_tokens_total") == report.tokens
        assert metrics.value("unabridged_request_seconds_count") == server.total
        assert metrics.value("unabridged_job_rows", state="done") == 30
        assert metrics.value("unabridged_job_rows", state="skipped") == 1
        assert metrics.value("unabridged_job_rows_expected") in {31, None}
        assert metrics.value("unabridged_job_cost") == pytest.approx(report.cost)
        made = exporter.get_finished_spans()
        requests = [span for span in made if span.name == "embeddings"]
        (run,) = [span for span in made if span.name == "unabridged.job"]
        assert len(requests) == server.total
        assert all(span.parent.span_id == run.context.span_id for span in requests)
        assert all(span.end_time > span.start_time for span in requests)
        assert sum(span.attributes["unabridged.texts"] for span in requests) >= 30
        (refused,) = [span for span in requests if "error.type" in span.attributes]
        assert (refused.attributes["error.type"], refused.attributes["http.response.status_code"]) == (
            "upstream_error",
            503,
        )
        assert requests[0].attributes["gen_ai.provider.name"] == "openai"
        assert run.attributes["unabridged.rows.done"] == 30
        assert run.attributes["gen_ai.usage.input_tokens"] == report.tokens
        everything = " ".join(span.to_json() for span in made)
        assert "private" not in everything
        assert "key-123456" not in everything


def test_a_run_that_raises_is_an_error_without_a_message(tmp_path, watched) -> None:
    exporter, provider = watched
    spans = Spans("job", provider=provider)
    with LoopbackProvider(keys=["other"]) as server, pytest.raises(AuthFailed), spans.run():
        run_job(settings_of(tmp_path, server), observer=spans)
    (run,) = [span for span in exporter.get_finished_spans() if span.name == "unabridged.job"]
    assert run.attributes["error.type"] == "AuthFailed"
    assert not run.status.is_ok
    assert run.events == ()


def test_metrics_are_served_and_written(tmp_path) -> None:
    metrics = Metrics("job", registry=CollectorRegistry())
    metrics(texts=2, tokens=7, seconds=0.03, error=None)
    with metrics.served(0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            served = answer.read().decode()
        with pytest.raises(ConfigError, match="cannot listen"), metrics.served(port):
            pass
    metrics.write(tmp_path / "job.prom")
    written = (tmp_path / "job.prom").read_text()
    for text in (served, written):
        assert 'unabridged_tokens_total{job="job",model=""} 7.0' in text
        assert 'unabridged_request_seconds_bucket{job="job",le="0.05",model=""} 1.0' in text


def test_two_jobs_one_after_another_share_a_registry() -> None:
    registry = CollectorRegistry()
    for name in ("one", "two"):
        metrics = Metrics(name, registry=registry)
        assert metrics.value("unabridged_tokens_total") is None
        metrics.close()


@pytest.mark.parametrize(("make", "package"), [(Metrics, "prometheus_client"), (Spans, "opentelemetry")])
def test_a_missing_package_names_its_extra(make, package, monkeypatch) -> None:
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'unabridged\["):
        make("job")
