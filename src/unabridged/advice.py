"""What would help, under a key: an error says what is wrong, and each door what to do about it in its own words.

"The dataset holds no vectors" is true everywhere; "call ``Memory.embed_missing()``" helps in Python alone.
So an error (``error.advice``), and whatever else tells of a fault, carries a key of :data:`PYTHON`, whose words
end the message in Python. The command line, HTTP and MCP have words of their own for every key, and
:func:`worded` puts them in place of ours. A key whose words are empty at a door is one that a caller there can
do nothing about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PYTHON", "cause", "counted", "joined", "said", "worded"]

_OF_ANSWERS = ("unreadable", "truncated", "empty", "refused", "withheld")  # of a ChatError
PYTHON: Mapping[str, str] = {
    "api_key": "or pass api_key",
    "chat": "open the memory with chat=… for an answer",
    "confirm_drift": "embed them again, or call check_drift(confirm=True) if the change is harmless",
    "drop_snapshot": "choose another name, or drop that one first with Memory.drop_snapshot()",
    "drop_snapshots": "drop them first, or pass drop_snapshots=True",
    "embed_missing": "Memory.embed_missing() makes them",
    "embedder": "pass one to Memory.open(…, embedder=…)",
    "empty": 'pass empty="skip" or empty="zero" to go on without',
    "erase_session": "Memory.erase(session_id=…) does that",
    "folder": "read_documents() walks it",
    "list_datasets": "list those that are with Memory.datasets()",
    "list_snapshots": "list them with Memory.snapshots()",
    "private": "pass private=True to reach them all the same",
    "project": "or pass project",
    "reembed": "open it with the embedder that made them, or change them with Memory.reembed()",
    "replace": "pass force=True to replace it",
    "text_bytes": "cut it, or open the memory with a larger max_text_bytes",
    "wait_readers": "end them, or wait longer (wait=…)",
    "writable": "open it without read_only to write",
}


def joined(text: str, advice: str | None, words: Mapping[str, str] = PYTHON) -> str:
    """What is wrong, and what would help in a door's words, if there is anything.

    >>> joined("the dataset holds no vectors", "embed_missing")
    'the dataset holds no vectors; Memory.embed_missing() makes them'
    """
    helps = words[advice] if advice is not None else ""
    return f"{text}; {helps}" if helps else text


def said(error: BaseException) -> str:
    """What is wrong, without any advice: for a sentence of which the error is a part."""
    return Exception.__str__(error) if isinstance(error, Exception) else str(error)


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun, and whatever follows it and bends with it; without ``many``, an s makes the plural.

    >>> counted(1, "snapshot"), counted(2, "snapshot holds it", "snapshots hold it")
    ('1 snapshot', '2 snapshots hold it')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def cause(error: BaseException) -> str:
    """What failed, in a word or two that are neither a class's name nor any text of others.

    >>> from unabridged.errors import ChatError, ProviderError
    >>> from unabridged.types import Fault
    >>> cause(ProviderError("…", Fault("rate_limit"))), cause(ChatError("…", reason="empty")), cause(TimeoutError())
    ('rate limit', 'empty answer', 'timeout error')
    """
    fault, reason = getattr(error, "fault", None), getattr(error, "reason", "")
    if fault is not None:
        return str(fault.kind).replace("_", " ")
    if reason in _OF_ANSWERS:
        return f"{reason} answer"
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", type(error).__name__).lower()


def worded(error: BaseException, words: Mapping[str, str]) -> str:
    """An error in the words of a door.

    >>> from unabridged.errors import StoreError
    >>> error = StoreError("2 snapshots hold what is to be erased", advice="drop_snapshots")
    >>> worded(error, {"drop_snapshots": "pass --drop-snapshots"})
    '2 snapshots hold what is to be erased; pass --drop-snapshots'
    """
    advice = getattr(error, "advice", None)
    return str(error) if advice is None else joined(said(error), advice, words)
