"""What a reader makes of a file: one text, and where its blocks lie in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from unabridged.text.markdown import Mark, MarkKind, heading_text, scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Block", "Document", "blocks_of"]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document, ``document.text[start:end]``.

    ``section`` is the nearest heading above (a heading's own words for itself) and ``path`` all headings from
    the outermost down. ``cuts`` are offsets inside the block where a cut does the least harm (rows, items,
    definitions), ``head`` is where a table's header ends. ``id`` is its number in the document, from 1.
    """

    start: int
    end: int
    kind: MarkKind
    id: str
    page: int | None = None
    section: str | None = None
    path: tuple[str, ...] = ()
    level: int = 0
    cuts: tuple[int, ...] = ()
    head: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its blocks, in order, with where it came from.

    ``text`` is what chunks are cut from: the text itself, or Markdown made from a PDF, a web page, a Word file
    or a book. ``source`` is a path or URI, ``digest`` the SHA-256 of the original bytes. ``pages`` counts the
    pages of a paged source; ``unread_pages`` are those without a text layer (scans).
    """

    text: str = field(repr=False)
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    format: str = "text"
    source: str | None = None
    digest: str | None = None
    title: str | None = None
    pages: int | None = None
    unread_pages: tuple[int, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """The last part of the source: the file's name.

        >>> Document("text", source="reports/annual.md").name
        'annual.md'
        """
        return self.source.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if self.source else None

    @property
    def identity(self) -> str | None:
        """What says that two readings are of one document (SPEC K1): its source, else its digest."""
        return self.source or (f"sha256:{self.digest}" if self.digest else None)

    def with_blocks(self) -> Document:
        """Itself if it has blocks; else with those that its text shows, read as Markdown.

        >>> [(b.kind, b.section) for b in Document("# A\\n\\ntext").with_blocks().blocks]
        [('heading', 'A'), ('paragraph', 'A')]
        """
        return self if self.blocks or not self.text else replace(self, blocks=blocks_of(self.text, scan(self.text)))


def blocks_of(text: str, marks: Iterable[Mark], *, pages: Iterable[int | None] = ()) -> tuple[Block, ...]:
    """Blocks with ids, sections and paths, from marks in order and the page of each (none if not given)."""
    path: list[tuple[int, str]] = []
    page_of = iter(pages)
    blocks = []
    for number, mark in enumerate(marks, 1):
        if mark.kind == "heading":
            title = heading_text(text, mark)
            path = [*((level, name) for level, name in path if level < mark.level), (mark.level, title)]
        names = tuple(name for _, name in path if name)
        blocks.append(
            Block(mark.start, mark.end, mark.kind, str(number), next(page_of, None), names[-1] if names else None,
                  names, mark.level, mark.cuts, mark.head)
        )  # fmt: skip
    return tuple(blocks)
