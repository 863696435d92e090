"""Writes the Markdown of a converted document, and remembers where each block lies."""

from __future__ import annotations

from unabridged.text.documents.model import Block, blocks_of
from unabridged.text.markdown import Mark, MarkKind

__all__ = ["MarkdownWriter"]


class MarkdownWriter:
    """Collects blocks, a blank line between each two.

    >>> out = MarkdownWriter()
    >>> out.heading("Sales", 2)
    >>> out.table([["Year", "Sum"], ["2024", "45"]], page=3)
    >>> out.text()
    '## Sales\\n\\n| Year | Sum |\\n| --- | --- |\\n| 2024 | 45 |'
    >>> [(b.kind, b.page, b.section) for b in out.blocks()]
    [('heading', None, 'Sales'), ('table', 3, 'Sales')]
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._marks: list[Mark] = []
        self._pages: list[int | None] = []
        self._length = 0

    def text(self) -> str:
        """Everything so far."""
        return "\n\n".join(self._parts)

    def blocks(self) -> tuple[Block, ...]:
        """The blocks so far, with sections and pages."""
        return blocks_of(self.text(), self._marks, pages=self._pages)

    def heading(self, words: str, level: int, *, page: int | None = None) -> None:
        """A heading of level 1 … 6, on one line."""
        words = " ".join(words.split())
        if words:
            level = min(max(level, 1), 6)
            self.add("heading", f"{'#' * level} {words}", page=page, level=level)

    def paragraph(self, words: str, *, page: int | None = None) -> None:
        """A paragraph, its line breaks kept."""
        self.add("paragraph", words, page=page)

    def code(self, body: str, language: str = "", *, page: int | None = None) -> None:
        """A fenced block, its fence longer than any run of backticks inside."""
        body = body.strip("\n")
        if body.strip():
            fence = "`" * max(3, _longest_run(body, "`") + 1)
            head = f"{fence}{language}\n"
            cuts = tuple(len(head) + at + 1 for at, mark in enumerate(body) if mark == "\n")
            self.add("code", f"{head}{body}\n{fence}", page=page, cuts=cuts, head=len(head))

    def table(self, rows: list[list[str]], *, page: int | None = None) -> None:
        """A table, its first row the header; short rows are filled up."""
        rows = [[_cell(cell) for cell in row] for row in rows if any(cell.strip() for cell in row)]
        if not rows:
            return
        width = max(map(len, rows))
        lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
        lines.insert(1, f"|{' --- |' * width}")
        head = len(lines[0]) + len(lines[1]) + 2
        cuts, at = [], head
        for line in lines[2:]:
            cuts.append(at)
            at += len(line) + 1
        self.add("table", "\n".join(lines), page=page, cuts=tuple(cuts), head=head if cuts else 0)

    def items(self, items: list[str], *, page: int | None = None) -> None:
        """A list; an item may have lines of its own, already indented."""
        cuts, at = [], 0
        for item in items:
            cuts.append(at)
            at += len(item) + 1
        self.add("list", "\n".join(items), page=page, cuts=tuple(cuts[1:]))

    def add(
        self,
        kind: MarkKind,
        body: str,
        *,
        page: int | None = None,
        level: int = 0,
        cuts: tuple[int, ...] = (),
        head: int = 0,
    ) -> None:
        """Any block; ``cuts`` and ``head`` count from its start. A blank one is left out."""
        if not body.strip():
            return
        start = self._length + 2 * bool(self._parts)
        self._parts.append(body)
        self._length = start + len(body)
        self._marks.append(
            Mark(
                kind,
                start,
                self._length,
                level,
                tuple(start + cut for cut in cuts),
                start + head if head else 0,
            )
        )
        self._pages.append(page)


def _longest_run(body: str, mark: str) -> int:
    longest = 0
    while mark * (longest + 1) in body:
        longest += 1
    return longest


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")
