"""A chat server on 127.0.0.1 that behaves and misbehaves like real ones, scripted by rules."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from unabridged.testing.chat_shapes import Shape, completion
from unabridged.testing.server import Exchange, HttpServer, Listening
from unabridged.testing.troubles import Bucket, RateLimit, Script, Trouble, waiting
from unabridged.testing.understander import Understander
from unabridged.text.tokens import as_tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["AskedChat", "ChatRule", "ChatServer"]

Saying = str | Mapping[str, Any] | Sequence[Any] | Callable[["AskedChat"], Any]


@dataclass(slots=True, eq=False)
class AskedChat:
    """One request that the server got: ``status`` is ``None`` until it is answered, 0 if it never was.

    ``asked`` is what the user said last, ``prompt`` everything that was said, ``schema`` the JSON Schema that
    came along, in whatever form.
    """

    number: int
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(default=None, repr=False)
    model: str = ""
    messages: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    form: str = "plain"
    key: str | None = field(default=None, repr=False)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    status: int | None = None

    @property
    def prompt(self) -> str:
        """Everything that was said, in order."""
        return "\n\n".join(str(message.get("content", "")) for message in self.messages)

    @property
    def asked(self) -> str:
        """What the user said last."""
        said = [message for message in self.messages if message.get("role") == "user"]
        return str(said[-1].get("content", "")) if said else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The prompt, for a :class:`Trouble` that strikes by it."""
        return (self.prompt,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRule:
    """Where ``pattern`` is found in the prompt, ``answer`` is given: text, JSON, or a function of the request.

    ``times`` is how often (``None``: for ever), ``after`` the number of the first request that it answers,
    ``shape`` how the answer is dressed (:data:`Shape`), ``finish`` its ``finish_reason``.
    """

    pattern: str = ""
    answer: Saying = ""
    times: int | None = None
    after: int = 0
    shape: Shape = "plain"
    finish: str | None = None


class ChatServer(Listening):
    """A real chat server on 127.0.0.1 that speaks OpenAI's form, for tests.

    ``rules`` are tried in order; what none answers goes to ``understand``, by default an
    :class:`~unabridged.testing.understander.Understander`, which reads simple English. ``schema``, ``tools``
    and ``system`` say what the server knows; ``budget`` and ``temperature`` what it takes
    (``"max_completion_tokens"``, ``False``: as OpenAI's reasoning models), ``reasoning=False`` refuses a level
    of it. ``shape`` dresses every answer. ``troubles``, ``latency``, ``rate``, ``keys`` and ``models`` are as
    :class:`~unabridged.testing.LoopbackProvider` has them; ``output_tokens`` is the most that an answer may
    have.

    >>> from unabridged.providers.chat import Chat
    >>> with ChatServer([ChatRule(pattern="capital of France", answer="Paris.")]) as server:
    ...     chat = Chat("tiny", base_url=server.url)
    ...     print(chat([{"role": "user", "content": "What is the capital of France?"}]).text)
    ...     chat.close()
    Paris.
    """

    def __init__(
        self,
        rules: Sequence[ChatRule] = (),
        *,
        understand: Callable[[AskedChat], Any] | None = None,
        schema: bool = True,
        tools: bool = True,
        system: bool = True,
        temperature: bool = True,
        reasoning: bool = True,
        budget: Literal["max_tokens", "max_completion_tokens", "both"] = "both",
        shape: Shape = "plain",
        output_tokens: int | None = None,
        usage: bool = True,
        latency: float | Callable[[AskedChat], float] = 0.0,
        rate: RateLimit | None = None,
        keys: Collection[str] | None = None,
        models: Collection[str] | None = None,
        troubles: Sequence[Trouble] = (),
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.rules = list(rules)
        self.requests: list[AskedChat] = []
        self.in_flight = 0
        self.in_flight_max = 0
        self.keys = None if keys is None else set(keys)
        self.models = models
        self._understand = understand or Understander()
        self._schema, self._tools, self._system = schema, tools, system
        self._temperature, self._reasoning, self._budget = temperature, reasoning, budget
        self._shape = shape
        self._output_tokens = output_tokens
        self._usage = usage
        self._latency = latency
        self._rate, self._bucket = rate, None if rate is None else Bucket(rate)
        self._script = Script(troubles, seed)
        self._used: dict[int, int] = {}
        self._count = as_tokenizer(None).count
        self._server = HttpServer(self._handle, port=port)

    @property
    def url(self) -> str:
        """The base URL that a client is given."""
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def total(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def trouble(self, trouble: Trouble) -> None:
        """One more trouble, from now on."""
        self._script.add(trouble)

    def rule(self, pattern: str, answer: Saying, **options: Any) -> None:
        """One more rule, before all others."""
        self.rules.insert(0, ChatRule(pattern=pattern, answer=answer, **options))
        self._used = {at + 1: count for at, count in self._used.items()}

    # Everything below runs on the server's thread.

    def _handle(self, exchange: Exchange) -> None:
        seen = AskedChat(len(self.requests), exchange.target, exchange.headers)
        self.requests.append(seen)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        exchange.gone = lambda: self._ended(seen, 0)
        try:
            self._read(exchange, seen)
            trouble = self._script.strike(seen)
            if trouble is not None:
                self._struck(exchange, seen, trouble)
                return
            self._admit(seen)
            answer = self._answered(seen)
        except _Refused as refused:
            self._reply(exchange, seen, refused.status, refused.body, refused.headers)
            return
        latency = self._latency(seen) if callable(self._latency) else self._latency
        exchange.later(latency, self._reply, exchange, seen, 200, answer)

    def _read(self, exchange: Exchange, seen: AskedChat) -> None:
        if not exchange.target.partition("?")[0].endswith("/chat/completions"):
            raise _Refused(404, "404 page not found")
        try:
            body = seen.body = json.loads(exchange.body)
            seen.model, seen.messages = str(body["model"]), tuple(body["messages"])
        except (ValueError, KeyError, TypeError):
            raise _Refused(400, "We could not parse the JSON body of your request.") from None
        seen.key = exchange.headers.get("authorization", "").partition(" ")[2] or None
        if "response_format" in body:
            seen.form, seen.schema = "schema", body["response_format"].get("json_schema", {}).get("schema")
        elif "tools" in body:
            seen.form, seen.schema = "tools", body["tools"][0]["function"]["parameters"]
        elif (found := _SCHEMA_IN_WORDS.search(seen.prompt)) is not None:
            seen.schema = json.loads(found[1])

    def _admit(self, seen: AskedChat) -> None:
        """What a server asks first: the key, the rate, the model, and whether it knows each parameter."""
        body = seen.body
        if self.keys is not None and seen.key not in self.keys:
            raise _Refused(401, "Incorrect API key provided.", code="invalid_api_key")
        if self._bucket is not None and self._rate is not None and (wait := self._bucket.take(0)) > 0:
            headers, words = waiting(self._rate, wait)
            raise _Refused(429, f"Rate limit reached for requests. Please try again in {words}.", headers=headers)
        if self.models is not None and seen.model not in self.models:
            raise _Refused(404, f"The model `{seen.model}` does not exist", code="model_not_found")
        for known, name, words in self._takes(body):
            if name in body and not known:
                raise _Refused(400, words)
        if not self._system and any(message.get("role") == "system" for message in seen.messages):
            raise _Refused(400, "System role not supported")

    def _takes(self, body: Mapping[str, Any]) -> tuple[tuple[bool, str, str], ...]:
        other = "max_completion_tokens" if self._budget == "max_completion_tokens" else "max_tokens"
        unsupported = "Unsupported parameter: '{}' is not supported with this model."
        return (
            (
                self._schema,
                "response_format",
                "'response_format.type' : value is not one of the allowed values ['text']",
            ),
            (self._tools, "tools", f"{body.get('model')} does not support tools"),
            (self._temperature, "temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
            (self._reasoning, "reasoning_effort", unsupported.format("reasoning_effort")),
            (
                self._budget != "max_completion_tokens",
                "max_tokens",
                f"{unsupported.format('max_tokens')} Use '{other}' instead.",
            ),
            (
                self._budget != "max_tokens",
                "max_completion_tokens",
                "Unrecognized request argument supplied: max_completion_tokens",
            ),
        )

    def _answered(self, seen: AskedChat) -> dict[str, Any]:
        rule = self._rule(seen)
        said = self._understand(seen) if rule is None else rule.answer
        said = said(seen) if callable(said) else said
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        finish = None if rule is None else rule.finish
        shape: Shape = self._shape if rule is None or rule.shape == "plain" else rule.shape
        most = seen.body.get("max_tokens") or seen.body.get("max_completion_tokens") or self._output_tokens
        if most is not None and self._count(text) > most:
            text, finish = _cut(text, most, self._count), "length"
        tokens = (self._count(seen.prompt), self._count(text)) if self._usage else None
        return completion(text, seen, shape=shape, finish=finish, tokens=tokens)

    def _rule(self, seen: AskedChat) -> ChatRule | None:
        for at, rule in enumerate(self.rules):
            used = self._used.get(at, 0)
            if (rule.times is not None and used >= rule.times) or seen.number < rule.after:
                continue
            if re.search(rule.pattern, seen.prompt, re.DOTALL):
                self._used[at] = used + 1
                return rule
        return None

    def _struck(self, exchange: Exchange, seen: AskedChat, trouble: Trouble) -> None:
        if trouble.kind == "status":
            self._reply(exchange, seen, trouble.status, trouble.payload, trouble.headers)
        elif trouble.kind == "drop":
            exchange.drop()
            self._ended(seen, 0)
        elif trouble.kind == "drip":
            exchange.drip(200, b"{}" + b" " * 4096, trouble.seconds)
        elif trouble.kind == "error_in_200":
            self._reply(exchange, seen, 200, {"error": {"message": "Provider returned error", "code": 502}})
        elif trouble.kind == "not_json":
            self._reply(exchange, seen, 200, b"<html><body>Welcome</body></html>")
        elif trouble.kind == "empty":
            self._reply(exchange, seen, 200, {"choices": []})

    def _reply(
        self, exchange: Exchange, seen: AskedChat, status: int, body: Any, headers: Mapping[str, str] | None = None
    ) -> None:
        if seen.status is None:
            self._ended(seen, status)
            raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
            exchange.reply(status, raw, headers)

    def _ended(self, seen: AskedChat, status: int) -> None:
        if seen.status is None:
            seen.status, seen.ended = status, time.monotonic()
            self.in_flight -= 1


_SCHEMA_IN_WORDS = re.compile(r"JSON Schema:\n(\{.*\})\s*(?:\n|$)")


def _cut(text: str, most: int, count: Callable[[str], int]) -> str:
    fits, over = 0, len(text)
    while over - fits > 1:
        middle = (fits + over) // 2
        fits, over = (middle, over) if count(text[:middle]) <= most else (fits, middle)
    return text[:fits]


class _Refused(Exception):
    def __init__(
        self, status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        kind = "invalid_request_error" if status < 500 else "server_error"
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
        self.headers = headers or {}
