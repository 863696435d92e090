"""``${VAR}`` in strings: replaced from the environment, once, never inside what was replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.config.jsonc import Path

__all__ = ["Substitution", "as_written", "references", "secrets", "substitute", "values_of"]

# $$ | ${NAME} | ${NAME:-default} | anything else that opens like a reference, which is a mistake
_REFERENCE = re.compile(r"\$\$|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}]*))?\}|(?P<broken>\$\{)")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST = 4  # characters: a shorter one is no secret, and stands in every other word


@dataclass(frozen=True, slots=True)
class Substitution:
    """The tree with its variables filled in, and what could not be: path and problem."""

    value: Any
    problems: tuple[tuple[Path, str], ...]


def substitute(tree: Any, environ: Mapping[str, str]) -> Substitution:
    """Fill in every string of ``tree``; what fails stays as it is written, with its problem.

    >>> substitute({"a": ["${X:-1}", "$$5"]}, {}).value
    {'a': ['1', '$5']}
    >>> substitute({"key": "${MY_KEY}"}, {}).problems
    ((('key',), 'the variable MY_KEY is not set; export it, or write ${MY_KEY:-…} for a default'),)
    """
    problems: list[tuple[Path, str]] = []

    def fill(value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            return {key: fill(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [fill(item, (*path, at)) for at, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        problem = _problem(value, environ)
        if problem is not None:
            problems.append((path, problem))
            return value
        return _REFERENCE.sub(lambda found: _one(found, environ), value)

    filled = fill(tree, ())
    return Substitution(filled, tuple(problems))


def references(text: str) -> tuple[str, ...]:
    """The names of the variables that a string is made of.

    >>> references("https://${HOST}/${PATH:-v1}"), references("$${NOT}")
    (('HOST', 'PATH'), ())
    """
    return tuple(found["name"] for found in _REFERENCE.finditer(text) if found["name"])


def secrets(values: Mapping[str, str]) -> frozenset[str]:
    """The values of variables that are secrets by their names.

    >>> secrets({"HOST": "host", "A_KEY": "sk-1234"})
    frozenset({'sk-1234'})
    """
    return frozenset(value for name, value in values.items() if _is_secret(name, value))


def _is_secret(name: str, value: str) -> bool:
    return len(value) >= _SHORTEST and _SECRET.search(name) is not None


def values_of(tree: Any, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the strings of ``tree`` are made of, with their values.

    >>> values_of({"model": "${WHICH:-x}", "keys": ["${A_KEY}"]}, {"A_KEY": "sk-1234"})
    {'A_KEY': 'sk-1234'}
    """
    if isinstance(tree, dict | list | tuple):
        found: dict[str, str] = {}
        for item in tree.values() if isinstance(tree, dict) else tree:
            found |= values_of(item, environ)
        return found
    names = references(tree) if isinstance(tree, str) else ()
    return {name: environ[name] for name in names if environ.get(name)}


def as_written(message: str, values: Mapping[str, str]) -> str:
    """A message that quotes what was found, with the variable in the place of its value (case 47).

    >>> as_written("found 'sk-1234', known are a, b", {"A_KEY": "sk-1234"})
    "found '${A_KEY}', known are a, b"
    """
    for name, value in values.items():
        message = message.replace(repr(value), f"'${{{name}}}'")
        if _is_secret(name, value):
            message = message.replace(value, f"${{{name}}}")
    return message


def _problem(text: str, environ: Mapping[str, str]) -> str | None:
    for found in _REFERENCE.finditer(text):
        if found["broken"]:
            return "${ opens no variable: write ${NAME} or ${NAME:-default}, and $${ for the text itself"
        name = found["name"]
        if name and not environ.get(name) and found["default"] is None:
            state = "is empty" if name in environ else "is not set"
            return f"the variable {name} {state}; export it, or write ${{{name}:-…}} for a default"
    return None


def _one(found: re.Match[str], environ: Mapping[str, str]) -> str:
    if found[0] == "$$":
        return "$"
    return environ.get(found["name"]) or found["default"] or ""
