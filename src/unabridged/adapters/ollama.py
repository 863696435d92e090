"""Ollama's client: ``Client`` and ``AsyncClient``, ``embed`` and the older ``embeddings``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unabridged.adapters.client import Answer
from unabridged.adapters.identity import host_of
from unabridged.adapters.method import Method
from unabridged.adapters.standin import StandIn, stand_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.adapters.bridge import Outcome

__all__ = ["wrapped"]


def wrapped(client: Any, options: Mapping[str, Any]) -> Any:
    """A client of the same class, whose embeddings take texts of any length."""
    return stand_in(client, _AsyncClient if "Async" in type(client).__name__ else _Client, options)


class _Client(StandIn):
    def embed(self, *args: Any, **given: Any) -> Any:
        return _EMBED.call(self.theirs("embed"), self._unabridged, _host(self), *args, **given)

    def embeddings(self, *args: Any, **given: Any) -> Any:
        bare = self.theirs("embeddings")

        def each(prompt: Any, **rest: Any) -> Any:
            """The older route takes one text a request."""
            if isinstance(prompt, list):
                return [bare(prompt=text, **rest) for text in prompt]
            return bare(prompt=prompt, **rest)

        return _PROMPT.call(each, self._unabridged, _host(self), **_named(args, given))


class _AsyncClient(StandIn):
    async def embed(self, *args: Any, **given: Any) -> Any:
        return await _EMBED.acall(self.theirs("embed"), self._unabridged, _host(self), *args, **given)

    async def embeddings(self, *args: Any, **given: Any) -> Any:
        bare = self.theirs("embeddings")

        async def each(prompt: Any, **rest: Any) -> Any:
            if isinstance(prompt, list):
                return [await bare(prompt=text, **rest) for text in prompt]
            return await bare(prompt=prompt, **rest)

        return await _PROMPT.acall(each, self._unabridged, _host(self), **_named(args, given))


def _named(args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    return {
        "prompt": None,
        **dict(zip(("model", "prompt", "options", "keep_alive"), args, strict=False)),
        **given,
    }


def _host(client: Any) -> str:
    return host_of(client._client.base_url, "localhost:11434")  # noqa: SLF001


def _read(reply: Any) -> Answer:
    return Answer(list(map(list, reply.embeddings)), tokens=reply.prompt_eval_count)


def _write(outcome: Outcome, given: dict[str, Any]) -> Any:
    from ollama import EmbedResponse

    rows = outcome.vectors.tolist()
    if outcome.sample is not None:
        return outcome.sample.model_copy(update={"embeddings": rows, "prompt_eval_count": outcome.tokens})
    return EmbedResponse(model=given.get("model"), embeddings=rows, prompt_eval_count=outcome.tokens)


def _read_one(reply: Any) -> Answer:
    replies = reply if isinstance(reply, list) else [reply]
    return Answer([list(one.embedding) for one in replies])


def _write_one(outcome: Outcome, _: dict[str, Any]) -> Any:
    from ollama import EmbeddingsResponse

    return EmbeddingsResponse(embedding=outcome.vectors[0].tolist())


_EMBED = Method(
    "ollama",
    _read,
    _write,
    texts="input",
    extras=("keep_alive",),
    whole={"truncate": False},
    cuts=lambda given: given.get("truncate") is True,
)
# The older route cannot be told not to cut: the table's limit is all there is.
_PROMPT = Method("ollama", _read_one, _write_one, texts="prompt", extras=("keep_alive",))
