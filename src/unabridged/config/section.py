"""What every section of a configuration is made of: a closed object, and small types for its values."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, SecretStr, Tag
from pydantic.alias_generators import to_camel

__all__ = [
    "CacheChoice",
    "CacheSettings",
    "Count",
    "Secret",
    "Secrets",
    "Section",
    "Text",
    "Url",
    "one_of",
]


class Section(BaseModel):
    """An object of the file: closed, frozen, strict."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


def _shape_of(value: Any) -> str | None:
    """Which branch of "a boolean, a string, or an object" a value takes; tags are stripped from paths."""
    if isinstance(value, bool):
        return "<boolean>"
    if isinstance(value, str | SecretStr):
        return "<string>"
    if isinstance(value, dict | BaseModel):
        return "<object>"
    return "<list>" if isinstance(value, list) else None


def one_of(expected: str) -> Discriminator:
    """For a union of branches: what the whole of it expects, for an error."""
    return Discriminator(_shape_of, custom_error_type="expected", custom_error_message=expected)


Count = Annotated[int, Field(ge=1)]
Secret = Annotated[SecretStr, Field(min_length=1)]
Secrets = Annotated[
    Annotated[Secret, Tag("<string>")] | Annotated[list[Secret], Field(min_length=1), Tag("<list>")],
    one_of("a string or a list of strings"),
]
Text = Annotated[str, Field(min_length=1)]
# No user name or password: an address is shown and logged, a key is not.
Url = Annotated[str, Field(pattern=r"^https?://[^\s/@?#]+([/?][^\s#]*)?$")]


class CacheSettings(Section):
    """Where vectors are kept so that no text is paid for twice."""

    enabled: bool = Field(default=True, description="Whether to keep vectors on disk.")
    folder: Text | None = Field(default=None, description="Folder; default: the user's cache folder.")
    max_bytes: Annotated[int, Field(ge=1 << 20)] = Field(
        default=4 << 30, description="Over this size, what was stored longest ago goes first."
    )


CacheChoice = Annotated[
    Annotated[bool, Tag("<boolean>")] | Annotated[Text, Tag("<string>")] | Annotated[CacheSettings, Tag("<object>")],
    one_of("true, false, a folder or an object"),
]
