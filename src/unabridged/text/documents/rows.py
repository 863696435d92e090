"""JSON Lines and CSV: one document a row, or the whole file with a block a row."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from unabridged.errors import InputError, UnreadableFile
from unabridged.text.documents.model import Document
from unabridged.text.documents.writer import MarkdownWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["read_rows", "row_documents"]

# Names that a text column usually has, tried in this order.
_TEXT_COLUMNS = ("text", "content", "body", "document", "passage", "page_content", "markdown")
_LARGEST_FIELD = 1 << 30  # csv refuses fields over 128 KiB unless told


def row_documents(text: str, source: str | None, kind: str, *, column: str | None = None) -> Iterator[Document]:
    """One document a row; the other fields become its metadata.

    ``column`` names the field that holds the text; without it a usual name is looked for (``text``,
    ``content`` …), and failing that a row is written as ``name: value`` lines.

    >>> [d.text for d in row_documents("id,text\\n1,hello\\n2,bye\\n", "a.csv", "csv")]
    ['hello', 'bye']
    """
    for number, (line, row) in enumerate(_rows(text, source, kind), 1):
        name = column or next((key for key in _TEXT_COLUMNS if isinstance(row.get(key), str)), None)
        if column and column not in row:
            raise InputError(
                f"{source or 'rows'}, line {line}: no column {column!r}; there are {', '.join(map(str, row))}"
            )
        body = _plain(row[name]) if name else _written(row)
        about = {str(key): value for key, value in row.items() if key != name}
        place = f"{source}#{number}" if source else None
        yield Document(body, (), kind, place, metadata={**about, "row": number, "line": line}).with_blocks()


def read_rows(text: str, source: str | None, kind: str) -> Document:
    """The whole file as one document, a block a row."""
    out = MarkdownWriter()
    for _, row in _rows(text, source, kind):
        out.add("row", _written(row))
    return Document(out.text(), out.blocks(), kind, source)


def _rows(text: str, source: str | None, kind: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    return _json_rows(text, source) if kind == "jsonl" else _csv_rows(text, source)


def _json_rows(text: str, source: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except ValueError as error:
                reason = f"line {number} is not JSON ({getattr(error, 'msg', 'malformed')})"
                raise UnreadableFile(source or "jsonl", reason) from None
            yield number, value if isinstance(value, dict) else {"text": _plain(value)}


def _csv_rows(text: str, source: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    csv.field_size_limit(_LARGEST_FIELD)
    sample = text[:8192]
    try:
        dialect: Any = csv.Sniffer().sniff(sample, ",;\t|") if sample.strip() else csv.excel
    except csv.Error:
        dialect = csv.excel
    dialect.doublequote = True
    reader = csv.reader(io.StringIO(text, newline=""), dialect)
    try:
        header = next(reader, [])
        for row in reader:
            if any(field.strip() for field in row):
                names = [*header, *(f"column {at + 1}" for at in range(len(header), len(row)))]
                yield reader.line_num, dict(zip(names, row, strict=False))
    except csv.Error as error:
        raise UnreadableFile(source or "csv", f"line {reader.line_num}: {error}") from None


def _written(row: Mapping[str, Any]) -> str:
    return "\n".join(f"{key}: {_plain(value)}" for key, value in row.items() if value not in (None, "", [], {}))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
