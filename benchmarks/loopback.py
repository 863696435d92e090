"""A loopback provider in a process of its own, so that its work is not that of the code measured."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["server"]


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    """Its base URL, while it runs; ``arguments`` are those of ``python -m unabridged.testing``."""
    command = [sys.executable, "-m", "unabridged.testing", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()
