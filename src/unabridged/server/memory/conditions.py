"""``If-Match`` on what changes or deletes a record: 412 where it is no longer the one that the caller has seen."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Depends, Header, Request

from unabridged.memory.commits import View
from unabridged.memory.conditions import provided
from unabridged.memory.where import equals
from unabridged.server.etags import etag_of, is_conditional, require
from unabridged.server.memory.replies import json_of
from unabridged.server.problems import Problem

__all__ = ["CONDITIONAL", "hold", "refuse", "unchanged"]


def _told(
    if_match: Annotated[
        str | None, Header(description="The ETag of the record as it was read; 412 if it is another.")
    ] = None,
) -> None:
    """For the document alone: the route looks at the header itself, at the moment that counts."""


CONDITIONAL = [Depends(_told)]


def hold(request: Request, record: Any) -> None:
    """Raise problem 412 where the caller means another record than this one."""
    require(request.headers, etag_of(json_of(record)))


@contextmanager
def unchanged(request: Request, table: str, id_: str) -> Iterator[None]:
    """The commit in the block is done only while a record is what the caller means: looked at under the lock."""

    def look(view: View) -> None:
        for record in view.records(table, equals("id", id_)):
            hold(request, record)

    if not is_conditional(request.headers):
        yield
        return
    with provided(look):
        yield


def refuse(request: Request) -> None:
    """Raise problem 412 where a caller names one record and asks for several to be deleted."""
    if request.headers.get("if-match", "*").strip() != "*":
        detail = "If-Match names one record, and several are to be deleted; delete each at its own path"
        raise Problem(412, detail, code="changed", param="If-Match")
