"""The OpenAPI document of the gateway against the running server: schemathesis calls each operation, by it and against it."""

from __future__ import annotations

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from serving import serving

from unabridged.server import health
from unabridged.server.gateway import router
from unabridged.server.keys import SCOPES

# Which texts are blank, which model is there, which token is known: no schema tells.
UNTOLD = {"positive_data_acceptance"}
EXAMPLES = 5
KEY = "a-key-of-the-openapi-tests"


def labels():
    alone = FastAPI()
    for each in (health.router, router):
        alone.include_router(each)
    return [f"{method.upper()} {path}" for path, item in alone.openapi()["paths"].items() for method in item]


@pytest.fixture(scope="module")
def operations(tmp_path_factory):
    """With keys, so that what the document says of them is held too: without one, or with another, it is 401."""
    with serving(tmp_path_factory.mktemp("openapi"), keys=[KEY]) as served:
        bearer = {"Authorization": f"Bearer {KEY}"}
        loaded = schemathesis.openapi.from_url(f"{served.root}/openapi.json", headers=bearer)
        loaded.config.update(headers=bearer)
        loaded.config.generation.update(with_security_parameters=False)
        yield {found.ok().label: found.ok() for found in loaded.get_all_operations()}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", labels())
def test_every_operation_answers_as_the_document_says(operations, label, mode) -> None:
    excluded = [check for check in schemathesis.checks.CHECKS.get_all() if check.__name__ in UNTOLD]

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operations[label].as_strategy(generation_mode=mode))
    def called(case):
        case.call_and_validate(excluded_checks=excluded)

    try:
        called()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong where nothing is asked for


def test_every_operation_says_what_key_it_asks_for(client) -> None:
    document = client.get("/openapi.json").json()
    schemes = document["components"]["securitySchemes"]
    assert schemes["bearer"]["type"] == "http"
    assert {each["name"] for each in schemes.values() if each["type"] == "apiKey"} == {"x-api-key", "api-key"}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            asked = operation["security"]
            if path in {"/health", "/ready"}:
                assert asked == [], path
                continue
            assert {name for each in asked for name in each} == schemes.keys(), path
            rights = asked[0]["bearer"]
            assert len(rights) == (0 if path == "/metrics" else 1), (method, path, rights)
            assert set(rights) <= set(SCOPES)
            if not path.startswith("/v1/gb") and rights:
                assert rights == ["embed"], path
