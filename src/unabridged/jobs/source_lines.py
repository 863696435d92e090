"""JSON lines and CSV, plain or packed (gz, zst, bz2), from files and from standard input.

What is carried along from them is text: a string as it is, anything else as the JSON that stood there, because
lines have no schema, and a type told from the first of them would be wrong for some later one.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unabridged.errors import InputError, UnreadableFile
from unabridged.jobs.line_files import LineFile, Replayed, known_encoding
from unabridged.jobs.places import find
from unabridged.jobs.source import Columns, Part, Rows, hints, listed, named_columns, no_column, other_columns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from unabridged.jobs.settings import SourceSettings

__all__ = ["LineSource"]

_BATCH = 4096
_BATCH_CHARACTERS = 4_000_000
_LOOKED = 1000  # lines that are looked at for a column that no line so far has: it is misspelt, not left out
_STDIN = "-"
_PACKED = (".gz", ".zst", ".zstd", ".bz2")
_ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv", *_PACKED)
_HEADER = 1 << 16  # bytes that a header is looked for in
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
        self._encoding = known_encoding(settings.encoding)
        self._columns = Columns(settings)  # of the headers
        self._hints: tuple[str, ...] = ()
        self._absent = dict.fromkeys(named_columns(settings))  # columns to keep that no line so far had
        self._rows_read = 0
        self._encodings: dict[str, None] = {}  # what was assumed of them
        self._early: tuple[str, ...] = ()
        self._heads: dict[str, tuple[int, int]] = {}  # of each file that was opened: bytes, and lines in them

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said before the first row is read: guessed encodings, columns that the first lines lack."""
        return (*self._encodings, *self._early)

    @property
    def hints(self) -> tuple[str, ...]:
        """What is to be said before the first row of a new job is embedded."""
        return self._hints

    @property
    def notes(self) -> tuple[str, ...]:
        """The same when all is read: columns to keep that stood in no line, left out everywhere or misspelt."""
        absent = (f"column {name!r} is in none of {self._rows_read:,} lines" for name in self._absent)
        return (*self._encodings, *absent)

    def parts(self) -> Iterator[Part]:
        """A file each. Standard input is a part that is new each time, so its rows are told by their content.

        Raises where the first lines, or a header, show that no row can be read as it is asked for.
        """
        parts = [part for path in self._settings.paths for part in self._parts(path)]
        if self._kind == "jsonl":
            self._look(parts)
        else:
            self._check_headers(parts)
        for part in parts:
            if isinstance(part.at, Replayed):
                part.at.rewind()
        heads = list(self._heads.values())
        size, lines = sum(size for size, _ in heads), sum(lines for _, lines in heads)
        yield from (_guessed(part, size / lines) for part in parts) if lines else parts

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The rows of a file; those before ``start`` are passed over without being parsed, where lines are rows."""
        with self._opened(part) as file, file.whole():
            number = start
            records = self._json(file, start) if self._kind == "jsonl" else self._csv(file, start)
            while some := _some(records, self._settings.text):
                yield self._rows(some, part.name, number)
                number += len(some)

    def _parts(self, path: str) -> Iterator[Part]:
        if path == _STDIN:
            yield Part(_STDIN, f"read {time.time_ns()}", None, Replayed())
            return
        for place in find(path, self._settings.storage, endings=_ENDINGS, leave_out=self._settings.leave_out):
            yield Part(place.name, place.identity, None, place, place.lasting)

    def _look(self, parts: list[Part]) -> None:
        """Raise where none of the first lines has what is asked for; where some have it, others fail alone."""
        first = _First(self._settings)
        for part in parts:
            with self._opened(part) as file, file.whole():
                enough = not first.takes(self._json(file, 0))
            self._hints = hints(self._settings, first.columns)
            if enough:
                return
        first.refuse(parts[0].name)
        self._early = first.remarks

    def _check_headers(self, parts: list[Part]) -> None:
        """Raise where the headers have not what is asked for."""
        self._columns = Columns(self._settings)
        for part in parts:
            with (
                self._opened(part) as file,
                file.whole(),
                contextlib.closing(self._csv(file, 0)) as records,
            ):
                next(records, None)
        self._columns.check()
        self._hints = self._columns.hints

    def _opened(self, part: Part) -> LineFile:
        raw = part.at if isinstance(part.at, Replayed) else part.at.stream()
        # JSON is UTF-8 by its own rules (RFC 8259), and a line with bad bytes fails alone; of CSV nobody says anything.
        file = LineFile(raw, part.name, self._encoding, is_utf8=self._kind == "jsonl")
        self._heads[part.name] = file.head
        self._encodings |= dict.fromkeys(f"{part.name}: {note}" for note in file.notes)
        return file

    def _json(self, file: LineFile, start: int) -> Iterator[_Record]:
        return (_parsed(file, line) for line in itertools.islice(file.lines(), start, None))

    def _csv(self, file: LineFile, start: int) -> Generator[_Record]:
        csv.field_size_limit(_FIELD_LIMIT)
        between = _between(file, self._settings.text)
        text = io.TextIOWrapper(file.stream, file.encoding, "surrogateescape", newline="")
        reader = csv.reader(text, delimiter=between, strict=True)
        try:
            header = next(reader, [])
            if header:
                self._columns.add(file.name, pa.schema([(name, pa.string()) for name in dict.fromkeys(header)]))
            for at, values in enumerate(row for row in reader if row):
                if at < start:
                    continue
                where = f"line {reader.line_num}"
                if not _encodable("".join(values)):
                    yield _Record(None, f"{where}: not {file.encoding.upper()}")
                elif len(values) != len(header):
                    yield _Record(None, f"{where}: {len(values)} fields, expected {len(header)}")
                else:
                    yield _Record(dict(zip(header, values, strict=True)))
        except UnicodeDecodeError as error:
            raise UnreadableFile(file.name, f"not {error.encoding.upper()} near line {reader.line_num + 1}") from None
        except csv.Error as error:
            raise UnreadableFile(file.name, f"line {reader.line_num}: {error}") from None
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
        kept = named_columns(settings)
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
        settings, fields = self._settings, record.fields or {}
        named = None if settings.id is None else _as_text(fields.get(settings.id))
        wrong = _why_not(record, settings.text)
        if wrong is not None:
            return named, None, wrong
        text = fields.get(settings.text) or ""
        if text and settings.id is not None and named is None:
            return None, None, f"{settings.id!r} is missing"
        return named, text, None


class _First:
    """The first lines of a source: which columns they have, and whether any of them can be read."""

    def __init__(self, settings: SourceSettings) -> None:
        self._text, self._wanted = settings.text, [settings.text, *([settings.id] if settings.id else [])]
        self._named = named_columns(settings)
        self.columns: dict[str, None] = {}
        self._wrong: Counter[str] = Counter()
        self._readable = 0
        self._lines = 0

    def takes(self, records: Iterator[_Record]) -> bool:
        """Whether more need be looked at after these."""
        for record in itertools.islice(records, _LOOKED - self._lines):
            self._lines += 1
            self.columns |= dict.fromkeys(record.fields or ())
            wrong = _why_not(record, self._text)
            if wrong is None:
                self._readable += 1
            else:
                self._wrong[wrong] += 1
            if self._readable and all(name in self.columns for name in (*self._wanted, *self._named)):
                return False
        return True

    def refuse(self, where: str) -> None:
        """Raise for a column that none of them has, if they are all there are or must have it; for lines of no use."""
        for name in self.columns and self._wanted:
            if name not in self.columns:
                raise no_column(where, name, list(self.columns), of=self._all("has", "have"))
        if self._wrong and not self._readable:
            ((why, _),) = self._wrong.most_common(1)
            raise InputError(f"{where}: {self._all('is', 'are all')} of no use: {why}")
        if self._lines < _LOOKED and self.columns:
            for name in self._missing:
                raise no_column(where, name, list(self.columns), of=self._all("has", "have"))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Columns to keep that may come later."""
        return tuple(
            f"column {name!r} is in none of the first {self._lines:,} lines, which have {listed(list(self.columns))}"
            for name in (self._missing if self.columns else ())
        )

    @property
    def _missing(self) -> list[str]:
        return [name for name in self._named if name not in self.columns]

    def _all(self, one: str, several: str) -> str:
        first = "first " if self._lines == _LOOKED else ""
        return f"its {first}{self._lines:,} lines {several}" if self._lines > 1 else f"its one line {one}"


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


def _between(file: LineFile, text: str) -> str:
    """What stands between fields: the first sign by which the header has the column of the text."""
    plain = file.name.lower()
    for packed in _PACKED:
        plain = plain.removesuffix(packed)
    signs = "\t,;|" if plain.endswith(".tsv") else ",;\t|"
    head = file.stream.peek(_HEADER)[:_HEADER].decode(file.encoding, "ignore")
    for sign in signs:
        with contextlib.suppress(csv.Error):
            if text in next(csv.reader(io.StringIO(head, newline=""), delimiter=sign), ()):
                return sign
    return signs[0]


def _guessed(part: Part, line: float) -> Part:
    """With its rows as they are to be expected, of a file whose lines have so many bytes, if it is not packed."""
    if isinstance(part.at, Replayed) or part.name.lower().endswith(_PACKED):
        return part
    size = int(part.identity.partition("/")[0])
    return replace(part, about=max(round(size / line), 1) if size else 0)


def _parsed(file: LineFile, line: bytes) -> _Record:
    try:
        found = json.loads(file.decoded(line))
    except UnicodeDecodeError as error:
        return _Record(None, f"not {error.encoding.upper()} at byte {error.start} of the line")
    except (ValueError, RecursionError):
        return _Record(None, "not JSON")
    if isinstance(found, dict):
        return _Record(found)
    return _Record(None, f"a {type(found).__name__}, expected an object")


def _why_not(record: _Record, name: str) -> str | None:
    """Why the text of a record cannot be read; where there is none, it is blank."""
    if record.fields is None:
        return record.error
    text = record.fields.get(name)
    if text is None:
        return None
    if not isinstance(text, str):
        return f"{name!r} is a {type(text).__name__}, expected a string"
    return None if _encodable(text) else f"{name!r} has half of a surrogate pair"


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
