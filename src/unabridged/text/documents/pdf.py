"""PDF files: the text layer of each page as paragraphs and headings, with page numbers.

PDFium (pypdfium2) gives characters in reading order with their boxes and sizes. Lines are joined to paragraphs
by the space between them, a larger or bolder short line is a heading, and a line that most pages repeat at
their top or bottom is left out and counted. A page without a text layer is said to have none.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from unabridged.errors import MissingExtra, UnreadableFile
from unabridged.text.documents.model import Document
from unabridged.text.documents.writer import MarkdownWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Line", "read_pdf", "write_lines"]

_LARGER = 1.15  # a heading's size against the body's
_APART = 1.35  # a gap between paragraphs against the usual pitch of lines
_HEADING_CHARS = 150
_REPEATED = 0.6  # the share of pages that repeat a running head
_EDGE = 2  # running heads and feet are among so many lines of the page's ends
_PITCH = 1.2  # the usual pitch of lines in sizes, where a page has too few lines to measure
_BULLET = re.compile(r"\s*(?:[•‣◦▪●○■□–—*·]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_BULLET_SIGN = re.compile(r"^[•‣◦▪●○■□·]\s*")
_STOPS = (".", "!", "?", ":", ";", "。", "！", "？", "”", '"')
_HYPHENS = ("\ufffe", "\x02", "\xad")
_CLOSE_SCRIPTS = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uff60]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page: its words, its box in points (the origin at the bottom left), size and weight."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    size: float
    bold: bool


def read_pdf(data: bytes, source: str | None, *, password: str | None = None, whole: bool = False) -> Document:
    """Read a PDF; ``whole=True`` keeps running heads and feet."""
    try:
        import pypdfium2
    except ImportError:
        raise MissingExtra("pypdfium2", "documents") from None
    try:
        pdf = pypdfium2.PdfDocument(data, password=password)
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise UnreadableFile(source or "bytes", "needs a password" if locked else f"not a PDF ({error})") from None
    try:
        pages = [_lines(pdf, number) for number in range(len(pdf))]
        title = pdf.get_metadata_dict().get("Title") or None
    finally:
        pdf.close()
    kept, dropped = (pages, 0) if whole else _without_running_heads(pages)
    out = MarkdownWriter()
    write_lines(out, kept)
    unread = tuple(number for number, lines in enumerate(pages, 1) if not lines)
    notes = (f"{source or 'bytes'}: {_pages(unread)} no text layer (a scan or empty)",) if unread else ()
    return Document(
        out.text(), out.blocks(), "pdf", source, title=title, pages=len(pages), unread_pages=unread,
        metadata={"running_lines_left_out": dropped} if dropped else {}, warnings=notes,
    )  # fmt: skip


def _pages(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:10])) + (" …" if len(numbers) > 10 else "")
    return f"page {shown} has" if len(numbers) == 1 else f"pages {shown} have"


def _lines(pdf: Any, number: int) -> list[Line]:
    page = pdf[number]
    layer = page.get_textpage()
    try:
        return list(_read_layer(layer))
    finally:
        layer.close()
        page.close()


def _read_layer(layer: Any) -> Iterator[Line]:
    from pypdfium2 import raw

    codes = [raw.FPDFText_GetUnicode(layer, at) for at in range(layer.count_chars())]
    text = "".join(map(chr, codes))
    for found in re.finditer(r"[^\r\n]+", text):
        words = found[0]
        if words.strip():
            first = found.start() + len(words) - len(words.lstrip())
            last = found.start() + len(words.rstrip()) - 1
            yield _line(raw, layer, _real(words), (first, (first + last) // 2, last))


def _real(words: str) -> str:
    """A line's words; characters above the basic plane arrive as surrogate pairs."""
    pairs = words.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for hyphen in _HYPHENS[:2]:
        pairs = pairs.replace(hyphen, "\xad")
    return " ".join(pairs.replace("\0", "").split())


def _line(raw: Any, layer: Any, words: str, at: tuple[int, int, int]) -> Line:
    first, middle, last = at
    left, _, bottom, top = _box(raw, layer, first)
    _, right, low, high = _box(raw, layer, last)
    weight = raw.FPDFText_GetFontWeight(layer, middle)
    name = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(layer, middle, name, 128, ctypes.c_int())
    bold = weight >= 600 or re.search(rb"bold|black|heavy", name.value, re.IGNORECASE) is not None
    size = raw.FPDFText_GetFontSize(layer, middle) * _scale(raw, layer, middle)
    return Line(words, left, right, min(bottom, low), max(top, high), round(size, 1), bold)


def _scale(raw: Any, layer: Any, at: int) -> float:
    """Many writers set size 1 and scale by the text matrix."""
    matrix = raw.FS_MATRIX()
    if not raw.FPDFText_GetMatrix(layer, at, matrix):
        return 1.0
    return float((matrix.c**2 + matrix.d**2) ** 0.5) or 1.0


def _box(raw: Any, layer: Any, at: int) -> tuple[float, float, float, float]:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    raw.FPDFText_GetCharBox(layer, at, left, right, bottom, top)
    return left.value, right.value, bottom.value, top.value


def _without_running_heads(pages: list[list[Line]]) -> tuple[list[list[Line]], int]:
    """The pages without the lines that most of them repeat at the edge (their digits may differ)."""
    seen: Counter[str] = Counter()
    for lines in pages:
        seen.update({_pattern(line) for line in (*lines[:_EDGE], *lines[-_EDGE:])})
    often = {key for key, count in seen.items() if count >= max(3, _REPEATED * len(pages))}
    if not often:
        return pages, 0
    kept = []
    for lines in pages:
        edge = {*range(min(_EDGE, len(lines))), *range(max(0, len(lines) - _EDGE), len(lines))}
        kept.append([line for at, line in enumerate(lines) if at not in edge or _pattern(line) not in often])
    return kept, sum(map(len, pages)) - sum(map(len, kept))


def _pattern(line: Line) -> str:
    return re.sub(r"\d+|\b[ivxlc]+\b", "0", line.text)


def write_lines(out: MarkdownWriter, pages: Sequence[Sequence[Line]]) -> None:
    """Write the pages' lines as headings and paragraphs.

    >>> out = MarkdownWriter()
    >>> row = lambda text, top, size=10.0: Line(text, 50, 300, top - size, top, size, False)
    >>> write_lines(out, [[row("Report", 700, 18.0), row("It rose by", 650), row("a tenth.", 638)]])
    >>> out.text()
    '# Report\\n\\nIt rose by a tenth.'
    """
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    levels = _levels(pages, body)
    for number, lines in enumerate(pages, 1):
        for group in _groups(lines):
            level = _level(group, body, levels)
            if level:
                out.heading(" ".join(line.text for line in group), level, page=number)
            else:
                _write_paragraph(out, group, number)


def _levels(pages: Sequence[Sequence[Line]], body: float) -> list[float]:
    """The sizes of headings, largest first."""
    sizes = {line.size for lines in pages for line in lines if line.size >= body * _LARGER}
    return sorted(sizes, reverse=True)[:5]


def _level(group: Sequence[Line], body: float, levels: list[float]) -> int:
    words = " ".join(line.text for line in group)
    short = (
        len(words) <= _HEADING_CHARS
        and not words.endswith((".", ",", ";", "。", "，"))
        and any(map(str.isalpha, words))
    )
    size = group[0].size
    if not short:
        return 0
    if size >= body * _LARGER:
        return levels.index(size) + 1 if size in levels else 6
    bold = all(line.bold for line in group) and size >= body * 0.95 and not words.endswith(":")
    return min(len(levels) + 1, 6) if bold and len(group) <= 2 else 0


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines that belong together: one size and weight, no gap, no bullet, no paragraph's short last line."""
    pitch = _usual_pitch(lines)
    widest = max((line.right - line.left for line in lines), default=0.0)
    group: list[Line] = []
    for line in lines:
        if group and _parted(group[-1], line, pitch, widest):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _usual_pitch(lines: Sequence[Line]) -> float:
    steps = [a.bottom - b.bottom for a, b in itertools.pairwise(lines) if 0 < a.bottom - b.bottom < 4 * a.size]
    return median(steps) if len(steps) >= 4 else _PITCH * median(line.size for line in lines) if lines else 0.0


def _parted(above: Line, line: Line, pitch: float, widest: float) -> bool:
    if abs(above.size - line.size) > 0.1 * above.size or above.bold != line.bold or _BULLET.match(line.text):
        return True
    step = above.bottom - line.bottom
    if step < -line.size:  # a new column: the paragraph goes on unless the line ended it
        return above.text.endswith(_STOPS)
    if step > max(pitch * _APART, _PITCH * line.size * 1.05):
        return True
    ended = above.text.endswith(_STOPS) and above.right - above.left < 0.8 * widest
    indented = line.left - above.left > 0.8 * line.size and above.text.endswith(_STOPS)
    return ended or indented


def _write_paragraph(out: MarkdownWriter, group: Sequence[Line], page: int) -> None:
    widest = max(line.right for line in group) - min(line.left for line in group)
    words = group[0].text
    for above, line in itertools.pairwise(group):
        words = _joined(words, line.text, short=above.right - above.left < 0.7 * widest)
    words = words.replace("\xad", "")
    item = _BULLET_SIGN.match(words)
    if item:
        out.items([f"- {words[item.end() :]}"], page=page)
    else:
        out.paragraph(words, page=page)


def _joined(above: str, line: str, *, short: bool) -> str:
    if above.endswith("\xad") or (re.search(r"[^\W\d_]-$", above) and line[:1].islower()):
        return above[:-1] + line
    if short:
        return f"{above}\n{line}"
    near = _CLOSE_SCRIPTS.match(above[-1:]) and _CLOSE_SCRIPTS.match(line[:1])
    return above + line if near else f"{above} {line}"
