"""The model table, learned limits, calibration, canaries (issue 2's table, issue 3.2; SPEC L10, L15; cases 8, 14)."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unabridged.providers.calibration import Calibration, Ratio, dominant_script, ratio_of
from unabridged.providers.canaries import CANARY_TEXTS, Canaries, drift, drifted
from unabridged.providers.faults import classify
from unabridged.providers.knowledge import Knowledge, default_knowledge_file
from unabridged.providers.limits import (
    LearnedLimits,
    all_models,
    default_limit,
    known_limit,
    known_model,
    nearest_model,
    unknown_model,
)
from unabridged.types import Fault, Limit

HOST, MODEL = "localhost:8080", "bge"


def overflow(limit=512, actual=600, **more):
    return Fault("input_overflow", "input", limit, actual, unit="tokens", **more)


@pytest.fixture
def learned(tmp_path):
    return LearnedLimits(tmp_path)


# --- the table (L10)


def test_l10_every_row_is_known_by_provider_and_name():
    rows = all_models()
    assert len(rows) >= 150
    for row in rows:
        assert known_model(row.model, row.provider) == row
        assert known_model(row.model.upper(), row.provider) == row
        assert known_model(row.model, provider=row.provider).dimensions > 0


def test_l10_a_row_without_a_token_limit_is_static_and_only_those_are():
    assert {row.model for row in all_models() if row.limit.input_tokens is None} == {
        "sentence-transformers/static-retrieval-mrl-en-v1",
        "minishlab/potion-base-8M",
    }


@pytest.mark.parametrize(
    ("spelling", "model", "provider", "tokens"),
    [
        ("models/gemini-embedding-001", "gemini-embedding-001", "google-gemini", 2048),
        ("publishers/google/models/text-embedding-005", "text-embedding-005", "google-vertex", 2048),
        ("text-embedding-005@default", "text-embedding-005", "google-vertex", 2048),
        ("openai/text-embedding-3-small", "text-embedding-3-small", "openai", 8192),
        ("azure/text-embedding-3-large", "text-embedding-3-large", "azure-openai", 8192),
        ("TEXT-EMBEDDING-3-SMALL", "text-embedding-3-small", "openai", 8192),
        ("text-embedding-ada-002-v2", "text-embedding-ada-002", "openai", 8192),
        ("nomic-embed-text:latest", "nomic-embed-text", "ollama", 2048),
        ("nomic-embed-text:v1.5", "nomic-embed-text", "ollama", 2048),
        ("text-embedding-nomic-embed-text-v1.5@q8_0", "nomic-ai/nomic-embed-text-v1.5", "open", 8192),
        ("nomic-embed-text-v1.5.Q4_K_M.gguf", "nomic-ai/nomic-embed-text-v1.5", "open", 8192),
        ("mxbai-embed-large:335m-v1-fp16", "mxbai-embed-large", "ollama", 512),
        ("qwen3-embedding:0.6b", "Qwen/Qwen3-Embedding-0.6B", "open", 32768),
        ("hf.co/Qwen/Qwen3-Embedding-4B-GGUF:Q8_0", "Qwen/Qwen3-Embedding-4B", "open", 32768),
        ("us.cohere.embed-english-v3", "cohere.embed-english-v3", "bedrock", 512),
        (
            "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-embed-text-v2:0",
            "amazon.titan-embed-text-v2:0",
            "bedrock",
            8192,
        ),
        ("amazon.titan-embed-text-v2", "amazon.titan-embed-text-v2:0", "bedrock", 8192),
        ("BAAI_bge-large-en-v1.5", "BAAI/bge-large-en-v1.5", "open", 512),
        ("bge-large-en-v1.5-f16.gguf", "BAAI/bge-large-en-v1.5", "open", 512),
        ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "open", 256),
        ("snowflake-arctic-embed2", "Snowflake/snowflake-arctic-embed-l-v2.0", "open", 8192),
    ],
)
def test_l10_any_usual_spelling(spelling, model, provider, tokens):
    known = known_model(spelling)
    assert (known.model, known.provider, known.limit.input_tokens) == (model, provider, tokens)


def test_l10_an_unknown_provider_takes_the_smallest_of_the_rows():
    anywhere = known_model("text-embedding-3-large")
    assert (anywhere.limit.input_tokens, anywhere.limit.request_tokens) == (8192, 64_000)
    assert known_model("text-embedding-3-large", "someone-else").limit == anywhere.limit
    assert known_model("text-embedding-3-large", "openai").limit.request_tokens == 300_000
    assert known_model("all-minilm", "ollama").limit.input_tokens == 256


def test_l10_provider_names_as_other_tools_write_them():
    for name, provider in {
        "vertex_ai": "google-vertex",
        "Gemini": "google-gemini",
        "google-gemini": "google-gemini",
    }.items():
        assert known_model("gemini-embedding-001", name).provider == provider


def test_l10_compat_follows_the_source_where_the_table_differs():
    name = "jina-embeddings-v5-text-small"
    assert known_model(name).limit.input_tokens == 32_768
    assert known_model(name, compat=True).limit.input_tokens == 8192
    assert known_model("gemini-embedding-001", compat=True).limit.input_tokens == 2048
    assert known_model("text-embedding-3-small", compat=True).limit.input_tokens == 8192
    assert known_model("mistral-embed", compat=True) == known_model("mistral-embed")


@pytest.mark.parametrize(
    "name",
    [
        "constructor",
        "__class__",
        "",
        "   ",
        None,
        5,
        "toString",
        "../../etc/passwd",
        "a" * 10_000,
        "::",
        "/",
        ":",
    ],
)
def test_case_8_an_unknown_model_is_unknown(name):
    assert known_model(name) is None
    assert known_limit(name) == default_limit()
    message = unknown_model(name, default_limit())
    assert "8192 tokens" in message
    assert "\n" not in message
    assert len(message) < 300


def test_case_8_a_slip_of_the_pen_is_told():
    assert "did you mean 'text-embedding-3-small'" in unknown_model("text-embeding-3-smal", default_limit())
    assert nearest_model("voyage-3.5-lit") == "voyage-3.5-lite"
    assert nearest_model("completely different") is None


def test_widths_that_can_be_had():
    assert known_model("voyage-3.5").allows(512)
    assert not known_model("voyage-3.5").allows(300)
    assert known_model("text-embedding-3-large").allows(300)
    assert not known_model("text-embedding-3-large").allows(4096)
    assert known_model("text-embedding-ada-002").allows(1536)
    assert not known_model("text-embedding-ada-002").allows(512)


# --- learned limits


def test_case_14_a_stated_limit_is_learned_with_its_origin(learned):
    assert learned.learn(HOST, MODEL, classify(413, "`inputs` must have less than 512 tokens. Given: 600"))
    assert learned.limit(HOST, MODEL) == Limit(input_tokens=512)
    (entry,) = learned.entries()
    assert (entry.host, entry.model, entry.unit, entry.value) == (HOST, MODEL, "input_tokens", 512)
    assert (entry.kind, entry.stated, entry.actual, entry.status) == ("input_overflow", 512, 600, 413)
    assert entry.at > 1.7e9
    assert learned.limit(HOST, "other") == Limit()
    assert learned.limit("other", MODEL) == Limit()


def test_limits_of_every_unit_are_kept_apart(learned):
    for fault in (
        overflow(),
        Fault("input_overflow", "input", 2048, 3000, unit="chars"),
        Fault("batch_count", "request", 64, 91, unit="inputs"),
        Fault("request_overflow", "request", 120_000, 130_000, unit="tokens"),
        Fault("request_overflow", "request", 4_194_304, unit="bytes"),
    ):
        assert learned.learn(HOST, MODEL, fault)
    assert learned.limit(HOST, MODEL) == Limit(512, 2048, None, 64, 120_000, 4_194_304)


def test_limits_only_tighten(learned):
    assert learned.learn(HOST, MODEL, overflow(512))
    assert not learned.learn(HOST, MODEL, overflow(1024, 2000))
    assert not learned.learn(HOST, MODEL, overflow(512))
    assert learned.learn(HOST, MODEL, overflow(256))
    assert learned.limit(HOST, MODEL).input_tokens == 256


@pytest.mark.parametrize(
    "fault",
    [
        overflow(0, 5),
        overflow(31, 600),
        overflow(None),
        overflow(512, 400),  # smaller than the limit: the numbers mean something else
        Fault("rate_limit", "request", 512, 600, unit="tokens/min"),
        Fault("output_budget", "request", 4096, 8192, unit="tokens"),
        Fault("quota", limit=100),
        Fault("batch_count", "request", 0, 5, unit="inputs"),
    ],
)
def test_what_cannot_be_true_teaches_nothing(learned, fault):
    assert not learned.learn(HOST, MODEL, fault)
    assert learned.limit(HOST, MODEL) == Limit()


def test_a_limit_below_what_has_gone_through_is_not_believed(learned):
    learned.succeeded(HOST, MODEL, Limit(input_tokens=2000, request_inputs=16))
    learned.succeeded(HOST, MODEL, Limit(input_tokens=900))
    assert not learned.learn(HOST, MODEL, overflow(512))
    assert not learned.learn(HOST, MODEL, Fault("batch_count", "request", 8, unit="inputs"))
    assert learned.learn(HOST, MODEL, overflow(2000, 2100))
    assert learned.learn(HOST, "other", overflow(512))


def test_a_limit_follows_from_an_actual_and_an_excess(learned):
    assert learned.learn(HOST, MODEL, Fault("input_overflow", "input", None, 600, 88, "tokens"))
    assert learned.limit(HOST, MODEL).input_tokens == 512


def test_an_embedder_learns_through_one_model(learned):
    own = learned.for_model(HOST, MODEL)
    assert own.load() == Limit()
    own.learn(Limit(input_tokens=512, request_inputs=10), overflow())
    assert own.load() == Limit(input_tokens=512, request_inputs=10)
    assert own.load() == LearnedLimits(learned.path).limit(HOST, MODEL)


def test_what_was_learned_can_be_forgotten(learned):
    for host in ("a", "b"):
        for model in ("m", "n"):
            learned.learn(host, model, overflow())
            learned.succeeded(host, model, Limit(input_tokens=600))
    assert [entry.host for entry in learned.entries(model="m")] == ["a", "b"]
    assert learned.forget(host="a", model="m") == 1
    assert learned.forget(host="a") == 1
    assert learned.forget() == 2
    assert learned.entries() == []
    assert learned.learn("a", "m", overflow(512))  # what had gone through is forgotten too


LEARN_MANY = """
import sys
from unabridged.providers.limits import LearnedLimits
from unabridged.types import Fault
learned = LearnedLimits(sys.argv[1])
for step in range(40):
    value = 1000 - int(sys.argv[2]) - step
    learned.learn("localhost:8080", f"m{step % 4}", Fault("input_overflow", "input", value, 2000, unit="tokens"))
"""


def test_several_processes_and_threads_learn_into_one_file(tmp_path):
    path = tmp_path / "knowledge.sqlite"
    processes = [subprocess.Popen([sys.executable, "-c", LEARN_MANY, path, start]) for start in ("0", "100", "50")]
    learned = LearnedLimits(path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda start: learned.learn(HOST, "t", overflow(5000 - start, 9000)), range(200)))
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert learned.limit(HOST, "t").input_tokens == 4801
    assert [learned.limit(HOST, f"m{at}").input_tokens for at in range(4)] == [864, 863, 862, 861]


def test_a_file_that_is_no_database_costs_memory_not_the_work(tmp_path):
    path = tmp_path / "knowledge.sqlite"
    path.write_bytes(b"not a database at all, but long enough to be read as one " * 40)
    with pytest.warns(UserWarning, match="for this process only"):
        learned = LearnedLimits(path)
    assert learned.learn(HOST, MODEL, overflow())
    threads = [threading.Thread(target=learned.limit, args=(HOST, MODEL)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert learned.limit(HOST, MODEL).input_tokens == 512


def test_the_file_is_private_and_stands_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_KNOWLEDGE", str(tmp_path / "deep" / "own.sqlite"))
    assert default_knowledge_file() == tmp_path / "deep" / "own.sqlite"
    learned = LearnedLimits()
    assert learned.path.is_file()
    assert learned.path.stat().st_mode & 0o077 == 0
    monkeypatch.delenv("UNABRIDGED_KNOWLEDGE")
    assert default_knowledge_file().name == "knowledge.sqlite"


def test_a_write_that_fails_leaves_nothing(tmp_path):
    learned = LearnedLimits(tmp_path)
    knowledge = Knowledge(tmp_path)
    learned.learn(HOST, MODEL, overflow())

    def emptied(then):
        with knowledge.write() as database:
            database.execute("DELETE FROM learned")
            then(database)

    def raises(_database):
        raise RuntimeError

    with pytest.raises(sqlite3.OperationalError):
        emptied(lambda database: database.execute("INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(RuntimeError):
        emptied(raises)
    assert learned.limit(HOST, MODEL).input_tokens == 512


# --- calibration


def test_a_ratio_is_the_middle_of_its_samples_and_plans_by_the_highest():
    ratio = ratio_of([(1000, 1004, 1), (1000, 1104, 1), (1000, 1204, 1)])
    assert (ratio.middle, ratio.high, ratio.samples) == (1.1, 1.2, 3)
    assert ratio.estimate(100) == 110
    assert ratio.tokens_for(512) == 423
    assert ratio.tokens_for(512, prefix_tokens=12) == 413
    assert ratio.tokens_for(3) == 1
    assert ratio_of([]) == Ratio()


@given(st.lists(st.integers(100, 10_000), min_size=5, max_size=40), st.integers(2, 30))
def test_outliers_move_nothing(sizes, factor):
    honest = [(size, round(size * 1.25) + 4, 1) for size in sizes]
    odd = [(50, 50 * factor * 10, 1)]
    assert ratio_of(honest + odd).middle == pytest.approx(1.25, abs=0.01)
    assert ratio_of(honest + odd).high < 1.3


def test_calibration_is_kept_per_host_model_and_script(tmp_path):
    calibration = Calibration(tmp_path)
    for size in (500, 800, 1000):
        assert calibration.learn(HOST, MODEL, "han", counted=size, actual=round(size * 1.6) + 4)
        assert calibration.learn(HOST, MODEL, "latin", counted=size * 2, actual=size * 2 + 8, inputs=2)
    again = Calibration(tmp_path)
    assert again.ratio(HOST, MODEL, "han").middle == pytest.approx(1.6, abs=0.01)
    assert again.ratio(HOST, MODEL, "latin").middle == pytest.approx(1.0, abs=0.01)
    assert again.ratio(HOST, MODEL, "thai").middle == pytest.approx(1.6, abs=0.01)  # the dearest known one
    assert again.ratio("other", MODEL, "han") == Ratio()
    assert again.forget(HOST, MODEL) == 6
    assert again.ratio(HOST, MODEL, "han") == Ratio()


def test_samples_that_cannot_be_true_are_left_out_and_old_ones_go(tmp_path):
    calibration = Calibration(tmp_path)
    assert not calibration.learn(HOST, MODEL, "latin", counted=10, actual=12)
    assert not calibration.learn(HOST, MODEL, "latin", counted=1000, actual=50)
    assert not calibration.learn(HOST, MODEL, "latin", counted=1000, actual=20_000)
    for _ in range(70):
        calibration.learn(HOST, MODEL, "latin", counted=1000, actual=1104)
    for _ in range(64):
        calibration.learn(HOST, MODEL, "latin", counted=1000, actual=1304)
    ratio = calibration.ratio(HOST, MODEL, "latin")
    assert (ratio.middle, ratio.samples) == (1.3, 64)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Hello, world", "latin"),
        ("Straße, œuvre, ĳ", "latin"),
        ("自然语言处理", "han"),
        ("入力が長すぎます", "kana"),
        ("입력이 너무 깁니다", "hangul"),
        ("Длина текста", "cyrillic"),
        ("طويل جدا", "arabic"),
        ("अधिकतम", "indic"),
        ("ยาวเกินไป", "thai"),
        ("μῆκος", "greek"),
        ("אורך", "hebrew"),
        ("123 !? \n", "none"),
        ("", "none"),
        ("𠀋𠂢", "han"),
    ],
)
def test_the_script_of_a_text(text, script):
    assert dominant_script(text) == script


# --- canaries (L15)


def test_l15_the_same_model_does_not_drift_and_another_does():
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(len(CANARY_TEXTS), 384)).astype(np.float32)
    half = vectors.astype(np.float16).astype(np.float32)
    rounded = np.round(vectors / np.abs(vectors).max() * 127) / 127
    other = rng.normal(size=vectors.shape)
    assert drift(vectors, vectors * 3) == pytest.approx(0, abs=1e-6)
    assert not drifted(vectors, half)
    assert not drifted(vectors, rounded)
    assert drifted(vectors, other)
    one_moved = vectors.copy()
    one_moved[1] = other[1]
    assert drifted(vectors, one_moved)


@pytest.mark.parametrize(
    "new", [np.zeros((3, 4)), np.full((3, 4), np.nan), np.ones((3, 5)), np.ones((2, 4)), np.zeros((0, 4))]
)
def test_l15_what_cannot_be_compared_has_drifted(new):
    assert drift(np.ones((3, 4)), new) == 2.0


def test_l15_canaries_are_remembered_until_a_change_is_confirmed(tmp_path):
    canaries = Canaries(tmp_path)
    first = np.eye(3, 8, dtype=np.float32)
    assert canaries.recall(HOST, MODEL) is None
    assert canaries.check(HOST, MODEL, first) == 0.0
    np.testing.assert_array_equal(Canaries(tmp_path).recall(HOST, MODEL), first)
    moved = np.roll(first, 1, axis=1)
    assert canaries.check(HOST, MODEL, moved) == pytest.approx(1.0)
    np.testing.assert_array_equal(canaries.recall(HOST, MODEL), first)  # checking does not confirm
    canaries.remember(HOST, MODEL, moved)
    assert canaries.check(HOST, MODEL, moved) == pytest.approx(0.0)
    assert canaries.recall(HOST, MODEL, "query|256") is None
    assert canaries.forget(HOST) == 1


def test_l15_a_damaged_row_is_no_canary(tmp_path):
    canaries = Canaries(tmp_path)
    canaries.remember(HOST, MODEL, np.eye(3, 8))
    with Knowledge(tmp_path).write() as database:
        database.execute("UPDATE canaries SET vectors = ?", (b"123",))
    assert canaries.recall(HOST, MODEL) is None


def test_limits_calibration_and_canaries_share_one_file(tmp_path):
    parts = LearnedLimits(tmp_path), Calibration(tmp_path), Canaries(tmp_path)
    parts[0].learn(HOST, MODEL, overflow())
    parts[1].learn(HOST, MODEL, "latin", counted=1000, actual=1100)
    parts[2].remember(HOST, MODEL, np.eye(3))
    assert [path.name for path in tmp_path.glob("*.sqlite")] == ["knowledge.sqlite"]
