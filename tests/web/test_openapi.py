"""The page's own routes against the OpenAPI document, by schemathesis: as it says, and against it."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

# What only a document or a folder can tell is a 4xx that no schema foretells; loopback asks for no key.
UNTOLD = {"positive_data_acceptance", "negative_data_rejection", "ignored_auth"}
LABELS = (
    "GET /v1/gb/preview", "GET /v1/gb/preview/folders/{folder}", "POST /v1/gb/preview/documents", "POST /v1/gb/preview/uploads",
    "GET /v1/gb/preview/documents/{document}/image", "POST /v1/gb/preview/cuts", "GET /v1/gb/graph", "GET /v1/gb/graph/vectors",
    "GET /v1/gb/configuration",
)  # fmt: skip


@pytest.fixture(scope="module")
def operations(root):
    loaded = schemathesis.openapi.from_url(f"{root}/openapi.json")
    loaded.config.generation.update(with_security_parameters=False)
    return {found.ok().label: found.ok() for found in loaded.get_all_operations()}


def test_every_route_of_the_page_is_told_of(operations):
    ours = {label for label in operations if "/preview" in label or "/graph" in label or "/configuration" in label}
    assert ours == set(LABELS)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", LABELS)
def test_every_operation_answers_as_the_document_says(operations, label, mode):
    excluded = [check for check in schemathesis.checks.CHECKS.get_all() if check.__name__ in UNTOLD]

    @settings(max_examples=8, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operations[label].as_strategy(generation_mode=mode))
    def called(case):
        case.call_and_validate(excluded_checks=excluded)

    try:
        called()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong where nothing is asked for
