"""All nine segmenters over a folder or more of real files: cap, coverage, offsets; and their speed.

    python benchmarks/segmenting.py FOLDER… [--files 250] [--speed ENGLISH.txt]

Folders may hold text, Markdown, HTML, PDF, Word, EPUB and code. Speed is CPU time over documents of 100 KB of
one plain English file, chunks of 512 estimated tokens, from the text to the chunk set, the best of eight.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from unabridged.errors import InputError
from unabridged.text.documents import read_document, walk_folder
from unabridged.text.segmenters import split

NINE = ("fixed", "paragraph", "sentence", "recursive", "structural", "page", "semantic", "contextual", "proposition")
CAP = 256


def llm(_messages):
    return "It says something.\nIt says another thing."


def faults(document, method):
    chunks = split(document, method, max_tokens=CAP, overlap_tokens=0, embedder="lexical", llm=llm)
    over = sum(1 for c in chunks if c.tokens > CAP)
    wrong = sum(1 for c in chunks if c.source_text != document.text[c.start : c.end])
    at = lost = 0
    for chunk in chunks:
        lost += len(document.text[at : chunk.start].strip())
        at = max(at, chunk.end)
    return len(chunks), over, wrong, lost + len(document.text[at:].strip())


def corpus(folders, most):
    paths = [path for folder in folders for path in (walk_folder(folder) if Path(folder).is_dir() else [Path(folder)])]
    step = max(1, len(paths) // most)
    formats, documents = Counter(), []
    for path in paths[::step]:
        try:
            document = read_document(path)
        except InputError as error:
            print(f"not read: {error}", file=sys.stderr)
            continue
        formats[document.format] += 1
        documents.append(document)
    return documents, formats


def speeds(path):
    text = Path(path).read_text("utf-8")[:8_000_000]
    texts = [text[at : at + 100_000] for at in range(0, len(text), 100_000)]
    size = len(text.encode()) / 1e6
    print("\n| segmenter | MB/s |\n|---|---|")
    for method in ("paragraph", "sentence", "recursive", "structural", "fixed"):
        best = float("inf")
        for _ in range(8):
            start = time.process_time()
            for one in texts:
                split(one, method, max_tokens=512)
            best = min(best, time.process_time() - start)
        print(f"| {method} | {size / best:.0f} |")


def main():
    warnings.simplefilter("ignore")
    arguments = sys.argv[1:]
    most = int(arguments.pop(arguments.index("--files") + 1)) if "--files" in arguments else 250
    plain = arguments.pop(arguments.index("--speed") + 1) if "--speed" in arguments else None
    documents, formats = corpus([a for a in arguments if not a.startswith("--")], most)
    print(
        f"{len(documents)} documents: {dict(formats)}, {sum(len(d.text) for d in documents) / 1e6:.1f} M characters\n"
    )
    print("| segmenter | chunks | over the cap | wrong offsets | characters lost |\n|---|---|---|---|---|")
    for method in NINE:
        rows = [faults(document, method) for document in documents]
        print(f"| {method} | " + " | ".join(str(sum(column)) for column in zip(*rows, strict=True)) + " |", flush=True)
    if plain:
        speeds(plain)


if __name__ == "__main__":
    main()
