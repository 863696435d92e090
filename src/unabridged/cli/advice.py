"""What would help, in the words of the command line (:mod:`unabridged.advice`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WORDS"]

WORDS: Mapping[str, str] = {
    "api_key": "or put apiKey into the file of --config",
    "chat": "--chat MODEL, or a file of --config with the section chat, gives one",
    "confirm_drift": "embed them again with --model or --config as they were, or see onDrift of the configuration",
    "drop_snapshot": "choose another name, or drop that one first with `unabridged memory snapshot NAME --drop`",
    "drop_snapshots": "drop them with `unabridged memory snapshot NAME --drop`, or pass --drop-snapshots",
    "embed_missing": "`unabridged sweep --model PROVIDER/MODEL` makes them",
    "embedder": "name it with --model PROVIDER/MODEL or --config",
    "empty": "--empty skip or --empty zero goes on without",
    "erase_session": "`unabridged memory erase --session ID` does that",
    "folder": "name its files, or a pattern such as 'FOLDER/**/*.md'",
    "list_datasets": "`unabridged memory list datasets` shows those that are",
    "list_snapshots": "`unabridged memory list snapshots` shows them",
    "private": "--private reaches them all the same",
    "project": "or put it into the file of --config",
    "reembed": "name theirs with --model or --config, or `unabridged sweep` makes them anew",
    "replace": "--force replaces it",
    "text_bytes": "cut it into several files, or set maxTextBytes under memory in the file of --config",
    "wait_readers": "end them, or wait for them with --wait SECONDS",
    "writable": "run the command that writes",
}
