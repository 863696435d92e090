"""Pieces -> requests that keep every cap at once. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from unabridged.providers.limits import default_limit
from unabridged.text.measure import utf8_length

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from unabridged.types import Limit

__all__ = ["DEFAULT_INPUTS", "Sized", "next_batch"]

# No provider's own cap is higher; it also bounds what one failed request has to repeat.
_MOST_INPUTS = 2048
DEFAULT_INPUTS = default_limit().request_inputs or 1  # of a host that names no cap (SPEC K4)
# A request's JSON is a little larger than its texts: quotes, commas, escapes.
_BYTES_AROUND_A_TEXT = 8


class Sized(Protocol):
    """What batching needs of a piece: its text, and its tokens as counted here."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def tokens(self) -> int: ...  # noqa: D102


_T = TypeVar("_T", bound=Sized)


def next_batch(
    waiting: deque[_T], limit: Limit, *, scale: Callable[[str], float] | None = None, share: int | None = None
) -> list[_T]:
    """Take pieces from the left of ``waiting`` as long as one request may hold them.

    ``scale`` tells how many of the provider's tokens one of ours stands for in a text; ``share`` is how many
    tokens, as counted here, are enough for one request, so that others can go beside it. At least one piece
    is taken: what is too large alone is refused by the provider, and handled there.
    """
    inputs = min(limit.request_inputs or DEFAULT_INPUTS, _MOST_INPUTS)
    tokens_left = float("inf") if limit.request_tokens is None else float(limit.request_tokens)
    share_left = float("inf") if share is None else share
    bytes_left = float("inf") if limit.request_bytes is None else float(limit.request_bytes)
    batch: list[_T] = []
    while waiting and len(batch) < inputs:
        piece = waiting[0]
        share_left -= piece.tokens
        if tokens_left != float("inf"):
            tokens_left -= piece.tokens if scale is None else piece.tokens * scale(piece.text)
        if bytes_left != float("inf"):
            bytes_left -= utf8_length(piece.text) + _BYTES_AROUND_A_TEXT
        if batch and (share_left < 0 or tokens_left < 0 or bytes_left < 0):
            break
        batch.append(waiting.popleft())
    return batch
