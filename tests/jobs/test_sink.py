"""Issue 2, point 8: outputs are whole or absent, in every format, and say what their vectors may be compared with."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unabridged.errors import ConfigError, JobError
from unabridged.jobs.disk import on_disk
from unabridged.jobs.sink import FORMATS, check_target, ids_file, open_sink, vector_column

ENDINGS = tuple(FORMATS)
WIDTH = 5


def batch(ids: list[str], vectors: list) -> pa.Table:
    notes = pa.array([["a note"] if vector is None else [] for vector in vectors], pa.list_(pa.string()))
    return pa.table({"id": ids, "notes": notes, "vector": vector_column(vectors, WIDTH)})


def vectors(count: int, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).standard_normal((count, WIDTH)).astype(np.float32))


def read(path: Path) -> tuple[list[str], list]:
    """Ids and vectors, the way a user of the format would read them."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
    elif path.suffix == ".lance":
        import lancedb

        table = lancedb.connect(str(path.parent)).open_table(path.stem).to_arrow()
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [row["id"] for row in rows], [row["vector"] for row in rows]
    else:
        matrix = np.load(path, mmap_mode="r")
        rows = [json.loads(line) for line in ids_file(path).read_text("utf-8").splitlines()]
        return [row["id"] for row in rows], [None if row["row"] is None else matrix[row["row"]] for row in rows]
    return table["id"].to_pylist(), table["vector"].to_pylist()


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.fixture(params=ENDINGS)
def target(request, tmp_path) -> Path:
    return tmp_path / f"out{request.param}"


def test_batches_come_back_bit_for_bit_and_in_order(target) -> None:
    given = [*vectors(3), None, *vectors(2, seed=1)]
    ids = ["a", "b", "长文本", 'quote " and \n', "e", "f"]
    with open_sink(target, fingerprint="f1", width=WIDTH) as sink:
        sink.write(batch(ids[:4], given[:4]))
        assert not target.exists()
        sink.write(batch(ids[4:], given[4:]))
    found, rows = read(target)
    assert found == ids
    assert [row is None for row in rows] == [vector is None for vector in given]
    for row, vector in zip(rows, given, strict=True):
        assert row is None or np.array_equal(np.asarray(row, np.float32), vector)
    assert leftovers(target.parent) == []


def test_the_fingerprint_travels_with_the_vectors(target) -> None:
    with open_sink(target, fingerprint="print-1", width=WIDTH) as sink:
        sink.write(batch(["a"], vectors(1)))
    if target.suffix == ".parquet":
        assert pq.read_schema(target).metadata[b"unabridged.fingerprint"] == b"print-1"
    elif target.suffix == ".lance":
        import lancedb

        schema = lancedb.connect(str(target.parent)).open_table("out").schema
        assert schema.metadata[b"unabridged.fingerprint"] == b"print-1"
    else:
        lines = (target if target.suffix == ".jsonl" else ids_file(target)).read_text().splitlines()
        assert json.loads(lines[0])["fingerprint"] == "print-1"


def test_an_error_leaves_nothing_behind(target) -> None:
    with pytest.raises(RuntimeError), open_sink(target, fingerprint="f", width=WIDTH) as sink:
        sink.write(batch(["a"], vectors(1)))
        raise RuntimeError
    assert list(target.parent.iterdir()) == []


def test_what_was_there_stays_until_the_new_one_is_whole(target) -> None:
    with open_sink(target, fingerprint="f", width=WIDTH) as sink:
        sink.write(batch(["old"], vectors(1)))
    with pytest.raises(ConfigError, match="exists; pass force=True"):
        open_sink(target, fingerprint="f", width=WIDTH)
    sink = open_sink(target, fingerprint="f", width=WIDTH, force=True)
    sink.write(batch(["new"], vectors(1, seed=2)))
    assert read(target)[0] == ["old"]
    sink.abort()
    assert read(target)[0] == ["old"]
    with open_sink(target, fingerprint="f", width=WIDTH, force=True) as sink:
        sink.write(batch(["new"], vectors(1, seed=2)))
    assert read(target)[0] == ["new"]
    assert leftovers(target.parent) == []


def test_killed_in_the_middle_the_target_is_as_it_was(target) -> None:
    with open_sink(target, fingerprint="f", width=WIDTH) as sink:
        sink.write(batch(["old"], vectors(1)))
    script = (
        "import os, sys, numpy as np, pyarrow as pa; from unabridged.jobs.sink import *; "
        "sink = open_sink(sys.argv[1], fingerprint='f', width=2, force=True); "
        "sink.write(pa.table({'id': ['new'], 'vector': vector_column([np.ones(2, np.float32)], 2)})); "
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(target)], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr
    assert read(target)[0] == ["old"]


def test_rows_without_any_vector_are_kept(target) -> None:
    with open_sink(target, fingerprint="f", width=WIDTH) as sink:
        sink.write(batch(["a", "b"], [None, None]))
    assert read(target) == (["a", "b"], [None, None])


def test_a_slice_of_a_table_is_written_as_itself(target) -> None:
    whole = vectors(6)
    with open_sink(target, fingerprint="f", width=WIDTH) as sink:
        sink.write(batch(list("abcdef"), whole).slice(2, 3))
    found, rows = read(target)
    assert found == ["c", "d", "e"]
    assert np.array_equal(np.asarray(rows, np.float32), np.stack(whole[2:5]))


def test_nothing_written_is_no_output(target) -> None:
    with pytest.raises(JobError, match="nothing"), open_sink(target, fingerprint="f", width=WIDTH):
        pass
    assert list(target.parent.iterdir()) == []


def test_batches_must_fit_together(target) -> None:
    with pytest.raises(ValueError, match=r"expected float32 lists of 5"):  # noqa: SIM117
        with open_sink(target, fingerprint="f", width=WIDTH) as sink:
            sink.write(pa.table({"id": ["a"], "vector": vector_column([np.ones(3, np.float32)], 3)}))
    assert list(target.parent.iterdir()) == []


def test_lance_is_written_in_large_fragments(tmp_path, monkeypatch) -> None:
    import lancedb

    monkeypatch.setattr("unabridged.jobs.sink._LANCE_ROWS", 4)
    with open_sink(tmp_path / "out.lance", fingerprint="f", width=WIDTH) as sink:
        for at in range(10):
            sink.write(batch([str(at)], vectors(1, seed=at)))
    table = lancedb.connect(str(tmp_path)).open_table("out")
    assert table.count_rows() == 10
    assert len(table.search(vectors(1)[0]).limit(3).to_list()) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.csv", r"found '\.csv', expected one of \.parquet, \.npy, \.jsonl, \.lance"),
        ("out", "found no ending"),
        ("nowhere/out.npy", "the folder .*nowhere is not there"),
        ("folder.parquet", "is a folder, and not one to replace"),
        ("folder.lance", "is a folder, and not one to replace"),
        ("lonely.npy", r"lonely\.ids\.jsonl: exists"),
    ],
)
def test_targets_are_checked_before_anything_is_paid_for(tmp_path, name, message) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "folder.lance").mkdir()  # a folder of the user's, not a dataset: --force may not remove it
    (tmp_path / "lonely.ids.jsonl").touch()
    with pytest.raises(ConfigError, match=message):
        check_target(tmp_path / name, force=name.startswith("folder"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "touch", refused)  # root may write anywhere
    with pytest.raises(ConfigError, match="cannot be written: permission denied"):
        open_sink(tmp_path / "out.parquet", fingerprint="f", width=3)


def test_widths_are_positive(tmp_path) -> None:
    with pytest.raises(ConfigError, match="width: found 0"):
        open_sink(tmp_path / "out.npy", fingerprint="f", width=0)


def test_a_folder_that_takes_no_file_is_told_before_anything_is_paid_for(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"the folder /proc cannot be written: "):
        check_target("/proc/out.parquet")
    target = tmp_path / "out.parquet"
    assert check_target(target) == target
    assert list(tmp_path.iterdir()) == []


def test_sqlite_without_room_for_a_page_is_a_full_disk(monkeypatch) -> None:
    """It says that it cannot open its own helper files."""
    for free, kind in ((1, OSError), (1 << 20, sqlite3.OperationalError)):
        monkeypatch.setattr(os, "statvfs", lambda _, free=free: SimpleNamespace(f_bavail=free, f_frsize=4096))
        with pytest.raises(kind), on_disk("/disk/journal.sqlite"):
            raise sqlite3.OperationalError("unable to open database file")
    monkeypatch.undo()
    with pytest.raises(sqlite3.OperationalError), on_disk("/nowhere/at/all"):
        raise sqlite3.OperationalError("unable to open database file")


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (RuntimeError("lance error: LanceError(IO): Generic LocalFileSystem error: No space left on device"), True),
        (sqlite3.OperationalError("database or disk is full"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError("Error writing bytes to file. Detail: [errno 28] No space left on device"), True),
        (RuntimeError("lance error: something else"), False),
        (OSError(errno.EIO, "Input/output error"), False),
    ],
)
def test_a_full_disk_is_one_error_that_names_the_place(error, full) -> None:
    with pytest.raises(type(error) if not full else OSError) as caught, on_disk("/disk/out.lance"):
        raise error
    assert (str(caught.value) == "[Errno 28] No space left on device: '/disk/out.lance'") is full
    assert (caught.value is error) is not full


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("ending", ["parquet", "jsonl", "npy"])
def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, ending) -> None:
    def full(target: Path) -> Path:
        hidden = target.with_name(f".{target.name}.part")
        hidden.symlink_to("/dev/full")
        return hidden

    target = tmp_path / f"out.{ending}"
    target.write_bytes(b"before")
    monkeypatch.setattr("unabridged.jobs.sink._try_to_write", lambda _: None)
    monkeypatch.setattr("unabridged.jobs.sink._hidden_beside", full)
    rows = batch([f"text {n}" for n in range(3000)], vectors(3000))
    with (
        pytest.raises(OSError, match=rf"No space left on device: '.*out\.{ending}'"),
        open_sink(target, fingerprint="f", width=WIDTH, force=True) as sink,
    ):
        sink.write(rows)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.read_bytes() == b"before"
