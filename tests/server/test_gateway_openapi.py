"""The OpenAPI document of the gateway against the running server: schemathesis calls each operation, by it and against it."""

from __future__ import annotations

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from unabridged.server import health
from unabridged.server.gateway import router

# Which texts are blank, which model is there, which token is known: no schema tells.
UNTOLD = {"positive_data_acceptance"}
EXAMPLES = 5


def labels():
    alone = FastAPI()
    for each in (health.router, router):
        alone.include_router(each)
    return [f"{method.upper()} {path}" for path, item in alone.openapi()["paths"].items() for method in item]


@pytest.fixture(scope="module")
def operations(gateway):
    loaded = schemathesis.openapi.from_url(f"{gateway.root}/openapi.json")
    return {found.ok().label: found.ok() for found in loaded.get_all_operations()}


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
