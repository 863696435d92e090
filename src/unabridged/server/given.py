"""The body of a request: closed, for a misspelt field would mean something else; and what one looks like."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

__all__ = ["Given", "example", "fields_at", "takes"]


class Given(BaseModel):
    """The body of a request, or a part of it. What is not known is refused, and ``true`` and ``"5"`` are no numbers.

    >>> class Page(Given):
    ...     limit: int | None = None
    >>> Page(limit=5).limit
    5
    """

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _as_json_has_it(cls, value: Any, about: ValidationInfo) -> Any:
        """As it is, unless pydantic would make a number, or true or false, of what is none in JSON."""
        if not isinstance(value, bool | str):
            return value
        kinds = takes(cls.model_fields[about.field_name or ""].annotation)
        expected = "true or false" if bool in kinds else "a number" if kinds & {int, float} else None
        if expected and not kinds & {type(value), Any}:
            found = "a string" if isinstance(value, str) else "true or false"
            raise PydanticCustomError("no_number", f"found {found}, expected {expected}")
        return value


def takes(annotation: Any) -> set[Any]:
    """The types that a field takes, at any depth.

    >>> takes(list[str] | None) == {list[str] | None, list[str], str, type(None)}
    True
    """
    if get_origin(annotation) is Literal:
        return {type(each) for each in get_args(annotation)}
    return {annotation}.union(*map(takes, get_args(annotation))) if isinstance(annotation, Hashable) else set()


def example(**fields: Any) -> ConfigDict:
    """A request as the OpenAPI document shows it, for the ``model_config`` of its model.

    >>> example(query="Where does Alice work?")
    {'json_schema_extra': {'examples': [{'query': 'Where does Alice work?'}]}}
    """
    return ConfigDict(json_schema_extra={"examples": [fields]})


def fields_at(annotation: Any, place: Sequence[str | int] = ()) -> list[str]:
    """The fields that a body may have at a place in it, where a model or several may stand.

    >>> class Page(Given):
    ...     limit: int
    >>> fields_at(Page), fields_at(list[Page] | None, (0,))
    (['limit'], ['limit'])
    """
    models = [each for each in takes(annotation) if isinstance(each, type) and issubclass(each, BaseModel)]
    if not place:
        return list(dict.fromkeys(field.alias or name for each in models for name, field in each.model_fields.items()))
    inside = [each.model_fields[str(place[0])].annotation for each in models if str(place[0]) in each.model_fields]
    if not inside:  # a position in a list, or the name of one of several models
        return fields_at(annotation, place[1:])
    return [name for each in inside for name in fields_at(each, place[1:])]
