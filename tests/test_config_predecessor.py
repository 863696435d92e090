"""P1, P4, P6, L3: a configuration of memory-lancedb-pro, as it is: what is used, what is not, and why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from unabridged import load_config
from unabridged.cli.app import run
from unabridged.config.explain import masked
from unabridged.config.predecessor import OWN_KEYS
from unabridged.config.schema import keys_at, places
from unabridged.errors import ConfigError

# A file as its users have it: every part, and no host around it.
BARE = {
    "embedding": {
        "provider": "openai-compatible",
        "model": "m",
        "baseURL": "http://localhost:1/v1",
        "apiKey": "sk-one",
    },
    "dbPath": "./lancedb-pro",
    "autoCapture": True,
    "autoRecall": False,
    "enableManagementTools": False,
    "scopes": {"default": "global"},
    "llm": {"model": "small", "apiKey": "sk-two", "baseURL": "http://localhost:2/v1", "timeoutMs": 30_000},
    "retrieval": {
        "mode": "hybrid",
        "vectorWeight": 0.7,
        "bm25Weight": 0.3,
        "minScore": 0.3,
        "hardMinScore": 0.35,
        "rerank": "cross-encoder",
        "rerankProvider": "jina",
        "rerankModel": "jina-reranker-v3",
        "rerankEndpoint": "https://api.jina.ai/v1/rerank",
        "rerankApiKey": "sk-three",
        "rerankTimeoutMs": 5000,
        "candidatePoolSize": 20,
        "recencyHalfLifeDays": 14,
        "recencyWeight": 0.1,
        "timeDecayHalfLifeDays": 60,
        "filterNoise": True,
        "lengthNormAnchor": 500,
        "reinforcementFactor": 0.5,
        "maxHalfLifeMultiplier": 3,
    },
}


def theirs(**config):
    return load_config({"plugins": {"entries": {"memory-lancedb-pro": {"config": config}}}}, environ={})


def retrieving(**retrieval):
    return theirs(embedding={"provider": "hashing"}, retrieval=retrieval)


def said(config, key):
    return next(note for note in config.notes if note.startswith(f"{key}: "))


def test_P1_a_bare_file_is_known_by_its_keys_and_read_as_it_is() -> None:
    config = load_config(BARE, environ={})
    assert config.notes[0].startswith("read as a configuration of memory-lancedb-pro")
    assert config.db_path == "./lancedb-pro"
    with config.embedder(cache=False) as embedder:
        assert (embedder.provider.name, embedder.provider.model) == ("openai", "m")
    told = [note.partition(":")[0] for note in config.notes[1:]]
    given = {*(OWN_KEYS & BARE.keys()) - {"retrieval"}, *(f"retrieval.{key}" for key in BARE["retrieval"])}
    assert sorted(told) == sorted(given)  # of every key that only it has there is one word
    assert "sk-" not in f"{config!r}{masked(config)}{config.notes}{config.explain()!r}"


def test_L3_sizes_of_a_bare_file_are_characters_as_under_its_name() -> None:
    sizes = {"provider": "hashing", "autoChunk": {"maxChunkSize": 2000, "overlapSize": 500, "minChunkSize": 500}}
    for settings, unit in (({"autoCapture": True}, "chars"), ({}, "tokens")):
        with load_config({"embedding": sizes, **settings}).embedder(cache=False) as embedder:
            assert (embedder.cutting.max_size, embedder.cutting.unit) == (2000, unit)


def test_P4_what_it_says_of_recalls_is_used_for_them() -> None:
    config = load_config(BARE, environ={})
    given = config.recall()
    reranker = given.pop("rerank")
    assert given == {"threshold": 0.5, "recency": 14}
    assert (reranker.shape, reranker.model, reranker._path) == ("jina", "jina-reranker-v3", "/v1/rerank")
    assert reranker.http.host == "api.jina.ai"
    figures = {one.name: (one.value, one.origin) for one in config.explain().figures}
    assert figures["recall threshold"] == (0.5, "retrieval.hardMinScore, given")
    assert figures["recall rerank"] == ("jina jina-reranker-v3", "retrieval.rerank, given")
    assert figures["recall limit"] == (10, "default")


@pytest.mark.parametrize(
    ("retrieval", "threshold", "note"),
    [
        ({"minScore": 0}, 0.0, "used as recall.threshold 0; "),
        ({"minScore": 0.15}, 0.25, "used as recall.threshold 0.25; "),
        ({"minScore": 0.3}, 0.5, "used as recall.threshold 0.5; 0.3, the default there, is 0.5, the default here"),
        ({"minScore": 0.65}, 0.75, "used as recall.threshold 0.75; "),
        ({"minScore": 1}, 1.0, "used as recall.threshold 1; "),
        ({"minScore": 0.2, "hardMinScore": 0.35}, 0.5, "not used; hardMinScore is no lower, and counts"),
    ],
)
def test_P4_a_least_score_keeps_its_meaning_on_our_scale(retrieval, threshold, note) -> None:
    config = retrieving(**retrieval)
    assert config.recall()["threshold"] == pytest.approx(threshold)
    assert said(config, "retrieval.minScore").startswith(f"retrieval.minScore: {note}")


@pytest.mark.parametrize(
    ("retrieval", "key", "note"),
    [
        ({"mode": "vector"}, "mode", "used as recall.lanes vector"),
        ({"recencyHalfLifeDays": 0}, "recencyHalfLifeDays", "not used; 0 is off"),
        ({"timeDecayHalfLifeDays": 60}, "timeDecayHalfLifeDays", "used as recall.recency 60 days"),
        ({"rerank": "none"}, "rerank", "not used; rerank is none"),
        ({"rerank": "lightweight"}, "rerank", "not used; hits are ordered by their vectors and words anyway"),
        ({"rerank": "cross-encoder"}, "rerank", "not used; there is no rerankApiKey"),
        ({"rerankProvider": "pinecone", "rerankApiKey": "k"}, "rerankProvider", "not used; no cross-encoder of 'pine"),
        (
            {"rerankProvider": "siliconflow", "rerankApiKey": "k"},
            "rerankApiKey",
            "not used; siliconflow needs its rera",
        ),
        ({"rerankProvider": "tei"}, "rerankProvider", "used as recall.rerank (provider tei)"),
        ({"candidatePoolSize": 20}, "candidatePoolSize", "not used; each way of searching brings as many"),
    ],
)
def test_P4_every_key_says_what_became_of_it(retrieval, key, note) -> None:
    config = retrieving(**retrieval)
    assert said(config, f"retrieval.{key}").startswith(f"retrieval.{key}: {note}")
    used = {"lanes": ["vector"]} if "vector" in retrieval.values() else {}
    used |= {"recency": 60} if "timeDecayHalfLifeDays" in retrieval else {}
    got = config.recall()
    assert (got.pop("rerank", None) is not None) == ("tei" in retrieval.values())
    assert got == used


def test_P4_what_the_section_recall_says_itself_wins() -> None:
    config = load_config({"retrieval": {"minScore": 0.9, "mode": "vector"}, "recall": {"threshold": 0.2}})
    assert config.recall() == {"threshold": 0.2, "lanes": ["vector"]}
    assert said(config, "retrieval.minScore").endswith("not used; recall.threshold is given, and wins")


def test_P4_its_llm_is_our_chat() -> None:
    config = load_config(BARE, environ={})
    asker = config.asker()
    assert (asker.model, asker.host) == ("small", "localhost:2")
    assert said(config, "llm") == "llm: used as chat (apiKey, model, baseURL, timeoutMs)"
    asker.close()


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"llm": {"apiKey": "${NEVER_READ}"}}, "it names no model"),
        ({"llm": {"model": "m"}, "smartExtraction": False}, "smartExtraction is false"),
        ({"llm": {"model": "m", "auth": "oauth"}}, "there is no signing in by OAuth"),
        ({"llm": {"model": "m"}, "chat": {"model": "n", "baseURL": "http://localhost:1"}}, "the section chat is given"),
    ],
)
def test_P4_an_llm_that_cannot_be_asked_is_set_aside(settings, why) -> None:
    config = theirs(**settings)
    assert said(config, "llm").startswith(f"llm: not used; {why}")
    assert (config.settings.chat is None) == ("chat" not in settings)


def test_P4_what_is_wrong_in_it_is_told_where_it_stands() -> None:
    with pytest.raises(ConfigError) as caught:
        theirs(llm={"model": "m", "apiKey": 7}, retrieval={"minscore": 1, "rerankEndpoint": "nowhere"})
    lines = str(caught.value).splitlines()
    assert "llm.apiKey: found 7, expected a string or a list of strings" in lines
    assert "retrieval.minscore: unknown key, did you mean minScore?" in lines
    assert any(line.startswith("retrieval.rerankEndpoint: found a string of 7 characters") for line in lines)


def test_P6_explain_of_a_bare_file_tells_it_all(tmp_path, capsysbinary, monkeypatch) -> None:
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path))
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps(BARE, indent=1), "utf-8")
    assert run(["config", "explain", str(file)]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert "note: autoCapture: not used; when a conversation is captured is up to the host" in out
    assert "recall recency        14" in out
    assert "sk-" not in out


def test_L3_the_second_block_of_the_seed_is_explained_in_its_own_characters(tmp_path, monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path))  # with a cache, limits may be learned
    sizes = {"maxChunkSize": 2000, "overlapSize": 500, "minChunkSize": 500, "maxLinesPerChunk": 100}
    figures = {one.name: one for one in theirs(embedding={"autoChunk": sizes}).explain().figures}
    for name, value in (("chunk", 2000), ("overlap", 500), ("minimum", 500)):
        assert (figures[name].value, figures[name].unit, figures[name].origin) == (value, "chars", "given")
    assert figures["limit input tokens"].value == 254
    planned = {one.name: one for one in theirs(embedding={"autoChunk": {"overlapSize": 9}}).explain().figures}
    assert planned["chunk"].origin == "70 % of the limit, its tokens taken for characters"


# -- docs/configuration.md ----------------------------------------------------------------------------

PAGE = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text("utf-8")


def test_the_example_of_the_page_loads() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    config = load_config(example, environ={"OPENAI_API_KEY": "k", "PORT": "9"})
    assert (config.settings.server.port, config.embedding.auto_chunk.overlap_size) == (9, 200)


def test_the_page_names_every_section_and_what_is_used_of_theirs() -> None:
    sections = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE))))
    assert sections >= {name for name in places()[()] if name not in {"$schema", "enabled", "retrieval"}}
    table = PAGE.partition("| there | here |")[2].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        left, right = row.strip("|").split(" | ", 1)
        for key in re.findall(r"`(?:retrieval\.)?(\w+)`", left):
            assert key in {
                *keys_at(("retrieval",)),
                *OWN_KEYS,
                "model",
                "apiKey",
                "baseURL",
                "timeoutMs",
                "omitDimensions",
            }
        ours = re.search(r"`(\w+)(?:\.(\w+))?`", right)
        assert ours[1] in places()[()]
        assert ours[2] is None or ours[2] in keys_at((ours[1],))


@pytest.mark.parametrize("line", re.findall(r"^(unabridged config .*?)(?:  #.*|>.*)?$", PAGE, re.MULTILINE))
def test_the_commands_of_the_page_run(line, capsysbinary, tmp_path, monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path))
    monkeypatch.chdir(Path(__file__).parents[1])
    assert run(line.split()[1:]) == 0
    assert capsysbinary.readouterr().out
