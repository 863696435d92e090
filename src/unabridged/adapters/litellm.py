"""LiteLLM: ``litellm.embedding``, ``litellm.aembedding`` and ``litellm.Router``."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from unabridged.adapters.bridge import Bridges
from unabridged.adapters.client import Answer
from unabridged.adapters.identity import host_of
from unabridged.adapters.method import Method

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unabridged.adapters.bridge import Outcome

__all__ = ["Embedding", "Router", "wrapped"]

_EXTRAS = (
    "timeout",
    "user",
    "litellm_call_id",
    "logger_fn",
    "metadata",
    "extra_headers",
    "num_retries",
    "caching",
)


def wrapped(thing: Any, options: Mapping[str, Any]) -> Any:
    """The router, or the function, for texts of any length."""
    if not inspect.isroutine(thing):
        return Router(thing, options)
    return Embedding(thing, options)


class Embedding:
    """Called as ``litellm.embedding`` is (or awaited, as ``litellm.aembedding``)."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._unabridged = Bridges(options)

    def __call__(self, *args: Any, **given: Any) -> Any:
        """Embed one text or several."""
        named = {**dict(zip(("model", "input"), args, strict=False)), **given}
        waits = inspect.iscoroutinefunction(self._function) or named.get("aembedding") is True
        run = _CREATE.acall if waits else _CREATE.call
        return run(self._function, self._unabridged, _host(named), **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrapped, (self._function, self._unabridged.options)


class Router:
    """A router with embeddings for texts of any length; LiteLLM's own class may not be subclassed."""

    def __init__(self, router: Any, options: Mapping[str, Any]) -> None:
        self.__dict__.update(_router=router, _unabridged=Bridges(options))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What ``isinstance`` sees."""
        return type(self._router)

    def embedding(self, *args: Any, **given: Any) -> Any:
        """As the router's."""
        named = {**dict(zip(("model", "input"), args, strict=False)), **given}
        return _CREATE.call(self._router.embedding, self._unabridged, "litellm", **named)

    async def aembedding(self, *args: Any, **given: Any) -> Any:
        """As the router's."""
        named = {**dict(zip(("model", "input"), args, strict=False)), **given}
        return await _CREATE.acall(self._router.aembedding, self._unabridged, "litellm", **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_router"], name)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return wrapped, (self._router, self._unabridged.options)


def _host(given: dict[str, Any]) -> str:
    return host_of(given.get("api_base"), str(given.get("model", "litellm")).partition("/")[0])


def _read(reply: Any) -> Answer:
    data = [item if isinstance(item, dict) else vars(item) for item in reply.data]
    return Answer(
        [item["embedding"] for item in data],
        tokens=getattr(reply.usage, "total_tokens", None) or None,
        model=reply.model,
        indices=[item.get("index") for item in data],
    )


def _write(outcome: Outcome, given: dict[str, Any]) -> Any:
    from litellm import EmbeddingResponse
    from litellm.types.utils import Usage

    reply = EmbeddingResponse(
        model=getattr(outcome.sample, "model", None) or given["model"],
        usage=Usage(prompt_tokens=outcome.tokens, completion_tokens=0, total_tokens=outcome.tokens),
        data=[
            {"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(outcome.vectors.tolist())
        ],
        hidden_params=getattr(outcome.sample, "_hidden_params", None),
    )
    reply.unabridged = dict(outcome.report)
    return reply


_CREATE = Method(
    "litellm",
    _read,
    _write,
    texts="input",
    extras=_EXTRAS,
    floats=lambda given: given.get("encoding_format") in (None, "float"),
)
