"""Issue 9, part 3: budgets hold over runs and processes; what was spent is known after a kill."""

from __future__ import annotations

import asyncio
import pickle
import threading

import pytest
from jobkit import Bench, Remote, texts

from unabridged.errors import ConfigError, ProviderError, RateLimited, UnreadableFile
from unabridged.jobs.embed import embedder_for, run_shard
from unabridged.jobs.flow import workers_for
from unabridged.jobs.meter import Meter, Stopped
from unabridged.jobs.places import find, place_of
from unabridged.jobs.settings import EmbedderSpec, JobSettings, SinkSettings, SourceSettings, default_jobs_folder
from unabridged.jobs.shards import Gaps, shards
from unabridged.jobs.source import open_source
from unabridged.providers.hashing import HashingProvider
from unabridged.testing import LoopbackProvider
from unabridged.types import Fault, Request


def test_requests_are_counted_over_all_who_share_the_log(tmp_path) -> None:
    one, two = (Meter(tmp_path / "requests.log", max_requests=3) for _ in range(2))
    first, second = one(HashingProvider()), two(HashingProvider())
    first.send(Request(("a text",)))
    second.send(Request(("a text", "another")))
    asyncio.run(first.asend(Request(("more",))))
    with pytest.raises(Stopped, match="3 requests are sent"):
        second.send(Request(("too much",)))
    assert (one.spent.requests, one.spent.texts, one.spent.tokens) == (3, 4, two.spent.tokens)
    assert two.reached is not None
    one.close()
    two.close()
    again = Meter(tmp_path / "requests.log")
    assert again.spent.requests == 3
    again.close()


def test_a_budget_counts_what_is_in_flight(tmp_path) -> None:
    meter = Meter(tmp_path / "requests.log", max_cost=10.0, price=1e6)  # ten tokens
    request = Request(("one two three four five six",))
    began = meter.before(request)
    assert began == 7
    with pytest.raises(Stopped, match="max_cost"):
        meter.before(request)
    meter.after(request, began, 0.0, None)
    meter.close()


def test_refusals_are_counted_and_cost_nothing(tmp_path) -> None:
    class Refusing(HashingProvider):
        def send(self, request):
            raise ProviderError("no", Fault("bad_request"))

        async def asend(self, request):
            raise RateLimited("slower", Fault("rate_limit"))

    seen: list[object] = []
    meter = Meter(tmp_path / "requests.log", observer=lambda **about: seen.append(about["error"]))
    provider = meter(Refusing())
    with pytest.raises(ProviderError):
        provider.send(Request(("a",)))
    with pytest.raises(RateLimited):
        asyncio.run(provider.asend(Request(("a",))))
    assert (meter.spent.requests, meter.spent.refused, meter.spent.tokens) == (2, 2, 0)
    assert [type(error) for error in seen] == [ProviderError, RateLimited]
    meter.close()


def test_a_metered_provider_is_the_provider_in_everything_else(tmp_path) -> None:
    meter, inner = Meter(tmp_path / "requests.log"), HashingProvider(dimensions=7)
    provider = meter(inner)
    for name in ("name", "host", "model", "limit", "settings", "tokenizer", "dimensions"):
        assert getattr(provider, name) == getattr(inner, name)
    provider.close()
    asyncio.run(provider.aclose())
    meter.close()


def test_asked_to_end_nothing_more_is_sent(tmp_path) -> None:
    cancel = threading.Event()
    meter = Meter(tmp_path / "requests.log", cancel=cancel)
    provider = meter(HashingProvider())
    provider.send(Request(("a",)))
    cancel.set()
    with pytest.raises(Stopped, match="asked to end"):
        provider.send(Request(("a",)))
    assert meter.spent.requests == 1
    meter.close()


def test_a_shard_runs_in_any_process_by_its_settings_alone(bench: Bench) -> None:
    with LoopbackProvider() as server:
        settings = bench.settings(bench.parquet(10), bench.out("out.parquet"), Remote(server.url))
        source = open_source(settings.source)
        (shard,) = shards(source, next(source.parts()), 0, Gaps([]), rows=16, characters=10**6)
        sent = pickle.loads(pickle.dumps((shard, settings)))
        result = pickle.loads(pickle.dumps(run_shard(*sent)))
        assert (result.done, result.rows, result.width, len(result.keys)) == (10, 10, 32, 160)
        assert result.table["id"].to_pylist() == [f"k{i}" for i in range(10)]
        assert embedder_for(settings) is embedder_for(sent[1])
        before = server.total
        run_shard(*sent)
        assert server.total == before  # this process keeps its answers in the job's folder
        assert (settings.place / "requests.log").stat().st_size
        embedder_for(settings).close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_requests": 0}, "max_requests: found 0"),
        ({"max_cost": 1.0}, "max_cost: needs a price"),
        ({"block_rows": 0}, "block_rows: found 0"),
        ({"price": -1.0}, "price: found -1.0"),
    ],
)
def test_settings_that_cannot_be_are_refused(given, message) -> None:
    with pytest.raises(ConfigError, match=message):
        JobSettings(SourceSettings(("a.parquet",)), SinkSettings("b.parquet"), **given)


def test_a_job_finds_itself_again_by_what_it_reads_and_writes(tmp_path, monkeypatch) -> None:
    def job(**changed) -> JobSettings:
        given = {"source": SourceSettings(("a.parquet",)), "sink": SinkSettings("out.lance"), **changed}
        return JobSettings(**given)

    assert job().id.startswith("out-")
    assert job().id == job(embedder=EmbedderSpec("hashing")).id == job(max_requests=5).id
    assert job().id != job(sink=SinkSettings("other.lance")).id
    assert job(source=SourceSettings(("-",)), sink=SinkSettings("s3://b/x.parquet")).id.startswith("x-")
    before = job().id
    monkeypatch.chdir(tmp_path)
    assert job().id != before  # other files of the same names
    monkeypatch.setenv("UNABRIDGED_JOBS", str(tmp_path / "mine"))
    assert job().place == tmp_path / "mine" / job().id
    monkeypatch.delenv("UNABRIDGED_JOBS")
    assert default_jobs_folder().name == "jobs"


def test_as_many_shards_fly_as_requests_need_and_memory_allows(bench: Bench) -> None:
    settings = bench.settings(bench.parquet(1), bench.out("out.parquet"), block_rows=4096)
    assert workers_for(EmbedderSpec("hashing")(cache=False), settings) == 1
    with LoopbackProvider() as server:
        many = Remote(server.url, concurrency=64)(cache=False)
        assert workers_for(many, settings) == 6  # 1,024 wide, as far as is known: 32 MB a shard
        few = Remote(server.url, concurrency=3)(cache=False)
        assert workers_for(few, settings) == 3
        many.close()
        few.close()


def test_places_that_cannot_be_opened_say_so(tmp_path, monkeypatch) -> None:
    for way in ("open", "stream"):
        with pytest.raises(UnreadableFile, match="nowhere"):
            getattr(place_of(str(tmp_path / "nowhere")), way)()
    with pytest.raises(UnreadableFile, match="no file in this folder ends in"):
        find(str(tmp_path), endings=(".parquet",))
    with pytest.raises(UnreadableFile, match="unsupported hostname"):
        place_of("file://relative/x")
    assert texts(1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a[1].txt").write_text("x")
    assert [each.name for each in find("a[1].txt")] == ["a[1].txt"]
