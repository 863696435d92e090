"""Records by their ids, whatever they are: what each is, letting go of it, and saying that a fact has ended.

What "delete" means depends on the kind. An artifact goes with what hangs from it and with what only it supports;
an entity or a fact is withdrawn, as if it had never been read, and the texts stay; a series goes with its points,
an image with its file. A session is no record of its own: it is erased, with its texts and for good.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unabridged.advice import counted
from unabridged.errors import InputError, NotFound
from unabridged.memory.deletion import Deletion
from unabridged.memory.gather import identity
from unabridged.memory.where import among, batched

if TYPE_CHECKING:
    from collections.abc import Iterable

    from unabridged.memory.commits import Source, View
    from unabridged.memory.memory import Memory
    from unabridged.memory.records import Edge

__all__ = ["KINDS", "end", "forget", "kinds_of"]

KINDS = ("artifacts", "entities", "edges", "series", "images", "sessions")


def kinds_of(source: Source, ids: Iterable[str]) -> dict[str, str]:
    """By id, which of :data:`KINDS` it is one of; ids of nothing are left out. A session is looked for last."""
    wanted = list(dict.fromkeys(ids))

    def ask(view: View) -> dict[str, str]:
        found: dict[str, str] = {}
        for table in KINDS:
            for part in batched(each for each in wanted if each not in found):
                found |= dict.fromkeys(view.rows(table, among("id", part), ["id"])["id"].to_pylist(), table)
        return found

    return source.ask(ask)


def forget(memory: Memory, ids: Iterable[str], *, unsupported: str | None = None) -> Deletion:
    """Delete records of any kind; nothing at all where one of them is not there, or is a session.

    Facts and entities go in one commit, artifacts in another one, then each series and the images.
    """
    wanted = list(dict.fromkeys(ids))
    kinds = kinds_of(memory.store, wanted)
    if missing := len(wanted) - len(kinds):
        is_ = "is" if missing == 1 else "are"
        raise NotFound(
            f"{missing} of {counted(len(wanted), 'id')} {is_} of nothing in the dataset; nothing was deleted"
        )
    of = {kind: [each for each in wanted if kinds[each] == kind] for kind in KINDS}
    if of["sessions"]:
        raise InputError("a session is erased with its texts, not deleted; nothing was deleted", advice="erase_session")
    done = Deletion()
    if of["entities"] or of["edges"]:
        done = memory.withdraw(entities=of["entities"], edges=of["edges"])
    if of["artifacts"]:
        done = _together(done, memory.delete(of["artifacts"], unsupported=unsupported))
    for series in of["series"]:
        memory.series.delete(series)
    images = [each for each in of["images"] if each not in done.images]
    if images:
        memory.images.delete(images)
    return replace(done, series=tuple(of["series"]), images=(*done.images, *images))


def _together(one: Deletion, other: Deletion) -> Deletion:
    names = Deletion.__dataclass_fields__
    return Deletion(**{name: (*getattr(one, name), *getattr(other, name)) for name in names})


def end(memory: Memory, edge: Edge | str, *, at: Any, text: str | None, artifact: Any) -> Edge:
    """Say that a fact has ended: what says so is a text, stored as an artifact, or one that is stored already."""
    if (text is None) == (artifact is None):
        raise InputError("end: give a text or an artifact that says so: every fact has a source, its end too")
    memory.edges.get(identity(edge))
    with memory.write() as tx:
        tx.close(edge, tx.artifact(text, valid_at=at) if text is not None else artifact, at=at)
    return memory.edges.get(identity(edge))
