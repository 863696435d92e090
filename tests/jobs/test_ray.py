"""The same job on a Ray cluster: same output, one rate and one budget for all workers, lost workers replaced.

Without Ray the tests of the cluster are skipped.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pool_openers import Remote

from unabridged.embedding.cache import Entry
from unabridged.errors import ConfigError, MissingExtra, RateLimited
from unabridged.jobs.gate import Gate, GateLimits
from unabridged.jobs.meter import Meter, Spent, Stopped
from unabridged.jobs.redis_cache import RedisCache
from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings
from unabridged.jobs.shard import Shard
from unabridged.testing import LoopbackProvider, Trouble, vector_for
from unabridged.types import Request

HERE = Path(__file__).parent
TEXTS = [f"row {n} with a few words" for n in range(200)]
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra ray")

PROGRAM = textwrap.dedent(
    """
    import json, sys
    sys.path.insert(0, sys.argv[1])
    from pathlib import Path
    import pool_openers
    from unabridged.jobs.gate import GateLimits
    from unabridged.jobs.job import run_job
    from unabridged.jobs.ray import on_ray
    from unabridged.jobs.settings import JobSettings, SinkSettings, SourceSettings

    import ray
    env = {"env_vars": {"PYTHONPATH": sys.argv[1]}}
    ray.init(num_cpus=2, log_to_driver=False, configure_logging=False, include_dashboard=False, runtime_env=env)
    for about in json.loads(sys.argv[2]):
        folder = Path(about["folder"])
        opener = getattr(pool_openers, about["opener"])(*about["given"])
        source, sink = SourceSettings((str(folder / "in.jsonl"),)), SinkSettings(str(folder / "out.parquet"))
        jobs = {"folder": str(folder / "jobs"), "block_rows": 20, "cache": False, **about["job"]}
        runner = on_ray(rate=GateLimits(**about["rate"]), redis=about["redis"])
        report = run_job(JobSettings(source, sink, opener, **jobs), runner=runner)
        print("REPORT", json.dumps(report.to_dict()), flush=True)
    # The same cluster by the command line.
    from unabridged.cli.app import run

    about = json.loads(sys.argv[2])[1]
    flags = ["-o", about["folder"] + "/typed.parquet", "--folder", about["folder"] + "/jobs", "--model", "hashing"]
    code = run(["job", "run", about["folder"] + "/in.jsonl", *flags, "--ray", "auto", "--rate", "50"])
    print("TYPED", code, flush=True)
    """
)


@dataclass
class Ran:
    """What became of one job on the cluster."""

    folder: Path
    server: LoopbackProvider | None
    report: dict = field(default_factory=dict)

    @property
    def vectors(self):
        return np.stack(pq.read_table(self.folder / "out.parquet")["vector"].to_numpy())


@pytest.fixture(scope="module")
def ran(tmp_path_factory, redis_url):
    """Every job of these tests, on one cluster of two workers, in a process of its own as users' programs are."""
    jobs, told = [], {}
    with contextlib.ExitStack() as stack:

        def job(name, opener, *given, rate=None, redis=None, latency=None, **settings) -> None:
            folder = tmp_path_factory.mktemp(name)
            (folder / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
            server = None if latency is None else stack.enter_context(LoopbackProvider(latency=latency))
            places = {"URL": server.url if server else "", "FLAG": str(folder / "died")}
            about = {"folder": str(folder), "opener": opener, "given": [places[one] for one in given]}
            jobs.append({**about, "rate": rate or {}, "redis": redis, "job": settings})
            told[name] = Ran(folder, server)

        job("plain", "Remote", "URL", rate={"requests": 4}, latency=0.0)
        job("killed", "Deadly", "FLAG")
        job("shared", "DeadlyRemote", "URL", "FLAG", redis=redis_url, latency=0.0)
        job("budget", "Remote", "URL", latency=0.01, max_requests=5)
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(HERE), json.dumps(jobs)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
        assert "TYPED 0" in done.stdout.splitlines(), done.stderr[-3000:]
        for name, line in zip(told, lines, strict=True):
            told[name].report = json.loads(line.removeprefix("REPORT "))
        yield told


@needs_ray
def test_a_cluster_gives_what_threads_give_at_one_rate_for_all_workers(ran) -> None:
    plain = ran["plain"]
    assert (plain.report["status"], plain.report["counts"]["done"]) == ("done", 200)
    assert np.allclose(plain.vectors, np.stack([vector_for(t) for t in TEXTS]), atol=1e-6)
    assert plain.report["requests"] == plain.server.total
    assert sorted(plain.server.texts) == sorted(TEXTS)
    starts = sorted(seen.started for seen in plain.server.requests)
    over = len(starts) - 4  # a second's worth goes at once
    assert over > 3
    assert starts[-1] - starts[0] >= over / 4 * 0.8


@needs_ray
def test_a_worker_that_is_killed_is_replaced_and_its_shard_run_again(ran) -> None:
    killed = ran["killed"]
    assert (killed.folder / "died").exists()
    assert (killed.report["status"], killed.report["counts"]["done"], len(killed.vectors)) == ("done", 200, 200)


@needs_ray
def test_a_cluster_by_the_command_line(ran) -> None:
    rows = pq.read_table(ran["killed"].folder / "typed.parquet")
    assert np.array_equal(np.stack(rows["vector"].to_numpy()), ran["killed"].vectors)


@needs_ray
def test_what_a_lost_worker_paid_for_is_found_in_a_shared_cache(ran) -> None:
    shared = ran["shared"]
    assert (shared.folder / "died").exists()
    assert shared.report["status"] == "done"
    assert np.allclose(shared.vectors, np.stack([vector_for(t) for t in TEXTS]), atol=1e-6)
    assert sorted(shared.server.texts) == sorted(TEXTS)


@needs_ray
def test_a_budget_holds_for_the_cluster(ran) -> None:
    budget = ran["budget"]
    assert budget.report["status"] == "stopped"
    assert budget.report["reason"].startswith("max_requests")
    assert budget.report["requests"] == budget.server.total == 5


def test_without_ray_the_extra_is_named(monkeypatch) -> None:
    from unabridged.jobs import ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'unabridged\[ray\]'"):
        ray.on_ray()


@needs_ray
def test_settings_are_checked() -> None:
    from unabridged.jobs.ray import on_ray

    with pytest.raises(ConfigError, match="cpus_per_shard: found 0"):
        on_ray(cpus_per_shard=0)
    with pytest.raises(ConfigError, match=r"rate\.requests: found 0"):
        GateLimits(requests=0)


# What runs on a worker, here: Ray's workers are not seen by whoever counts lines.


class Handle:
    """An actor as its callers see it, in this process."""

    def __init__(self, actor) -> None:
        self.actor = actor

    def __getattr__(self, name):
        return SimpleNamespace(remote=getattr(self.actor, name))


@pytest.fixture
def here(monkeypatch):
    """Ray's ``get``, where everything is here already."""
    monkeypatch.setattr("unabridged.jobs.ray._ray", lambda: SimpleNamespace(get=lambda found: found))


def settings_of(folder: Path, url: str) -> JobSettings:
    source, sink = SourceSettings((str(folder / "in.jsonl"),)), SinkSettings(str(folder / "out.parquet"))
    return JobSettings(source, sink, Remote(url), folder=str(folder / "jobs"), cache=False)


def test_a_task_embeds_its_shard_once_and_the_gate_is_told(tmp_path, here, redis_url) -> None:
    from unabridged.jobs.ray import _embed

    table = pa.table({"id": ["a", "b"], "text": TEXTS[:2]})
    with LoopbackProvider() as server:
        settings, gate = settings_of(tmp_path, server.url), Gate(GateLimits())
        for redis in (None, redis_url):
            handle = Handle(gate)  # a worker has an embedder for each job, and so for each gate
            results = [_embed(Shard(1, 0, table), (settings, redis), handle) for _ in range(2)]
            assert [result.done for result in results] == [2, 2]
            assert np.array_equal(np.stack(results[0].table["vector"].to_numpy()), [vector_for(t) for t in TEXTS[:2]])
        news = gate.news()
        assert (news.requests, news.texts, news.refused) == (server.total, len(server.texts), 0)
        assert news.tokens > 0
        assert len(server.texts) == 6  # the last two answers lay in the shared cache


def test_a_worker_waits_for_the_gate_and_tells_what_was_refused(tmp_path, here) -> None:
    from unabridged.jobs.ray import _Gated

    with LoopbackProvider(troubles=[Trouble(status=429, headers={"Retry-After": "0.05"}, times=1)]) as server:
        gate = Gate(GateLimits(requests=20))
        embedder = Remote(server.url)(cache=False)
        gated = _Gated(embedder.provider, Handle(gate))
        assert (gated.name, gated.host) == (embedder.provider.name, embedder.provider.host)
        with pytest.raises(RateLimited):
            gated.send(Request(("one",)))
        began = time.monotonic()
        assert len(gated.send(Request(("one",))).vectors) == 1
        assert time.monotonic() - began >= 0.04  # what was asked of one holds for all
        news = gate.news()
        assert (news.requests, news.texts, news.refused) == (2, 2, 1)
        gate.stop()
        with pytest.raises(Stopped, match="asked to end"):
            gated.send(Request(("two",)))
        embedder.close()


@needs_ray
def test_what_a_worker_raised_is_raised_and_a_lost_one_is_told_in_words() -> None:
    import ray

    from unabridged.jobs.ray import RayRunner

    runner = object.__new__(RayRunner)
    runner._ray = ray
    shard = Shard(3, 10, pa.table({"id": ["a"], "text": ["one"]}))

    def landed(error: BaseException | None = None, result: object = None, *, cancelled: bool = False) -> Future:
        inner, outer = Future(), Future()
        if cancelled:
            inner.cancel()
        elif error is not None:
            inner.set_exception(error)
        else:
            inner.set_result(result)
        runner._landed(inner, shard, outer)
        return outer

    assert landed(result="done").result() == "done"
    cause = OSError(28, "No space left on device")
    assert landed(ray.exceptions.RayTaskError("f", "trace", cause)).exception() is cause
    assert str(landed(ray.exceptions.WorkerCrashedError()).exception()) == (
        "rows 10 to 11 of part 3: a worker of the cluster was lost 4 times (WorkerCrashedError)"
    )
    assert landed(cancelled=True).cancelled()


# The gate.


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def admitted(gate: Gate, clock: Clock, tokens: float, seconds: float) -> int:
    """How many requests get through in so many seconds, asked again as soon as they may be."""
    count, end = 0, clock.now + seconds
    while clock.now < end:
        wait = gate.admit(tokens)
        if wait == 0:
            count += 1
        else:
            clock.now += wait
    return count


@pytest.mark.parametrize(
    ("limits", "tokens", "expected"),
    [({"requests": 10}, 1, 110), ({"tokens": 100}, 20, 55), ({"requests": 100, "tokens": 100}, 20, 55)],
)
def test_a_rate_is_kept_to_a_burst(limits, tokens, expected) -> None:
    clock = Clock()
    assert abs(admitted(Gate(GateLimits(**limits), clock=clock), clock, tokens, 10) - expected) <= 1


def test_a_request_larger_than_the_burst_goes_and_is_paid_off() -> None:
    clock = Clock()
    gate = Gate(GateLimits(tokens=100), clock=clock)
    assert gate.admit(1000) == 0
    assert gate.admit(1) == pytest.approx(9.01)


def test_what_a_provider_asks_one_worker_to_wait_all_wait() -> None:
    clock = Clock()
    gate = Gate(GateLimits(), clock=clock)
    assert gate.admit(1) == 0
    gate.back(1, 1, 0, refused=True, retry_after=7.0)
    assert gate.admit(1) == 7.0
    clock.now = 7.0
    assert gate.admit(1) == 0


def test_budgets_count_what_is_under_way() -> None:
    gate = Gate(GateLimits(max_tokens=100, max_requests=3))
    assert gate.admit(60) == 0
    assert gate.admit(60).startswith("max_cost")
    gate.back(60, 2, 30, refused=False, retry_after=None)
    assert gate.admit(60) == 0
    assert gate.admit(10) == 0
    assert gate.admit(0).startswith("max_requests")
    assert gate.news() == Spent(3, 2, 30, 0)
    assert gate.news() == Spent()


def test_a_gate_that_is_stopped_lets_nothing_through() -> None:
    gate = Gate(GateLimits())
    assert gate.admit(1) == 0
    gate.stop()
    assert gate.admit(1) == "the job was asked to end"


def test_what_was_spent_elsewhere_is_in_the_log(tmp_path) -> None:
    meter = Meter(tmp_path / "log")
    meter.add(Spent(3, 20, 900, 1))
    meter.add(Spent())
    meter.add(Spent(1, 4, 50, 0))
    assert meter.spent == Spent(4, 24, 950, 1)
    meter.close()


# Redis.


@pytest.fixture(scope="module")
def redis_url():
    fakeredis = pytest.importorskip("fakeredis")
    import threading

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = fakeredis.TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"redis://127.0.0.1:{server.server_address[1]}/0"
    server.shutdown()
    server.server_close()
    thread.join()


def test_redis_keeps_entries_bit_for_bit_and_never_a_pickle(redis_url) -> None:
    import redis

    spans = np.array([[0, 5, 2, 0], [5, 9, 3, 1]], np.int64)
    entries = {bytes([n]) * 32: Entry(vector_for(str(n), 8), tokens=n, dispersion=0.5, spans=spans) for n in range(5)}
    with RedisCache(redis_url) as cache, redis.Redis.from_url(redis_url) as raw:
        cache.put(entries)
        found = cache.get([*entries, b"x" * 32])
        assert found.keys() == entries.keys()
        assert all(np.array_equal(found[key].vector, entries[key].vector) for key in entries)
        assert np.array_equal(found[b"\1" * 32].spans, spans)
        raw.set(b"unabridged:1:" + b"\1" * 32, b"\x80\x04\x95 a pickle")
        with pytest.warns(RuntimeWarning, match="1 entries of the Redis cache are damaged"):
            assert len(cache.get(entries)) == 4
        raw.close()


def test_redis_entries_may_expire(redis_url) -> None:
    with RedisCache(redis_url, seconds=1) as cache:
        cache.put({b"k" * 32: Entry(vector_for("a", 8))})
        assert len(cache.get([b"k" * 32])) == 1
        time.sleep(1.2)
        assert cache.get([b"k" * 32]) == {}


def test_a_redis_that_is_away_costs_a_warning_not_the_vectors() -> None:
    with RedisCache("redis://127.0.0.1:1/0") as cache:
        with pytest.warns(RuntimeWarning, match=r"could not be read \(ConnectionError\)"):
            assert cache.get([b"k" * 32]) == {}
        with pytest.warns(RuntimeWarning, match="could not be written"):
            cache.put({b"k" * 32: Entry(vector_for("a", 8))})


def test_redis_settings_are_checked(monkeypatch) -> None:
    with pytest.raises(ConfigError, match="redis: "):
        RedisCache("http://localhost")
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtra, match=r"unabridged\[redis\]"):
        RedisCache("redis://localhost")
