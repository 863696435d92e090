"""``${VAR}`` in strings: replaced from the environment, once, never inside what was replaced.

Where a number or a boolean belongs, what comes out is read as one: ``"port": "${PORT:-8080}"``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unabridged.config.jsonc import Path

__all__ = ["Substitution", "as_written", "references", "secrets", "substitute", "values_of"]

# $$ | ${NAME} | ${NAME:-default} | anything else that opens like a reference, which is a mistake
_REFERENCE = re.compile(r"\$\$|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{}]*))?\}|(?P<broken>\$\{)")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST = 4  # characters: a shorter one is no secret, and stands in every other word
_WHOLE = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WORDS = ("true", "false")  # what a boolean is where a string may stand too: a folder may be called "on"
_EXPECTED = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_BOOLEANS = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


@dataclass(frozen=True, slots=True)
class Substitution:
    """The tree with its variables filled in, and what could not be: path and problem."""

    value: Any
    problems: tuple[tuple[Path, str], ...]


def substitute(
    tree: Any, environ: Mapping[str, str], types: Callable[[Path], frozenset[str]] | None = None
) -> Substitution:
    """Fill in every string of ``tree``; what fails stays as it is written, with its problem.

    ``types`` tells the JSON types that may stand at a path: a string made of variables, where none may stand, is
    read as the number or the boolean that it spells.

    >>> substitute({"a": ["${X:-1}", "$$5"]}, {}).value
    {'a': ['1', '$5']}
    >>> substitute({"key": "${MY_KEY}"}, {}).problems
    ((('key',), 'the variable MY_KEY is not set; export it, or write ${MY_KEY:-…} for a default'),)
    >>> substitute({"port": "${PORT:-8080}"}, {}, lambda path: frozenset({"integer"})).value
    {'port': 8080}
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
        filled = _REFERENCE.sub(lambda found: _one(found, environ), value)
        if problem is None and types is not None and references(value):
            filled, problem = _typed(value, filled, types(path))
        if problem is not None:
            problems.append((path, problem))
            return value
        return filled

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


def _typed(written: str, text: str, types: frozenset[str]) -> tuple[Any, str | None]:
    """What a string spells where one of ``types`` belongs; or why it cannot stand there."""
    plain = text.strip()
    if "boolean" in types and plain.lower() in _BOOLEANS and ("string" not in types or plain.lower() in _WORDS):
        return _BOOLEANS[plain.lower()], None
    if not types or types & {"string", "object", "array"}:
        return text, None
    if "integer" in types and _WHOLE.fullmatch(plain):
        return int(plain), None
    if "number" in types and _NUMBER.fullmatch(plain):
        return float(plain), None
    names = references(written)
    held = f"the variable {names[0]} holds" if len(names) == 1 else f"the variables {' and '.join(names)} make"
    expected = " or ".join(_EXPECTED[kind] for kind in _EXPECTED if kind in types)
    size = "a character that is" if len(text) == 1 else f"{len(text)} characters that are"
    return text, f"{held} {size} no such value, expected {expected}"


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
