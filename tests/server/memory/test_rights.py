"""Every route of the memory asks for a key, a right and a dataset; and no reply holds a secret (A28, promise 12)."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from unabridged.server.keys import SCOPES, KeyFile
from unabridged.server.memory import router

KEY = "a-key-of-the-configuration-with-every-right"
ADMIN = {("POST", "/v1/gb/datasets"), ("DELETE", "/v1/gb/datasets/{name}"), ("POST", "/v1/gb/import")}
READS_BY_POST = {"/v1/gb/verify", "/v1/gb/query", "/v1/gb/recall"}


@pytest.fixture(scope="module")
def all_routes():
    """(method, path) of every route of the memory's own."""
    alone = FastAPI()
    alone.include_router(router)
    found = [(method.upper(), path) for path, item in alone.openapi()["paths"].items() for method in item]
    assert len(found) > 40
    return found


@pytest.fixture(scope="module")
def locked(apps):
    return apps("locked", keys=[KEY])


@pytest.fixture(scope="module")
def keys(locked):
    """Keys with one right each, or with one dataset."""
    file = KeyFile(locked.app.state.server.settings.keys_path)
    made = {scope: file.add(scope, scopes=(scope,))[1] for scope in ("embed", "read", "write", "admin")}
    made["elsewhere"] = file.add("elsewhere", scopes=SCOPES, datasets=("team-*",))[1]
    locked.app.state.server.keys._looked = -10.0
    return made


def call(client, method, path, key=None, **params):
    path = path.replace("{name}", "default")
    for name in (
        "artifact_id",
        "entity_id",
        "edge_id",
        "session_id",
        "series_id",
        "image_id",
        "inference_id",
        "job_id",
    ):
        path = path.replace("{" + name + "}", "x")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = {"json": {}} if method in {"POST", "PATCH"} else {}
    return client.request(method, path, headers=headers, params=params, **body)


def test_without_a_key_nothing_is_answered(locked, all_routes) -> None:
    for method, path in all_routes:
        for key in (None, "wrong", "unb_00000000_wrong"):
            answer = call(locked, method, path, key)
            assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key"), (method, path)


def test_each_route_asks_for_its_right_and_the_document_says_which(locked, keys, all_routes) -> None:
    document = locked.app.openapi()["paths"]
    for method, path in all_routes:
        admin = (method, path) in ADMIN or path.startswith("/v1/gb/jobs")
        reads = method == "GET" or path in READS_BY_POST
        needed = "admin" if admin else "read" if reads else "write"
        assert document[path][method.lower()]["security"][0]["bearer"] == [needed], (method, path)
        lacking = {"read": ["embed"], "write": ["embed", "read"], "admin": ["embed", "read", "write"]}[needed]
        for scope in lacking:
            answer = call(locked, method, path, keys[scope])
            assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope"), (method, path, scope)
        if method != "DELETE" or ("{" in path and "name" not in path):
            assert call(locked, method, path, keys[needed]).status_code not in {401, 403, 500}, (method, path)


def test_a_key_of_other_datasets_reaches_nothing_here(locked, keys, all_routes) -> None:
    for method, path in all_routes:
        if path == "/v1/gb/datasets" or "jobs" in path:
            continue
        named = {} if path.startswith("/v1/gb/datasets/") else {"dataset": "default"}
        answer = call(locked, method, path, keys["elsewhere"], **named)
        assert (answer.status_code, answer.json()["code"]) == (403, "dataset_forbidden"), (method, path)
    made = locked.post(
        "/v1/gb/datasets", json={"name": "team-1"}, headers={"Authorization": f"Bearer {keys['elsewhere']}"}
    )
    assert made.status_code == 201
    shown = call(locked, "GET", "/v1/gb/datasets", keys["elsewhere"]).json()["items"]
    assert [each["name"] for each in shown] == ["team-1"]
    refused = locked.post(
        "/v1/gb/datasets", json={"name": "other"}, headers={"Authorization": f"Bearer {keys['elsewhere']}"}
    )
    assert refused.status_code == 403
    hidden = call(locked, "GET", "/v1/gb/datasets", keys["admin"]).json()["items"]
    assert {each["name"] for each in hidden} >= {"default", "team-1"}


def test_no_reply_holds_a_key_or_a_path_of_the_server(locked, keys, all_routes, tmp_path_factory) -> None:
    base = str(tmp_path_factory.getbasetemp())
    for method, path in all_routes:
        if method == "DELETE" or path.endswith("/export"):
            continue
        answer = call(locked, method, path, KEY)
        assert answer.status_code < 500, (method, path)
        assert base not in answer.text
        assert not any(key in answer.text for key in (KEY, *keys.values()))
