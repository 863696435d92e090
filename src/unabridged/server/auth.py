"""Who calls, and what for: bearer keys with rights and datasets; off only where only this machine can call.

Whoever calls is known before anything of the request is read. A route says what right it needs::

    @router.get("/v1/gb/stats")
    async def stats(caller: Annotated[Caller, needs("read")], dataset: str = "default"):
        caller.require(dataset)

Rights: ``embed`` (the gateway), ``read`` and ``write`` (the memory; ``write`` reads too), ``admin``
(datasets made and deleted whole; everything else too).
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from fastapi import Security
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.requests import HTTPConnection  # noqa: TC002 -- FastAPI reads it at run time

from unabridged.server.keys import SCOPES
from unabridged.server.problems import Problem
from unabridged.server.settings import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unabridged.server.keys import Key, KeyRing

__all__ = ["ANYBODY", "Authorised", "Caller", "authenticate", "caller_of", "is_near", "is_public", "needs"]

_IMPLIED = {"admin": SCOPES, "write": ("write", "read")}
# What a browser loads before anybody can show a key: the page and its parts hold no data.
_PUBLIC = {"/", "/health", "/healthz", "/livez", "/ready", "/readyz", "/favicon.ico", "/index.html", "/robots.txt"}
_HANDED_ON = {"forwarded", "x-forwarded-for", "x-real-ip"}
_PUBLIC_FOLDERS = ("/assets/", "/static/")
_ABOUT_KEYS = "A key of `unabridged serve keys add`. On loopback none is needed, until there is one."


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling: the key's id and name, its rights, and the datasets it may touch.

    >>> Caller("k1", "ci", ("write",), ("team-*",)).may("read")
    True
    """

    id: str
    name: str
    scopes: tuple[str, ...] = SCOPES
    datasets: tuple[str, ...] = ("*",)
    key: Key | None = None

    def may(self, scope: str) -> bool:
        """Whether it has a right."""
        return any(scope in _IMPLIED.get(held, (held,)) for held in self.scopes)

    def reaches(self, dataset: str) -> bool:
        """Whether a dataset is among its own."""
        return any(fnmatchcase(dataset, pattern) for pattern in self.datasets)

    def require(self, dataset: str) -> None:
        """Raise :class:`~unabridged.server.problems.Problem` 403 unless it may touch a dataset."""
        if not self.reaches(dataset):
            raise Problem(403, "this key has no right to this dataset", code="dataset_forbidden", param="dataset")


ANYBODY = Caller("-", "loopback")  # on loopback, without keys


class Authorised(SecurityBase):
    """A dependency: the caller, or problem 403 where the key lacks the right; ``None`` takes a key with any."""

    def __init__(self, right: str | None) -> None:
        if right is not None and right not in SCOPES:
            raise ValueError(f"no such right: {right}")
        self.right = right
        self.scheme_name = "bearer"
        self.model = HTTPBearer(description=_ABOUT_KEYS)

    def __call__(self, connection: HTTPConnection) -> Caller:
        """The caller of a request."""
        return caller_of(connection.scope, self.right)


def needs(right: str | None) -> Any:
    """What a route asks of its caller, as a dependency; the OpenAPI document says it of the operation.

    >>> needs("fly")
    Traceback (most recent call last):
    ...
    ValueError: no such right: fly
    """
    return Security(Authorised(right), scopes=[] if right is None else [right])


def caller_of(scope: Mapping[str, object], right: str | None) -> Caller:
    """The caller of a request by its ASGI scope, for what is no FastAPI route; without a right, any will do.

    Raises :class:`~unabridged.server.problems.Problem` 401 or 403.
    """
    caller = scope.get("unabridged.caller")
    if not isinstance(caller, Caller):
        raise unauthorised("a key is needed")
    if right is not None and not caller.may(right):
        raise Problem(403, f"this key lacks the right {right!r}", code="insufficient_scope")
    return caller


def authenticate(ring: KeyRing, headers: Mapping[str, str], *, required: bool) -> Caller:
    """The caller that the headers show; anybody where no key is required.

    Raises :class:`~unabridged.server.problems.Problem` 401 for a key that does not open, or that is missing.
    """
    if not required:
        return ANYBODY
    shown = _shown(headers)
    if shown is None:
        raise unauthorised("no key was given: send it as 'Authorization: Bearer …'")
    key = ring.find(shown)
    if key is None:
        raise unauthorised("the key is wrong, expired or revoked")
    return Caller(key.id, key.name, key.scopes, key.datasets, key)


def unauthorised(detail: str) -> Problem:
    """The answer to a caller that is not known."""
    return Problem(401, detail, code="invalid_api_key", headers={"www-authenticate": 'Bearer realm="unabridged"'})


def is_public(method: str, path: str) -> bool:
    """Whether a request needs no key: health, and the parts of the page, which hold no data.

    >>> is_public("GET", "/health"), is_public("GET", "/v1/models"), is_public("POST", "/")
    (True, False, False)
    """
    return method in {"GET", "HEAD"} and (path in _PUBLIC or path.startswith(_PUBLIC_FOLDERS))


def is_near(client: object, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this machine itself, and was not handed on for another.

    >>> is_near(("127.0.0.1", 5), {}), is_near(("10.0.0.9", 5), {}), is_near(("::1", 5), {"forwarded": "for=x"})
    (True, False, False)
    """
    if not _HANDED_ON.isdisjoint(headers):
        return False
    host = client[0] if isinstance(client, (tuple, list)) and client else None
    # A socket of the file system has no address; Starlette's own test client has a name for one.
    return host in {None, "", "testclient"} or is_loopback(str(host))


def _shown(headers: Mapping[str, str]) -> str | None:
    """The key: a bearer token, or as Azure's and other clients send it."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key") or headers.get("api-key") or None
