"""What would help is told under a key, and every door words it for itself: no shell speaks Python, no tool names a flag."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from pathlib import Path

import pytest

from unabridged import advice, errors
from unabridged.cli.advice import WORDS as CLI
from unabridged.errors import EmbeddingFailed, EmptyText, NotFound, RememberFailed, StoreError
from unabridged.mcp.advice import WORDS as MCP
from unabridged.server.advice import WORDS as HTTP

SRC = Path(errors.__file__).parent
DOORS = {"cli": CLI, "http": HTTP, "mcp": MCP}
# A call, a keyword argument, a class's method: words that help who writes Python, and nobody else.
PYTHON = re.compile(r"\b\w+\([^)]*\)|\b\w+=(?:…|True|False|None|[\"'\d])|\b(?:Memory|Embedder)\.\w+")
# Messages that only who writes Python can meet: what an argument of a call has to be.
OF_ARGUMENTS = {
    "adapters",  # they wrap a client in Python
    "got an unexpected keyword argument",
    "expected an Embedder",
    "an object with count(text)",
    "an object with embed()",
    "unknown option",
}
RAISED = re.compile(
    r"Error|NotFound|Conflict|Mismatch|Exhausted|Failed|Degraded|Unreadable|Unenforceable|_without|warn$"
)


def test_every_door_has_words_for_every_key() -> None:
    for door, words in DOORS.items():
        assert words.keys() == advice.PYTHON.keys(), door


@pytest.mark.parametrize("door", DOORS)
def test_no_door_but_pythons_speaks_python(door) -> None:
    for key, words in DOORS[door].items():
        assert not re.search(r"\w\(|=(?:…|True|False|None)\b|Memory\.|Embedder", words), (door, key)
        if door != "cli":
            assert "--" not in words, (door, key)
        assert not words.endswith("."), "it ends a sentence of the error's"


def literals(call: ast.Call) -> str:
    """The words of a call's arguments; what is put in for a value is left out."""
    parts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return " ".join(parts)


def messages():
    """(place, words) of whatever the library raises, or says of a lane."""
    for path in sorted(SRC.rglob("*.py")):
        name = str(path.relative_to(SRC))
        if name.startswith(("cli/", "web/", "adapters/", "testing")):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if RAISED.search(called):
                    yield f"{name}:{node.lineno}", literals(node)


def test_no_message_of_the_library_speaks_python_where_a_door_would_repeat_it() -> None:
    found = list(messages())
    assert len(found) > 400, "it looks at them all"
    spoken = [
        (place, match[0])
        for place, words in found
        if not any(each in words for each in OF_ARGUMENTS) and (match := PYTHON.search(words))
    ]
    assert spoken == []


def test_keys_that_are_raised_are_keys_that_there_are() -> None:
    used = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "advice" and isinstance(node.value, ast.Constant):
                used.add(node.value.value)
    assert used - {None} <= advice.PYTHON.keys()
    assert len(used) > 8


def test_an_error_says_it_in_python_and_in_the_words_of_a_door() -> None:
    error = EmptyText([3])
    assert str(error) == 'text 3 is empty or blank; pass empty="skip" or empty="zero" to go on without'
    assert advice.said(error) == "text 3 is empty or blank"
    assert advice.worded(error, CLI) == "text 3 is empty or blank; --empty skip or --empty zero goes on without"
    assert advice.worded(error, HTTP) == "text 3 is empty or blank; leave it out"
    assert advice.worded(NotFound("not there"), CLI) == "not there"
    assert advice.worded(ValueError("anybody's"), CLI) == "anybody's"
    assert advice.joined("a folder", "folder", HTTP) == "a folder", "nothing can be done about it there"


def test_advice_travels_between_processes() -> None:
    failed = EmbeddingFailed("1 of 2 texts failed", None, advice="empty")
    stored = RememberFailed("chunk 2", artifact_id="a", chunk=1, chunks=3, stored=1, advice="reembed")
    for error in (StoreError("held", advice="drop_snapshots"), failed, stored):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.advice) == (type(error), str(error), error.advice)
        assert again.args[0] == error.args[0]


def test_every_error_takes_advice_or_has_none() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        if issubclass(kind, errors.UnabridgedError):
            assert kind.advice is None, name
            assert "self" in inspect.signature(kind.__init__).parameters


def test_no_message_leaves_the_number_of_things_open() -> None:
    assert [place for place, words in messages() if re.search(r"[a-z]\((?:s|es|ies)\)(?!:)", words)] == []
