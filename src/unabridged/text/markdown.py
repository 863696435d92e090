"""Where the blocks of a Markdown text begin and end: CommonMark's block rules, tables, front matter.

It reads only the lines that can mean something (a hash, a fence, a marker, an underline …), found by one
regular expression, so prose costs next to nothing: a parser that builds the whole tree takes 70 ms a
megabyte, this 5. The tests hold it against markdown-it-py over whole corpora and generated texts.

Only the outermost blocks are told apart: a heading inside a quote or a list item is part of that quote or
list, and a ``#`` inside a fence is code. Offsets are in characters of the text as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

from unabridged.text.markdown_lists import list_extent, quote_extent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Mark", "MarkKind", "heading_text", "paragraphs", "scan", "scan_marked"]

MarkKind = Literal[
    "heading", "paragraph", "code", "table", "list", "quote", "html", "rule", "front_matter", "row", "note"
]


class Mark(NamedTuple):
    """One block: ``text[start:end]`` without the blank lines around it.

    ``level`` is a heading's (1 … 6), ``cuts`` are offsets inside the block where a smaller cut does the
    least harm (rows, items, lines of code), ``head`` is where a table's header ends or a fence's first line.
    """

    kind: MarkKind
    start: int
    end: int
    level: int = 0
    cuts: tuple[int, ...] = ()
    head: int = 0


_PLAIN = frozenset("[*_`")  # a heading without these has no link and no emphasis
_END = r"[ \t\r]*(?=\n|\Z)"
_LINE = (
    r" {0,3}+(?=[#`~=\-*_|:+0-9><])(?:"  # the look ahead spares most lines the ten looks that follow
    r"(?P<atx>\#{1,6}(?=[ \t\r\n]|\Z))"
    r"|(?P<fence>`{3,}+(?=[^`\n]*(?:\n|\Z))|~{3,}+)"
    rf"|(?P<equals>=++{_END})"
    rf"|(?P<dashes>-++{_END})"
    rf"|(?P<rule>(?:(?:\*[ \t]*+){{3,}}|(?:-[ \t]*+){{3,}}|(?:_[ \t]*+){{3,}})\r?(?=\n|\Z))"
    r"|(?P<delimiter>[|:\-][|:\- \t]*+\r?(?=\n|\Z))"
    r"|(?P<bullet>[-+*](?=[ \t\r\n]|\Z))"
    r"|(?P<number>\d{1,9}[.)](?=[ \t\r\n]|\Z))"
    r"|(?P<quote>>)"
    r"|(?P<html><(?=[A-Za-z/!?]))"
    r")"
)
_FIRST = re.compile(_LINE)
_NEXT = re.compile(r"\n" + _LINE)
_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?=[^\s])(?:.*\n)*?(?:\1|\.\.\.)[ \t]*\r?(?:\n|\Z)")
_BLANK = re.compile(r"\n[^\S\n]*\n(?:[^\S\n]*\n)*")
_HEADING_TAG = re.compile(r"\s*<h([1-6])\b[^>]*>.*?</h\1>\s*\Z", re.DOTALL | re.IGNORECASE)
# CommonMark 4.6: what opens an HTML block, what closes it, and whether it may interrupt a paragraph.
_HTML = (
    (re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE),
     re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
)  # fmt: skip
_HTML_BLOCK = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog"
    r"|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe"
    r"|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|source|summary"
    r"|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=[\s>]|/>|\Z)",
    re.IGNORECASE,
)
_HTML_TAG = re.compile(
    r"(?:<[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^'\n]*'|\"[^\"\n]*\"))?)*"
    r"\s*/?>|</[A-Za-z][A-Za-z0-9-]*\s*>)" + _END
)


def scan(text: str) -> list[Mark]:
    """The outermost blocks of a Markdown text, in order, paragraphs included.

    Linear in the text. Every non-blank character belongs to exactly one block.

    >>> [(m.kind, m.level) for m in scan("Title\\n=====\\n\\ntext\\n\\n~~~\\n# no heading\\n~~~\\n")]
    [('heading', 1), ('paragraph', 0), ('code', 0)]
    """
    marks: list[Mark] = []
    floor = 0
    for mark in _Scanner(text).marks():
        marks.extend(paragraphs(text, floor, mark.start))
        marks.append(mark)
        floor = mark.end
    marks.extend(paragraphs(text, floor, len(text)))
    return marks


def scan_marked(text: str) -> list[Mark]:
    """The same without the paragraphs, and without a fence's lines: what stands between the blocks given."""
    return list(_Scanner(text, lines=False).marks())


def paragraphs(text: str, start: int, end: int) -> Iterator[Mark]:
    """What lies between blank lines in ``text[start:end]``, from the first line's indent to its last mark."""
    at = start
    for gap in _BLANK.finditer(text, start, end):
        stop = gap.start()
        if at > start and text[stop - 1] > " ":  # mostly so: a line starts here, and it is not blank
            yield Mark("paragraph", at, stop)
        else:
            yield from _paragraph(text, at, stop)
        at = gap.end()
    yield from _paragraph(text, at, end)


def _paragraph(text: str, start: int, end: int) -> Iterator[Mark]:
    piece = text[start:end]
    body = piece.strip("\ufeff \t\r\n\f\v")
    if body and not body.isspace():
        first = start + piece.index(body[0])
        line = max(start, text.rfind("\n", start, first) + 1)
        yield Mark("paragraph", line, first + len(body))


def heading_text(text: str, mark: Mark) -> str:
    """A heading's words: without hashes, underline, tags and emphasis, on one line.

    >>> heading_text("## The *long* road ##", Mark("heading", 0, 21, 2))
    'The long road'
    """
    body = text[mark.start : mark.end].strip("\ufeff \t\r\n")
    if body.startswith("<"):
        body = re.sub(r"<[^>]*>", " ", body)
    elif body.startswith("#"):
        body = re.sub(r"(?:^|[ \t]+)#+[ \t]*$", "", body.lstrip("#"))
    else:
        lines = [line for line in body.splitlines() if line.strip("=-~^*+#`_. \t")]
        body = " ".join(lines)
    if _PLAIN.isdisjoint(body):
        return " ".join(body.split())
    body = re.sub(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)", r"\1", body)
    body = re.sub(r"(?<!\w)(\*{1,3}|_{1,3}|`+)(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", body)
    return " ".join(body.split())


class _Scanner:
    """Goes from one line that may open a block to the next; ``floor`` is the end of the last block."""

    def __init__(self, text: str, *, lines: bool = True) -> None:
        self.text = text
        self.lines = lines
        self.floor = 1 if text.startswith("\ufeff") else 0

    def marks(self) -> Iterator[Mark]:
        text = self.text
        front = _FRONT.match(text, self.floor)
        if front:
            yield self._close(Mark("front_matter", self.floor, _trimmed(text, front.end())))
        found = _FIRST.match(text, self.floor) if not front else None
        at = self.floor
        while found or (found := _NEXT.search(text, max(at - 1, 0))):
            line = found.start() + (text[found.start()] == "\n")
            kind = found.lastgroup or ""
            handler: Callable[[int, re.Match[str]], Mark | None] = getattr(self, f"_{kind}")
            mark = handler(line, found)
            if mark:
                yield self._close(mark)
                at = mark.end
            else:
                at = max(found.end(), line + 1)
            at = self._next_line(at) if mark else at
            found = None

    def _close(self, mark: Mark) -> Mark:
        self.floor = mark.end
        return mark

    def _next_line(self, at: int) -> int:
        """The start of the line after ``at``, so that a search finds that line's own newline."""
        newline = self.text.find("\n", at)
        return newline + 1 if newline >= 0 else len(self.text) + 1

    def _line_end(self, at: int) -> int:
        newline = self.text.find("\n", at)
        return newline if newline >= 0 else len(self.text)

    def _in_paragraph(self, line: int) -> bool:
        """Whether the line before continues a paragraph that this line might interrupt or underline."""
        above = self._above(line)
        if above is None:
            return False
        while above is not None and _indent(self.text, above) >= 4:
            line, above = above, self._above(above)
        return above is not None

    def _above(self, line: int) -> int | None:
        """Where the line above starts, if it is not blank and not part of a finished block."""
        if line <= self.floor:
            return None
        start = max(self.floor, self.text.rfind("\n", self.floor, line - 1) + 1)
        return None if self.text[start:line].strip("\ufeff \t\r\n") == "" else start

    def _atx(self, line: int, found: re.Match[str]) -> Mark:
        level = len(found["atx"])
        return Mark("heading", line, _trimmed(self.text, self._line_end(line)), level)

    def _fence(self, line: int, found: re.Match[str]) -> Mark:
        text, opening = self.text, found["fence"]
        first = self._line_end(found.end())
        close = _closing(opening[0], len(opening)).search(text, first)
        inner_end = close.start() if close else len(text)
        end = close.end() if close else _trimmed(text, len(text))
        lines = text[first:inner_end].split("\n")[:-1] if self.lines else ()
        cuts = tuple(accumulate((len(each) + 1 for each in lines), initial=first))[1:]
        return Mark("code", line, max(end, first), cuts=cuts, head=min(first + 1, end))

    def _equals(self, line: int, found: re.Match[str]) -> Mark | None:
        return self._underlined(line, found, 1) if self._in_paragraph(line) else None

    def _dashes(self, line: int, found: re.Match[str]) -> Mark | None:
        if self._in_paragraph(line):
            return self._underlined(line, found, 2)
        dashes = found["dashes"].strip()
        return self._rule(line, found) if len(dashes) >= 3 else self._bullet(line, found) if dashes == "-" else None

    def _underlined(self, line: int, found: re.Match[str], level: int) -> Mark:
        start = above = line
        while (higher := self._above(above)) is not None:
            above = higher
            # Indented lines at the top are code; further down they continue the paragraph.
            start = above if _indent(self.text, above) < 4 else start
        return Mark("heading", start, _trimmed(self.text, found.end()), level)

    def _rule(self, line: int, found: re.Match[str]) -> Mark:
        return Mark("rule", line, _trimmed(self.text, found.end()))

    def _delimiter(self, line: int, found: re.Match[str]) -> Mark | None:
        above = self._above(line)
        row = found["delimiter"].strip()
        if row[:2] in ("- ", "-\t"):  # an item of a list, whatever follows
            return self._list(line)
        if above is None or not _is_delimiter(row) or not self._in_paragraph(line):
            return None
        header = self.text[above : line - 1].strip()
        if "|" not in row + header or _cells(header) != _cells(row):
            return None
        end, rows = self._rows(line)
        return Mark("table", above, end, cuts=tuple(rows), head=min(self._next_line(line), end))

    def _rows(self, line: int) -> tuple[int, list[int]]:
        """Where a table ends (a blank line, or a line that opens another block), and where its rows start."""
        rows: list[int] = []
        end, at = self._line_end(line), self._next_line(line)
        while at < len(self.text):
            stop = self._line_end(at)
            if self.text[at:stop].isspace() or at == stop or _ends_table(self.text, at):
                break
            rows.append(at)
            end, at = stop, stop + 1
        return _trimmed(self.text, end), rows

    def _bullet(self, line: int, found: re.Match[str]) -> Mark | None:
        if self._in_paragraph(line) and not self.text[found.end() : self._line_end(line)].strip():
            return None
        return self._list(line)

    def _number(self, line: int, found: re.Match[str]) -> Mark | None:
        if self._in_paragraph(line):
            follows = self.text[found.end() : self._line_end(line)].strip()
            if found["number"][:-1].lstrip("0") != "1" or not follows:
                return None
        return self._list(line)

    def _list(self, line: int) -> Mark:
        end, items = list_extent(self.text, line)
        return Mark("list", line, _trimmed(self.text, end), cuts=tuple(items[1:]))

    def _quote(self, line: int, _found: re.Match[str]) -> Mark:
        end, cuts = quote_extent(self.text, line)
        return Mark("quote", line, _trimmed(self.text, end), cuts=tuple(cuts[1:]))

    def _html(self, line: int, found: re.Match[str]) -> Mark | None:
        text, at = self.text, found.end() - 1
        for opening, closing in _HTML:
            if start := opening.match(text, at):
                close = closing.search(text, start.end())
                end = self._line_end(close.end()) if close else len(text)
                return Mark("html", line, _trimmed(text, end))
        if _HTML_BLOCK.match(text, at) or (_HTML_TAG.match(text, at) and not self._in_paragraph(line)):
            blank = _BLANK.search(text, at)
            end = _trimmed(text, blank.start() if blank else len(text))
            tag = _HEADING_TAG.match(text[line:end])
            return Mark("heading" if tag else "html", line, end, int(tag[1]) if tag else 0)
        return None


@lru_cache(maxsize=64)
def _closing(mark: str, length: int) -> re.Pattern[str]:
    return re.compile(rf"\n {{0,3}}{mark}{{{length},}}+{_END}")


def _trimmed(text: str, end: int) -> int:
    """``end`` without the white space before it."""
    while end > 0 and text[end - 1] in " \t\r\n":
        end -= 1
    return end


def _indent(text: str, line: int) -> int:
    column = 0
    while line < len(text) and text[line] in " \t":
        column += 4 - column % 4 if text[line] == "\t" else 1
        line += 1
    return column


def _is_delimiter(row: str) -> bool:
    return all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in row.strip("|").split("|"))


def _cells(row: str) -> int:
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return len(re.findall(r"(?<!\\)\|", row)) + 1


def _ends_table(text: str, line: int) -> bool:
    found = _FIRST.match(text, line)
    return bool(found) and found.lastgroup not in ("delimiter", "equals") if found else False
