"""The JSON Schema of a configuration, generated from the models; shipped as ``data/config.schema.json``.

``unabridged config schema`` prints it; a test holds that the shipped file is current.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from unabridged.config.model import Settings

__all__ = ["SCHEMA_FILE", "json_schema", "keys_at", "places", "schema_text"]

SCHEMA_FILE = "config.schema.json"
_ID = "urn:unabridged:config:1"
# A string may be made of variables, whose values no editor knows.
_VARIABLE = {"type": "string", "pattern": r"\$\{"}


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
    schema = _generated()
    node: dict[str, Any] = schema
    for step in path:
        node = _part(_objects(schema, node), step)
    return tuple(_objects(schema, node).get("properties", ()))


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


def _with_variables(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_variables(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _with_variables(value) for key, value in node.items()}
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
