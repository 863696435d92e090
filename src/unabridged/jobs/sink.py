"""Where vectors go: Parquet, NumPy, JSON lines or Lance, whole or not at all.

A sink takes Arrow tables whose column ``vector`` is a float32 list of one fixed width (null where a row
has none). It writes to a hidden name in the target's own folder and renames at :meth:`Sink.commit`, so a
reader never sees half a file and a crash leaves the target as it was.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.disk import on_disk, synced
from unabridged.jobs.lines import json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from unabridged.types import Vector

__all__ = [
    "FINGERPRINT",
    "FORMATS",
    "Sink",
    "check_target",
    "ids_file",
    "json_lines",
    "open_sink",
    "vector_column",
]

FINGERPRINT = "unabridged.fingerprint"
_LANCE_ROWS = 4096  # a fragment each; hundreds of tiny ones make every later read slow (FINDINGS §3)


class Sink(Protocol):
    """Batches in, one complete output; as a context manager it commits, or aborts on an error."""

    def write(self, batch: pa.Table) -> None:
        """Add rows. All batches have the columns of the first."""
        ...

    def commit(self) -> Path:
        """Finish, put the output in its place, and return its path."""
        ...

    def abort(self) -> None:
        """Remove what was written so far; the target stays as it was."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


def open_sink(path: str | Path, *, fingerprint: str, width: int, force: bool = False) -> Sink:
    r"""Open an output by its ending: ``.parquet``, ``.npy``, ``.jsonl`` or ``.lance``.

    ``fingerprint`` names the settings under which the vectors may be compared; Parquet and Lance keep it
    in the schema's metadata, JSON lines and the ids beside ``.npy`` in each row. ``width`` is the
    vectors'. An output that exists is refused without ``force``.

    Raises :class:`~unabridged.errors.ConfigError` for another ending, a folder that is not there, or an
    output that exists; :class:`OSError` when the disk refuses.

    >>> import tempfile
    >>> rows = pa.table({"id": ["a"], "vector": vector_column([np.ones(2, np.float32)], 2)})
    >>> with open_sink(Path(tempfile.mkdtemp()) / "out.jsonl", fingerprint="f", width=2) as sink:
    ...     sink.write(rows)
    >>> sink.target.read_text()
    '{"id": "a", "fingerprint": "f", "vector": [1,1]}\n'
    """
    if width < 1:
        raise ConfigError("width", f"found {width}, expected a number above 0")
    target = check_target(path, force=force)
    return FORMATS[target.suffix.lower()](target, fingerprint, width)


def check_target(path: str | Path, *, force: bool = False) -> Path:
    """The target as a path, once it is clear that it can be written: before any text is paid for."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        found = repr(target.suffix) if target.suffix else "no ending"
        raise ConfigError(str(target), f"found {found}, expected one of {', '.join(FORMATS)}")
    if not target.parent.is_dir():
        raise ConfigError(str(target), f"the folder {target.parent} is not there; create it first")
    _try_to_write(target)
    for part in (target, *_companions(target)):
        _check_existing(part, force=force)
    return target


def vector_column(rows: Sequence[Vector | None], width: int) -> pa.Array:
    """Vectors of shape ``(width,)`` as one Arrow column; ``None`` becomes null.

    >>> vector_column([None, np.ones(2, np.float32)], 2).to_pylist()
    [None, [1.0, 1.0]]
    """
    flat = np.zeros((len(rows), width), np.float32)
    for at, row in enumerate(rows):
        if row is not None:
            flat[at] = row
    missing = np.fromiter((row is None for row in rows), bool, len(rows))
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), width, mask=pa.array(missing))


def json_lines(batch: pa.Table, fingerprint: str, *, vectors: bool = True) -> Iterator[str]:
    """A line a row. Floats have nine digits, which is what float32 needs to come back exactly."""
    matrix, missing = _matrix(batch)
    template = "[" + ",".join(["%.9g"] * matrix.shape[1]) + "]"
    for at, row in enumerate(batch.drop_columns(["vector"]).to_pylist()):
        row["fingerprint"] = fingerprint
        line = json_line(row)
        if vectors:
            vector = "null" if missing[at] else template % tuple(matrix[at].tolist())
            line = f'{line[:-2]}, "vector": {vector}}}\n'
        yield line


def ids_file(target: Path) -> Path:
    """The file beside a ``.npy`` that says which row is which text.

    >>> ids_file(Path("out.npy")).name
    'out.ids.jsonl'
    """
    return target.with_suffix(".ids.jsonl")


class _Target:
    """What all formats share: the hidden name, the check of a batch, the rename at the end."""

    def __init__(self, target: Path, fingerprint: str, width: int) -> None:
        self.target = target
        self.fingerprint = fingerprint
        self.width = width
        self._hidden = _hidden_beside(target)
        self._schema: pa.Schema | None = None
        try:
            with on_disk(target):
                self._open()
        except BaseException:
            self.abort()
            raise

    def write(self, batch: pa.Table) -> None:
        """Add rows."""
        if self._schema is None:
            self._check_width(batch.schema)
            self._schema = batch.schema.with_metadata({FINGERPRINT: self.fingerprint})
        with on_disk(self.target):
            self._write(batch.cast(self._schema))

    def commit(self) -> Path:
        """Finish and put the output in its place."""
        self._refuse_nothing()
        self._close()
        synced(self._hidden)
        self._hidden.replace(self.target)
        return self.target

    def abort(self) -> None:
        """Remove what was written so far."""
        with contextlib.suppress(OSError):  # what is still held back has no room either
            self._close()
        _remove(self._hidden)

    def _refuse_nothing(self) -> None:
        if self._schema is None:
            raise JobError(f"{self.target}: no batch was written, so there is nothing to put there")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.abort()
            return
        try:
            with on_disk(self.target):
                self.commit()
        except BaseException:
            self.abort()
            raise

    def _check_width(self, schema: pa.Schema) -> None:
        kind = schema.field("vector").type if "vector" in schema.names else None
        if kind != pa.list_(pa.float32(), self.width):
            raise ValueError(f"the column vector is {kind}, expected float32 lists of {self.width}")

    def _open(self) -> None: ...
    def _write(self, batch: pa.Table) -> None: ...
    def _close(self) -> None: ...


class _Parquet(_Target):
    """One row group a batch, zstd."""

    _writer: Any = None

    def _open(self) -> None:
        self._hidden.touch()

    def _write(self, batch: pa.Table) -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._hidden, batch.schema, compression="zstd")
        self._writer.write_table(batch)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _JsonLines(_Target):
    """One object a line, UTF-8."""

    _file: IO[str] | None = None

    def _open(self) -> None:
        self._file = self._hidden.open("w", encoding="utf-8", newline="\n")

    def _write(self, batch: pa.Table) -> None:
        assert self._file is not None  # noqa: S101 it is open
        self._file.writelines(json_lines(batch, self.fingerprint))

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Numpy(_Target):
    """``(rows, width)`` float32 that :func:`numpy.load` maps; beside it, every text and its row."""

    _file: Any = None
    _ids: Any = None

    def _open(self) -> None:
        self._rows = 0
        self._hidden_ids = _hidden_beside(ids_file(self.target))
        self._file = self._hidden.open("wb")
        self._ids = self._hidden_ids.open("w", encoding="utf-8", newline="\n")
        self._header()

    def _header(self) -> None:
        """NumPy pads the header, so that the number of rows can grow in place."""
        self._file.seek(0)
        shape = {"descr": "<f4", "fortran_order": False, "shape": (self._rows, self.width)}
        np.lib.format.write_array_header_1_0(self._file, shape)
        self._file.seek(0, os.SEEK_END)

    def _write(self, batch: pa.Table) -> None:
        matrix, missing = _matrix(batch)
        numbers = np.where(missing, -1, np.cumsum(~missing) - 1 + self._rows)
        rows = pa.array([None if n < 0 else int(n) for n in numbers], pa.int64())
        self._ids.writelines(json_lines(batch.append_column("row", rows), self.fingerprint, vectors=False))
        self._file.write(np.ascontiguousarray(matrix[~missing], "<f4").tobytes())
        self._rows += int((~missing).sum())

    def _close(self) -> None:
        with contextlib.ExitStack() as stack:
            for file in (self._ids, self._file):
                if file is not None:
                    stack.callback(file.close)
            if self._file is not None and not self._file.closed:
                self._header()

    def commit(self) -> Path:
        """The ids first: a ``.npy`` is never there without them."""
        self._refuse_nothing()
        self._close()
        synced(self._hidden_ids)
        self._hidden_ids.replace(ids_file(self.target))
        return super().commit()

    def abort(self) -> None:
        """Remove both."""
        super().abort()
        _remove(self._hidden_ids)


class _Lance(_Target):
    """A Lance dataset, which LanceDB opens as a table of the target's name."""

    def _open(self) -> None:
        self._hidden.mkdir()
        self._waiting: list[pa.Table] = []
        self._table: Any = None

    def _write(self, batch: pa.Table) -> None:
        self._waiting.append(batch)
        if sum(map(len, self._waiting)) >= _LANCE_ROWS:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting)
        self._waiting = []
        if self._table is None:
            import lancedb

            self._table = lancedb.connect(str(self._hidden.absolute())).create_table("rows", schema=rows.schema)
        if rows.num_rows:
            self._table.add(rows, on_bad_vectors="null")  # a null vector is a text without one, not a bad one

    def _close(self) -> None:
        self._waiting = []

    def commit(self) -> Path:
        """Swap the dataset in; one that was there is removed after."""
        self._refuse_nothing()
        self._flush()
        old = _hidden_beside(self.target)
        if self.target.exists():
            self.target.replace(old)
        (self._hidden / "rows.lance").replace(self.target)
        _remove(old)
        _remove(self._hidden)
        return self.target


FORMATS: dict[str, Callable[[Path, str, int], Sink]] = {
    ".parquet": _Parquet,
    ".npy": _Numpy,
    ".jsonl": _JsonLines,
    ".lance": _Lance,
}


def _matrix(
    batch: pa.Table,
) -> tuple[np.ndarray[Any, np.dtype[np.float32]], np.ndarray[Any, np.dtype[np.bool_]]]:
    """The vectors ``(rows, width)``, zeros where there is none, and which those are."""
    column = batch.column("vector").combine_chunks()
    missing = column.is_null().to_numpy(zero_copy_only=False)
    width = column.type.list_size
    whole = column.values.to_numpy(zero_copy_only=False).reshape(-1, width)
    rows = whole[column.offset : column.offset + len(column)]
    return np.where(missing[:, None], np.float32(0), rows), missing


def _companions(target: Path) -> tuple[Path, ...]:
    return (ids_file(target),) if target.suffix.lower() == ".npy" else ()


def _check_existing(target: Path, *, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if target.is_dir() and not (target.suffix.lower() == ".lance" and (target / "_versions").is_dir()):
        raise ConfigError(str(target), "is a folder, and not one to replace")
    if not force:
        raise ConfigError(str(target), "exists", advice="replace")


def _try_to_write(target: Path) -> None:
    """Raise for a folder that takes no file: rights alone do not tell, of a disk that is read-only least of all."""
    hidden = _hidden_beside(target)
    try:
        hidden.touch(exist_ok=False)
        hidden.unlink()
    except OSError as error:
        said = (error.strerror or type(error).__name__).lower()
        raise ConfigError(str(target), f"the folder {target.parent} cannot be written: {said}") from None


def _hidden_beside(target: Path) -> Path:
    """A name of our own in the same folder, so that the rename stays on one disk."""
    stem = re.sub(r"[^\w.-]", "_", target.name)[:80]
    return target.with_name(f".{stem}.{secrets.token_hex(4)}.part")


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
