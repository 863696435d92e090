"""What would help, in the words of HTTP (:mod:`unabridged.advice`): requests and fields, or who can do it instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WORDS", "helps"]

_OPERATOR = "whoever runs this server can"

WORDS: Mapping[str, str] = {
    "api_key": f"{_OPERATOR} set it",
    "chat": f"{_OPERATOR} name one under chat in its configuration",
    "confirm_drift": f"{_OPERATOR} embed them again",
    "drop_snapshot": "choose another name",
    "drop_snapshots": "send drop_snapshots=true to let go of them",
    "embed_missing": "POST /v1/gb/embed makes them",
    "embedder": f"{_OPERATOR} name one under embedding in its configuration",
    "empty": "leave it out",
    "erase_session": "DELETE /v1/gb/sessions/{session_id} does that",
    "folder": "",
    "list_datasets": "GET /v1/gb/datasets lists those that are",
    "list_snapshots": f"{_OPERATOR} list them",
    "private": "",
    "project": f"{_OPERATOR} set it",
    "reembed": f"{_OPERATOR} go back to the model that made them, or run `unabridged sweep`",
    "replace": "",
    "text_bytes": "send it in parts",
    "wait_readers": "send it again in a minute",
    "writable": "",
}


def helps(advice: str | None) -> str | None:
    """The words for a key, if there is anything to do.

    >>> helps("embed_missing"), helps("private"), helps(None)
    ('POST /v1/gb/embed makes them', None, None)
    """
    return (WORDS[advice] or None) if advice is not None else None
