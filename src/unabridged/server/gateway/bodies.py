"""A request's body -> its model: strict, closed, and refused with the place of what is wrong, not the contents."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar

from pydantic import ConfigDict, ValidationError

from unabridged.server.given import Given
from unabridged.server.problems import Problem
from unabridged.server.wire import loads

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["Asked", "read"]

A = TypeVar("A", bound="Asked")


class Asked(Given):
    """The body of a request, taken as it stands: no text is made of a number, no number of a text."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True, populate_by_name=True)


async def read(request: Request, kind: type[A]) -> A:
    """The body as ``kind``.

    Raises :class:`~unabridged.server.problems.Problem` 400.
    """
    value = loads(await request.body())
    if not isinstance(value, dict):
        raise Problem(400, "the body is not a JSON object", code="invalid_json")
    try:
        return kind.model_validate(value)
    except ValidationError as invalid:
        raise _problem(invalid, kind) from None


def _problem(invalid: ValidationError, kind: type[Asked]) -> Problem:
    fault = invalid.errors(include_url=False, include_input=False)[0]
    name = str(fault["loc"][0])  # a field that is not known is not quoted: its name may hold anything
    if fault["type"] != "extra_forbidden":
        return Problem(400, f"{name}: {fault['msg'].lower()}", code="invalid_value", param=name)
    known = sorted(field.alias or own for own, field in kind.model_fields.items())
    near = difflib.get_close_matches(name[:64], known, n=1, cutoff=0.7)
    if not near:
        return Problem(400, f"a field that is not known here; known are {', '.join(known)}", code="unknown_parameter")
    detail = f"a field that is not known here, did you mean {near[0]}?"
    return Problem(400, detail, code="unknown_parameter", param=near[0])
