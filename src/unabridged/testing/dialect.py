"""The shapes of requests and replies: what each provider's servers read and write.

A dialect says where a client's base URL points, reads a request into :class:`Asked`, and writes an
answer or a refusal. What is refused and why is :mod:`unabridged.testing.loopback`'s business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unabridged.testing.refusals import Refusal
    from unabridged.types import Limit

__all__ = ["Asked", "Dialect", "Incoming", "NotServed", "WrongShape", "mapping", "texts_of"]


class NotServed(LookupError):
    """No such route: what a server without it answers."""


class WrongShape(ValueError):
    """The body is not what the route takes."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it came: its body is the parsed JSON."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)

    @classmethod
    def parse(cls, target: str, headers: Mapping[str, str], body: Any) -> Incoming:
        """Take a request target apart."""
        parts = urlsplit(target)
        return cls(unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for; ``truncate``: the server may cut silently, ``route``: its answer's shape."""

    texts: tuple[str, ...] = field(repr=False)
    model: str = ""
    role: str | None = None
    dimensions: int | None = None
    base64: bool = False
    truncate: bool = False
    route: str = ""


class Dialect:
    """OpenAI's own, which most others vary."""

    base: ClassVar[str] = "/v1"
    wording: ClassVar[str] = "openai"
    route: ClassVar[str] = "/embeddings"
    width_name: ClassVar[str] = "dimensions"
    role_name: ClassVar[str | None] = None

    def key(self, incoming: Incoming) -> str | None:
        """The key, without its scheme."""
        given = incoming.headers.get("authorization", "")
        return given.partition(" ")[2] or None

    def read(self, incoming: Incoming) -> Asked:
        """Read a request, or raise :class:`NotServed` or :class:`WrongShape`."""
        if not incoming.path.endswith(self.route):
            raise NotServed
        body = mapping(incoming.body)
        return Asked(
            texts=texts_of(body.get("input")),
            model=str(body.get("model", "")),
            role=body.get(self.role_name) if self.role_name else None,
            dimensions=body.get(self.width_name),
            base64=body.get("encoding_format") == "base64",
            truncate=self.cuts(body),
        )

    def cuts(self, body: Mapping[str, Any]) -> bool:
        """Whether the server may cut silently, by what the request says or leaves out."""
        return False

    def write(self, asked: Asked, rows: Sequence[tuple[int, Any]], tokens: int | None) -> Any:
        """The answer; a row is an index and a vector (a list, or base64)."""
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in rows]
        answer: dict[str, Any] = {"object": "list", "data": data, "model": asked.model}
        if tokens is not None:
            answer["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
        return answer

    def refuse(self, refusal: Refusal, message: str) -> Any:
        """The body of a refusal."""
        kind = "invalid_request_error" if refusal.status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": refusal.code}}

    def about(self, target: str, limit: Limit) -> Any:
        """What a route that describes the server answers; ``None`` for every other."""
        return None

    def headers(self, refusal: Refusal) -> dict[str, str]:
        """Headers of a refusal."""
        return {}


def mapping(body: Any) -> dict[str, Any]:
    """The body as a mapping, or :class:`WrongShape`."""
    if not isinstance(body, dict):
        raise WrongShape
    return body


def texts_of(given: Any) -> tuple[str, ...]:
    """One text or a list of them, or :class:`WrongShape`."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise WrongShape  # token ids, for one: no text of ours may arrive as such (case 25)
    return tuple(texts)
