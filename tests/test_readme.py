"""Every block of the README runs, and continuous integration runs the README's own test command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SETUP = "python3 -m venv .venv && "


def command_line(line: str, folder: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    words = shlex.split(line)
    assert words[0] == "unabridged"
    return subprocess.run(
        [sys.executable, "-c", "from unabridged.cli import main; main()", *words[1:]],
        cwd=cwd,
        env={"UNABRIDGED_CACHE": str(folder / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [body for kind, body in BLOCKS if kind == "python"])
def test_python_blocks_run(code, tmp_path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", [body for kind, body in BLOCKS if kind == "sh" and body.startswith("unabridged ")])
def test_commands_run_one_after_the_other(block, tmp_path) -> None:
    for name in ("README.md", "plugin.json", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    for line in block.splitlines():
        done = command_line(line, tmp_path, cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout.strip() or done.stderr.strip()


def test_the_main_command_does_the_main_job(tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    import pyarrow.parquet as pq

    line = next(line for line in README.splitlines() if ".venv/bin/unabridged embed" in line)
    assert line.startswith(SETUP)
    command = line.split("&& .venv/bin/")[-1].replace("-o vectors.parquet", f"-o {tmp_path / 'vectors.parquet'}")
    done = command_line(command, tmp_path)
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "vectors.parquet").to_pylist()
    assert {row["status"] for row in rows} <= {"ok", "chunked"}
    assert len(rows) > 10
    assert all(len(row["vector"]) == 384 for row in rows)


def test_continuous_integration_runs_the_readmes_test_command() -> None:
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert "grep -m1 'python -m pytest' README.md" in script
    assert [line for line in README.splitlines() if "python -m pytest" in line][0].startswith(SETUP)  # noqa: RUF015


def test_diff_blocks_name_what_there_is() -> None:
    import unabridged

    for kind, body in BLOCKS:
        if kind == "diff":
            for name in re.findall(r"unabridged\.(\w+)", body):
                assert hasattr(unabridged, name)
