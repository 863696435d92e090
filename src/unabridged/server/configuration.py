"""``/v1/gb/configuration``: the configuration in force, masked, and where each of its numbers comes from (SPEC P6)."""

from dataclasses import asdict

from fastapi import APIRouter, Depends, Request, Response

from unabridged.server.auth import needs
from unabridged.server.saying import told
from unabridged.server.strict import known_parameters
from unabridged.server.wire import dumps

__all__ = ["router"]

router = APIRouter(prefix="/v1/gb", tags=["keeping"], dependencies=[needs("admin"), Depends(known_parameters)])


@router.get("/configuration", responses=told(), operation_id="get_configuration")
def _configuration(request: Request) -> Response:
    """The settings as a file would write them, secrets masked; the model's figures and the origin of each."""
    server = request.app.state.server
    told = server.config.explain()
    figures = [{**asdict(figure), "value": _plain(figure.value)} for figure in told.figures]
    body = {"settings": told.settings, "figures": figures, "notes": told.notes, "version": request.app.version}
    return Response(dumps(body), media_type="application/json", headers={"Cache-Control": "no-store"})


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
