"""JSON out of what a model wrote (case 38), fitted to a schema (pure).

Models think aloud before they answer, put the answer into a fence, leave out the outermost object, repeat the
schema, wrap the answer once more, or write Python. What can be read without a guess about its meaning is
read; an answer that ends before it is complete is not, for what is missing would be lost silently.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Aliases", "Misfit", "fitted", "read_answer", "without_thought"]

Aliases = Mapping[str, tuple[str, ...]]

_THOUGHT = r"think|thinking|thought|reasoning|reflection|scratchpad"
_TAG = re.compile(rf"<(?:/|(?P<opens>))(?:{_THOUGHT})>", re.IGNORECASE)
_ANSWER = re.compile(r"\s*+[{\[\"`]")
# The form of gpt-oss, where a server hands it on as it is.
_CHANNEL = re.compile(r"<\|channel\|>\s*final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_END_MARK = re.compile(r"<\|(?:end|return|im_end|eot_id|endoftext)\|>.*", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_WORDS = {"true": "True", "false": "False", "null": "None"}
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
_STRAY = 64  # brackets of prose that never close: each costs a walk to the end
_STARTS = re.compile(r"[{\[]")
_BEGINS = re.compile(r"\s*+(?:[\"'{\[}\]]|\Z)")  # after a bracket of JSON, not of prose
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
_UNWRAP = 3  # an answer inside an answer inside an answer
_MOST_LITERAL = 100_000  # characters: Python's own parser is slow, and deep ones cost stack
_SCHEMA_WORDS = frozenset({"properties", "type", "$schema", "title", "required", "additionalProperties", "$defs"})


class Misfit(ValueError):
    """An answer that cannot be read, and why; the reason quotes nothing of it. ``cut``: it ends too early."""

    def __init__(self, problem: str, *, cut: bool = False) -> None:
        super().__init__(problem)
        self.cut = cut


def without_thought(text: str) -> str:
    """What a model wrote, without what it thought aloud before.

    >>> without_thought("<think>Well, {maybe}…</think>\\n\\nYes."), without_thought("so…</think>No.")
    ('Yes.', 'No.')
    >>> without_thought("<think>never ends")
    ''
    """
    found = list(_CHANNEL.finditer(text))
    if found:
        text = text[found[-1].end() :]
    text = _END_MARK.sub("", text).strip("\ufeff\u200b \t\r\n")
    kept: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        if not inside and not kept and _ANSWER.match(text, at):
            break  # what begins with the answer is the answer, whatever it quotes
        if not inside and tag["opens"] is not None and text[at : tag.start()].strip():
            kept.append(text[at : tag.start()])
        elif not inside and tag["opens"] is None:
            kept = []  # its opening stood in the prompt
        inside, at = tag["opens"] is not None, tag.end()
    return "".join([*kept, "" if inside else text[at:]]).strip()


def read_answer(text: str, schema: Mapping[str, Any], aliases: Aliases | None = None) -> Any:
    """The JSON value that a model wrote, fitted to ``schema``. Raises :class:`Misfit`.

    ``aliases`` are other names that models give to a key: ``{"source": ("subject", "from")}``.

    >>> want = {"type": "object", "properties": {"facts": {"type": "array"}}, "required": ["facts"]}
    >>> read_answer('<think>…</think>Here:\\n```json\\n["a",]\\n```', want)
    {'facts': ['a']}
    >>> read_answer('{"facts": ["a", ', want)
    Traceback (most recent call last):
    unabridged.providers.chat_json.Misfit: the JSON ends before it is complete
    """
    said = without_thought(text)
    if not said:
        raise Misfit("there is no answer")
    first: Misfit | None = None
    best: tuple[int, Any] | None = None
    for value, length in _values(said):
        try:
            made = _fitting(value, schema, aliases or {})
        except Misfit as misfit:
            first = first or misfit
        else:  # of several the longest: a short one is an example of the form
            best = max(best, (length, made), key=lambda one: one[0]) if best is not None else (length, made)
    if best is not None:
        return best[1]
    raise first or Misfit("there is no JSON in it")


def _fitting(value: Any, schema: Mapping[str, Any], aliases: Aliases) -> Any:
    """A value, or what it wraps or lacks, fitted to the schema."""
    first: Misfit | None = None
    for inner in _unwrapped(value, schema, aliases):
        try:
            return fitted(inner, schema, aliases)
        except Misfit as misfit:
            first = first or misfit
    raise first or Misfit("the answer has no value")


# -- values in a text --------------------------------------------------------------------------------


def _values(said: str) -> Iterator[tuple[Any, int]]:
    """Every outermost JSON value in a text that is more than a word or a number, in order, and its length."""
    whole = _parsed(said)
    if isinstance(whole, list | dict | str):
        yield whole, len(said)
        return
    at = stray = 0
    while stray < _STRAY and (found := _STARTS.search(said, at)) is not None:
        start, end = found.start(), _end_of(said, found.start())
        value = None if end is None else _parsed(said[start:end])
        if end is not None and value is not None:
            if value or said.strip("`json \n") == "[]":
                yield value, end - start
            at = end
        elif not _BEGINS.match(said, start + 1):
            at, stray = start + 1, stray + (end is None)  # a bracket of prose
        elif end is None:  # what stands inside a value that is cut off is a part, and no answer
            raise Misfit("the JSON ends before it is complete", cut=True)
        else:  # nor is what stands inside a value that is no JSON
            raise Misfit("it is not JSON")


def _end_of(text: str, start: int) -> int | None:
    """Where the bracket at ``start`` closes, strings passed over; ``None`` if it does not."""
    depth = 0
    at = start
    for found in _BRACKETS.finditer(text, start):
        mark = found.group()
        if mark[0] == '"':
            if len(mark) == 1 or not mark.endswith('"'):
                return None  # a string that never ends
            continue
        depth += 1 if mark in "{[" else -1
        at = found.end()
        if depth == 0:
            return at
    return None


def _parsed(text: str) -> Any:
    """A value from JSON, from JSON with commas too many, or from Python; ``None`` for nothing of these."""
    text = text.strip()
    if not text or text[0] not in '{["':
        return None
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            return json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
    return _literal(text)


def _literal(text: str) -> Any:
    """A value from Python's notation: single quotes, None, True."""
    if len(text) > _MOST_LITERAL or text[0] == '"':
        return None
    try:
        return ast.literal_eval(re.sub(r"\b(?:true|false|null)\b", lambda word: _WORDS[word.group()], text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


# -- the answer in a value ---------------------------------------------------------------------------


def _unwrapped(value: Any, schema: Mapping[str, Any], aliases: Aliases) -> Iterator[Any]:
    """The value itself, then what it may be wrapped in or lack."""
    names = _names(schema, aliases)
    for _ in range(_UNWRAP):
        if isinstance(value, str):
            value = _parsed(value)
        if isinstance(value, list) and schema.get("type") == "object":
            yield from (one for one in value if len(value) == 1 and isinstance(one, Mapping) and names & set(one))
            yield _boxed(value, schema, aliases)
            return
        if not isinstance(value, Mapping):
            yield value
            return
        if names & set(value) or not names:
            yield value
        inner = _inside(value, names)
        if inner is None:
            if not names & set(value):
                yield value
            return
        value = inner


def _inside(value: Mapping[str, Any], names: set[str]) -> Any:
    """What an object wraps: a tool call's arguments, ``{"answer": …}``, a schema with the data in its place."""
    for key in ("arguments", "parameters", "answer", "result", "response", "output", "data", "json"):
        if key in value and key not in names and isinstance(value[key], Mapping | list | str):
            return value[key]
    properties = value.get("properties")
    if isinstance(properties, Mapping) and set(value) <= _SCHEMA_WORDS | names and not _is_schema(properties):
        return properties
    others = [inner for key, inner in value.items() if isinstance(inner, Mapping | list) and key not in names]
    return others[0] if len(value) == 1 and others else None


def _is_schema(properties: Mapping[str, Any]) -> bool:
    return all(isinstance(each, Mapping) and ("type" in each or "$ref" in each) for each in properties.values())


def _boxed(items: list[Any], schema: Mapping[str, Any], aliases: Aliases) -> Any:
    """A bare array, put where its items belong: each under the list whose items look like it."""
    lists = {name: one for name, one in schema.get("properties", {}).items() if _kind(one) == "array"}
    if len(lists) == 1:
        return {next(iter(lists)): items}
    known = {name: _names(one.get("items", {}), aliases) for name, one in lists.items()}
    boxes: dict[str, list[Any]] = {name: [] for name in lists}
    for item in items:
        name = _home(item, known)
        if name is None:
            return items
        boxes[name].append(item)
    return boxes if lists else items


def _home(item: Any, known: Mapping[str, set[str]]) -> str | None:
    """The list whose items have the most keys in common with this one, and the fewest apart."""
    if not isinstance(item, Mapping):
        return None
    scores = {
        name: len(item.keys() & keys) - len(item.keys() - keys) for name, keys in known.items() if item.keys() & keys
    }
    return max(scores, key=lambda name: scores[name]) if scores else None


def _names(schema: Mapping[str, Any], aliases: Aliases) -> set[str]:
    """The keys of an object, under any of their names."""
    own = schema.get("properties", {})
    return {*own, *(other for name in own for other in aliases.get(name, ()))}


# -- fitting to a schema -----------------------------------------------------------------------------


def fitted(value: Any, schema: Mapping[str, Any], aliases: Aliases | None = None, path: str = "the answer") -> Any:
    """A value as its schema wants it: numbers written as strings are read, lists and texts that are missing are empty.

    Raises :class:`Misfit` that says where it does not fit; never what it found.

    >>> fitted({"n": "3"}, {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    {'n': 3}
    """
    kind = _kind(schema)
    if value is None and _nullable(schema):
        return None
    if kind == "object":
        return _object(value, schema, aliases or {}, path)
    if kind == "array":
        return _array(value, schema, aliases or {}, path)
    if kind is None:
        return value
    return _plain(value, schema, kind, path)


def _kind(schema: Mapping[str, Any]) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), None)
    return kind if isinstance(kind, str) else None


def _nullable(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def _object(value: Any, schema: Mapping[str, Any], aliases: Aliases, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Misfit(f"{path} is no object")
    properties = schema.get("properties")
    if not properties:
        return dict(value)
    known = {name: value[said] for name in properties if (said := _said(name, value, aliases)) is not None}
    if not known:
        raise Misfit(f"{path} has none of the keys {', '.join(properties)}")
    made = {name: fitted(inner, properties[name], aliases, f"{path}.{name}") for name, inner in known.items()}
    for name in schema.get("required", ()):
        if name not in made:
            made[name] = _missing(properties.get(name, {}), f"{path}.{name}")
    return made


def _said(name: str, value: Mapping[str, Any], aliases: Aliases) -> str | None:
    """The key under which a property stands in an object."""
    return name if name in value else next((other for other in aliases.get(name, ()) if other in value), None)


def _missing(schema: Mapping[str, Any], path: str) -> Any:
    if _nullable(schema):
        return None
    if _kind(schema) == "array":
        return []
    if _kind(schema) == "string" and "enum" not in schema:
        return ""
    raise Misfit(f"{path} is missing")


def _array(value: Any, schema: Mapping[str, Any], aliases: Aliases, path: str) -> list[Any]:
    if value is None:
        return []
    items = schema.get("items", {})
    if isinstance(value, str | Mapping) and _kind(items) in {"string", "object"}:
        value = [value]  # one of a list, without the list
    if not isinstance(value, list | tuple):
        raise Misfit(f"{path} is no list")
    return [fitted(one, items, aliases, f"{path}[{at}]") for at, one in enumerate(value)]


def _plain(value: Any, schema: Mapping[str, Any], kind: str, path: str) -> Any:
    made = _converted(value, kind)
    if made is None:
        raise Misfit(f"{path} is no {kind}")
    known = schema.get("enum")
    if known is None or made in known:
        return made
    folded = {str(one).strip().casefold(): one for one in known if one is not None}
    close = folded.get(str(made).strip().casefold())
    if close is None:
        raise Misfit(f"{path} is none of {', '.join(map(str, known))}")
    return close


def _converted(value: Any, kind: str) -> Any:
    """A plain value as its kind, ``None`` where it is none of it."""
    if value is None or isinstance(value, list | dict):
        return None
    if kind == "string":
        return value if isinstance(value, str) else _word(value)
    if kind == "boolean":
        return _BOOLEANS.get(_word(value))
    number = _number(value)
    if number is None or kind != "integer":
        return number
    return int(number) if number == int(number) else None


def _number(value: Any) -> float | None:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _word(value: Any) -> str:
    return str(value).strip().lower() if isinstance(value, bool | str) else str(value)
