"""Files, folders and addresses into the memory: each under an identity, so that only changes are work (SPEC K1, K5).

What comes in is normalised to Markdown, the digest of its original kept. Known by its identity, it is one
of four: nothing to do, metadata alone, a new version in place of the old one, or new. Of a folder, what
is no longer there is removed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from unabridged.advice import said
from unabridged.errors import InputError, UnabridgedError, UnreadableFile
from unabridged.memory.catalog import local_path
from unabridged.memory.gather import checked_kind
from unabridged.memory.remember.plan import Request
from unabridged.memory.remember.remember import remember
from unabridged.memory.values import checked_metadata, digest
from unabridged.memory.where import both, equals, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from unabridged.memory.memory import Memory
    from unabridged.memory.records import Artifact
    from unabridged.memory.remember.data import Remembered
    from unabridged.text.documents.model import Document

__all__ = ["Ingested", "Intake", "Outcome", "ingest"]

Outcome = Literal["nothing", "metadata", "replace", "insert", "removed", "skipped", "failed"]
MINE = "ingest"  # what the provenance of an ingested document says it came by


@dataclass(frozen=True, slots=True)
class Intake:
    """What became of one source: ``reason`` why nothing came of it, or what failed; ``notes`` what was not done.

    ``advice`` is a key of :data:`unabridged.advice.PYTHON`: what would help.
    """

    source: str
    outcome: Outcome
    artifact_id: str | None = None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of every source, in order."""

    intakes: tuple[Intake, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many of each outcome."""
        return dict(Counter(each.outcome for each in self.intakes))

    @property
    def failed(self) -> tuple[Intake, ...]:
        """Those that could not be taken in."""
        return tuple(each for each in self.intakes if each.outcome == "failed")


def ingest(
    memory: Memory,
    what: str | Path | bytes | Iterable[Any],
    /,
    *,
    format: str | None = None,  # noqa: A002
    remove: bool = True,
    private: bool = False,
    on_error: Literal["report", "raise"] = "report",
    **given: Any,
) -> Ingested:
    """Take in a file, a folder, an ``http(s)`` address, bytes, or several of them; what became of each.

    The identity is the file's or the page's address, or for bytes without ``source=`` the digest of what
    they hold. ``remove`` drops what was taken in from a folder and is not there any more. ``private`` also
    fetches from this machine's own networks. ``given`` are options of :meth:`Memory.remember`. A source that
    fails is reported, and the others go on (``on_error="raise"`` stops there).
    """
    if on_error not in {"report", "raise"}:
        raise InputError(f"on_error: found {on_error!r}, expected report or raise")
    taking = _Taking(memory, given, format=format, private=private, raises=on_error == "raise")
    several = [what] if isinstance(what, str | Path | bytes) else list(what)
    intakes = [each for one in several for each in taking.one(one, remove=remove)]
    return Ingested(tuple(intakes))


class _Taking:
    """One call of :func:`ingest`."""

    def __init__(
        self,
        memory: Memory,
        given: Mapping[str, Any],
        *,
        format: str | None,  # noqa: A002
        private: bool,
        raises: bool,
    ) -> None:
        for name in ("idempotency_key", "source_hash", "dry_run", "trajectory"):
            if name in given:
                raise TypeError(f"ingest() got an unexpected keyword argument {name!r}")
        self.memory = memory
        self.given = given
        self.format = format
        self.private = private
        self.raises = raises

    def one(self, source: Any, *, remove: bool) -> Iterator[Intake]:
        """Everything that one source stands for."""
        if isinstance(source, bytes):
            yield self._taken(source, self.given.get("source"))
        elif isinstance(source, str) and source.startswith(("http://", "https://")):
            yield self._taken(source, source.partition("#")[0])
        elif (path := Path(source)).is_dir():
            yield from self._folder(path, remove=remove)
        else:
            yield self._taken(path, self.given.get("source") or _address(path))

    def _folder(self, folder: Path, *, remove: bool) -> Iterator[Intake]:
        from unabridged.text.documents import walk_folder

        there: set[str] = set()
        own = local_path(self.memory.store.place.lake.uri)
        for path in walk_folder(folder):
            if own is not None and path.resolve().is_relative_to(own.resolve()):
                continue  # the memory's own files
            there.add(_address(path))
            yield self._taken(path, _address(path), found=True)
        if remove:
            prefix = f"{_address(folder)}/"
            for artifact in self._under(prefix):
                if artifact.source not in there:
                    self.memory.delete(artifact)
                    yield Intake(str(artifact.source), "removed", artifact.id)

    def _under(self, prefix: str) -> list[Artifact]:
        """The documents that were taken in from below a folder."""
        beyond = prefix + "\U0010ffff"
        where = both(equals("role", "document"), f"`source` >= {literal(prefix)}", f"`source` < {literal(beyond)}")
        found: list[Artifact] = self.memory.source.ask(lambda view: view.records("artifacts", where))
        return [each for each in found if each.provenance.get("intake") == MINE]

    # -- one document -------------------------------------------------------------------------------

    def _taken(self, source: Any, identity: str | None, *, found: bool = False) -> Intake:
        """One source; of what was only ``found`` in a folder, what turns out to be no text is passed over."""
        try:
            document = self._read(source, identity)
            name = identity or document.identity or ""
            if not document.text.strip():
                return self._blank(name)
            return self._changed(document, name)
        except UnabridgedError as error:
            if found and isinstance(error, UnreadableFile) and "binary" in error.reason:
                return Intake(identity or "", "skipped", reason="binary")
            if self.raises:
                raise
            return Intake(identity or "bytes", "failed", reason=said(error), advice=error.advice)

    def _read(self, source: Any, identity: str | None) -> Document:
        from unabridged.text.documents import read_document

        if isinstance(source, str):
            from unabridged.providers.fetching import fetch

            page = fetch(source, private=self.private)
            kind = self.format or _FORMATS.get(page.media_type or "")
            return read_document(page.data, format=kind, source=page.url, charset=page.charset)
        if isinstance(source, Path) and not source.exists():
            raise UnreadableFile(source, "no such file")
        return read_document(source, format=self.format, source=None if isinstance(source, Path) else identity)

    def _blank(self, name: str) -> Intake:
        """A blank text makes nothing; where it had one, that is gone (SPEC K1)."""
        known = self._known(name)
        if not known:
            return Intake(name, "skipped", reason="blank")
        self.memory.delete(known)
        return Intake(name, "removed", known[-1].id, "blank by now")

    def _known(self, name: str) -> list[Artifact]:
        """The versions that are stored under an identity, oldest first."""
        where = both(equals("role", "document"), equals("source", name))
        found: list[Artifact] = self.memory.source.ask(lambda view: view.records("artifacts", where))
        return sorted(found, key=lambda each: (each.created_at, each.id))

    def _changed(self, document: Document, name: str) -> Intake:
        known = self._known(name)
        metadata = checked_metadata({**_about(document), **(self.given.get("metadata") or {})})
        if known and known[-1].text == document.text and known[-1].kind == checked_kind(self.given.get("kind")):
            return self._same(known, document, name, metadata)
        made = self._remember(document, name, metadata, reuse=known[-1] if known else None)
        if not known:
            return Intake(name, "insert", made.artifact_id, notes=made.notes)
        self.memory.delete([each for each in known if each.id != made.artifact_id])
        return Intake(name, "replace", made.artifact_id, notes=made.notes)

    def _same(self, known: list[Artifact], document: Document, name: str, metadata: dict[str, Any]) -> Intake:
        """The text is as it was: finish what an earlier call began, and bring what is said of it up to date."""
        last = known[-1]
        requests = self.memory.requests.list(equals("artifact_id", last.id), limit=1)
        unfinished = bool(requests) and requests[0].state != "done"
        if unfinished and not self._resumed(document, name, last, requests[0].id):
            made = self._remember(document, name, metadata, reuse=last)
            self.memory.delete(known)
            return Intake(name, "replace", made.artifact_id)
        if len(known) > 1:
            self.memory.delete(known[:-1])
        if metadata == dict(last.metadata) and last.source_hash == document.digest:
            return Intake(name, "replace" if unfinished else "nothing", last.id)
        self.memory.update(last, metadata=metadata, source_hash=document.digest)
        return Intake(name, "metadata", last.id)

    def _resumed(self, document: Document, name: str, last: Artifact, key: str) -> bool:
        """Finish a version that is stored in part; whether its request was this one."""
        try:
            self._remember(replace(document, digest=last.source_hash), name, dict(last.metadata), key=key)
        except InputError:
            return False
        return True

    def _remember(
        self,
        document: Document,
        name: str,
        metadata: dict[str, Any],
        *,
        reuse: Artifact | None = None,
        key: str | None = None,
    ) -> Remembered:
        provenance = {"intake": MINE, **(self.given.get("provenance") or {})}
        given = {**self.given, "metadata": metadata, "source": name, "source_hash": document.digest}
        after = reuse.id if reuse is not None else ""
        given |= {"provenance": provenance, "idempotency_key": key or self._key(document, name, given, after)}
        return remember(self.memory, document.text, given, document=document, reuse=reuse)

    def _key(self, document: Document, name: str, given: Mapping[str, Any], after: str) -> str:
        """The same version of the same source, after the same one before, is the same request."""
        plain = {each: value for each, value in given.items() if each not in {"progress", "cancel", "provenance"}}
        request = Request.of(document.text, plain, limit=self.memory.max_text_bytes)
        return f"ingest:{digest(name, document.digest or '', request.digest, after)}"


_FORMATS = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/plain": "text",
    "application/pdf": "pdf",
}


def _address(path: Path) -> str:
    return path.resolve().as_uri()


def _about(document: Document) -> dict[str, Any]:
    """What a document says of itself, as metadata: its title, and what its format holds beside the text."""
    title = {"title": document.title} if document.title else {}
    return {**title, **{str(name): value for name, value in document.metadata.items() if _plain(value)}}


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) and value == value  # noqa: PLR0124 - NaN is not itself
