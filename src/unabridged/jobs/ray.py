"""Shards as tasks of a Ray cluster: the same function, the same journal, one commit, all of them on this side.

Ray carries shards out and results back, and nothing else (FINDINGS §7: its own writer deadlocked on two CPUs).
Workers have embedders, and so sessions with the provider, of their own; they ask one gate before each request,
so that a rate or a budget holds for the cluster; a task whose worker is lost is run again by Ray. Answers that
were paid for on a lost worker are found again where workers share a cache (Redis).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from unabridged.errors import ConfigError, JobError, MissingExtra, ProviderError
from unabridged.jobs.embed import open_embedder, run_shard
from unabridged.jobs.gate import Gate, GateLimits
from unabridged.jobs.meter import Meter, Stopped, estimate
from unabridged.jobs.state import REQUESTS
from unabridged.types import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from unabridged.embedding.embedder import Embedder
    from unabridged.jobs.answers import Answers
    from unabridged.jobs.settings import JobSettings
    from unabridged.jobs.shard import Shard, ShardResult
    from unabridged.types import Provider, Reply, Request

__all__ = ["RayRunner", "on_ray"]

_LOSSES = 3  # times that one shard is run again because its worker was lost
_TELL_EVERY = 2.0  # seconds between two looks at what was spent
_AHEAD = 2  # shards in hand for each CPU of the cluster


def on_ray(
    address: str | None = None,
    *,
    cpus_per_shard: float = 1.0,
    rate: GateLimits | None = None,
    redis: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[[JobSettings, Embedder, Answers], RayRunner]:
    """The ``runner`` of :func:`~unabridged.jobs.job.run_job` for a Ray cluster.

    ``address`` is the cluster's (``auto``, ``ray://…``); without one, the cluster that this process is connected
    to, else one on this machine. ``rate`` holds for all workers together; ``redis`` is the URL of a cache that
    they share; ``options`` are those of ``ray.init``.

    Raises :class:`~unabridged.errors.MissingExtra` without ``ray``.
    """
    _ray()
    if cpus_per_shard <= 0:
        raise ConfigError("cpus_per_shard", f"found {cpus_per_shard}, expected a number above 0")
    where = _Where(address, cpus_per_shard, rate or GateLimits(), redis, dict(options or {}))

    def make(settings: JobSettings, embedder: Embedder, answers: Answers) -> RayRunner:  # noqa: ARG001
        return RayRunner(settings, where)

    return make


@dataclass(frozen=True, slots=True)
class _Where:
    address: str | None
    cpus: float
    rate: GateLimits
    redis: str | None
    options: dict[str, Any]


class RayRunner:
    """A :class:`~unabridged.jobs.flow.Runner` over a Ray cluster. Settings must be picklable."""

    def __init__(self, settings: JobSettings, where: _Where) -> None:
        ray = self._ray = _ray()
        self._ours = not ray.is_initialized()
        if self._ours:
            quiet = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
            ray.init(address=where.address, **{**({} if where.address else quiet), **where.options})
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1) / where.cpus)) * _AHEAD
        self._meter = Meter(settings.place / REQUESTS)
        self._gate = ray.remote(Gate).options(num_cpus=0, max_concurrency=8).remote(_left(settings, where, self._meter))
        self._task = ray.remote(_embed).options(num_cpus=where.cpus, max_retries=_LOSSES, retry_exceptions=False)
        self._given = ray.put((settings, where.redis))
        self._lock = threading.Lock()
        self._looked = time.monotonic()

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """Begin a shard."""
        future: Future[ShardResult] = Future()
        inner = self._task.remote(shard, self._given, self._gate).future()
        inner.add_done_callback(lambda done: self._landed(done, shard, future))
        return future

    def landed(self) -> int:
        """Of what is under way on the cluster nothing is known but what it spends."""
        if time.monotonic() - self._looked >= _TELL_EVERY:
            self._tell()
        return 0

    def noted(self, shard: Shard) -> None:
        """A shard is in the journal; what was spent meanwhile goes into the log of requests."""
        self._tell()

    def halt(self) -> None:
        """The gate lets nothing more through."""
        self._gate.stop.remote()

    def close(self) -> None:
        """Let the cluster go; one that was begun for this job ends."""
        self._tell()
        self._meter.close()
        self._ray.kill(self._gate)
        if self._ours:
            self._ray.shutdown()

    def _landed(self, done: Future[Any], shard: Shard, future: Future[ShardResult]) -> None:
        error = None if done.cancelled() else done.exception()
        with contextlib.suppress(Exception):  # the job has ended meanwhile, and nobody waits
            if done.cancelled():
                future.cancel()
            elif error is not None:
                future.set_exception(self._told(error, shard))
            else:
                future.set_result(done.result())

    def _told(self, error: BaseException, shard: Shard) -> BaseException:
        """What was raised on a worker as it was raised; a lost worker in our own words."""
        cause = getattr(error, "cause", None)
        if isinstance(error, self._ray.exceptions.RayTaskError) and isinstance(cause, BaseException):
            return cause
        where = f"rows {shard.first:,} to {shard.after:,} of part {shard.part}"
        return JobError(f"{where}: a worker of the cluster was lost {_LOSSES + 1} times ({type(error).__name__})")

    def _tell(self) -> None:
        """Into the job's log of requests, what the workers have sent since."""
        self._looked = time.monotonic()
        with self._lock, contextlib.suppress(self._ray.exceptions.RayError, OSError):
            self._meter.add(self._ray.get(self._gate.news.remote()))


def _left(settings: JobSettings, where: _Where, meter: Meter) -> GateLimits:
    """The limits of the cluster, with what earlier runs have left of the budget."""
    spent = meter.spent
    most = settings.max_requests
    tokens = None if settings.max_cost is None or settings.price is None else settings.max_cost / settings.price * 1e6
    return replace(
        where.rate,
        max_requests=None if most is None else max(most - spent.requests, 0),
        max_tokens=None if tokens is None else max(tokens - spent.tokens, 0.0),
    )


# -- on a worker ------------------------------------------------------------------------------------

_here: dict[str, Embedder] = {}
_opening = threading.Lock()


def _embed(shard: Shard, given: tuple[JobSettings, str | None], gate: Any) -> ShardResult:
    """A task: the shard function with this worker's embedder."""
    settings, redis = given
    logging.getLogger("unabridged").setLevel(logging.WARNING)
    with _opening:
        key = f"{settings.place}\0{gate}"
        if key not in _here:
            _here[key] = _open(settings, redis, gate)
    return run_shard(shard, settings, embedder=_here[key])


def _open(settings: JobSettings, redis: str | None, gate: Any) -> Embedder:
    shared = None
    if redis is not None:
        from unabridged.jobs.redis_cache import RedisCache

        shared = RedisCache(redis)

    def around(provider: Provider) -> Provider:
        return cast("Provider", _Gated(provider, gate))

    embedder = open_embedder(settings, cast("Meter", around))
    if shared is not None:
        embedder.through(lambda provider: provider, cast("Any", shared))
    return embedder


class _Gated:
    """A provider whose requests pass the cluster's gate."""

    def __init__(self, inner: Provider, gate: Any) -> None:
        self._inner = inner
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def send(self, request: Request) -> Reply:
        """Wait for the gate, send, and tell it what became of it."""
        ray = _ray()
        tokens = estimate(request)
        while (said := ray.get(self._gate.admit.remote(tokens))) != 0.0:
            if isinstance(said, str):
                raise Stopped(said, Fault("quota"))
            time.sleep(said)
        billed, refused, hold = 0, False, None
        try:
            reply = self._inner.send(request)
            billed = reply.tokens if reply.tokens is not None else int(tokens)
        except ProviderError as error:
            refused, hold = True, error.fault.retry_after
            raise
        finally:
            self._gate.back.remote(tokens, len(request.texts), billed, refused=refused, retry_after=hold)
        return reply


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    return ray
