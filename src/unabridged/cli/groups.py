"""Options that several commands take, declared once: a command takes a group of them, typer sees each."""

from __future__ import annotations

from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["grouped"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: a parameter that is a dataclass of options becomes those options.

    Each option is declared in the dataclass as a typer command declares its own; ``panel``, where the class has one,
    is the heading under which ``--help`` shows them.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    flat = [
        each
        for param in signature(command).parameters.values()
        for each in (_options(groups[param.name]) if param.name in groups else [_plain(param, hints[param.name])])
    ]

    def call(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given)

    call.__doc__ = command.__doc__
    call.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in flat}
    return call


def _plain(param: Parameter, annotation: Any) -> Parameter:
    return param.replace(annotation=annotation, kind=Parameter.KEYWORD_ONLY)


def _options(group: Any) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        kind = _under(getattr(group, "panel", None), hints[each.name])
        default = Parameter.empty if each.default is MISSING else each.default
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _under(panel: str | None, annotation: Any) -> Any:
    """The same option under the heading of its group."""
    if panel is None or get_origin(annotation) is not Annotated:
        return annotation
    kind, *about = get_args(annotation)
    told = []
    for each in about:
        if isinstance(each, OptionInfo):
            each = copy(each)  # noqa: PLW2901
            each.rich_help_panel = panel
        told.append(each)
    return Annotated[(kind, *told)]
