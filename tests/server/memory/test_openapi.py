"""The OpenAPI document against the application: schemathesis calls every operation, by the document and against it."""

from __future__ import annotations

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.transport.serialization import serialize_binary

from unabridged.server.memory import router

# What only the memory can tell (a moment, a cursor, base64) is a 400 that no schema foretells; on loopback no key
# is asked for (test_rights.py holds what is asked elsewhere).
UNTOLD = {"positive_data_acceptance", "ignored_auth"}
EXAMPLES = 5


@schemathesis.serializer("application/x-tar", "image/png")
def as_bytes(ctx, value):
    """Bodies that are no JSON go out as they are."""
    return serialize_binary(value)


def labels():
    """The operations of the memory's own routes."""
    alone = FastAPI()
    alone.include_router(router)
    return [f"{method.upper()} {path}" for path, item in alone.openapi()["paths"].items() for method in item]


@pytest.fixture(scope="module")
def operations(address):
    loaded = schemathesis.openapi.from_url(f"{address}/openapi.json")
    loaded.config.generation.update(with_security_parameters=False)
    return {found.ok().label: found.ok() for found in loaded.get_all_operations()}


@pytest.fixture(scope="module")
def excluded():
    return [check for check in schemathesis.checks.CHECKS.get_all() if check.__name__ in UNTOLD]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", labels())
def test_every_operation_answers_as_the_document_says(operations, excluded, label, mode) -> None:
    operation = operations[label]

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def called(case):
        case.call_and_validate(excluded_checks=excluded)

    try:
        called()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong where nothing is asked for
