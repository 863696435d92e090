"""The nearest known name to a mistaken one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` most likely stands for, case and separators apart.

    >>> nearest("baseUrl", ["model", "baseURL"]), nearest("api_key", ["apiKey"]), nearest("zzz", ["model"])
    ('baseURL', 'apiKey', None)
    """
    folded = {_folded(one): one for one in known}
    found = get_close_matches(_folded(name), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _folded(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
