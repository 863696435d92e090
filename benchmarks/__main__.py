"""``python -m benchmarks NAME [ARGUMENTS]``: measure, print the table, write ``benchmarks/results/NAME.json``."""

from __future__ import annotations

import importlib
import json
import pkgutil
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Run one benchmark."""
    package = Path(__file__).parent
    names = sorted(m.name for m in pkgutil.iter_modules([str(package)]) if not m.name.startswith("_"))
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        print(f"usage: python -m benchmarks {{{','.join(names)}}} [ARGUMENTS]", file=sys.stderr)
        return 2
    found = importlib.import_module(f"benchmarks.{sys.argv[1]}").main(sys.argv[2:])
    if isinstance(found, dict):
        about = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "python": platform.python_version()}
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{sys.argv[1]}.json").write_text(json.dumps({**about, **found}, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
