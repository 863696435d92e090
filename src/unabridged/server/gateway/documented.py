"""What the OpenAPI document says of routes that read their bodies and write their answers themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unabridged.server.gateway.bodies import Asked

__all__ = ["INPUT", "array", "asked", "object_of", "told"]

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_IDS: Schema = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}
# A text, texts, token ids, lists of token ids; a list may hold texts and lists of ids.
INPUT: Schema = {"anyOf": [_TEXT, _IDS, {"type": "array", "minItems": 1, "items": {"anyOf": [_TEXT, _IDS]}}]}


def array(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def object_of(**fields: Schema) -> Schema:
    """An object that has all of these fields, and may have more.

    >>> object_of(message={"type": "string"})["required"]
    ['message']
    """
    return {"type": "object", "required": list(fields), "properties": fields}


def asked(kind: type[Asked]) -> dict[str, Any]:
    """The request's body, for ``openapi_extra``."""
    schema = kind.model_json_schema(by_alias=True)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def told(answer: Schema, shape: str) -> dict[int | str, dict[str, Any]]:
    """The answers, for ``responses``: success, and errors in the shape of somebody's."""
    error = _ERRORS[shape]
    return {
        200: {"description": "Done.", "content": _json(answer)},
        "4XX": {
            "description": "What is wrong, and what would be right; or when to come back.",
            "content": _json(error),
        },
        "5XX": {"description": "The model's server failed, or there is no room for now.", "content": _json(error)},
    }


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_STRING: Schema = {"type": "string"}
_MAYBE: Schema = {"anyOf": [_STRING, {"type": "null"}]}
_ERRORS = {
    "openai": object_of(error=object_of(message=_STRING, type=_STRING, param=_MAYBE, code=_STRING)),
    "cohere": object_of(id=_STRING, message=_STRING),
    "ollama": object_of(error=_STRING),
    "tei": object_of(error=_STRING, error_type=_STRING),
}
