"""What every model behind HTTP has in common; a dialect adds its request and how to read the answer.

A dialect is a subclass with two short methods: :meth:`HttpProvider.call` makes the request,
:meth:`HttpProvider.read` takes the vectors out of the answer. Threads and tasks share both, so no
path is written twice.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from unabridged.errors import ConfigError, ProviderError
from unabridged.providers.http import HttpHost
from unabridged.providers.replies import Plateau, vectors_from
from unabridged.types import Limit, Reply, Request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Mapping

    from unabridged.providers.http import Answer, Call
    from unabridged.types import Role, Tokenizer, Vectors

__all__ = ["HttpOptions", "HttpProvider", "mappings"]

_ADAPTATIONS = 2  # a server may refuse two things that it does not know: base64, and our default width


class HttpOptions(TypedDict, total=False):
    """The options that every provider behind HTTP takes."""

    api_key: str | None
    base_url: str | None
    dimensions: int | None
    default_dimensions: int | None
    timeout: float | None
    headers: Mapping[str, str] | None
    query: Mapping[str, str] | None
    body: Mapping[str, Any] | None
    proxy: str
    verify: bool | str | ssl.SSLContext
    limit: Limit | None
    prompts: Mapping[Role, str] | None


class HttpProvider:
    """One model behind HTTP.

    ``api_key`` comes from the environment if it is not given (``key_variables``); ``headers``,
    ``query`` and ``body`` add to every request; ``timeout`` bounds a request in seconds, and
    ``Request.timeout`` shortens it; ``limit`` overrides what the model table knows. ``dimensions``
    is asked for where a request does not ask itself; ``default_dimensions`` likewise, but is dropped
    for good if the model refuses it. ``prompts`` are put before each text by role, for models whose
    instructions are text: ``{"query": "search_query: "}``.

    Raises :class:`~unabridged.errors.ConfigError` for a missing key, naming its variable; with a
    ``base_url`` of the caller's own, a key is optional.
    """

    name: str = ""
    default_url: str | None = None
    default_model: str | None = None
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()
    needs_key: bool = True

    def __init__(
        self,
        model: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        default_dimensions: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        proxy: str = "environment",
        verify: bool | str | ssl.SSLContext = True,
        limit: Limit | None = None,
        prompts: Mapping[Role, str] | None = None,
    ) -> None:
        self.model = self._model_name(model)
        self.dimensions = dimensions
        self.limit = limit if limit is not None else known_limit(self.model, self.name)
        self.tokenizer: Tokenizer | None = None
        self._default_dimensions = default_dimensions
        self._body = dict(body or {})
        self._prompts = dict(prompts or {})
        self._widths: dict[int | None, int] = {}
        self._plateau = Plateau(self.limit.input_tokens)
        key = self._key(api_key, required=self.needs_key and base_url is None)
        self.http = HttpHost(
            self._url(base_url),
            provider=self.name,
            headers={**(self.authorization(key) if key else {}), **(headers or {})},
            query=query,
            secrets=(key,),
            timeout=timeout,
            proxy=proxy,
            verify=verify,
        )

    # What a dialect says.

    def authorization(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""
        return {"authorization": f"Bearer {key}"}

    def call(self, request: Request) -> Call:
        """The request in this dialect."""
        raise NotImplementedError

    def read(self, request: Request, answer: Answer) -> Reply:
        """The answer's vectors, checked."""
        raise NotImplementedError

    def adapt(self, request: Request, error: ProviderError) -> bool:
        """Whether a refusal was for something that this provider can leave out from now on."""
        ours = request.dimensions is None and self.dimensions is None and self._default_dimensions is not None
        if error.fault.kind == "invalid_dimensions" and ours:
            self._default_dimensions = None
            return True
        return False

    # What the floors above use.

    @property
    def host(self) -> str:
        """Where requests go, without a key."""
        return self.http.host

    @property
    def settings(self) -> Mapping[str, str]:
        """What else changes the vectors."""
        return {
            **{f"prompt.{role}": text for role, text in self._prompts.items()},
            **{f"body.{name}": str(value) for name, value in self._body.items()},
        }

    def prompt(self, role: Role) -> str:
        """What is put before each text: it costs tokens of the limit."""
        return self._prompts.get(role, "")

    def send(self, request: Request) -> Reply:
        """Send one request from a thread, and check its reply."""
        asked = self.asked(request)
        until = None if asked.timeout is None else time.monotonic() + asked.timeout
        for again in reversed(range(_ADAPTATIONS + 1)):
            try:
                return self.finished(asked, self.read(asked, self.http.call(self._timed(asked, until))))
            except ProviderError as error:
                if not (again and self.adapt(request, error)):
                    raise
            asked = self.asked(request)
        raise AssertionError

    async def asend(self, request: Request) -> Reply:
        """The same from a task."""
        asked = self.asked(request)
        until = None if asked.timeout is None else time.monotonic() + asked.timeout
        for again in reversed(range(_ADAPTATIONS + 1)):
            try:
                answer = await self.http.acall(self._timed(asked, until))
                return self.finished(asked, self.read(asked, answer))
            except ProviderError as error:
                if not (again and self.adapt(request, error)):
                    raise
            asked = self.asked(request)
        raise AssertionError

    def close(self) -> None:
        """Close every connection."""
        self.http.close()

    async def aclose(self) -> None:
        """Close every connection, those of this event loop at once."""
        await self.http.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, host={self.host!r})"

    # For the dialects.

    def vectors(self, request: Request, answer: Answer, items: Iterable[tuple[object, object]] | None) -> Vectors:
        """Check ``(index, vector)`` pairs against the request; ``None`` means that there were none."""
        if items is None:
            self.http.refuse(answer, "no vectors in the answer")
        return vectors_from(
            items,
            count=len(request.texts),
            width=request.dimensions or self._widths.get(None),
            provider=self.name,
        )

    def asked(self, request: Request) -> Request:
        """The request as it goes out: prompts before the texts, the width that is to be asked for."""
        texts = request.texts
        prompt = self.prompt(request.role)
        return replace(
            request,
            texts=tuple(prompt + text for text in texts) if prompt else texts,
            dimensions=request.dimensions or self.dimensions or self._default_dimensions,
        )

    def _timed(self, asked: Request, until: float | None) -> Call:
        call = self.call(asked)
        return call if until is None else replace(call, timeout=until - time.monotonic())

    def finished(self, asked: Request, reply: Reply) -> Reply:
        """Remember the model's width, and say so if its count of tokens looks like a silent cut."""
        self._widths.setdefault(asked.dimensions, reply.vectors.shape[1])
        warning = self._plateau.suspect([len(text) for text in asked.texts], reply.tokens)
        return reply if warning is None else replace(reply, warnings=(*reply.warnings, warning))

    def _model_name(self, model: str | None) -> str:
        found = model or self.default_model
        if not found:
            raise ConfigError("model", f"{self.name} needs the name of a model, such as '{self.name}/…'")
        return found

    def _key(self, given: str | None, *, required: bool) -> str | None:
        """The key; a server of the user's own may do without."""
        key = (given or "").strip() or _from_environment(self.key_variables)
        if not key and required:
            names = " or ".join(self.key_variables)
            raise ConfigError("api_key", f"{self.name} needs a key: set {names}", advice="api_key")
        return key

    def _url(self, given: str | None) -> str:
        url = given or _from_environment(self.url_variables) or self.default_url
        if not url:
            raise ConfigError("base_url", f"{self.name} needs the address of its server")
        return url


def mappings(rows: Any) -> list[dict[str, Any]] | None:
    """A list of mappings, or ``None`` for anything else."""
    return rows if isinstance(rows, list) and all(isinstance(row, dict) for row in rows) else None


def known_limit(model: str, provider: str) -> Limit:
    """What the model table knows of a model; nothing of an unknown one."""
    from unabridged.providers.limits import known_model

    known = known_model(model, provider)
    return Limit() if known is None else known.limit


def _from_environment(names: Iterable[str]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)
