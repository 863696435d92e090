"""What a command is to read: files, folders, patterns, standard input, texts on the command line."""

from __future__ import annotations

import codecs
import hashlib
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unabridged.errors import ConfigError, InputError, UnreadableFile
from unabridged.jobs.files import BinaryFile, TextFile, find_files, read_text, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Inputs", "Text", "gather"]

_STDIN = "-"
# One call of the embedder: enough for full requests, little enough to hold (4 MB are about 1 M tokens).
_BATCH_CHARACTERS = 4_000_000
_BATCH_TEXTS = 2048


@dataclass(frozen=True, slots=True)
class Text:
    """One text with its id, or the reason why it could not be read.

    ``digest`` is that of the bytes which are no text (SPEC K1), ``None`` where there is a text, or where even the
    bytes could not be read.
    """

    id: str
    text: str = field(default="", repr=False)
    warning: str | None = None
    error: str | None = None
    size: int = 0
    path: Path | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything to read, in order. ``skipped`` counts what was passed over; it grows as files are read.

    ``sizes`` has the bytes of everything, and is corrected as it turns out what they are.
    """

    given: tuple[Text, ...]
    files: tuple[TextFile, ...]
    stdin: bool
    encoding: str | None
    skipped: Counter[str]
    sizes: Counter[str]

    @property
    def bytes(self) -> int:
        """The size of all texts, as far as it is known by now."""
        return self.sizes.total()

    def __len__(self) -> int:
        return len(self.given) + len(self.files) + self.stdin

    def batches(self) -> Iterator[list[Text]]:
        """The texts, read as they are needed."""
        batch: list[Text] = []
        size = 0
        for text in self._texts():
            batch.append(text)
            size += len(text.text)
            if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_TEXTS:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _texts(self) -> Iterator[Text]:
        yield from self.given
        if self.stdin:
            yield self._read_stdin()
        for file in self.files:
            read = self._read(file)
            if read is not None:
                yield read

    def _read_stdin(self) -> Text:
        data = sys.stdin.buffer.read()
        self.sizes[_STDIN] = len(data)
        try:
            text, warning = text_of(data, "standard input", self.encoding)
        except UnreadableFile as error:
            digest = hashlib.sha256(data).hexdigest()
            return Text(_STDIN, error=error.reason, size=len(data), digest=digest)
        return Text(_STDIN, text, warning, size=len(data))

    def _read(self, file: TextFile) -> Text | None:
        """A file; ``None`` for a binary one that a folder happens to hold."""
        try:
            text, warning = read_text(file.path, self.encoding)
        except BinaryFile as error:
            if file.named:
                return _unread(file, error)
            self.skipped["binary"] += 1
            self.sizes[file.id] -= file.size
            return None
        except UnreadableFile as error:
            return _unread(file, error)
        return Text(file.id, text, warning, size=file.size, path=file.path)


def _unread(file: TextFile, error: UnreadableFile) -> Text:
    """A file without a text, told by its bytes."""
    try:
        with file.path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        digest = None
    return Text(file.id, error=error.reason, size=file.size, digest=digest)


def _check_encoding(encoding: str | None) -> None:
    """Refuse what is no encoding before any file is opened."""
    try:
        codecs.lookup(encoding or "utf-8")
    except (LookupError, ValueError):
        raise InputError(f"--encoding: found {encoding!r}, expected one such as utf-8, latin-1 or gb18030") from None


def gather(
    paths: Sequence[str],
    texts: Sequence[str] = (),
    *,
    encoding: str | None = None,
    hidden: bool = False,
    exclude: Sequence[Path] = (),
) -> Inputs:
    """Find what is meant. Raises for nothing given, nothing found, or a text that is not Unicode."""
    if not paths and not texts:
        raise ConfigError("PATH", "nothing to read: name a file, a folder, a pattern, - or --text TEXT")
    _check_encoding(encoding)
    for at, text in enumerate(texts, 1):
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"--text {at}: not UTF-8; put it into a file and name its --encoding")
    if "" in paths:
        raise ConfigError("PATH", "found an empty name, expected a file, a folder, a pattern or -")
    named = [path for path in paths if path != _STDIN]
    found = find_files(named, hidden=hidden, exclude=exclude)
    given = tuple(Text(f"text-{at}", text, size=len(text)) for at, text in enumerate(texts, 1))
    sizes = Counter({one.id: one.size for one in given} | {file.id: file.size for file in found.files})
    inputs = Inputs(given, found.files, _STDIN in paths, encoding, Counter(found.skipped), sizes)
    if not len(inputs):
        passed = ", ".join(f"{count} {reason}" for reason, count in found.skipped.items())
        raise InputError(f"{', '.join(named)}: no file to read here" + (f" (skipped: {passed})" if passed else ""))
    return inputs
