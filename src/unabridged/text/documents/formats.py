"""What a file is: by its first bytes where they are telling, else by its name."""

from __future__ import annotations

import io
import json
import re
from zipfile import BadZipFile, ZipFile

from unabridged.text.documents.code import LANGUAGES

__all__ = ["FORMATS", "format_of"]

FORMATS = ("text", "markdown", "html", "pdf", "word", "epub", "code", "jsonl", "csv")
_SUFFIXES = {
    "md": "markdown", "markdown": "markdown", "mkd": "markdown", "mdx": "markdown", "qmd": "markdown", "rmd": "markdown",  # noqa: E501
    "html": "html", "htm": "html", "xhtml": "html", "pdf": "pdf", "docx": "word", "docm": "word", "epub": "epub",
    "jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "tsv": "csv", "txt": "text", "rst": "text", "log": "text",
    "text": "text",
}  # fmt: skip
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)


def format_of(data: bytes, name: str | None) -> str:
    """One of ``FORMATS``.

    >>> format_of(b"%PDF-1.7 ...", "report"), format_of(b"", "notes.md"), format_of(b"", "setup.py")
    ('pdf', 'markdown', 'code')
    """
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04") and (packed := _packed(data)):
        return packed
    suffix = name.rsplit("/", 1)[-1].rpartition(".")[2].lower() if name and "." in name else ""
    known = _SUFFIXES.get(suffix) or ("code" if suffix in LANGUAGES else None)
    if known:
        return known
    if _HTML.match(data[:2048]):
        return "html"
    return "code" if data.startswith(b"#!") else "jsonl" if _is_json_lines(data) else "text"


def _packed(data: bytes) -> str | None:
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except BadZipFile:
        return None
    return "word" if "word/document.xml" in names else "epub" if "META-INF/container.xml" in names else None


def _is_json_lines(data: bytes) -> bool:
    lines = data[:4096].split(b"\n")
    if len(lines) < 2 or not lines[0].startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(lines[0]), dict)
    except ValueError:
        return False
