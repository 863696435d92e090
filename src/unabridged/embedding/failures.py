"""When to raise, and what: one cause as it is, several in one error; the finished part goes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unabridged.advice import said
from unabridged.errors import EmbeddingFailed, EmptyText, ProviderError, UnabridgedError

if TYPE_CHECKING:
    from unabridged.embedding.results import EmbedResult, TextResult

__all__ = ["raise_failures"]


def raise_failures(result: EmbedResult) -> None:
    """One cause is raised as it is; several in one error. The finished part goes with it."""
    failed = result.failed
    if not failed:
        return
    causes = {_cause(t.error): t.error for t in reversed(failed) if t.error is not None}
    empty = [t.index for t in failed if isinstance(t.error, EmptyText)]
    error: Exception
    if len(empty) == len(failed):
        error = EmptyText(empty)
    elif len(causes) == 1 and (len(failed) == len(result) or not _about_one_text(failed[0])):
        error = next(iter(causes.values()))
    else:
        first = failed[0]
        why = said(first.error) if isinstance(first.error, UnabridgedError) else first.reason
        error = EmbeddingFailed(
            f"{len(failed)} of {len(result)} texts failed, the first at {first.index}: {why}",
            result,
            advice=getattr(first.error, "advice", None),
        )
        error.__cause__ = first.error
    if isinstance(error, UnabridgedError):
        error.result = result
    raise error


def _about_one_text(failed: TextResult) -> bool:
    return not isinstance(failed.error, ProviderError) or failed.error.fault.kind not in (
        "auth",
        "quota",
        "model_not_found",
        "invalid_dimensions",
    )


def _cause(error: Exception) -> object:
    """Refusals of one kind are one cause: the first of them is raised."""
    return error.fault.kind if isinstance(error, ProviderError) else id(error)
