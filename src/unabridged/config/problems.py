"""What is wrong with the settings, one line each: the path, what was found, what would be right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from unabridged.config.jsonc import spell
from unabridged.config.names import nearest
from unabridged.config.predecessor import OWN_KEYS
from unabridged.config.schema import keys_at, places
from unabridged.config.sources import described
from unabridged.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import ValidationError

    from unabridged.config.jsonc import Path
    from unabridged.config.sources import Block

__all__ = ["all_in_one", "is_secret", "problems_of"]

# Values that no message and no listing shows.
_SECRET_KEYS = frozenset({"apiKey", "rerankApiKey", "headers", "keys"})
_TELLING = re.compile(r"key|token|secret|password|credential|authorization|headers", re.IGNORECASE)
# May hold a password where one does not belong.
_UNQUOTED_KEYS = _SECRET_KEYS | {"baseURL", "rerankEndpoint"}
# What others call a key of ours.
_OTHERS_CALL_IT = {
    "maxChunkSize": ("maxTokens", "maxSize", "chunkSize", "chunkTokens", "size", "tokens", "chunkLength", "windowSize"),
    "overlapSize": ("overlap", "overlapTokens", "chunkOverlap", "stride"),
    "minChunkSize": ("minTokens", "minSize", "minChunkTokens"),
    "maxLinesPerChunk": ("maxLines", "lines"),
}
_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "a string",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_short": "at least {min_length} long",
    "string_too_short": "at least {min_length} character",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "http(s)://host[:port][/path] without user, password or #",
}


def is_secret(path: Path) -> bool:
    """Whether the value at ``path`` may never be shown.

    >>> is_secret(("embedding", "apiKey", 0)), is_secret(("embedding", "options", "adToken"))
    (True, True)
    >>> is_secret(("embedding", "model"))
    False
    """
    names = [step for step in path if isinstance(step, str)]
    if "options" in names:  # a provider's own, which we know by their names only
        return any(_TELLING.search(name) for name in names)
    return any(name in _SECRET_KEYS for name in names)


def problems_of(invalid: ValidationError, written: Any, filled: Any) -> list[tuple[Path, str]]:
    """Each fault with its path. Texts are quoted as written in the file, variables not replaced.

    ``filled`` has them replaced: a number that one spelled is told beside it.
    """
    return [_problem(fault, written, filled) for fault in invalid.errors(include_url=False)]


def all_in_one(block: Block, problems: Iterable[tuple[Path, str]]) -> ConfigError:
    """One error with a line for each problem, in the order of the file."""
    known = list(dict.fromkeys(problems))
    known.sort(key=lambda one: block.document.lines.get((*block.prefix, *one[0]), 0))
    first, *others = (block.error(path, problem) for path, problem in known)
    return ConfigError(first.path, "\n".join([first.problem, *map(str, others)])) if others else first


def _problem(fault: Any, written: Any, filled: Any) -> tuple[Path, str]:
    path: Path = tuple(step for step in fault["loc"] if not str(step).startswith("<"))
    if fault["type"] == "extra_forbidden":
        return path, _unknown(path)
    if fault["type"] == "missing":
        return path, "not given, and there is no default"
    expected = _EXPECTED.get(fault["type"], fault["msg"]).format(**fault.get("ctx", {}))
    found, spelled = _found(path, written), _at(path, filled)
    if isinstance(_at(path, written), str) and isinstance(spelled, int | float):
        found = f"{described(spelled)} by {found.removesuffix(' (a string)')}"
    return path, f"found {found}, expected {expected}"


def _unknown(path: Path) -> str:
    known = keys_at(path[:-1])
    name = str(path[-1])
    if len(path) == 1 and name in OWN_KEYS:
        return "a key of memory-lancedb-pro, which is not used here; leave it out"
    near = _meant(name, known) or nearest(name, known)
    if near is not None:
        return f"unknown key, did you mean {near}?"
    elsewhere = next((place for place, keys in places().items() if name in keys), None)
    if elsewhere is not None:
        return f"unknown key here, did you mean {spell((*elsewhere, name))}?"
    return f"unknown key, known are {', '.join(known)}"


def _meant(name: str, known: Iterable[str]) -> str | None:
    plain = name.replace("_", "").replace("-", "").lower()
    named = (ours for ours in known if plain in map(str.lower, _OTHERS_CALL_IT.get(ours, ())))
    return next(named, None)


def _found(path: Path, written: Any) -> str:
    value = _at(path, written)
    if any(step in _UNQUOTED_KEYS for step in path) and isinstance(value, str):
        return f"a string of {len(value)} characters"
    return described(value)


def _at(path: Path, tree: Any) -> Any:
    for step in path:
        tree = tree[step]
    return tree
