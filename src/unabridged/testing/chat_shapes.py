"""How servers and models dress an answer: the shapes that a client must read (case 38)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.testing.chat import AskedChat

__all__ = ["SHAPES", "Shape", "completion"]

Shape = Literal[
    "plain",
    "think",
    "unopened_think",
    "fence",
    "prose",
    "array",
    "schema",
    "filled_schema",
    "wrapped",
    "python",
    "commas",
    "cut",
    "empty",
    "null",
    "parts",
    "parsed",
    "tool_text",
    "thought_apart",
    "only_thought",
    "refusal",
    "filtered",
]
SHAPES: tuple[Shape, ...] = (
    "plain", "think", "unopened_think", "fence", "prose", "array", "schema", "filled_schema", "wrapped", "python",
    "commas", "cut", "empty", "null", "parts", "parsed", "tool_text", "thought_apart", "only_thought", "refusal",
    "filtered",
)  # fmt: skip


def completion(
    text: str, seen: AskedChat, *, shape: Shape, finish: str | None, tokens: tuple[int, int] | None
) -> dict[str, Any]:
    """A completion with ``text`` in it, dressed."""
    message: dict[str, Any] = {"role": "assistant", "content": _dressed(text, shape, seen.schema)}
    if shape == "parts":
        message["content"] = [{"type": "text", "text": text[:7]}, {"type": "text", "text": text[7:]}]
    elif shape == "parsed":
        message["content"] = _loaded(text)
    elif shape == "thought_apart":
        message["reasoning_content"] = "Is it {this}, or [that]?"
    elif shape == "only_thought":
        message |= {"content": None, "reasoning_content": text}
    elif shape == "refusal":
        message |= {"content": None, "refusal": "I cannot help with that."}
    elif seen.form == "tools" and shape not in {"empty", "null", "tool_text"}:
        call = {"name": "answer", "arguments": message["content"]}
        message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]}
    ended = finish or (
        "content_filter" if shape == "filtered" else "tool_calls" if message.get("tool_calls") else "stop"
    )
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{seen.number}",
        "object": "chat.completion",
        "model": seen.model,
        "choices": [{"index": 0, "message": message, "finish_reason": ended}],
    }
    if tokens is not None:
        answer["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return answer


_FRAMES: Mapping[str, str] = {
    "think": '<think>\nThe text has {"names": []} in it, so…\n</think>\n\n%s',
    "unopened_think": "so it must be [this].\n</think>\n%s",
    "fence": "```json\n%s\n```",
    "prose": "Sure! Here is what you asked for:\n\n%s\n\nLet me know if [anything] is missing.",
    "tool_text": '<tool_call>\n{"name": "answer", "arguments": %s}\n</tool_call>',
    "empty": "",
    "filtered": "",
}


def _dressed(text: str, shape: Shape, schema: Any) -> str | None:
    frame = _FRAMES.get(shape)
    if frame is not None:
        return frame.replace("%s", text)
    if shape == "schema":
        return json.dumps(schema)
    if shape == "cut":
        return text[: max(1, 2 * len(text) // 3)]
    if shape == "commas":
        return text.replace("}]", "},]")
    return None if shape == "null" else _reshaped(text, shape)


def _reshaped(text: str, shape: Shape) -> str:
    """Shapes that need the answer's value."""
    if shape not in {"array", "filled_schema", "wrapped", "python"}:
        return text
    value = _loaded(text)
    if shape == "array" and isinstance(value, dict):
        return json.dumps([item for inner in value.values() if isinstance(inner, list) for item in inner])
    if shape == "filled_schema":
        return json.dumps({"type": "object", "properties": value, "required": list(value)})
    if shape == "wrapped":
        return json.dumps({"answer": json.dumps(value)})
    return repr(value)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
