"""The OpenAPI document read as a client's author would: valid, named for people, and its own examples work."""

from __future__ import annotations

import re
import sys
from itertools import count
from pathlib import Path

import pytest
from openapi_spec_validator import validate
from serving import HASHING, client_of, serving

sys.path.insert(0, str(Path(__file__).parents[1]))

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000"
    "000049454e44ae426082"
)
METHODS = ("get", "post", "patch", "delete")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    (folder / "texts").mkdir()
    (folder / "texts" / "note.md").write_text("# Boiler\n\nIt is serviced every May.", "utf-8")
    config = {**HASHING, "server": {"folders": [str(folder / "texts")]}, "job": {"folder": str(folder / "jobs")}}
    with serving(folder, config) as served, client_of(served) as found:
        found.memory = served.state.memory("default", create=True)
        yield found


@pytest.fixture(scope="module")
def document(client):
    return client.get("/openapi.json").json()


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]


def test_it_is_valid(document):
    validate(document)


def test_its_names_are_for_people(document):
    assert not [name for name in document["components"]["schemas"] if name.startswith("_")]
    assert document["info"]["license"]["identifier"] == "Apache-2.0"
    told = {each["name"]: each["description"] for each in document["tags"]}
    seen = set()
    for method, path, operation in operations(document):
        where = f"{method} {path}"
        assert re.fullmatch(r"[A-Z][^_]*", operation["summary"]), where
        assert operation["description"].endswith((".", "`.")), where
        assert re.fullmatch(r"[a-z0-9_]+", operation["operationId"]), where
        assert set(operation["tags"]) <= told.keys(), where
        seen |= {operation["operationId"]}
    assert len(seen) == len([*operations(document)])


def test_it_says_every_answer_that_can_come_instead(document):
    for method, path, operation in operations(document):
        answers, where = operation["responses"], f"{method} {path}"
        names = {each["name"].lower() for each in operation.get("parameters", ())}
        assert ("401" in answers) == ("429" in answers) == bool(operation["security"]), where
        assert ("412" in answers) == ("if-match" in names), where
        assert ("413" in answers) == ("requestBody" in operation), where
        if "429" in answers:
            assert answers["429"]["headers"].keys() >= {"retry-after", "x-ratelimit-remaining-tokens"}, where
        for status in answers.keys() & {"401", "403", "404", "412", "413", "429"}:
            assert answers[status]["content"], where


class Walk:
    """A caller that knows the document, and the ids of a memory."""

    numbers = count()

    def __init__(self, client, document):
        self.client, self.document = client, document
        self.ids = None

    def known(self, *, fresh):
        """Ids of what is there now, by the names of parameters; ``fresh`` where the call before took them away."""
        if fresh or self.ids is None:
            self.ids = self.made()
        return dict(self.ids)

    def made(self):
        memory, at = self.client.memory, next(self.numbers)
        with memory.write() as tx:
            base = tx.artifact(f"Person {at} works at Acme.", session_id=f"run-{at}")
            ends = [tx.entity(name, "person", artifact=base) for name in (f"Person {at}", f"Acme {at}")]
            edge = tx.edge(ends[0], "works_at", ends[1], artifact=base, fact=f"Person {at} works at Acme {at}.")
        series = memory.series.create(f"pressure {at}")
        image = memory.images.add(PIXEL)
        opened = self.client.post("/v1/gb/preview/uploads", params={"name": "a.png"}, content=PIXEL).json()
        text = self.client.post("/v1/gb/preview/documents", json={"text": "It is serviced every May."}).json()
        return {
            "artifact_id": base.id, "id": base.id, "entity_id": ends[0].id, "edge_id": edge.id, "session_id": f"run-{at}",
            "series_id": series.id, "image_id": image.id, "name": "default", "model": "default", "folder": 0,
            "document": opened["id"], "text": text["id"],
        }  # fmt: skip

    def call(self, method, path, operation):
        known = self.known(fresh=method == "delete")
        if path.startswith("/v1/gb/entities") and method == "delete":
            known["id"] = known["entity_id"]
        if path.startswith("/v1/gb/edges") and method == "delete":
            known["id"] = known["edge_id"]
        if path == "/v1/gb/datasets/{name}" and method == "delete":
            self.client.post("/v1/gb/datasets", json={"name": "doomed"}).raise_for_status()
            known["name"] = "doomed"
        where = {each["name"]: known[each["name"]] for each in self.needed(operation, "path") if each["name"] in known}
        asked = {each["name"]: known.get(each["name"], "walked") for each in self.needed(operation, "query")}
        asked |= {
            each["name"]: self.example(each)
            for each in operation.get("parameters", ())
            if each["in"] == "query" and self.example(each) is not None
        }
        return self.client.request(
            method, path.format(**dict.fromkeys(re.findall(r"{(\w+)}", path), "none") | where), params=asked,
            **self.body(operation, known),
        )  # fmt: skip

    def needed(self, operation, place):
        return [each for each in operation.get("parameters", ()) if each["in"] == place and each.get("required")]

    def body(self, operation, known):
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            given = self.example(content["application/json"])
            assert given is not None, f"{operation['operationId']} has no example"
            return {"json": {**given, "document": known["text"]} if "recipes" in given else given}
        if "application/x-tar" in content:
            return {"content": self.client.get("/v1/gb/export").content}
        if "application/octet-stream" in content:
            return {"content": b"# Boiler"}
        return {"content": PIXEL} if content else {}

    def example(self, holder):
        """The first example of a parameter or a body, or one put together of its fields'."""
        schema = self.resolved(holder.get("schema", {}))
        for each in (holder, schema):
            if each.get("examples"):
                found = each["examples"]
                return found[0] if isinstance(found, list) else next(iter(found.values()))["value"]
        fields = {name: self.example({"schema": field}) for name, field in schema.get("properties", {}).items()}
        return {name: value for name, value in fields.items() if value is not None} or None

    def resolved(self, schema):
        if "$ref" in schema:
            return self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema


def documented(operation, status):
    return {str(status), f"{status // 100}XX"} & operation["responses"].keys()


# What is there only after a job, a call of a model, or a text that waits.
ABSENT = {"get_job", "delete_job", "get_inference", "delete_inference", "delete_pending"}


def test_every_operation_works_with_its_own_example(client, document):
    walk = Walk(client, document)
    for method, path, operation in sorted(operations(document), key=lambda each: each[0] == "delete"):
        answer = walk.call(method, path, operation)
        told = f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        assert documented(operation, answer.status_code), told
        assert answer.status_code == 404 if operation["operationId"] in ABSENT else answer.is_success, told


def test_every_operation_says_so_where_nothing_is_there(client, document):
    for method, path, operation in operations(document):
        if "{" in path:
            gone = re.sub(r"{\w+}", "77", path)
            answer = client.request(method, gone, **Walk(client, document).body(operation, {"text": "none"}))
            assert answer.status_code == 404, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
            assert "404" in operation["responses"], path
