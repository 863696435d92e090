"""One method of an SDK that takes texts and answers with an object that holds their vectors."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from unabridged.adapters.bridge import Outcome
from unabridged.adapters.client import Answer, ClientProvider, current, rows_of, sound
from unabridged.adapters.shapes import listed, texts_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from unabridged.adapters.bridge import Bridge, Bridges
    from unabridged.types import Request

__all__ = ["Method"]

_Given = dict[str, Any]


def _always(_: _Given) -> bool:
    return True


@lru_cache(maxsize=256)
def _parameters(function: Any) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is called, and what it answers.

    ``texts`` and ``model`` are its parameters, ``extras`` those that do not change the vectors.
    ``whole`` switches off silent cutting where the caller has not spoken; ``cuts`` says whether the
    caller has switched it on. ``floats`` says whether float vectors are asked for: others cannot be
    pooled, so such a call stays the SDK's own. ``read`` takes an answer apart, ``write`` makes one.
    """

    name: str
    read: Callable[[Any], Answer]
    write: Callable[[Outcome, _Given], Any]
    texts: str = "texts"
    model: str = "model"
    extras: tuple[str, ...] = ()
    whole: Mapping[str, Any] = field(default_factory=dict)
    cuts: Callable[[_Given], bool] = lambda _: False
    floats: Callable[[_Given], bool] = _always

    def call(self, bound: Callable[..., Any], bridges: Bridges, host: str, *args: Any, **named: Any) -> Any:
        """Call the method, for texts of any length."""
        given, several = self._given(bound, args, named)
        if several is None:
            return bound(**given)
        return self._bridge(bridges, host, given, bound, waits=False).run(
            several,
            lambda: self._checked(bound(**given), given, several),
            lambda outcome: self.write(outcome, given),
            extras=self._extras(given),
        )

    async def acall(
        self, bound: Callable[..., Awaitable[Any]], bridges: Bridges, host: str, *args: Any, **named: Any
    ) -> Any:
        """As :meth:`call`, for an async method."""
        given, several = self._given(bound, args, named)
        if several is None:
            return await bound(**given)

        async def direct() -> Any:
            return self._checked(await bound(**given), given, several)

        return await self._bridge(bridges, host, given, bound, waits=True).arun(
            several, direct, lambda outcome: self.write(outcome, given), extras=self._extras(given)
        )

    def _given(self, bound: Any, args: tuple[Any, ...], named: _Given) -> tuple[_Given, list[str] | None]:
        """The arguments by name, and the texts if they are ours to cut."""
        given = named
        if args:
            names = _parameters(getattr(bound, "__func__", bound))[hasattr(bound, "__func__") :]
            given = {**dict(zip(names, args, strict=False)), **named}
        if self.texts in given:
            given = {**given, self.texts: listed(given[self.texts])}
        if self.cuts(given):
            return given, None
        given = {**self.whole, **given}
        return given, texts_of(given.get(self.texts)) if self.floats(given) else None

    def _extras(self, given: _Given) -> _Given:
        return {name: given[name] for name in self.extras if name in given}

    def _bridge(self, bridges: Bridges, host: str, given: _Given, bound: Any, *, waits: bool) -> Bridge:
        fixed = {k: v for k, v in given.items() if k != self.texts and k not in self.extras}
        settings = repr(sorted(fixed.items()))

        def ask(request: Request) -> Answer:
            reply = bound(**fixed, **current().extras, **{self.texts: list(request.texts)})
            return self._read(reply)

        async def aask(request: Request) -> Answer:
            reply = await bound(**fixed, **current().extras, **{self.texts: list(request.texts)})
            return self._read(reply)

        return bridges.at(
            (host, waits, settings),
            lambda: ClientProvider(
                name=self.name,
                model=str(given.get(self.model) or "default"),
                host=host,
                ask=None if waits else ask,
                aask=aask if waits else None,
                settings={"arguments": settings},
            ),
        )

    def _read(self, reply: Any) -> Answer:
        answer = self.read(reply)
        answer.sample = reply
        return answer

    def _checked(self, reply: Any, given: _Given, several: list[str]) -> Any:
        """The SDK's own reply; made anew only if its vectors came in another order."""
        answer, count = self.read(reply), len(several)
        numbered = answer.indices is not None and list(answer.indices) != list(range(count))
        spoken = (row for row, text in zip(answer.rows, several, strict=False) if text.strip())
        if not numbered and len(answer.rows) == count and sound(spoken):
            return reply
        vectors = rows_of(answer.rows, count, self.name, answer.indices)
        return self.write(Outcome(vectors, answer.tokens or 0, {}, reply), given) if numbered else reply
