"""One gateway for a module's tests, over the hashing model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from serving import client_of, serving


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("server")) as served:
        yield served


@pytest.fixture
def client(gateway):
    with client_of(gateway) as client:
        yield client
