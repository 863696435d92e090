"""Source code: its definitions as blocks, by tree-sitter where a grammar is installed, else by indentation.

A block is a definition with the comments and decorators above it, or a run of other statements (imports,
assignments). A class becomes one block for its head and one for each member; ``section`` is the qualified name.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from unabridged.text.documents.model import Block, Document

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LANGUAGES", "read_code"]

# Suffix -> language; the language names the grammar's package (tree_sitter_<language>).
LANGUAGES = {
    "py": "python", "pyi": "python", "pyw": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "jsx": "javascript", "ts": "typescript", "mts": "typescript", "tsx": "tsx", "java": "java", "go": "go",
    "rs": "rust", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hh": "cpp", "hpp": "cpp",
    "cs": "c_sharp", "rb": "ruby", "php": "php", "sh": "bash", "bash": "bash", "scala": "scala", "kt": "kotlin",
    "swift": "swift", "lua": "lua", "pl": "perl", "r": "r", "jl": "julia", "hs": "haskell", "ml": "ocaml",
    "ex": "elixir", "exs": "elixir", "erl": "erlang", "zig": "zig", "sql": "sql", "dart": "dart", "m": "objc",
    "clj": "clojure", "nim": "nim", "vim": "vim", "tcl": "tcl", "f90": "fortran", "ps1": "powershell",
}  # fmt: skip
_DEFINITION = re.compile(
    r"(?:function|method|class|struct|enum|union|interface|trait|impl|mod|module|namespace|constructor|object|record|"
    r"protocol|type|type_alias|singleton_method|generator_function|abstract_class|annotation_type|internal_module|macro)"
    r"_?(?:definition|declaration|item|specifier|statement|spec)?|decorated_definition|export_statement|"
    r"template_declaration|ambient_declaration|lexical_declaration"
)
_HOLDERS = re.compile(r"class|struct|interface|trait|impl|mod(?:ule|_item)|namespace|object|record|protocol|enum|union")
_WRAPPERS = ("decorated_definition", "export_statement", "template_declaration", "ambient_declaration")
_NAMES = ("name", "declarator", "type", "definition", "declaration", "path")
_FUNCTION_VALUE = re.compile(rb"=>|\bfunction\b|\bclass\b")
_LARGE = 1200  # characters; a class below this is kept in one block, it is read best as a whole


class _Part(NamedTuple):
    start: int
    end: int
    path: tuple[str, ...]
    head: int = 0


def read_code(text: str, source: str | None, language: str | None) -> Document:
    """Read source code; ``language`` as in tree-sitter's package names (``python``, ``c_sharp``).

    >>> doc = read_code("import os\\n\\n\\ndef a():\\n    pass\\n", "a.py", "python")
    >>> [(b.section, b.start) for b in doc.blocks]
    [(None, 0), ('a', 12)]
    """
    parser = _parser(language) if language else None
    parts = list(_by_tree(text, parser)) if parser else list(_by_indent(text))
    blocks = []
    for number, part in enumerate(parts, 1):
        cuts = tuple(part.start + m.end() for m in re.finditer(r"\n(?=[^\n])", text[part.start : part.end]))
        blocks.append(
            Block(part.start, part.end, "code", str(number), None, ".".join(part.path) or None, part.path,
                  cuts=cuts, head=part.head)
        )  # fmt: skip
    about = {"language": language, "parser": "tree-sitter" if parser else "indentation"}
    return Document(text, tuple(blocks), "code", source, metadata=about)


@lru_cache(maxsize=32)
def _parser(language: str) -> Any:
    """A parser, or ``None`` where the grammar's package is not installed."""
    package, call = {"tsx": ("typescript", "language_tsx"), "typescript": ("typescript", "language_typescript"),
                     "php": ("php", "language_php")}.get(language, (language, "language"))  # fmt: skip
    try:
        import tree_sitter

        grammar = importlib.import_module(f"tree_sitter_{package}")
        return tree_sitter.Parser(tree_sitter.Language(getattr(grammar, call)()))
    except (ImportError, AttributeError, ValueError):  # no package, another layout, or another ABI
        return None


def _by_tree(text: str, parser: Any) -> Iterator[_Part]:
    data = text.encode("utf-8", "replace")
    position = _positions(text, data)
    root = parser.parse(data).root_node
    floor = 0
    for start, end, path, head in _members(data, root.children, ()):
        # From the line's own start: an indented method keeps its indent.
        begin = max(floor, data.rfind(b"\n", floor, start) + 1)
        yield _Part(position(begin), position(end), path, position(head) if head else 0)
        floor = end


def _positions(text: str, data: bytes) -> Any:
    """Byte offsets to character offsets."""
    if len(text) == len(data):
        return lambda at: at
    import numpy as np

    octets = np.frombuffer(data, np.uint8)
    inner = np.flatnonzero((octets & 0xC0) == 0x80).tolist()
    return lambda at: at - bisect_left(inner, at)


def _members(data: bytes, nodes: Any, path: tuple[str, ...]) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
    """Definitions with what stands above them, and the runs between."""
    begin: int | None = None  # where the open run of other nodes starts
    last = 0
    attached: int | None = None  # comments directly above the next definition
    for node in nodes:
        if node.end_byte <= node.start_byte:
            continue
        name = _defined(data, node)
        if name is None:
            above = node.type in (
                "comment",
                "line_comment",
                "block_comment",
                "attribute_item",
                "decorator",
                "annotation",
            )
            near = attached is not None and data.count(b"\n", last, node.start_byte) <= 1
            attached = (attached if near else node.start_byte) if above else None
            begin = node.start_byte if begin is None else begin
            last = node.end_byte
            continue
        start = node.start_byte
        if attached is not None and data.count(b"\n", last, start) <= 1:
            start = attached
        if begin is not None and begin < start:
            yield begin, _trim(data, begin, min(last, start)), path, 0
        yield from _definition(data, node, start, (*path, name))
        begin, attached, last = None, None, node.end_byte
    if begin is not None:
        yield begin, last, path, 0


def _trim(data: bytes, start: int, end: int) -> int:
    while end > start and data[end - 1 : end].isspace():
        end -= 1
    return end


def _definition(
    data: bytes, node: Any, start: int, path: tuple[str, ...]
) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
    inner = _unwrapped(node)
    body = inner.child_by_field_name("body")
    line = data.find(b"\n", inner.start_byte, node.end_byte)
    head = line + 1 if line >= 0 else 0
    members = list(_members(data, body.children, path)) if body is not None and _HOLDERS.search(inner.type) else []
    members = [member for member in members if member[2] != path] if members else []
    if not members or node.end_byte - node.start_byte <= _LARGE:
        yield start, node.end_byte, path, head
        return
    floor = start
    for at, end, names, head_of in members:
        begin = max(floor, data.rfind(b"\n", floor, at) + 1)
        if data[floor:begin].strip():
            yield floor, _trim(data, floor, begin), path, head if floor == start else 0
        yield at, end, names, head_of
        floor = end
    if data[floor : node.end_byte].strip():
        yield (
            floor + len(data[floor : node.end_byte]) - len(data[floor : node.end_byte].lstrip()),
            node.end_byte,
            path,
            0,
        )


def _unwrapped(node: Any) -> Any:
    while node.type in _WRAPPERS:
        inside = [child for child in node.named_children if _DEFINITION.fullmatch(child.type)]
        if not inside:
            break
        node = inside[-1]
    return node


def _defined(data: bytes, node: Any) -> str | None:
    """The name that a node defines, or ``None``."""
    if not _DEFINITION.fullmatch(node.type):
        return None
    inner = _unwrapped(node)
    if inner.type in _WRAPPERS:
        return None
    if inner.type == "lexical_declaration" and not _FUNCTION_VALUE.search(data[inner.start_byte : inner.end_byte]):
        return None
    return _name(data, inner)


def _name(data: bytes, node: Any) -> str | None:
    for _ in range(8):  # a C declarator nests: pointer, function, identifier
        if "identifier" in node.type or node.type in ("constant", "word", "name", "scope_resolution"):
            return str(data[node.start_byte : node.end_byte].decode("utf-8", "replace"))
        step = next((found for field in _NAMES if (found := node.child_by_field_name(field)) is not None), None)
        if step is None:
            step = next(
                (child for child in node.named_children if "declarator" in child.type or child.type.endswith("_spec")),
                None,
            )
        if step is None:
            return None
        node = step
    return None


def _by_indent(text: str) -> Iterator[_Part]:
    """Without a grammar: a block starts at a line without indent that follows a blank line, or a definition's."""
    starts = [0] if text.strip() else []
    for found in re.finditer(
        r"\n[ \t]*\n(?=[^\s})\]])|\n(?=(?:def|class|func|fn|function|sub|proc|module|struct|type)\b)", text
    ):
        starts.append(found.end())
    for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
        piece = text[start:stop]
        body = piece.strip()
        if body:
            begin = start + text[start:stop].index(body[0])
            begin = max(start, text.rfind("\n", start, begin) + 1)
            named = re.match(
                r"(?:[\w*&<>,:]+[ \t]+)*?(?:def|class|func|fn|function|sub|proc|module|struct|type|interface|trait|enum)[ \t]+(\w+)",  # noqa: E501
                body,
            )
            line = text.find("\n", begin, stop)
            yield _Part(
                begin,
                start + len(piece.rstrip()),
                (named[1],) if named else (),
                line + 1 if named and line >= 0 else 0,
            )
