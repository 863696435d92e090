"""Any function ``list[str] -> vectors``, or ``str -> vector``, sync or async."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any

from unabridged.adapters.bridge import Bridges
from unabridged.adapters.client import Answer, ClientProvider, verified
from unabridged.adapters.shapes import like, listed, texts_of

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

    def __call__(self, texts: Any, *rest: Any, **named: Any) -> Any:
        """Embed one text or several."""
        given = listed(texts)
        several = texts_of(given)
        if several is None:
            return self._function(given, *rest, **named)
        bridge = self._bridge(rest, named, alone=isinstance(given, str))
        return bridge.run(several, lambda: _checked(self._function(given, *rest, **named), given), _shaped)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._function, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self._function, self._options)

    def _bridge(self, rest: tuple[Any, ...], named: dict[str, Any], *, alone: bool) -> Bridge:
        settings = repr((rest, sorted(named.items()), alone))
        return self._bridges.at(settings, lambda: self._provider(rest, named, settings, alone=alone))

    def _provider(
        self, rest: tuple[Any, ...], named: dict[str, Any], settings: str, *, alone: bool
    ) -> ClientProvider:
        def ask(request: Request) -> Answer:
            if not alone:
                rows = self._function(list(request.texts), *rest, **named)
                return Answer(rows, sample=rows)
            each = [self._function(text, *rest, **named) for text in request.texts]
            return Answer(each, sample=each[0])

        async def aask(request: Request) -> Answer:
            if not alone:
                rows = await self._function(list(request.texts), *rest, **named)
                return Answer(rows, sample=rows)
            each = await asyncio.gather(*(self._function(text, *rest, **named) for text in request.texts))
            return Answer(each, sample=each[0])

        return ClientProvider(
            name="function",
            model=str(self._options.get("model") or getattr(self._function, "__qualname__", "function")),
            ask=None if isinstance(self, AsyncFunction) else ask,
            aask=aask if isinstance(self, AsyncFunction) else None,
            settings={"arguments": settings},
        )


class AsyncFunction(Function):
    """As :class:`Function`, for a coroutine function."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        super().__init__(function, options)
        # So that asyncio and inspect see a coroutine function in it.
        if hasattr(inspect, "markcoroutinefunction"):
            inspect.markcoroutinefunction(self)
        else:
            self._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined] # noqa: SLF001

    async def __call__(self, texts: Any, *rest: Any, **named: Any) -> Any:
        """Embed one text or several."""
        given = listed(texts)
        several = texts_of(given)
        if several is None:
            return await self._function(given, *rest, **named)
        bridge = self._bridge(rest, named, alone=isinstance(given, str))

        async def direct() -> Any:
            return _checked(await self._function(given, *rest, **named), given)

        return await bridge.arun(several, direct, _shaped)


def _checked(answer: Any, given: Any) -> Any:
    if isinstance(given, str):
        verified([answer], [given], "function")
        return answer
    return verified(answer, given, "function")


def _shaped(outcome: Outcome) -> Any:
    return like(outcome.sample, outcome.vectors)


def _waits(function: Any) -> bool:
    bare = function
    while isinstance(bare, functools.partial):
        bare = bare.func
    return inspect.iscoroutinefunction(bare) or inspect.iscoroutinefunction(type(bare).__call__)
