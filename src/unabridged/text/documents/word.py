"""Word files: paragraphs, headings, lists, tables, footnotes and text boxes, with pages where Word marked them.

python-docx opens the package and knows its styles; the body is walked here, so that inserted text, content
controls and text boxes, which its own iteration skips, are read too. Deleted text is not.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from unabridged.errors import MissingExtra, UnreadableFile
from unabridged.text.documents.model import Document
from unabridged.text.documents.writer import MarkdownWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_word"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WRAPPERS = (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}moveTo", f"{_W}customXml", f"{_W}smartTag")
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_NOTES = re.compile(r"/(?:footnotes|endnotes)$")


def read_word(data: bytes, source: str | None) -> Document:
    """Read a .docx file."""
    try:
        import docx
        from docx.opc.exceptions import PackageNotFoundError
    except ImportError:
        raise MissingExtra("python-docx", "documents") from None
    try:
        package = docx.Document(io.BytesIO(data))
    except (BadZipFile, KeyError, ValueError, PackageNotFoundError) as error:
        raise UnreadableFile(source or "bytes", f"not a Word file ({type(error).__name__})") from None
    reader = _Reader(package)
    reader.walk(package.element.body)
    reader.flush()
    for notes in _note_parts(package):
        reader.notes(notes)
    title = (package.core_properties.title or "").strip() or reader.title
    pages = reader.page if reader.paged else None
    out = reader.out
    blocks = out.blocks() if reader.paged else tuple(_unpaged(out.blocks()))
    return Document(out.text(), blocks, "word", source, title=title or None, pages=pages)


def _unpaged(blocks: Any) -> Iterator[Any]:
    from dataclasses import replace

    return (replace(block, page=None) for block in blocks)


def _note_parts(package: Any) -> Iterator[Any]:
    from lxml import etree

    for rel in package.part.rels.values():
        if not rel.is_external and _NOTES.search(rel.reltype):
            safe = etree.XMLParser(resolve_entities=False, no_network=True)
            yield etree.fromstring(rel.target_part.blob, safe)


class _Reader:
    """Goes through the body, gathering list items until something else comes."""

    def __init__(self, package: Any) -> None:
        self.styles = {style.style_id: style.name or "" for style in package.styles}
        self.out = MarkdownWriter()
        self.items: list[str] = []
        self.page = 1
        self.paged = False
        self.title: str | None = None

    def walk(self, element: Any) -> None:
        for child in element:
            if child.tag == f"{_W}p":
                self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                self.flush()
                self.out.table(_rows(child), page=self.page)
                self._count_pages(child)
            elif child.tag in _WRAPPERS:
                self.walk(child)

    def flush(self) -> None:
        """Write the list that is open."""
        if self.items:
            self.out.items(self.items, page=self.page)
        self.items = []

    def notes(self, root: Any) -> None:
        """Footnotes and endnotes, each its own block."""
        for note in root:
            if note.get(f"{_W}type") is None:  # separators have a type
                words = " ".join(_words(p).strip() for p in note.iter(f"{_W}p")).strip()
                if words:
                    self.out.add("note", f"[^{note.get(f'{_W}id')}]: {words}")

    def _paragraph(self, p: Any) -> None:
        breaks = _breaks(p)
        before, after = breaks
        if before:
            self.flush()
            self._turn(before)
        words = _words(p)
        style = self._style(p)
        level = _level(p, style)
        if level and words.strip():
            self.flush()
            self.title = self.title or words.strip()
            self.out.heading(words, level, page=self.page)
        elif _is_item(p, style) and words.strip():
            self.items.append("  " * _depth(p) + "- " + words.strip())
        else:
            self.flush()
            self.out.paragraph(words.strip(), page=self.page)
        for box in p.iter(f"{_W}txbxContent"):
            if not any(up.tag.endswith("}Fallback") for up in box.iterancestors()):
                self.flush()
                self.walk(box)
        if after:
            self.flush()
            self._turn(after)

    def _style(self, p: Any) -> str:
        found = p.find(f"{_W}pPr/{_W}pStyle")
        return self.styles.get(found.get(f"{_W}val"), "") if found is not None else ""

    def _turn(self, pages: int) -> None:
        self.page += pages
        self.paged = True

    def _count_pages(self, element: Any) -> None:
        turns = sum(1 for _ in element.iter(f"{_W}lastRenderedPageBreak"))
        if turns:
            self._turn(turns)


def _breaks(p: Any) -> tuple[int, int]:
    """How often the page turns before the paragraph's first word, and within or after it."""
    before = after = 0
    seen, hard = False, False
    for node in p.iter(f"{_W}t", f"{_W}br", f"{_W}lastRenderedPageBreak", f"{_W}pageBreakBefore"):
        if node.tag == f"{_W}t":
            seen = seen or bool((node.text or "").strip())
            hard = False
            continue
        rendered = node.tag == f"{_W}lastRenderedPageBreak"
        if node.tag == f"{_W}br" and node.get(f"{_W}type") != "page":
            continue
        if rendered and hard:  # Word marks the break that it was told to make once more
            hard = False
            continue
        hard = not rendered
        before, after = (before, after + 1) if seen else (before + 1, after)
    return before, after


def _words(p: Any) -> str:
    """A paragraph's text, text boxes and deletions left out."""
    parts = []
    for node in p.iter(f"{_W}t", f"{_W}tab", f"{_W}br", f"{_W}cr", f"{_W}noBreakHyphen", f"{_W}footnoteReference"):
        if any(up.tag in (f"{_W}txbxContent", f"{_W}moveFrom") for up in _within(node, p)):
            continue
        if node.tag == f"{_W}t":
            parts.append(node.text or "")
        elif node.tag == f"{_W}footnoteReference":
            parts.append(f"[^{node.get(f'{_W}id')}]")
        elif node.tag == f"{_W}noBreakHyphen":
            parts.append("-")
        elif node.tag != f"{_W}br" or node.get(f"{_W}type") in (None, "textWrapping"):
            parts.append(
                "\t" if node.tag == f"{_W}tab" and node.getparent().tag == f"{_W}r" else "\n" * (node.tag != f"{_W}tab")
            )
    return "".join(parts)


def _within(node: Any, top: Any) -> Iterator[Any]:
    for up in node.iterancestors():
        if up is top:
            return
        yield up


def _level(p: Any, style: str) -> int:
    outline = p.find(f"{_W}pPr/{_W}outlineLvl")
    if outline is not None and (outline.get(f"{_W}val") or "").isdigit() and int(outline.get(f"{_W}val")) < 9:
        return min(int(outline.get(f"{_W}val")) + 1, 6)
    found = _HEADING.fullmatch(style)
    return min(int(found[1]), 6) if found else 1 if style == "Title" else 0


def _is_item(p: Any, style: str) -> bool:
    return p.find(f"{_W}pPr/{_W}numPr") is not None or (style.startswith("List ") and "Continue" not in style)


def _depth(p: Any) -> int:
    level = p.find(f"{_W}pPr/{_W}numPr/{_W}ilvl")
    return int(level.get(f"{_W}val") or 0) if level is not None else 0


def _rows(table: Any) -> list[list[str]]:
    rows = []
    for row in table.iter(f"{_W}tr"):
        cells = []
        for cell in row.iter(f"{_W}tc"):
            if next(cell.iterancestors(f"{_W}tr")) is not row:
                continue  # a table inside a cell is read with that cell
            words = " ".join(_words(p).strip() for p in cell.iter(f"{_W}p"))
            span = cell.find(f"{_W}tcPr/{_W}gridSpan")
            cells += [words, *[""] * (int(span.get(f"{_W}val")) - 1 if span is not None else 0)]
        if next(row.iterancestors(f"{_W}tbl")) is table:
            rows.append(cells)
    return rows
