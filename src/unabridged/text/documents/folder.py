"""Walking a folder: the files that can be read as text, and which of them are code (SPEC K9)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from unabridged.errors import MissingExtra, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_code", "walk_folder"]

# identify's tags that say nothing about a language, and those of prose, markup, data and settings.
_NOT_LANGUAGES = frozenset(
    ("file", "text", "binary", "executable", "non-executable", "directory", "symlink", "socket",
     "asciidoc", "bib", "changelog", "creole", "diff", "html", "htm", "latex", "license", "markdown", "mdx", "org",
     "plain-text", "pofile", "pot", "rst", "rtf", "tex", "textile", "xhtml", "wiki",
     "batch-config", "cfg", "codeowners", "conf", "csv", "dotenv", "editorconfig", "edn", "gitattributes", "gitconfig",
     "gitignore", "gitmodules", "hcl", "helmignore", "hgrc", "ignore", "inc-config", "ini", "inventory", "ipynb",
     "jsonl", "json", "json5", "jsonc", "jsonld", "jupyter", "lektor", "lockfile", "mailmap", "manifest",
     "maven", "ndjson", "nix-lock", "npmignore", "npmrc", "pip", "pkginfo", "plist", "prettierignore", "properties",
     "proto-text", "pylintrc", "requirements", "resx", "robots", "rss", "sbt-config", "srt", "sum", "svg", "toml",
     "topojson", "geojson", "tsv", "txt", "url", "vtt", "xaml", "xml", "xsd", "xslt", "wsdl", "yaml", "yamlld",
     "yarnrc", "zone", "dockerignore", "eslintignore", "flake8", "coveragerc", "css", "less", "scss", "sass")
)  # fmt: skip
_DOCUMENTS = frozenset((".pdf", ".docx", ".epub"))


def walk_folder(folder: str | os.PathLike[str], *, documents: bool = True) -> Iterator[Path]:
    """The readable files below a folder, in sorted order, each once.

    Text files by what ``identify`` makes of their names and first bytes; with ``documents`` also PDF, Word and
    EPUB files. Hidden files and folders are left out, symbolic links are not followed.
    """
    root = Path(folder)
    if not root.is_dir():
        raise UnreadableFile(folder, "not a folder")
    for here, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(here, name)
            if name.startswith(".") or path.is_symlink():
                continue
            if (documents and path.suffix.lower() in _DOCUMENTS) or "text" in _tags(path):
                yield path


def is_code(path: str | os.PathLike[str]) -> bool:
    """Whether a file is source code, rather than prose, markup, data or settings.

    The file is looked at where its name does not tell (a script without a suffix).
    """
    return bool(_tags(Path(path)) - _NOT_LANGUAGES)


def _tags(path: Path) -> set[str]:
    try:
        from identify import identify
    except ImportError:
        raise MissingExtra("identify", "documents") from None
    if path.exists():
        try:
            return set(identify.tags_from_path(str(path)))
        except ValueError:  # it went away
            return set()
    return set(identify.tags_from_filename(path.name))
