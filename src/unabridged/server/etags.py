"""ETags, and what callers ask of them: the same rules for every answer (RFC 9110, 8.8 and 13).

``If-None-Match`` on a read: not again what the caller has (304). ``If-Match`` on a write: only while the record
is still what the caller has seen (412), so that nobody's change is lost or deleted unseen.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["etag_of", "is_conditional", "is_known", "require"]


def etag_of(body: bytes) -> str:
    """A strong ETag: equal bodies have equal ones.

    >>> etag_of(b"a") == etag_of(b"a") != etag_of(b"b")
    True
    """
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Whether a caller has this already (``If-None-Match``); ``W/`` says nothing where bodies are equal to the byte.

    >>> is_known({"if-none-match": 'W/"a", "b"'}, '"a"'), is_known({"if-none-match": "*"}, '"a"'), is_known({}, '"a"')
    (True, True, False)
    """
    return _names(headers.get("if-none-match"), etag, weak=True)


def is_conditional(headers: Mapping[str, str]) -> bool:
    """Whether a write depends on what is stored."""
    return "if-match" in headers or "if-none-match" in headers


def require(headers: Mapping[str, str], etag: str) -> None:
    """Raise problem 412 where a write is for a record other than the one that is stored.

    >>> require({"if-match": '"a"'}, '"a"')
    >>> require({"if-match": 'W/"a"'}, '"a"')
    Traceback (most recent call last):
    ...
    unabridged.server.problems.Problem: 412 changed: the record is not the one that If-Match names; GET it again
    """
    if "if-match" in headers and not _names(headers["if-match"], etag, weak=False):
        detail = "the record is not the one that If-Match names; GET it again"
        raise Problem(412, detail, code="changed", param="If-Match", headers={"etag": etag})
    if is_known(headers, etag):
        detail = "the record is the one that If-None-Match names"
        raise Problem(412, detail, code="unchanged", param="If-None-Match", headers={"etag": etag})


def _names(given: str | None, etag: str, *, weak: bool) -> bool:
    tags = [tag.strip() for tag in (given or "").split(",")]
    if weak:
        tags = [tag.removeprefix("W/") for tag in tags]
    return etag in tags or "*" in tags
