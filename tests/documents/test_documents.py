"""Files to documents: SPEC K1, K9, S8 and what each format keeps. The files are made here."""

import hashlib
import io
import json
import zipfile

import pytest

from unabridged.errors import InputError, UnreadableFile
from unabridged.text.documents import Document, is_code, read_document, read_documents, walk_folder
from unabridged.text.segmenters import split


def kinds(document):
    return [(b.kind, b.section) for b in document.blocks]


def sound(document):
    at = 0
    for number, block in enumerate(document.blocks, 1):
        assert block.id == str(number)
        assert at <= block.start < block.end <= len(document.text)
        assert not document.text[at : block.start].strip()
        assert all(block.start < cut < block.end for cut in block.cuts)
        at = block.end
    assert not document.text[at:].strip()
    return document


def pdf(pages, password=None):
    canvas = pytest.importorskip("reportlab.pdfgen.canvas")
    data = io.BytesIO()
    options = {}
    if password:
        from reportlab.lib import pdfencrypt

        options["encrypt"] = pdfencrypt.StandardEncryption(password)
    page = canvas.Canvas(data, **options)
    page.setTitle("The report")
    for lines in pages:
        for size, x, y, text in lines:
            page.setFont("Helvetica", size)
            page.drawString(x, y, text)
        page.showPage()
    page.save()
    return data.getvalue()


def test_a_pdf_has_pages_headings_paragraphs_and_says_which_page_is_a_scan():
    body = [(18, 72, 720, "Main Title"), (10, 72, 690, "The first paragraph goes over two lines and ends in an exam-"),
            (10, 72, 678, "ple of a hyphen."), (10, 72, 640, "A second paragraph.")]  # fmt: skip
    document = sound(read_document(pdf([body, [], [(10, 72, 700, "Third page text.")]])))
    assert (document.format, document.pages, document.unread_pages, document.title) == ("pdf", 3, (2,), "The report")
    assert "page 2 has no text layer" in document.warnings[0]
    assert kinds(document)[0] == ("heading", "Main Title")
    assert "ends in an example of a hyphen." in document.text
    assert [b.page for b in document.blocks] == [1, 1, 1, 3]
    assert [c.page for c in split(document, "page")] == [1, 3]
    assert any("no text layer" in said for said in split(document).warnings)


def test_running_heads_of_a_pdf_are_left_out_unless_whole():
    pages = [
        [(9, 72, 770, "Confidential draft"), (10, 72, 700, f"Body of page {'abcd'[n]}."), (9, 300, 30, f"{n + 1}")]
        for n in range(4)
    ]
    data = pdf(pages)
    assert "Confidential" not in read_document(data).text
    assert read_document(data, whole=True).text.count("Confidential") == 4
    assert "Body of page c." in read_document(data).text


def test_a_locked_or_broken_pdf_is_an_error():
    with pytest.raises(UnreadableFile, match="password"):
        read_document(pdf([[(10, 72, 700, "x")]], password="secret"))
    locked = pdf([[(10, 72, 700, "words")]], password="secret")
    assert read_document(locked, password="secret").text == "words"
    with pytest.raises(UnreadableFile, match="not a PDF"):
        read_document(b"%PDF-1.7 broken")


def test_a_word_file_keeps_headings_lists_tables_and_pages():
    docx = pytest.importorskip("docx")
    from docx.enum.text import WD_BREAK

    made = docx.Document()
    made.add_heading("Title of it", 0)
    made.add_heading("Part one", 1)
    made.add_paragraph("Some words.")
    made.add_paragraph("first", style="List Bullet")
    made.add_paragraph("second", style="List Bullet")
    table = made.add_table(2, 2)
    for at, words in enumerate(("Year", "Sum", "2024", "45|2")):
        table.cell(at // 2, at % 2).text = words
    made.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    made.add_paragraph("On page two.")
    data = io.BytesIO()
    made.save(data)
    document = sound(read_document(data.getvalue()))
    assert document.format == "word"
    assert [kind for kind, _ in kinds(document)] == ["heading", "heading", "paragraph", "list", "table", "paragraph"]
    assert "| 2024 | 45\\|2 |" in document.text
    assert (document.pages, document.blocks[-1].page, document.blocks[0].page) == (2, 2, 1)
    assert document.blocks[2].section == "Part one"
    with pytest.raises(UnreadableFile, match="not a Word file"):
        read_document(b"PK\x03\x04 broken", format="word")


HTML = """<!doctype html><html><head><title>A  page</title><meta charset="{0}"></head><body>
<nav>Home About</nav><main><h1>Café <a class=headerlink href=#>¶</a></h1><p>Hello <b>bold</b> <code>x = 1</code><br>next</p>
<ul><li>one<ul><li>deep</li></ul></li><li>two</li></ul>
<table><caption>Cap</caption><tr><th>A<th>B</tr><tr><td colspan=2>1|2</td></tr><tr><td>3<td>4</table>
<pre><code class="language-py">a
 # b
</code></pre><blockquote><p>said</p></blockquote><hr><div>loose<div>inner</div>tail</div></main>
<footer>foot</footer><script>var x</script></body></html>"""


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "windows-1252"])
def test_a_web_page_keeps_its_content_and_its_encoding(encoding):
    document = sound(read_document(HTML.format(encoding).encode(encoding)))
    assert (document.format, document.title) == ("html", "A page")
    assert document.text.startswith("# Café\n\nHello bold `x = 1`\nnext\n\n- one\n  - deep\n- two")
    assert "| A | B |\n| --- | --- |\n| 1\\|2 |  |\n| 3 | 4 |" in document.text
    assert "```py\na\n # b\n```" in document.text
    assert [kind for kind, _ in kinds(document)][:4] == ["heading", "paragraph", "list", "paragraph"]
    for gone in ("Home", "foot", "var x", "¶"):
        assert gone not in document.text
    assert document.metadata["left_out_chars"] > 10
    assert "Home" in read_document(HTML.format("utf-8"), format="html", whole=True).text


def test_a_deep_or_empty_page_is_read():
    assert read_document(b"<html>" + b"<div>" * 5000 + b"x").text == "x"
    assert read_document(b"", format="html").text == ""
    assert read_document(b"<nav>only this</nav>", format="html").text == "only this"


def test_a_book_has_its_chapters_in_the_order_of_the_spine():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml", '<container><rootfiles><rootfile full-path="o/p.opf"/></rootfiles></container>'
        )
        book.writestr("o/p.opf", '<package xmlns:dc="d"><metadata><dc:title>The Book</dc:title><dc:creator>A. U.</dc:creator></metadata>'
                      '<manifest><item id="b" href="b.xhtml"/><item id="a" href="a%20a.xhtml"/></manifest>'
                      '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>')  # fmt: skip
        book.writestr("o/a a.xhtml", "<html><body><h1>One</h1><p>First.</p></body></html>")
        book.writestr("o/b.xhtml", "<html><body><h1>Two</h1><p>Second.</p></body></html>")
    document = sound(read_document(data.getvalue()))
    assert (document.format, document.title, document.metadata["creator"]) == ("epub", "The Book", "A. U.")
    assert document.text == "# One\n\nFirst.\n\n# Two\n\nSecond."
    for bad in (b"PK no zip", b"not at all"):
        with pytest.raises(UnreadableFile):
            read_document(bad, format="epub")


CODE = '''"""Doc."""
import os


# above
def first(a):
    return a


class Big:
    """Words."""

    def one(self):
        """{0}"""
        return 1

    @property
    def two(self):
        return 2
'''


def test_k9_code_is_cut_at_definitions(tmp_path):
    pytest.importorskip("tree_sitter_python")
    path = tmp_path / "a.py"
    path.write_text(CODE.format("é" * 1500), encoding="utf-8")
    document = sound(read_document(path))
    assert (document.format, document.metadata["language"], document.metadata["parser"]) == (
        "code",
        "python",
        "tree-sitter",
    )
    assert [b.section for b in document.blocks] == [None, "first", "Big", "Big.one", "Big.two"]
    assert document.text[document.blocks[1].start :].startswith("# above\ndef first")
    small = split(read_document(CODE.format("x"), format="code", source="a.py"), "structural", max_tokens=60)
    assert small[0].source_text.rstrip().endswith(("import os", "return a"))


def test_code_without_a_grammar_is_cut_by_indentation():
    text = "func one() {\n  a\n\n  b\n}\n\nfunc two() {\n  c\n}\n"
    document = sound(read_document(text, format="code", source="a.unknown"))
    assert [b.section for b in document.blocks] == ["one", "two"]
    assert document.metadata["parser"] == "indentation"


def test_one_document_a_row_of_json_lines_and_csv(tmp_path):
    rows = [{"id": 1, "text": "# One\n\nhello"}, {"id": 2, "text": "bye"}]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    read = list(read_documents(path))
    assert [d.text for d in read] == [row["text"] for row in rows]
    assert read[0].blocks[0].section == "One"
    assert read[1].metadata == {"id": 2, "row": 2, "line": 2}
    assert read[0].source == f"{path}#1"
    table = b'a;b\n1;"x;y"\n2;z\n'
    assert [d.text for d in read_documents(table, format="csv", column="b")] == ["x;y", "z"]
    assert [d.text for d in read_documents(table, format="csv")] == ["a: 1\nb: x;y", "a: 2\nb: z"]
    assert len(read_document(table, format="csv").blocks) == 2
    with pytest.raises(InputError, match="no column 'c'"):
        list(read_documents(table, format="csv", column="c"))
    with pytest.raises(UnreadableFile, match="line 2 is not JSON"):
        list(read_documents(b'{"a": 1}\n{broken\n', format="jsonl"))


def test_k1_identity_and_the_hash_of_the_original(tmp_path):
    path = tmp_path / "note.md"
    path.write_bytes("# Nöte\n".encode("utf-16"))
    document = read_document(path)
    assert document.text == "# Nöte\n"
    assert document.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (document.identity, document.name, document.title) == (str(path), "note.md", "Nöte")
    assert read_document(b"abc").identity == f"sha256:{hashlib.sha256(b'abc').hexdigest()}"
    assert read_document(b"abc", source="https://x.y/z.md").identity == "https://x.y/z.md"
    assert Document("x").identity is None


def test_k9_a_walk_takes_text_and_documents_and_tells_code_from_prose(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name, data in {"a.py": b"x = 1", "b.md": b"# B", "c.bin": bytes(range(256)), "sub/d.txt": b"d", ".env": b"K=1",
                       ".hidden/e.txt": b"e", "f.pdf": b"%PDF-"}.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
    assert [p.name for p in walk_folder(tmp_path)] == ["a.py", "b.md", "f.pdf", "d.txt"]
    assert "f.pdf" not in [p.name for p in walk_folder(tmp_path, documents=False)]
    assert [is_code(tmp_path / n) for n in ("a.py", "b.md", "sub/d.txt")] == [True, False, False]
    assert [is_code(n) for n in ("x.rs", "x.yaml", "x.json", "x.html", "x.ts")] == [True, False, False, False, True]
    with pytest.raises(UnreadableFile):
        list(walk_folder(tmp_path / "a.py"))
    (tmp_path / "f.pdf").unlink()
    assert {d.name for d in read_documents(tmp_path)} == {"a.py", "b.md", "d.txt"}


@pytest.mark.parametrize("name", ["missing.pdf", "/no/such", "./a/b"])
def test_a_file_that_is_not_there_is_an_error(name):
    with pytest.raises(UnreadableFile, match="no such file"):
        read_document(name)


def test_bytes_that_are_no_text_and_unknown_formats_are_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="binary"):
        read_document(bytes([0, 1, 2, 255]) * 9)
    with pytest.raises(InputError, match="format 'doc'"):
        read_document(b"x", format="doc")
    with pytest.raises(UnreadableFile, match="folder"):
        read_document(tmp_path)


def test_undeclared_eight_bit_text_is_guessed_and_said():
    document = read_document("Ein schöner Tag für alle Bücher und Größen.".encode("cp1252"))
    assert "für" in document.text
    assert "not UTF-8" in document.warnings[0]


def test_a_str_is_a_text_unless_it_names_a_file(tmp_path):
    assert read_document("Just one line of text").text == "Just one line of text"
    path = tmp_path / "x.txt"
    path.write_text("1. START\n\nwords\n", encoding="utf-8")
    assert kinds(read_document(str(path))) == [("heading", "1. START"), ("paragraph", "1. START")]
    assert read_document(read_document(path)).text == "1. START\n\nwords\n"
