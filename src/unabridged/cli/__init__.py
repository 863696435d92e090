"""The command line: ``unabridged embed | chunk | remember | recall | job | serve …``, one file each.

Importing this is cheap; what a command needs is imported when it runs.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the program on ``sys.argv`` and exit with its code."""
    from unabridged.cli.app import run
    from unabridged.cli.exits import INTERRUPTED, TERMINATED, drain, leave_now

    code = drain(run())
    if code in (INTERRUPTED, TERMINATED):
        leave_now(code)
    raise SystemExit(code)
