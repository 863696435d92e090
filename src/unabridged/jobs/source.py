"""Where texts come from: every kind of source as parts, and each part as rows in a fixed order.

A part is what can change by itself: a file, a table, the files of a folder. Its identity says whether it is
still what it was when it was read; within it a row is known by its number. A reader begins at any row, so a
resumed job does not read what it has done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from unabridged.errors import ConfigError
from unabridged.jobs.rows import OWN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from unabridged.jobs.settings import SourceSettings

__all__ = [
    "FORMATS",
    "Columns",
    "Part",
    "Rows",
    "Source",
    "as_rows",
    "format_of",
    "hints",
    "kept_columns",
    "listed",
    "named_columns",
    "no_column",
    "of_these",
    "open_source",
    "other_columns",
    "refuse_ours",
    "rows_in_all",
]

FORMATS = ("parquet", "arrow", "jsonl", "csv", "lance", "huggingface", "files", "memory")
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".lance": "lance",
}
# Settings that some kinds alone know.
_FOR = {"encoding": ("jsonl", "csv", "files"), "ignore": ("files",), "hidden": ("files",)}
_PACKED = (".gz", ".zst", ".zstd", ".bz2")
_NAMED = 30  # columns that a message names; lines may have any number of keys


@dataclass(frozen=True, slots=True)
class Part:
    """What can change by itself. ``rows`` is how many it has, if that is known without reading it; ``about`` a guess.

    ``name`` is as the user wrote it, for ids and messages; ``place`` says the same from wherever the job is run.
    """

    name: str
    identity: str
    rows: int | None = None
    at: Any = field(default=None, repr=False, compare=False)
    place: str = ""
    about: int | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """What the journal knows the part by."""
        return self.place or self.name


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a part: a table with ``id``, ``text`` and what is kept.

    Row ``first`` is the first; ``numbers`` are the rows where they do not follow each other, ``after`` the row
    that comes next, and ``errors`` say of positions why there is no text.
    """

    first: int
    table: pa.Table = field(repr=False)
    errors: tuple[tuple[int, str], ...] = ()
    numbers: tuple[int, ...] | None = None
    after: int = -1

    def __len__(self) -> int:
        """How many rows."""
        return int(self.table.num_rows)


class Source(Protocol):
    """Parts, and their rows."""

    def parts(self) -> Iterator[Part]:
        """Every part, in a fixed order. Raises for a column that is asked for and is not there."""
        ...

    def read(self, part: Part, start: int = 0) -> Iterator[Rows]:
        """The rows of a part from row ``start`` on, in order, some at a time."""
        ...


def open_source(settings: SourceSettings) -> Source:
    """The source that settings mean. Raises for a format that cannot be told, or a path that leads nowhere.

    >>> import tempfile, pathlib
    >>> from unabridged.jobs.settings import SourceSettings
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = place.write_text('{"text": "one"}\\n{"text": "two"}\\n')
    >>> source = open_source(SourceSettings((str(place),)))
    >>> [rows.table["text"].to_pylist() for part in source.parts() for rows in source.read(part)]
    [['one', 'two']]
    """
    if not settings.paths:
        raise ConfigError("source.paths", "found none, expected a file, a folder, a pattern, a URI or -")
    kind = format_of(settings)
    _refuse_foreign(settings, kind)
    if kind in ("jsonl", "csv"):
        from unabridged.jobs.source_lines import LineSource

        return LineSource(settings, kind)
    if kind == "files":
        from unabridged.jobs.source_files import FileSource

        return FileSource(settings)
    if kind == "lance":
        from unabridged.jobs.lance import LanceSource

        return LanceSource(settings)
    if kind == "memory":
        from unabridged.jobs.memory import MemorySource

        return MemorySource(settings)
    from unabridged.jobs.source_tables import ArrowSource, ParquetSource

    return ParquetSource(settings) if kind == "parquet" else ArrowSource(settings, kind)


def _refuse_foreign(settings: SourceSettings, kind: str) -> None:
    """Raise for a setting that says nothing to this kind of source: who gives one expects something of it."""
    for name, kinds in _FOR.items():
        value = getattr(settings, name)
        if value and kind not in kinds:
            raise ConfigError(f"source.{name}", f"is for {' and '.join(kinds)}, the source is {kind}")


def format_of(settings: SourceSettings) -> str:
    """The format as given, or as the endings of the paths tell it."""
    if settings.format is not None:
        if settings.format not in FORMATS:
            raise ConfigError("source.format", f"found {settings.format!r}, expected one of {', '.join(FORMATS)}")
        return settings.format
    kinds = {_told(path, settings) for path in settings.paths}
    if len(kinds) > 1:
        raise ConfigError("source.paths", f"found {', '.join(sorted(kinds))} together, expected one format in a job")
    return kinds.pop()


def _told(path: str, settings: SourceSettings) -> str:
    if path == "-":
        return "jsonl"
    name = path.rstrip("/").lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    for ending, kind in _ENDINGS.items():
        if name.endswith(ending):
            return kind
    return _of_a_folder(path, settings)


def _of_a_folder(path: str, settings: SourceSettings) -> str:
    """What a folder holds: tables of one kind, a saved dataset, or files that are a text each."""
    from unabridged.jobs.places import find, place_of
    from unabridged.jobs.source_tables import is_saved_dataset

    place = place_of(path, settings.storage)
    if not place.exists or not place.is_folder:
        return "files"
    if is_saved_dataset(place):
        return "huggingface"
    try:
        found = find(path, settings.storage, endings=(*_ENDINGS, *_PACKED), leave_out=settings.leave_out)
    except ValueError:
        return "files"
    kinds = {_by_ending(each.path) for each in found}
    every = len(find(path, settings.storage, endings=("",), leave_out=settings.leave_out))
    return kinds.pop() if len(kinds) == 1 and every == len(found) and None not in kinds else "files"  # type: ignore[return-value]


def _by_ending(path: str) -> str | None:
    name = path.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((kind for ending, kind in _ENDINGS.items() if name.endswith(ending)), None)


class Columns:
    """The columns of a source's tables, as they are found one by one.

    Each table must have the text and the id. A column to keep may be missing in some of them, where it is null: that
    of one night has it, that of the next has not. What none has is misspelt.
    """

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._tables: dict[str, None] = {}
        self.types: dict[str, pa.DataType] = {}
        refuse_ours(named_columns(settings))

    def add(self, where: str, schema: pa.Schema) -> None:
        """A table has these. Raises where it lacks the text or the id, or they are of a type that cannot be."""
        settings = self._settings
        kept_columns(settings, schema.names, where)
        _check_text(schema.field(settings.text).type, where, settings.text)
        if settings.id is not None:
            _check_id(_plain_type(schema.field(settings.id).type), where, settings.id)
        self._tables[where] = None
        for each in schema:
            self.types.setdefault(each.name, each.type)

    def check(self) -> None:
        """Raise for a column to keep that no table has, when all are known."""
        there = list(self.types)
        for name in named_columns(self._settings) if self._tables else ():
            if name not in there and len(self._tables) == 1:
                raise no_column(next(iter(self._tables)), name, there)
            if name not in there:
                said = f"found {name!r}, which none of the {len(self._tables):,} tables has; they have {listed(there)}"
                raise ConfigError("source.keep", said)

    @property
    def hints(self) -> tuple[str, ...]:
        """What is to be said before the first row of a new job is embedded."""
        return hints(self._settings, self.types)


def hints(settings: SourceSettings, names: Collection[str]) -> tuple[str, ...]:
    """That rows are named by their places though there is a column for it, which is seldom what is meant.

    >>> from unabridged.jobs.settings import SourceSettings
    >>> hints(SourceSettings(("rows.csv",)), ["id", "text"])
    ("there is a column 'id', but rows are named by their places, as rows.csv:0; --id id names them by it",)
    >>> hints(SourceSettings(("rows.csv",), id="id"), ["id", "text"])
    ()
    """
    if settings.id is not None or "id" not in names or settings.text == "id":
        return ()
    place = f"{settings.paths[0]}:0"
    return (f"there is a column 'id', but rows are named by their places, as {place}; --id id names them by it",)


def named_columns(settings: SourceSettings) -> list[str]:
    """The columns to keep that are asked for by name, but for those of the text and the id."""
    return [name for name in settings.keep if name not in ("*", settings.text, settings.id)]


def kept_columns(settings: SourceSettings, names: Sequence[str], where: str) -> list[str]:
    """The columns to carry along from a part, which may lack some. Raises where it lacks the text or the id."""
    for name in (settings.text, *((settings.id,) if settings.id else ())):
        if name not in names:
            raise no_column(where, name, names)
    return other_columns(settings, names) if "*" in settings.keep else named_columns(settings)


def no_column(where: str, name: str, names: Sequence[str], *, of: str = "it has") -> ConfigError:
    """A column that is asked for and is not there, and those that are.

    >>> str(no_column("rows.csv", "body", ["id", "text"]))
    "rows.csv: has no column 'body'; it has id, text"
    """
    return ConfigError(where, f"has no column {name!r}; {of} {listed(names)}")


def listed(names: Sequence[str]) -> str:
    """The names of columns in a message.

    >>> listed(["id", "text"])
    'id, text'
    """
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more if names else "none"


def rows_in_all(parts: Sequence[int | None]) -> int | None:
    """The rows of all parts, if those of each are known.

    >>> rows_in_all([2, 3]), rows_in_all([2, None])
    (5, None)
    """
    return None if None in parts else sum(rows or 0 for rows in parts)


def refuse_ours(wanted: Sequence[str]) -> None:
    """Raise for a column to keep that has the name of one of the output's own."""
    ours = next((name for name in wanted if name in OWN), None)
    if ours is not None:
        raise ConfigError("source.keep", f"found {ours!r}, which is a column of the output; rename it in the source")


def of_these(setting: str, found: Sequence[str], there: Sequence[str], what: str) -> None:
    """Raise for a column that no source of a kind has."""
    wrong = next((name for name in found if name not in there), None)
    if wrong is not None:
        raise ConfigError(f"source.{setting}", f"found {wrong!r}, of {what} there are {', '.join(there)}")


def other_columns(settings: SourceSettings, names: Sequence[str]) -> list[str]:
    """Every column but those of the text and the id, and those that the output has under the same name."""
    return [name for name in names if name not in (settings.text, settings.id, *OWN)]


def as_rows(
    table: pa.Table,
    settings: SourceSettings,
    part: str,
    first: int,
    kept: Sequence[str],
    types: Mapping[str, pa.DataType],
) -> Rows:
    """Rows of a table as the source has it: text and id as strings; where there is no text, it is blank.

    A column of ``kept`` that the table lacks is null; ``types`` has its type, as another table has it.
    """
    text = _strings(table[settings.text], part, settings.text)
    named = None if settings.id is None else pc.cast(_plain(table[settings.id]), pa.string())
    if named is None:
        ids = pa.array([f"{part}:{first + at}" for at in range(table.num_rows)], pa.string())
    elif named.null_count:
        ids = pa.array(
            [f"{part}:{first + at}" if each is None else each for at, each in enumerate(named.to_pylist())],
            pa.string(),
        )
    else:
        ids = named
    columns = {"id": ids, "text": pc.fill_null(text, "") if text.null_count else text}
    for name in kept:
        there = name in table.column_names
        columns[name] = table[name] if there else pa.nulls(table.num_rows, types.get(name, pa.null()))
    return Rows(first, pa.table(columns), after=first + table.num_rows)


def _plain(column: Any) -> Any:
    return pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _strings(column: Any, part: str, name: str) -> Any:
    plain = _plain(column)
    _check_text(plain.type, part, name)
    if pa.types.is_null(plain.type):
        return pc.cast(plain, pa.string())
    return pc.cast(plain, pa.large_string()) if pa.types.is_string_view(plain.type) else plain  # few kernels take views


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _check_id(kind: pa.DataType, part: str, name: str) -> None:
    try:
        pc.cast(pa.array([], kind), pa.string())
        named = not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))
    except pa.ArrowNotImplementedError:
        named = False
    if not named:
        raise ConfigError(part, f"column {name!r} is {kind}, expected text, numbers or times to name rows by")


def _check_text(kind: pa.DataType, part: str, name: str) -> None:
    plain = _plain_type(kind)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(test(plain) for test in tests):
        raise ConfigError(part, f"column {name!r} is {kind}, expected text")
