"""Web pages: the main content as Markdown, with headings, lists, tables and code in their places.

selectolax (lexbor) builds the tree as a browser would. What a page marks as not its content (navigation,
banner, footer, scripts, hidden parts) is left out and counted; ``whole=True`` keeps it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from unabridged.errors import MissingExtra
from unabridged.text.documents.decode import decode
from unabridged.text.documents.model import Document
from unabridged.text.documents.writer import MarkdownWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_html", "write_html"]

_NEVER = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "object",
    "canvas",
    "head",
    "button",
    "select",
)
_FURNITURE = (
    "nav", "footer", "aside", "dialog", "[hidden]", "[aria-hidden=true]", "[role=navigation]", "[role=banner]",
    "[role=contentinfo]", "[role=search]", "[role=complementary]", "[role=dialog]", "[role=menu]", "a.headerlink",
    "body > header", "body > div > header",
)  # fmt: skip
# Words that page templates use in classes and ids for what is not content.
_TEMPLATE_WORDS = re.compile(
    r"(?:^|[\s_-])(?:breadcrumbs?|cookie\w*|sphinxsidebar\w*|sidebar|navbar|navigation|site-?nav|menu|toc-?tree-?wrapper|"
    r"skip-?link|share|social|newsletter|advert\w*|ads?|related(?:-(?:posts|articles))?|pagination|pager|"
    r"page-?footer|site-?footer|masthead|banner|comments?-form)(?=[\s_-]|$)",
    re.IGNORECASE,
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = frozenset(
    (*_HEADINGS, "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir",
     "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "li",
     "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre", "section", "summary", "table", "tbody", "td",
     "tfoot", "th", "thead", "tr", "ul", "caption", "legend", "title")
)  # fmt: skip
_DEEPEST = 150  # a tree deeper than this is read as its text from there on
_PERMALINKS = frozenset("¶#§🔗")


def read_html(data: bytes | str, source: str | None, *, charset: str | None = None, whole: bool = False) -> Document:
    """Read a web page."""
    text, notes = decode(data, source or "bytes", charset=charset) if isinstance(data, bytes) else (data, ())
    out = MarkdownWriter()
    title, dropped = write_html(text, out, whole=whole)
    metadata = {"left_out_chars": dropped} if dropped else {}
    return Document(out.text(), out.blocks(), "html", source, title=title, metadata=metadata, warnings=tuple(notes))


def write_html(
    text: str, out: MarkdownWriter, *, whole: bool = False, page: int | None = None
) -> tuple[str | None, int]:
    """Write a page's content; returns its title, and how many characters were left out as not content."""
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise MissingExtra("selectolax", "documents") from None
    tree = LexborHTMLParser(text)
    title = _title(tree)
    tree.strip_tags(list(_NEVER))
    body = tree.body or tree.root
    if body is None:
        return title, 0
    before = len(body.text())
    content = body if whole else _content(tree, body)
    _Walker(out, page).walk(content)
    return title, max(0, before - len(content.text()))


def _title(tree: Any) -> str | None:
    meta = tree.css_first("meta[property='og:title']")
    found = (meta.attributes.get("content") if meta else None) or (
        node.text() if (node := tree.css_first("title")) else None
    )
    return " ".join(found.split()) or None if found else None


def _content(tree: Any, body: Any) -> Any:
    """The element that holds the content, after what is marked as furniture has been taken out."""
    untouched = body.html
    for node in list(_furniture(body)):
        node.decompose()
    for query in ("main", "[role=main]", "article", "[itemprop=articleBody]"):
        found = [node for node in body.css(query) if len(node.text(strip=True)) > 0]
        if len(found) == 1:
            return found[0]
    if not body.text(strip=True) and untouched:
        return type(tree)(untouched).body  # nothing but furniture: then that is the page
    return body


def _furniture(body: Any) -> Iterator[Any]:
    for query in _FURNITURE:
        yield from body.css(query)
    everything = len(body.text())
    for node in body.css("div[class], div[id], ul[class], ul[id], section[class], section[id], p[class]"):
        names = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
        # A name alone proves little: a wrapper that holds half of the page is content whatever it is called.
        if _TEMPLATE_WORDS.search(names) and len(node.text()) * 2 < everything:
            yield node


class _Walker:
    """Writes a tree's blocks: inline content is gathered until a block begins or ends."""

    def __init__(self, out: MarkdownWriter, page: int | None = None) -> None:
        self.out = out
        self.page = page
        self.inline: list[str] = []

    def walk(self, node: Any, depth: int = 0) -> None:
        """Write what is inside an element."""
        for child in _children(node):
            tag = child.tag
            if tag == "-text":
                self.inline.append(child.text(deep=False))
            elif tag not in _BLOCKS and not _holds_blocks(child):
                self.inline.append(_inline(child, depth))
            elif depth >= _DEEPEST:
                self.inline.append(child.text(separator=" "))
            else:
                self.flush()
                self._block(child, tag, depth + 1)
        self.flush()

    def flush(self) -> None:
        """End the paragraph that is open."""
        words = _fold("".join(self.inline))
        self.inline = []
        self.out.paragraph(words, page=self.page)

    def _block(self, node: Any, tag: str, depth: int) -> None:
        if tag in _HEADINGS:
            self.out.heading(_words(node), int(tag[1]), page=self.page)
        elif tag == "pre":
            self.out.code(node.text(), _language(node), page=self.page)
        elif tag == "table":
            self._table(node, depth)
        elif tag in ("ul", "ol", "menu", "dir"):
            self._list(node, tag, depth)
        elif tag == "blockquote":
            inner = self._apart(node, depth)
            self.out.add("quote", "\n".join(f"> {line}".rstrip() for line in inner.splitlines()), page=self.page)
        elif tag == "hr":
            self.out.add("rule", "---", page=self.page)
        else:
            self.walk(node, depth)

    def _apart(self, node: Any, depth: int) -> str:
        out = MarkdownWriter()
        _Walker(out).walk(node, depth)
        return out.text()

    def _list(self, node: Any, tag: str, depth: int) -> None:
        if node.css_first("h1, h2, h3, h4, h5, h6, table table"):
            self.walk(node, depth)  # a list that lays out a page, not one of items
            return
        items, number = [], _start(node)
        for child in _children(node):
            inner = self._apart(child, depth) if child.tag != "-text" else _fold(child.text(deep=False))
            if inner.strip():
                marker = f"{number}. " if tag == "ol" else "- "
                number += 1
                tight = re.sub(r"\n\n(?=\s*(?:- |\d+\. ))", "\n", inner)
                items.append(
                    marker
                    + tight.replace("\n", "\n" + " " * len(marker)).replace("\n" + " " * len(marker) + "\n", "\n\n")
                )
        self.out.items(items, page=self.page)

    def _table(self, node: Any, depth: int) -> None:
        if node.css_first("table table, h1, h2, h3, h4, h5, h6, td ul, td p + p, td pre, td div div"):
            self.walk(node, depth)  # a table that lays out a page
            return
        caption = node.css_first("caption")
        if caption:
            self.out.paragraph(_words(caption), page=self.page)
        rows = []
        for row in node.css("tr"):
            cells: list[str] = []
            for cell in row.css("th, td"):
                cells += [_words(cell), *[""] * (_span(cell) - 1)]
            rows.append(cells)
        self.out.table(rows, page=self.page)


def _children(node: Any) -> Iterator[Any]:
    child = node.child
    while child is not None:
        after = child.next
        if child.tag not in ("_comment", "-comment", "!doctype", "-doctype"):
            yield child
        child = after


def _holds_blocks(node: Any) -> bool:
    """Whether an inline element (or one that HTML does not know) wraps blocks, as links around cards do."""
    return node.css_first("p, div, ul, ol, table, pre, h1, h2, h3, h4, h5, h6, blockquote, li, section") is not None


def _inline(node: Any, depth: int = 0) -> str:
    tag = node.tag
    if tag == "br":
        return "\n\0"  # a line break that folding keeps
    if tag == "img":
        return node.attributes.get("alt") or ""
    if tag in ("code", "kbd", "samp", "tt"):
        words = " ".join(node.text().split())
        return f"`{words}`" if words and "`" not in words else words
    if tag == "a" and node.text(strip=True) in _PERMALINKS:
        return ""
    if tag == "input":
        return ""
    if depth >= _DEEPEST:
        return str(node.text(separator=" "))
    return "".join(
        child.text(deep=False) if child.tag == "-text" else _inline(child, depth + 1) for child in _children(node)
    )


def _words(node: Any) -> str:
    return " ".join(_inline(node).replace("\0", "").split())


def _fold(words: str) -> str:
    lines = re.sub(r"[ \t\r\n\f]+(?!\0)|[ \t\r\f]+\n(?=\0)", " ", words).split("\n\0")
    return "\n".join(line.strip() for line in lines).replace("\0", "").strip()


def _language(node: Any) -> str:
    code = node.css_first("code")
    names = f"{node.attributes.get('class') or ''} {(code.attributes.get('class') if code else '') or ''}"
    found = re.search(r"(?:language|lang|highlight-source|brush:)[-:\s]*([\w+#-]+)", names)
    return found[1] if found else ""


def _start(node: Any) -> int:
    value = node.attributes.get("start") or "1"
    return int(value) if re.fullmatch(r"\d{1,6}", value) else 1


def _span(cell: Any) -> int:
    value = cell.attributes.get("colspan") or "1"
    return min(int(value), 50) if re.fullmatch(r"[1-9]\d{0,4}", value) else 1
