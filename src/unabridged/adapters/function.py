"""Any function ``list[str] -> vectors``, or ``str -> vector``, sync or async."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

from unabridged.adapters.bridge import Bridges
from unabridged.adapters.client import Answer, ClientProvider
from unabridged.adapters.function_call import FunctionCall, row_of
from unabridged.adapters.shapes import like

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unabridged.adapters.bridge import Bridge, Outcome
    from unabridged.types import Request

__all__ = ["AsyncFunction", "Function", "wrapped"]


def wrapped(function: Callable[..., Any], options: Mapping[str, Any]) -> Function | AsyncFunction:
    """The function, for texts of any length; what else it is called with is passed on."""
    return (AsyncFunction if _waits(function) else Function)(function, options)


class Function:
    """Called as the function is, answers as it does: lists, arrays, or tensors."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._options = dict(options)
        self._bridges = Bridges(options)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Embed one text or several."""
        call = FunctionCall(self._function, args, named)
        if call.texts is None:
            return call.made(call.given)
        return self._bridge(call).run(call.texts, lambda: call.checked(call.made(call.given)), _shaped)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self._function, self._options)

    def _bridge(self, call: FunctionCall) -> Bridge:
        return self._bridges.at(call.settings, lambda: self._provider(call))

    def _provider(self, call: FunctionCall) -> ClientProvider:
        def ask(request: Request) -> Answer:
            if call.alone:
                return _each([call.made(text) for text in request.texts])
            rows = call.made(list(request.texts))
            return Answer(rows, sample=rows)

        async def aask(request: Request) -> Answer:
            if call.alone:
                return _each(await asyncio.gather(*map(call.made, request.texts)))
            rows = await call.made(list(request.texts))
            return Answer(rows, sample=rows)

        return ClientProvider(
            name="function",
            model=str(self._options.get("model") or getattr(self._function, "__qualname__", "function")),
            ask=None if isinstance(self, AsyncFunction) else ask,
            aask=aask if isinstance(self, AsyncFunction) else None,
            settings={"arguments": call.settings},
        )


class AsyncFunction(Function):
    """As :class:`Function`, for a coroutine function."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        super().__init__(function, options)
        # So that asyncio and inspect see a coroutine function in it.
        if hasattr(inspect, "markcoroutinefunction"):
            inspect.markcoroutinefunction(self)
        else:
            self._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]  # noqa: SLF001

    async def __call__(self, *args: Any, **named: Any) -> Any:
        """Embed one text or several."""
        call = FunctionCall(self._function, args, named)
        if call.texts is None:
            return await call.made(call.given)

        async def direct() -> Any:
            return call.checked(await call.made(call.given))

        return await self._bridge(call).arun(call.texts, direct, _shaped)


def _each(answers: list[Any]) -> Answer:
    return Answer(list(map(row_of, answers)), sample=answers[0])


def _shaped(outcome: Outcome) -> Any:
    return like(outcome.sample, outcome.vectors)


def _waits(function: Any) -> bool:
    bare = function
    while isinstance(bare, functools.partial):
        bare = bare.func
    return inspect.iscoroutinefunction(bare) or inspect.iscoroutinefunction(type(bare).__call__)
