"""Real chunks with real vectors, for ``benchmarks.recall``: text that Debian packages, a static model in a wheel.

In a virtual environment with ``wordllama`` and ``pyarrow`` (its weights come in the wheel; 256 wide, 9,500 texts a
CPU-second), with the documentation packages unpacked under a folder::

    for p in openjdk-17-doc dict-gcide libreoffice-help-en-us gimp-help-en postgresql-doc-15 perl-doc dict-wn \\
      dict-foldoc dict-jargon sqlite3-doc libboost1.81-doc octave-doc r-doc-html debian-policy nodejs-doc \\
      golang-1.19-doc rust-doc wordnet-base linux-doc-6.1 python3.11-doc; do
        apt-get download $p && dpkg-deb -x $p*.deb UNPACKED; done
    python benchmarks/recall_corpus.py UNPACKED FOLDER

FOLDER gets ``chunks.parquet`` (document, text: about 250 characters, cut at sentence ends and line breaks, none
twice), ``vectors.npy``, and 700 sentences that were kept out of them as ``queries.parquet``, ``queries.npy``.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNKS = 1_000_000
QUERIES = 700
SIZE = 250  # characters
_DOCUMENT = 200_000
_HIDDEN = re.compile(r"(?s)<(script|style|head)\b.*?</\1>|<!--.*?-->")
_BLOCK_END = re.compile(r"</(?:p|li|h[1-6]|div|tr|pre|dt|dd)>|<br\s*/?>")
_TAG = re.compile(r"<[^>]*>")
_CUT = re.compile(r"[.!?;:]\s+|\n+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def main(arguments: list[str]) -> None:
    """Make the corpus."""
    root, folder = map(Path, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    documents, texts = _chunks(root)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(texts))
    kept, rest = np.sort(order[:CHUNKS]), order[CHUNKS:]
    queries = _queries([texts[at] for at in rest.tolist()])
    _store(folder / "chunks", {"doc": [documents[at] for at in kept], "text": [texts[at] for at in kept]}, "vectors")
    _store(folder / "queries", {"text": queries}, "queries")


def _chunks(root: Path) -> tuple[list[int], list[str]]:
    documents, texts, seen = [], [], set()
    for number, text in enumerate(_documents(root)):
        for chunk in _cut(text):
            mark = hashlib.md5(chunk.encode(), usedforsecurity=False).digest()
            if len(chunk) >= 60 and mark not in seen:
                seen.add(mark)
                documents.append(number)
                texts.append(chunk)
    return documents, texts


def _documents(root: Path) -> Iterator[str]:
    for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        text = _read(path)
        for start in range(0, len(text), _DOCUMENT):
            yield text[start : start + _DOCUMENT]


def _read(path: Path) -> str:
    if path.suffix in {".html", ".htm", ".xhtml"}:
        body = _BLOCK_END.sub("\n\n", _HIDDEN.sub("", path.read_text("utf-8", "replace")))
        return html.unescape(_TAG.sub("", body))
    if path.name.endswith((".dict.dz", ".txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            return file.read()
    return path.read_text("utf-8", "replace") if path.suffix in {".txt", ".pod", ".md"} else ""


def _cut(text: str) -> Iterator[str]:
    start = last = 0
    for match in _CUT.finditer(text):
        if match.end() - start > SIZE and last > start:
            yield text[start:last].strip()
            start = last
        while match.end() - start > 2 * SIZE:
            yield text[start : start + SIZE].strip()
            start += SIZE
        last = match.end()
    yield text[start:].strip()


def _queries(texts: list[str]) -> list[str]:
    rng = random.Random(1)
    found = []
    for text in texts:
        sentences = [s.strip() for s in _SENTENCE.split(text) if 25 <= len(s.strip()) <= 140]
        plain = [s for s in sentences if sum(c.isalpha() or c == " " for c in s) > 0.85 * len(s)]
        if plain:
            found.append(rng.choice(plain))
    return found[:QUERIES]


def _store(path: Path, columns: dict[str, list], vectors: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import wordllama

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    texts = columns["text"]
    parts = [model.embed(texts[at : at + 20_000], norm=True) for at in range(0, len(texts), 20_000)]
    pq.write_table(pa.table(columns), path.with_suffix(".parquet"))
    np.save(path.parent / f"{vectors}.npy", np.concatenate(parts).astype(np.float32))


if __name__ == "__main__":
    main(sys.argv[1:])
