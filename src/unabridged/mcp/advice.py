"""What would help, in the words of the tools (:mod:`unabridged.advice`): arguments, or what to tell the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WORDS"]

WORDS: Mapping[str, str] = {
    "api_key": "tell the user, who can set it where this server is started",
    "chat": "use `recall` and answer from what it gives, or tell the user to name a chat model in the configuration",
    "confirm_drift": "tell the user; nothing of this can be done from here",
    "drop_snapshot": "choose another name",
    "drop_snapshots": "a person must drop them first",
    "embed_missing": "`recall` works by words meanwhile; the user can run `unabridged sweep`",
    "embedder": "`recall` works by words meanwhile; the user can name a model in the configuration",
    "empty": "leave blank texts out",
    "erase_session": "name it as session_id",
    "folder": "give its texts one by one",
    "list_datasets": "`list` what=datasets names those that are",
    "list_snapshots": "ask the user for its name",
    "private": "give the text itself instead of its address",
    "project": "tell the user, who can set it where this server is started",
    "reembed": "`recall` works by words meanwhile; the user can go back to that model, or run `unabridged sweep`",
    "replace": "choose another name",
    "text_bytes": "store it in parts",
    "wait_readers": "try again in a minute",
    "writable": "recall only: nothing can be stored here",
}
