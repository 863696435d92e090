"""Issue 10, 5: what is installed is what pyproject.toml asks for, and has no hole that is known here.

No advisory service can be reached where this runs, so those that concern us are kept in ``advisories.toml``.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
ADVISORIES = tomllib.loads((HERE / "advisories.toml").read_text("utf-8"))["advisory"]


def asked() -> dict[str, Requirement]:
    """What the project asks for by itself, in all of its extras; those for tests of adapters apart."""
    found = {}
    extras = [rows for name, rows in PROJECT["optional-dependencies"].items() if not name.startswith("adapters")]
    for row in [*PROJECT["dependencies"], *(row for rows in extras for row in rows)]:
        requirement = Requirement(row)
        if requirement.name != PROJECT["name"]:
            found[plain(requirement.name)] = requirement
    return found


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(name: str) -> Version | None:
    try:
        return Version(distribution(name).version)
    except PackageNotFoundError:
        return None


def standing_on() -> dict[str, Version]:
    """All that is installed and that the project leads to, directly or through others."""
    found: dict[str, Version] = {}
    todo = list(asked().values())
    while todo:
        requirement = todo.pop()
        name, version = plain(requirement.name), installed(requirement.name)
        if version is None or name in found:
            continue
        found[name] = version
        for row in distribution(name).requires or ():
            inner = Requirement(row)
            extras = requirement.extras or {""}
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                todo.append(inner)
    return found


@pytest.mark.parametrize("name", sorted(asked()))
def test_what_is_installed_is_what_is_asked_for(name) -> None:
    version, requirement = installed(name), asked()[name]
    assert version is None or requirement.specifier.contains(version, prereleases=True), (
        f"{name} {version}: {requirement}"
    )
    assert requirement.specifier, f"{name}: without a lower bound, an old version with holes would do"


@pytest.mark.parametrize("advisory", ADVISORIES, ids=[each["id"] for each in ADVISORIES])
def test_no_known_hole_is_open(advisory) -> None:
    version = installed(advisory["package"])
    if "fixed" in advisory:
        assert version is None or version >= Version(advisory["fixed"]), f"{advisory['package']} {version}"
    else:
        held = re.search(r"tests/\S+\.py", advisory["how"])
        assert held, "what keeps it closed is held by a test"
        assert (HERE.parent / held[0]).exists()


def test_every_advisory_concerns_something_that_we_stand_on() -> None:
    names = standing_on()
    assert {"starlette", "diskcache", "pyarrow", "h11"} <= names.keys(), "what others bring along is looked at too"
    optional = {"requests", "urllib3"}  # brought along by extras that may be absent
    assert {plain(each["package"]) for each in ADVISORIES} - names.keys() <= optional
