"""How a chat request is put, and what a server's refusal says that it does not take of it (pure).

Servers that speak OpenAI's form differ in what they know: a JSON schema, tool calls, neither; ``max_tokens``
or ``max_completion_tokens``; a temperature, a system message. A refusal that names what it does not know
changes the :class:`Habits` of that model, and the request is sent once more without it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unabridged.errors import ProviderError

__all__ = ["FORMS", "Form", "Habits", "Reasoning", "Wanted", "adapted", "habits_of", "request_body"]

Form = Literal["schema", "tools", "plain"]
Budget = Literal["max_tokens", "max_completion_tokens"]
Reasoning = Literal["none", "low", "medium", "high"]
FORMS: tuple[Form, ...] = (
    "schema",
    "tools",
    "plain",
)  # from the strictest; each is asked for where the one before is not known

TOOL = "answer"
# OpenAI's reasoning models and their kin, by name: they take no temperature, and count the answer otherwise.
_REASONING_MODEL = re.compile(r"(?:^|/)(?:o[134](?:-|$)|gpt-5)")
# Of the answer's budget, on top: tokens that a model may think with before it writes.
_THINKING = {"none": 0, "low": 4096, "medium": 8192, "high": 16384}
# Refusals that say nothing about how the request was put.
_ABOUT_OTHER_THINGS = frozenset(
    {
        "auth",
        "quota",
        "rate_limit",
        "rate_limit_impossible",
        "overloaded",
        "timeout",
        "input_overflow",
        "request_overflow",
    }
)
_VAGUE = frozenset({"bad_request", "wrong_shape", "unknown"})
_NOT_KNOWN = re.compile(
    r"un(?:known|recogni[sz]ed|expected|supported)|not (?:permitted|supported|allowed)|extra|invalid"
)
_OF_SCHEMA = re.compile(r"response_?format|json_?schema|json mode|structured|guided|grammar|schema")
_OF_TOOLS = re.compile(r"\btools?\b|tool_|function")
_OF_CONTENT = re.compile(r"content[ _-]?(?:filter|management|policy|moderation)|flagged|safety")
_OF_SYSTEM = re.compile(r"system.{0,60}(?:role|message|prompt|support)|role.{0,40}system|roles must alternate")


@dataclass(frozen=True, slots=True)
class Habits:
    """What a model at a host takes, as far as it is known."""

    form: Form = "schema"
    budget: Budget = "max_tokens"
    temperature: bool = True
    system: bool = True


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller asks of a model, whatever the server's way to put it."""

    model: str
    messages: Sequence[Mapping[str, str]]
    schema: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    reasoning: str = "none"
    temperature: float | None = 0.0


def habits_of(model: str) -> Habits:
    """What to begin with, by a model's name.

    >>> habits_of("o3-mini").budget, habits_of("openai/gpt-5.1").temperature, habits_of("llama3").budget
    ('max_completion_tokens', False, 'max_tokens')
    """
    if _is_reasoning(model):
        return Habits(budget="max_completion_tokens", temperature=False)
    return Habits()


def _is_reasoning(model: str) -> bool:
    return _REASONING_MODEL.search(model.lower()) is not None


def request_body(wanted: Wanted, habits: Habits) -> dict[str, Any]:
    """The JSON of a request.

    >>> body = request_body(Wanted("m", [{"role": "user", "content": "Hi"}], max_tokens=9), Habits())
    >>> sorted(body), body["max_tokens"]
    (['max_tokens', 'messages', 'model', 'temperature'], 9)
    """
    messages = [dict(message) for message in wanted.messages]
    if wanted.schema is not None and habits.form == "plain":
        messages = _with_schema(messages, wanted.schema)
    if not habits.system:
        messages = _without_system(messages)
    body: dict[str, Any] = {"model": wanted.model, "messages": messages}
    if wanted.temperature is not None and habits.temperature:
        body["temperature"] = wanted.temperature
    if wanted.max_tokens is not None:
        # OpenAI's reasoning models think whether they are asked to or not, and what they think counts.
        thinks = wanted.reasoning == "none" and _is_reasoning(wanted.model)
        body[habits.budget] = wanted.max_tokens + _THINKING["low" if thinks else wanted.reasoning]
    if wanted.reasoning != "none":
        body["reasoning_effort"] = wanted.reasoning
    if wanted.schema is not None:
        body |= _format(wanted.schema, habits.form)
    return body


def _format(schema: Mapping[str, Any], form: Form) -> dict[str, Any]:
    if form == "schema":
        named = {"name": TOOL, "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if form == "plain":
        return {}
    function = {"name": TOOL, "description": "Give the answer.", "parameters": dict(schema)}
    return {
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": TOOL}},
    }


def _with_schema(messages: list[dict[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    asked = f"Answer with one JSON value and nothing else. It must fit this JSON Schema:\n{text}"
    last = messages[-1]
    return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{asked}"}]


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the system message says goes before what the user says."""
    said = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    if not said or not rest:
        return rest or [{"role": "user", "content": "\n\n".join(said)}]
    return [{**rest[0], "content": "\n\n".join([*said, rest[0]["content"]])}, *rest[1:]]


def adapted(error: ProviderError, wanted: Wanted, habits: Habits) -> Habits | None:
    """The habits to send the request with once more, or ``None`` where a refusal has other reasons."""
    if error.fault.kind in _ABOUT_OTHER_THINGS:
        return None
    said = said_by(error)
    named = wanted.max_tokens is not None and "max_completion_tokens" in said
    if named and (habits.budget == "max_tokens" or _NOT_KNOWN.search(said)):
        other: Budget = "max_tokens" if habits.budget == "max_completion_tokens" else "max_completion_tokens"
        return replace(habits, budget=other)
    if habits.temperature and wanted.temperature is not None and "temperature" in said:
        return replace(habits, temperature=False)
    if habits.system and _has_system(wanted) and _OF_SYSTEM.search(said):
        return replace(habits, system=False)
    lower = wanted.schema is not None and habits.form != "plain" and _is_of_form(error, said, habits.form)
    return replace(habits, form=FORMS[FORMS.index(habits.form) + 1]) if lower else None


def refuses_reasoning(error: ProviderError, wanted: Wanted) -> bool:
    """Whether a refusal is of the level of reasoning that was asked for."""
    return wanted.reasoning != "none" and error.fault.kind not in _ABOUT_OTHER_THINGS and "reasoning" in said_by(error)


def said_by(error: ProviderError) -> str:
    """A refusal's own words in lower case; they may quote the request, so they enter no message."""
    body = error.body
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
    return text[:16_000].lower()


def _has_system(wanted: Wanted) -> bool:
    return any(message["role"] == "system" for message in wanted.messages)


def _is_of_form(error: ProviderError, said: str, form: Form) -> bool:
    """A refusal that names the form, or one that names nothing: the next form tells."""
    if (_OF_SCHEMA if form == "schema" else _OF_TOOLS).search(said):
        return True
    status = error.fault.status
    says_nothing = not _OF_CONTENT.search(said) and "reasoning" not in said
    return error.fault.kind in _VAGUE and status is not None and 400 <= status < 500 and says_nothing
