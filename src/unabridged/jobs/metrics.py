"""Prometheus metrics of a job: what is asked of the provider, how it answers, how far the job is.

Labels are the job's id, the provider's model and kinds of refusals; never a text, a key or a row's id.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from unabridged.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from unabridged.errors import ProviderError
    from unabridged.jobs.meter import Observer
    from unabridged.jobs.state import JobProgress

__all__ = ["Metrics", "observers"]

# Seconds: an embedding request takes tens of milliseconds when all is well, and minutes when it is not.
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_STATES = ("done", "skipped", "failed")


class Metrics:
    """Counts for one job: an :class:`~unabridged.jobs.meter.Observer`, and a listener to its progress.

    ``registry`` is Prometheus' own by default. Raises :class:`~unabridged.errors.MissingExtra` without
    ``prometheus-client``.

    >>> from prometheus_client import CollectorRegistry
    >>> metrics = Metrics("books-1", registry=CollectorRegistry())
    >>> metrics(texts=64, tokens=900, seconds=0.05, error=None)
    >>> metrics.value("unabridged_tokens_total")
    900.0
    """

    def __init__(self, job: str, *, model: str = "", registry: Any = None) -> None:
        client = _client()
        self._registry = client.REGISTRY if registry is None else registry
        self._labels = {"job": job, "model": model}
        names, given = ("job", "model"), {"registry": self._registry}
        self._requests = client.Counter(
            "unabridged_requests", "Requests to the provider, by how they ended.", [*names, "outcome"], **given
        )
        self._texts = client.Counter("unabridged_texts", "Texts and chunks that were answered.", names, **given)
        self._tokens = client.Counter("unabridged_tokens", "Tokens billed.", names, **given)
        self._seconds = client.Histogram(
            "unabridged_request_seconds", "How long requests took.", names, buckets=_BUCKETS, **given
        )
        self._rows = client.Gauge("unabridged_job_rows", "Rows of the job, by state.", [*names, "state"], **given)
        self._total = client.Gauge("unabridged_job_rows_expected", "Rows of the source, if known.", names, **given)
        self._cost = client.Gauge("unabridged_job_cost", "What the job cost, in the price's money.", names, **given)
        self._all = (self._requests, self._texts, self._tokens, self._seconds, self._rows, self._total, self._cost)

    def __call__(self, *, texts: int, tokens: int, seconds: float, error: ProviderError | None) -> None:
        """A request is back."""
        outcome = "ok" if error is None else error.fault.kind
        self._requests.labels(**self._labels, outcome=outcome).inc()
        self._seconds.labels(**self._labels).observe(seconds)
        if error is None:
            self._texts.labels(**self._labels).inc(texts)
            self._tokens.labels(**self._labels).inc(tokens)

    def progress(self, state: JobProgress) -> None:
        """The job is so far."""
        counts = (state.rows - state.skipped - state.failed, state.skipped, state.failed)
        for name, count in zip(_STATES, counts, strict=True):
            self._rows.labels(**self._labels, state=name).set(count)
        if state.total is not None:
            self._total.labels(**self._labels).set(state.total)
        if state.cost is not None:
            self._cost.labels(**self._labels).set(state.cost)

    def value(self, name: str, **labels: str) -> float | None:
        """A sample's present value; ``None`` where there is none yet."""
        found: float | None = self._registry.get_sample_value(name, {**self._labels, **labels})
        return found

    @contextlib.contextmanager
    def served(self, port: int, *, address: str = "127.0.0.1") -> Iterator[int]:
        """Serve ``/metrics`` while the block runs; the port, for 0 is any that is free."""
        try:
            server, thread = _client().start_http_server(port, addr=address, registry=self._registry)
        except OSError as error:
            raise ConfigError("metrics", f"cannot listen on {address}:{port} ({error.strerror})") from None
        try:
            yield int(server.server_port)
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def write(self, path: Path) -> None:
        """Write all of it for node_exporter's textfile collector: whole, or not at all."""
        _client().write_to_textfile(str(path), self._registry)

    def close(self) -> None:
        """Take the metrics out of the registry."""
        for metric in self._all:
            self._registry.unregister(metric)


def observers(*several: Observer | None) -> Observer | None:
    """One observer that tells several; ``None`` of none.

    >>> observers(None) is None
    True
    """
    told = [one for one in several if one is not None]
    if len(told) < 2:
        return told[0] if told else None

    def tell(*, texts: int, tokens: int, seconds: float, error: ProviderError | None) -> None:
        for one in told:
            one(texts=texts, tokens=tokens, seconds=seconds, error=error)

    return tell


def _client() -> Any:
    try:
        import prometheus_client
    except ImportError:
        raise MissingExtra("prometheus-client", "metrics") from None
    return prometheus_client
