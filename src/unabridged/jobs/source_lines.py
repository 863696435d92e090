"""JSON lines and CSV, plain or packed (gz, zst, bz2), from files and from standard input.

What is carried along from them is text: a string as it is, anything else as the JSON that stood there, because
lines have no schema, and a type told from the first of them would be wrong for some later one.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import ConfigError, UnreadableFile
from unabridged.jobs.places import find
from unabridged.jobs.source import Part, Rows, kept_columns, no_column, other_columns, refuse_ours

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from unabridged.jobs.settings import SourceSettings

__all__ = ["LineSource"]

_BATCH = 4096
_BATCH_CHARACTERS = 4_000_000
_LOOKED = 1000  # lines that are looked at for a column that no line so far has: it is misspelt, not left out
_STDIN = "-"
_ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv", ".gz", ".zst", ".zstd", ".bz2")
_FIELD_LIMIT = 1 << 30  # characters of one CSV field; Python's own default is 131,072


class _Record:
    """A line: its fields, or why it has none."""

    __slots__ = ("error", "fields")

    def __init__(self, fields: Mapping[str, Any] | None, error: str | None = None) -> None:
        self.fields = fields
        self.error = error


class LineSource:
    """An object, or a record, a row. A line that cannot be read is a row that failed, not the end."""

    def __init__(self, settings: SourceSettings, kind: str) -> None:
        self._settings = settings
        self._kind = kind
        self._encoding = _known(settings.encoding)
        self._looked: list[bytes] = []  # lines of standard input, which are there but once
        self._absent = dict.fromkeys(_named(settings))  # columns to keep that no line so far had
        self._rows_read = 0
        refuse_ours(_named(settings))

    @property
    def notes(self) -> tuple[str, ...]:
        """Columns to keep that stood in no line: left out everywhere, or misspelt."""
        return tuple(f"column {name!r} is in none of {self._rows_read:,} lines" for name in self._absent)

    def parts(self) -> Iterator[Part]:
        """A file each. Standard input is a part that is new each time, so its rows are told by their content."""
        parts = [part for path in self._settings.paths for part in self._parts(path)]
        if self._kind == "jsonl" and not self._looked:
            self._look(parts)
        elif self._kind == "csv":
            self._check_headers(parts)
        yield from parts

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The rows of a file; those before ``start`` are passed over without being parsed, where lines are rows."""
        with self._open(part) as stream, _read(part.name):
            number = start
            records = self._json(stream, start) if self._kind == "jsonl" else self._csv(stream, part.name, start)
            while some := _some(records, self._settings.text):
                yield self._rows(some, part.name, number)
                number += len(some)

    def _parts(self, path: str) -> Iterator[Part]:
        if path == _STDIN:
            yield Part(_STDIN, f"read {time.time_ns()}")
            return
        for place in find(path, self._settings.storage, endings=_ENDINGS, leave_out=self._settings.leave_out):
            yield Part(place.name, place.identity, None, place, place.lasting)

    def _look(self, parts: list[Part]) -> None:
        """Raise where none of the first lines has a column that is asked for; where some have it, others fail alone."""
        names: dict[str, None] = {}
        wanted = [name for name in (self._settings.text, self._settings.id) if name is not None]
        left = _LOOKED
        for part in parts:
            for record in self._first(part, left):
                left -= 1
                names.update(dict.fromkeys(record.fields or ()))
                if all(name in names for name in wanted):
                    return
        missing = next(name for name in wanted if name not in names)
        if names:
            raise no_column(parts[0].name, missing, list(names), of=f"its first {_LOOKED - left:,} lines have")

    def _first(self, part: Part, most: int) -> Iterator[_Record]:
        with self._open(part) as stream, _read(part.name):
            for line in itertools.islice(_filled(stream), most):
                if part.name == _STDIN:
                    self._looked.append(line)
                yield _parsed(line, self._encoding)

    def _check_headers(self, parts: list[Part]) -> None:
        """Raise for a file whose header has not what is asked for."""
        for part in parts:
            if part.name != _STDIN:
                with (
                    self._open(part) as stream,
                    _read(part.name),
                    contextlib.closing(self._csv(stream, part.name, 0)) as records,
                ):
                    next(records, None)

    def _open(self, part: Part) -> Any:
        if part.name == _STDIN:
            stream = getattr(sys.stdin, "buffer", sys.stdin)
            looked, self._looked = self._looked, []
            return contextlib.nullcontext(itertools.chain(looked, stream) if looked else stream)
        return io.BufferedReader(part.at.stream(), 1 << 20)

    def _json(self, stream: Any, start: int) -> Iterator[_Record]:
        for at, line in enumerate(_filled(stream)):
            if at >= start:
                yield _parsed(line, self._encoding)

    def _csv(self, stream: Any, name: str, start: int) -> Generator[_Record]:
        csv.field_size_limit(_FIELD_LIMIT)
        text = io.TextIOWrapper(stream, self._encoding, newline="")
        plain = name.lower()
        for packed in (".gz", ".zst", ".zstd", ".bz2"):
            plain = plain.removesuffix(packed)
        reader = csv.reader(text, delimiter="\t" if plain.endswith(".tsv") else ",", strict=True)
        try:
            header = next(reader, [])
            if header:
                kept_columns(self._settings, header, name)
            for at, values in enumerate(row for row in reader if row):
                if at < start:
                    continue
                fits = len(values) == len(header)
                wrong = f"line {reader.line_num}: {len(values)} fields, expected {len(header)}"
                yield _Record(dict(zip(header, values, strict=True))) if fits else _Record(None, wrong)
        except UnicodeDecodeError as error:
            raise UnreadableFile(name, f"not {error.encoding.upper()} near line {reader.line_num}") from None
        except csv.Error as error:
            raise UnreadableFile(name, f"line {reader.line_num}: {error}") from None
        finally:
            text.detach()

    def _rows(self, records: list[_Record], part: str, first: int) -> Rows:
        settings = self._settings
        ids, texts, errors = [], [], []
        for at, record in enumerate(records):
            named, text, wrong = self._taken(record)
            ids.append(f"{part}:{first + at}" if named is None else named)
            texts.append(text)
            if wrong is not None:
                errors.append((at, wrong))
        kept = _named(settings)
        self._rows_read += len(records)
        for name in [name for name in self._absent if any(name in (record.fields or ()) for record in records)]:
            del self._absent[name]
        if "*" in settings.keep:
            kept = other_columns(settings, sorted({name for record in records for name in record.fields or ()}))
        columns: dict[str, Any] = {"id": pa.array(ids, pa.string()), "text": pa.array(texts, pa.string())}
        for name in kept:
            columns[name] = pa.array([_as_text((record.fields or {}).get(name)) for record in records], pa.string())
        return Rows(first, pa.table(columns), tuple(errors), after=first + len(records))

    def _taken(self, record: _Record) -> tuple[str | None, str | None, str | None]:
        """The id, the text, and what is wrong with the record."""
        fields, settings = record.fields, self._settings
        if fields is None:
            return None, None, record.error
        named = None if settings.id is None else _as_text(fields.get(settings.id))
        text = fields.get(settings.text)
        if not isinstance(text, str):
            found = "missing" if text is None else f"a {type(text).__name__}, expected a string"
            return named, None, f"{settings.text!r} is {found}"
        if not _encodable(text):
            return named, None, f"{settings.text!r} has half of a surrogate pair"
        if settings.id is not None and named is None:
            return None, None, f"{settings.id!r} is missing"
        return named, text, None


@contextlib.contextmanager
def _read(name: str) -> Iterator[None]:
    """What goes wrong while a file is read: it is cut off in the middle of what is packed, or its disk fails."""
    try:
        yield
    except (OSError, EOFError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableFile(name, f"cannot be read to its end: {said[:160].lower().rstrip('.')}") from None


def _some(records: Iterator[_Record], text: str) -> list[_Record]:
    """Records for one table: so many, or so many characters."""
    some: list[_Record] = []
    size = 0
    for record in itertools.islice(records, _BATCH):
        some.append(record)
        value = (record.fields or {}).get(text)
        size += len(value) if isinstance(value, str) else 0
        if size >= _BATCH_CHARACTERS:
            break
    return some


def _filled(stream: Any) -> Iterator[bytes]:
    return (line for line in stream if line.strip())


def _parsed(line: bytes, encoding: str) -> _Record:
    try:
        found = json.loads(line.decode(encoding))
    except UnicodeDecodeError as error:
        return _Record(None, f"not {error.encoding.upper()} at byte {error.start} of the line")
    except (ValueError, RecursionError):
        return _Record(None, "not JSON")
    if isinstance(found, dict):
        return _Record(found)
    return _Record(None, f"a {type(found).__name__}, expected an object")


def _named(settings: SourceSettings) -> list[str]:
    return [name for name in settings.keep if name not in ("*", settings.text, settings.id)]


def _known(encoding: str | None) -> str:
    """An encoding that there is; UTF-8 with or without its mark."""
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except LookupError:
        raise ConfigError("source.encoding", f"{encoding} is not an encoding that Python knows") from None
    return "utf-8-sig" if name == "utf-8" else name


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
