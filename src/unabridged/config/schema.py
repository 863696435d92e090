"""The JSON Schema of a configuration, generated from the models; shipped as ``data/config.schema.json``.

``unabridged config schema`` prints it; a test holds that the shipped file is current.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from unabridged.config.model import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SCHEMA_FILE", "json_schema", "keys_at", "places", "schema_text", "types_at"]

SCHEMA_FILE = "config.schema.json"
_ID = "urn:unabridged:config:1"
# A string may be made of variables, whose values no editor knows.
_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_SPELLED = (
    "integer",
    "number",
    "boolean",
)  # what a variable may spell (:func:`~unabridged.config.variables.substitute`)


def json_schema() -> dict[str, Any]:
    """The schema as a mapping.

    >>> json_schema()["properties"]["embedding"]["$ref"]
    '#/$defs/EmbeddingSettings'
    """
    schema = _without_titles(_with_variables(_generated()))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _ID, "title": "unabridged"}
    return {**head, **schema}


def schema_text() -> str:
    """The schema as the file holds it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def keys_at(path: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys known in the object at ``path``, in the order of the documentation.

    >>> keys_at(("embedding", "limit"))[:2]
    ('inputTokens', 'inputChars')
    """
    return tuple(_objects(_generated(), _node(path)).get("properties", ()))


def types_at(path: tuple[str | int, ...]) -> frozenset[str]:
    """The JSON types that a value at ``path`` may have; none where anything may stand, or nothing is known.

    >>> sorted(types_at(("server", "port"))), sorted(types_at(("embedding", "cache")))
    (['integer'], ['boolean', 'object', 'string'])
    """
    return frozenset(_types(_generated(), _node(path)))


@cache
def places() -> dict[tuple[str, ...], tuple[str, ...]]:
    """Every object of a configuration, by its path, with its keys."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    todo: list[tuple[str, ...]] = [()]
    while todo:
        path = todo.pop(0)
        keys = keys_at(path)
        if keys:
            found[path] = keys
            todo += [(*path, key) for key in keys]
    return found


def _node(path: tuple[str | int, ...]) -> dict[str, Any]:
    """What the schema says of the value at ``path``."""
    schema = _generated()
    node: dict[str, Any] = schema
    for step in path:
        node = _part(_objects(schema, node), step)
    return node


def _types(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[str]:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "type" in node:
        yield node["type"]
    for branch in chain(node.get("anyOf", ()), node.get("oneOf", ())):
        yield from _types(schema, branch)


@cache
def _generated() -> dict[str, Any]:
    return Settings.model_json_schema(by_alias=True)


def _part(node: dict[str, Any], step: str | int) -> dict[str, Any]:
    """What stands at an index, under a key, or under any key of an object whose keys are the user's own."""
    found: dict[str, Any] = node.get("items", {}) if isinstance(step, int) else node.get("properties", {}).get(step, {})
    others = node.get("additionalProperties")
    return found or (others if isinstance(others, dict) else {})


def _objects(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """The branch of ``node`` that has parts: an object with properties, or a list with items."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if "properties" in node or "items" in node or isinstance(node.get("additionalProperties"), dict):
        return node
    branches = [_objects(schema, branch) for name in ("anyOf", "oneOf") for branch in node.get(name, ())]
    return next((branch for branch in branches if branch), {})


def _with_variables(node: Any, *, text: bool = False) -> Any:
    """The schema where variables may stand; ``text``: beside a string that may hold them already."""
    if isinstance(node, list):
        return [_with_variables(item, text=text) for item in node]
    if not isinstance(node, dict):
        return node
    strings = any(branch.get("type") == "string" for branch in node.get("oneOf", ()))
    node = {key: _with_variables(value, text=strings and key == "oneOf") for key, value in node.items()}
    if node.get("type") in _SPELLED and not text:
        return {**node, "type": [node["type"], "string"], "pattern": _VARIABLE["pattern"]}
    if node.get("type") == "string" and ("enum" in node or "pattern" in node):
        about = {key: node.pop(key) for key in ("default", "description") if key in node}
        return {"anyOf": [node, _VARIABLE], **about}
    return node


def _without_titles(node: Any) -> Any:
    """Without the titles that pydantic makes of the names: they only repeat them."""
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_titles(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))
    }
