"""How far a Markdown list or quote reaches: CommonMark's container rules, a line at a time.

Lists and quotes hold other blocks, and go on over lines that do not look like theirs (lazy continuation),
so unlike the rest of a text each of their lines is looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

__all__ = ["list_extent", "quote_extent"]

_RULE = re.compile(r"(?:(?:\*[ \t]*+){3,}|(?:-[ \t]*+){3,}|(?:_[ \t]*+){3,})\r?\Z")
_MARKER = re.compile(r"([-+*]|\d{1,9}[.)])(?=[ \t\r]|\Z)")
_FENCE = re.compile(r"(`{3,}+(?=[^`]*\Z)|~{3,}+)")
_ATX = re.compile(r"#{1,6}(?=[ \t\r]|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t\r]*\Z")
_DEEPEST = 100  # as markdown-it-py; deeper markers are read as text, so a line costs linear time
# What may interrupt a paragraph, and so ends a lazy continuation.
_OPENS = re.compile(
    r"#{1,6}(?:[ \t\r]|\Z)|`{3,}+[^`]*\Z|~{3,}|>|[-+*][ \t]+\S|1[.)][ \t]+\S"
    r"|<(?:!--|\?|![A-Za-z\[]|(?:script|pre|style|textarea)[\s>]"
    r"|/?(?:address|article|aside|blockquote|body|center|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure"
    r"|footer|form|h[1-6]|head|header|hr|html|iframe|li|link|main|menu|nav|ol|option|p|section|summary|table|tbody"
    r"|td|tfoot|th|thead|title|tr|ul)(?:[\s>]|/>|\Z))",
    re.IGNORECASE,
)


def list_extent(text: str, start: int) -> tuple[int, list[int]]:
    """Where the list that starts at ``start`` ends, and where the lines of its items begin.

    >>> list_extent("- a\\n  - b\\n\\n  c\\n\\nd", 0)
    (15, [0, 4])
    """
    reader = _ListReader()
    end = at = start
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        if not reader.take(text[at:stop], at):
            break
        at = stop + 1
        if not reader.blank:
            end = min(at, len(text))
    return end, reader.items


def quote_extent(text: str, start: int) -> tuple[int, list[int]]:
    """Where the quote that starts at ``start`` ends, and where each of its lines begins."""
    lines: list[int] = []
    open_paragraph, fence = False, ""
    at = start
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line = text[at:stop]
        body = line.lstrip(" ")
        if body.startswith(">") and len(line) - len(body) < 4:
            inner = body.lstrip("> \t").strip()
            fence = _fence_after(inner, fence)
            open_paragraph = bool(inner) and not fence and not _ATX.match(inner) and not _RULE.match(inner) \
                and not _FENCE.match(inner)  # fmt: skip
        elif not open_paragraph or not body.strip() or _interrupts(body, len(line) - len(body)):
            break
        lines.append(at)
        at = stop + 1
    return min(at, len(text)), lines


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line: the one that was, a new one, or none."""
    found = _FENCE.match(line)
    if not fence:
        return found[1] if found else ""
    closes = found and found[1][0] == fence[0] and len(found[1]) >= len(fence) and line == found[1]
    return "" if closes else fence


def _interrupts(body: str, indent: int) -> bool:
    return indent < 4 and not body[0].isalpha() and bool(_OPENS.match(body) or _RULE.match(body))


@dataclass
class _ListReader:
    """The open containers (as columns where their contents start) and the block that is open in the last."""

    stack: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    leaf: str = ""
    fence: str = ""
    blank: bool = False
    empty: bool = False

    def take(self, line: str, at: int) -> bool:
        """Read one line; ``False`` where it no longer belongs to the list."""
        body = line.lstrip(" \t")
        if not body or body.isspace():
            self._take_blank()
            return True
        prefix = line[: len(line) - len(body)]
        column = len(prefix.expandtabs(4)) if "\t" in prefix else len(prefix)
        depth = bisect_right(self.stack, column)
        if depth < len(self.stack):
            lazy = self.leaf == "paragraph" and not self.blank
            if lazy and not self._opens(body, column - (self.stack[depth - 1] if depth else 0)):
                return True
            del self.stack[depth:]
            self.leaf = ""
        if not self.stack and (column > 3 or _RULE.match(body) or not _MARKER.match(body)):
            return False
        self.blank = False
        if body[0].isalpha() and self.leaf != "fence":  # a letter opens nothing: text, or indented code
            self.empty = False
            if self.leaf != "paragraph":
                self.leaf = "code" if column - (self.stack[-1] if self.stack else 0) >= 4 else "paragraph"
            return True
        self._open(body, column, at)
        return True

    def _take_blank(self) -> None:
        if self.empty and self.stack:
            self.stack.pop()
            self.empty = False
        if self.leaf != "fence":
            self.leaf = ""
        self.blank = True

    def _opens(self, body: str, indent: int) -> bool:
        return _interrupts(body, indent) or (indent < 4 and bool(_MARKER.match(body)) and body.strip() not in "-+*")

    def _open(self, body: str, column: int, at: int) -> None:
        """What the rest of a line opens, marker after marker, then a leaf."""
        self.empty = False
        if self.leaf == "fence":
            self.leaf = "fence" if self._still_fenced(body) else ""
            return
        while True:
            indent = column - (self.stack[-1] if self.stack else 0)
            if indent >= 4 or len(self.stack) >= _DEEPEST or not self._is_item(body):
                break
            marker = _MARKER.match(body)[1]  # type: ignore[index]
            if not self.items or self.items[-1] != at:
                self.items.append(at)
            rest = body[len(marker) :].rstrip("\r")
            inner = rest.lstrip(" \t")
            width = _columns(rest[: len(rest) - len(inner)], column + len(marker))
            self.leaf, self.empty = "", not inner
            self.stack.append(column + len(marker) + (width if inner and width <= 4 else 1))
            if not inner:
                return
            column += len(marker) + width
            body = inner
        self._leaf(body, indent)

    def _is_item(self, body: str) -> bool:
        found = _MARKER.match(body)
        if not found or _RULE.match(body):
            return False
        if self.leaf != "paragraph":
            return True
        return body[found.end() :].strip() != "" and found[1] in ("-", "+", "*", "1.", "1)")

    def _leaf(self, body: str, indent: int) -> None:
        if indent >= 4 and self.leaf != "paragraph":
            self.leaf = "code"
        elif indent < 4 and (found := _FENCE.match(body)):
            self.leaf, self.fence = "fence", found[1]
        elif (indent < 4 and (_ATX.match(body) or _RULE.match(body))) or (
            indent < 4 and self.leaf == "paragraph" and _UNDERLINE.match(body)
        ):
            self.leaf = ""
        else:
            self.leaf = "paragraph"

    def _still_fenced(self, body: str) -> bool:
        return bool(_fence_after(body.strip(), self.fence))


def _columns(space: str, column: int) -> int:
    """How many columns white space takes that starts at ``column``."""
    end = column
    for mark in space:
        end += 4 - end % 4 if mark == "\t" else 1
    return end - column
