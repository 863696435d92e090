"""One chat request, with a JSON schema where one is asked for: the form that OpenAI and its many kin speak.

What a segmenter or an extraction needs of a model. It has no policy: no retry, no repair of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unabridged.providers.http import Call, HttpHost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Chat", "ChatReply"]


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the model said, the tokens as the provider counts them, and the model's name as it reports it.

    ``finished`` is ``False`` where the answer was cut off at its length.
    """

    text: str = field(repr=False)
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    cost_usd: float | None = None
    finished: bool = True


class Chat:
    """A chat model behind an OpenAI-compatible host; the object itself is a chat function for ``split(llm=…)``.

    ``prices`` are US dollars a million tokens, in and out; with them each reply tells its cost.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key: str | None = None,
        timeout: float | None = None,
        prices: tuple[float, float] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.prices = prices
        self._body = dict(body or {})
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self.http = HttpHost(base_url, provider="chat", headers=headers, secrets=(api_key,), timeout=timeout)

    def __call__(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> ChatReply:
        """Send one request from a thread.

        Raises :class:`~unabridged.errors.ProviderError` for a refusal, a reply without an answer, or a host
        that cannot be reached.
        """
        return self._read(self.http.call(self._call(messages, schema, max_tokens)))

    async def acall(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> ChatReply:
        """The same from a task."""
        return self._read(await self.http.acall(self._call(messages, schema, max_tokens)))

    def close(self) -> None:
        """Give back the connections."""
        self.http.close()

    async def aclose(self) -> None:
        """The same from a task."""
        await self.http.aclose()

    def _call(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None, max_tokens: int | None
    ) -> Call:
        body: dict[str, Any] = {"model": self.model, "messages": [dict(message) for message in messages]}
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if schema is not None:
            wanted = {"name": "answer", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return Call("chat/completions", {**body, **self._body})

    def _read(self, answer: Any) -> ChatReply:
        try:
            choice = answer.data["choices"][0]
            text = choice["message"]["content"]
            usage = answer.data.get("usage") or {}
        except (KeyError, IndexError, TypeError, AttributeError):
            self.http.refuse(answer, "the reply has no choices[0].message.content")
        if not isinstance(text, str):
            self.http.refuse(answer, "the answer is no text")
        read, wrote = usage.get("prompt_tokens"), usage.get("completion_tokens")
        cost = None
        if self.prices and read is not None and wrote is not None:
            cost = (read * self.prices[0] + wrote * self.prices[1]) / 1e6
        return ChatReply(text, read, wrote, answer.data.get("model"), cost, choice.get("finish_reason") != "length")
