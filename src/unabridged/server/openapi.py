"""The OpenAPI document: FastAPI's own, and what it cannot know: keys, names, and the answers of the frame.

Which key an operation asks for, and all the ways to show it; a summary out of the operation's name; every answer
that the frame, or a condition, can give in place of the route's (401, 403, 404, 412, 413, 429); what a 429 tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

from unabridged.server.saying import ProblemBody

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastapi import FastAPI
    from fastapi.routing import APIRoute

__all__ = ["document_of", "operation_id"]

Operation = dict[str, Any]

_BEARER = "bearer"
_METHODS = {"get", "put", "post", "delete", "patch"}
# The same key in a header of its own, as other clients send it.
_HEADERS = {
    name: {"type": "apiKey", "in": "header", "name": name, "description": f"The same key, as {whose} sends it."}
    for name, whose in {"x-api-key": "curl", "api-key": "Azure's SDK"}.items()
}
_TAGS = {
    "gateway": "Embeddings for text of any length, in the shapes that clients already speak.",
    "remember": "Texts in: stored with their chunks, entities and facts.",
    "recall": "What the memory holds on a query, each with its source.",
    "artifacts": "The texts, and what was made of them.",
    "graph": "Entities, facts between them, and the links to where they are said.",
    "sessions": "Runs of users and agents.",
    "series": "Numbers over time that belong to a text.",
    "images": "Images that belong to a text or to entities.",
    "keeping": "What is kept, what it cost, what waits; erasure with proof.",
    "datasets": "Memories beside each other, whole: made, exported, dropped.",
    "jobs": "Batch jobs of the machine that the server runs on.",
    "preview": "How a document would be cut, before anything is spent.",
    "health": "For load balancers, supervisors and Prometheus.",
}
_WORDS = {
    "401": "No key was given, or one that opens nothing.",
    "403": "The key has no right to this, or to this dataset.",
    "404": "What the path names is not there.",
    "412": "The record is not the one that If-Match names; nothing has happened.",
    "413": "The body, or a text in it, is larger than allowed.",
    "429": "Over a limit of this key, or of the model's server: come back after so many seconds.",
}
_COUNT = {"schema": {"type": "string"}}
_LIMITS = {
    f"x-ratelimit-{word}-{what}": {**_COUNT, "description": f"{says}; only for keys with a limit of {what}."}
    for what in ("requests", "tokens")
    for word, says in {
        "limit": f"{what.capitalize()} a minute",
        "remaining": f"{what.capitalize()} that are left",
        "reset": "When all are left again, such as 1.5s",
    }.items()
}
_RETRY = {"retry-after": {**_COUNT, "description": "Seconds; absent where a month's tokens are used up."}}


def operation_id(route: APIRoute) -> str:
    """The name of a route that has none: its method and its path.

    >>> from fastapi.routing import APIRoute
    >>> operation_id(APIRoute("/v1/models/{model:path}", lambda: None, methods=["GET"]))
    'get_v1_models_model'
    """
    parts = [part.strip("{}").partition(":")[0] for part in route.path.split("/") if part]
    return "_".join([*sorted(route.methods or ())[:1], *parts]).lower().replace("-", "_")


def document_of(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """What makes the document, once: ``security`` of an operation are the rights that a key must have for it."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _documented(app)
        return app.openapi_schema

    return document


def _documented(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": about} for name, about in _TAGS.items()],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    found["components"]["securitySchemes"] |= _HEADERS
    found["components"]["schemas"][ProblemBody.__name__] = ProblemBody.model_json_schema()
    for path, operation in _operations(found):
        _ask_for_keys(operation)
        if operation.get("summary", "").startswith(" "):  # made of a private function's name
            operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
        _tell_answers(path, operation)
    return found


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, Operation]]:
    for path, item in document["paths"].items():
        for method in sorted(_METHODS & item.keys()):
            yield path, item[method]


def _ask_for_keys(operation: Operation) -> None:
    asked = operation.get("security", [])
    rights = sorted({right for each in asked for right in each.get(_BEARER, ())})
    operation["security"] = [{scheme: rights} for scheme in (_BEARER, *_HEADERS)] if asked else []


def _tell_answers(path: str, operation: Operation) -> None:
    """Each answer that can come instead of the route's own, in the shape of its other refusals."""
    answers = operation["responses"]
    body = {name: value for name, value in answers.get("4XX", {}).items() if name == "content"}
    answers |= {status: {"description": _WORDS[status], **body} for status in _refusals(path, operation)}
    if "429" in answers:
        answers["429"]["headers"] = {**_RETRY, **_LIMITS}
        for status in answers.keys() & {"200", "201"}:
            answers[status]["headers"] = {**_LIMITS, **answers[status].get("headers", {})}
    operation["responses"] = dict(sorted(answers.items()))


def _refusals(path: str, operation: Operation) -> Iterator[str]:
    if operation["security"]:
        yield from ("401", "429")
        if operation["security"][0][_BEARER]:
            yield "403"
    if "{" in path:
        yield "404"
    if "requestBody" in operation:
        yield "413"
    if any(each["name"].lower() == "if-match" for each in operation.get("parameters", ())):
        yield "412"
