"""Plain text: paragraphs, and the headings that a writer marked without any markup.

A heading is a short line on its own that is numbered or written in capitals (SPEC S7), or Markdown's own.
Neighbouring numbered lines of one depth are a list, not headings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from unabridged.text.documents.model import Document, blocks_of
from unabridged.text.markdown import Mark, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["plain_headings", "read_plain", "with_plain_headings"]

_HEADING_CHARS = 80
_HEADING_WORDS = 12
_NUMBERED = re.compile(
    r"[ \t]{0,3}(?:(?P<number>\d{1,3}(?:\.\d{1,3}){0,5})[.):]?|(?P<roman>[IVXLC]{1,7})\.|(?P<letter>[A-H])\.|"
    r"(?P<word>Chapter|Section|Part|Appendix|Article|Book|Annex|CHAPTER|SECTION|PART|APPENDIX|ARTICLE|BOOK|ANNEX|"
    r"Kapitel|Teil|Chapitre|Capítulo|Глава)[ \t]+[\dIVXLCA-H]{1,6}[.:]?)"
    r"(?:[ \t]+(?=[^\W\d_a-z])|[ \t]*\Z)"
)
_NUMBERED_CJK = re.compile(r"[ \t\u3000]{0,3}第[\d一二三四五六七八九十百千]{1,6}[章节節部篇回条條編编]")
# A line that can be one at all: it starts with a capital, a digit, a letter without case, or a bracketed number.
_SHORT_LINE = re.compile(r"(?:(?<=\n)|\A)[ \t\u3000]{0,3}[^\Wa-z_][^\n]{0,79}(?=\n|\Z)")
_FINAL = (".", "!", "?", ",", ";", "。", "！", "？", "，", "；", "…")


def read_plain(text: str, source: str | None) -> Document:
    """Read a plain text; where it has no Markdown headings, its own are looked for."""
    marks = scan(text)
    blocks = blocks_of(text, with_plain_headings(text, marks))
    return Document(text, blocks, "text", source)


def with_plain_headings(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """The marks, their paragraphs and lists parted at plain headings; unchanged where Markdown ones exist."""
    if any(mark.kind == "heading" for mark in marks):
        return list(marks)
    found = plain_headings(text)
    if not found:
        return list(marks)
    heads = iter(found)
    head = next(heads, None)
    parted: list[Mark] = []
    for mark in marks:
        at = mark.start
        while head and head.start < mark.end and mark.kind in ("paragraph", "list"):
            if head.start >= at:
                parted.extend(_rest(text, mark, at, head.start))
                parted.append(head)
                at = head.end
            head = next(heads, None)
        parted.extend(_rest(text, mark, at, mark.end) if at > mark.start else [mark])
        while head and head.start < mark.end:
            head = next(heads, None)
    return parted


def _rest(text: str, mark: Mark, start: int, end: int) -> Iterator[Mark]:
    piece = text[start:end]
    body = piece.strip()
    if body:
        begin = start + len(piece) - len(piece.lstrip())
        begin = max(start, text.rfind("\n", start, begin) + 1)
        inside = tuple(cut for cut in mark.cuts if begin < cut < end)
        yield Mark(
            "list" if mark.kind == "list" and inside else "paragraph",
            begin,
            start + len(piece.rstrip()),
            cuts=inside,
        )


def plain_headings(text: str) -> list[Mark]:
    """Short lines that are numbered or in capitals and stand where a heading would.

    >>> text = "1. INTRODUCTION\\nSome text.\\n\\n1.1 Scope\\n\\nMore.\\n\\n1. milk\\n2. eggs\\n"
    >>> [(text[m.start:m.end], m.level) for m in plain_headings(text)]
    [('1. INTRODUCTION', 1), ('1.1 Scope', 2)]
    """
    found = []
    for line in _SHORT_LINE.finditer(text):
        level = _level(line[0])
        if level and _stands_alone(text, line, level):
            start = line.start()
            found.append(Mark("heading", start, start + len(line[0].rstrip()), level))
    return found


def _level(line: str) -> int:
    words = line.strip()
    if len(words.split()) > _HEADING_WORDS or words.endswith(_FINAL):
        return 0
    if numbered := _NUMBERED.match(line):
        rest = line[numbered.end() :].strip()
        if not rest and not numbered["word"]:
            return 0  # a number alone: of a page, or of a list
        return (
            numbered["number"].count(".") + 1
            if numbered["number"]
            else 1
            if numbered["word"] or numbered["roman"]
            else 2
        )
    if _NUMBERED_CJK.match(line):
        return 1 if re.match(r"[\s\u3000]*第\S+?[章部篇編编]", line) else 2
    letters = [mark for mark in words if mark.isalpha()]
    capitals = sum(map(str.isupper, letters))
    return 1 if len(letters) >= 3 and capitals == len(letters) else 0


def _stands_alone(text: str, line: re.Match[str], level: int) -> bool:
    above = text[max(0, line.start() - 400) : line.start()].rstrip("\n \t\r").rpartition("\n")[2]
    below = text[line.end() : line.end() + 400].lstrip("\n \t\r").partition("\n")[0]
    blank_above = (
        line.start() == 0 or re.search(r"\n[ \t\r]*\n\Z", text[max(0, line.start() - 80) : line.start()]) is not None
    )
    blank_below = re.match(r"\s*\Z|[ \t\r]*\n[ \t\r]*(?:\n|\Z)", text[line.end() : line.end() + 80]) is not None
    for near, apart in ((above, blank_above), (below, blank_below)):
        if not apart and near and (_NUMBERED.match(near) or _capitals(near)) and _depth(near) == level:
            return False  # a list, a table, a poem in capitals
    return (
        blank_above or (above.endswith((*_FINAL, ":")) and bool(below)) or (_level(above) > 0 and _level(above) < level)
    )


def _depth(line: str) -> int:
    numbered = _NUMBERED.match(line)
    return numbered["number"].count(".") + 1 if numbered and numbered["number"] else 1


def _capitals(line: str) -> bool:
    letters = [mark for mark in line if mark.isalpha()]
    return len(letters) >= 3 and all(map(str.isupper, letters))
