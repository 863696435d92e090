"""OpenTelemetry spans: one for a run of a job, one for each request inside it.

Attributes follow the conventions for generative AI (``gen_ai.*``); none holds a text, a key or a vector.
Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from unabridged.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.errors import ProviderError
    from unabridged.jobs.state import JobReport

__all__ = ["Spans"]

_SCOPE = "unabridged"


class Spans:
    """Spans of one job: an :class:`~unabridged.jobs.meter.Observer` inside the block of :meth:`run`.

    ``provider`` is OpenTelemetry's tracer provider (default: the global one). Raises
    :class:`~unabridged.errors.MissingExtra` without ``opentelemetry-api``.

    >>> from opentelemetry.sdk.trace import TracerProvider
    >>> spans = Spans("books-1", model="openai/text-embedding-3-small", provider=TracerProvider())
    >>> with spans.run():
    ...     spans(texts=64, tokens=900, seconds=0.05, error=None)
    """

    def __init__(self, job: str, *, model: str = "", provider: Any = None) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise MissingExtra("opentelemetry-api", "telemetry") from None
        self._trace = trace
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=provider)
        system, _, name = model.partition("/")
        self._job = job
        self._model = {"gen_ai.provider.name": system, "gen_ai.request.model": name or system} if model else {}
        self._context: Any = None

    @contextlib.contextmanager
    def run(self) -> Iterator[Spans]:
        """One run of the job: what it raises is recorded by its kind, without its message."""
        about = {"unabridged.job": self._job, **self._model}
        with self._tracer.start_as_current_span(
            "unabridged.job", attributes=about, record_exception=False, set_status_on_exception=False
        ) as span:
            self._context = self._trace.set_span_in_context(span)
            try:
                yield self
            except BaseException as error:
                self._fail(span, type(error).__name__)
                raise
            finally:
                self._context = None

    def report(self, report: JobReport) -> None:
        """What the run ended with, on its span."""
        counts = report.counts
        self._trace.get_current_span().set_attributes(
            {
                "unabridged.status": report.status,
                "unabridged.rows": counts.rows,
                "unabridged.rows.done": counts.done,
                "unabridged.rows.skipped": counts.skipped,
                "unabridged.rows.failed": counts.failed,
                "gen_ai.usage.input_tokens": report.tokens,
            }
        )

    def __call__(self, *, texts: int, tokens: int, seconds: float, error: ProviderError | None) -> None:
        """A request is back: a span that ends now, from whichever thread sent it."""
        now = time.time_ns()
        span = self._tracer.start_span(
            "embeddings",
            context=self._context,
            kind=self._trace.SpanKind.CLIENT,
            start_time=now - int(seconds * 1e9),
            attributes={
                "gen_ai.operation.name": "embeddings",
                "gen_ai.usage.input_tokens": tokens,
                "unabridged.texts": texts,
                **self._model,
            },
        )
        if error is not None:
            self._fail(span, error.fault.kind)
            if error.fault.status is not None:
                span.set_attribute("http.response.status_code", error.fault.status)
        span.end(end_time=now)

    def _fail(self, span: Any, kind: str) -> None:
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, kind))
