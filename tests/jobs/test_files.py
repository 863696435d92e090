"""Issue 2, bad input: files are found without loops and read without guessing."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from unabridged.errors import MissingExtra, UnreadableFile
from unabridged.jobs.files import BinaryFile, decode, find_files, read_text


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("docs/a.md", "docs/sub/b.txt", "docs/.hidden/c.md", "docs/node_modules/d.js", "docs/.env", "top.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(name, "utf-8")
    Path("docs/loop").symlink_to("..")
    Path("docs/self").symlink_to("self")
    Path("docs/broken").symlink_to("nothing")
    Path("docs/link.md").symlink_to("a.md")
    os.mkfifo("docs/pipe")
    return tmp_path


def ids(*paths: str, **options) -> list[str]:
    return [file.id for file in find_files(paths, **options).files]


def test_a_folder_is_walked_once_without_loops_pipes_and_hidden_things(tree) -> None:
    assert ids("docs") == ["docs/a.md", "docs/sub/b.txt"]  # link.md is a.md
    skipped = find_files(["docs"]).skipped
    assert sum(skipped.values()) == 7
    assert skipped["hidden"] == 2


def test_hidden_things_on_request_but_never_a_repository(tree) -> None:
    Path("docs/.git").mkdir()
    Path("docs/.git/HEAD").write_text("x")
    assert ids("docs", hidden=True) == ["docs/.env", "docs/a.md", "docs/.hidden/c.md", "docs/sub/b.txt"]


def test_a_file_that_several_paths_reach_is_taken_once(tree) -> None:
    assert ids("docs", "docs/a.md", "docs/*.md", "docs/../docs/a.md", str(tree / "docs" / "a.md")) == [
        "docs/a.md",
        "docs/sub/b.txt",
    ]
    named = {file.id: file.named for file in find_files(["docs", "docs/a.md"]).files}
    assert named == {"docs/a.md": True, "docs/sub/b.txt": False}


def test_patterns(tree) -> None:
    assert ids("docs/**/*.txt") == ids("**/b.*") == ids("./d*/**/[a-c].txt") == ["docs/sub/b.txt"]
    assert ids("docs/**") == ids("docs/**/*") == ["docs/a.md", "docs/sub/b.txt"]
    assert ids("**/a.md") == ids("docs/**/a.md") == ["docs/a.md"]
    assert ids(f"{tree}/**/a.md") == [f"{tree}/docs/a.md"]
    assert ids("docs/**/.env") == ["docs/.env"]
    assert ids("docs/su*") == ["docs/sub/b.txt"]
    assert ids("*.txt") == ["top.txt"]


def test_links_in_a_circle_do_not_multiply_under_a_pattern(tree) -> None:
    for n in range(20):
        Path(f"docs/sub/loop{n}").symlink_to("..")
    assert ids("docs/**/*.md") == ["docs/a.md"]


def test_what_is_excluded_is_not_read(tree) -> None:
    assert ids("docs", exclude=[tree / "docs" / "a.md"]) == ["docs/sub/b.txt"]


@pytest.mark.parametrize(("path", "reason"), [("nowhere", "no such file"), ("*.nothing", "no file matches")])
def test_paths_that_lead_nowhere_are_named(tree, path, reason) -> None:
    with pytest.raises(UnreadableFile, match=reason) as caught:
        find_files([path])
    assert path in str(caught.value)


def test_a_name_that_is_not_utf8_is_spelled_out(tree) -> None:
    Path(os.fsdecode(b"docs/\xff.txt")).write_text("x")
    assert "docs/\\xff.txt" in ids("docs")


def test_a_name_with_a_magic_letter_is_a_name_if_it_is_there(tree) -> None:
    Path("a[1].txt").write_text("x")
    assert ids("a[1].txt") == ["a[1].txt"]


@pytest.mark.parametrize(
    ("data", "text", "warned"),
    [
        (b"", "", False),
        ("naïve 文".encode(), "naïve 文", False),
        ("naïve 文".encode("utf-8-sig"), "naïve 文", False),
        ("naïve 文".encode("utf-16"), "naïve 文", False),
        ("naïve 文".encode("utf-32"), "naïve 文", False),
        (b"nul \0 inside a text", "nul \0 inside a text", False),
        ("Ein schöner Tag in Köln".encode("latin-1"), "Ein schöner Tag in Köln", True),
        ("中文的句子很多很多".encode() + b"\xff", "中文的句子很多很多\ufffd", True),
    ],
)
def test_encodings_are_told_from_the_bytes(data, text, warned, tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    found, warning = read_text(path)
    assert (found, warning is not None) == (text, warned)


@pytest.mark.parametrize("encoding", ["gb18030", "shift_jis", "koi8-r", "big5"])
def test_other_encodings_are_refused_rather_than_guessed_and_read_when_named(encoding, tmp_path) -> None:
    text = {"koi8-r": "Привет, как дела?", "shift_jis": "日本語の文章です。"}.get(encoding, "中文文本")
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(UnreadableFile, match="not UTF-8"):
        read_text(path)
    assert read_text(path, encoding) == (text, None)


def test_a_wrong_or_unknown_encoding_is_named() -> None:
    with pytest.raises(UnreadableFile, match="not ASCII at byte 3"):
        decode("café".encode(), "a", "ascii")
    with pytest.raises(UnreadableFile, match="klingon is not an encoding"):
        decode(b"x", "a", "klingon")


@pytest.mark.parametrize("data", [bytes(range(256)) * 20, b"\x7fELF" + b"\0" * 400, b"PK\x03\x04" + b"\0" * 99])
def test_binary_files_are_told_apart(data, tmp_path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(data)
    with pytest.raises(BinaryFile, match="binary"):
        read_text(path)


def test_what_cannot_be_opened_has_a_reason(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(UnreadableFile, match=str(path.name)):
            read_text(path)


def test_documents_are_read_as_their_text_where_the_extra_is_installed(tmp_path, monkeypatch) -> None:
    pytest.importorskip("pypdfium2")
    docx = pytest.importorskip("docx")
    from reportlab.pdfgen.canvas import Canvas

    page = Canvas(str(tmp_path / "paper.pdf"))
    page.drawString(72, 720, "A sentence on a page.")
    page.save()
    letter = docx.Document()
    letter.add_paragraph("A sentence in a letter.")
    letter.save(str(tmp_path / "letter.docx"))
    (tmp_path / "plain.pdf").write_text("a text with a wrong name", "utf-8")
    assert "A sentence on a page." in read_text(tmp_path / "paper.pdf")[0]
    assert "A sentence in a letter." in read_text(tmp_path / "letter.docx")[0]
    assert read_text(tmp_path / "plain.pdf")[0] == "a text with a wrong name"

    (tmp_path / "damaged.pdf").write_bytes(b"%PDF-1.7 and no more")
    with pytest.raises(UnreadableFile, match=r"damaged\.pdf"):
        read_text(tmp_path / "damaged.pdf")

    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("pypdfium2", "documents")

    monkeypatch.setattr("unabridged.text.documents.read_document", missing)
    with pytest.raises(BinaryFile, match=r"unabridged\[documents\]"):
        read_text(tmp_path / "paper.pdf")


@pytest.mark.parametrize(
    ("data", "guessed", "refused"),
    [
        ("naïve".encode(), "naïve", "naïve"),
        ("naïve".encode("utf-16"), "naïve", "naïve"),
        (b"caf\xe9 au lait", "café au lait", "café au lait"),
        ("# coding: koi8-r\nпривет".encode("koi8-r"), "# coding: koi8-r\nпривет", None),  # a declaration is not read
        (codecs.BOM_UTF8 + b"broken \xff", "broken ÿ", None),  # what a mark says holds
        ("中文的句子".encode() + b"\xff", None, "中文的句子\ufffd"),
    ],
)
def test_one_decoder_guesses_or_refuses(data, guessed, refused) -> None:
    from unabridged.text.documents.decode import decode as either

    if guessed is not None:
        assert either(data)[0].removeprefix("ï»¿") == guessed
    if refused is None:
        with pytest.raises(UnreadableFile, match="not UTF-8"):
            either(data, "a.txt", unfit="refuse")
    else:
        assert either(data, "a.txt", unfit="refuse")[0] == refused == decode(data, "a.txt")[0]
