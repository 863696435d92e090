"""Run the OpenAI tests against older SDKs: ``python tests/adapters/older_sdks.py [VERSION …]``.

Each version gets a virtual environment of its own in a temporary folder. Not part of the test suite: it
installs packages.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

VERSIONS = ("1.59.9", "1.109.1", "2.9.0")
ROOT = Path(__file__).parents[2]
TESTS = ["pytest", "pytest-asyncio", "pytest-timeout", "quicktok-v1"]


def passes(version: str) -> bool:
    """Whether the tests pass with one version."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        install = [python, "-m", "pip", "install", "-q", "-e", ROOT, f"openai=={version}", *TESTS]
        subprocess.run(install, check=True)
        run = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", ROOT / "tests/adapters/test_openai.py"]
        contract = [ROOT / "tests/adapters/test_contract.py", "-k", "openai or azure"]
        return all(subprocess.run(some, cwd=ROOT, check=False).returncode == 0 for some in (run, run[:-1] + contract))


if __name__ == "__main__":
    results = {version: passes(version) for version in sys.argv[1:] or VERSIONS}
    for version, passed in results.items():
        print(f"openai {version}: {'passed' if passed else 'FAILED'}")
    sys.exit(not all(results.values()))
