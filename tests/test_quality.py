"""Ruff, mypy --strict, the public names, and what `import unabridged` costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import unabridged

ROOT = Path(__file__).parents[1]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy",)])
def test_the_tools_are_content(command) -> None:
    done = run(*command)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_public_names_are_sorted_and_there() -> None:
    assert unabridged.__all__ == sorted(unabridged.__all__, key=lambda name: (not name[0].isupper(), name))
    for name in unabridged.__all__:
        assert getattr(unabridged, name) is not None
        assert name in dir(unabridged)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        unabridged.nothing


def test_importing_is_cheap_and_pulls_in_nothing_heavy() -> None:
    script = (
        "import sys, time, json; t = time.perf_counter(); import unabridged; "
        "print(json.dumps([time.perf_counter() - t, sorted({m.split('.')[0] for m in sys.modules})]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    seconds, modules = json.loads(done.stdout)
    assert not {"lancedb", "fastapi", "torch", "numpy", "httpx", "onnxruntime", "pyarrow"} & set(modules)
    assert seconds < 0.3


def test_it_is_typed_and_says_its_version() -> None:
    assert (ROOT / "src/unabridged/py.typed").exists()
    from importlib.metadata import version

    assert version("unabridged") == unabridged.__version__
