"""Pieces -> requests that keep every cap at once. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from unabridged.text.measure import utf8_length

if TYPE_CHECKING:
    from collections import deque

    from unabridged.types import Limit

__all__ = ["Sized", "next_batch"]

# No provider's own cap is higher; it also bounds what one failed request has to repeat.
_MOST_INPUTS = 2048
_DEFAULT_INPUTS = 64
# A request's JSON is a little larger than its texts: quotes, commas, escapes.
_BYTES_AROUND_A_TEXT = 8


class Sized(Protocol):
    """What batching needs of a piece: its text, and its tokens as counted here."""

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def tokens(self) -> int: ...  # noqa: D102


_T = TypeVar("_T", bound=Sized)


def next_batch(waiting: deque[_T], limit: Limit, *, scale: float = 1.0, share: int | None = None) -> list[_T]:
    """Take pieces from the left of ``waiting`` as long as one request may hold them.

    ``scale`` turns our token counts into the provider's; ``share`` is how many tokens, as counted here, are
    enough for one request, so that others can go beside it. At least one piece is taken: what is too large
    alone is refused by the provider, and handled there.
    """
    inputs = min(limit.request_inputs or _DEFAULT_INPUTS, _MOST_INPUTS)
    tokens_left = float("inf") if limit.request_tokens is None else limit.request_tokens / scale
    if share is not None:
        tokens_left = min(tokens_left, share)
    bytes_left = float("inf") if limit.request_bytes is None else float(limit.request_bytes)
    batch: list[_T] = []
    while waiting and len(batch) < inputs:
        piece = waiting[0]
        tokens_left -= piece.tokens
        if bytes_left != float("inf"):
            bytes_left -= utf8_length(piece.text) + _BYTES_AROUND_A_TEXT
        if batch and (tokens_left < 0 or bytes_left < 0):
            break
        batch.append(waiting.popleft())
    return batch
