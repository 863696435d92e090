"""What the store says went wrong, as the project's own errors."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unabridged.errors import Conflict, InputError, StoreError, UnabridgedError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Gone", "told"]


class Gone(StoreError):
    """A version that was read from has been cleaned up; read the head again."""


@contextmanager
def told(doing: str) -> Iterator[None]:
    """The store's own errors as ours, with what a filter quoted taken out of the message."""
    try:
        yield
    except UnabridgedError:
        raise
    except UnicodeError:  # only what a caller gave can hold that
        raise InputError(f"{doing}: half of a surrogate pair was given; it is not text") from None
    except (ValueError, RuntimeError, OSError) as error:
        said = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "…", str(error)).split("\n")[0][:200]
        raise _kind(str(error))(f"{doing}: {said}") from None


def _kind(said: str) -> type[StoreError]:
    if re.search(r"[Ii]ncompatible transaction|commit conflict|concurrent transaction|Too many concurrent", said):
        return Conflict
    return Gone if re.search(r"no longer exists|[Nn]ot found|does not exist", said) else StoreError
