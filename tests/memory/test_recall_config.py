"""The section recall: what a call does not say is as configured, by every door alike (P2, P5, P6)."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from pydantic.alias_generators import to_camel
from typer.testing import CliRunner

from unabridged import load_config
from unabridged.cli.app import app
from unabridged.config import json_schema
from unabridged.config.model_recall import RecallSection
from unabridged.errors import ConfigError
from unabridged.providers.rerank import HttpReranker
from unabridged.server.memory.querying import QueryRequest, RecallRequest

TEXTS = [f"Note {n}: the boiler of house {n} was serviced in May." for n in range(12)]


def configured(place, **recall):
    return {"embedding": {"provider": "hashing", "cache": False}, "dbPath": str(place), "recall": recall}


def test_what_a_call_does_not_say_is_as_configured(tmp_path):
    settings = configured(
        tmp_path, limit=3, kinds=["passage"], lanes=["text"], threshold=0.1, budgetTokens=60, passes=2, diversity=0.2
    )
    jsonschema.validate(json.loads(json.dumps(settings)), json_schema())
    with load_config(settings).memory() as memory:
        memory.add_many(TEXTS)
        found = memory.recall("boiler serviced")
        assert len(found) == 3
        assert found.threshold == 0.1
        assert found.pack.tokens <= 60
        assert {lane.lane for hit in found for lane in hit.lanes} <= {"text", "words", "document"}
        assert len(memory.recall("boiler serviced", limit=5)) == 5
        assert "vector" in {lane.lane for lane in memory.recall("boiler serviced", lanes="vector")[0].lanes}
        assert len(memory.query("boiler serviced").recalled) == 3
        with memory.pinned() as reader:
            assert len(reader.recall("boiler serviced")) == 3


def test_nothing_configured_is_what_it_was(tmp_path):
    config = load_config(configured(tmp_path))
    assert config.recall() == {}
    with config.memory() as memory:
        memory.add_many(TEXTS)
        assert len(memory.recall("boiler serviced")) == 10


def test_the_command_line_takes_what_is_configured(tmp_path):
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps(configured(tmp_path / "m", limit=2, kinds=["passage"])), "utf-8")
    with load_config(file).memory() as memory:
        memory.add_many(TEXTS)
    run = CliRunner()

    def hits(*more):
        done = run.invoke(app, ["recall", "boiler serviced", "--config", str(file), "--json", *more])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["hits"]

    assert len(hits()) == 2
    assert len(hits("--limit", "4")) == 4


def test_what_http_is_not_told_is_left_to_the_memory():
    assert RecallRequest(query="x").model_dump(exclude_none=True).keys() == {
        "query",
        "include_history",
        "include_expired",
        "explain",
        "rerank",
    }
    assert "limit" not in QueryRequest(question="x").model_dump(exclude_none=True)


def test_a_cross_encoder_is_made_closed_and_left_out_on_request(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        HttpReranker, "rerank", lambda self, query, texts: asked.append(len(texts)) or [0.5] * len(texts)
    )
    settings = configured(tmp_path, rerank={"provider": "tei", "baseURL": "http://localhost:9", "batchInputs": 7})
    reranker = load_config(settings).recall()["rerank"]
    assert (reranker.shape, reranker.batch) == ("tei", 7)
    with load_config(settings).memory() as memory:
        memory.add_many(TEXTS)
        assert memory.recall("boiler serviced")[0].lanes[-1].lane == "rerank"
        memory.recall("boiler serviced", rerank=False)
        assert len(asked) == 1


@pytest.mark.parametrize(
    ("recall", "said"),
    [
        ({"limit": 0}, "recall.limit: found 0, expected at least 1"),
        ({"limits": 5}, "recall.limits: unknown key, did you mean limit"),
        ({"kinds": ["facts"]}, r"recall.kinds\[0\]: found 'facts'"),
        ({"lanes": []}, "recall.lanes"),
        ({"threshold": 1.5}, "recall.threshold: found 1.5"),
        ({"passes": 3}, "recall.passes: found 3"),
        ({"rerank": {}}, "recall.rerank.provider"),
        ({"rerank": {"provider": "cohere"}}, "recall.rerank.apiKey: found none"),
        ({"rerank": {"provider": "fastembed"}}, "recall.rerank.model: not given"),
    ],
)
def test_P3_what_is_wrong_is_named_with_its_place(tmp_path, monkeypatch, recall, said):
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=said):
        load_config(configured(tmp_path, **recall)).recall()


@pytest.mark.parametrize(
    ("rerank", "said"),
    [
        ({"provider": "cohere"}, "recall.rerank.apiKey: found none; give it, or set COHERE_API_KEY"),
        ({"provider": "fastembed"}, "recall.rerank.model: not given; name a cross-encoder of fastembed, or its folder"),
    ],
)
def test_a_cross_encoder_that_cannot_be_had_costs_its_order_alone(tmp_path, monkeypatch, rerank, said):
    monkeypatch.delenv("COHERE_API_KEY", raising=False)
    file = tmp_path / "plugin.json"
    file.write_text(json.dumps(configured(tmp_path / "m", rerank=rerank)), "utf-8")
    with load_config(file).memory() as memory:
        memory.remember(TEXTS[0])
        found = memory.recall("boiler serviced")
        assert [hit.text for hit in found] == [TEXTS[0]]
        assert [(each.lane, each.reason) for each in found.degraded] == [("rerank", said)]
        assert memory.recall("boiler serviced", rerank=False).degraded == ()
    for command in ("recall", "query"):
        run = CliRunner().invoke(app, [command, "boiler serviced", "--config", str(file), "--no-rerank"])
        assert run.exit_code == 0, run.output
        assert "rerank" not in run.output
        run = CliRunner().invoke(app, [command, "boiler serviced", "--config", str(file)])
        assert run.exit_code == 0, run.output
        assert said in " ".join(run.output.split())


def test_P6_explain_says_what_is_in_force_and_hides_the_key(tmp_path):
    rerank = {"provider": "jina", "apiKey": "secret-key-1"}
    found = load_config(configured(tmp_path, limit=5, rerank=rerank)).explain()
    figures = {each.name: (each.value, each.origin) for each in found.figures}
    assert figures["recall limit"][0] == 5
    assert figures["recall limit"][1] != "default"
    assert figures["recall threshold"] == (0.5, "default")
    assert figures["recall rerank"][0] == "jina"
    assert "secret-key-1" not in str(found)


def test_P5_the_page_on_recall_says_every_key_and_its_example_loads(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "recall.md").read_text("utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    config = load_config(example)
    assert config.recall()["rerank"].shape == "tei"
    keys = {to_camel(name) for name in RecallSection.model_fields}
    assert keys == set(json.loads(example)["recall"])
    assert keys == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
