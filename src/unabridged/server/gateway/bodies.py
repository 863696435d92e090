"""A request's body -> its model: strict, and refused with the place of what is wrong, not the contents.

Clients of these protocols send fields of their own beside those that are known: they are passed over. One that looks
like a known field that is not given is most likely a misspelt one, and refused: it would change the vectors.
"""

from __future__ import annotations

import difflib
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from unabridged.server.problems import Problem
from unabridged.server.wire import NO_OBJECT, loads

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["Asked", "read"]

A = TypeVar("A", bound="Asked")
# Measured on misspelt names and on what clients send beside ours: ``inputt``, ``dimension`` and ``modle`` are above,
# ``user_id``, ``model_name`` and ``metadata`` below.
_NEAR = 0.8
_SHOWN = 40  # letters of a name that an error repeats


class Asked(BaseModel):
    """The body of a request, taken as it stands: no text is made of a number, no number of a text."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True, populate_by_name=True)


async def read(request: Request, kind: type[A]) -> A:
    """The body as ``kind``.

    Raises :class:`~unabridged.server.problems.Problem` 400.
    """
    value = loads(await request.body())
    if not isinstance(value, dict):
        raise Problem(400, NO_OBJECT, code="invalid_json")
    known = _known(kind)
    strange = value.keys() - known
    for name in sorted(strange):
        if near := difflib.get_close_matches(name[:_SHOWN], known - value.keys(), n=1, cutoff=_NEAR):
            detail = f"{_named(name)} is not known here, did you mean {near[0]}?"
            raise Problem(400, detail, code="unknown_parameter", param=near[0])
    try:
        return kind.model_validate(value)
    except ValidationError as invalid:
        raise _problem(invalid, kind, strange=bool(strange)) from None


@cache
def _known(kind: type[Asked]) -> frozenset[str]:
    """The names of a request's fields."""
    return frozenset({field.alias or name for name, field in kind.model_fields.items()} | kind.model_fields.keys())


def _problem(invalid: ValidationError, kind: type[Asked], *, strange: bool) -> Problem:
    fault = invalid.errors(include_url=False, include_input=False)[0]
    name = str(fault["loc"][0])
    detail = f"{name}: {fault['msg'].lower()}"
    if fault["type"] == "missing" and strange:  # it was sent under another name, perhaps; which may hold anything
        known = sorted(field.alias or own for own, field in kind.model_fields.items())
        detail += f"; a field that is not known here was sent, known are {', '.join(known)}"
    return Problem(400, detail, code="invalid_value", param=name)


def _named(name: str) -> str:
    """A field's name, where it is one, and near one of ours: others may hold anything, and are not repeated.

    >>> _named("inputt"), _named("in put")
    ('inputt', 'a field')
    """
    return name if name.isidentifier() and len(name) <= _SHOWN else "a field"
