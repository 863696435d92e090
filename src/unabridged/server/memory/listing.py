"""What every listing takes: a page's length, where it begins, its order, and the common filters."""

import json
from typing import Annotated, Any

from fastapi import Query

from unabridged.errors import InputError
from unabridged.memory.paging import PAGE_LIMIT, Page

__all__ = ["Cursor", "Limit", "Metadata", "Newest", "Session", "metadata_of", "paged"]

Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT, description="Records on the page.")]
Cursor = Annotated[str | None, Query(description="From the page before; leave it out for the first one.")]
Newest = Annotated[bool, Query(description="Newest first.")]
Session = Annotated[str | None, Query(description="Only of this session.")]
Metadata = Annotated[
    str | None,
    Query(description="A JSON object: records whose metadata holds all of it.", examples=['{"user": "alice"}']),
]


def metadata_of(given: str | None) -> dict[str, Any] | None:
    """A filter on metadata, from its JSON.

    >>> metadata_of('{"user": "alice"}')
    {'user': 'alice'}
    """
    if given is None:
        return None
    try:
        found = json.loads(given, parse_constant=_refuse)
        json.dumps(found, ensure_ascii=False).encode()  # half of a surrogate pair is no text that could be stored
    except (ValueError, RecursionError):
        raise InputError('metadata: not JSON; give an object such as {"user": "alice"}') from None
    if not isinstance(found, dict):
        raise InputError(f"metadata: found {type(found).__name__}, expected a JSON object")
    return found


def _refuse(word: str) -> Any:
    raise ValueError(word)


def paged(page: Page[Any]) -> dict[str, Any]:
    """A page as it is sent."""
    return {"items": page.items, "cursor": page.cursor}
