"""Files and folders: each file one text, normalised to Markdown where it is not text, with its identity (SPEC K1).

A row's id is the file's path as it was asked for; ``uri`` and ``sha256`` (of the original bytes) may be kept
beside it. Ignore files (``.gitignore``, ``.ignore``, ``.unabridgedignore``) hold for what a folder is walked for, not
for what is named. What is no text is passed over and counted.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from unabridged.errors import InputError, MissingExtra, UnreadableFile
from unabridged.jobs.files import BinaryFile, find_files, text_of
from unabridged.jobs.ignore import IgnoreFiles, Rules
from unabridged.jobs.places import Place, digest_of, find, is_left_out, is_remote, place_of
from unabridged.jobs.source import Part, Rows, of_these

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unabridged.jobs.settings import SourceSettings

__all__ = ["FileSource"]

_COLUMNS = ("uri", "sha256", "bytes", "warning")
_BATCH = 256
_BATCH_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class _File:
    id: str
    place: Place
    named: bool
    identity: str


class FileSource:
    """All the files together are one part: a file more or less changes it, and only that file is embedded anew."""

    readable_later = True  # what is in the way of reading one, its mode or a package that is missing, may go

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self.passed_over: Counter[str] = Counter()
        of_these("text", (settings.text,), ("text",), "files")
        of_these("id", (settings.id or "id",), ("id",), "files")
        of_these("keep", settings.keep, (*_COLUMNS, "text", "*"), "files")

    def parts(self) -> Iterator[Part]:
        """One part."""
        files = self._files()
        if not files:
            raise InputError(f"{', '.join(self._settings.paths)}: no file to read here")
        identity = digest_of([part for file in files for part in (file.id, file.identity)])
        yield Part("files", identity, None, files, about=len(files))

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The files from one of them on."""
        held: list[tuple[int, _Read]] = []
        size, first = 0, start
        files: list[_File] = part.at
        for at in range(start, len(files)):
            read = self._read(files[at])
            if read is not None:
                held.append((at, read))
                size += len(read.text or "")
            if len(held) >= _BATCH or size >= _BATCH_CHARACTERS or at + 1 == len(files):
                yield self._rows(held, first, at + 1)
                held, size, first = [], 0, at + 1

    def _files(self) -> list[_File]:
        settings = self._settings
        self.passed_over.clear()
        made: list[_File] = []
        for path in settings.paths:
            if is_remote(path):
                made += [
                    _File(each.name, each, False, each.identity) for each in find(path, settings.storage, endings=("",))
                ]
                continue
            found = find_files([path], hidden=settings.hidden)
            self.passed_over.update(found.skipped)
            ignored = IgnoreFiles(Path(path), Rules(settings.ignore)) if Path(path).is_dir() else None
            for file in found.files:
                if ignored is not None and not file.named and ignored.ignores(file.path):
                    self.passed_over["ignored"] += 1
                    continue
                place = place_of(str(file.path))
                if is_left_out(place, settings.leave_out):
                    self.passed_over["the output"] += 1
                    continue
                made.append(_File(file.id, place, file.named, place.identity))
        return list({file.place.path: file for file in made}.values())

    def _read(self, file: _File) -> _Read | None:
        """A file; ``None`` for one that is no text and was not asked for by name."""
        uri = file.place.name if not file.place.local else Path(file.place.path).as_uri()
        try:
            with file.place.open() as opened:
                data = bytes(opened.read())
        except (UnreadableFile, OSError) as error:
            reason = error.reason if isinstance(error, UnreadableFile) else str(error.strerror or error).lower()
            return _Read(file.id, uri, error=reason)
        digest = hashlib.sha256(data).hexdigest()
        try:
            text, warning = _markdown(data, file.id, self._settings.encoding)
        except BinaryFile as error:
            if not file.named:
                self.passed_over["binary"] += 1
                return None
            return _Read(file.id, uri, digest, len(data), error=error.reason)
        except UnreadableFile as error:
            return _Read(file.id, uri, digest, len(data), error=error.reason)
        except MissingExtra as error:
            return _Read(file.id, uri, digest, len(data), error=str(error))
        return _Read(file.id, uri, digest, len(data), text, warning)

    def _rows(self, held: list[tuple[int, _Read]], first: int, after: int) -> Rows:
        reads = [read for _, read in held]
        columns = {
            "id": pa.array([read.id for read in reads], pa.string()),
            "text": pa.array([read.text for read in reads], pa.string()),
        }
        own = {
            "uri": pa.array([read.uri for read in reads], pa.string()),
            "sha256": pa.array([read.sha256 for read in reads], pa.string()),
            "bytes": pa.array([read.size for read in reads], pa.int64()),
            "warning": pa.array([read.warning for read in reads], pa.string()),
        }
        keep = self._settings.keep
        columns |= {name: own[name] for name in _COLUMNS if name in keep or "*" in keep}
        errors = tuple((at, read.error) for at, read in enumerate(reads) if read.error is not None)
        return Rows(first, pa.table(columns), errors, tuple(number for number, _ in held), after)


@dataclass(frozen=True, slots=True)
class _Read:
    id: str
    uri: str
    sha256: str | None = None
    size: int | None = None
    text: str | None = None
    warning: str | None = None
    error: str | None = None


def _markdown(data: bytes, name: str, encoding: str | None) -> tuple[str, str | None]:
    """The text of a file: web pages, PDF, Word and EPUB as Markdown, everything else as it is."""
    from unabridged.text.documents.formats import format_of

    if format_of(data[:4096], name) != "html":
        return text_of(data, name, encoding)
    from unabridged.text.documents import read_document

    page = read_document(data, format="html", source=name, charset=encoding)
    return page.text, "; ".join(page.warnings) or None
