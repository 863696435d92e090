"""A thousand requests that are wrong in every way: none is a fault of the server, none tells what it should not."""

from __future__ import annotations

import json
import random
from pathlib import Path

import unabridged

COUNT = 1000
HOME = str(Path(unabridged.__file__).parent)
SECRET = "s3cret-text-of-mine"
WORDS = [
    "", " ", "x", "..", "../../etc/passwd", "%00", "\x7f", "é", "北京", "🙂", "a" * 3000, "'; DROP TABLE artifacts; --", "${HOME}",
    "null", "-1", "1e999", "NaN", "true", "[]", "{}", "[[[[[[", '{"a":', "<script>alert(1)</script>", "http://169.254.169.254/",
    "file:///etc/passwd", '{"a":"\\ud800"}', "WyIyMDI0LTAxLTAxIiwiYSIsZmFsc2Vd", "2024-13-45", "9999999999999999999999", SECRET,
]  # fmt: skip
VALUES = [
    *WORDS,
    None,
    True,
    False,
    0,
    -1,
    2**70,
    1.5,
    1e308,
    [],
    {},
    [None],
    "\ud800",
    {"\ud800": "\udfff"},
    {"a": {"b": [1] * 50}},
    [["x"]] * 3,
]
HEADERS = ["Idempotency-Key", "If-Match", "If-None-Match", "Range", "Accept", "Content-Type", "If-Range"]


def described(app):
    """Every operation under /v1/gb, those of the page as well."""
    document = app.openapi()
    for path, item in document["paths"].items():
        for method, operation in item.items() if path.startswith("/v1/gb") else ():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            known = document["components"]["schemas"].get(body.get("$ref", "").split("/")[-1], {}).get("properties", {})
            yield (
                method,
                path,
                [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"],
                [*known],
            )


def malformed(draw, operations):
    """One request: a known route with values that do not belong there."""
    method, path, params, fields = draw.choice(operations)
    for name in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(
            "{" + name + "}", draw.choice([word for word in WORDS if word.isprintable()]).replace("/", "%2F") or "x"
        )
    query = {draw.choice([*params, "odd"]): str(draw.choice(WORDS)) for _ in range(draw.randrange(4))}
    made = {"params": {**query, **({"dataset": draw.choice(WORDS)} if draw.random() < 0.1 else {})}}
    made["headers"] = {
        name: draw.choice([w for w in WORDS if w.isascii() and w.isprintable()])
        for name in HEADERS
        if draw.random() < 0.15
    }
    if method in {"post", "patch"} or draw.random() < 0.1:
        given = {draw.choice([*fields, "odd"]): draw.choice(VALUES) for _ in range(draw.randrange(5))}
        raw = json.dumps(given).encode()
        made["content"] = draw.choice(
            [raw, raw, raw, raw[: draw.randrange(len(raw) + 1)], b"\xff\xfe", b"[" * 5000, b"", b'{"text": "\\ud800"}']
        )
        made["headers"].setdefault("Content-Type", "application/json")
    return method.upper(), path, made


def test_a_thousand_malformed_requests_are_answered_as_what_they_are(client, memory) -> None:
    draw, operations = random.Random(7), list(described(client.app))
    kept = memory.add(f"A note that holds {SECRET}.")
    seen = {}
    for _ in range(COUNT):
        method, path, made = malformed(draw, operations)
        if path.endswith(("/export", "/verify")) or (method, path) == ("POST", "/v1/gb/erase"):
            continue
        answer = client.request(method, path, **made)
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
        assert answer.status_code < 500, (method, path, made, answer.text)
        if answer.status_code >= 400 and answer.content:
            assert answer.headers["content-type"] == "application/problem+json", (method, path)
            assert "Traceback" not in answer.text
            assert SECRET not in answer.text, (method, path, made, answer.text)
            assert HOME not in answer.text
            assert "site-packages" not in answer.text
    assert sum(count for status, count in seen.items() if status >= 400) > COUNT / 2
    assert memory.artifacts.get(kept.id)
    memory.verify().raise_if_broken()
