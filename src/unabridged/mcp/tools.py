"""How a function becomes a tool: its docstring is what an agent reads, its errors are sentences to act on.

What an agent reads costs it room: schemas and answers say nothing twice, and nothing that is not there.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError

from unabridged.advice import worded
from unabridged.errors import ProviderError, StoreError, UnabridgedError
from unabridged.mcp.advice import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server.mcpserver import Context

__all__ = ["Toolbox", "request_of", "sentence"]


_NO_TEXT = "an argument holds half of a surrogate pair, which is not text: send it again without"


class _Strict(Tool):
    """A tool that refuses an argument that it does not know: a misspelt ``session_id`` would mean every session.

    One that takes nothing but a dataset passes over what is unlike that: there are clients that cannot send nothing.
    """

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002 - the library's own
        """Run it. Raises ``ToolError`` in words that repeat nothing of what was sent but the names."""
        known = [*self.parameters["properties"]]
        strange = sorted(set(arguments) - set(known))
        if known == ["dataset"]:
            strange = difflib.get_close_matches("dataset", strange)
        if strange:
            raise ToolError(f"{self.name}: {', '.join(strange)}: not known here; known are {', '.join(known)}")
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(f"{self.name}: {_wrong(error)}") from None
        try:
            return _brief(await super().run(arguments, context, convert_result))
        except UnexpectedToolError:
            raise
        except ToolError as error:  # begun like the others, not in the library's own words
            raise ToolError(str(error).removeprefix("Error executing tool ")) from None


# Where a field that is null says nothing; at an answer's top, and of a fact, it does.
_BRIEF = {"citations", "entities", "entity", "record", "shown", "sources"}


def _brief(made: Any) -> Any:
    """An answer without idle nulls, its text on one line: an indented one takes half as much again."""
    if not isinstance(made, CallToolResult) or made.structured_content is None:
        return made
    told = _pruned(made.structured_content)
    text = TextContent(type="text", text=json.dumps(told, ensure_ascii=False))
    return made.model_copy(update={"content": [text], "structured_content": told})


def _pruned(value: Any, *, nulls: bool = True) -> Any:
    """A value without the nulls that say nothing.

    >>> _pruned({"cursor": None, "sources": [{"artifact_id": "a", "quote": None}]})
    {'cursor': None, 'sources': [{'artifact_id': 'a'}]}
    """
    if isinstance(value, list):
        return [_pruned(each, nulls=nulls) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: each for name, each in value.items() if nulls or each is not None}
    return {name: _pruned(each, nulls=name not in _BRIEF) for name, each in kept.items()}


def _plain(schema: Any) -> Any:
    """A schema as an agent needs it: no titles, and what may be left out is not also told to be null.

    >>> _plain({"title": "Id", "anyOf": [{"type": "string"}, {"type": "null"}], "default": None})
    {'type': 'string'}
    """
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = {"title"} if isinstance(schema.get("title"), str) else set()
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if "default" in schema and schema["default"] is None and len(kinds) == 1:
        return _plain({**kinds[0], **{name: schema[name] for name in schema.keys() - {"anyOf", "default"}}})
    return {name: _plain(each) for name, each in schema.items() if name not in left_out}


def _wrong(error: ValidationError) -> str:
    """What is wrong with the arguments, and where.

    >>> from pydantic import TypeAdapter
    >>> try:
    ...     _ = TypeAdapter(dict[str, int]).validate_python({"limit": "many"})
    ... except ValidationError as error:
    ...     print(_wrong(error))
    limit: input should be a valid integer, unable to parse string as an integer
    """
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg'][:1].lower()}{each['msg'][1:]}" for each in faults
    )


class Toolbox:
    """Tools for a server, each with the hints that a client decides by."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []

    def reads(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A tool that changes nothing."""
        return self._add(function, ToolAnnotations(read_only_hint=True, open_world_hint=False))

    def adds(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A tool that stores, and takes nothing away."""
        hints = ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        )
        return self._add(function, hints)

    def removes(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A tool whose work cannot be undone."""
        hints = ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        )
        return self._add(function, hints)

    def _add(self, function: Callable[..., Any], hints: ToolAnnotations) -> Callable[..., Any]:
        description = inspect.cleandoc(function.__doc__ or "")
        name = function.__name__.rstrip("_")  # a tool may be called what Python calls something else
        title = name.replace("_", " ").capitalize()
        made = _Strict.from_function(
            _spoken(function), name=name, title=title, description=description, annotations=hints
        )
        made.parameters = _plain(made.parameters)
        self.tools.append(made)
        return function


def sentence(error: UnabridgedError) -> str:
    """What went wrong, as an agent may read it: never what a model's server, or the store, said of itself."""
    if isinstance(error, ProviderError):
        return f"a model's server refused or failed ({error.fault.kind}); nothing of this call was stored: try again"
    if isinstance(error, StoreError) and not isinstance(error, LookupError) and error.advice is None:
        return f"the memory cannot do this now ({type(error).__name__}); try again"
    return worded(error, WORDS)


def request_of(context: Context[Any, Any]) -> Any:
    """The HTTP request of a call; ``None`` over stdio."""
    return context.request_context.request


def _spoken(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with errors of ours as errors of a tool."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **given: Any) -> Any:
            with _in_words():
                return await function(*args, **given)

        return later

    @functools.wraps(function)
    def now(*args: Any, **given: Any) -> Any:
        with _in_words():
            return function(*args, **given)

    return now


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except UnabridgedError as error:
        raise ToolError(sentence(error)) from None
    except UnicodeEncodeError:
        raise ToolError(_NO_TEXT) from None
