"""One call of a plain function: where its texts are, and how it is called with others in their place."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from unabridged.adapters.client import verified
from unabridged.adapters.shapes import listed, texts_of

if TYPE_CHECKING:
    from collections.abc import Callable

# What the parameter with the texts is called; else it is the first.
_TEXTS = ("texts", "input", "inputs", "sentences", "documents", "contents")

__all__ = ["FunctionCall", "row_of"]


class FunctionCall:
    """One call of a function: its texts, by position or by name, and all else, which is passed on."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.function, self.rest, self.named = function, args[1:], dict(named)
        self.name = None if args else _name_in(named, function)
        self.missing = not args and self.name is None
        self.given = listed(args[0]) if args else listed(self.named.pop(self.name or "", None))
        self.texts = texts_of(self.given)
        self.alone = isinstance(self.given, str)
        self.settings = repr((self.rest, sorted(self.named.items()), self.alone))

    def made(self, texts: Any) -> Any:
        """What the function makes of texts, called in the same way."""
        if self.missing:
            return self.function(**self.named)
        if self.name is None:
            return self.function(texts, *self.rest, **self.named)
        return self.function(**self.named, **{self.name: texts})

    def checked(self, answer: Any) -> Any:
        """The function's own answer, if there is a vector for each text."""
        verified([row_of(answer)] if self.alone else answer, self.texts or [], "function")
        return answer


def _name_in(named: dict[str, Any], function: Any) -> str | None:
    found = next((name for name in _TEXTS if name in named), None)
    if found is not None:
        return found
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):  # a builtin that does not say
        return None
    return first if first in named else None


def row_of(answer: Any) -> Any:
    """The vector of one text, which some functions give as the only row of several."""
    return answer[0] if np.ndim(answer) == 2 else answer
