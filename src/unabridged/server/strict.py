"""Parameters of an address that a route does not know are refused: a misspelt ``dataset`` would be another one.

So under ``/v1/gb``, all of which is ours. Elsewhere clients speak a protocol of somebody else's, and send extras
(``?api-version=`` of Azure): those are passed over, as are those of the page, health and metrics, which take none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_origin

from fastapi import Request  # noqa: TC002 -- FastAPI reads the annotation

from unabridged.config.names import nearest
from unabridged.server.given import fields_at, takes
from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastapi._compat import ModelField
    from fastapi.dependencies.models import Dependant

__all__ = ["known_parameters", "taken"]

_SHOWN = 40  # letters of a name that an error repeats


async def known_parameters(request: Request) -> None:
    """Refuse an address with a parameter that its route does not take, or takes once and finds twice; 422."""
    route = request.scope["route"]
    known = taken(route)
    for name in request.query_params:
        if name not in known:
            raise _unknown(name, tuple(known), route)
        times = len(request.query_params.getlist(name))
        if times > 1 and not _several(known[name]):  # which of them is meant, programs on the way may disagree
            detail = f"query.{name}: given {times} times, expected once"
            raise Problem(422, detail, code="invalid_request", param=f"query.{name}")


def taken(route: Any) -> dict[str, ModelField]:
    """The parameters of an address that a route takes, by name; none of a route that says nothing of them."""
    dependant = getattr(route, "dependant", None)
    return {} if dependant is None else {field.alias: field for field in _taken(dependant)}


def _unknown(name: str, known: Sequence[str], route: Any) -> Problem:
    body = getattr(route.body_field, "field_info", None)
    near = nearest(name, known)
    if body is not None and name in fields_at(body.annotation):
        meant = "it is a field of the body"
    else:
        meant = f"did you mean {near}?" if near else f"known are {', '.join(known) or 'none'}"
    said = f"query.{name}" if name.isidentifier() and len(name) <= _SHOWN else "query"
    return Problem(422, f"{said}: unknown parameter, {meant}", code="invalid_request", param=said)


def _several(field: ModelField) -> bool:
    return any(get_origin(each) is list for each in takes(field.field_info.annotation))


def _taken(dependant: Dependant) -> Iterator[ModelField]:
    yield from dependant.query_params
    for each in dependant.dependencies:
        yield from _taken(each)
