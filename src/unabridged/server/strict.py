"""Parameters of an address that a route does not know are refused: a misspelt ``dataset`` would be another one.

So under ``/v1/gb``, all of which is ours. Elsewhere clients speak a protocol of somebody else's, and send extras
(``?api-version=`` of Azure): those are passed over, as are those of the page, health and metrics, which take none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 -- FastAPI reads the annotation

from unabridged.config.names import nearest
from unabridged.server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.dependencies.models import Dependant
    from fastapi.routing import APIRoute

__all__ = ["known_parameters"]

_SHOWN = 40  # letters of a name that an error repeats


async def known_parameters(request: Request) -> None:
    """Refuse an address with a parameter that its route does not take; 422, and the nearest name."""
    taken = _taken(request.scope["route"])
    for name in request.query_params:
        if name not in taken:
            near = nearest(name, taken)
            meant = f"did you mean {near}?" if near else f"known are {', '.join(taken) or 'none'}"
            said = f"query.{name}" if name.isidentifier() and len(name) <= _SHOWN else "query"
            raise Problem(422, f"{said}: unknown parameter, {meant}", code="invalid_request", param=said)


def _taken(route: APIRoute) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_named(route.dependant)))


def _named(dependant: Dependant) -> Iterator[str]:
    for field in dependant.query_params:
        yield field.alias
    for each in dependant.dependencies:
        yield from _named(each)
