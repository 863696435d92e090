"""Issue 9, part 1: every kind of source gives the same rows, from any of them on, and says what is wrong with one."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from jobkit import Bench, read_rows, texts

from unabridged.errors import ConfigError, InputError, MissingExtra, UnreadableFile
from unabridged.jobs.dryrun import dry_run
from unabridged.jobs.ignore import Rules
from unabridged.jobs.job import retry_job, run_job
from unabridged.jobs.settings import SinkSettings, SourceSettings
from unabridged.jobs.shards import Gaps, chosen, shards
from unabridged.jobs.source import Source, format_of, open_source
from unabridged.jobs.state import JobProgress

ROWS = 50


def table() -> pa.Table:
    return pa.table({"key": [f"k{i}" for i in range(ROWS)], "text": texts(ROWS), "n": list(range(ROWS))})


def lines() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in table().to_pylist())


def write_parquet(path: Path) -> None:
    pq.write_table(table(), path, row_group_size=7)


def write_arrow(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=9)


def write_stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=9)


def write_csv(path: Path) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t" if path.suffix == ".tsv" else ",")
    writer.writerow(table().column_names)
    writer.writerows(row.values() for row in table().to_pylist())
    path.write_text("\ufeff" + out.getvalue(), "utf-8", newline="")


def write_lance(path: Path) -> None:
    import lance

    lance.write_dataset(table(), str(path), max_rows_per_file=13)


def write_saved(path: Path) -> None:
    """As ``datasets`` lays a dataset down with save_to_disk: Arrow streams, and a state.json that lists them."""
    path.mkdir()
    for at, (first, name) in enumerate(((0, "data-00000-of-00002.arrow"), (30, "data-00001-of-00002.arrow"))):
        part = table().slice(first, 30 if at == 0 else 20)
        with pa.OSFile(str(path / name), "wb") as file, pa.ipc.new_stream(file, part.schema) as writer:
            writer.write_table(part)
    files = [{"filename": "data-00000-of-00002.arrow"}, {"filename": "data-00001-of-00002.arrow"}]
    (path / "state.json").write_text(json.dumps({"_data_files": files, "_split": None}), "utf-8")
    (path / "dataset_info.json").write_text("{}", "utf-8")


def write_splits(path: Path) -> None:
    path.mkdir()
    (path / "dataset_dict.json").write_text(json.dumps({"splits": ["train"]}), "utf-8")
    write_saved(path / "train")


KINDS = {
    "rows.parquet": write_parquet,
    "rows.arrow": write_arrow,
    "stream.arrow": write_stream,
    "rows.jsonl": lambda path: path.write_bytes(lines()),
    "rows.jsonl.gz": lambda path: path.write_bytes(gzip.compress(lines())),
    "rows.jsonl.zst": lambda path: path.write_bytes(zstandard.compress(lines())),
    "rows.ndjson.bz2": lambda path: path.write_bytes(bz2.compress(lines())),
    "rows.csv": write_csv,
    "rows.tsv": write_csv,
    "rows.lance": write_lance,
    "saved": write_saved,
    "splits": write_splits,
}


def gathered(source: Source, start: int = 0) -> tuple[list[str], list[str], list[int]]:
    ids, found, numbers = [], [], []
    for part in source.parts():
        for rows in source.read(part, start):
            ids += rows.table["id"].to_pylist()
            found += rows.table["text"].to_pylist()
            numbers += range(rows.first, rows.first + len(rows))
    return ids, found, numbers


@pytest.fixture(params=KINDS)
def path(request, tmp_path) -> Path:
    made = tmp_path / request.param
    KINDS[request.param](made)
    return made


def test_every_kind_gives_the_same_rows(path) -> None:
    ids, found, _ = gathered(open_source(SourceSettings((str(path),), id="key")))
    assert ids == [f"k{i}" for i in range(ROWS)]
    assert found == texts(ROWS)


def test_every_kind_begins_at_any_row(path) -> None:
    source = open_source(SourceSettings((str(path),), id="key"))
    for part in source.parts():
        whole = [each for rows in source.read(part) for each in rows.table["id"].to_pylist()]
        for start in (0, 1, 8, 13, 29, 49, 50, 99):
            runs = list(source.read(part, start))
            assert [each for rows in runs for each in rows.table["id"].to_pylist()] == whole[start:]
            if runs and len(runs[0]):
                assert runs[0].first == start
            assert all(rows.after == rows.first + len(rows) for rows in runs)


def test_every_kind_carries_columns_along(path) -> None:
    source = open_source(SourceSettings((str(path),), id="key", keep=("n",)))
    found = [each for part in source.parts() for rows in source.read(part) for each in rows.table["n"].to_pylist()]
    as_text = path.name.split(".")[0] == "rows" and any(kind in path.name for kind in ("json", "csv", "tsv"))
    assert found == [str(n) if as_text else n for n in range(ROWS)]


def test_every_kind_has_an_identity_that_changes_with_it(path, tmp_path) -> None:
    source = open_source(SourceSettings((str(path),), id="key"))
    before = [(part.name, part.identity) for part in source.parts()]
    assert before == [(part.name, part.identity) for part in source.parts()]
    if path.suffix == ".jsonl":
        path.write_bytes(lines() + b'{"key": "x", "text": "more"}\n')
        assert before != [(part.name, part.identity) for part in source.parts()]


@pytest.mark.parametrize("asked", [{"text": "body"}, {"id": "body"}, {"id": "body", "keep": ("*",)}])
def test_a_column_that_is_not_there_is_named_before_a_row_is_read(path, asked) -> None:
    source = open_source(SourceSettings((str(path),), **asked))
    with pytest.raises(ConfigError, match=r"has no column 'body'.*key, text, n"):
        next(source.parts())


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.csv", "rows.lance"])
def test_a_column_that_a_later_table_lacks_is_named_before_anything_is_read(tmp_path, name) -> None:
    KINDS[name](tmp_path / name)
    later = tmp_path / f"later{Path(name).suffix}"
    if name.endswith("csv"):
        later.write_text("body\nx\n", "utf-8")
    else:
        KINDS[name](later)
        table_ = pa.table({"text": [1, 2]})
        if name.endswith("lance"):
            import lance

            lance.write_dataset(table_, str(later), mode="overwrite")
        elif name.endswith("parquet"):
            pq.write_table(table_, later)
        else:
            with pa.OSFile(str(later), "wb") as file, pa.ipc.new_file(file, table_.schema) as writer:
                writer.write_table(table_)
    source = open_source(SourceSettings((str(tmp_path / name), str(later))))
    with pytest.raises(ConfigError, match=r"later.*(has no column 'text'; it has body|is int64, expected text)"):
        list(source.parts())


def test_lines_without_the_text_are_blank_where_others_have_it_and_without_the_id_fail_alone(tmp_path) -> None:
    rows = [{"key": "a"}, {"other": 1}, {"key": "c", "text": "words"}, {"text": "no key"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "b.jsonl").write_text('{"key": "z", "body": "another file"}\n', "utf-8")
    source = open_source(SourceSettings((str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")), id="key"))
    found = [rows for part in source.parts() for rows in source.read(part)]
    assert [each for rows in found for each in rows.table["text"].to_pylist()] == ["", "", "words", None, ""]
    assert [rows.errors for rows in found] == [((3, "'key' is missing"),), ()]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("nonsense\n" * 3, r"a.jsonl: its 3 lines are all of no use: not JSON"),
        ('[{"text": "one"}]', r"a.jsonl: its one line is of no use: a list, expected an object"),
        ('{"text": ["one"]}\n' * 50, r"its first 40 lines are all of no use: 'text' is a list, expected a string"),
        ('{"text": 1}\nnonsense\n{"text": 2}\n', r"its 3 lines are all of no use: 'text' is a int"),
    ],
)
def test_lines_of_which_none_can_be_read_end_the_job_before_it_begins(bench: Bench, monkeypatch, data, said) -> None:
    monkeypatch.setattr("unabridged.jobs.source_lines._LOOKED", 40)
    (bench.folder / "a.jsonl").write_text(data, "utf-8")
    (bench.folder / "b.jsonl").write_text("", "utf-8")
    paths = tuple(str(bench.folder / name) for name in ("a.jsonl", "b.jsonl"))
    with pytest.raises(InputError, match=said):
        run_job(bench.settings(SourceSettings(paths), bench.out("out.jsonl")))
    assert list((bench.folder / "jobs").iterdir()) == []


def test_a_line_that_can_be_read_or_has_no_text_yet_is_reason_enough_to_go_on(tmp_path) -> None:
    for line in ('{"text": "one"}', '{"text": null}', '{"text": ""}'):
        (tmp_path / "a.jsonl").write_text(f"nonsense\n[1]\n{line}\n", "utf-8")
        (part,) = open_source(SourceSettings((str(tmp_path / "a.jsonl"),))).parts()
        assert part.name.endswith("a.jsonl")


def test_only_so_many_lines_are_looked_at_and_so_many_columns_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("unabridged.jobs.source_lines._LOOKED", 40)
    late = [*({f"field {n}": 1} for n in range(60)), {"text": "late"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in late), "utf-8")
    source = open_source(SourceSettings((str(tmp_path / "a.jsonl"),)))
    with pytest.raises(ConfigError, match=r"no column 'text'; its first 40 lines have field 0, .*field 29 and 10 more"):
        next(source.parts())


def test_a_column_to_keep_that_no_line_has_is_told_before_a_text_is_embedded(bench: Bench, monkeypatch) -> None:
    """Lines may leave a column out; where all do it is misspelt, and of the first of many it may be."""
    rows = [{"text": "one"}, {"text": "two", "rare": 1}, {"text": "three", "late": 2}]
    source = SourceSettings((bench.jsonl(rows),), keep=("rare", "titel"))
    with pytest.raises(ConfigError, match="has no column 'titel'; its 3 lines have text, rare, late"):
        run_job(bench.settings(source, bench.out("out.parquet")))
    monkeypatch.setattr("unabridged.jobs.source_lines._LOOKED", 2)
    seen: list[JobProgress] = []
    settings = bench.settings(replace(source, keep=("rare", "late", "titel")), bench.out("out.parquet"))
    report = run_job(settings, progress=seen.append)
    early = tuple(
        f"column {name!r} is in none of the first 2 lines, which have text, rare" for name in ("late", "titel")
    )
    assert (seen[0].requests, seen[0].notes) == (0, early)
    assert (report.status, report.notes) == ("done", ("column 'titel' is in none of 3 lines",))
    assert dry_run(settings).notes == early
    found = read_rows(bench.out("out.parquet"))
    assert (found["rare"], found["late"], found["titel"]) == ([None, "1", None], [None, None, "2"], [None] * 3)
    assert run_job(settings).notes == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-8-sig"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "jsonl.gz"])
def test_lines_with_a_mark_are_read_in_its_encoding(bench: Bench, encoding, kind) -> None:
    """As any text file is; the characters hold the bytes of a line's end, and a line's end crosses a buffer's."""
    text = "中文 \u0a0a \u0d0a naïve \U0001f9ed " + "wide " * 80
    rows = [{"key": f"k{i}", "text": f"{i} {text}"} for i in range(600)]
    if kind == "csv":
        data = "key,text\r\n" + "".join(f'{row["key"]},"{row["text"]}\nx"\r\n' for row in rows)
        rows = [{**row, "text": row["text"] + "\nx"} for row in rows]
    else:
        data = "\r\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    marked = data if encoding in {"utf-16", "utf-32", "utf-8-sig"} else "\ufeff" + data
    raw = marked.encode(encoding)
    path = bench.folder / f"in.{kind}"
    path.write_bytes(gzip.compress(raw) if kind.endswith("gz") else raw)
    source = SourceSettings((str(path),), id="key", keep=("text",))
    report = run_job(bench.settings(source, bench.out("out.parquet")))
    assert (report.counts.done, report.counts.failed, report.notes) == (600, 0, ())
    assert read_rows(bench.out("out.parquet"))["text"] == [row["text"] for row in rows]
    assert [rows.first for rows in open_source(source).read(next(open_source(source).parts()), 590)] == [590]
    if not encoding.endswith("sig"):
        said = gathered(open_source(replace(source, encoding=encoding)))[1]
        assert said == [row["text"] for row in rows]


def test_a_line_that_is_cut_off_within_a_character_fails_alone(tmp_path) -> None:
    data = "\ufeff" + "".join(f'{{"text": "row {i}"}}\n' for i in range(3))
    (tmp_path / "a.jsonl").write_bytes(data.encode("utf-16-le") + '{"text": "tor'.encode("utf-16-le") + b"n")
    source = open_source(SourceSettings((str(tmp_path / "a.jsonl"),)))
    (rows,) = source.read(next(source.parts()))
    assert rows.table["text"].to_pylist() == ["row 0", "row 1", "row 2", None]
    assert rows.errors == ((3, "not UTF-16-LE at byte 26 of the line"),)


def test_a_csv_that_is_not_utf8_is_told_as_any_text_file_is(bench: Bench) -> None:
    path = bench.folder / "in.csv"
    source = SourceSettings((str(path),), keep=("text",))
    path.write_bytes("text\ncafé\nplain\n".encode("cp1252"))
    report = run_job(bench.settings(source, bench.out("out.parquet")))
    assert report.notes == (f"{path}: not UTF-8, read as Windows-1252",)
    assert read_rows(bench.out("out.parquet"))["text"] == ["café", "plain"]
    path.write_bytes("text\n中文文本\n".encode("gb18030"))
    with pytest.raises(UnreadableFile, match=r"in.csv: not UTF-8 \(byte 5\); say what it is in"):
        next(open_source(source).parts())
    path.write_bytes(
        "text,n\nnaïve äöüéèêç,1\n".encode() + b"ca\xfff,2\nplain,3\nx,\xff\n"
    )  # one bad row is not the file
    (rows,) = open_source(source).read(next(open_source(source).parts()))
    assert rows.table["text"].to_pylist() == ["naïve äöüéèêç", None, "plain", None]
    assert rows.errors == ((1, "line 3: not UTF-8"), (3, "line 5: not UTF-8"))


def test_standard_input_has_a_mark_and_a_header_too(bench: Bench, monkeypatch) -> None:
    class Stdin:
        buffer = io.BytesIO("key,text\na,one\nb,two\n".encode("utf-16"))

    monkeypatch.setattr(sys, "stdin", Stdin)
    source = SourceSettings(("-",), format="csv", id="key")
    with pytest.raises(ConfigError, match="-: has no column 'body'; it has key, text"):
        next(open_source(replace(source, text="body")).parts())
    Stdin.buffer.seek(0)
    assert run_job(bench.settings(source, bench.out("out.jsonl"))).counts.done == 2


def test_standard_input_that_was_looked_at_is_read_whole(bench: Bench, monkeypatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b'{"key": "a"}\n\n{"key": "b", "text": "one"}\n{"key": "c", "text": "two"}\n')

    (bench.folder / "first.jsonl").write_text('{"key": "0"}\n', "utf-8")
    monkeypatch.setattr(sys, "stdin", Stdin)
    source = SourceSettings((str(bench.folder / "first.jsonl"), "-"), id="key")
    report = run_job(bench.settings(source, bench.out("out.jsonl")))
    assert (report.counts.rows, report.counts.skipped, report.counts.failed) == (4, 2, 0)
    assert read_rows(bench.out("out.jsonl"))["id"] == ["b", "c"]


def test_files_and_artifacts_have_the_columns_that_they_have(tmp_path) -> None:
    for asked, message in (
        ({"text": "body"}, "source.text: found 'body', of files there are text"),
        ({"id": "key"}, "source.id: found 'key', of files there are id"),
    ):
        with pytest.raises(ConfigError, match=message):
            open_source(SourceSettings((str(tmp_path),), format="files", **asked))
    for asked, message in (
        ({"text": "body"}, "source.text: found 'body', of artifacts there are text"),
        ({"id": "key"}, "source.id: found 'key', of artifacts there are id"),
        ({"keep": ("kin",)}, "source.keep: found 'kin', of artifacts there are role, kind, session_id, source"),
    ):
        with pytest.raises(ConfigError, match=message):
            open_source(SourceSettings((str(tmp_path),), format="memory", **asked))


def test_a_mark_before_the_header_is_none_of_it_whatever_the_encoding_is_called(tmp_path) -> None:
    (tmp_path / "a.csv").write_bytes('\ufeff"text",n\none,1\n'.encode())
    (tmp_path / "a.jsonl").write_bytes('\ufeff{"text": "one"}\n'.encode())
    for name in ("a.csv", "a.jsonl"):
        for encoding in (None, "utf8", "UTF-8", "utf-8-sig"):
            assert gathered(open_source(SourceSettings((str(tmp_path / name),), encoding=encoding)))[1] == ["one"]
        with pytest.raises(ConfigError, match=r"source\.encoding: klingon is not an encoding"):
            open_source(SourceSettings((str(tmp_path / name),), encoding="klingon"))


@pytest.mark.parametrize(
    ("paths", "kind"),
    [
        (("a.parquet",), "parquet"),
        (("s3://bucket/a.PARQUET",), "parquet"),
        (("a.jsonl.zst", "b.ndjson"), "jsonl"),
        (("a.csv.gz",), "csv"),
        (("a.feather",), "arrow"),
        (("table.lance/",), "lance"),
        (("-",), "jsonl"),
        (("notes.md",), "files"),
    ],
)
def test_formats_are_told_from_endings(paths, kind) -> None:
    assert format_of(SourceSettings(paths)) == kind


def test_a_folder_is_told_from_what_it_holds(tmp_path) -> None:
    (tmp_path / "tables").mkdir()
    write_parquet(tmp_path / "tables" / "a.parquet")
    (tmp_path / "tables" / "inner").mkdir()
    write_parquet(tmp_path / "tables" / "inner" / "b.parquet")
    (tmp_path / "tables" / "_delta_log").write_text("a writer's own")
    assert format_of(SourceSettings((str(tmp_path / "tables"),))) == "parquet"
    assert len(gathered(open_source(SourceSettings((str(tmp_path / "tables"),))))[0]) == 2 * ROWS
    (tmp_path / "tables" / "readme.md").write_text("words")
    assert format_of(SourceSettings((str(tmp_path / "tables"),))) == "files"


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_fields_of_csv_may_stand_apart_by_other_signs(tmp_path, sign) -> None:
    """Spreadsheets write semicolons where a comma is the decimal point."""
    rows = [["key", "text", "n"], ["a", f"with {sign} inside", "1,5"], ["b", "two\nlines", "x;y|z"]]
    for name in ("a.csv", "a.tsv"):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=sign).writerows(rows)
        source = open_source(SourceSettings((str(tmp_path / name),), id="key", keep=("n",)))
        (found,) = source.read(next(source.parts()))
        assert [found.table[at].to_pylist() for at in ("id", "text", "n")] == [
            list(each) for each in zip(*rows[1:], strict=True)
        ]
    (tmp_path / "b.csv").write_text("key;words\na;b\n")
    with pytest.raises(ConfigError, match="has no column 'text'; it has key;words"):
        next(open_source(SourceSettings((str(tmp_path / "b.csv"),))).parts())


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (SourceSettings(()), ConfigError, "source.paths: found none"),
        (
            SourceSettings(("a.parquet",), encoding="utf-16"),
            ConfigError,
            "encoding: is for jsonl and csv and files, the",
        ),
        (SourceSettings(("a.jsonl",), hidden=True), ConfigError, "source.hidden: is for files, the source is jsonl"),
        (SourceSettings(("a.lance",), ignore=("x",)), ConfigError, "source.ignore: is for files, the source is lance"),
        (SourceSettings(("a.parquet", "b.csv")), ConfigError, "found csv, parquet together"),
        (SourceSettings(("a",), format="xml"), ConfigError, "found 'xml', expected one of parquet"),
        (SourceSettings(("nowhere.parquet",)), UnreadableFile, "nowhere.parquet: there is no such file"),
        (SourceSettings(("nothing*.parquet",)), UnreadableFile, "no file matches"),
        (SourceSettings(("nowhere.lance",)), UnreadableFile, "not a Lance table"),
        (SourceSettings(("nosuchscheme://x/a.parquet",)), UnreadableFile, "nosuchscheme"),
    ],
)
def test_what_cannot_be_read_is_named(settings, error, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        list(open_source(settings).parts())


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_file_that_is_not_what_its_ending_says_is_named(tmp_path, name) -> None:
    (tmp_path / name).write_bytes(b"something else entirely, and long enough")
    with pytest.raises(UnreadableFile, match=f"{name}: not a"):
        gathered(open_source(SourceSettings((str(tmp_path / name),))))


def test_lines_that_cannot_be_read_are_rows_that_failed(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text": "one"}\n\n   \nnonsense\n[1]\n{"text": 3}\n{"text": "\xff"}\n{"text": "\\ud800"}\n{"text": "two"}\n'
    )
    source = open_source(SourceSettings((str(tmp_path / "a.jsonl"),)))
    (rows,) = source.read(next(source.parts()))
    assert rows.table["text"].to_pylist() == ["one", None, None, None, None, None, "two"]
    assert [why for _, why in rows.errors] == [
        "not JSON",
        "a list, expected an object",
        "'text' is a int, expected a string",
        "not UTF-8 at byte 10 of the line",
        "'text' has half of a surrogate pair",
    ]


def test_a_csv_may_have_line_breaks_in_fields_and_records_of_another_length(tmp_path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,"two\nlines"\n2\n3,"said ""so"""\n', "utf-8")
    source = open_source(SourceSettings((str(tmp_path / "a.csv"),), id="id"))
    (rows,) = source.read(next(source.parts()))
    assert rows.table["text"].to_pylist() == ["two\nlines", None, 'said "so"']
    assert rows.errors == ((1, "line 4: 1 fields, expected 2"),)
    (tmp_path / "b.csv").write_bytes(b"id,text\n1,caf\xe9\n")
    assert gathered(open_source(SourceSettings((str(tmp_path / "b.csv"),), encoding="latin-1")))[1] == ["café"]
    (tmp_path / "c.csv").write_text('id,text\n1,"open\n', "utf-8")
    with pytest.raises(UnreadableFile, match="line"):
        gathered(open_source(SourceSettings((str(tmp_path / "c.csv"),))))


def test_nulls_numbers_as_ids_and_dictionaries(tmp_path) -> None:
    column = pa.array(["a", None, "c"]).dictionary_encode()
    pq.write_table(pa.table({"id": pa.array([7, None, 9]), "text": column}), tmp_path / "a.parquet")
    source = open_source(SourceSettings((str(tmp_path / "a.parquet"),), id="id"))
    (rows,) = source.read(next(source.parts()))
    assert rows.table["id"].to_pylist() == ["7", f"{tmp_path}/a.parquet:1", "9"]
    assert (rows.table["text"].to_pylist(), rows.errors) == (["a", "", "c"], ())
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "b.parquet")
    with pytest.raises(ConfigError, match="column 'text' is int64, expected text"):
        gathered(open_source(SourceSettings((str(tmp_path / "b.parquet"),))))


@pytest.mark.parametrize(
    "name", ["a.parquet", "view.parquet", "a.arrow", "a.lance", "a.jsonl", "keyless.jsonl", "a.csv"]
)
def test_a_null_text_is_blank_in_every_format_and_nothing_to_try_again(bench: Bench, name) -> None:
    """What has no text is what has an empty one: 3 rows of which one has words."""
    path = bench.folder / name
    made = pa.table({"key": ["a", "b", "c"], "text": pa.array(["words", None, " "])})
    if name.endswith("jsonl"):
        rows = made.to_pylist()
        if name.startswith("keyless"):
            del rows[1]["text"]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    elif name.endswith("csv"):
        path.write_text("key,text\na,words\nb,\nc, \n", "utf-8")
    elif name.endswith("arrow"):
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, made.schema) as writer:
            writer.write_table(made)
    elif name.endswith("lance"):
        import lance

        lance.write_dataset(made, str(path))
    else:
        if name.startswith("view"):
            made = made.set_column(1, "text", made["text"].cast(pa.string_view()))
        pq.write_table(made, path)
    settings = bench.settings(str(path), bench.out("out.jsonl"))
    found = dry_run(settings)
    assert (found.rows, found.blank, found.unreadable) == (3, 2, 0)
    report = run_job(settings)
    assert (report.ok, report.counts.done, report.counts.skipped, report.causes) == (True, 1, 2, {})
    assert retry_job(settings).ok


def test_a_table_of_which_no_row_has_a_text_is_blank(bench: Bench) -> None:
    for name, column in (("a.parquet", pa.array([None, None])), ("b.parquet", pa.array([None, None], pa.string()))):
        pq.write_table(pa.table({"text": column}), bench.folder / name)
        report = run_job(bench.settings(SourceSettings((str(bench.folder / name),)), bench.out(f"{name}.jsonl")))
        assert (report.status, report.counts.skipped) == ("done", 2)


def write_tables(folder: Path, ending: str, tables: list[pa.Table]) -> tuple[str, ...]:
    paths = []
    for at, each in enumerate(tables):
        path = folder / f"night-{at}.{ending}"
        if ending == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in each.to_pylist()), "utf-8")
        elif ending == "csv":
            with path.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerows([each.column_names, *(row.values() for row in each.to_pylist())])
        elif ending == "arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, each.schema) as writer:
                writer.write_table(each)
        elif ending == "lance":
            import lance

            lance.write_dataset(each, str(path))
        else:
            pq.write_table(each, path)
        paths.append(str(path))
    return tuple(paths)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "lance", "jsonl", "csv"])
def test_a_column_to_keep_that_one_file_has_is_null_in_the_others_and_one_that_none_has_is_told(
    bench: Bench, ending
) -> None:
    nights = [
        pa.table({"key": ["a", "b"], "text": ["one", "two"]}),
        pa.table({"key": ["c"], "text": ["three"], "rare": [7]}),
        pa.table({"key": ["d"], "text": ["four"]}),
    ]
    paths = write_tables(bench.folder, ending, nights)
    source = SourceSettings(paths, id="key", keep=("rare",))
    report = run_job(bench.settings(source, bench.out("out.parquet")))
    assert (report.status, report.counts.done) == ("done", 4)
    found = read_rows(bench.out("out.parquet"))
    rare = 7 if ending in {"parquet", "arrow", "lance"} else "7"
    assert dict(zip(found["id"], found["rare"], strict=True)) == {"a": None, "b": None, "c": rare, "d": None}
    with pytest.raises(ConfigError, match=r"'titel'.*they? ha(s|ve) key, text, rare|no column 'titel'; its 4 lines"):
        run_job(bench.settings(replace(source, keep=("rare", "titel")), bench.out("other.parquet")))
    with pytest.raises(ConfigError, match=r"night-0.*has no column 'rare'; it(s 2 lines have| has) key, text"):
        run_job(bench.settings(replace(source, paths=paths[:1]), bench.out("other.parquet")))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "lance", "jsonl", "csv"])
def test_a_column_id_that_names_no_row_is_told_before_the_first_is_sent(bench: Bench, ending) -> None:
    paths = write_tables(bench.folder, ending, [pa.table({"id": ["a", "b"], "text": ["one", "two"]})])
    said = f"there is a column 'id', but rows are named by their places, as {paths[0]}:0; --id id names them by it"
    seen: list[JobProgress] = []
    settings = bench.settings(SourceSettings(paths), bench.out("out.jsonl"), name="mine")
    assert dry_run(settings).notes == (said,)
    run_job(settings, progress=seen.append)
    assert (seen[0].requests, seen[0].notes) == (0, (said,))
    seen.clear()
    run_job(settings, progress=seen.append)  # it is too late now
    assert seen[0].notes == ()
    seen.clear()
    run_job(bench.settings(SourceSettings(paths, id="id"), bench.out("other.jsonl")), progress=seen.append)
    assert seen[0].notes == ()


@pytest.mark.parametrize(
    "ids", [[[1], [2]], [{"a": 1}, {"a": 2}], [b"a", b"\xff"], pa.array([b"ab", b"cd"], pa.binary(2))]
)
def test_a_column_that_names_no_rows_is_told_before_one_is_read(tmp_path, ids) -> None:
    pq.write_table(pa.table({"id": ids, "text": ["a", "b"]}), tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match=r"a.parquet: column 'id' is .*, expected text, numbers or times"):
        next(open_source(SourceSettings((str(tmp_path / "a.parquet"),), id="id")).parts())


def test_a_column_of_ours_cannot_be_kept_under_its_name(tmp_path) -> None:
    pq.write_table(pa.table({"text": ["a"], "vector": [[1.0]], "n": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match="found 'vector', which is a column of the output"):
        gathered(open_source(SourceSettings((str(tmp_path / "a.parquet"),), keep=("vector",))))
    source = open_source(SourceSettings((str(tmp_path / "a.parquet"),), keep=("*",)))
    (rows,) = source.read(next(source.parts()))
    assert rows.table.column_names == ["id", "text", "n"]
    (tmp_path / "a.jsonl").write_text('{"text": "a", "vector": 1}\n')
    with pytest.raises(ConfigError, match="found 'vector'"):
        gathered(open_source(SourceSettings((str(tmp_path / "a.jsonl"),), keep=("vector",))))


def test_fields_of_lines_are_kept_as_they_stood(bench: Bench) -> None:
    rows = [{"text": "a", "n": 1, "deep": {"x": [1, None]}}, {"text": "b", "other": "so"}]
    source = SourceSettings((bench.jsonl(rows),), keep=("*",))
    run_job(bench.settings(source, bench.out("out.parquet"), block_rows=1))
    found = read_rows(bench.out("out.parquet"))
    assert (found["n"], found["deep"], found["other"]) == (["1", None], ['{"x": [1, null]}', None], [None, "so"])


def test_standard_input_is_a_source_and_resumed_by_its_content(bench: Bench, monkeypatch) -> None:
    class Stdin:
        def __init__(self, data: bytes) -> None:
            self.buffer = io.BytesIO(data)

    settings = bench.settings(SourceSettings(("-",), id="key"), bench.out("out.parquet"))
    monkeypatch.setattr(sys, "stdin", Stdin(lines()))
    assert run_job(settings).counts.done == ROWS
    more = lines() + b'{"key": "more", "text": "one more"}\n'
    monkeypatch.setattr(sys, "stdin", Stdin(more))
    report = run_job(settings)
    assert (report.counts.done, report.requests) == (ROWS + 1, 5)  # four blocks, and the new row
    assert read_rows(bench.out("out.parquet"))["id"][-1] == "more"


def test_a_folder_of_files_is_a_text_a_file_with_its_identity(bench: Bench) -> None:
    """SPEC K1: normalised to Markdown, with a source and the original's hash; ignore rules hold."""
    import hashlib

    docs = bench.folder / "docs"
    for name, data in {
        "a.md": b"# A\n\nWords.",
        "b.html": b"<html><body><h1>Title</h1><p>Some <b>bold</b> words.</p></body></html>",
        "sub/c.txt": "naïve".encode("utf-16"),
        "sub/skipped.log": b"log",
        "sub/keep.log": b"kept",
        "build/out.txt": b"made",
        "picture.bin": bytes(range(256)) * 8,
        ".gitignore": b"*.log\n!keep.log\n/build/\n",
    }.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_bytes(data)
    source = SourceSettings((str(docs),), keep=("uri", "sha256", "bytes", "text"), ignore=("*.tmp",))
    report = run_job(bench.settings(source, bench.out("out.parquet")))
    found = read_rows(bench.out("out.parquet"))
    assert [Path(each).name for each in found["id"]] == ["a.md", "b.html", "c.txt", "keep.log"]
    assert found["text"] == ["# A\n\nWords.", "# Title\n\nSome bold words.", "naïve", "kept"]
    assert found["uri"][0] == (docs / "a.md").as_uri()
    assert found["sha256"][0] == hashlib.sha256(b"# A\n\nWords.").hexdigest()
    assert report.passed_over["ignored"] == 2
    assert report.passed_over["binary"] == 1
    assert report.counts.adds_up
    assert report.counts.rows == 4


def test_a_file_that_is_named_and_cannot_be_read_has_failed(bench: Bench) -> None:
    (bench.folder / "a.bin").write_bytes(bytes(range(256)) * 8)
    (bench.folder / "b.txt").write_bytes("中文文本".encode("gb18030"))
    (bench.folder / "c.txt").write_bytes(b"words")
    paths = tuple(str(bench.folder / name) for name in ("a.bin", "b.txt", "c.txt"))
    report = run_job(bench.settings(SourceSettings(paths), bench.out("out.parquet")))
    assert (report.counts.done, report.counts.failed, report.causes) == (1, 2, {"unreadable": 2})
    with pytest.raises(ConfigError, match="found 'nothing', of files there are uri"):
        open_source(SourceSettings(paths, keep=("nothing",)))
    (bench.folder / "empty").mkdir()
    with pytest.raises(InputError, match="no file to read"):
        list(open_source(SourceSettings((str(bench.folder / "empty"),))).parts())


def test_files_of_an_object_store_are_read_through_fsspec(bench: Bench) -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    for name in ("a", "b"):
        with system.open(f"/bucket/rows/{name}.parquet", "wb") as file:
            pq.write_table(table(), file)
    with system.open("/bucket/docs/one.md", "wb") as file:
        file.write(b"# One\n\nWords.")
    source = open_source(SourceSettings(("memory://bucket/rows/*.parquet",), id="key"))
    assert gathered(source)[0] == [f"k{i}" for i in range(ROWS)] * 2
    assert len(gathered(open_source(SourceSettings(("memory://bucket/rows",))))[0]) == 2 * ROWS
    source = open_source(SourceSettings(("memory://bucket/docs",), keep=("uri",)))
    (rows,) = source.read(next(source.parts()))
    assert rows.table["text"].to_pylist() == ["# One\n\nWords."]
    out = "memory://bucket/out.parquet"
    report = run_job(bench.settings(SourceSettings(("memory://bucket/rows/a.parquet",), id="key"), SinkSettings(out)))
    assert report.target == out
    with system.open("/bucket/out.parquet", "rb") as file:
        assert pq.read_table(file)["id"].to_pylist() == [f"k{i}" for i in range(ROWS)]
    assert not [each for each in system.ls("/bucket") if each["name"].endswith(".part")]


def test_the_absence_of_an_extra_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtra, match=r"unabridged\[jobs\]"):
        list(open_source(SourceSettings(("memory://bucket/a.parquet",))).parts())
    monkeypatch.setitem(sys.modules, "lance", None)
    with pytest.raises(MissingExtra, match=r"unabridged\[memory\]"):
        list(open_source(SourceSettings(("a.lance",))).parts())


def test_shards_begin_at_the_same_rows_wherever_a_run_begins(tmp_path) -> None:
    write_parquet(tmp_path / "a.parquet")
    source = open_source(SourceSettings((str(tmp_path / "a.parquet"),), id="key"))
    part = next(source.parts())
    every = [(s.first, s.after, len(s)) for s in shards(source, part, 1, Gaps([]), rows=8, characters=10**9)]
    assert [after for _, after, _ in every] == [8, 16, 24, 32, 40, 48, 50]
    done = [(0, 8), (16, 24), (40, 48)]
    rest = [(s.first, s.after, len(s)) for s in shards(source, part, 1, Gaps(done), rows=8, characters=10**9)]
    assert rest == [each for each in every if (each[0], each[1]) not in done]
    small = list(shards(source, part, 1, Gaps([]), rows=100, characters=100))
    assert all(sum(map(len, s.table["text"].to_pylist()[:-1])) < 100 for s in small)
    assert [row for s in small for row in range(s.first, s.after)] == list(range(ROWS))


def test_chosen_rows_alone_are_read_again(tmp_path) -> None:
    write_parquet(tmp_path / "a.parquet")
    source = open_source(SourceSettings((str(tmp_path / "a.parquet"),), id="key"))
    part = next(source.parts())
    made = list(chosen(source, part, 1, [3, 30, 31, 49], 100))
    assert [s.row(at) for s in made for at in range(len(s))] == [3, 30, 31, 49]
    assert [each for s in made for each in s.table["id"].to_pylist()] == ["k3", "k30", "k31", "k49"]
    assert list(chosen(source, part, 1, [], 100)) == []


@pytest.mark.parametrize(
    ("patterns", "path", "ignored"),
    [
        (["*.log"], "a/b/c.log", True),
        (["/*.log"], "a/b.log", False),
        (["a/"], "a/b.txt", True),
        (["a/"], "a", False),
        (["a/*.txt"], "a/b/c.txt", False),
        (["**/x/*.txt"], "q/x/c.txt", True),
        (["a/**"], "a/b/c", True),
        (["file[0-9].txt"], "file7.txt", True),
        (["file[!0-9].txt"], "file7.txt", False),
        (["# note", "", r"\#real"], "#real", True),
        (["*", "!a.txt"], "a.txt", False),
        (["dir/", "!dir/a.txt"], "dir/a.txt", True),
    ],
)
def test_ignore_rules_are_those_of_git(patterns, path, ignored) -> None:
    assert bool(Rules(patterns).ignores(path)) is ignored


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "rows.csv.gz", "rows.jsonl.zst", "rows.jsonl.bz2"])
def test_a_packed_file_that_is_cut_off_is_named_and_what_stood_before_is_not_lost(bench: Bench, name) -> None:
    rows = [f"k{i}" for i in range(40_000)]
    data = "key,text\n" + "".join(f"{key},text of {key}\n" for key in rows)
    if "jsonl" in name:
        data = "".join(json.dumps({"key": key, "text": f"text of {key}"}) + "\n" for key in rows)
    pack = {"gz": gzip.compress, "zst": zstandard.compress, "bz2": bz2.compress}[name.rpartition(".")[2]]
    whole = pack(data.encode())
    path = bench.folder / name
    path.write_bytes(whole[: len(whole) * 3 // 4])
    settings = bench.settings(str(path), bench.out("out.parquet"), block_rows=1000)
    with pytest.raises(UnreadableFile, match=rf"{name}: cannot be read to its end"):
        run_job(settings)
    path.write_bytes(whole)
    report = run_job(settings)
    assert (report.status, report.counts.done) == ("done", 40_000)


def test_what_a_job_writes_it_does_not_read(bench: Bench) -> None:
    docs = bench.folder / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "a.jsonl").write_text('{"text": "one"}\n', "utf-8")
    for paths, target in (
        ((str(docs),), docs / "sub" / "out.jsonl"),
        ((f"{docs}/**/*.jsonl",), docs / "sub" / "out.jsonl"),
        ((str(docs),), docs / "out.lance"),
    ):
        settings = bench.settings(SourceSettings(paths), str(target))
        for _ in range(2):
            assert run_job(settings).counts.done == 1
        assert run_job(settings).idle
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    (docs / "note.md").write_text("# A note", "utf-8")  # now it is a folder of files, a text each
    settings = bench.settings(SourceSettings((str(docs),)), str(docs / "texts.jsonl"))
    run_job(settings)
    report = run_job(settings)
    assert (report.counts.done, report.passed_over["the output"]) == (2, 1)


def test_an_output_in_the_place_of_what_is_read_is_refused(bench: Bench) -> None:
    source = bench.jsonl([{"key": "a", "text": "one"}])
    before = Path(source).read_bytes()
    with pytest.raises(ConfigError, match=r"sink\.target: .*in\.jsonl is what is read; write elsewhere"):
        run_job(bench.settings(source, SinkSettings(source, force=True)))
    assert Path(source).read_bytes() == before
