"""The floors (DESIGN §1): a module imports only from floors below its own, and each library has one room."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "unabridged"

FLOORS: list[set[str]] = [
    {"advice", "errors", "types"},
    {"text", "providers"},
    {"embedding"},
    {"memory"},
    {"jobs"},
    {"config"},
    {"adapters", "mcp", "web"},
    {"server"},
    {"cli"},  # the shell opens the other doors
]
# testing.py is a provider's server for users' tests: it stands beside the providers and may use them.
SIDE = {"testing": 1}

# Which module trees may import a library; everybody else goes through them.
ROOMS = {
    "httpx": {"providers.http", "providers.pools", "providers.wire", "providers.deadline", "adapters"},
    "tenacity": {"providers.retry"},
    "diskcache": {"embedding.cache"},
    "lancedb": {"memory.dataset", "memory.searches", "adapters.lancedb", "jobs.sink", "jobs.sinks"},
    "lance": {"memory.dataset", "memory.searches", "jobs.lance", "jobs.sink", "jobs.sinks"},
    "pydantic": {"config", "server", "mcp", "memory.extraction", "adapters"},
}


def modules() -> dict[str, Path]:
    named = {}
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:
            named[name] = path
    return named


def floor(name: str) -> int:
    top = name.split(".", maxsplit=1)[0]
    if top in SIDE:
        return SIDE[top]
    return next(at for at, names in enumerate(FLOORS) if top in names)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_every_module_has_a_floor() -> None:
    for name in modules():
        floor(name)


@pytest.mark.parametrize("name", modules())
def test_imports_point_down(name: str) -> None:
    top = name.split(".", maxsplit=1)[0]
    for target in imports(modules()[name]):
        if not target.startswith("unabridged."):
            continue
        inner = target.removeprefix("unabridged.").split(".")[0]
        is_module = (SRC / inner).exists() or (SRC / f"{inner}.py").exists()
        if inner == top or not is_module:
            continue
        below = floor(inner) < floor(name) or floor(name) == 0 or (top in SIDE and floor(inner) <= floor(name))
        assert below, f"{name} imports {target}: not a floor below"


@pytest.mark.parametrize("name", modules())
def test_no_relative_imports(name: str) -> None:
    tree = ast.parse(modules()[name].read_text("utf-8"))
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level > 0]


@pytest.mark.parametrize("library", ROOMS)
def test_one_library_one_room(library: str) -> None:
    for name, path in modules().items():
        used = any(t == library or t.startswith(f"{library}.") for t in imports(path))
        allowed = any(name == room or name.startswith(f"{room}.") for room in ROOMS[library])
        assert not used or allowed, f"{name} imports {library}, whose rooms are {sorted(ROOMS[library])}"


@pytest.mark.parametrize("name", modules())
def test_files_are_short(name: str) -> None:
    assert len(modules()[name].read_text("utf-8").splitlines()) <= 400


def test_the_plan_of_the_house_names_what_is_there() -> None:
    root = SRC.parents[1]
    text = (root / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_*]+)*(?:/|\.py|\.jsonl))`", text))
    assert len(named) > 40
    folders = (root, SRC, *(SRC / name for name in ("memory", "memory/remember", "memory/recall", "text/segmenters")))
    assert not {each for each in named if not any(list(folder.glob(each.rstrip("/"))) for folder in folders)}


def test_the_plan_of_the_house_has_every_floor() -> None:
    text = (SRC.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    table = text.split("\n\n")[2].splitlines()[2:]
    named = [set(re.findall(r"`([a-z]+)(?:/|\.py)`", row.split("|")[1])) for row in table]
    assert set().union(*named) == set().union(*FLOORS)
    lowest = [min(map(floor, row)) for row in named]
    assert lowest == sorted(lowest, reverse=True)
