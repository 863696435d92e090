from __future__ import annotations

import gc
import importlib.util
import os
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
# Nothing here may leave the machine, and no library may try.
os.environ.update(
    HF_HUB_OFFLINE="1",
    ANONYMIZED_TELEMETRY="False",
    HAYSTACK_TELEMETRY_ENABLED="False",
    MEM0_TELEMETRY="False",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    GRAPHITI_TELEMETRY_ENABLED="false",
)

from kits import KITS

from unabridged.testing import LoopbackProvider
from unabridged.types import Limit

# The server's real limit; the table says 512 and more for every model used here.
LIMIT = Limit(input_tokens=300)


def pytest_collection_modifyitems(items):
    """Other people's deprecations are not ours to fix; our own are errors, as everywhere."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"), append=False)
            item.add_marker(pytest.mark.filterwarnings("error:::unabridged"))


def installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="package", autouse=True)
def left_open():
    """Clients that nobody closes complain when they are collected: here, not in somebody else's test."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNABRIDGED_CACHE", str(tmp_path / "vectors"))


@pytest.fixture(params=KITS, ids=lambda kit: kit.name)
def kit(request):
    missing = [package for package in request.param.needs if not installed(package)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return request.param


@pytest.fixture
def server(kit):
    with LoopbackProvider(kit.dialect, limit=LIMIT, keys={"good-key"}) as provider:
        yield provider


@pytest.fixture(autouse=True, scope="module")
def _frameworks_leave_their_sockets_to_the_collector():
    """Clients that frameworks never close are collected here, not in whichever module comes next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
